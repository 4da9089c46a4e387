//! The compacted form of 64 bits: the bits of the long form that a pattern replaces, and the bits that are
//! copied.
//!
//! source: Mesa, `src/intel/compiler/brw_eu_compact.c`.

use tepui_intel_chips::Generation;

use crate::error::FieldError;
use crate::table::compact as t;
use crate::table::field::{self as f, Run, run};
use crate::table::opcode::{Form, Opcode};
use crate::types::{Type, TypePosition};

/// The immediate in the long form.
const IMMEDIATE: Run = (127, 96);

/// An index in the short form that replaces bits of the long form, most significant run first.
struct Pattern {
    index: &'static [Run],
    table: &'static [u64],
    bits: &'static [Run],
    what: &'static str,
    /// Runs that belong to the immediate if there is one; they are treated as zero then.
    covered: &'static [Run],
}

/// Bits that are in both forms: the short form's run, the long form's.
type Copied = (Run, Run);

struct Layout {
    patterns: &'static [Pattern],
    /// The pattern of source 1, which an immediate replaces.
    source1: Option<Pattern>,
    copied: &'static [Copied],
    /// Source 1's register number, which an immediate replaces.
    source1_register: Option<Copied>,
    /// The immediate in the short form, most significant run first.
    immediate: &'static [Run],
}

const fn pattern(
    what: &'static str,
    index: &'static [Run],
    table: &'static [u64],
    bits: &'static [Run],
) -> Pattern {
    Pattern { index, table, bits, what, covered: &[] }
}

static GEN9: Layout = Layout {
    patterns: &[
        pattern(
            "control",
            &[(12, 8)],
            &t::GEN9_CONTROL,
            &[(33, 31), (23, 12), (10, 9), (34, 34), (8, 8)],
        ),
        pattern("types", &[(17, 13)], &t::GEN9_DATATYPE, &[(63, 61), (94, 89), (46, 35)]),
        Pattern {
            covered: &[(100, 96)],
            ..pattern(
                "subregisters",
                &[(22, 18)],
                &t::GEN9_SUBREGISTER,
                &[(100, 96), (68, 64), (52, 48)],
            )
        },
        pattern("source 0", &[(34, 30)], &t::GEN9_SOURCE, &[(88, 77)]),
    ],
    source1: Some(pattern("source 1", &[(39, 35)], &t::GEN9_SOURCE, &[(120, 109)])),
    copied: &[
        ((6, 0), (6, 0)),
        ((7, 7), (30, 30)),
        ((23, 23), (28, 28)),
        ((27, 24), (27, 24)),
        ((47, 40), (60, 53)),
        ((55, 48), (76, 69)),
    ],
    source1_register: Some(((63, 56), (108, 101))),
    immediate: &[(39, 35), (63, 56)],
};

static GEN9_TERNARY: Layout = Layout {
    patterns: &[
        pattern("control", &[(9, 8)], &t::GEN9_TERNARY_CONTROL, &[(36, 35), (34, 32), (28, 8)]),
        pattern(
            "sources",
            &[(11, 10)],
            &t::GEN9_TERNARY_SOURCE,
            &[(126, 125), (105, 104), (84, 84), (83, 83), (114, 107), (93, 86), (72, 65), (55, 37)],
        ),
    ],
    source1: None,
    copied: &[
        ((6, 0), (6, 0)),
        ((18, 12), (62, 56)),
        ((28, 28), (64, 64)),
        ((30, 30), (30, 30)),
        ((31, 31), (31, 31)),
        ((32, 32), (85, 85)),
        ((33, 33), (106, 106)),
        ((36, 34), (75, 73)),
        ((39, 37), (96, 94)),
        ((42, 40), (117, 115)),
        ((49, 43), (82, 76)),
        ((56, 50), (103, 97)),
        ((63, 57), (124, 118)),
    ],
    source1_register: None,
    immediate: &[],
};

