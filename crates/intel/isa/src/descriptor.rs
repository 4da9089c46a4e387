//! Builds message descriptors; [`crate::message`] decodes them.
//!
//! A descriptor has the lengths of the message ([`lengths`]) and the function control of its shared function. Widths are
//! the channels of a message, 8 or 16; lengths are in registers.
//!
//! source: Mesa, `brw_eu.h` (`brw_message_desc` and `brw_dp_*_desc`), `brw_eu_defines.h`.

use crate::message::{
    AtomicOp, DataOp0, DataOp1, FloatAtomicOp, GatewayOp, InterpolatorOp, RenderOp, RenderWrite,
    SamplerOp, UrbOp,
};

/// Binding table index of shared local memory.
pub const LOCAL: u8 = 254;
/// Binding table index of stateless accesses that are coherent with the CPU.
pub const STATELESS: u8 = 255;
/// Binding table index of stateless accesses that are not coherent, such as scratch memory.
pub const STATELESS_NON_COHERENT: u8 = 253;
/// Binding table index that takes the surface from the extended descriptor.
pub const BINDLESS: u8 = 252;

/// Maximum number of registers of a payload.
pub const MAX_PAYLOAD: u8 = 15;

/// Lengths of payload and response, and whether the payload has a header.
pub const fn lengths(payload: u8, response: u8, header: bool) -> u32 {
    (payload as u32) << 25 | (response as u32) << 20 | (header as u32) << 19
}

/// Length of the second payload of a split send, for the extended descriptor.
pub const fn payload1(registers: u8) -> u32 {
    (registers as u32) << 6
}

/// A data port's function control.
const fn data(kind: u8, control: u32, surface: u8) -> u32 {
    (kind as u32) << 14 | control << 8 | surface as u32
}

/// 1 for 16 channels, 0 for 8.
const fn is_16(width: u8) -> u32 {
    (width > 8) as u32
}

/// Mask of components and width of untyped messages: the mask has the components that are left out.
const fn untyped_control(components: u8, width: u8) -> u32 {
    0xf & 0xf << components | (2 - is_16(width)) << 4
}

/// An untyped surface read or write of one to four double words of each channel, to the second set of the data cache;
/// with 64-bit addresses too.
pub const fn untyped(op: DataOp1, surface: u8, components: u8, width: u8) -> u32 {
    data(op as u8, untyped_control(components, width), surface)
}

/// Reads or writes 1, 2 or 4 bytes of each channel, in the low bits of a double word; first set of the data cache.
pub const fn byte_scattered(op: DataOp0, surface: u8, bytes: u8, width: u8) -> u32 {
    data(op as u8, is_16(width) | bytes.trailing_zeros() << 2, surface)
}

/// As [`byte_scattered`], with 64-bit addresses; second set of the data cache.
pub const fn a64_byte_scattered(op: DataOp1, bytes: u8, width: u8) -> u32 {
    data(op as u8, bytes.trailing_zeros() << 2 | is_16(width) << 4, STATELESS_NON_COHERENT)
}

const fn returns(result: bool) -> u32 {
    (result as u32) << 5
}

/// An atomic operation on double words; second set of the data cache.
pub const fn untyped_atomic(op: AtomicOp, surface: u8, width: u8, result: bool) -> u32 {
    let control = op as u32 | (1 - is_16(width)) << 4 | returns(result);
    data(DataOp1::UntypedAtomic as u8, control, surface)
}

/// An atomic operation on floats of 32 bits; second set of the data cache.
pub const fn untyped_atomic_float(op: FloatAtomicOp, surface: u8, width: u8, result: bool) -> u32 {
    let control = op as u32 | (1 - is_16(width)) << 4 | returns(result);
    data(DataOp1::UntypedAtomicFloat as u8, control, surface)
}

/// An atomic operation of 8 channels on integers of 32 or 64 bits at 64-bit addresses; second set of the data cache.
pub const fn a64_atomic(op: AtomicOp, bits: u8, result: bool) -> u32 {
    let control = op as u32 | ((bits == 64) as u32) << 4 | returns(result);
    data(DataOp1::A64UntypedAtomic as u8, control, STATELESS_NON_COHERENT)
}

