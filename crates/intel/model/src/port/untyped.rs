//! Untyped surface messages: one to four double words per channel.

use tepui_intel_eu::{Message, Refusal, ThreadView};
use tepui_softgpu::Protection;

use super::payload::lanes;
use super::refusal::refuse;
use super::window::ChannelOffsets;
use super::{Ports, Space};

/// Maximum number of channels of a message.
const CHANNELS: usize = 16;
/// Bytes of a register.
const REGISTER_B: usize = 32;

/// The control field of an untyped surface message: bits 13:8 of the descriptor.
struct Control {
    /// Mask of the components that are read or written.
    components: u32,
    /// Number of channels of the message.
    width: usize,
}

impl Control {
    /// source: Mesa, brw_eu.h: bits 3:0 mask the excluded components (MDC_CMASK), bits 5:4 the SIMD mode
    /// (MDC_SM3).
    fn of(message: &Message) -> Result<Control, Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let width = match control >> 4 {
            1 => 16,
            2 => 8,
            _ => return Err(refuse("an untyped surface message of SIMD4x2")),
        };
        Ok(Control { components: !control & 0xf, width })
    }

    /// The offsets of the channels that execute.
    #[inline]
    fn offsets(&self, view: &ThreadView<'_>, message: &Message) -> ChannelOffsets {
        ChannelOffsets { at: words(view, message, 0), exec: self.exec(message), width: self.width }
    }

    /// The channels that execute.
    fn exec(&self, message: &Message) -> u32 {
        message.channels & all_lanes(self.width)
    }

    /// Number of registers of a double word per channel.
    fn registers(&self) -> usize {
        self.width / 8
    }

    /// Number of components up to the last one.
    fn words(&self) -> usize {
        32 - self.components.leading_zeros() as usize
    }

    /// Whether all components up to the last one are selected.
    fn is_dense(&self) -> bool {
        self.components.wrapping_add(1).is_power_of_two()
    }

    /// The payload's rows for each component, from a register on.
    fn rows<'r>(
        &self,
        view: &ThreadView<'_>,
        message: &Message,
        data: usize,
        rows: &'r mut [[u32; CHANNELS]; 4],
    ) -> &'r [[u32; CHANNELS]] {
        let rows = &mut rows[..self.components.count_ones() as usize];
        for (component, row) in rows.iter_mut().enumerate() {
            *row = words(view, message, data + self.registers() * component);
        }
        rows
    }

    /// The indices of the components.
    fn each(&self) -> impl Iterator<Item = usize> + use<> {
        let components = self.components;
        (0..4).filter(move |c| components >> c & 1 != 0)
    }
}

/// The part of a payload, without its header, that begins at a register of the first or of the second source.
fn field<'v>(view: &'v ThreadView<'_>, message: &Message, register: usize) -> &'v [u8] {
    let first = view.payload();
    let skip = if message.header { REGISTER_B.min(first.len()) } else { 0 };
    let (body, at) = (&first[skip..], register * REGISTER_B);
    match at < body.len() {
        true => &body[at..],
        false => view.payload1().get(at - body.len()..).unwrap_or(&[]),
    }
}

/// A double word per channel, from a register on; 0 past the payload's end.
#[inline]
fn words(view: &ThreadView<'_>, message: &Message, register: usize) -> [u32; CHANNELS] {
    let first = usize::from(message.header) + register;
    let mut words = [0; CHANNELS];
    for (k, eight) in words.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *eight = view.dwords(first + k);
    }
    words
}

/// 32-bit offsets of the channels.
fn offsets(view: &ThreadView<'_>, message: &Message) -> [u64; CHANNELS] {
    words(view, message, 0).map(u64::from)
}

/// 64-bit addresses of the channels.
fn addresses(view: &ThreadView<'_>, message: &Message) -> [u64; CHANNELS] {
    let (bytes, _) = field(view, message, 0).as_chunks::<8>();
    let mut all = [0; CHANNELS];
    for (address, bytes) in all.iter_mut().zip(bytes) {
        *address = u64::from_le_bytes(*bytes);
    }
    all
}

/// A mask of all channels of a message.
fn all_lanes(width: usize) -> u32 {
    (1 << width) - 1
}

