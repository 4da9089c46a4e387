//! Code sinking: moves arithmetic after conditions and loops to its use.
//!
//! Shaders compute vectors whose components are used far apart, such as the coordinates of a row of
//! texels. A component that is computed in the block where it is used keeps no register until then, and
//! is computed where the vector needs it, without a copy. Texture samples with control flow around
//! their emulation end blocks, so neither the scheduler nor the register allocator sees both.
//!
//! An instruction moves to its first user in the same region, past at least one `if` or `loop`, if that
//! does not increase the number of live values in between: at most one of its operands would have died
//! before, and it is no larger than the result.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader, Value};

/// Position of an instruction.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Its region.
    region: PackedOption<Region>,
    /// The position in it, in the order before the pass; for an instruction that moved, the position of
    /// its user.
    at: u32,
}

struct Sink {
    places: SecondaryMap<Inst, Place>,
    /// The instruction that a region belongs to.
    owners: SecondaryMap<Region, PackedOption<Inst>>,
    /// The last use of each value, as an index of `uses` counted from one.
    users: SecondaryMap<Value, u32>,
    /// Users, each with the use before, counted from one.
    uses: Vec<(Inst, u32)>,
}

/// Runs the pass; true when it moved anything.
pub fn run(s: &mut Shader) -> bool {
    if s.regions.len() == 1 {
        return false;
    }
    let mut sink = Sink {
        places: SecondaryMap::with_capacity(s.insts.len()),
        owners: SecondaryMap::with_capacity(s.regions.len()),
        users: SecondaryMap::with_capacity(s.values.len()),
        uses: Vec::with_capacity(2 * s.insts.len()),
    };
    let mut regions = vec![s.root];
    let mut next = 0;
    while let Some(&region) = regions.get(next) {
        next += 1;
        for (at, &i) in s.regions[region].insts.iter().enumerate() {
            sink.places[i] = Place { region: region.into(), at: at as u32 };
            for &v in s.args(i) {
                sink.uses.push((i, sink.users[v]));
                sink.users[v] = sink.uses.len() as u32;
            }
            for inner in s.inst_regions(i) {
                sink.owners[inner] = i.into();
                regions.push(inner);
            }
        }
    }
    let mut changed = false;
    for region in regions {
        changed |= sink.region(s, region);
    }
    changed
}

impl Sink {
    /// The users of a value, the last first.
    fn users(&self, v: Value) -> impl Iterator<Item = Inst> {
        let mut next = self.users[v];
        std::iter::from_fn(move || {
            let &(user, before) = self.uses.get((next as usize).checked_sub(1)?)?;
            next = before;
            Some(user)
        })
    }

    /// The position in a region of an instruction, or of that one which it is inside of.
    fn position(&self, region: Region, mut i: Inst) -> Option<usize> {
        loop {
            let place = self.places[i];
            let here = place.region.expand()?;
            if here == region {
                return Some(place.at as usize);
            }
            i = self.owners[here].expand()?;
        }
    }

    fn region(&mut self, s: &mut Shader, region: Region) -> bool {
        let insts = std::mem::take(&mut s.regions[region].insts);
        let splits = |i: Inst| s.inst_regions(i).next().is_some();
        // Conditions and loops up to each position.
        let mut before = 0;
        let blocks: Vec<u32> = insts
            .iter()
            .map(|&i| {
                let here = before;
                before += u32::from(splits(i));
                here
            })
            .collect();
        let mut moved: Vec<Vec<Inst>> = Vec::new();
        if before > 0 {
            for (at, &i) in insts.iter().enumerate().rev() {
                let Some(to) = self.target(s, region, i) else { continue };
                if blocks[to] == blocks[at] || !self.is_neutral(s, region, i, to) {
                    continue;
                }
                moved.resize(insts.len(), Vec::new());
                // Its users, if they moved as well, are there already.
                moved[to].push(i);
                self.places[i].at = to as u32;
            }
        }
        if moved.is_empty() {
            s.regions[region].insts = insts;
            return false;
        }
        let mut out = Vec::with_capacity(insts.len());
        for (at, &i) in insts.iter().enumerate() {
            out.extend(moved[at].iter().rev());
            if self.places[i].at as usize == at {
                out.push(i);
            }
        }
        for (at, &i) in out.iter().enumerate() {
            self.places[i].at = at as u32;
        }
        s.regions[region].insts = out;
        true
    }

    /// The position of the first user of an instruction that may move.
    fn target(&self, s: &Shader, region: Region, i: Inst) -> Option<usize> {
        let d = &s.insts[i];
        let moves = d.op.is_pure()
            && !d.op.props().contains(Props::CONVERGENT)
            && d.attrs == Attrs::None
            && d.op != Op::Const
            && s.args(i).iter().any(|&v| !s.is_const(v));
        let &[result] = s.results(i) else { return None };
        if !moves {
            return None;
        }
        self.users(result).map(|u| self.position(region, u)).min()?
    }

    /// Whether no more is alive in between if the instruction moves.
    fn is_neutral(&self, s: &Shader, region: Region, i: Inst, to: usize) -> bool {
        let size = s.ty(s.result(i)).size_bytes();
        let mut dying: Option<Value> = None;
        for &v in s.args(i) {
            if s.is_const(v) || dying == Some(v) {
                continue;
            }
            let used = |u: Inst| u != i && self.position(region, u).is_some_and(|at| at >= to);
            if !self.users(v).any(used) {
                if dying.is_some() || s.ty(v).size_bytes() > size {
                    return false;
                }
                dying = Some(v);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the sums in a shader, and where the condition is among them.
    fn order(text: &str) -> String {
        let mut s = tepui_ir::parse(text).expect("the text is IR");
        run(&mut s);
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
        let root = &s.regions[s.root].insts;
        let name = |&i: &Inst| match s.insts[i].op {
            Op::If => Some("if"),
            Op::IAdd => Some("sum"),
            Op::IMul => Some("product"),
            Op::StoreGlobal => Some("store"),
            _ => None,
        };
        root.iter().filter_map(name).collect::<Vec<_>>().join(" ")
    }

    fn shader(computed: &str, stored: [u32; 2]) -> String {
        let [a, b] = stored;
        format!(
            "shader compute \"main\" {{
  workgroup_size 32 1 1
  body {{
    %0:b32 = const[0x0]
    %1:b32 = const[0x5]
    %2:b64 = const[0x1000]
    %3:b32x3 = load_builtin[global_invocation_id]
    %4:b32 = extract[0] %3
    %5:b32 = extract[1] %3
{computed}
    %8:b1 = ult %4, %5
    if %8 {{
      store_global[align 4] %2, %4
      yield
    }} else {{
      yield
    }}
    store_global[align 4] %2, %{a}
    store_global[align 4] %2, %{b}
    yield
  }}
}}
"
        )
    }

    #[test]
    fn what_is_used_later_is_computed_later() {
        let sums = "    %6:b32 = iadd %4, %1
    %7:b32 = imul %6, %1";
        // One operand dies, and the result lives in its place; a chain moves as a whole.
        assert_eq!(order(&shader(sums, [7, 7])), "if sum product store store");
        assert_eq!(order(&shader(sums, [6, 7])), "if sum store product store");
        // Both operands would have died, or one.
        let two = "    %6:b32 = iadd %4, %5";
        assert_eq!(order(&shader(two, [6, 6])), "sum if store store");
        assert_eq!(order(&shader(two, [6, 4])), "if sum store store");
    }
}
