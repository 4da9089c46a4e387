//! Links the stages of a pipeline.
//!
//! [`run`] links the last stage before the rasteriser with the fragment shader: outputs that no fragment reads are removed, and
//! those that are a constant or a push constant move into the fragment shader. The others learn how they are interpolated.
//! A value that all vertices share needs no interpolation: the fragment shader gets the value itself, which later passes fold.
//! That is exact where the interpolated value would be rounded, as Vulkan allows. Positions, point sizes and the like stay, and
//! so does everything that transform feedback captures; callers do not link such shaders. Where vertices choose no viewport,
//! fragments that ask for its number get 0.
//!
//! [`remove_unread`] links two stages before the rasteriser: outputs that the second does not read are removed, built-in ones
//! among them.

use rustc_hash::{FxHashMap, FxHashSet};
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, Mem, Op, Region, Shader, Type, Value};

use crate::pipeline::Pipeline;
use crate::rewrite::{self, Emit, Lowering, Step};

/// A word of a location: the location and its component.
type Word = (u32, u8);

/// A value that all vertices have.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Common {
    Constant(u64),
    /// A word of the push constants: how and where it is read.
    Uniform(Mem, u64),
}

/// Finds out what of a shader is executed.
fn clean(s: &mut Shader) {
    let passes = ["split", "promote", "control", "simplify", "dce"];
    Pipeline::new(None, &mut |_, _| {}).clean(s, &passes);
}

/// Removes what nothing uses any more.
fn sweep(s: &mut Shader) {
    Pipeline::new(None, &mut |_, _| {}).clean(s, &["dce"]);
}

/// Removes outputs of a stage that the next one does not read, for two stages before the fragment
/// shader: later stages see only the outputs of `next`. Returns whether it removed any.
///
/// A control shader reads its own outputs, so it must not be `stage`.
pub fn remove_unread(stage: &mut Shader, next: &mut Shader) -> bool {
    clean(stage);
    clean(next);
    let mut outputs = Outputs { read: reads(next), builtins: Some(FxHashSet::default()) };
    next.walk(|s, _, i| {
        if let (Some((IoSlot { loc: IoLoc::Builtin(b), .. }, _)), Some(read)) =
            (input(s, i), &mut outputs.builtins)
        {
            read.insert(b);
        }
    });
    let removed = rewrite::run(stage, &mut outputs);
    if removed {
        sweep(stage);
    }
    removed
}

/// Runs the pass on both stages. Returns whether it changed one of them.
pub fn run(vertex: &mut Shader, fragment: &mut Shader) -> bool {
    clean(vertex);
    clean(fragment);
    let common = common(vertex);
    let no_viewport = !writes_viewport(vertex);
    let moved = (no_viewport || !common.is_empty())
        && rewrite::run(fragment, &mut Inputs { common, no_viewport });
    let numbered = fragment.any(|s, _, i| s.insts[i].attrs == Attrs::Builtin(Builtin::PrimitiveId));
    let mut outputs = Outputs { read: reads(fragment), builtins: None };
    let mut removed = rewrite::run(vertex, &mut outputs);
    // Of the built-in outputs, only fragments read this one.
    removed |= !numbered && rewrite::run(vertex, &mut Numbers);
    if removed {
        sweep(vertex);
    }
    let linked = interpolate(vertex, fragment);
    moved || removed || linked
}