static GEN12: Layout = Layout {
    patterns: &[
        pattern(
            "control",
            &[(28, 24)],
            &t::GEN12_CONTROL,
            &[
                (95, 92),
                (34, 34),
                (33, 33),
                (32, 32),
                (31, 31),
                (28, 28),
                (27, 24),
                (23, 22),
                (21, 19),
                (18, 16),
            ],
        ),
        Pattern {
            covered: &[(98, 98)],
            ..pattern(
                "types",
                &[(34, 30)],
                &t::GEN12_DATATYPE,
                &[
                    (98, 98),
                    (91, 88),
                    (66, 66),
                    (50, 50),
                    (49, 48),
                    (47, 47),
                    (46, 46),
                    (43, 40),
                    (39, 36),
                    (35, 35),
                ],
            )
        },
        Pattern {
            covered: &[(103, 99)],
            ..pattern(
                "subregisters",
                &[(39, 35)],
                &t::GEN12_SUBREGISTER,
                &[(103, 99), (71, 67), (55, 51)],
            )
        },
        pattern(
            "source 0",
            &[(51, 48)],
            &t::GEN12_SOURCE0,
            &[(87, 87), (86, 84), (83, 81), (80, 80), (65, 64), (45, 44)],
        ),
    ],
    source1: Some(pattern(
        "source 1",
        &[(55, 52)],
        &t::GEN12_SOURCE1,
        &[(121, 120), (119, 116), (115, 113), (112, 112), (97, 96)],
    )),
    copied: &[
        ((6, 0), (6, 0)),
        ((7, 7), (30, 30)),
        ((15, 8), (15, 8)),
        ((23, 16), (63, 56)),
        ((47, 40), (79, 72)),
    ],
    source1_register: Some(((63, 56), (111, 104))),
    immediate: &[(63, 52)],
};

static GEN12_TERNARY: Layout = Layout {
    patterns: &[
        pattern(
            "control",
            &[(28, 24)],
            &t::GEN12_TERNARY_CONTROL,
            &[
                (95, 92),
                (90, 88),
                (82, 80),
                (50, 50),
                (48, 48),
                (42, 40),
                (39, 39),
                (38, 36),
                (34, 34),
                (33, 33),
                (32, 32),
                (31, 31),
                (28, 28),
                (27, 24),
                (23, 23),
                (22, 22),
                (21, 19),
                (18, 16),
            ],
        ),
        pattern(
            "sources",
            &[(34, 30)],
            &t::GEN12_TERNARY_SOURCE,
            &[
                (114, 114),
                (113, 112),
                (98, 98),
                (97, 96),
                (91, 91),
                (87, 86),
                (85, 84),
                (83, 83),
                (66, 66),
                (65, 64),
                (47, 47),
                (46, 46),
                (45, 44),
                (43, 43),
                (35, 35),
            ],
        ),
        pattern(
            "subregisters",
            &[(39, 35)],
            &t::GEN12_TERNARY_SUBREGISTER,
            &[(119, 115), (103, 99), (71, 67), (55, 51)],
        ),
    ],
    source1: None,
    copied: &[
        ((6, 0), (6, 0)),
        ((7, 7), (30, 30)),
        ((15, 8), (15, 8)),
        ((23, 16), (63, 56)),
        ((47, 40), (79, 72)),
        ((63, 56), (111, 104)),
        ((55, 48), (127, 120)),
    ],
    source1_register: None,
    immediate: &[],
};

impl Layout {
    /// The bits of the long form that the short form encodes.
    const fn covered(&self, has_immediate: bool) -> u128 {
        const fn all(mut mask: u128, runs: &[Run]) -> u128 {
            let mut n = 0;
            while n < runs.len() {
                let (high, low) = runs[n];
                mask |= (u128::MAX >> (127 - (high - low))) << low;
                n += 1;
            }
            mask
        }
        let mut mask = 0;
        let mut n = 0;
        while n < self.patterns.len() {
            mask = all(mask, self.patterns[n].bits);
            n += 1;
        }
        n = 0;
        while n < self.copied.len() {
            mask = all(mask, &[self.copied[n].1]);
            n += 1;
        }
        if has_immediate {
            return all(mask, &[IMMEDIATE]);
        }
        if let Some(p) = &self.source1 {
            mask = all(mask, p.bits);
        }
        if let Some((_, to)) = self.source1_register {
            mask = all(mask, &[to]);
        }
        mask
    }
}

