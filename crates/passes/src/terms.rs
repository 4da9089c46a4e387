//! Utilities of the passes that reassociate sums and products: users and definitions of values, and
//! whether their rounding may change.

use crate::uniformity::Uniformity;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Inst, InstFlags, Region, Shader, Value};

/// Number and location of the uses of each value.
pub(crate) struct Terms {
    pub uses: SecondaryMap<Value, u32>,
    /// The last user of a value.
    pub user: SecondaryMap<Value, PackedOption<Inst>>,
    pub home: SecondaryMap<Inst, PackedOption<Region>>,
    pub uniform: Uniformity,
}

impl Terms {
    pub fn new(s: &Shader) -> Terms {
        let mut t = Terms {
            uses: SecondaryMap::with_capacity(s.values.len()),
            user: SecondaryMap::with_capacity(s.values.len()),
            home: SecondaryMap::with_capacity(s.insts.len()),
            uniform: Uniformity::default(),
        };
        s.walk(|s, r, i| {
            t.home[i] = r.into();
            for &a in s.args(i) {
                t.uses[a] += 1;
                t.user[a] = i.into();
            }
            t.uniform.visit(s, i);
        });
        t
    }

    /// The instruction in region `r` that makes a value for one user alone, if its rounding may
    /// change.
    pub fn inner(&self, s: &Shader, v: Value, r: Region) -> Option<Inst> {
        let d = s.def_inst(v)?;
        (self.uses[v] == 1 && self.home[d].expand() == Some(r) && loose(s, d)).then_some(d)
    }
}

/// Whether an instruction makes a scalar float whose rounding may change.
pub(crate) fn loose(s: &Shader, i: Inst) -> bool {
    let d = &s.insts[i];
    let t = s.results(i).first().map(|&r| s.ty(r));
    !d.flags.intersects(InstFlags::EXACT | InstFlags::STRICT)
        && t.is_some_and(|t| t.is_scalar() && t.bits() <= 32)
}
