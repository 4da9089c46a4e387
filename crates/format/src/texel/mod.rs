//! Conversion between the bits of one pixel and four components.
//!
//! A [`TexelCodec`] is created once per format and then converts pixels. The bits of a pixel are a
//! `u128` (its bytes, little endian; [`load`] reads them), the components `[f32; 4]` or `[u32; 4]`
//! in the order red, green, blue, alpha. Missing components read as 0, missing alpha as 1. Depth
//! and stencil read as red.
//!
//! A codec holds one function per direction, which treats all four components uniformly, so that loops
//! over rows are vectorised.

pub mod numeric;
pub mod srgb;

use crate::Format;
use crate::info::{Channel, Channels, Component, Encoding, Numeric};
use numeric::{
    f32_to_snorm, f32_to_ufloat, f32_to_unorm, mask, rgb_to_shared_exponent,
    shared_exponent_to_rgb, sign_extend, snorm_to_f32, ufloat_to_f32,
};

/// Reason why a format's pixels have no [`TexelCodec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTexelCodec {
    /// The format is block-compressed.
    #[error("{0} is block-compressed: decode whole blocks")]
    Compressed(Format),
    /// The format is planar; each plane has its own format.
    #[error("{0} is planar: use the formats of its planes")]
    Planar(Format),
    /// Two pixels share a block.
    #[error("{0} shares chroma between two pixels: decode whole blocks")]
    Subsampled(Format),
    /// Texels of more than 128 bits, which none of the GPUs reads.
    #[error("{0} has more than 128 bits per pixel")]
    TooWide(Format),
    /// The format lacks depth or stencil.
    #[error("{format} has no {aspect}")]
    NoSuchAspect {
        /// The format.
        format: Format,
        /// The requested aspect.
        aspect: &'static str,
    },
}

/// Converts between the bits of a pixel and its components.
#[derive(Clone, Copy)]
pub struct TexelCodec {
    fields: Fields,
    bytes: u32,
    written: u128,
    float: bool,
    unpack_f32: fn(&Fields, u128) -> [f32; 4],
    unpack_u32: fn(&Fields, u128) -> [u32; 4],
    pack_f32: fn(&Fields, [f32; 4]) -> u128,
    pack_u32: fn(&Fields, [u32; 4]) -> u128,
    unpack_row_f32: fn(&Fields, usize, &[u8], &mut [[f32; 4]]),
}

/// The bit fields of the components, in the order red, green, blue, alpha. A missing component has
/// an empty mask, and `preset` makes it read as 0 or 1.
#[derive(Clone, Copy)]
struct Fields {
    shift: [u32; 4],
    mask: [u64; 4],
    preset: [u64; 4],
    bits: [u32; 4],
    present: [bool; 4],
}

impl Fields {
    #[inline(always)]
    fn get(&self, raw: u128, i: usize) -> u64 {
        ((raw >> self.shift[i]) as u64 & self.mask[i]) | self.preset[i]
    }

    #[inline(always)]
    fn put(&self, i: usize, value: u64) -> u128 {
        u128::from(value & self.mask[i]) << self.shift[i]
    }
}

/// Loads the bits of a pixel of at most 16 bytes; a shorter slice reads as if padded with zeros.
#[inline]
pub fn load(bytes: &[u8]) -> u128 {
    match bytes.len() {
        1 => u128::from(bytes[0]),
        2 => u128::from(u16::from_le_bytes([bytes[0], bytes[1]])),
        4 => u128::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        8 => {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            u128::from(u64::from_le_bytes(word))
        }
        n => {
            let mut word = [0; 16];
            let n = n.min(16);
            word[..n].copy_from_slice(&bytes[..n]);
            u128::from_le_bytes(word)
        }
    }
}

impl TexelCodec {
    /// The codec of a format's colour; without colour, of its depth; without depth, of its stencil.
    pub fn new(format: Format) -> Result<TexelCodec, NoTexelCodec> {
        let info = format.info();
        match &info.encoding {
            Encoding::Plain(_) if info.block.bytes > 16 => Err(NoTexelCodec::TooWide(format)),
            Encoding::Plain(channels) => Ok(plain(channels, info.block.bytes)),
            Encoding::SharedExponent => Ok(shared_exponent()),
            Encoding::DepthStencil(channels) => Ok(aspect(channels.list[0], info.block.bytes)),
            Encoding::Subsampled(_) => Err(NoTexelCodec::Subsampled(format)),
            Encoding::Planar(_) => Err(NoTexelCodec::Planar(format)),
            Encoding::Compressed(..) => Err(NoTexelCodec::Compressed(format)),
        }
    }

