//! Untyped messages to memory that is contiguous on the host: local memory, and buffers in one bound range.
//!
//! Each message compares the offsets of its channels with the window's end before any access, so that no address
//! outside of the window can be formed; a message with a channel outside takes the general path, where reads return
//! zeros and writes are dropped.

use tepui_intel_eu::{Message, Refusal};
use tepui_softgpu::Protection;

use super::payload::LANES;
use super::surface::Surface;
use super::{Ports, index};

/// Memory on the host.
#[derive(Clone, Copy)]
pub(super) struct HostWindow {
    /// The first byte of the window, which may be read and written while the batch runs.
    host: *mut u8,
    bytes: u64,
}

// SAFETY: host threads may concurrently read and write the GPU's memory, as silicon's units do.
unsafe impl Send for HostWindow {}

/// The offsets of a message's channels, and their mask.
pub(super) struct ChannelOffsets {
    pub at: [u32; LANES],
    pub exec: u32,
    /// Channels of the message.
    pub width: usize,
}

impl ChannelOffsets {
    /// Whether all channels execute and consecutive channels are `step` bytes apart.
    #[inline(always)]
    fn follow(&self, step: u32) -> bool {
        let mut apart = 0;
        for (lane, at) in self.at.iter().enumerate().take(self.width) {
            apart |= at ^ self.at[0].wrapping_add(step * lane as u32);
        }
        apart == 0 && self.exec == (1 << self.width) - 1
    }

    /// Whether `bytes` bytes at the offset of each channel are inside of a window.
    #[inline(always)]
    fn inside(&self, window: &HostWindow, bytes: u64) -> bool {
        let mut most = 0;
        for (lane, at) in self.at.iter().enumerate() {
            most = most.max(at & (self.exec >> lane & 1).wrapping_neg());
        }
        u64::from(most) + bytes <= window.bytes
    }

    #[inline(always)]
    fn lanes(&self) -> impl Iterator<Item = usize> + use<> {
        tepui_texel::lanes(self.exec)
    }
}

impl Ports<'_> {
    /// The window that a message's offsets refer to, if there is one.
    #[inline]
    pub(super) fn window(&mut self, message: &Message) -> Result<Option<HostWindow>, Refusal> {
        if self.checks() {
            return Ok(None);
        }
        match message.desc & 0xff {
            index::LOCAL => {
                let (host, bytes) = (self.local.as_mut_ptr(), self.local.len() as u64);
                return Ok(Some(HostWindow { host, bytes }));
            }
            index::STATELESS | index::STATELESS_COHERENT => return Ok(None),
            _ => {}
        }
        let place = self.bound(message)?;
        let Ports { surfaces, memory, .. } = self;
        let Some(bound) = surfaces.get_mut(place) else { return Ok(None) };
        let surface = &bound.surface;
        Ok(*bound.window.get_or_insert_with(|| match surface {
            Surface::Buffer(buffer) => {
                let bytes = buffer.elements.checked_mul(buffer.pitch)?;
                let need = Protection::READ | Protection::WRITE;
                memory.window(buffer.base, bytes, need).map(|host| HostWindow { host, bytes })
            }
            _ => None,
        }))
    }
}

impl Ports<'_> {
    /// A window that contains `bytes` bytes at the 64-bit address of each channel, and the offsets in it; `None` if
    /// they are not in one bound range.
    #[inline]
    pub(super) fn window_of_addresses(
        &mut self,
        at: &[u64; LANES],
        [exec, width]: [u32; 2],
        bytes: u64,
        need: Protection,
    ) -> Option<(HostWindow, ChannelOffsets)> {
        const MAX_SPAN: u64 = 1 << 31;
        if self.checks() || exec == 0 {
            return None;
        }
        let (mut least, mut most) = (u64::MAX, 0);
        for (lane, at) in at.iter().enumerate() {
            let executes = u64::from(exec >> lane & 1).wrapping_neg();
            least = least.min(at | !executes);
            most = most.max(at & executes);
        }
        let bytes = (most - least).checked_add(bytes).filter(|&bytes| bytes <= MAX_SPAN)?;
        let host = self.memory.window(least, bytes, need)?;
        let offsets = at.map(|at| at.wrapping_sub(least) as u32);
        Some((
            HostWindow { host, bytes },
            ChannelOffsets { at: offsets, exec, width: width as usize },
        ))
    }
}

impl HostWindow {
    /// Reads the lowest components of elements, as many as the mask has bits. `false` if the mask has gaps, or a
    /// channel is outside.
    #[inline(always)]
    pub fn read_components(
        &self,
        components: u32,
        offsets: &ChannelOffsets,
        response: &mut [u8],
        stride: usize,
    ) -> bool {
        match components {
            0b0001 => self.read::<1>(offsets, response, stride),
            0b0011 => self.read::<2>(offsets, response, stride),
            0b0111 => self.read::<3>(offsets, response, stride),
            0b1111 => self.read::<4>(offsets, response, stride),
            _ => false,
        }
    }

