//! Derives a format's properties from its Vulkan name, at compile time.
//!
//! The names are systematic, so the name is the declaration: components with their widths in memory
//! order (with `PACK` from the most significant bit down), then the numeric type. source: Vulkan
//! specification, "Identification of Formats", "Packed Formats", "Depth/Stencil Formats", "Formats
//! Requiring Sampler Y′CBCR Conversion"; a name that cannot be read fails the build.

use crate::Format;
use crate::info::{
    Block, Channel, Channels, Component, Compression, Encoding, FormatInfo, Numeric, Plane, Planes,
};

/// Parses `name`.
pub(crate) const fn parse(name: &'static str) -> FormatInfo {
    let text = name.as_bytes();
    if text[0] == b'S' || (text[0] == b'D') || contains(text, b"X8_D24") {
        depth_stencil(name)
    } else if contains(text, b"_BLOCK") {
        compressed(name)
    } else if contains(text, b"PLANE") {
        planar(name)
    } else if text[0] == b'E' {
        FormatInfo { name, block: pixel(4), encoding: Encoding::SharedExponent }
    } else {
        let (channels, bytes) = fields(text);
        if contains(text, b"_422_") {
            let block = Block { width_px: 2, height_px: 1, bytes };
            return FormatInfo { name, block, encoding: Encoding::Subsampled(channels) };
        }
        FormatInfo { name, block: pixel(bytes), encoding: Encoding::Plain(channels) }
    }
}

const fn pixel(bytes: u32) -> Block {
    Block { width_px: 1, height_px: 1, bytes }
}

const fn depth_stencil(name: &'static str) -> FormatInfo {
    let text = name.as_bytes();
    let mut channels = Channels::NONE;
    let mut stencil_shift = 0;
    let mut bytes = 1;
    if let Some(at) = find(text, b"D") {
        let (bits, _) = number(text, at + 1);
        let numeric = if bits == 32 { Numeric::Sfloat } else { Numeric::Unorm };
        let component = Component::D;
        channels.list[0] = Channel { component, shift: 0, bits: bits as u8, numeric };
        channels.len = 1;
        stencil_shift = bits as u16;
        bytes = if bits == 16 { 2 } else { 4 };
    }
    if contains(text, b"S8") {
        let component = Component::S;
        let stencil = Channel { component, shift: stencil_shift, bits: 8, numeric: Numeric::Uint };
        channels.list[channels.len as usize] = stencil;
        channels.len += 1;
        // The stencil of D24 is in the same word as depth; that of D32 is in a separate word.
        bytes = match stencil_shift {
            16 => 3,
            32 => 8,
            _ => bytes,
        };
    }
    FormatInfo { name, block: pixel(bytes), encoding: Encoding::DepthStencil(channels) }
}

const fn compressed(name: &'static str) -> FormatInfo {
    let text = name.as_bytes();
    let (mut width_px, mut height_px, mut bytes) = (4, 4, 16);
    let scheme = if starts_with(text, b"ASTC_") {
        let (w, next) = number(text, 5);
        let (h, _) = number(text, next + 1);
        (width_px, height_px) = (w, h);
        Compression::Astc
    } else if starts_with(text, b"PVRTC") {
        bytes = 8;
        width_px = if contains(text, b"2BPP") { 8 } else { 4 };
        if starts_with(text, b"PVRTC1") { Compression::Pvrtc1 } else { Compression::Pvrtc2 }
    } else if starts_with(text, b"BC1") {
        bytes = 8;
        Compression::Bc1 { alpha: contains(text, b"RGBA") }
    } else if starts_with(text, b"BC2") {
        Compression::Bc2
    } else if starts_with(text, b"BC3") {
        Compression::Bc3
    } else if starts_with(text, b"BC4") {
        bytes = 8;
        Compression::Bc4
    } else if starts_with(text, b"BC5") {
        Compression::Bc5
    } else if starts_with(text, b"BC6H") {
        Compression::Bc6h
    } else if starts_with(text, b"BC7") {
        Compression::Bc7
    } else if starts_with(text, b"ETC2_R8G8B8A8") {
        Compression::Etc2Rgba8
    } else if starts_with(text, b"ETC2_R8G8B8A1") {
        bytes = 8;
        Compression::Etc2Rgba1
    } else if starts_with(text, b"ETC2_R8G8B8_") {
        bytes = 8;
        Compression::Etc2Rgb
    } else if starts_with(text, b"EAC_R11G11") {
        Compression::EacRg
    } else if starts_with(text, b"EAC_R11") {
        bytes = 8;
        Compression::EacR
    } else {
        panic!("an unknown block compression")
    };
    let block = Block { width_px, height_px, bytes };
    FormatInfo { name, block, encoding: Encoding::Compressed(scheme, numeric(text)) }
}