/// Gives outputs the interpolation of the inputs that read them. Returns whether it did: not if a location is read in two ways.
fn interpolate(vertex: &mut Shader, fragment: &Shader) -> bool {
    let mut read: FxHashMap<u32, Interp> = FxHashMap::default();
    let mut once = true;
    fragment.walk(|s, _, i| {
        let Some((slot, offset)) = input(s, i) else { return };
        for (location, _) in touched(s, slot, s.ty(s.result(i)), offset, false) {
            once &= *read.entry(location).or_insert(slot.interp) == slot.interp;
        }
    });
    if !once {
        return false;
    }
    let mut outputs = Vec::new();
    vertex.walk(|s, _, i| {
        let d = &s.insts[i];
        let (Op::StoreOutput, Attrs::Io(slot)) = (d.op, d.attrs) else { return };
        let locations = touched(s, slot, s.ty(s.arg(i, 0)), s.arg(i, 1), true);
        let mut all = locations.iter().map(|&(location, _)| read.get(&location).copied());
        match all.next() {
            // Built-in outputs.
            None => {}
            Some(interp) if all.all(|other| other == interp) => outputs.push((i, interp)),
            Some(_) => once = false,
        }
    });
    if !once {
        return false;
    }
    for (i, interp) in outputs {
        if let Attrs::Io(slot) = &mut vertex.insts[i].attrs {
            slot.interp = interp.unwrap_or(Interp::Smooth);
        }
    }
    vertex.info.linked = true;
    true
}

/// The words of the value at a slot: the first, and a component's words. 64-bit components take two.
fn words_of(ty: Type) -> u8 {
    if ty.bits() == 64 { 2 * ty.comps() } else { ty.comps() }
}

/// The words that an access may touch: those of all elements if the offset is not constant.
fn touched(s: &Shader, slot: IoSlot, ty: Type, offset: Value, store: bool) -> Vec<Word> {
    let IoLoc::Location(first) = slot.loc else { return Vec::new() };
    let elements = match s.as_const(offset) {
        Some(k) => k..k.saturating_add(1),
        None => 0..u64::from(s.io_elements(slot, store)),
    };
    let mut words = Vec::new();
    for k in elements {
        let Ok(k) = u32::try_from(k) else { continue };
        for w in slot.component..slot.component.saturating_add(words_of(ty)) {
            // Two locations hold what does not fit into one.
            words.push(((u32::from(first) + k).saturating_add(u32::from(w / 4)), w % 4));
        }
    }
    words
}

/// Whether a vertex shader chooses a viewport.
fn writes_viewport(s: &Shader) -> bool {
    let mut writes = false;
    s.walk(|s, _, i| {
        let to = s.insts[i].attrs;
        writes |= s.insts[i].op == Op::StoreOutput
            && matches!(to, Attrs::Io(slot) if slot.loc == IoLoc::Builtin(Builtin::ViewportIndex));
    });
    writes
}

/// The outputs of a vertex shader that have the same value for all vertices.
fn common(s: &Shader) -> FxHashMap<Word, Common> {
    let mut seen: FxHashMap<Word, Option<Common>> = FxHashMap::default();
    s.walk(|s, region, i| {
        let d = &s.insts[i];
        let (Op::StoreOutput, Attrs::Io(slot)) = (d.op, d.attrs) else { return };
        let [value, offset] = *s.args(i) else { return };
        let ty = s.ty(value);
        let known = region == s.root && ty.bits() == 32 && s.as_const(offset).is_some();
        for (k, word) in touched(s, slot, ty, offset, true).into_iter().enumerate() {
            let v = if known { common_of(s, region, value, k as u32) } else { None };
            // Words that are stored twice may have two values.
            seen.entry(word).and_modify(|e| *e = None).or_insert(v);
        }
    });
    seen.into_iter().filter_map(|(word, v)| Some((word, v?))).collect()
}

/// Component `k` of a value, if it is identical for all vertices.
fn common_of(s: &Shader, root: Region, v: Value, k: u32) -> Option<Common> {
    let part = match s.def_inst(v) {
        Some(i) if s.insts[i].op == Op::Vec => *s.args(i).get(k as usize)?,
        _ if s.ty(v).comps() == 1 => v,
        _ => return None,
    };
    if let Some(bits) = s.as_const(part) {
        return Some(Common::Constant(bits));
    }
    let i = s.def_inst(part)?;
    let d = &s.insts[i];
    match (d.op, d.attrs) {
        (Op::LoadUniform, Attrs::Mem(mem))
            if s.regions[root].insts.contains(&i) && s.ty(part) == Type::B32 =>
        {
            Some(Common::Uniform(mem, s.as_const(s.arg(i, 0))?))
        }
        _ => None,
    }
}

