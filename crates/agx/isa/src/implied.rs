//! Properties of instructions: all registers that they access, implied ones included, scoreboard
//! slots, branch targets, kinds of instructions.

use crate::access::{Access, Accesses, File, Role};
use crate::inst::Inst;
use crate::operand::{
    Coef, Coords, Format, Index, REGISTER_HALVES, RegVec, TexMode, UNIFORM_HALVES,
};

fn push(list: &mut Accesses, access: Access) {
    let _ = list.try_push(access);
}

/// Adds implied registers and corrects spans that depend on another field.
fn adjust(inst: &Inst, list: &mut Accesses) {
    match inst {
        Inst::IfIcmp(_)
        | Inst::IfFcmp(_)
        | Inst::ElseIcmp(_)
        | Inst::ElseFcmp(_)
        | Inst::WhileIcmp(_)
        | Inst::WhileFcmp(_)
        | Inst::PopExec(_)
        | Inst::PopExec2(_) => push(list, Access::new(Role::ReadWrite, File::Reg, 0, 1)),
        // The link register. Whether the register form writes it is a guess (it must, for `ret`).
        Inst::Call(_) | Inst::CallReg(_) => push(list, Access::new(Role::Write, File::Reg, 2, 2)),
        Inst::DeviceLoad(load) => packed(list, load.r, load.format, Role::Write),
        Inst::DeviceStore(store) => packed(list, store.r, store.format, Role::Read),
        Inst::UniformStore(store) => {
            push(list, uniforms_written(store.index, store.shift, store.r.halves()));
        }
        Inst::TextureSample(tex) => {
            texels(list, tex.r, tex.kill & 2 != 0);
            if tex.mode == TexMode::QueryLod {
                query_lod(list, tex.coords);
            }
        }
        Inst::TextureLoad(tex) => {
            texels(list, tex.r, tex.kill & 2 != 0);
            if tex.mode == TexMode::QueryLod {
                query_lod(list, tex.coords);
            }
        }
        Inst::Iter(iter) => coefficients(list, iter.coef, iter.d.count),
        Inst::Iterproj(iter) => coefficients(list, iter.coef, iter.d.count),
        Inst::Ldcf(load) => coefficients(list, load.coef, load.d.count / 3),
        Inst::LdTile(tile) if tile.explicit => {
            push(list, Access::new(Role::Read, File::Reg, u16::from(tile.coords), 2));
        }
        Inst::StTile(tile) if tile.explicit => {
            push(list, Access::new(Role::Read, File::Reg, u16::from(tile.coords), 2));
        }
        Inst::ImageWriteBlock(write) if write.explicit == 0 => {
            // Without explicit coordinates only sample index and layer are read, a half each.
            // source: agx_compile.c, agx_emit_block_image_store
            let extras = u16::from(write.coords.extras);
            replace(list, write.coords.reg, write.coords.halves(), extras);
        }
        _ => {}
    }
}

/// Changes the length of the first read that begins at `reg` and has `old` halves.
fn replace(list: &mut Accesses, reg: u16, old: u16, new: u16) {
    let found = list.iter().position(|a| {
        a.role == Role::Read && a.file == File::Reg && a.start == reg && a.count == old
    });
    if let Some(i) = found {
        if new == 0 {
            list.remove(i);
        } else {
            list[i].count = new;
        }
    }
}

/// A query of the level of detail takes no layer.
/// source: agx_validate.c, agx_coordinate_registers
fn query_lod(list: &mut Accesses, coords: Coords) {
    let axes = u16::from(coords.axes) * coords.size.halves();
    replace(list, coords.reg, coords.halves(), axes);
}

/// Packed formats ignore the mask and take all their channels.
/// source: applegpu.py, DeviceLoadInstructionDesc
fn packed(list: &mut Accesses, r: RegVec, format: Format, role: Role) {
    let Some(channels) = format.packed_channels() else { return };
    let halves = (r.size.halves() * u16::from(channels)).min(REGISTER_HALVES - r.reg);
    let old = r.halves();
    if let Some(access) = list
        .iter_mut()
        .find(|a| a.role == role && a.file == File::Reg && a.start == r.reg && a.count == old)
    {
        access.count = halves;
    } else if r.count == 0 {
        push(list, Access::new(role, File::Reg, r.reg, halves));
    }
}