const fn planar(name: &'static str) -> FormatInfo {
    let text = name.as_bytes();
    let (bits, _) = number(text, 1);
    let (one, two) = match bits {
        8 => (Format::R8_UNORM, Format::R8G8_UNORM),
        10 => (Format::R10X6_UNORM_PACK16, Format::R10X6G10X6_UNORM_2PACK16),
        12 => (Format::R12X4_UNORM_PACK16, Format::R12X4G12X4_UNORM_2PACK16),
        16 => (Format::R16_UNORM, Format::R16G16_UNORM),
        _ => panic!("a plane of an unknown depth"),
    };
    let (width_divisor, height_divisor) = if contains(text, b"_420_") {
        (2, 2)
    } else if contains(text, b"_422_") {
        (2, 1)
    } else {
        (1, 1)
    };
    let luma = Plane { format: one, width_divisor: 1, height_divisor: 1 };
    let planes = if contains(text, b"2PLANE") {
        let chroma = Plane { format: two, width_divisor, height_divisor };
        Planes { list: [luma, chroma, luma], len: 2 }
    } else {
        let chroma = Plane { format: one, width_divisor, height_divisor };
        Planes { list: [luma, chroma, chroma], len: 3 }
    };
    let block = pixel(if bits == 8 { 1 } else { 2 });
    FormatInfo { name, block, encoding: Encoding::Planar(planes) }
}

/// The bit fields of a plain or 4:2:2 format and the bytes they take together.
const fn fields(text: &[u8]) -> (Channels, u32) {
    let mut runs = [(0u8, 0u32); 8];
    let mut count = 0;
    let mut at = 0;
    let mut total = 0;
    while at < text.len() && text[at] != b'_' {
        let (bits, next) = number(text, at + 1);
        runs[count] = (text[at], bits);
        count += 1;
        total += bits;
        at = next;
    }
    // `PACK16` packs all components into one word, `4PACK16` each into its own 16-bit word. Within
    // a word, the first component has the most significant bits.
    let word = match find(text, b"PACK") {
        Some(at) => Some(number(text, at + 4).0),
        None => None,
    };
    let numeric = numeric(text);
    let mut channels = Channels::NONE;
    let mut used = 0;
    let mut i = 0;
    while i < count {
        let (letter, bits) = runs[i];
        let shift = match word {
            None => used,
            Some(word) => (used / word) * word + (word - used % word - bits),
        };
        used += bits;
        i += 1;
        let component = match letter {
            b'R' => Component::R,
            b'G' => Component::G,
            b'B' => Component::B,
            b'A' => Component::A,
            b'X' => continue,
            _ => panic!("an unknown component"),
        };
        let numeric = match (component, numeric) {
            (Component::A, Numeric::Srgb) => Numeric::Unorm,
            _ => numeric,
        };
        let channel = Channel { component, shift: shift as u16, bits: bits as u8, numeric };
        channels.list[channels.len as usize] = channel;
        channels.len += 1;
    }
    // List them from the least significant bit up.
    if channels.len > 1 && channels.list[0].shift > channels.list[1].shift {
        let len = channels.len as usize;
        let listed = channels.list;
        let mut i = 0;
        while i < len {
            channels.list[i] = listed[len - 1 - i];
            i += 1;
        }
    }
    (channels, total / 8)
}

const fn numeric(text: &[u8]) -> Numeric {
    const WORDS: [(&[u8], Numeric); 9] = [
        (b"_UNORM", Numeric::Unorm),
        (b"_SNORM", Numeric::Snorm),
        (b"_USCALED", Numeric::Uscaled),
        (b"_SSCALED", Numeric::Sscaled),
        (b"_UINT", Numeric::Uint),
        (b"_SINT", Numeric::Sint),
        (b"_UFLOAT", Numeric::Ufloat),
        (b"_SFLOAT", Numeric::Sfloat),
        (b"_SRGB", Numeric::Srgb),
    ];
    let mut i = 0;
    while i < WORDS.len() {
        if contains(text, WORDS[i].0) {
            return WORDS[i].1;
        }
        i += 1;
    }
    panic!("a name without a numeric type")
}

/// Parses the decimal number at `at`; returns it and the position after it.
const fn number(text: &[u8], mut at: usize) -> (u32, usize) {
    let start = at;
    let mut value = 0;
    while at < text.len() && text[at].is_ascii_digit() {
        value = value * 10 + (text[at] - b'0') as u32;
        at += 1;
    }
    assert!(at > start, "a number is missing");
    (value, at)
}

const fn starts_with(text: &[u8], pattern: &[u8]) -> bool {
    matches_at(text, pattern, 0)
}

const fn contains(text: &[u8], pattern: &[u8]) -> bool {
    find(text, pattern).is_some()
}

const fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if matches_at(text, pattern, at) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn matches_at(text: &[u8], pattern: &[u8], at: usize) -> bool {
    if at + pattern.len() > text.len() {
        return false;
    }
    let mut i = 0;
    while i < pattern.len() {
        if text[at + i] != pattern[i] {
            return false;
        }
        i += 1;
    }
    true
}
