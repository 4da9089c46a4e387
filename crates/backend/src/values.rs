//! Locations of the IR's values in registers, for debuggers.
//!
//! A value is followed from the instruction that defines it, through reloads of spilled values, and
//! from the start of each block that it is live in. A value that is moved between registers within a
//! block is named again at the start of the next block, so a name can be missing for some instructions,
//! but none is wrong: a write of an unnamed value ends the register's old name.

use std::collections::HashMap;

use crate::listing::{At, Line};
use cranelift_entity::SecondaryMap;
use serde::{Deserialize, Serialize};
use tepui_ir::{Loc, Shader, Value};
use tepui_regalloc::{Function, Val};

/// A component of a value of the IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The value.
    pub value: Value,
    /// The component, 0 of a scalar.
    pub component: u8,
}

/// Locations that selection chose for the components of the IR's values.
#[derive(Clone, Debug, Default)]
pub struct ValueLocations {
    /// Values of the machine IR; if several components share a value, the first one names it.
    pub vals: Vec<(Val, Component)>,
    /// Uniform registers.
    pub uniforms: Vec<InUniforms>,
}

/// A component that is in uniform registers while the whole program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InUniforms {
    /// First unit.
    pub unit: u16,
    /// Number of units.
    pub units: u8,
    /// The component.
    pub of: Component,
}

/// Registers that hold a component from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRegisters {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// The instruction writes it; otherwise it is there before the instruction runs.
    pub written: bool,
    /// First unit.
    pub unit: u16,
    /// Number of units.
    pub units: u8,
    /// The component.
    pub of: Component,
}

/// Locations of the IR's values in a program.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// In registers, sorted by offset.
    pub registers: Vec<InRegisters>,
    /// In uniform registers.
    pub uniforms: Vec<InUniforms>,
}

/// A component in registers after a number of steps of a block.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    at: At,
    unit: u16,
    units: u8,
    of: Component,
}

/// Registers that allocation chose for named values.
pub fn held<I>(
    f: &Function<I>,
    value_locations: &ValueLocations,
    defs: &[tepui_regalloc::Def],
) -> Vec<Held> {
    let mut of: SecondaryMap<Val, Option<Component>> = SecondaryMap::new();
    for &(v, component) in &value_locations.vals {
        of[v].get_or_insert(component);
    }
    let held = |d: &tepui_regalloc::Def| {
        Some(Held {
            at: At { block: d.block.as_u32(), step: d.steps },
            unit: d.unit,
            units: f.vals[d.val].units,
            of: of[f.origin(d.val)]?,
        })
    };
    defs.iter().filter_map(held).collect()
}

/// Gives what is held the offsets of a packed program. `lines` and `offsets` are those of the same instructions.
pub fn place<I>(held: &[Held], lines: &[Line<I>], offsets: &[(u32, Loc)]) -> Vec<InRegisters> {
    let steps: Vec<At> = lines.iter().map(|line| line.step).collect();
    place_steps(held, &steps, offsets)
}

/// [`place`] for a compiler with listings of its own: `steps` are those that the instructions were emitted for.
pub fn place_steps(held: &[Held], steps: &[At], offsets: &[(u32, Loc)]) -> Vec<InRegisters> {
    // Instructions are in the order of blocks and steps.
    let place = |h: &Held| {
        let next = steps.partition_point(|&step| step < h.at);
        let line = |k: usize| steps.get(k).filter(|step| step.block == h.at.block);
        // After the last line of an earlier step of the block, else before the block's first line.
        let (k, written) = match next.checked_sub(1).filter(|&k| line(k).is_some()) {
            Some(k) if h.at.step > 0 => (k, true),
            _ => line(next).map(|_| (next, false))?,
        };
        let (unit, units, of) = (h.unit, h.units, h.of);
        Some(InRegisters { offset: offsets.get(k)?.0, written, unit, units, of })
    };
    let mut out: Vec<InRegisters> = held.iter().filter_map(place).collect();
    out.sort_by_key(|r| (r.offset, r.written));
    out
}

/// The names of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// Its name in the printed IR, such as `%12` or `%12.y`.
    pub ir: String,
    /// Its variable in the source, such as `count` or `normal.x`; empty if there is none.
    pub variable: String,
}

/// Registers with the name of their contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// Byte offset of the instruction from which on they hold it; 0 for uniform registers.
    pub offset: u32,
    /// The instruction writes it; otherwise it is there before the instruction runs.
    pub written: bool,
    /// First unit.
    pub unit: u16,
    /// Number of units.
    pub units: u8,
    /// An index of [`Names::names`].
    pub name: u32,
}

/// Names of the contents of a program's registers, for debuggers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The names.
    pub names: Vec<Name>,
    /// Registers, sorted by offset.
    pub registers: Vec<Holds>,
    /// Uniform registers.
    pub uniforms: Vec<Holds>,
}

impl Names {
    /// Names of values in the IR of a shader after all passes.
    pub fn new(values: &Values, shader: &Shader) -> Names {
        let mut known: HashMap<(Value, u8), u32> = HashMap::new();
        let numbers = tepui_ir::print::numbers(shader);
        let mut names = Vec::new();
        let mut number = |of: Component| {
            *known.entry((of.value, of.component)).or_insert_with(|| {
                names.push(name(shader, &numbers, of));
                names.len() as u32 - 1
            })
        };
        let registers = values.registers.iter().map(|r| {
            let (offset, written, unit, units) = (r.offset, r.written, r.unit, r.units);
            Holds { offset, written, unit, units, name: number(r.of) }
        });
        let registers = registers.collect();
        let uniforms = values.uniforms.iter().map(|u| {
            let (unit, units) = (u.unit, u.units);
            Holds { offset: 0, written: false, unit, units, name: number(u.of) }
        });
        let uniforms = uniforms.collect();
        Names { names, registers, uniforms }
    }
}

/// The names of a component.
fn name(shader: &Shader, numbers: &HashMap<Value, u32>, of: Component) -> Name {
    let letter = match (shader.ty(of.value).comps(), of.component) {
        (1, _) => String::new(),
        (2..=4, k) => format!(".{}", ["x", "y", "z", "w"][usize::from(k) & 3]),
        (_, k) => format!("[{k}]"),
    };
    let ir = numbers.get(&of.value).map_or(String::new(), |n| format!("%{n}{letter}"));
    let variable =
        shader.names[of.value].as_deref().map_or(String::new(), |n| format!("{n}{letter}"));
    Name { ir, variable }
}
