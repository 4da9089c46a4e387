//! Message descriptors: the meaning of the 32 bits for each shared function.
//!
//! source: Mesa, `brw_eu.h` (fields), `brw_eu_defines.h` (codes), `brw_disasm.c` (names).

use std::fmt;

use crate::sfid::Sfid;
use crate::table::opcode::functions;

functions! {
    /// An operation of the sampling engine.
    SamplerOp:
    Sample = 0 "sample" "Samples.";
    SampleB = 1 "sample_b" "Samples with a bias of the level of detail.";
    SampleL = 2 "sample_l" "Samples at a level of detail.";
    SampleC = 3 "sample_c" "Samples and compares.";
    SampleD = 4 "sample_d" "Samples with derivatives.";
    SampleBC = 5 "sample_b_c" "Samples with a bias and compares.";
    SampleLC = 6 "sample_l_c" "Samples at a level of detail and compares.";
    Ld = 7 "ld" "Loads a texel.";
    Gather4 = 8 "gather4" "A component of four texels.";
    Lod = 9 "lod" "The level of detail.";
    ResInfo = 10 "resinfo" "Size and levels of the surface.";
    SampleInfo = 11 "sampleinfo" "Samples of the surface.";
    Gather4C = 16 "gather4_c" "Compares four texels.";
    Gather4Po = 17 "gather4_po" "A component of four texels, with offsets.";
    Gather4PoC = 18 "gather4_po_c" "Compares four texels, with offsets.";
    SampleDC = 20 "sample_d_c" "Samples with derivatives and compares.";
    SampleLz = 24 "sample_lz" "Samples the first level.";
    SampleCLz = 25 "sample_c_lz" "Samples the first level and compares.";
    LdLz = 26 "ld_lz" "Loads a texel of the first level.";
    Ld2DmsW = 28 "ld2dms_w" "Loads a sample, with a wide MCS value.";
    LdMcs = 29 "ld_mcs" "Loads from the MCS surface.";
    Ld2Dms = 30 "ld2dms" "Loads a sample of a compressed surface.";
    Ld2Dss = 31 "ld2dss" "Loads a sample of an uncompressed surface.";
}

functions! {
    /// A message of the data port, first set (`data`).
    DataOp0:
    OwordBlockRead = 0 "DC OWORD block read" "Reads whole owords.";
    UnalignedOwordBlockRead = 1 "DC unaligned OWORD block read" "Reads owords from a dword address.";
    OwordDualBlockRead = 2 "DC OWORD dual block read" "Reads two blocks of owords.";
    DwordScatteredRead = 3 "DC DWORD scattered read" "Reads a dword for each channel.";
    ByteScatteredRead = 4 "DC byte scattered read" "Reads bytes for each channel.";
    UntypedSurfaceRead = 5 "DC untyped surface read" "Reads up to four dwords for each channel.";
    UntypedAtomic = 6 "DC untyped atomic" "An atomic operation for each channel.";
    MemoryFence = 7 "DC mfence" "Waits until memory is consistent.";
    OwordBlockWrite = 8 "DC OWORD block write" "Writes whole owords.";
    OwordDualBlockWrite = 10 "DC OWORD dual block write" "Writes two blocks of owords.";
    DwordScatteredWrite = 11 "DC DWORD scatterd write" "Writes a dword for each channel.";
    ByteScatteredWrite = 12 "DC byte scattered write" "Writes bytes for each channel.";
    UntypedSurfaceWrite = 13 "DC untyped surface write" "Writes up to four dwords for each channel.";
}