    /// The codec of a format's depth.
    pub fn depth(format: Format) -> Result<TexelCodec, NoTexelCodec> {
        Self::aspect(format, Component::D, "depth")
    }

    /// The codec of a format's stencil.
    pub fn stencil(format: Format) -> Result<TexelCodec, NoTexelCodec> {
        Self::aspect(format, Component::S, "stencil")
    }

    fn aspect(
        format: Format,
        component: Component,
        name: &'static str,
    ) -> Result<TexelCodec, NoTexelCodec> {
        let missing = NoTexelCodec::NoSuchAspect { format, aspect: name };
        let Encoding::DepthStencil(channels) = &format.info().encoding else {
            return Err(missing);
        };
        let channel = channels.get(component).ok_or(missing)?;
        Ok(aspect(*channel, format.info().block.bytes))
    }

    /// Bytes of a pixel.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Mask of the bits that packing writes; all others (unused bits, the other aspect) are packed
    /// as 0. Write one of two aspects with `old & !mask | packed`.
    pub fn written_bits(&self) -> u128 {
        self.written
    }

    /// Whether the components are floats; otherwise they are integers.
    pub fn is_float(&self) -> bool {
        self.float
    }

    /// Unpacks the components as floats. Integers are converted by value.
    #[inline]
    pub fn unpack_f32(&self, raw: u128) -> [f32; 4] {
        (self.unpack_f32)(&self.fields, raw)
    }

    /// Unpacks the components of an integer format, sign-extended if signed. Of any other format,
    /// returns the stored bits.
    #[inline]
    pub fn unpack_u32(&self, raw: u128) -> [u32; 4] {
        (self.unpack_u32)(&self.fields, raw)
    }

    /// [`TexelCodec::unpack_u32`] as signed integers.
    #[inline]
    pub fn unpack_i32(&self, raw: u128) -> [i32; 4] {
        self.unpack_u32(raw).map(|v| v as i32)
    }

    /// Packs floats with the API's rounding: fixed point is clamped and rounded to nearest, floats
    /// to nearest even; for integer formats, values are clamped and truncated.
    #[inline]
    pub fn pack_f32(&self, rgba: [f32; 4]) -> u128 {
        (self.pack_f32)(&self.fields, rgba)
    }

    /// Packs integers, clamped to the format's range. For other formats, stores the bits.
    #[inline]
    pub fn pack_u32(&self, rgba: [u32; 4]) -> u128 {
        (self.pack_u32)(&self.fields, rgba)
    }

    /// [`TexelCodec::pack_u32`] of signed integers.
    #[inline]
    pub fn pack_i32(&self, rgba: [i32; 4]) -> u128 {
        self.pack_u32(rgba.map(|v| v as u32))
    }

    /// Unpacks consecutive pixels, as many as both slices have.
    pub fn unpack_row_f32(&self, texels: &[u8], out: &mut [[f32; 4]]) {
        (self.unpack_row_f32)(&self.fields, self.bytes as usize, texels, out)
    }
}

/// A numeric conversion of a bit field.
trait Mode {
    fn to_f32(bits: u64, width: u32) -> f32;
    fn from_f32(value: f32, width: u32) -> u64;
    /// The bits of 1, which a missing alpha reads as.
    fn one(width: u32) -> u64;
    fn to_u32(bits: u64, _width: u32) -> u32 {
        bits as u32
    }
    fn from_u32(value: u32, width: u32) -> u64 {
        u64::from(value) & mask(width)
    }
}

macro_rules! modes {
    ($($name:ident { to: |$b:ident, $w:ident| $to:expr, from: |$v:ident, $fw:ident| $from:expr,
        one: |$ow:ident| $one:expr $(, $extra:item)* })*) => {$(
        struct $name;
        impl Mode for $name {
            #[inline(always)]
            fn to_f32($b: u64, $w: u32) -> f32 { $to }
            #[inline(always)]
            fn from_f32($v: f32, $fw: u32) -> u64 { $from }
            fn one($ow: u32) -> u64 { $one }
            $($extra)*
        }
    )*};
}

