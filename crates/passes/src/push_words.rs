//! Chooses words of uniform buffers that the driver pushes to registers, and reads them there.
//!
//! Threads of many GPUs start with a few constants in registers: push constants of Intel's execution units, fast-access uniforms of
//! Mali. What a shader reads of uniform buffers at constant offsets is worth a place there, since it then needs no load. Whole
//! granules are chosen, by uses per word, within a budget; uses in loops count for more. An access is replaced only where all its
//! words were chosen.
//!
//! The driver copies the ranges before the shader runs. Words past the end of a buffer's range, and those of null descriptors, it
//! leaves at zero.

use crate::rewrite::{self, Emit, Lowering, Step};
use std::collections::BTreeMap;
use tepui_ir::{Access, Attrs, Inst, Mem, Op, Region, ResKind, Shader};

/// The registers for pushed words.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Number of words.
    pub words: u32,
    /// Words of a granule: ranges begin and end at its multiples. A power of two.
    pub granule: u32,
    /// Number of ranges.
    pub ranges: usize,
    /// Place of the words of the first range, in bytes of the driver's data ([`Op::LoadUniform`]).
    pub first_byte: u32,
}

/// Consecutive words of a uniform buffer, which follow those of the range before in the driver's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Array element.
    pub element: u32,
    /// First word in the buffer.
    pub first_word: u32,
    /// Number of words.
    pub words: u32,
}

impl Range {
    fn contains(&self, a: &Place) -> bool {
        let known = (self.set, self.binding, self.element) == a.buffer;
        known && a.word >= self.first_word && a.word + a.words <= self.first_word + self.words
    }
}

/// Factor of uses in a loop.
const LOOP: u64 = 8;
/// Depth of loops that is looked at.
const MAX_DEPTH: u32 = 6;
/// Last word that is looked at: a range of 64 KiB is the largest that drivers offer.
const MAX_WORD: u32 = 1 << 14;

/// Runs the pass; returns the ranges that the driver must push.
pub fn run(s: &mut Shader, budget: &Budget) -> Vec<Range> {
    run_where(s, budget, |_, _| true)
}

/// [`run`] for the buffers of which `allows` holds: it is given set and binding.
pub fn run_where(s: &mut Shader, budget: &Budget, allows: impl Fn(u32, u32) -> bool) -> Vec<Range> {
    let mut uses = Uses::new();
    count(s, s.root, 0, budget.granule, &mut uses);
    uses.retain(|&(set, binding, _), _| allows(set, binding));
    let ranges = choose(&uses, budget);
    let mut pass = Pushed { ranges: &ranges, first_byte: budget.first_byte };
    if !ranges.is_empty() {
        rewrite::run(s, &mut pass);
    }
    ranges
}

/// A buffer by set, binding and element.
type Buffer = (u32, u32, u32);
/// Weighted uses of each granule of each buffer.
type Uses = BTreeMap<Buffer, BTreeMap<u32, u64>>;

/// Words of a uniform buffer that an instruction loads.
struct Place {
    buffer: Buffer,
    word: u32,
    words: u32,
}

impl Place {
    /// The words that an instruction loads, if they are known and read-only.
    fn of(s: &Shader, i: Inst) -> Option<Place> {
        let d = &s.insts[i];
        let (Op::LoadBuffer, Attrs::Mem(m)) = (d.op, d.attrs) else { return None };
        if !m.access.contains(Access::CONST) || m.access.contains(Access::VOLATILE) {
            return None;
        }
        let handle = s.def_inst(s.arg(i, 0)).filter(|&h| s.insts[h].op == Op::Descriptor)?;
        let Attrs::Res(r, _) = s.insts[handle].attrs else { return None };
        let resource = &s.resources[r];
        if resource.kind != ResKind::UniformBuffer {
            return None;
        }
        let element = s.as_const(s.arg(handle, 0))? as u32;
        let byte = (s.as_const(s.arg(i, 1))? as u32).checked_add_signed(m.offset)?;
        let ty = s.ty(s.result(i));
        let is_aligned = byte.is_multiple_of(4) && ty.bits() >= 32;
        let (word, words) = (byte / 4, ty.size_bytes() / 4);
        let buffer = (resource.set, resource.binding, element);
        (is_aligned && word + words <= MAX_WORD).then_some(Place { buffer, word, words })
    }
}

/// Counts the uses of granules in a region.
fn count(s: &Shader, r: Region, depth: u32, granule: u32, uses: &mut Uses) {
    for &i in &s.regions[r].insts {
        if let Some(place) = Place::of(s, i) {
            let granules = uses.entry(place.buffer).or_default();
            for word in place.word..place.word + place.words {
                *granules.entry(word / granule).or_default() += LOOP.pow(depth);
            }
        }
        let inner = depth + u32::from(s.insts[i].op == Op::Loop && depth < MAX_DEPTH);
        for q in s.inst_regions(i) {
            count(s, q, inner, granule, uses);
        }
    }
}

/// Consecutive granules in use.
struct Run {
    buffer: Buffer,
    first: u32,
    count: u32,
    uses: u64,
}

/// The ranges to push: runs of granules with most uses per granule first.
fn choose(uses: &Uses, budget: &Budget) -> Vec<Range> {
    let mut runs: Vec<Run> = Vec::new();
    for (&buffer, granules) in uses {
        for (&granule, &uses) in granules {
            match runs.last_mut() {
                Some(run) if run.buffer == buffer && run.first + run.count == granule => {
                    run.count += 1;
                    run.uses += uses;
                }
                _ => runs.push(Run { buffer, first: granule, count: 1, uses }),
            }
        }
    }
    // Stable: of equally good ones, in the order of buffers.
    runs.sort_by(|a, b| (b.uses * u64::from(a.count)).cmp(&(a.uses * u64::from(b.count))));
    let mut left = budget.words / budget.granule;
    let mut ranges = Vec::new();
    for run in runs {
        let count = run.count.min(left);
        if count == 0 || ranges.len() == budget.ranges {
            break;
        }
        left -= count;
        let (set, binding, element) = run.buffer;
        let (first_word, words) = (run.first * budget.granule, count * budget.granule);
        ranges.push(Range { set, binding, element, first_word, words });
    }
    ranges
}

/// Replaces loads by reads of the driver's data.
struct Pushed<'a> {
    ranges: &'a [Range],
    first_byte: u32,
}

impl Lowering for Pushed<'_> {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        Place::of(s, i).is_some()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some(place) = Place::of(e.s, i) else { return Step::Keep };
        let mut before = 0;
        for range in self.ranges {
            if range.contains(&place) {
                let word = before + place.word - range.first_word;
                let at = e.u32(self.first_byte + 4 * word);
                let ty = e.s.ty(e.s.result(i));
                let mem = Attrs::Mem(Mem { align_log2: 2, ..Mem::default() });
                return Step::Replace(vec![e.value(Op::LoadUniform, mem, &[at], ty)]);
            }
            before += range.words;
        }
        Step::Keep
    }
}