    /// Reads elements of `N` double words; the response has a field of `stride` bytes for each. `false` if a channel is
    /// outside.
    #[inline(always)]
    pub fn read<const N: usize>(
        &self,
        offsets: &ChannelOffsets,
        response: &mut [u8],
        stride: usize,
    ) -> bool {
        if !offsets.inside(self, 4 * N as u64) || response.len() < N * stride {
            return false;
        }
        if N == 1 && offsets.follow(4) {
            let registers = response.as_chunks_mut::<32>().0.iter_mut().take(offsets.width / 8);
            for (k, register) in registers.enumerate() {
                let from = self.host.wrapping_add(offsets.at[0] as usize + 32 * k);
                // SAFETY: the last channel's element is inside of the window, and all others are before it.
                *register = unsafe { from.cast::<[u8; 32]>().read_unaligned() };
            }
            return true;
        }
        if offsets.follow(0) {
            let element = self.element::<N>(offsets.at[0]);
            for (field, word) in response.chunks_exact_mut(stride).zip(element) {
                field.as_chunks_mut::<4>().0.fill(word);
            }
            return true;
        }
        for lane in offsets.lanes() {
            let element = self.element::<N>(offsets.at[lane]);
            for (field, word) in response.chunks_exact_mut(stride).zip(element) {
                field[4 * lane..4 * lane + 4].copy_from_slice(&word);
            }
        }
        true
    }

    /// The double words at an offset that has been checked.
    #[inline(always)]
    fn element<const N: usize>(&self, at: u32) -> [[u8; 4]; N] {
        debug_assert!(u64::from(at) + 4 * N as u64 <= self.bytes);
        // SAFETY: the caller has checked the offset.
        unsafe { self.host.wrapping_add(at as usize).cast::<[[u8; 4]; N]>().read_unaligned() }
    }

    /// Writes elements of as many double words as there are rows. `false` if a channel is outside.
    #[inline(always)]
    pub fn write(&self, offsets: &ChannelOffsets, rows: &[[u32; LANES]]) -> bool {
        if !offsets.inside(self, 4 * rows.len() as u64) {
            return false;
        }
        let to = |lane: usize| self.host.wrapping_add(offsets.at[lane] as usize);
        if let [row] = rows
            && offsets.follow(4)
        {
            for (lane, word) in row.iter().enumerate().take(offsets.width) {
                // SAFETY: all channels are inside of the window.
                unsafe { to(0).cast::<u32>().add(lane).write_unaligned(word.to_le()) };
            }
            return true;
        }
        for lane in offsets.lanes() {
            for (k, row) in rows.iter().enumerate() {
                // SAFETY: all channels are inside of the window.
                unsafe { to(lane).cast::<u32>().add(k).write_unaligned(row[lane].to_le()) };
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u32) -> u32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *seed >> 8
    }

    /// Random offsets in several patterns: contiguous, uniform, arbitrary, some past the end.
    fn offsets(seed: &mut u32) -> ChannelOffsets {
        let width = [8, 16][random(seed) as usize % 2];
        let start = random(seed) % 1024;
        let pattern = random(seed) % 4;
        let all = (1 << width) - 1;
        ChannelOffsets {
            at: std::array::from_fn(|lane| match pattern {
                0 => start + 4 * lane as u32,
                1 => start,
                2 => random(seed) % 900,
                _ => random(seed) % 1060,
            }),
            exec: if random(seed).is_multiple_of(2) { all } else { random(seed) & all },
            width,
        }
    }

    fn check<const N: usize>(seed: &mut u32) -> bool {
        let mut bytes: Vec<u8> = (0..1024).map(|_| random(seed) as u8).collect();
        let before = bytes.clone();
        let window = HostWindow { host: bytes.as_mut_ptr(), bytes: 1024 };
        let offsets = offsets(seed);
        let lanes: Vec<usize> = offsets.lanes().collect();
        let inside = lanes.iter().all(|&lane| offsets.at[lane] as usize + 4 * N <= 1024);
        let stride = 4 * offsets.width;
        let mut response = vec![0xa5; N * stride];
        let mut want = response.clone();
        if inside {
            for &lane in &lanes {
                for k in 0..N {
                    let from = offsets.at[lane] as usize + 4 * k;
                    want[k * stride + 4 * lane..][..4].copy_from_slice(&before[from..from + 4]);
                }
            }
        }
        assert_eq!(window.read::<N>(&offsets, &mut response, stride), inside);
        assert_eq!(response, want, "{:?}", offsets.at);
        let rows: [[u32; LANES]; N] =
            std::array::from_fn(|_| std::array::from_fn(|_| random(seed)));
        let mut want = before;
        if inside {
            for &lane in &lanes {
                for (k, row) in rows.iter().enumerate() {
                    let to = offsets.at[lane] as usize + 4 * k;
                    want[to..to + 4].copy_from_slice(&row[lane].to_le_bytes());
                }
            }
        }
        assert_eq!(window.write(&offsets, &rows), inside);
        assert_eq!(bytes, want, "{:?}", offsets.at);
        inside
    }

    #[test]
    fn elements_are_read_and_written_inside_alone() {
        let mut seed = 1;
        let mut inside = 0;
        for _ in 0..500 {
            inside += [
                check::<1>(&mut seed),
                check::<2>(&mut seed),
                check::<3>(&mut seed),
                check::<4>(&mut seed),
            ]
            .into_iter()
            .filter(|&inside| inside)
            .count();
        }
        assert!((400..1900).contains(&inside), "{inside}");
    }
}
