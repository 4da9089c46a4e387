//! Messages of EU threads: the shared functions that `send` reaches.
//!
//! [`Ports`] receives the messages of a workgroup's threads. The shared function of a message determines the
//! unit; messages of the data ports are distinguished by the message type in their descriptor (bits 18:14).
//! [`untyped`] has untyped surface messages and their A64 forms, [`scattered`] bytes and double words,
//! [`block`] runs of 16 bytes, [`atomic`] atomics, [`typed`] images, [`surface`] the surface states of
//! binding tables.
//!
//! source: Mesa, brw_eu.h (`brw_dp_*_desc`) and brw_eu_defines.h; IVB PRM volume 4 part 1.

mod atomic;
pub(crate) mod auxiliary;
mod auxiliary_table;
mod block;
mod copy;
pub(crate) mod image;
mod interpolator;
mod payload;
pub(crate) mod plain;
mod refusal;
mod render;
mod sampler;
mod scattered;
mod state;
pub(crate) mod surface;
mod typed;
mod untyped;
mod urb;
mod watch;
mod window;

use rustc_hash::FxHashMap;
use tepui_intel_eu::{
    Finding, FindingKind, Message, MessageUnit, Outcome, Refusal, Step as EuStep, Thread,
    ThreadView, UnwrittenStorage,
};
use tepui_intel_isa::Sfid;
use tepui_softgpu::{AddressSpace, ProgramPoint, Report};

use crate::job::ReportKind;
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::render::target::{BackEnd, Target};
use crate::watch::ThreadPlace;
pub(crate) use copy::CopiedArea;
use payload::{LANES, Payload, put_u32};
use refusal::{refuse, unimplemented};
pub(crate) use sampler::Unit;
use sampler::{Sampler, Scratch, Texture};
pub(crate) use state::DispatchState;
use surface::Surface;
use tepui_texel::Kernels;
use tepui_texel::blocks::Blocks;
use window::HostWindow;

/// Binding table indices with a meaning of their own.
mod index {
    /// Stateless, coherent with the CPU.
    pub const STATELESS_COHERENT: u32 = 255;
    /// Local memory of the workgroup.
    pub const LOCAL: u32 = 254;
    /// Stateless.
    pub const STATELESS: u32 = 253;
    /// The surface state is named by the extended descriptor.
    pub const BINDLESS: u32 = 252;
    /// All indices below are entries of the binding table.
    pub const FIRST_RESERVED: usize = 252;
}

/// The memory that a message's addresses refer to.
#[derive(Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "a message has one, which is never stored")]
enum Space {
    /// A surface; reads past its end return 0, and writes there are dropped.
    Surface(Surface),
    /// The workgroup's local memory.
    Local,
    /// The address space, from a base address on.
    Flat(u64),
}

/// The units that the threads of one workgroup can reach.
pub(crate) struct Ports<'a> {
    shared: &'a DispatchState,
    memory: Memory<'a>,
    local: Vec<u8>,
    /// Bytes of local memory that the workgroup has written, in checked dispatches.
    written: Vec<bool>,
    /// Unwritten local memory or memory that a message of a checked thread has read, at an offset.
    unwritten: Option<(UnwrittenStorage, u64)>,
    /// Number of threads that have reached the barrier.
    arrived: usize,
    /// Surfaces that messages have named so far, and their indices here by the address of their state and by their
    /// index in the binding table.
    surfaces: Vec<BoundSurface>,
    by_state: FxHashMap<u64, u32>,
    by_index: [u32; index::FIRST_RESERVED],
    /// The URB entries of a vertex shader thread's vertices.
    urb: Vec<u32>,
    /// The back end to which a pixel shader thread's pixels are written.
    pixels: Option<Box<BackEnd<'a>>>,
    /// Render targets by their binding table index, and the indices that have been examined.
    targets: Vec<Option<Box<Target>>>,
    known_targets: Vec<bool>,
    /// Samplers by their address, as far as messages have named them.
    samplers: Vec<(u64, Sampler)>,
    blocks: Blocks,
    kernels: &'static Kernels<LANES, Unit>,
    scratch: Box<Scratch>,
    /// The thread of a workgroup that runs, for observers.
    pub(crate) place: ThreadPlace,
}

