//! Watching a GPU at work, for debuggers: each instruction of each SIMD-group, each dispatch, and what happens to one pixel.

use std::fmt;
use std::sync::Arc;

use tepui_agx_texture::TileFormat;
use tepui_raster::{PrimitiveKind, Tests};

use crate::usc::grid::Grid;
use crate::usc::row::{LANES, Row};

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device memory, by GPU address.
    Device,
    /// Local memory of the workgroup, by offset; the tilebuffer in fragment programs.
    Local,
    /// Scratch memory, by offset; the lane is in the upper 32 bits.
    Scratch,
}

/// A memory instruction that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The memory space.
    pub space: Space,
    /// Whether it writes: a store or an atomic operation.
    pub writes: bool,
    /// The address of each executing lane.
    pub addresses: [u64; LANES],
    /// Bytes from there on that a lane may access.
    pub bytes: u32,
}

/// The texels of an image that an instruction names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Size, format and part of the image.
    pub what: String,
    /// Width and height.
    pub size: [u32; 2],
    /// Red, green, blue, alpha, row by row: numbers from 0 to 1 as bytes, integers up to 255.
    pub rgba: Vec<u8>,
}

/// A SIMD-group before an instruction, for an observer.
pub(crate) trait Inspect {
    /// The memory that the instruction accesses.
    fn access(&self) -> Option<MemoryAccess>;
    /// A word of memory, if it is bound.
    fn word(&self, space: Space, address: u64) -> Option<u32>;
    /// The descriptor of the image that the instruction reads or writes in its first lane, as one for reading.
    fn descriptor(&self) -> Option<[u8; 24]>;
    /// Texels through a descriptor.
    fn picture(&self, descriptor: &[u8; 24]) -> Result<Picture, String>;
}

/// A SIMD-group before one of its instructions.
pub struct Step<'a> {
    /// GPU address of the program.
    pub program: u64,
    /// Its machine code.
    pub code: &'a [u8],
    /// Byte offset of the instruction in it.
    pub offset: u32,
    /// Lanes that execute.
    pub exec: u32,
    /// Lanes that exist.
    pub alive: u32,
    /// The registers that the program uses.
    pub registers: &'a [Row],
    /// The uniform registers that it reads.
    pub uniforms: Uniforms<'a>,
    /// Workgroup in the grid, in compute programs.
    pub workgroup: [u32; 3],
    /// SIMD-group in the workgroup.
    pub index: u32,
    /// Columns and rows of the lanes' pixels, in fragment programs.
    pub pixels: Option<[&'a Row; 2]>,
    pub(crate) group: &'a dyn Inspect,
}

impl Step<'_> {
    /// The memory that the instruction is about to access.
    #[must_use]
    pub fn access(&self) -> Option<MemoryAccess> {
        self.group.access()
    }

    /// A word of memory before the instruction runs, if it is bound.
    #[must_use]
    pub fn word(&self, space: Space, address: u64) -> Option<u32> {
        self.group.word(space, address)
    }

    /// The texture descriptor of the image that the instruction reads or writes in its first lane.
    #[must_use]
    pub fn descriptor(&self) -> Option<[u8; 24]> {
        self.group.descriptor()
    }

    /// The texels of a descriptor's image.
    ///
    /// # Errors
    /// The part of the descriptor that is unknown.
    pub fn picture(&self, descriptor: &[u8; 24]) -> Result<Picture, String> {
        self.group.picture(descriptor)
    }
}

/// Uniform registers that a program reads.
#[derive(Clone, Copy)]
pub struct Uniforms<'a> {
    pub(crate) numbers: &'a [u16],
    pub(crate) rows: &'a [Row],
}

impl Uniforms<'_> {
    /// The words with their numbers: word `number` is in the halves `2 * number` and `2 * number + 1`.
    pub fn words(&self) -> impl Iterator<Item = (u16, u32)> {
        self.numbers.iter().map(|&n| (n, self.rows[usize::from(n)].0[0]))
    }
}

