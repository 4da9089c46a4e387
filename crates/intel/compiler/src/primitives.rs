//! Inputs and outputs of geometry and tessellation shaders, as an analysis of the prepared IR finds them.

use crate::emissions::{self, COUNT, MAX_VERTICES, STREAM};
use crate::error::{Error, Result};
use crate::interface::{check, outputs, refuse, words};
use crate::patch::{MAX_PATCH_VERTICES, PatchInterface};
use crate::slots::{patch_slot, place, slot_between, vertex_slot};
use crate::stage::{DomainInfo, GeometryInfo, HullInfo};
use crate::vue::MAX_LOCATIONS;
use tepui_intel_isa::Generation;
use tepui_ir::{Attrs, Builtin, IoLoc, IoSlot, Op, Shader};

/// Maximum number of bytes of a geometry program's or a patch's entry. source: Mesa, brw_compiler.h
/// (`GFX7_MAX_GS_URB_ENTRY_SIZE_BYTES`, `GFX7_MAX_HS_URB_ENTRY_SIZE_BYTES`)
const MAX_ENTRY: u64 = 32768;

/// Slots of a patch that are pushed to registers. source: Mesa, brw_fs_nir.cpp (`fs_nir_emit_tes_intrinsic`)
const PUSHED_SLOTS: u16 = 32;

/// Unit of sizes of entries.
const UNIT_BYTES: u64 = 64;

fn reads(s: &Shader, b: Builtin) -> bool {
    s.any(|s, _, i| s.insts[i].op == Op::LoadBuiltin && s.insts[i].attrs == Attrs::Builtin(b))
}

fn check_entry(units: u32) -> Result<()> {
    let needed = UNIT_BYTES * u64::from(units);
    match needed {
        0..=MAX_ENTRY => Ok(()),
        _ => Err(Error::Limit { what: "bytes of outputs", needed, limit: MAX_ENTRY }),
    }
}

/// Checks accesses of inputs and outputs, whose words `slot_of` finds.
fn check_all(s: &Shader, slot_of: impl Fn(Op, IoSlot, u8) -> Option<(u16, u8)>) -> Result<()> {
    let mut failed = Ok(());
    s.walk(|s, _, i| {
        let Attrs::Io(slot) = s.insts[i].attrs else { return };
        if matches!(slot.loc, IoLoc::Location(COUNT..)) {
            return;
        }
        let op = s.insts[i].op;
        let v = match op {
            Op::StoreOutput | Op::StoreOutputVertex => s.arg(i, 0),
            _ => s.result(i),
        };
        if let Err(e) = check(s, i, &slot, s.ty(v)) {
            failed = Err(e);
            return;
        }
        let is_level =
            matches!(slot.loc, IoLoc::Builtin(Builtin::TessLevelInner | Builtin::TessLevelOuter));
        let found = |k| slot_of(op, slot, k).is_some();
        // Domains have no more levels than they need.
        if !is_level && !(0..words(s.ty(v))).all(found) {
            failed = refuse(s, i, "of a built-in that this stage does not have");
        }
    });
    failed
}

/// The properties of a geometry shader.
pub(crate) fn geometry(s: &Shader) -> Result<GeometryInfo> {
    let p = &s.info.primitives;
    let outputs = outputs(s, false)?;
    let root = &s.regions[s.root].insts;
    let stored = |location: u16| {
        root.iter().find_map(|&i| match (s.insts[i].op, s.insts[i].attrs) {
            (Op::StoreOutput, Attrs::Io(slot)) if slot.loc == IoLoc::Location(location) => {
                s.as_const(s.arg(i, 0))
            }
            _ => None,
        })
    };
    let info = GeometryInfo {
        vertices_in: p.input.map_or(1, |kind| kind.vertices() as u8),
        invocations: p.invocations.clamp(1, 32) as u8,
        primitive_id: reads(s, Builtin::PrimitiveId),
        output: p.output,
        max_vertices: p.vertices.clamp(1, MAX_VERTICES) as u16,
        static_count: stored(COUNT).map(|n| n as u16),
        stream: stored(STREAM).unwrap_or(0) as u8,
        control: emissions::prepared_control_data(s),
        outputs,
    };
    check_all(s, |op, slot, k| match op {
        Op::StoreOutputVertex => {
            let (varying, component) = place(&slot, k)?;
            Some((info.outputs.vue.slot(varying)? as u16, component))
        }
        _ => slot_between(slot, k),
    })?;
    check_entry(info.entry_units())?;
    Ok(info)
}