/// A surface that a message has named.
struct BoundSurface {
    surface: Surface,
    /// The sampler's cached state for messages that it executes for all channels together.
    texture: Texture,
    /// Its host memory, if it is a buffer that is contiguous there; none until a message needs it.
    window: Option<Option<HostWindow>>,
    /// Whether typed messages have filled its clear blocks.
    filled: bool,
}

impl<'a> Ports<'a> {
    /// The units of a worker.
    pub fn new(vm: &'a AddressSpace, shared: &'a DispatchState, local_bytes: usize) -> Ports<'a> {
        Ports {
            shared,
            memory: Memory::new(vm, MemoryUnit::DataPort),
            local: vec![0; local_bytes],
            written: vec![false; if shared.reports.is_some() { local_bytes } else { 0 }],
            unwritten: None,
            arrived: 0,
            surfaces: Vec::new(),
            by_state: FxHashMap::default(),
            by_index: [u32::MAX; index::FIRST_RESERVED],
            urb: Vec::new(),
            pixels: None,
            targets: Vec::new(),
            known_targets: Vec::new(),
            samplers: Vec::new(),
            // A dispatch begins with none, so that small ones have little to clear.
            blocks: Blocks::new(1024),
            kernels: Kernels::of_host(),
            scratch: Box::new(Scratch::new()),
            place: ThreadPlace::Other,
        }
    }

    /// The units of a worker that runs pixel shaders.
    pub fn of_pixels(
        vm: &'a AddressSpace,
        shared: &'a DispatchState,
        back_end: BackEnd<'a>,
    ) -> Ports<'a> {
        Ports { pixels: Some(Box::new(back_end)), ..Ports::new(vm, shared, 0) }
    }

    /// The back end of pixel shaders.
    pub fn pixels_mut(&mut self) -> Option<&mut BackEnd<'a>> {
        self.pixels.as_deref_mut()
    }

    /// The URB, sized for the next thread's handles.
    pub fn urb_mut(&mut self) -> &mut Vec<u32> {
        &mut self.urb
    }

    /// Begins a workgroup: no thread is at its barrier. Local memory keeps its contents, as on silicon.
    pub fn begin_group(&mut self) {
        self.arrived = 0;
        self.written.fill(false);
    }

    /// Whether all threads of the group have reached the barrier; if so, resets it.
    pub fn barrier_complete(&mut self, threads: usize) -> bool {
        let complete = self.arrived >= threads;
        if complete {
            self.arrived -= threads;
        }
        complete
    }

    /// The address of the surface state of a message.
    fn surface_state(&mut self, message: &Message) -> Result<u64, Refusal> {
        let bti = message.desc & 0xff;
        Ok(match bti {
            index::BINDLESS => {
                // The handle is in the upper 20 bits, in units of 64 bytes.
                self.shared.bases.bindless_surface + u64::from(message.ex_desc >> 12 << 6)
            }
            index::STATELESS | index::STATELESS_COHERENT | index::LOCAL => {
                return Err(refuse(format!("binding table index {bti} is no surface")));
            }
            _ => {
                let entry = self.shared.binding_table + 4 * u64::from(bti);
                let mut offset = [0; 4];
                self.memory.read_by(MemoryUnit::State, entry, &mut offset).map_err(refuse)?;
                let offset = u32::from_le_bytes(offset);
                self.shared.bases.surface + u64::from(offset & !0x3f)
            }
        })
    }

    /// The surface of a message of the data port or the sampler.
    fn surface(&mut self, message: &Message) -> Result<Surface, Refusal> {
        let place = self.bound(message)?;
        Ok(self.surfaces[place].surface)
    }

    /// The index here of the surface of a message.
    #[inline]
    fn bound(&mut self, message: &Message) -> Result<usize, Refusal> {
        let known = self.by_index.get((message.desc & 0xff) as usize);
        let place = match known.filter(|&&place| place != u32::MAX) {
            Some(&place) => place as usize,
            None => self.bind(message)?,
        };
        self.memory.set_view(self.surfaces[place].surface.view());
        Ok(place)
    }

    #[cold]
    fn bind(&mut self, message: &Message) -> Result<usize, Refusal> {
        let state = self.surface_state(message)?;
        let place = match self.by_state.get(&state) {
            Some(&place) => place,
            None => {
                let mut surface = self.shared.surface(&mut self.memory, state, false)?;
                surface.look_for_clear_blocks(&mut self.memory);
                let place = self.surfaces.len() as u32;
                let texture = Texture::of(&surface);
                self.surfaces.push(BoundSurface { surface, texture, window: None, filled: false });
                self.by_state.insert(state, place);
                place
            }
        };
        if let Some(known) = self.by_index.get_mut((message.desc & 0xff) as usize) {
            *known = place;
        }
        Ok(place as usize)
    }

    /// The memory that the addresses of a message refer to. `header` contains the base of stateless messages.
    fn space(&mut self, message: &Message, header: Option<[u32; 8]>) -> Result<Space, Refusal> {
        Ok(match message.desc & 0xff {
            index::LOCAL => Space::Local,
            index::STATELESS | index::STATELESS_COHERENT => {
                // source: IVB PRM volume 4 part 1, "message header": bits 31:10 of M0.5 are a base.
                let base = header.map_or(0, |h| u64::from(h[5] & !0x3ff));
                Space::Flat(self.shared.bases.general + base)
            }
            _ => Space::Surface(self.surface(message)?),
        })
    }

    /// A thread that was never started.
    pub fn thread(&self) -> Thread {
        self.shared.thread()
    }

    /// Whether threads are checked. Messages then go channel by channel.
    fn checks(&self) -> bool {
        self.shared.checks()
    }

    /// Checks whether bytes that are read were ever written.
    #[cold]
    fn look_for_unwritten(&mut self, space: &Space, offset: u64, bytes: usize) {
        let first = match space {
            Space::Local => {
                let mut read = (offset..).take(bytes);
                read.find(|&at| self.written.get(at as usize) == Some(&false))
                    .map(|at| (UnwrittenStorage::Local, at))
            }
            Space::Surface(surface) => {
                surface.byte(offset, bytes).and_then(|at| self.unwritten_page(at))
            }
            Space::Flat(base) => self.unwritten_page(base.wrapping_add(offset)),
        };
        self.unwritten = self.unwritten.or(first);
    }

    fn unwritten_page(&self, at: u64) -> Option<(UnwrittenStorage, u64)> {
        (!self.memory.was_written(at)).then_some((UnwrittenStorage::Memory, at))
    }

    /// Reads bytes at an offset. Bytes outside of a surface or of local memory read 0.
    #[inline]
    fn load(&mut self, space: Space, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        into.fill(0);
        if self.checks() {
            self.look_for_unwritten(&space, offset, into.len());
        }
        match space {
            Space::Local => {
                let from = usize::try_from(offset).ok();
                let from = from.and_then(|at| self.local.get(at..at.checked_add(into.len())?));
                if let Some(from) = from {
                    into.copy_from_slice(from);
                }
                Ok(())
            }
            Space::Surface(surface) => {
                let Some(at) = surface.byte(offset, into.len()) else { return Ok(()) };
                self.memory.read(at, into).map_err(refuse)
            }
            Space::Flat(base) => self.memory.read(base.wrapping_add(offset), into).map_err(refuse),
        }
    }

    /// Reads bytes that are all inside of the surface or local memory; `None` if they are not.
    #[inline(always)]
    fn load_inside<const N: usize>(
        &mut self,
        space: &Space,
        offset: u64,
    ) -> Result<Option<[u8; N]>, Refusal> {
        if self.checks() {
            self.look_for_unwritten(space, offset, N);
        }
        let at = match space {
            Space::Local => {
                let from = usize::try_from(offset).ok();
                let from = from.and_then(|at| self.local.get(at..at.checked_add(N)?));
                return Ok(from.and_then(|from| from.try_into().ok()));
            }
            Space::Surface(surface) => match surface.byte(offset, N) {
                Some(at) => at,
                None => return Ok(None),
            },
            Space::Flat(base) => base.wrapping_add(offset),
        };
        let mut bytes = [0; N];
        self.memory.read(at, &mut bytes).map_err(refuse)?;
        Ok(Some(bytes))
    }

    /// Writes bytes at an offset. Bytes outside of a surface or of local memory are dropped.
    #[inline]
    fn store(&mut self, space: Space, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        match space {
            Space::Local => {
                let to = usize::try_from(offset).ok();
                let to = to.and_then(|at| self.local.get_mut(at..at.checked_add(from.len())?));
                if let Some(to) = to {
                    to.copy_from_slice(from);
                    self.wrote_local(offset as usize, from.len());
                }
                Ok(())
            }
            Space::Surface(surface) => {
                let Some(at) = surface.byte(offset, from.len()) else { return Ok(()) };
                self.memory.write(at, from).map_err(refuse)
            }
            Space::Flat(base) => self.memory.write(base.wrapping_add(offset), from).map_err(refuse),
        }
    }

    /// Records that local memory was written, in checked dispatches.
    #[inline]
    fn wrote_local(&mut self, at: usize, bytes: usize) {
        if let Some(written) = self.written.get_mut(at..at + bytes) {
            written.fill(true);
        }
    }

    /// Messages of the first set of the data cache, and of the constant cache.
    fn data_cache_0(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        // Scratch blocks have a different descriptor layout.
        if message.desc >> 18 & 1 != 0 {
            return self.scratch_block(view, message);
        }
        match message.desc >> 14 & 0x1f {
            0 | 1 => self.block_read(view, message),
            8 => self.block_write(view, message),
            3 | 4 => self.scattered_read(view, message),
            11 | 12 => self.scattered_write(view, message),
            // Fences: the effects of earlier messages are already complete.
            7 => Ok(()),
            other => Err(unimplemented(format!("message {other:#x} of data cache 0"))),
        }
    }

    /// Messages of the second set of the data cache.
    fn data_cache_1(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
    ) -> Result<(), Refusal> {
        match message.desc >> 14 & 0x1f {
            0x01 => self.untyped_read(view, message),
            0x09 => self.untyped_write(view, message),
            0x02 => self.untyped_atomic(view, message, false),
            0x1b => self.untyped_atomic(view, message, true),
            0x05 => self.typed_read(view, message),
            0x0d => self.typed_write(view, message),
            0x06 => self.typed_atomic(view, message),
            0x10 => self.a64_scattered_read(view, message),
            0x1a => self.a64_scattered_write(view, message),
            0x11 => self.a64_untyped_read(view, message),
            0x19 => self.a64_untyped_write(view, message),
            0x12 => self.a64_atomic(view, message, false),
            0x1d => self.a64_atomic(view, message, true),
            0x14 => self.a64_block_read(view, message),
            0x15 => self.a64_block_write(view, message),
            other => Err(unimplemented(format!("message {other:#x} of data cache 1"))),
        }
    }

    /// Messages of the gateway.
    fn gateway(&mut self, view: &mut ThreadView<'_>, message: &Message) -> Result<(), Refusal> {
        match message.desc & 7 {
            // Opening and closing reserve registers for messages that are never sent here.
            0 | 1 => Ok(()),
            3 => {
                let now = (self.shared.timestamp)();
                view.respond(0, [now as u32, (now >> 32) as u32, 0, 0, 0, 0, 0, 0], 0xff);
                Ok(())
            }
            4 => {
                self.arrived += 1;
                Ok(())
            }
            other => Err(unimplemented(format!("message {other} of the gateway"))),
        }
    }
}