functions! {
    /// A message of the data port, second set (`dp data 1`).
    DataOp1:
    UntypedSurfaceRead = 1 "untyped surface read" "Reads up to four dwords for each channel.";
    UntypedAtomic = 2 "DC untyped atomic op" "An atomic operation for each channel.";
    UntypedAtomic4x2 = 3 "DC untyped 4x2 atomic op" "Two atomic operations.";
    MediaBlockRead = 4 "DC media block read" "Reads a rectangle.";
    TypedSurfaceRead = 5 "DC typed surface read" "Reads a texel for each channel.";
    TypedAtomic = 6 "DC typed atomic" "An atomic operation on a texel for each channel.";
    TypedAtomic4x2 = 7 "DC typed 4x2 atomic op" "Two atomic operations on texels.";
    UntypedSurfaceWrite = 9 "DC untyped surface write" "Writes up to four dwords for each channel.";
    MediaBlockWrite = 10 "DC media block write" "Writes a rectangle.";
    AtomicCounter = 11 "DC atomic counter op" "Counts.";
    AtomicCounter4x2 = 12 "DC 4x2 atomic counter op" "Counts twice.";
    TypedSurfaceWrite = 13 "DC typed surface write" "Writes a texel for each channel.";
    A64ScatteredRead = 16 "DC A64 scattered read" "Reads elements at 64-bit addresses.";
    A64UntypedSurfaceRead = 17 "DC A64 untyped surface read" "Reads up to four dwords at 64-bit addresses.";
    A64UntypedAtomic = 18 "DC A64 untyped atomic op" "Atomic operations at 64-bit addresses.";
    A64UntypedAtomicHalfInt = 19 "DC A64 untyped atomic half-integer op" "The same with 16-bit integers (Gen12).";
    A64OwordBlockRead = 20 "DC A64 oword block read" "Reads owords at a 64-bit address.";
    A64OwordBlockWrite = 21 "DC A64 oword block write" "Writes owords at a 64-bit address.";
    A64UntypedSurfaceWrite = 25 "DC A64 untyped surface write" "Writes up to four dwords at 64-bit addresses.";
    A64ScatteredWrite = 26 "DC A64 scattered write" "Writes elements at 64-bit addresses.";
    UntypedAtomicFloat = 27 "DC untyped atomic float op" "Atomic operations on floats.";
    A64UntypedAtomicFloat = 29 "DC A64 untyped atomic float op" "The same at 64-bit addresses.";
    A64UntypedAtomicHalfFloat = 30 "DC A64 untyped atomic half-float op" "The same with half floats (Gen12).";
}

functions! {
    /// An atomic operation on integers.
    AtomicOp:
    And = 1 "and" "Bitwise and.";
    Or = 2 "or" "Bitwise or.";
    Xor = 3 "xor" "Bitwise exclusive or.";
    Mov = 4 "mov" "Exchanges.";
    Inc = 5 "inc" "Adds 1.";
    Dec = 6 "dec" "Subtracts 1.";
    Add = 7 "add" "Adds.";
    Sub = 8 "sub" "Subtracts.";
    RevSub = 9 "revsub" "Subtracts memory from the source.";
    IMax = 10 "imax" "The greater, signed.";
    IMin = 11 "imin" "The smaller, signed.";
    UMax = 12 "umax" "The greater, unsigned.";
    UMin = 13 "umin" "The smaller, unsigned.";
    CmpWr = 14 "cmpwr" "Writes if equal.";
    PreDec = 15 "predec" "Subtracts 1 and returns the new value.";
}

functions! {
    /// An atomic operation on floats.
    FloatAtomicOp:
    FMax = 1 "fmax" "The greater.";
    FMin = 2 "fmin" "The smaller.";
    FCmpWr = 3 "fcmpwr" "Writes if equal.";
    FAdd = 4 "fadd" "Adds.";
}

functions! {
    /// A function of the gateway.
    GatewayOp:
    Open = 0 "open" "Opens a gateway.";
    Close = 1 "close" "Closes it.";
    Forward = 2 "forward msg" "Sends to another thread.";
    Timestamp = 3 "get timestamp" "Reads the timestamp.";
    Barrier = 4 "barrier msg" "Arrives at a barrier.";
    UpdateState = 5 "update state" "Changes the gateway's state.";
    Mmio = 6 "mmio read/write" "Reads or writes a register.";
}

functions! {
    /// An operation on the URB.
    UrbOp:
    AtomicMov = 4 "atomic mov" "Exchanges a dword.";
    AtomicInc = 5 "atomic inc" "Counts a dword up.";
    AtomicAdd = 6 "atomic add" "Adds to a dword.";
    Simd8Write = 7 "SIMD8 write" "Writes a component of each channel.";
    Simd8Read = 8 "SIMD8 read" "Reads a component of each channel.";
}

functions! {
    /// An operation on render targets.
    RenderOp:
    Write = 12 "RT write" "Writes pixels.";
    Read = 13 "RT read" "Reads pixels.";
}