/// The interface of a patch, which is that of the shader alone if there is none.
fn interface(s: &Shader, patch: Option<PatchInterface>) -> Result<PatchInterface> {
    let mut own = PatchInterface::of_one(s);
    let Some(p) = patch else {
        own.output_vertices = own.output_vertices.max(1);
        return Ok(own);
    };
    let covers = p.patch_locations >= own.patch_locations
        && p.vertex_locations >= own.vertex_locations
        && p.builtin_slots >= own.builtin_slots;
    if !covers || p.output_vertices > MAX_PATCH_VERTICES || p.input_vertices > MAX_PATCH_VERTICES {
        return Err(Error::Feature("a patch interface that lacks what the shader accesses"));
    }
    if u16::from(p.patch_locations.max(p.vertex_locations)) > MAX_LOCATIONS {
        let needed = u64::from(p.patch_locations.max(p.vertex_locations));
        return Err(Error::Limit { what: "locations", needed, limit: MAX_LOCATIONS.into() });
    }
    Ok(p)
}

/// The properties of a tessellation control shader.
pub(crate) fn hull(
    s: &Shader,
    generation: Generation,
    patch: Option<PatchInterface>,
) -> Result<HullInfo> {
    let patch = interface(s, patch)?;
    let vertices = s.info.primitives.vertices.clamp(1, MAX_PATCH_VERTICES.into()) as u8;
    let eight_patches = generation == Generation::Gen12;
    check_all(s, |op, slot, k| match op {
        Op::LoadInputVertex => slot_between(slot, k),
        Op::StoreOutputVertex | Op::LoadOutputVertex => vertex_slot(&patch, slot, k),
        _ => patch_slot(&patch, slot, k),
    })?;
    check_entry(patch.entry_units())?;
    Ok(HullInfo {
        eight_patches,
        threads: if eight_patches { vertices } else { vertices.div_ceil(8) },
        primitive_id: eight_patches && reads(s, Builtin::PrimitiveId),
        patch,
    })
}

/// The properties of a tessellation evaluation shader.
pub(crate) fn domain(
    s: &Shader,
    patch: Option<PatchInterface>,
    feeds_stage: bool,
) -> Result<DomainInfo> {
    let patch = interface(s, patch)?;
    check_all(s, |op, slot, k| match op {
        Op::LoadInputVertex => vertex_slot(&patch, slot, k),
        Op::LoadInput => patch_slot(&patch, slot, k),
        _ => place(&slot, k).map(|(_, component)| (0, component)),
    })?;
    let mut end = 0;
    s.walk(|s, _, i| {
        let Attrs::Io(slot) = s.insts[i].attrs else { return };
        let first = match s.insts[i].op {
            Op::LoadInput => Some(0),
            Op::LoadInputVertex => s.as_const(s.arg(i, 1)).map(|vertex| {
                let vertex = vertex.min(u64::from(patch.output_vertices.max(1)) - 1) as u16;
                patch.first_vertex() + vertex * patch.vertex_slots()
            }),
            _ => None,
        };
        let Some(first) = first else { return };
        for k in 0..words(s.ty(s.result(i))) {
            let at = match s.insts[i].op {
                Op::LoadInput => patch_slot(&patch, slot, k),
                _ => vertex_slot(&patch, slot, k),
            };
            let slot = at.map(|at| first + at.0).filter(|&slot| slot < PUSHED_SLOTS);
            end = end.max(slot.map_or(0, |slot| slot + 1));
        }
    });
    Ok(DomainInfo {
        read_length: end.div_ceil(2) as u8,
        primitive_id: reads(s, Builtin::PrimitiveId),
        patch,
        outputs: outputs(s, feeds_stage)?,
    })
}