/// A residency word follows the channels. Texture instructions leave the rest of four destination
/// registers undefined.
/// source: agx_validate.c, agx_write_registers
fn texels(list: &mut Accesses, r: RegVec, residency: bool) {
    let size = r.size.halves();
    let (mut start, mut left) = (r.reg + r.halves(), (size * 4).saturating_sub(r.halves()));
    if residency && start + size <= REGISTER_HALVES {
        push(list, Access::new(Role::Write, File::Reg, start, size));
        (start, left) = (start + size, left.saturating_sub(size));
    }
    let count = left.min(REGISTER_HALVES.saturating_sub(start));
    if count != 0 {
        push(list, Access::new(Role::Clobber, File::Reg, start, count));
    }
}

/// The uniforms that a store with this index writes.
fn uniforms_written(index: Index, shift: u8, halves: u16) -> Access {
    let all = Access { exact: false, ..Access::new(Role::Write, File::Uniform, 0, UNIFORM_HALVES) };
    // The effect of a shift and of a store past the end is unknown, and so is that of a store without
    // channels.
    match index {
        Index::Imm(index @ 0..) if shift == 0 && halves != 0 => {
            let start = index as u16;
            match start.checked_add(halves) {
                Some(end) if end <= UNIFORM_HALVES => {
                    Access::new(Role::Write, File::Uniform, start, halves)
                }
                _ => all,
            }
        }
        _ => all,
    }
}

/// One coefficient register for each channel.
fn coefficients(list: &mut Accesses, coef: Coef, count: u8) {
    if let Coef::Cf(cf) = coef
        && let Some(access) =
            list.iter_mut().find(|a| a.file == File::Coefficient && a.start == u16::from(cf))
    {
        access.count = u16::from(count);
    }
}

impl Inst {
    /// All registers read and written: those that operands name and those that are implied.
    ///
    /// Index registers of register files count as reads of the whole file with
    /// [`exact`](Access::exact) unset.
    pub fn operands(&self) -> Accesses {
        let mut list = Accesses::new();
        self.touch(&mut |access| {
            let _ = list.try_push(access);
        });
        adjust(self, &mut list);
        list
    }

    /// The scoreboard slot of an asynchronous instruction: its results may be read, and its
    /// sources overwritten as far as known, only after `wait` on the slot.
    pub fn scoreboard(&self) -> Option<u8> {
        match self {
            Inst::DeviceLoad(i) => Some(i.slot),
            Inst::DeviceStore(i) => Some(i.slot),
            Inst::Atomic(i) => Some(i.slot),
            Inst::StackLoad(i) => Some(i.slot),
            Inst::StackStore(i) => Some(i.slot),
            Inst::TextureSample(i) => Some(i.slot),
            Inst::TextureLoad(i) => Some(i.slot),
            Inst::TexStateStore(i) => Some(i.slot),
            Inst::SamplerStateStore(i) => Some(i.slot),
            _ => None,
        }
    }

    /// The target of a branch, in bytes from the instruction's start.
    pub fn branch_offset(&self) -> Option<i32> {
        match self {
            Inst::JmpExecAny(i) => Some(i.off),
            Inst::JmpExecNone(i) => Some(i.off),
            Inst::Call(i) => Some(i.off),
            Inst::JmpIncomplete(i) => Some(i.off),
            Inst::JmpIfSkippingDoorbell(i) => Some(i.off),
            _ => None,
        }
    }

    /// Whether execution never continues with the next instruction: `stop`, `trap`, `ret`.
    pub fn is_end(&self) -> bool {
        matches!(self, Inst::Stop(_) | Inst::Trap(_) | Inst::Ret(_))
    }

    /// Whether it changes the execution mask.
    pub fn is_mask_change(&self) -> bool {
        matches!(
            self,
            Inst::IfIcmp(_)
                | Inst::IfFcmp(_)
                | Inst::ElseIcmp(_)
                | Inst::ElseFcmp(_)
                | Inst::WhileIcmp(_)
                | Inst::WhileFcmp(_)
                | Inst::PopExec(_)
        )
    }

    /// Whether its meaning is unknown.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Inst::Iunop(_)
                | Inst::Funop(_)
                | Inst::SimdShufOp(_)
                | Inst::SimdOpUnknown(_)
                | Inst::UnkAfterSampling1(_)
                | Inst::UnkAfterSampling2(_)
                | Inst::Unk30C0(_)
                | Inst::Unk40C0(_)
                | Inst::UnkC0000000(_)
                | Inst::UnkE800(_)
                | Inst::Unk0C00(_)
                | Inst::SrThing(_)
                | Inst::PopExec2(_)
                | Inst::StackMapUnknown(_)
                | Inst::Unk75Alt(_)
        )
    }
}