functions! {
    /// Layout of the payload of a render target write.
    RenderWrite:
    Simd16 = 0 "SIMD16" "One source, 16 pixels.";
    Simd16Replicated = 1 "SIMD16/RepData" "One colour for 16 pixels.";
    Simd8DualLow = 2 "SIMD8/DualSrcLow" "Two sources, the first two subspans.";
    Simd8DualHigh = 3 "SIMD8/DualSrcHigh" "Two sources, the last two subspans.";
    Simd8 = 4 "SIMD8" "One source, 8 pixels.";
    Simd8Image = 5 "SIMD8/ImageWrite" "An image write.";
    Simd16Replicated111 = 7 "SIMD16/RepData-111" "As 1.";
}

functions! {
    /// The position at which the pixel interpolator evaluates.
    InterpolatorOp:
    SharedOffset = 0 "per_message_offset" "At an offset in the message.";
    Sample = 1 "sample_position" "At a sample.";
    Centroid = 2 "centroid" "At the centroid.";
    SlotOffset = 3 "per_slot_offset" "At an offset of each channel.";
}

/// Names of the sampler's channel counts, by code.
const SAMPLER_SIMD: [&str; 7] =
    ["SIMD4x2", "SIMD8", "SIMD16", "SIMD32/64", "", "SIMD8H", "SIMD16H"];

/// Names of sizes of oword blocks, by code.
const OWORDS: [&str; 5] = ["1-low", "1-high", "2", "4", "8"];

const fn bits(desc: u32, high: u32, low: u32) -> u32 {
    desc >> low & ((1 << (high - low + 1)) - 1)
}

/// Registers of the payload.
pub const fn payload_registers(desc: u32) -> u8 {
    bits(desc, 28, 25) as u8
}

/// Registers of the response.
pub const fn response_registers(desc: u32) -> u8 {
    bits(desc, 24, 20) as u8
}

/// Whether the payload begins with a header.
pub const fn has_header(desc: u32) -> bool {
    bits(desc, 19, 19) != 0
}

/// Registers of the second payload, from the extended descriptor.
pub const fn payload1_registers(ex_desc: u32) -> u8 {
    bits(ex_desc, 9, 6) as u8
}

/// A descriptor, decoded. Operations are `None` where the code is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Descriptor {
    /// Sampling engine.
    Sampler {
        /// The operation.
        op: Option<SamplerOp>,
        /// Channels: 0 SIMD4x2 (or SIMD8D), 1 SIMD8, 2 SIMD16, 3 SIMD32; 5 and 6 with half floats.
        simd: u8,
        /// The response has half floats.
        half: bool,
        /// Binding table index.
        surface: u8,
        /// Index of the sampler state.
        sampler: u8,
    },
    /// A read-only data port: constant or sampler cache. Its messages are those of [`DataOp0`].
    ReadOnly {
        /// The message's code.
        op: u8,
        /// Its control.
        control: u8,
        /// Binding table index.
        surface: u8,
    },
    /// Data port, first set.
    Data0 {
        /// The message.
        op: Option<DataOp0>,
        /// Its control.
        control: u8,
        /// Binding table index; 254 is shared local memory, 255 and 253 are stateless.
        surface: u8,
    },
    /// Data port, first set, scratch memory (bit 18).
    Scratch {
        /// Whether it writes.
        write: bool,
        /// Whether it transfers dwords of each channel instead of owords.
        dwords: bool,
        /// Whether lines are invalidated after the read.
        invalidate: bool,
        /// Base-2 logarithm of the number of registers.
        block: u8,
        /// Offset in registers.
        offset: u16,
    },
    /// Data port, second set.
    Data1 {
        /// The message.
        op: Option<DataOp1>,
        /// Its control.
        control: u8,
        /// Binding table index.
        surface: u8,
    },
    /// Render cache.
    Render {
        /// The operation.
        op: Option<RenderOp>,
        /// Layout of a write's payload.
        write: Option<RenderWrite>,
        /// Whether it is for channels 16 to 31 of the dispatch.
        high: bool,
        /// Whether it is the thread's last render target write.
        last: bool,
        /// Bits 13:8, which contain [`Self::Render::write`] and the flags.
        control: u8,
        /// Binding table index.
        surface: u8,
    },
    /// URB.
    Urb {
        /// The operation.
        op: Option<UrbOp>,
        /// Code of the operation.
        code: u8,
        /// Offset in owords (Gen9 counts 128-bit units), added to each handle.
        offset: u16,
        /// Whether each channel has an offset.
        per_slot: bool,
        /// Whether the payload has channel masks.
        masked: bool,
    },
    /// Gateway.
    Gateway {
        /// The function.
        op: Option<GatewayOp>,
    },
    /// Thread spawner: the thread ends.
    ThreadSpawner,
    /// Pixel interpolator.
    Interpolator {
        /// The position at which it evaluates.
        op: InterpolatorOp,
        /// 16 channels instead of 8.
        simd16: bool,
        /// Linear instead of perspective interpolation.
        linear: bool,
        /// Whether it is for channels 16 to 31.
        high: bool,
        /// Offset or sample.
        data: u8,
    },
    /// A function whose messages are unknown.
    Unknown,
}