modes! {
    Unorm {
        to: |b, w| numeric::unorm_to_f32(b as u32, w),
        from: |v, w| u64::from(f32_to_unorm(v, w)),
        one: |w| mask(w)
    }
    Snorm {
        to: |b, w| snorm_to_f32(sign_extend(b as u32, w), w),
        from: |v, w| f32_to_snorm(v, w) as u64,
        one: |w| mask(w - 1)
    }
    Uint {
        to: |b, _w| b as f32,
        from: |v, w| (v as u64).min(mask(w)),
        one: |_w| 1,
        fn from_u32(value: u32, width: u32) -> u64 { u64::from(value).min(mask(width)) }
    }
    Sint {
        to: |b, w| sign_extend(b as u32, w) as f32,
        from: |v, w| (v as i64).clamp(-(1 << (w - 1)), (1 << (w - 1)) - 1) as u64,
        one: |_w| 1,
        fn to_u32(bits: u64, width: u32) -> u32 { sign_extend(bits as u32, width) as u32 },
        fn from_u32(value: u32, width: u32) -> u64 {
            i64::from(value as i32).clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1) as u64
        }
    }
    Half {
        to: |b, _w| half::f16::from_bits(b as u16).to_f32(),
        from: |v, _w| u64::from(half::f16::from_f32(v).to_bits()),
        one: |_w| u64::from(half::f16::ONE.to_bits())
    }
    Ufloat {
        to: |b, w| ufloat_to_f32(b as u32, w - 5),
        from: |v, w| u64::from(f32_to_ufloat(v, w - 5)),
        one: |w| 15 << (w - 5)
    }
    Single {
        to: |b, _w| f32::from_bits(b as u32),
        from: |v, _w| u64::from(v.to_bits()),
        one: |_w| u64::from(1f32.to_bits())
    }
    Double {
        to: |b, _w| f64::from_bits(b) as f32,
        from: |v, _w| f64::from(v).to_bits(),
        one: |_w| 1f64.to_bits()
    }
    Srgb {
        to: |b, _w| srgb::decode_table()[b as usize & 0xff],
        from: |v, _w| u64::from(srgb::encode(v)),
        one: |w| mask(w)
    }
    // 64-bit integers: only the low 32 bits are returned.
    Wide {
        to: |b, _w| b as f32,
        from: |v, _w| v as u64,
        one: |_w| 1
    }
}

/// `Mode` for red, green and blue, `Alpha` for alpha.
fn unpack_f32<M: Mode, Alpha: Mode>(fields: &Fields, raw: u128) -> [f32; 4] {
    let get = |i| M::to_f32(fields.get(raw, i), fields.bits[i]);
    [get(0), get(1), get(2), Alpha::to_f32(fields.get(raw, 3), fields.bits[3])]
}

fn unpack_row_f32<M: Mode, Alpha: Mode>(
    fields: &Fields,
    bytes: usize,
    texels: &[u8],
    out: &mut [[f32; 4]],
) {
    for (texel, out) in texels.chunks_exact(bytes).zip(out) {
        *out = unpack_f32::<M, Alpha>(fields, load(texel));
    }
}

fn unpack_u32<M: Mode, Alpha: Mode>(fields: &Fields, raw: u128) -> [u32; 4] {
    let get = |i| M::to_u32(fields.get(raw, i), fields.bits[i]);
    [get(0), get(1), get(2), Alpha::to_u32(fields.get(raw, 3), fields.bits[3])]
}

fn pack_f32<M: Mode, Alpha: Mode>(fields: &Fields, rgba: [f32; 4]) -> u128 {
    let mut raw = 0;
    for (i, value) in rgba.into_iter().enumerate() {
        if fields.present[i] {
            let from = if i == 3 { Alpha::from_f32 } else { M::from_f32 };
            raw |= fields.put(i, from(value, fields.bits[i]));
        }
    }
    raw
}

fn pack_u32<M: Mode, Alpha: Mode>(fields: &Fields, rgba: [u32; 4]) -> u128 {
    let mut raw = 0;
    for (i, value) in rgba.into_iter().enumerate() {
        if fields.present[i] {
            let from = if i == 3 { Alpha::from_u32 } else { M::from_u32 };
            raw |= fields.put(i, from(value, fields.bits[i]));
        }
    }
    raw
}