/// [`Layout::covered`] without and with an immediate.
type Covered = [u128; 2];

const fn covered(layout: &Layout) -> Covered {
    [layout.covered(false), layout.covered(true)]
}

static GEN9_COVERED: Covered = covered(&GEN9);
static GEN9_TERNARY_COVERED: Covered = covered(&GEN9_TERNARY);
static GEN12_COVERED: Covered = covered(&GEN12);
static GEN12_TERNARY_COVERED: Covered = covered(&GEN12_TERNARY);

fn layout(generation: Generation, code: u8) -> (&'static Layout, &'static Covered) {
    let ternary = Opcode::from_code(generation, code)
        .is_some_and(|opcode| opcode.form(generation) == Form::Ternary);
    match (generation, ternary) {
        (Generation::Gen9, false) => (&GEN9, &GEN9_COVERED),
        (Generation::Gen9, true) => (&GEN9_TERNARY, &GEN9_TERNARY_COVERED),
        (Generation::Gen12, false) => (&GEN12, &GEN12_COVERED),
        (Generation::Gen12, true) => (&GEN12_TERNARY, &GEN12_TERNARY_COVERED),
    }
}

fn put(bits: &mut u128, (high, low): Run, value: u64) {
    let mask = (1u128 << (high - low + 1)) - 1;
    *bits = *bits & !(mask << low) | (u128::from(value) & mask) << low;
}

fn gather(bits: u128, runs: &[Run], zero: &[Run]) -> u64 {
    runs.iter().fold(0, |value, &r| {
        let part = if zero.contains(&r) { 0 } else { run(bits, r) };
        value << (r.0 - r.1 + 1) | part
    })
}

fn scatter(bits: &mut u128, runs: &[Run], mut value: u64) {
    for &r in runs.iter().rev() {
        put(bits, r, value);
        value >>= r.0 - r.1 + 1;
    }
}

/// The type of the long form's immediate, if it has one.
fn immediate_type(generation: Generation, bits: u128) -> Option<Type> {
    let is = |file: &f::Field, immediate: &f::Field| match generation {
        Generation::Gen9 => file.get(generation, bits) == 3,
        Generation::Gen12 => immediate.get(generation, bits) != 0,
    };
    let code = if is(&f::SRC0_FILE, &f::SRC0_IMMEDIATE) {
        f::SRC0_TYPE.get(generation, bits)
    } else if is(&f::SRC1_FILE, &f::SRC1_IMMEDIATE) {
        f::SRC1_TYPE.get(generation, bits)
    } else {
        return None;
    };
    Type::from_code(generation, TypePosition::Immediate, code as u8)
}

/// The bits of an immediate that the short form keeps; `None` if information would be lost.
fn shorten(generation: Generation, ty: Type, value: u32) -> Option<u64> {
    let candidate = match generation {
        Generation::Gen9 => value & 0x1fff,
        Generation::Gen12 => match ty {
            Type::F => value >> 20,
            Type::HF => value >> 4 & 0xfff,
            Type::DF | Type::Q | Type::UQ | Type::B | Type::UB => return None,
            _ => value & 0xfff,
        },
    };
    (lengthen(generation, ty, candidate) == Some(value)).then_some(u64::from(candidate))
}

/// The immediate that the short form's bits encode. Gen9 repeats bit 12 in the bits above; Gen12 keeps the
/// high bits of floats, and repeats bit 11 of signed integers.
fn lengthen(generation: Generation, ty: Type, short: u32) -> Option<u32> {
    let extend = |value: u32, bits: u32| ((value << (32 - bits)) as i32 >> (32 - bits)) as u32;
    let twice = |value: u32| (value & 0xffff) | value << 16;
    Some(match (generation, ty) {
        (Generation::Gen9, _) => extend(short, 13),
        (_, Type::F) => short << 20,
        (_, Type::HF) => twice(short << 4),
        (_, Type::UD | Type::VF | Type::UV | Type::V) => short,
        (_, Type::UW) => twice(short),
        (_, Type::D) => extend(short, 12),
        (_, Type::W) => twice(extend(short, 12)),
        _ => return None,
    })
}