impl Descriptor {
    /// Decodes a descriptor.
    pub fn decode(sfid: Sfid, desc: u32) -> Descriptor {
        let surface = bits(desc, 7, 0) as u8;
        let control = bits(desc, 13, 8) as u8;
        let code = bits(desc, 18, 14) as u8;
        let flag = |bit| bits(desc, bit, bit) != 0;
        match sfid {
            Sfid::Sampler => Descriptor::Sampler {
                op: SamplerOp::from_code(bits(desc, 16, 12) as u8),
                simd: (bits(desc, 18, 17) | bits(desc, 29, 29) << 2) as u8,
                half: flag(30),
                surface,
                sampler: bits(desc, 11, 8) as u8,
            },
            Sfid::SamplerCache | Sfid::ConstantCache => {
                Descriptor::ReadOnly { op: code, control, surface }
            }
            Sfid::DataCache0 if flag(18) => Descriptor::Scratch {
                write: flag(17),
                dwords: flag(16),
                invalidate: flag(15),
                block: bits(desc, 13, 12) as u8,
                offset: bits(desc, 11, 0) as u16,
            },
            Sfid::DataCache0 => {
                Descriptor::Data0 { op: DataOp0::from_code(code), control, surface }
            }
            Sfid::DataCache1 => {
                Descriptor::Data1 { op: DataOp1::from_code(code), control, surface }
            }
            Sfid::RenderCache => Descriptor::Render {
                op: RenderOp::from_code(bits(desc, 17, 14) as u8),
                write: RenderWrite::from_code(bits(desc, 10, 8) as u8),
                high: flag(11),
                last: flag(12),
                control,
                surface,
            },
            Sfid::Urb => Descriptor::Urb {
                op: UrbOp::from_code(bits(desc, 3, 0) as u8),
                code: bits(desc, 3, 0) as u8,
                offset: bits(desc, 14, 4) as u16,
                per_slot: flag(17),
                masked: flag(15),
            },
            Sfid::Gateway => {
                Descriptor::Gateway { op: GatewayOp::from_code(bits(desc, 2, 0) as u8) }
            }
            Sfid::ThreadSpawner => Descriptor::ThreadSpawner,
            Sfid::PixelInterpolator => Descriptor::Interpolator {
                op: InterpolatorOp::ALL[bits(desc, 13, 12) as usize],
                simd16: flag(16),
                linear: flag(14),
                high: flag(11),
                data: surface,
            },
            Sfid::Null | Sfid::Vme | Sfid::Cre => Descriptor::Unknown,
        }
    }
}

/// The name of an operation; a note if its code is reserved.
fn name(name: Option<&'static str>) -> &'static str {
    name.unwrap_or("reserved")
}

/// Number of owords, from bits 4:3 of the control.
struct Owords(u8);

impl fmt::Display for Owords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = OWORDS.get(usize::from(self.0 & 7)).copied();
        write!(f, "owords = {}, aligned = {}", name(count), self.0 >> 3 & 3)
    }
}