/// A message of the sampler for 8 or 16 channels. Surface and sampler are entries of their tables; samplers from 16 on need
/// a header.
pub const fn sampler(op: SamplerOp, surface: u8, sampler: u8, width: u8) -> u32 {
    (op as u32) << 12 | (1 + is_16(width)) << 17 | ((sampler & 15) as u32) << 8 | surface as u32
}

/// Channels of a typed message.
pub const TYPED_WIDTH: u8 = 8;

/// A typed read or write of the first components of a texel, for 8 channels; second set of the data cache.
/// [`typed_group`] says which channels of the thread they are.
pub const fn typed(op: DataOp1, surface: u8, components: u8) -> u32 {
    data(op as u8, 0xf & 0xf << components, surface)
}

/// An atomic operation on texels of 32 bits, for 8 channels; second set of the data cache.
pub const fn typed_atomic(op: AtomicOp, surface: u8, result: bool) -> u32 {
    data(DataOp1::TypedAtomic as u8, op as u32 | returns(result), surface)
}

/// The channels of a typed message: the lower or the upper eight of sixteen, by the first channel. For other messages 0.
/// source: Mesa, `brw_eu.h` (`brw_dp_typed_surface_rw_desc`, `brw_dp_typed_atomic_desc`)
pub const fn typed_group(op: DataOp1, first: u8) -> u32 {
    let upper = ((first / 8) & 1) as u32;
    match op {
        DataOp1::TypedSurfaceRead | DataOp1::TypedSurfaceWrite => (1 + upper) << 12,
        DataOp1::TypedAtomic => upper << 12,
        _ => 0,
    }
}

/// A fence of the data cache, which answers when earlier writes are visible.
pub const FENCE: u32 = data(DataOp0::MemoryFence as u8, 1 << 5, 0) | lengths(1, 1, true);

/// The arrival at a barrier.
pub const BARRIER: u32 = GatewayOp::Barrier as u32 | lengths(1, 0, false);

/// The end of a compute thread. Bit 4: the resources of the thread are not dereferenced (source: Mesa,
/// `brw_generator.cpp`, `generate_cs_terminate`).
pub const END: u32 = 1 << 4 | lengths(1, 0, false);

/// Reads or writes 1, 2, 4 or 8 whole registers of scratch memory at an offset in registers below 4096; first set of
/// the data cache. The header is g0. source: Mesa, `elk_eu_emit.c` (`gfx7_set_dp_scratch_message`).
pub const fn scratch_block(write: bool, registers: u8, offset: u16) -> u32 {
    1 << 18 | (write as u32) << 17 | registers.trailing_zeros() << 12 | offset as u32
}

/// Writes double words of eight channels to entries of the URB, or reads them, at an offset in slots of 16 bytes; with an
/// offset for each channel after the handles.
pub const fn urb(op: UrbOp, offset: u16, per_channel: bool) -> u32 {
    op as u32 | (offset as u32 & 0x7ff) << 4 | (per_channel as u32) << 17
}

/// Bit of [`urb`]: a mask of double words for each channel, from bit 16 on, precedes the data.
pub const URB_MASKED: u32 = 1 << 15;

/// A render target write; `last` is the thread's last one.
pub const fn render_target_write(surface: u8, form: RenderWrite, last: bool) -> u32 {
    (RenderOp::Write as u32) << 14 | (form as u32) << 8 | (last as u32) << 12 | surface as u32
}

/// Bit of [`render_target_write`]: channels are coarse pixels (Gen12). source: Mesa, brw_eu.h (`brw_fb_write_desc`)
pub const COARSE_WRITE: u32 = 1 << 18;

/// Bit of [`interpolator`]: offsets are from the centres of coarse pixels (Gen12). source: as above (`brw_pixel_interp_desc`)
pub const COARSE_INTERPOLATION: u32 = 1 << 15;

