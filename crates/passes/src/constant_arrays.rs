//! Replaces constant arrays that are indexed at run time by selects, bit fields or constant data.
//!
//! A lookup table (`const vec2 corners[3] = …; corners[gl_VertexIndex]`) arrives as a variable
//! whose elements are stored where the table is used. Without this pass, each invocation writes it
//! to scratch memory and reads one element back. When each element is only ever stored one
//! constant, before any load, a load is a function of its index. Small integers become a bit field
//! of a packed constant, two distinct values a test of one bit of a mask, and other small tables a
//! chain of selects. What takes longer than a load from memory becomes part of the shader's
//! constant data ([`Shader::data`]), of which one element is loaded.

use crate::edit::{Consts, push};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Comps, Inst, Mem, Op, Region, Shader, Type, Value, Var};

/// Longest array that is looked at: as long as the front end takes.
const MAX_LEN: u32 = 1 << 16;
/// Longest array that becomes selects or bit fields.
const MAX_INLINE_LEN: usize = 64;
/// Bits of a packed table.
const TABLE_BITS: u32 = 32;
/// Cost of a load of an element from memory and its wait, in instructions.
const LOAD_COST: usize = 12;
/// Bytes of constant data that a shader may have.
const MAX_DATA_BYTES: usize = 1 << 20;

/// Analysis results of a variable.
#[derive(Clone, Default)]
struct Table {
    /// The constant of each element, once a store was seen.
    elements: Vec<Option<Comps>>,
    /// Elements that are stored on every way to where the walk is.
    stored: Vec<bool>,
    /// Number of them.
    stored_count: usize,
    loads: usize,
    /// Whether a value other than a constant is stored, or an element is read that may be undefined.
    no: bool,
    /// Its first byte in [`Shader::data`], if it is there.
    data: Option<u32>,
}

impl Table {
    fn store(&mut self, k: usize) -> bool {
        let new = !std::mem::replace(&mut self.stored[k], true);
        self.stored_count += usize::from(new);
        new
    }

    fn forget(&mut self, k: usize) {
        self.stored[k] = false;
        self.stored_count -= 1;
    }
}

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let arrays = |s: &Shader| {
        s.vars.values().any(|v| v.len.is_some_and(|n| n <= MAX_LEN))
            && s.any(|s, _, i| s.insts[i].op == Op::LoadVar && s.args(i).len() == 1)
    };
    if !arrays(s) {
        return false;
    }
    let mut tables: SecondaryMap<Var, Table> = SecondaryMap::with_capacity(s.vars.len());
    for (v, d) in s.vars.iter() {
        let n = d.len.filter(|&n| n <= MAX_LEN).unwrap_or(0) as usize;
        tables[v] = Table {
            elements: vec![None; n],
            stored: vec![false; n],
            no: n == 0,
            ..Table::default()
        };
    }
    survey(s, s.root, &mut tables);
    let mut any = false;
    for v in s.vars.keys() {
        let (t, ty) = (&mut tables[v], s.vars[v].ty);
        t.no |= t.loads == 0 || t.elements.iter().any(Option::is_none);
        if !t.no && !is_short(t, ty) {
            t.data = place(&mut s.data, t, ty);
            t.no = t.data.is_none();
        }
        any |= !t.no;
    }
    if !any {
        return false;
    }
    let mut consts = Consts::new(s);
    let root = s.root;
    replace(s, root, &tables, &mut consts);
    consts.finish(s);
    true
}

/// Finds what is stored, and whether each load comes after stores of all elements.
fn survey(s: &Shader, r: Region, tables: &mut SecondaryMap<Var, Table>) {
    // Stores in this region are not made on ways around it.
    let mut undo: Vec<(Var, usize)> = Vec::new();
    for &i in &s.regions[r].insts {
        for q in s.inst_regions(i) {
            survey(s, q, tables);
        }
        let Attrs::Var(v) = s.insts[i].attrs else { continue };
        let t = &mut tables[v];
        if t.no {
            continue;
        }
        let args = s.args(i);
        if s.insts[i].op == Op::LoadVar {
            t.loads += 1;
            t.no |= t.stored_count != t.elements.len();
            continue;
        }
        let place = s.as_const(args[1]).map(|k| k as usize).filter(|&k| k < t.elements.len());
        match (place, s.as_const_comps(args[0])) {
            (Some(k), Some(value)) if t.elements[k].as_ref().is_none_or(|e| *e == value) => {
                t.elements[k] = Some(value);
                if t.store(k) {
                    undo.push((v, k));
                }
            }
            _ => t.no = true,
        }
    }
    if r != s.root {
        for (v, k) in undo {
            tables[v].forget(k);
        }
    }
}