/// The words of locations that fragments read.
fn reads(s: &Shader) -> FxHashSet<Word> {
    let mut read = FxHashSet::default();
    s.walk(|s, _, i| {
        let Some((slot, offset)) = input(s, i) else { return };
        read.extend(touched(s, slot, s.ty(s.result(i)), offset, false));
    });
    read
}

/// The slot and the offset of a load of a fragment input.
fn input(s: &Shader, i: Inst) -> Option<(IoSlot, Value)> {
    let d = &s.insts[i];
    let is_load = matches!(
        d.op,
        Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset | Op::LoadInputVertex
    );
    match d.attrs {
        Attrs::Io(slot) if is_load => Some((slot, s.arg(i, 0))),
        _ => None,
    }
}

/// Runs of components with equal `wanted`: first component, count, and the value.
fn runs(count: u32, wanted: impl Fn(u32) -> bool) -> Vec<(u32, u32, bool)> {
    let mut out: Vec<(u32, u32, bool)> = Vec::new();
    for k in 0..count {
        match out.last_mut() {
            Some((_, n, w)) if *w == wanted(k) => *n += 1,
            _ => out.push((k, 1, wanted(k))),
        }
    }
    out
}

/// Replaces inputs that are known by their values.
struct Inputs {
    common: FxHashMap<Word, Common>,
    /// All primitives are in viewport 0.
    no_viewport: bool,
}

impl Inputs {
    fn is_viewport(&self, s: &Shader, i: Inst) -> bool {
        let d = &s.insts[i];
        self.no_viewport
            && d.op == Op::LoadBuiltin
            && matches!(d.attrs, Attrs::Builtin(Builtin::ViewportIndex))
    }

    fn get(&self, s: &Shader, i: Inst) -> Option<Vec<Option<Common>>> {
        let (slot, offset) = input(s, i)?;
        let ty = s.ty(s.result(i));
        if ty.bits() != 32 || s.as_const(offset).is_none() {
            return None;
        }
        let words = touched(s, slot, ty, offset, false);
        let found: Vec<_> = words.iter().map(|w| self.common.get(w).copied()).collect();
        found.iter().any(Option::is_some).then_some(found)
    }
}

impl Lowering for Inputs {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        self.is_viewport(s, i) || self.get(s, i).is_some()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        if self.is_viewport(e.s, i) {
            return Step::Replace(vec![e.u32(0)]);
        }
        let Some(known) = self.get(e.s, i) else { return Step::Keep };
        let (op, Attrs::Io(slot)) = (e.s.insts[i].op, e.s.insts[i].attrs) else {
            return Step::Keep;
        };
        let args = e.s.args(i).to_vec();
        let mut parts = Vec::new();
        for (first, n, is_known) in runs(known.len() as u32, |k| known[k as usize].is_some()) {
            if !is_known {
                let slot = IoSlot { component: slot.component + first as u8, ..slot };
                let v = e.value(op, Attrs::Io(slot), &args, Type::vec(32, n as u8));
                parts.extend(e.split(v));
                continue;
            }
            for common in known.iter().skip(first as usize).take(n as usize).flatten() {
                parts.push(match *common {
                    Common::Constant(bits) => e.konst(Type::B32, bits),
                    Common::Uniform(mem, at) => {
                        let at = e.u32(at as u32);
                        e.value(Op::LoadUniform, Attrs::Mem(mem), &[at], Type::B32)
                    }
                });
            }
        }
        let v = if let [one] = parts[..] { one } else { e.vec(&parts) };
        Step::Replace(vec![v])
    }
}

/// Removes the numbers that a geometry shader gives its primitives.
struct Numbers;