/// Barycentric coordinates at an offset or a sample, which `data` has in its upper half.
pub const fn interpolator(op: InterpolatorOp, data: u8, linear: bool, width: u8) -> u32 {
    (op as u32) << 12 | (linear as u32) << 14 | is_16(width) << 16 | data as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{self, Descriptor};
    use crate::sfid::Sfid;

    #[test]
    fn descriptors_decode_to_what_they_were_built_from() {
        let desc = lengths(4, 3, true);
        assert_eq!((message::payload_registers(desc), message::response_registers(desc)), (4, 3));
        assert!(message::has_header(desc) && !message::has_header(lengths(15, 16, false)));
        assert_eq!(message::payload1_registers(payload1(8)), 8);
        let read = untyped(DataOp1::UntypedSurfaceRead, 7, 3, 16);
        let control = 0b01_1000;
        let op = Some(DataOp1::UntypedSurfaceRead);
        let want = Descriptor::Data1 { op, control, surface: 7 };
        assert_eq!(Descriptor::decode(Sfid::DataCache1, read), want);
        assert_eq!(untyped(DataOp1::UntypedSurfaceWrite, 7, 4, 8) >> 8 & 0x3f, 0b10_0000);
        let atomic = untyped_atomic(AtomicOp::Add, LOCAL, 8, true);
        let op = Some(DataOp1::UntypedAtomic);
        let want = Descriptor::Data1 { op, control: 0b11_0111, surface: LOCAL };
        assert_eq!(Descriptor::decode(Sfid::DataCache1, atomic), want);
        let bytes = byte_scattered(DataOp0::ByteScatteredWrite, 3, 2, 16);
        let op = Some(DataOp0::ByteScatteredWrite);
        let want = Descriptor::Data0 { op, control: 0b101, surface: 3 };
        assert_eq!(Descriptor::decode(Sfid::DataCache0, bytes), want);
        let scratch = scratch_block(true, 4, 0x123);
        let want = Descriptor::Scratch {
            write: true,
            dwords: false,
            invalidate: false,
            block: 2,
            offset: 0x123,
        };
        assert_eq!(Descriptor::decode(Sfid::DataCache0, scratch), want);
        let want = Descriptor::Urb {
            op: Some(UrbOp::Simd8Write),
            code: 7,
            offset: 5,
            per_slot: true,
            masked: false,
        };
        assert_eq!(Descriptor::decode(Sfid::Urb, urb(UrbOp::Simd8Write, 5, true)), want);
        let want = Descriptor::Render {
            op: Some(RenderOp::Write),
            write: Some(RenderWrite::Simd8),
            high: false,
            last: true,
            control: 0b01_0100,
            surface: 3,
        };
        let write = render_target_write(3, RenderWrite::Simd8, true);
        assert_eq!(Descriptor::decode(Sfid::RenderCache, write), want);
        let want = Descriptor::Interpolator {
            op: InterpolatorOp::Sample,
            simd16: true,
            linear: true,
            high: false,
            data: 0x30,
        };
        let at = interpolator(InterpolatorOp::Sample, 0x30, true, 16);
        assert_eq!(Descriptor::decode(Sfid::PixelInterpolator, at), want);
        let want = Descriptor::Sampler {
            op: Some(SamplerOp::SampleL),
            simd: 2,
            half: false,
            surface: 5,
            sampler: 2,
        };
        assert_eq!(Descriptor::decode(Sfid::Sampler, sampler(SamplerOp::SampleL, 5, 18, 16)), want);
        let read =
            typed(DataOp1::TypedSurfaceRead, 9, 2) | typed_group(DataOp1::TypedSurfaceRead, 8);
        let op = Some(DataOp1::TypedSurfaceRead);
        let want = Descriptor::Data1 { op, control: 0b10_1100, surface: 9 };
        assert_eq!(Descriptor::decode(Sfid::DataCache1, read), want);
        let atomic = typed_atomic(AtomicOp::Or, 9, true) | typed_group(DataOp1::TypedAtomic, 24);
        let op = Some(DataOp1::TypedAtomic);
        let want = Descriptor::Data1 { op, control: 0b11_0010, surface: 9 };
        assert_eq!(Descriptor::decode(Sfid::DataCache1, atomic), want);
        let want = Descriptor::Gateway { op: Some(GatewayOp::Barrier) };
        assert_eq!(Descriptor::decode(Sfid::Gateway, BARRIER), want);
    }
}