impl MessageUnit for Ports<'_> {
    fn send(&mut self, view: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        self.memory.set_unit(match message.sfid {
            Sfid::Sampler => MemoryUnit::Sampler,
            Sfid::ConstantCache => MemoryUnit::Constants,
            Sfid::RenderCache => MemoryUnit::RenderTarget,
            _ => MemoryUnit::DataPort,
        });
        match message.sfid {
            Sfid::DataCache0 | Sfid::ConstantCache => self.data_cache_0(view, message)?,
            Sfid::DataCache1 => self.data_cache_1(view, message)?,
            Sfid::Gateway => self.gateway(view, message)?,
            // Ends compute threads, which the message flag already does.
            Sfid::ThreadSpawner => {}
            Sfid::Null => {}
            Sfid::Sampler if self.load_strip(view, message) => {}
            Sfid::Sampler => self.sampler(view, message)?,
            Sfid::RenderCache if self.store_strip(view, message)? => {}
            Sfid::RenderCache => self.render_target_write(view, message)?,
            Sfid::Urb => self.urb_message(view, message)?,
            Sfid::PixelInterpolator => self.interpolate(view, message)?,
            other => {
                return Err(unimplemented(format!("a message to {other} of a compute thread")));
            }
        }
        if let Some((unwritten, at)) = self.unwritten.take() {
            view.note(unwritten, || match unwritten {
                UnwrittenStorage::Memory => {
                    format!("memory at {at:#x} is read, in a page that was never written")
                }
                _ => format!(
                    "byte {at:#x} of local memory is read, but the workgroup never wrote it"
                ),
            });
        }
        Ok(Outcome::Done)
    }

    fn observe(&mut self, step: &EuStep<'_>) {
        self.tell(step);
    }

    fn found(&mut self, findings: Vec<Finding>) {
        let Some(reports) = &self.shared.reports else { return };
        for Finding { kind, ip, instruction, what } in findings {
            let kind = match kind {
                FindingKind::Unwritten(UnwrittenStorage::Register) => ReportKind::UnwrittenRegister,
                FindingKind::Unwritten(UnwrittenStorage::Local) => ReportKind::UnwrittenLocal,
                FindingKind::Unwritten(UnwrittenStorage::Memory) => ReportKind::UnwrittenMemory,
                FindingKind::Unordered => ReportKind::UnorderedAccess,
            };
            let program = self.shared.kernel;
            let at = ProgramPoint { program, offset: ip, text: instruction };
            reports.add(Report { kind, what, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_intel_eu::UnwrittenStorage;
    use tepui_softgpu::{AddressSpace, Memory, Protection};

    use super::{DispatchState, Ports, Space};
    use crate::context::Bases;
    use crate::gpu::{Gpu, Options};

    /// The finding of a read of four bytes.
    fn read(ports: &mut Ports<'_>, space: Space, offset: u64) -> Option<(UnwrittenStorage, u64)> {
        ports.load(space, offset, &mut [0; 4]).expect("bound");
        ports.unwritten.take()
    }

    #[test]
    fn reads_of_what_nobody_wrote_are_noted() {
        const BASE: u64 = 0x10_0000;
        let gpu = |check| {
            let chip = tepui_intel_chips::chip("skl").expect("a chip");
            Gpu::new(chip, Options { check, ..Options::default() })
        };
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(2 << 12).expect("memory"));
        vm.bind(BASE, memory, 0, 2 << 12, Protection::READ | Protection::WRITE).expect("bound");
        let shared = DispatchState::of(&gpu(true), 0, Bases::default(), 0, 0);
        let mut ports = Ports::new(&vm, &shared, 64);
        assert_eq!(read(&mut ports, Space::Local, 8), Some((UnwrittenStorage::Local, 8)));
        ports.store(Space::Local, 8, &[0; 3]).expect("inside");
        assert_eq!(read(&mut ports, Space::Local, 8), Some((UnwrittenStorage::Local, 11)));
        ports.store(Space::Local, 11, &[0; 3]).expect("inside");
        assert_eq!(read(&mut ports, Space::Local, 8), None);
        assert_eq!(read(&mut ports, Space::Local, 62), Some((UnwrittenStorage::Local, 62)));
        assert_eq!(read(&mut ports, Space::Local, 64), None, "outside, which reads 0");
        // Another workgroup has written nothing.
        ports.begin_group();
        assert_eq!(read(&mut ports, Space::Local, 8), Some((UnwrittenStorage::Local, 8)));
        let at = |offset| (UnwrittenStorage::Memory, BASE + offset);
        assert_eq!(read(&mut ports, Space::Flat(BASE), 4096), Some(at(4096)));
        ports.store(Space::Flat(BASE), 4096 + 64, &[1]).expect("bound");
        assert_eq!(read(&mut ports, Space::Flat(BASE), 4096), None, "a page counts whole");
        assert_eq!(read(&mut ports, Space::Flat(0), BASE), Some(at(0)));

        let shared = DispatchState::of(&gpu(false), 0, Bases::default(), 0, 0);
        let mut ports = Ports::new(&vm, &shared, 64);
        assert_eq!(read(&mut ports, Space::Local, 8), None, "not checked");
    }
}