impl Lowering for Numbers {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let d = &s.insts[i];
        d.op == Op::StoreOutput
            && matches!(d.attrs, Attrs::Io(slot) if slot.loc == IoLoc::Builtin(Builtin::PrimitiveId))
    }

    fn inst(&mut self, _: &mut Emit, _: Inst) -> Step {
        Step::Remove
    }
}

/// Removes unread outputs.
struct Outputs {
    read: FxHashSet<Word>,
    /// The built-in outputs that are read; `None` if they all are.
    builtins: Option<FxHashSet<Builtin>>,
}

impl Outputs {
    /// For a store, whether each of its words is read; `None` if all are, or if it stores no location.
    fn get(&self, s: &Shader, i: Inst) -> Option<Vec<bool>> {
        let d = &s.insts[i];
        let (Op::StoreOutput, Attrs::Io(slot)) = (d.op, d.attrs) else { return None };
        if let IoLoc::Builtin(b) = slot.loc {
            let unread = self.builtins.as_ref().is_some_and(|read| !read.contains(&b));
            return unread.then(|| vec![false]);
        }
        let [value, offset] = *s.args(i) else { return None };
        let ty = s.ty(value);
        let words = touched(s, slot, ty, offset, true);
        let read: Vec<bool> = words.iter().map(|w| self.read.contains(w)).collect();
        if read.iter().all(|&r| r) {
            return None;
        }
        // Parts of elements that are not known, or of wide components, stay together.
        let whole = s.as_const(offset).is_none() || ty.bits() == 64;
        (!whole || read.iter().all(|&r| !r)).then_some(read)
    }
}

impl Lowering for Outputs {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        self.get(s, i).is_some()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some(read) = self.get(e.s, i) else { return Step::Keep };
        let Attrs::Io(slot) = e.s.insts[i].attrs else { return Step::Keep };
        if read.iter().all(|&r| !r) {
            return Step::Remove;
        }
        let [value, offset] = *e.s.args(i) else { return Step::Keep };
        let parts = e.split(value);
        for (first, n, is_read) in runs(parts.len() as u32, |k| read[k as usize]) {
            if !is_read {
                continue;
            }
            let some = &parts[first as usize..(first + n) as usize];
            let v = if let [one] = *some { one } else { e.vec(some) };
            let slot = IoSlot { component: slot.component + first as u8, ..slot };
            e.inst(Op::StoreOutput, Attrs::Io(slot), &[v, offset], &[]);
        }
        Step::Remove
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Shader {
        tepui_ir::parse(text).expect("the text is IR")
    }

    const VERTEX: &str = "shader vertex \"main\" {
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32x4 = load_input[location 0 component 0 float smooth center] %0
    %3:b32 = extract[0] %2
    %4:b32x4 = vec %1, %3, %0, %3
    store_output[location 1 component 0 float smooth center] %4, %0
    store_output[location 2 component 0 float smooth center] %2, %0
    yield
  }
}
";

    #[test]
    fn what_is_constant_moves_and_what_is_unread_goes() {
        let mut v = parse(VERTEX);
        let mut f = parse(
            "shader fragment \"main\" {
  body {
    %0:b32 = const[0x0]
    %1:b32x4 = load_input[location 1 component 0 float smooth center] %0
    store_output[location 0 component 0 float smooth center] %1, %0
    yield
  }
}
",
        );
        assert!(run(&mut v, &mut f));
        let (v, f) = (v.to_string(), f.to_string());
        assert_eq!(v.matches("store_output").count(), 2, "words 1 and 3 of location 1\n{v}");
        assert!(!v.contains("location 2"), "{v}");
        assert_eq!(f.matches("load_input").count(), 2, "{f}");
        assert!(f.contains("0x3f800000"), "{f}");
    }

    #[test]
    fn built_in_outputs_that_the_next_stage_does_not_read_go() {
        const OUTPUTS: &str = "shader vertex \"main\" {
  body {
    %0:b32 = const[0x0]
    %1:b32x4 = load_input[location 0 component 0 float smooth center] %0
    %2:b32 = extract[0] %1
    store_output[builtin position component 0 float smooth center] %1, %0
    store_output[builtin point_size component 0 float smooth center] %2, %0
    store_output[location 1 component 0 float smooth center] %1, %0
    store_output[location 2 component 0 float smooth center] %1, %0
    yield
  }
}
";
        let mut v = parse(OUTPUTS);
        let mut g = parse(
            "shader geometry \"main\" {
  body {
    %0:b32 = const[0x0]
    %1:b32x4 = load_input_vertex[builtin position component 0 float smooth center] %0, %0
    %2:b32x2 = load_input_vertex[location 1 component 1 float smooth center] %0, %0
    store_output[builtin position component 0 float smooth center] %1, %0
    store_output[builtin primitive_id component 0 uint flat center] %0, %0
    store_output[location 1 component 0 float smooth center] %2, %0
    emit_vertex[0]
    yield
  }
}
",
        );
        assert!(remove_unread(&mut v, &mut g));
        let text = v.to_string();
        assert!(text.contains("builtin position") && !text.contains("point_size"), "{text}");
        assert!(text.contains("location 1 component 1") && !text.contains("location 2"), "{text}");
        assert!(!remove_unread(&mut v, &mut g), "nothing is left to remove");

        // For the fragment shader, positions stay; the primitive id is removed if no fragment reads it.
        const NUMBERED: &str = "    %2:b32 = load_builtin[primitive_id]
    store_output[location 1 component 0 uint flat center] %2, %0