/// Compacts a long form.
///
/// # Errors
/// It has no short form.
pub fn compact(generation: Generation, bits: u128) -> Result<u64, FieldError> {
    let code = f::OPCODE.get(generation, bits) as u8;
    let (layout, covered) = layout(generation, code);
    let immediate = match layout.immediate {
        [] => None,
        _ => immediate_type(generation, bits),
    };
    // The short form must encode the whole instruction.
    if bits & !covered[usize::from(immediate.is_some())] != 0 {
        return Err(FieldError::NotCompactable("bits that it does not have"));
    }
    let mut short = 0u128;
    let pattern = |short: &mut u128, p: &Pattern| {
        let zero = if immediate.is_some() { p.covered } else { &[] };
        let value = gather(bits, p.bits, zero);
        // Several rows may differ only in covered bits: the one in which these are zero comes first.
        let visible = |entry: u64| {
            let mut long = 0;
            scatter(&mut long, p.bits, entry);
            gather(long, p.bits, zero)
        };
        let exact = p.table.iter().position(|entry| *entry == value);
        let index = match zero {
            [] => exact,
            _ => exact.or_else(|| p.table.iter().position(|entry| visible(*entry) == value)),
        };
        let index = index.ok_or(FieldError::NotCompactable(p.what))?;
        scatter(short, p.index, index as u64);
        Ok(())
    };
    for p in layout.patterns {
        pattern(&mut short, p)?;
    }
    for &(from, to) in layout.copied {
        put(&mut short, from, run(bits, to));
    }
    match immediate {
        Some(ty) => {
            let value = shorten(generation, ty, run(bits, IMMEDIATE) as u32);
            let value = value.ok_or(FieldError::NotCompactable("the immediate"))?;
            scatter(&mut short, layout.immediate, value);
        }
        None => {
            if let Some(p) = &layout.source1 {
                pattern(&mut short, p)?;
            }
            if let Some((from, to)) = layout.source1_register {
                put(&mut short, from, run(bits, to));
            }
        }
    }
    put(&mut short, (29, 29), 1);
    let short = short as u64;
    debug_assert_eq!(expand(generation, short), Ok(bits));
    Ok(short)
}

/// Expands a short form.
///
/// # Errors
/// Reserved bits are set.
pub fn expand(generation: Generation, short: u64) -> Result<u128, FieldError> {
    let (layout, _) = layout(generation, (short & 0x7f) as u8);
    let bits = u128::from(short);
    let mut used = 1u128 << 29;
    let mut long = 0;
    let mut take = |runs: &[Run]| {
        for r in runs {
            put(&mut used, *r, u64::MAX);
        }
        gather(bits, runs, &[])
    };
    for p in layout.patterns {
        scatter(&mut long, p.bits, p.table[take(p.index) as usize]);
    }
    for &(from, to) in layout.copied {
        put(&mut long, to, take(&[from]));
    }
    let immediate = match layout.immediate {
        [] => None,
        _ => immediate_type(generation, long),
    };
    match immediate {
        Some(ty) => {
            let value = lengthen(generation, ty, take(layout.immediate) as u32);
            let value = value.ok_or(FieldError::Unknown("a compacted immediate of this type"))?;
            put(&mut long, IMMEDIATE, u64::from(value));
        }
        None => {
            if let Some(p) = &layout.source1 {
                scatter(&mut long, p.bits, p.table[take(p.index) as usize]);
            }
            if let Some((from, to)) = layout.source1_register {
                put(&mut long, to, take(&[from]));
            }
        }
    }
    match bits & !used {
        0 => Ok(long),
        rest => Err(FieldError::CompactReserved(rest as u64)),
    }
}