/// The type of a component in memory: booleans are words there.
fn stored_bits(ty: Type) -> u8 {
    if ty.bits() == 1 { 32 } else { ty.bits() }
}

/// Bytes from one element to the next in memory, a power of two.
fn stride(ty: Type) -> usize {
    usize::from(stored_bits(ty)) / 8 * usize::from(ty.comps()).next_power_of_two()
}

/// Appends a table to the constant data; its first byte. `None` if the data would be too long.
fn place(data: &mut Vec<u8>, t: &Table, ty: Type) -> Option<u32> {
    let (bytes, stride) = (usize::from(stored_bits(ty)) / 8, stride(ty));
    let mut table = vec![0; (stride * t.elements.len()).next_multiple_of(4)];
    for (element, to) in t.elements.iter().flatten().zip(table.chunks_mut(stride)) {
        for (component, to) in element.iter().zip(to.chunks_mut(bytes)) {
            to.copy_from_slice(&component.to_le_bytes()[..bytes]);
        }
    }
    // Reuse an equal table of another variable: glslang emits one for each use.
    let align = stride.clamp(4, 16);
    let same = (0..data.len().saturating_sub(table.len() - 1)).step_by(align);
    if let Some(at) = same.into_iter().find(|&at| data[at..].starts_with(&table)) {
        return Some(at as u32);
    }
    let at = data.len().next_multiple_of(align);
    if at + table.len() > MAX_DATA_BYTES {
        return None;
    }
    data.resize(at, 0);
    data.extend(table);
    Some(at as u32)
}

/// Expression of a component as a function of the index.
enum Form {
    /// Every element has this value.
    Same(u64),
    /// Fields of this many bits of a constant.
    Fields(u32, u64),
    /// Two values; a bit of the mask says which.
    Bit(u64, u64, u64),
    /// A select for each element but the last.
    Selects(Vec<u64>),
}

fn form(t: &Table, component: usize) -> Form {
    let values: Vec<u64> = t.elements.iter().flatten().map(|e| e[component]).collect();
    let n = values.len() as u32;
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // A field takes about three instructions: scale, shift, mask.
    const FIELD: usize = 3;
    let runs = values.windows(2).filter(|w| w[0] != w[1]).count();
    let width = (u64::BITS - distinct[distinct.len() - 1].leading_zeros()).max(1);
    match distinct[..] {
        [one] => Form::Same(one),
        _ if runs <= FIELD => Form::Selects(values),
        _ if width.next_power_of_two() * n <= TABLE_BITS => {
            let width = width.next_power_of_two();
            let fields = values.iter().enumerate().map(|(k, v)| v << (width * k as u32));
            Form::Fields(width, fields.fold(0, |a, f| a | f))
        }
        [a, b] if n <= TABLE_BITS => {
            let bits = values.iter().enumerate().map(|(k, &v)| u64::from(v == b) << k);
            Form::Bit(bits.fold(0, |a, f| a | f), a, b)
        }
        _ => Form::Selects(values),
    }
}

/// Whether selects and bit fields take fewer instructions than a load from memory.
fn is_short(t: &Table, ty: Type) -> bool {
    if t.elements.len() > MAX_INLINE_LEN || ty.bits() > 32 {
        return false;
    }
    let one: usize = (0..usize::from(ty.comps()))
        .map(|k| match form(t, k) {
            Form::Same(_) => 0,
            Form::Fields(..) | Form::Bit(..) => 3,
            Form::Selects(values) => values.windows(2).filter(|w| w[0] != w[1]).count(),
        })
        .sum();
    one <= LOAD_COST
}

fn replace(s: &mut Shader, r: Region, tables: &SecondaryMap<Var, Table>, consts: &mut Consts) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        for q in s.inst_regions(i) {
            replace(s, q, tables, consts);
        }
        let table = match s.insts[i].attrs {
            Attrs::Var(v) => Some(&tables[v]).filter(|t| !t.no),
            _ => None,
        };
        match (s.insts[i].op, table) {
            (Op::LoadVar, Some(t)) => load(s, i, t, &mut out, consts),
            (_, Some(_)) => {}
            _ => out.push(i),
        }
    }
    s.regions[r].insts = out;
}

