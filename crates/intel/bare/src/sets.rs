//! The resources of a program in memory: buffers, images, their surface states, samplers, records of descriptor sets.

use std::collections::BTreeMap;

use tepui_intel_compiler::set_memory::{buffer, sampled, storage};
use tepui_intel_compiler::{Sampler, Surface, View};
use tepui_intel_packets::sampler::{SamplerBorderColorState, SamplerState};
use tepui_intel_packets::surface::RenderSurfaceState;
use tepui_softgpu::AddressSpace;

use crate::image::sampler;
use crate::memory::Layout;
use crate::{Bindings, Error, PAGE, surface};

/// Set, binding and element.
type Slot = (u32, u32, u32);

/// Alignment of bindless samplers.
const SAMPLER_ALIGN: u64 = 32;

/// Resources in memory.
pub struct Resources {
    bindings: Bindings,
    /// Offsets of buffers, of images and of border colours.
    buffers: BTreeMap<Slot, u64>,
    images: BTreeMap<Slot, u64>,
    borders: BTreeMap<Slot, u64>,
}

impl Resources {
    /// Places buffers and images.
    ///
    /// # Errors
    /// When the hardware does not have an image.
    pub fn new(m: &mut Layout, bindings: &Bindings) -> Result<Resources, Error> {
        let bindings = bindings.clone();
        let buffers = bindings.buffers.iter().map(|(&k, bytes)| (k, m.place(bytes, PAGE)));
        let buffers = buffers.collect();
        let mut images = BTreeMap::new();
        for (&slot, picture) in &bindings.images {
            images.insert(slot, m.place(&picture.bytes()?, PAGE));
        }
        let mut borders = BTreeMap::new();
        for (&slot, s) in &bindings.samplers {
            let [red, green, blue, alpha] = s.border;
            let colour = SamplerBorderColorState {
                border_color_32bit_red: red,
                border_color_32bit_green: green,
                border_color_32bit_blue: blue,
                border_color_32bit_alpha: alpha,
            };
            borders.insert(slot, m.place(&colour.pack()?, PAGE));
        }
        Ok(Resources { bindings, buffers, images, borders })
    }

    /// GPU addresses of the buffers.
    pub fn addresses(&self, m: &Layout) -> BTreeMap<Slot, u64> {
        self.buffers.iter().map(|(&slot, &at)| (slot, m.address(at))).collect()
    }

    /// The offset and the bytes of the buffer of a surface; `data` are those of the program's constant data.
    pub fn buffer(&self, s: &Surface, data: (u64, usize)) -> (u64, usize) {
        match *s {
            Surface::Data => data,
            Surface::Buffer { set, binding, element } => {
                let slot = (set, binding, element);
                let bytes = self.bindings.buffers.get(&slot).map_or(0, Vec::len);
                (self.buffers.get(&slot).copied().unwrap_or(0), bytes)
            }
            _ => (0, 0),
        }
    }

    /// Places the state of a surface.
    ///
    /// # Errors
    /// When the hardware does not have the image.
    pub fn surface(&self, m: &mut Layout, s: &Surface, data: (u64, usize)) -> Result<u64, Error> {
        if let Surface::Image { set, binding, element, view } = *s {
            return self.image(m, (set, binding, element), view);
        }
        let (at, bytes) = self.buffer(s, data);
        let state = surface(m.address(at), bytes);
        Ok(m.place(&state.pack()?, PAGE))
    }

    fn image(&self, m: &mut Layout, slot: Slot, view: View) -> Result<u64, Error> {
        let state = match (self.bindings.images.get(&slot), self.images.get(&slot)) {
            (Some(picture), Some(&at)) => picture.state(view, m.address(at))?,
            // A null surface.
            _ => surface(0, 0),
        };
        Ok(m.place(&state.pack()?, PAGE))
    }