/// A dispatch that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Its number in the compute command.
    pub number: u64,
    /// Threads in each direction, of all and of a workgroup.
    pub grid: Grid,
    /// GPU address of the program.
    pub program: u64,
}

/// A sample of a pixel: the tilebuffer's bytes, depth, stencil.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Colours as they lie in the tilebuffer.
    pub colour: Vec<u8>,
    /// Depth.
    pub depth: f32,
    /// Stencil.
    pub stencil: u8,
}

/// A primitive that covers samples of the pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Covering {
    /// Number of the draw in the render command.
    pub draw: u32,
    /// Number of the primitive in the draw's instance.
    pub primitive: u32,
    /// Its kind.
    pub kind: PrimitiveKind,
    /// Whether its front faces the viewer.
    pub front: bool,
    /// The samples that it covers, a bit each.
    pub covered: u32,
    /// Its depth at each sample.
    pub depth: Vec<f32>,
    /// Depth and stencil tests.
    pub tests: Tests,
    /// Samples that passed them, if they run before the program; otherwise the program triggers them.
    pub passed: Option<u32>,
    /// A program runs for the pixel.
    pub shaded: bool,
}

/// Colours in the tilebuffer that a program stores or loads: byte of a sample, format, channels (a bit each).
pub type TileAccess = (u16, TileFormat, u8);

/// The fragment program that runs for the pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Shading<'a> {
    /// GPU address of the program.
    pub program: u64,
    /// Its machine code.
    pub code: &'a [u8],
    /// A number that tells programs apart wherever they lie.
    pub fingerprint: u64,
    /// Lane of the pixel.
    pub lane: usize,
    /// The tilebuffer's colours that it stores.
    pub stores: Vec<TileAccess>,
    /// The values that it loads, as blending does.
    pub loads: Vec<TileAccess>,
}

/// Event of a pixel, in this order for each primitive: it is covered, it is shaded, its program has
/// ended.
#[derive(Clone, Debug, PartialEq)]
pub enum PixelEvent<'a> {
    /// The tile has been filled: cleared or loaded.
    Filled(&'a [Sample]),
    /// A primitive covers it; the samples are those after tests that run before the program.
    Covered(Covering, &'a [Sample]),
    /// A program is about to run for the earliest primitive that is to be shaded.
    Shading(Shading<'a>, &'a [Sample]),
    /// The program has ended and left these samples of the primitive alive, a bit each.
    Shaded(u32, &'a [Sample]),
    /// The tile is about to be stored.
    Stored(&'a [Sample]),
}

/// Receives what a GPU does. All functions are called on the thread of the core that does it.
pub trait Observe: Send + Sync {
    /// An instruction, before it runs.
    fn step(&self, step: &Step<'_>);
    /// Whether [`Observe::step`] is to be called for a SIMD-group that is about to run; others may run as translated code.
    fn steps(&self) -> bool {
        true
    }
    /// A dispatch, before it runs.
    fn dispatch(&self, _: &Dispatch) {}
    /// The pixel of which [`Observe::pixel_event`] is told: column, row, layer.
    fn pixel(&self) -> Option<[u32; 3]> {
        None
    }
    /// Something happens to that pixel.
    fn pixel_event(&self, _: &PixelEvent<'_>) {}
}

/// Observer of instructions only.
struct Steps<F>(F);

impl<F: Fn(&Step<'_>) + Send + Sync> Observe for Steps<F> {
    fn step(&self, step: &Step<'_>) {
        (self.0)(step);
    }
}

/// An observer of a GPU.
#[derive(Clone)]
pub struct Watch {
    observer: Arc<dyn Observe>,
}

impl Watch {
    /// Calls `tell` for each instruction before it runs.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Watch {
        Watch { observer: Arc::new(Steps(tell)) }
    }

    /// Tells an observer.
    pub fn of(observer: Arc<dyn Observe>) -> Watch {
        Watch { observer }
    }

    pub(crate) fn observer(&self) -> &dyn Observe {
        &*self.observer
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
