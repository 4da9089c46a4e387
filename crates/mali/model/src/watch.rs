//! Observers of warps, for debuggers: they are told of each instruction before it executes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tepui_softgpu::AddressSpace;

use crate::warp::local::LocalStorage;
use crate::warp::row::{LANES, Row};

/// Memory that a message reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// Memory of the address space, by GPU address.
    Device,
    /// Memory of the workgroup, by offset.
    Local,
    /// Memory of a thread, by offset; the lane is in the upper 32 bits.
    Thread,
}

/// The memory access of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The memory.
    pub space: MemorySpace,
    /// Whether it writes.
    pub writes: bool,
    /// Lanes that access this memory.
    pub lanes: u16,
    /// The address of each lane.
    pub addresses: [u64; LANES],
    /// Bytes of a lane, from its address on.
    pub bytes: u32,
}

/// The work of a warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WarpPlace {
    /// A part of a workgroup.
    Group {
        /// The workgroup.
        workgroup: [u32; 3],
        /// The warp's number in it.
        warp: u32,
        /// Threads of a workgroup in each direction.
        size: [u32; 3],
        /// Number of the dispatch, of all that the GPU has run.
        dispatch: u64,
    },
    /// Fragments.
    Pixels {
        /// Column and row of each lane.
        places: [[u32; 2]; LANES],
        /// Lanes with covered samples; the others are helpers.
        live: u16,
        /// Number of the draw in its frame; none for shaders before and after the frame's draws.
        draw: Option<u32>,
        /// Layer of the framebuffer.
        layer: u32,
        /// Number of the frame, of all that the GPU has rendered.
        frame: u64,
        /// The warp's number in it.
        warp: u64,
    },
    /// Vertices.
    #[default]
    Other,
}

/// An instruction, or on Bifrost a clause, that is about to execute, or the end of a program.
pub struct Step<'a> {
    /// GPU address of the program.
    pub program: u64,
    /// Its machine code.
    pub code: &'a [u8],
    /// Byte offset of the instruction in the program; the length of the machine code when all lanes have ended.
    pub offset: u32,
    /// Lanes that execute it; none when all have ended.
    pub exec: u16,
    /// The warp's work.
    pub place: &'a WarpPlace,
    /// Its access of memory by lanes' addresses; none for images and other units.
    pub access: Option<Access>,
    pub(crate) registers: &'a [Row],
    pub(crate) uniforms: &'a [Row],
    pub(crate) memory: Inspect<'a>,
}

/// Memory as a warp reaches it.
pub(crate) struct Inspect<'a> {
    pub vm: &'a AddressSpace,
    pub workgroup: &'a Range<u64>,
    pub thread: LocalStorage,
}

impl Inspect<'_> {
    fn word(&self, space: MemorySpace, address: u64) -> Option<u32> {
        let at = match space {
            MemorySpace::Device => address,
            MemorySpace::Local => {
                let at = self.workgroup.start.checked_add(address)?;
                self.workgroup.contains(&at).then_some(at)?
            }
            MemorySpace::Thread => {
                let (offset, lane) = (address & 0xffff_ffff, (address >> 32) as usize);
                (lane < LANES && offset < self.thread.bytes)
                    .then(|| self.thread.at(offset, lane))?
            }
        };
        let mut bytes = [0; 4];
        self.vm.read(at, &mut bytes).ok()?;
        Some(u32::from_le_bytes(bytes))
    }
}

impl Step<'_> {
    /// The registers, each with a word of every lane.
    pub fn registers(&self) -> impl Iterator<Item = &[u32]> {
        self.registers.iter().map(|row| &row.0[..])
    }

    /// The words of fast-access uniforms, without the zeros at the end.
    #[must_use]
    pub fn uniforms(&self) -> Vec<u32> {
        let used = self.uniforms.iter().rposition(|row| row.0[0] != 0).map_or(0, |last| last + 1);
        self.uniforms[..used].iter().map(|row| row.0[0]).collect()
    }

    /// The word of memory at a multiple of four, if it is bound.
    #[must_use]
    pub fn word(&self, space: MemorySpace, address: u64) -> Option<u32> {
        self.memory.word(space, address)
    }
}

/// An observer of a GPU, which is called on the thread of the host that executes.
#[derive(Clone)]
pub struct Watch {
    tell: Arc<dyn Fn(&Step<'_>) + Send + Sync>,
    is_on: Arc<AtomicBool>,
}

impl Watch {
    /// Calls a function for each instruction before it executes.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Watch {
        Watch { tell: Arc::new(tell), is_on: Arc::new(AtomicBool::new(true)) }
    }

    /// Whether dispatches and frames that begin from now on are observed.
    pub fn turn(&self, on: bool) {
        self.is_on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    pub(crate) fn tell(&self, step: &Step<'_>) {
        (self.tell)(step);
    }
}

/// Observer of the warps that run on a worker.
pub(crate) struct Watched<'vm> {
    pub watch: Watch,
    pub vm: &'vm AddressSpace,
    /// The work of the warp that runs.
    pub place: WarpPlace,
    /// Memory of its workgroup.
    pub workgroup: Range<u64>,
}

impl<'vm> Watched<'vm> {
    /// No warp runs yet.
    pub fn new(watch: Watch, vm: &'vm AddressSpace) -> Watched<'vm> {
        Watched { watch, vm, place: WarpPlace::Other, workgroup: 0..0 }
    }
}