    fn sampler(&self, slot: Slot) -> SamplerState {
        let border = self.borders.get(&slot).copied().unwrap_or(0);
        self.bindings.samplers.get(&slot).map_or_else(SamplerState::default, |s| sampler(s, border))
    }

    /// Places the sampler table.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn samplers(&self, m: &mut Layout, samplers: &[Sampler]) -> Result<u64, Error> {
        let mut table = Vec::new();
        for s in samplers {
            table.extend(self.sampler((s.set, s.binding, s.element)).pack()?);
        }
        Ok(m.place(&table, PAGE))
    }

    /// Places the records of all sets; their numbers and offsets.
    ///
    /// # Errors
    /// When the hardware does not have an image.
    pub fn records(&self, m: &mut Layout) -> Result<Vec<(u32, u64)>, Error> {
        let mut sets: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut put = |set: u32, at: u32, bytes: &[u8]| {
            let memory = sets.entry(set).or_default();
            let end = at as usize + bytes.len();
            memory.resize(memory.len().max(end), 0);
            memory[at as usize..end].copy_from_slice(bytes);
        };
        let base = |set: u32, binding: u32| {
            let mut placed = self.bindings.sets.iter();
            placed.find(|p| (p.set, p.binding) == (set, binding)).map(|p| p.offset)
        };
        for (&(set, binding, element), bytes) in &self.bindings.buffers {
            let Some(first) = base(set, binding) else { continue };
            let at = first + element * buffer::BYTES;
            let address = self.buffers.get(&(set, binding, element)).map_or(0, |&at| m.address(at));
            put(set, at + buffer::ADDRESS, &address.to_le_bytes());
            put(set, at + buffer::SIZE, &(bytes.len() as u64).to_le_bytes());
        }
        // The index of a surface state, from bit 12 on.
        let handle = |at: u64| ((at / RenderSurfaceState::SIZE_BYTES as u64) << 12) as u32;
        for (&slot, picture) in &self.bindings.images {
            let (set, binding, element) = slot;
            let Some(first) = base(set, binding) else { continue };
            if picture.storage {
                let at = first + element * storage::BYTES;
                let states = [View::Storage, View::Raw].map(|view| self.image(m, slot, view));
                let [own, raw] = states;
                put(set, at + storage::SURFACE, &handle(own?).to_le_bytes());
                put(set, at + storage::RAW, &handle(raw?).to_le_bytes());
            } else {
                let at = first + element * sampled::BYTES;
                let state = self.image(m, slot, View::Sampled)?;
                put(set, at + sampled::SURFACE, &handle(state).to_le_bytes());
            }
        }
        for &slot in self.bindings.samplers.keys() {
            let (set, binding, element) = slot;
            let Some(first) = base(set, binding) else { continue };
            let at = first + element * sampled::BYTES;
            let state = m.place(&self.sampler(slot).pack()?, SAMPLER_ALIGN);
            put(set, at + sampled::SAMPLER, &(state as u32).to_le_bytes());
        }
        Ok(sets.into_iter().map(|(set, bytes)| (set, m.place(&bytes, PAGE))).collect())
    }

    /// Takes what the program left in buffers and images.
    ///
    /// # Errors
    /// When memory cannot be read.
    pub fn take(
        &self,
        m: &Layout,
        vm: &AddressSpace,
        bindings: &mut Bindings,
    ) -> Result<(), Error> {
        let read = |at: u64, bytes: &mut [u8]| {
            vm.read(m.address(at), bytes).map_err(|e| Error::Memory(e.to_string()))
        };
        for (slot, &at) in &self.buffers {
            if let Some(bytes) = bindings.buffers.get_mut(slot) {
                read(at, bytes)?;
            }
        }
        for (slot, &at) in &self.images {
            if let Some(picture) = bindings.images.get_mut(slot) {
                let mut bytes = picture.bytes()?;
                read(at, &mut bytes)?;
                picture.take(&bytes)?;
            }
        }
        Ok(())
    }
}
