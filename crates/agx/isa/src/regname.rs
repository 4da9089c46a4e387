//! Register names.

use crate::operand::Size;

/// A kind of named register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegKind {
    Reg,
    Uniform,
    TextureState,
    SamplerState,
    Coefficient,
}

fn push_half(out: &mut String, file: char, half: u16) {
    out.push_str(&format!("{file}{}{}", half / 2, if half & 1 == 0 { 'l' } else { 'h' }));
}

fn push_list(out: &mut String, file: char, reg: u16, size: Size, count: u16) {
    let (step, count) = match size {
        Size::B16 => (1, count),
        Size::B32 => (2, count),
        Size::B64 => (2, count * 2),
    };
    for i in 0..count {
        if i != 0 {
            out.push('_');
        }
        match step {
            1 => push_half(out, file, reg + i),
            _ => out.push_str(&format!("{file}{}", reg / 2 + i)),
        }
    }
}

/// Appends `count` consecutive registers of `size`: `r1`, `r0l_r0h`, `r2_r3`.
pub(crate) fn push_regs(out: &mut String, reg: u16, size: Size, count: u16) {
    push_list(out, 'r', reg, size, count);
}

/// Appends a uniform.
pub(crate) fn push_uniform(out: &mut String, reg: u16, size: Size) {
    push_list(out, 'u', reg, size, 1);
}

/// Appends `count` consecutive uniforms.
pub(crate) fn push_uniforms(out: &mut String, reg: u16, size: Size, count: u16) {
    push_list(out, 'u', reg, size, count);
}

/// Whether the text is a number rather than a register.
pub(crate) fn is_number(text: &str) -> bool {
    text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

/// Splits `0.5.abs` into `0.5` and its modifiers.
pub(crate) fn split_float(text: &str) -> (&str, Vec<&str>) {
    let end = text
        .char_indices()
        .find(|(i, c)| *c == '.' && text[i + 1..].starts_with(|c: char| c.is_ascii_alphabetic()))
        .map_or(text.len(), |(i, _)| i);
    (&text[..end], text[end..].split('.').filter(|f| !f.is_empty()).collect())
}

/// A parsed register name: consecutive registers and modifiers.
pub(crate) struct Named<'a> {
    pub kind: RegKind,
    /// First half (registers, uniforms) or number.
    pub first: u16,
    /// Elements named.
    pub count: u16,
    /// The elements are halves.
    pub half: bool,
    /// All elements after the first are like the first. If not, the last one is a half
    /// (`r2_r3l`).
    pub half_tail: bool,
    flags: Vec<&'a str>,
}

fn element(text: &str) -> Option<(RegKind, u16, bool)> {
    let letters = text.find(|c: char| c.is_ascii_digit())?;
    let kind = match &text[..letters] {
        "r" => RegKind::Reg,
        "u" => RegKind::Uniform,
        "ts" => RegKind::TextureState,
        "ss" => RegKind::SamplerState,
        "cf" => RegKind::Coefficient,
        _ => return None,
    };
    let (digits, half) = match text.as_bytes().last()? {
        b'l' => (&text[letters..text.len() - 1], Some(0)),
        b'h' => (&text[letters..text.len() - 1], Some(1)),
        _ => (&text[letters..], None),
    };
    if digits.is_empty() || digits.len() > 3 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: u16 = digits.parse().ok()?;
    let limit = if kind == RegKind::Reg { 128 } else { 256 };
    if n >= limit {
        return None;
    }
    match kind {
        RegKind::Reg | RegKind::Uniform => Some((kind, n * 2 + half.unwrap_or(0), half.is_some())),
        _ if half.is_some() => None,
        _ => Some((kind, n, false)),
    }
}

impl<'a> Named<'a> {
    /// Reads `r1`, `r0l_r0h`, `u2_u3`, `r4.discard`, `$r1`.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a register");
        let (cached, body) = match text.strip_prefix('$') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let mut parts = body.split('.');
        let mut elements = parts.next().unwrap_or("").split('_');
        let mut flags: Vec<&str> = parts.collect();
        if cached {
            flags.push("cache");
        }
        let (kind, first, half) = elements.next().and_then(element).ok_or_else(bad)?;
        let (mut count, mut next, mut half_tail) = (1, first + if half { 1 } else { 2 }, false);
        for part in elements {
            let (k, n, h) = element(part).ok_or_else(bad)?;
            if k != kind || half_tail || n != next {
                return Err(format!("`{text}` are not consecutive registers"));
            }
            half_tail = h && !half;
            if half && !h {
                return Err(format!("`{text}` mixes widths"));
            }
            next += if h { 1 } else { 2 };
            count += 1;
        }
        Ok(Self { kind, first, count, half, half_tail, flags })
    }

    /// Whether the modifier is there.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Fails if there is a modifier other than `allowed`.
    pub fn allow(&self, allowed: &[&str], text: &str) -> Result<(), String> {
        match self.flags.iter().find(|f| !allowed.contains(f)) {
            Some(flag) => Err(format!("`{text}`: `.{flag}` is not allowed here")),
            None => Ok(()),
        }
    }

    /// The registers as `count` values of one width.
    pub fn regs(&self, kind: RegKind, count: u16, text: &str) -> Result<(u16, Size), String> {
        let size = match (self.half, self.half_tail) {
            _ if self.kind != kind => None,
            (true, _) if self.count == count => Some(Size::B16),
            (false, false) if self.count == count => Some(Size::B32),
            (false, false) if self.count == 2 * count => Some(Size::B64),
            _ => None,
        };
        let what = match kind {
            RegKind::Reg => "register",
            RegKind::Uniform => "uniform",
            RegKind::TextureState => "texture state register",
            RegKind::SamplerState => "sampler state register",
            RegKind::Coefficient => "coefficient register",
        };
        size.map(|s| (self.first, s)).ok_or_else(|| match count {
            1 => format!("`{text}` is not a {what} of a width allowed here"),
            n => format!("`{text}` is not a group of {n} {what}s"),
        })
    }
}