fn plain(channels: &Channels, bytes: u32) -> TexelCodec {
    // In alpha-only formats, alpha determines the mode.
    let main = channels.get(Component::R).unwrap_or(&channels.list[0]);
    let bits = u32::from(main.bits);
    match main.numeric {
        Numeric::Unorm => build::<Unorm, Unorm>(channels, bytes, true),
        Numeric::Snorm => build::<Snorm, Snorm>(channels, bytes, true),
        Numeric::Srgb => build::<Srgb, Unorm>(channels, bytes, true),
        Numeric::Uscaled => build::<Uint, Uint>(channels, bytes, true),
        Numeric::Sscaled => build::<Sint, Sint>(channels, bytes, true),
        Numeric::Uint | Numeric::Sint if bits == 64 => build::<Wide, Wide>(channels, bytes, false),
        Numeric::Uint => build::<Uint, Uint>(channels, bytes, false),
        Numeric::Sint => build::<Sint, Sint>(channels, bytes, false),
        Numeric::Ufloat => build::<Ufloat, Ufloat>(channels, bytes, true),
        Numeric::Sfloat if bits == 16 => build::<Half, Half>(channels, bytes, true),
        Numeric::Sfloat if bits == 32 => build::<Single, Single>(channels, bytes, true),
        Numeric::Sfloat => build::<Double, Double>(channels, bytes, true),
    }
}

/// The codec of depth or stencil, read and written as red.
fn aspect(channel: Channel, bytes: u32) -> TexelCodec {
    let mut channels = Channels::NONE;
    channels.list[0] = Channel { component: Component::R, ..channel };
    channels.len = 1;
    plain(&channels, bytes)
}

fn build<M: Mode, Alpha: Mode>(channels: &Channels, bytes: u32, float: bool) -> TexelCodec {
    let width = u32::from(channels.list[0].bits);
    let mut fields = Fields {
        shift: [0; 4],
        mask: [0; 4],
        preset: [0, 0, 0, Alpha::one(width)],
        bits: [width; 4],
        present: [false; 4],
    };
    let mut written = 0;
    for channel in channels.as_slice() {
        let i = match channel.component {
            Component::R | Component::D | Component::S => 0,
            Component::G => 1,
            Component::B => 2,
            Component::A => 3,
        };
        fields.bits[i] = u32::from(channel.bits);
        fields.mask[i] = mask(fields.bits[i]);
        fields.shift[i] = u32::from(channel.shift);
        fields.preset[i] = 0;
        fields.present[i] = true;
        written |= fields.put(i, u64::MAX);
    }
    TexelCodec {
        fields,
        bytes,
        written,
        float,
        unpack_f32: unpack_f32::<M, Alpha>,
        unpack_u32: unpack_u32::<M, Alpha>,
        pack_f32: pack_f32::<M, Alpha>,
        pack_u32: pack_u32::<M, Alpha>,
        unpack_row_f32: unpack_row_f32::<M, Alpha>,
    }
}

fn shared_exponent() -> TexelCodec {
    fn unpack(_: &Fields, raw: u128) -> [f32; 4] {
        let [r, g, b] = shared_exponent_to_rgb(raw as u32);
        [r, g, b, 1.0]
    }
    fn pack(_: &Fields, [r, g, b, _]: [f32; 4]) -> u128 {
        u128::from(rgb_to_shared_exponent([r, g, b]))
    }
    fn row(fields: &Fields, bytes: usize, texels: &[u8], out: &mut [[f32; 4]]) {
        for (texel, out) in texels.chunks_exact(bytes).zip(out) {
            *out = unpack(fields, load(texel));
        }
    }
    let fields = Fields {
        shift: [0, 9, 18, 27],
        mask: [0x1ff, 0x1ff, 0x1ff, 0x1f],
        preset: [0; 4],
        bits: [9, 9, 9, 5],
        present: [true; 4],
    };
    TexelCodec {
        fields,
        bytes: 4,
        written: 0xffff_ffff,
        float: true,
        unpack_f32: unpack,
        // Integers are the stored bits, with the exponent as alpha.
        unpack_u32: unpack_u32::<Uint, Uint>,
        pack_f32: pack,
        pack_u32: pack_u32::<Uint, Uint>,
        unpack_row_f32: row,
    }
}

#[cfg(test)]
mod tests;