impl fmt::Display for Descriptor {
    /// The text of Mesa's disassembler after `MsgDesc:`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Descriptor::Sampler { op, simd, half, surface, sampler } => {
                let simd = SAMPLER_SIMD.get(usize::from(simd)).copied();
                let half = if half { " HP" } else { "" };
                let op = name(op.map(SamplerOp::name));
                write!(f, " {op} {}{half} Surface = {surface} Sampler = {sampler}", name(simd))
            }
            Descriptor::ReadOnly { op, control, surface } => {
                write!(f, " (bti {surface}, msg_ctrl {control}, msg_type {op})")
            }
            Descriptor::Scratch { write, dwords, invalidate, block, offset } => {
                let kind = if write { "write" } else { "read" };
                let unit = if dwords { "dword" } else { "oword" };
                let invalidate = if invalidate { ", invalidate" } else { "" };
                write!(
                    f,
                    " (scratch {kind}, {unit}, {} registers, offset {offset}{invalidate})",
                    1 << block
                )
            }
            Descriptor::Data0 { op, control, surface } => {
                write!(f, " ({}, bti {surface}, ", name(op.map(DataOp0::name)))?;
                match op {
                    Some(DataOp0::UntypedAtomic) => {
                        write!(
                            f,
                            " {})",
                            name(AtomicOp::from_code(control & 15).map(AtomicOp::name))
                        )
                    }
                    Some(DataOp0::OwordBlockRead | DataOp0::OwordBlockWrite) => {
                        write!(f, "{})", Owords(control))
                    }
                    _ => write!(f, "{control})"),
                }
            }
            Descriptor::Data1 { op, control, surface } => {
                write!(f, " ({}, Surface = {surface}, ", name(op.map(DataOp1::name)))?;
                data1_control(f, op, control)?;
                f.write_str(")")
            }
            Descriptor::Render { op, write, high, last, control, surface } => {
                write!(f, " {}", name(op.map(RenderOp::name)))?;
                if op == Some(RenderOp::Write) {
                    write!(f, " {}", name(write.map(RenderWrite::name)))?;
                    f.write_str(if high { " Hi" } else { "" })?;
                    f.write_str(if last { " LastRT" } else { "" })?;
                } else {
                    write!(f, " MsgCtrl = 0x{control}")?;
                }
                write!(f, " Surface = {surface}")
            }
            Descriptor::Urb { op, offset, per_slot, masked, .. } => {
                write!(f, " offset {offset} {}", name(op.map(UrbOp::name)))?;
                f.write_str(if per_slot { " per-slot" } else { "" })?;
                let simd8 = matches!(op, Some(UrbOp::Simd8Write | UrbOp::Simd8Read));
                match (simd8, masked) {
                    (true, true) => f.write_str(" masked"),
                    (false, true) => f.write_str(" interleave"),
                    _ => Ok(()),
                }
            }
            Descriptor::Gateway { op } => write!(f, " ({})", name(op.map(GatewayOp::name))),
            Descriptor::ThreadSpawner => Ok(()),
            Descriptor::Interpolator { op, linear, data, .. } => {
                let mode = if linear { "linear" } else { "persp" };
                write!(f, " ({mode}, {}, 0x{data:02x})", op.name())
            }
            Descriptor::Unknown => Ok(()),
        }
    }
}

fn data1_control(f: &mut fmt::Formatter<'_>, op: Option<DataOp1>, control: u8) -> fmt::Result {
    use DataOp1 as Op;
    let simd = if control & 16 != 0 { 8 } else { 16 };
    let atomic = || name(AtomicOp::from_code(control & 15).map(AtomicOp::name));
    match op {
        Some(Op::UntypedAtomic | Op::TypedAtomic | Op::AtomicCounter) => {
            write!(f, "SIMD{simd}, {}", atomic())
        }
        Some(
            Op::UntypedAtomic4x2
            | Op::TypedAtomic4x2
            | Op::AtomicCounter4x2
            | Op::A64UntypedAtomic
            | Op::A64UntypedAtomicHalfInt,
        ) => write!(f, " {}", atomic()),
        Some(
            Op::UntypedSurfaceRead
            | Op::UntypedSurfaceWrite
            | Op::TypedSurfaceRead
            | Op::TypedSurfaceWrite
            | Op::A64UntypedSurfaceWrite
            | Op::A64UntypedSurfaceRead,
        ) => {
            let simd = ["4x2", "16", "8", "reserved"][usize::from(control >> 4)];
            write!(f, "SIMD{simd}, Mask = {:#x}", control & 15)
        }
        Some(
            Op::UntypedAtomicFloat | Op::A64UntypedAtomicFloat | Op::A64UntypedAtomicHalfFloat,
        ) => {
            let op = FloatAtomicOp::from_code(control & 15).map(FloatAtomicOp::name);
            write!(f, "SIMD{simd}, {}", name(op))
        }
        Some(Op::A64OwordBlockRead | Op::A64OwordBlockWrite) => write!(f, "{}", Owords(control)),
        _ => write!(f, "{control:#x}"),
    }
}
