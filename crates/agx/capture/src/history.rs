//! The history of a pixel in a render command: which draws touched it, and what each did.

use std::fmt;

use tepui_agx_model::{Covering, Sample, TileAccess};
use tepui_agx_texture::TileFormat;
use tepui_raster::{Compare, PrimitiveKind, StencilOp};

/// A fragment program that ran for the pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaded {
    /// GPU address of the program.
    pub program: u64,
    /// A number that tells programs apart.
    pub fingerprint: u64,
    /// Lane of the pixel.
    pub lane: usize,
    /// Colours in the tilebuffer that the program stores.
    pub stores: Vec<TileAccess>,
    /// Tilebuffer values that it loads.
    pub loads: Vec<TileAccess>,
    /// Samples that were alive at its end, a bit each.
    pub live: u32,
    /// The pixel after it.
    pub after: Vec<Sample>,
}

/// A primitive that touched the pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    /// The primitive and its tests.
    pub covering: Covering,
    /// The pixel before it, unless an earlier primitive's program had yet to run; then after that.
    pub before: Vec<Sample>,
    /// The pixel after tests that run before the program.
    pub tested: Vec<Sample>,
    /// The run of its program, if there was one.
    pub shaded: Option<Shaded>,
}

impl Touch {
    /// Whether it changed a colour.
    #[must_use]
    pub fn changed_colour(&self) -> bool {
        let colours = |all: &[Sample]| all.iter().map(|s| s.colour.clone()).collect::<Vec<_>>();
        self.shaded.as_ref().is_some_and(|s| colours(&s.after) != colours(&self.before))
    }
}

/// History of a pixel in a render command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Column, row, layer.
    pub pixel: [u32; 3],
    /// Samples at the start of the tile; more than one entry with partial renders.
    pub filled: Vec<Sample>,
    /// Primitives that touched it, in order.
    pub touches: Vec<Touch>,
    /// The stored samples.
    pub stored: Vec<Sample>,
}

impl History {
    /// The formats of colours in the tilebuffer, as programs store them.
    fn formats(&self) -> Vec<TileAccess> {
        let mut all: Vec<TileAccess> = self
            .touches
            .iter()
            .filter_map(|t| t.shaded.as_ref())
            .flat_map(|s| s.stores.iter().copied())
            .collect();
        // Of several accesses at one offset, keep the one with the most channels.
        all.sort_by_key(|&(offset, _, mask)| (offset, std::cmp::Reverse(mask.count_ones())));
        all.dedup_by_key(|&mut (offset, ..)| offset);
        all
    }

    /// The colours of a sample, by the byte where they begin: channels as their registers hold them.
    #[must_use]
    pub fn colours(&self, sample: &Sample) -> Vec<(u16, TileFormat, Vec<u32>)> {
        let channels = |&(offset, format, mask): &TileAccess| {
            let mut bytes = [0; 16];
            let from = sample.colour.get(usize::from(offset)..)?;
            let length = from.len().min(16);
            bytes[..length].copy_from_slice(&from[..length]);
            let count = format.packed().unwrap_or(mask.count_ones() as usize);
            Some((offset, format, format.load(mask, &bytes)?[..count.min(4)].to_vec()))
        };
        self.formats().iter().filter_map(channels).collect()
    }