";
        for (numbered, asks) in [(true, NUMBERED), (false, "")] {
            let mut f = parse(&format!(
                "shader fragment \"main\" {{
  body {{
    %0:b32 = const[0x0]
    %1:b32x2 = load_input[location 1 component 0 float smooth center] %0
    store_output[location 0 component 0 float smooth center] %1, %0
{asks}    yield
  }}
}}
"
            ));
            let mut g = g.clone();
            run(&mut g, &mut f);
            let text = g.to_string();
            assert_eq!(text.contains("builtin primitive_id"), numbered, "{text}");
            assert!(text.contains("builtin position") && text.contains("location 1"), "{text}");
            assert!(g.info.linked, "{text}");
        }
    }

    #[test]
    fn outputs_are_interpolated_as_they_are_read() {
        let linked = |second: &str| {
            let fragment = format!(
                "shader fragment \"main\" {{
  body {{
    %0:b32 = const[0x0]
    %1:b32x2 = load_input[location 2 component 0 float flat center] %0
    %2:b32x2 = load_input[location 2 component 2 float {second} center] %0
    store_output[location 0 component 0 float smooth center] %1, %0
    store_output[location 0 component 2 float smooth center] %2, %0
    yield
  }}
}}
"
            );
            let mut v = parse(VERTEX);
            run(&mut v, &mut parse(&fragment));
            let text = v.to_string();
            assert_eq!(parse(&text).info.linked, v.info.linked, "{text}");
            (v.info.linked, text.contains("[location 2 component 0 float flat center]"))
        };
        assert_eq!(linked("flat"), (true, true));
        assert_eq!(linked("smooth"), (false, false), "a location that is read in two ways");
    }

    #[test]
    fn vertices_without_a_viewport_are_in_the_first() {
        const FRAGMENT: &str = "shader fragment \"main\" {
  body {
    %0:b32 = const[0x0]
    %1:b32 = load_builtin[viewport_index]
    store_output[location 0 component 0 uint flat center] %1, %0
    yield
  }
}
";
        let mut f = parse(FRAGMENT);
        assert!(run(&mut parse(VERTEX), &mut f));
        assert!(!f.to_string().contains("load_builtin"), "{f}");
        let chooses = VERTEX.replace(
            "    yield",
            "    store_output[builtin viewport_index component 0 uint flat center] %0, %0
    yield",
        );
        let mut f = parse(FRAGMENT);
        run(&mut parse(&chooses), &mut f);
        assert!(f.to_string().contains("load_builtin"), "{f}");
    }
}