/// Makes the element from the index.
fn load(s: &mut Shader, i: Inst, t: &Table, out: &mut Vec<Inst>, consts: &mut Consts) {
    let old = s.result(i);
    let (ty, index) = (s.ty(old).elem(), s.arg(i, 0));
    let last = (t.elements.len() - 1) as u64;
    let none = Attrs::None;
    if let Some(at) = t.data {
        return load_data(s, i, t, at, out, consts);
    }
    let mut clamped = None;
    let mut parts: Vec<Value> = Vec::new();
    for k in 0..usize::from(s.ty(old).comps()) {
        let form = form(t, k);
        // The index past the end that reads the last element, as it does of the variable.
        if matches!(form, Form::Fields(..) | Form::Bit(..)) && clamped.is_none() {
            let last = consts.get(s, Type::B32, last);
            clamped = Some(push(s, out, i, Op::UMin, none, &[index, last], Type::B32));
        }
        let at = clamped.unwrap_or(index);
        parts.push(match form {
            Form::Same(v) => consts.get(s, ty, v),
            Form::Fields(width, fields) => {
                let table = consts.get(s, Type::B32, fields);
                let log = consts.get(s, Type::B32, u64::from(width.trailing_zeros()));
                let shift = push(s, out, i, Op::IShl, none, &[at, log], Type::B32);
                let moved = push(s, out, i, Op::UShr, none, &[table, shift], Type::B32);
                let mask = consts.get(s, Type::B32, (1 << width) - 1);
                let field = push(s, out, i, Op::IAnd, none, &[moved, mask], Type::B32);
                match ty.bits() {
                    32 => field,
                    1 => {
                        let zero = consts.get(s, Type::B32, 0);
                        push(s, out, i, Op::INe, none, &[field, zero], ty)
                    }
                    _ => push(s, out, i, Op::U2U, none, &[field], ty),
                }
            }
            Form::Bit(bits, a, b) => {
                let table = consts.get(s, Type::B32, bits);
                let moved = push(s, out, i, Op::UShr, none, &[table, at], Type::B32);
                let one = consts.get(s, Type::B32, 1);
                let bit = push(s, out, i, Op::IAnd, none, &[moved, one], Type::B32);
                let zero = consts.get(s, Type::B32, 0);
                let set = push(s, out, i, Op::INe, none, &[bit, zero], Type::B1);
                let (a, b) = (consts.get(s, ty, a), consts.get(s, ty, b));
                push(s, out, i, Op::Select, none, &[set, b, a], ty)
            }
            Form::Selects(values) => {
                // From the end: below the first index of each run of equal elements, the preceding
                // value.
                let mut v = consts.get(s, ty, values[values.len() - 1]);
                for k in (1..values.len()).rev().filter(|&k| values[k] != values[k - 1]) {
                    let bound = consts.get(s, Type::B32, k as u64);
                    let below = push(s, out, i, Op::ULt, none, &[index, bound], Type::B1);
                    let before = consts.get(s, ty, values[k - 1]);
                    v = push(s, out, i, Op::Select, none, &[below, before, v], ty);
                }
                v
            }
        });
    }
    let op = if parts.len() == 1 { Op::Copy } else { Op::Vec };
    let def = s.make_inst(op, none, &parts, &[]);
    s.insts[def].loc = s.insts[i].loc;
    s.set_results(def, &[old]);
    out.push(def);
}

/// Loads the element from the constant data.
fn load_data(
    s: &mut Shader,
    i: Inst,
    t: &Table,
    at: u32,
    out: &mut Vec<Inst>,
    consts: &mut Consts,
) {
    let (old, index, none) = (s.result(i), s.arg(i, 0), Attrs::None);
    let ty = s.ty(old);
    let last = consts.get(s, Type::B32, t.elements.len() as u64 - 1);
    let clamped = push(s, out, i, Op::UMin, none, &[index, last], Type::B32);
    let stride = stride(ty);
    let log = consts.get(s, Type::B32, u64::from(stride.trailing_zeros()));
    let offset = push(s, out, i, Op::IShl, none, &[clamped, log], Type::B32);
    let mem = Mem {
        align_log2: stride.min(16).trailing_zeros() as u8,
        offset: at as i32,
        access: Access::CONST,
        ..Mem::default()
    };
    let (op, args) = if ty.bits() == 1 {
        let word = Type::vec(32, ty.comps());
        let words = push(s, out, i, Op::LoadConstant, Attrs::Mem(mem), &[offset], word);
        let zero = consts.get(s, Type::B32, 0);
        let zero = match ty.comps() {
            1 => zero,
            n => push(s, out, i, Op::Vec, none, &vec![zero; usize::from(n)], word),
        };
        (Op::INe, vec![words, zero])
    } else {
        (Op::LoadConstant, vec![offset])
    };
    let attrs = if op == Op::LoadConstant { Attrs::Mem(mem) } else { none };
    let def = s.make_inst(op, attrs, &args, &[]);
    s.insts[def].loc = s.insts[i].loc;
    s.set_results(def, &[old]);
    out.push(def);
}