    /// The colours of a sample as text.
    fn colour(&self, sample: &Sample) -> String {
        let colours = self.colours(sample);
        if colours.is_empty() {
            return format!("bytes {:02x?}", sample.colour);
        }
        let one = |(offset, format, channels): &(u16, TileFormat, Vec<u32>)| match colours.len() {
            1 => numbers(*format, channels),
            _ => format!("{} at byte {offset}", numbers(*format, channels)),
        };
        colours.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The samples of a pixel as text.
    fn samples(&self, all: &[Sample]) -> String {
        let mut parts = Vec::new();
        if all.iter().any(|s| !s.colour.is_empty()) {
            parts.push(format!("colour {}", each(all, "; ", |s| self.colour(s))));
        }
        parts.push(format!("depth {}", each(all, " ", |s| s.depth.to_string())));
        parts.push(format!("stencil {}", each(all, " ", |s| s.stencil.to_string())));
        parts.join(", ")
    }
}

/// Something of each sample, or once if it is the same of all.
fn each(all: &[Sample], between: &str, text: impl Fn(&Sample) -> String) -> String {
    let mut texts: Vec<String> = all.iter().map(text).collect();
    if texts.windows(2).all(|pair| pair[0] == pair[1]) {
        texts.truncate(1);
    }
    texts.join(between)
}

/// Channels as text: floats with at most four fraction digits, and the bits of 32-bit channels, which
/// may be integers.
fn numbers(format: TileFormat, channels: &[u32]) -> String {
    let float = |bits: u32| {
        let text = format!("{:.4}", f32::from_bits(bits));
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let one = |&bits: &u32| match format {
        TileFormat::I8 | TileFormat::I16 => bits.to_string(),
        TileFormat::I32 => format!("{bits:#x} ({})", float(bits)),
        _ => float(bits),
    };
    channels.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn comparison(compare: Compare) -> &'static str {
    match compare {
        Compare::NEVER => "never",
        Compare::LESS => "<",
        Compare::EQUAL => "=",
        Compare::LEQUAL => "<=",
        Compare::GREATER => ">",
        Compare::NOT_EQUAL => "!=",
        Compare::GEQUAL => ">=",
        _ => "always",
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, layer] = self.pixel;
        write!(f, "pixel {x},{y}")?;
        if layer != 0 {
            write!(f, " of layer {layer}")?;
        }
        for (k, (_, format, _)) in self.formats().iter().enumerate() {
            let format = format!("{format:?}").to_lowercase();
            write!(f, "{}{format}", if k == 0 { ", in the tile as " } else { ", " })?;
        }
        writeln!(f)?;
        if self.filled.is_empty() {
            return writeln!(f, "  its tile was not drawn");
        }
        writeln!(f, "  begins    {}", self.samples(&self.filled))?;
        for touch in &self.touches {
            self.touch(f, touch)?;
        }
        if self.touches.is_empty() {
            writeln!(f, "  no primitive covers it")?;
        }
        writeln!(f, "  stored    {}", self.samples(&self.stored))
    }
}

impl History {
    fn touch(&self, f: &mut fmt::Formatter<'_>, touch: &Touch) -> fmt::Result {
        let c = &touch.covering;
        let kind = match c.kind {
            PrimitiveKind::Triangle => "triangle",
            PrimitiveKind::Line => "line",
            PrimitiveKind::Point => "point",
        };
        let side = if c.front { "front" } else { "back" };
        let all = (1u32 << touch.before.len().max(1)) - 1;
        let part = if c.covered == all {
            String::new()
        } else {
            format!(", covers samples {:#x}", c.covered)
        };
        writeln!(f, "  draw {:<5}{kind} {}, {side}{part}", c.draw, c.primitive)?;
        let first = c.covered.trailing_zeros() as usize;
        let (depth, old) = (c.depth.get(first), touch.before.get(first));
        let mut tests = Vec::new();
        if let Some(s) = &c.tests.stencil {
            let change = |op| if op == StencilOp::Keep { "keeps" } else { "changes" };
            tests.push(format!(
                "stencil: {:#x} {} stored {:#x} (mask {:#x}); a pass {} it",
                s.reference,
                comparison(s.compare),
                old.map_or(0, |o| o.stencil),
                s.read_mask,
                change(s.pass)
            ));
        }
        if let (Some(depth), Some(old)) = (depth, old) {
            let writes = if c.tests.write { ", writes" } else { "" };
            tests.push(match comparison(c.tests.depth) {
                name @ ("never" | "always") => format!("depth {depth}: {name}{writes}"),
                sign => format!("depth {depth} {sign} stored {}{writes}", old.depth),
            });
        }
        let verdict = match c.passed {
            None => "tested by the program".to_owned(),
            Some(0) => "fails".to_owned(),
            Some(passed) if passed == c.covered => "passes".to_owned(),
            Some(passed) => format!("samples {passed:#x} pass"),
        };
        writeln!(f, "            {}: {verdict}", tests.join("; "))?;
        let Some(s) = &touch.shaded else {
            if c.passed != Some(0) {
                writeln!(f, "            no program runs for it")?;
            }
            return Ok(());
        };
        let blends = if s.loads.is_empty() { "" } else { ", which reads the colour that is there" };
        writeln!(
            f,
            "            program {:016x} at {:#x}, lane {}{blends}",
            s.fingerprint, s.program, s.lane
        )?;
        if c.passed == Some(0) {
            return writeln!(f, "            it runs for the other pixels of its quad");
        }
        let dropped = c.passed.unwrap_or(c.covered) & !s.live;
        if dropped == c.passed.unwrap_or(c.covered) {
            return writeln!(f, "            discards it, or it fails the tests of the program");
        }
        if dropped != 0 {
            writeln!(f, "            drops samples {dropped:#x}")?;
        }
        writeln!(f, "            leaves    {}", self.samples(&s.after))
    }
}