impl Ports<'_> {
    pub(super) fn untyped_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        if let Some(window) = self.window(message)? {
            let offsets = control.offsets(view, message);
            let (stride, response) = (control.registers() * REGISTER_B, view.response());
            let done = window.read_components(control.components, &offsets, response, stride);
            if done {
                return Ok(());
            }
        }
        let space = self.space(message, message.header.then(|| view.dwords(0)))?;
        let at = offsets(view, message);
        self.read_components(view, message, &control, space, at)
    }

    pub(super) fn a64_untyped_read(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let at = addresses(view, message);
        let (exec, bytes) = (control.exec(message), 4 * control.words() as u64);
        let channels = [exec, control.width as u32];
        if let Some((window, offsets)) =
            self.window_of_addresses(&at, channels, bytes, Protection::READ)
        {
            let (stride, response) = (control.registers() * REGISTER_B, view.response());
            if window.read_components(control.components, &offsets, response, stride) {
                return Ok(());
            }
        }
        self.read_components(view, message, &control, Space::Flat(0), at)
    }

    fn read_components(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        control: &Control,
        space: Space,
        at: [u64; CHANNELS],
    ) -> Result<(), Refusal> {
        let response = view.response();
        match control.words() {
            1 => self.read_each::<1, 4>(response, message, control, &space, &at),
            2 => self.read_each::<2, 8>(response, message, control, &space, &at),
            3 => self.read_each::<3, 12>(response, message, control, &space, &at),
            _ => self.read_each::<4, 16>(response, message, control, &space, &at),
        }
    }

    /// Reads the elements of the channels one after the other. `WORDS` words of `BYTES` bytes cover the components: an
    /// element inside of the surface is read at once, otherwise one component after the other.
    fn read_each<const WORDS: usize, const BYTES: usize>(
        &mut self,
        response: &mut [u8],
        message: &Message,
        control: &Control,
        space: &Space,
        at: &[u64; CHANNELS],
    ) -> Result<(), Refusal> {
        let stride = control.registers() * REGISTER_B;
        let is_dense = control.components.count_ones() as usize == WORDS;
        for lane in lanes(message, control.width) {
            let mut element = [0; BYTES];
            let whole = if is_dense { self.load_inside::<BYTES>(space, at[lane])? } else { None };
            match whole {
                Some(whole) => element = whole,
                None => {
                    for component in control.each() {
                        let at = at[lane].wrapping_add(4 * component as u64);
                        self.load(*space, at, &mut element[4 * component..][..4])?;
                    }
                }
            }
            for (place, component) in control.each().enumerate() {
                let to = place * stride + 4 * lane;
                if let Some(to) = response.get_mut(to..to + 4) {
                    to.copy_from_slice(&element[4 * component..][..4]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn untyped_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        if control.is_dense()
            && let Some(window) = self.window(message)?
        {
            let offsets = control.offsets(view, message);
            let mut rows = [[0; CHANNELS]; 4];
            let rows = control.rows(view, message, control.registers(), &mut rows);
            if window.write(&offsets, rows) {
                return Ok(());
            }
        }
        let space = self.space(message, message.header.then(|| view.dwords(0)))?;
        let at = offsets(view, message);
        self.write_components(view, message, &control, space, control.registers(), at)
    }

    pub(super) fn a64_untyped_write(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        let control = Control::of(message)?;
        let at = addresses(view, message);
        let (exec, bytes) = (control.exec(message), 4 * control.words() as u64);
        let channels = [exec, control.width as u32];
        if control.is_dense()
            && let Some((window, offsets)) =
                self.window_of_addresses(&at, channels, bytes, Protection::READ | Protection::WRITE)
        {
            let mut rows = [[0; CHANNELS]; 4];
            let rows = control.rows(view, message, 2 * control.registers(), &mut rows);
            if window.write(&offsets, rows) {
                return Ok(());
            }
        }
        self.write_components(view, message, &control, Space::Flat(0), 2 * control.registers(), at)
    }

    /// Writes the components that are in the payload from register `data` on.
    fn write_components(
        &mut self,
        view: &ThreadView<'_>,
        message: &Message,
        control: &Control,
        space: Space,
        data: usize,
        at: [u64; CHANNELS],
    ) -> Result<(), Refusal> {
        let mut values = [[0; CHANNELS]; 4];
        for (place, component) in control.each().enumerate() {
            values[component] = words(view, message, data + place * control.registers());
        }
        for lane in lanes(message, control.width) {
            for component in control.each() {
                let at = at[lane].wrapping_add(4 * component as u64);
                self.store(space, at, &values[component][lane].to_le_bytes())?;
            }
        }
        Ok(())
    }
}
