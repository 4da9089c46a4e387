//! Links programs that were compiled separately: prolog, main and epilog to one program, and vertex
//! outputs to fragment inputs.

use crate::error::{LinkError, Result};
use crate::flow::Listing;
use crate::varyings::{
    FragmentTable, Origin, POSITION_WORDS, Shading, Table, Varying, VertexTable,
};
use crate::{Program, abi, pack};
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{Dst, ICond, Size, Src};
use tepui_agx_isa::table::flow::{JmpExecAny, PopExec, Stop, WhileIcmp};
use tepui_agx_isa::table::integer::Iadd;
use tepui_agx_isa::table::moves::MovImm16;
use tepui_agx_packets::coefficient::{Binding, BindingHeader, CoefficientSource, ShadeModel};
use tepui_agx_packets::ppp::{OutputSelect, PassType, VaryingCounts};

/// Vertices and fragments that know each other.
#[derive(Clone, Debug)]
pub struct Varyings {
    /// First word of each varying, for [`crate::Source::VaryingWord`].
    pub places: Vec<(Varying, u16)>,
    /// The head of the coefficient bindings.
    pub header: BindingHeader,
    /// The bindings. Words of a vertex become registers of the fragment program; 1/w is slot 0, the
    /// depth slot 1 if it is interpolated, then the varyings follow in their order.
    pub bindings: Vec<Binding>,
    /// Words of varyings of 32 bits.
    pub counts_32: VaryingCounts,
    /// Words of varyings of 16 bits.
    pub counts_16: VaryingCounts,
    /// The other words of a vertex.
    pub select: OutputSelect,
    /// Words of a vertex.
    pub words: u32,
    /// Primitives must be numbered.
    pub numbers_primitives: bool,
}

/// Links the stages' tables. `provoking` is the vertex of a triangle whose flat values count: 0, 1
/// or 2.
/// source: Mesa, agx_nir_lower_uvs.c, agx_assign_uvs and agx_link_varyings_vs_fs
///
/// # Errors
/// When a varying is read in two ways.
pub fn varyings(v: &VertexTable, f: &FragmentTable, provoking: u8) -> Result<Varyings> {
    for a in &f.coefficients {
        for b in &f.coefficients {
            if let (Origin::Varying { varying: x, .. }, Origin::Varying { varying: y, .. }) =
                (a.origin, b.origin)
                && x == y
                && a.shading != b.shading
            {
                let shadings = [a.shading, b.shading];
                return Err(LinkError::Shading { varying: x, shadings }.into());
            }
        }
    }
    let class = |x: Varying| f.shading(x).unwrap_or(Shading::Smooth);
    let places = v.fixed.clone().unwrap_or_else(|| v.places(class));
    let words = v.classes.unwrap_or_else(|| v.words_by_class(class));
    for c in &f.coefficients {
        if let Origin::Varying { varying, .. } = c.origin
            && let Some(&(_, at)) = places.iter().find(|p| p.0 == varying)
            && let is = Shading::at(words, at)
            && is != c.shading
        {
            return Err(LinkError::Shading { varying, shadings: [is, c.shading] }.into());
        }
    }
    let [smooth, flat, linear] = words.map(u32::from);
    let counts_32 = VaryingCounts { smooth, flat, linear };
    let first = 1 + u32::from(f.reads_z());
    let header = BindingHeader {
        number_of_32_bit_slots: first + u32::from(v.varying_words()),
        number_of_coefficient_registers: u32::from(f.registers()),
    };
    let mut numbers_primitives = false;
    let bindings = f
        .coefficients
        .iter()
        .map(|c| {
            let shade_model = match (c.shading, provoking) {
                (Shading::Smooth, _) => ShadeModel::Perspective,
                (Shading::Linear, _) => ShadeModel::Linear,
                (Shading::Flat, 0) => ShadeModel::FlatVertex0,
                (Shading::Flat, 1) => ShadeModel::FlatVertex1,
                (Shading::Flat, _) => ShadeModel::FlatVertex2,
            };
            let mut components = u32::from(c.count);
            let (source, base_slot) = match c.origin {
                Origin::W => (CoefficientSource::Varying, 0),
                Origin::Z => (CoefficientSource::FragcoordZ, 1),
                Origin::PointCoord => (CoefficientSource::PointCoord, 0),
                Origin::PrimitiveId => {
                    numbers_primitives = true;
                    (CoefficientSource::PrimitiveId, 0)
                }
                // A varying that vertices do not write is undefined, but must name a slot.
                Origin::Varying { varying, component } => {
                    let at = places.iter().find(|p| p.0 == varying).map_or(0, |p| {
                        first + u32::from(p.1 - POSITION_WORDS) + u32::from(component)
                    });
                    // Inputs that are indexed have registers for four components each; the last
                    // location may have fewer.
                    let there = header.number_of_32_bit_slots.saturating_sub(at);
                    components = components.min(there.max(1));
                    (CoefficientSource::Varying, if there > 0 { at } else { 0 })
                }
            };
            Binding {
                components,
                shade_model,
                source,
                base_slot,
                base_coefficient_register: u32::from(c.first),
            }
        })
        .collect::<Vec<_>>();
    let select = OutputSelect {
        varyings: !bindings.is_empty(),
        point_size: v.point_size,
        // Both halves of the word are there if one is. source: as above
        viewport_target: v.layer || v.viewport,
        render_target: v.layer || v.viewport,
        frag_coord_z: f.reads_z(),
        clip_distance_planes: (1 << v.clip_distances) - 1,
        ..OutputSelect::default()
    };
    let counts_16 = VaryingCounts::default();
    let words = u32::from(v.words());
    Ok(Varyings {
        places,
        header,
        bindings,
        counts_32,
        counts_16,
        select,
        words,
        numbers_primitives,
    })
}

impl FragmentTable {
    /// The table of the program that runs this one before `next`: a prolog before a main part, or both
    /// before an epilog.
    #[must_use]
    pub fn before(&self, next: &FragmentTable) -> FragmentTable {
        let mut t = next.clone();
        t.coefficients.extend_from_slice(&self.coefficients);
        t.coefficients.sort_by_key(|c| c.first);
        t.kills |= self.kills;
        t.decides |= self.decides;
        t.tested |= self.tested;
        t.writes_memory |= self.writes_memory;
        t.per_sample |= self.per_sample;
        t.reads_tile |= self.reads_tile;
        t.writes_tile |= self.writes_tile;
        t.reads_lanes |= self.reads_lanes;
        t
    }

    /// Order of the program's fragments in the ISP. source: Mesa, agx_linker.c
    #[must_use]
    pub fn pass_type(&self) -> PassType {
        match (self.reads_tile, self.decides) {
            (true, true) => PassType::TranslucentPunchThrough,
            (true, false) => PassType::Translucent,
            (false, true) => PassType::PunchThrough,
            (false, false) => PassType::Opaque,
        }
    }

    /// The program has no effect: it need not run. source: as above
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.writes_tile && !self.writes_memory && !self.decides
    }

    /// Quads of several primitives must not be merged. source: Mesa, agx_compile.c,
    /// disable_tri_merging
    #[must_use]
    pub fn keeps_quads_apart(&self) -> bool {
        self.reads_lanes || self.writes_memory
    }
}

/// A vertex program from its parts.
///
/// # Errors
/// When a part is none of a vertex program.
pub fn vertex(prolog: Option<&Program>, main: &Program) -> Result<Program> {
    join(prolog, main, None, None)
}

/// A fragment program from its parts. When its main part runs for each sample, `samples` is the
/// number of samples of a pixel.
///
/// # Errors
/// When parts do not fit together.
pub fn fragment(
    prolog: Option<&Program>,
    main: &Program,
    epilog: &Program,
    samples: u8,
) -> Result<Program> {
    let Table::Fragment(t) = &main.table else {
        return Err(LinkError::NotFragment.into());
    };
    join(prolog, main, Some(epilog), t.per_sample.then_some(samples))
}

/// The code of a part without its end.
fn body(p: &Program) -> &[u8] {
    &p.code[..(p.body_bytes as usize).min(p.code.len())]
}

/// Bytes of the instruction that makes room on the stack, with which a program that needs any
/// begins.
fn stack_bytes(p: &Program) -> usize {
    match Inst::decode(&p.code) {
        Ok((Inst::StackAdjust(_), bytes)) => bytes,
        _ => 0,
    }
}

fn join(
    prolog: Option<&Program>,
    main: &Program,
    epilog: Option<&Program>,
    samples: Option<u8>,
) -> Result<Program> {
    let mut out = main.clone();
    let mut code = prolog.map_or(Vec::new(), |p| body(p).to_vec());
    // Places in the source are those of the main part, moved.
    let append = |inst: Inst, code: &mut Vec<u8>| -> Result<()> {
        code.extend_from_slice(&inst.encode()?);
        Ok(())
    };
    if samples.is_some() {
        if epilog.is_some_and(|e| e.stats.scratch > 0) {
            return Err(LinkError::ScratchPerSample.into());
        }
        let zero = Dst::new(0, Size::B16);
        append(MovImm16 { d: zero, imm: 0, ..MovImm16::default() }.into(), &mut code)?;
        let bit = Dst::new(abi::SAMPLE_BIT, Size::B16);
        append(MovImm16 { d: bit, imm: 1, ..MovImm16::default() }.into(), &mut code)?;
    }
    let start = code.len();
    code.extend_from_slice(body(main));
    if let Some(e) = epilog {
        code.extend_from_slice(body(e));
    }
    if let Some(n) = samples.filter(|&n| n > 1) {
        let bit = Src::reg(abi::SAMPLE_BIT, Size::B16);
        let next = Iadd {
            d: Dst::new(abi::SAMPLE_BIT, Size::B16),
            a: Src::imm(0),
            b: bit,
            shift: 1,
            ..Iadd::default()
        };
        append(next.into(), &mut code)?;
        let more =
            WhileIcmp { cc: ICond::Ult, a: bit, b: Src::imm(1 << n), n: 1, ..WhileIcmp::default() };
        append(more.into(), &mut code)?;
        // The stack is made once.
        let again = start + stack_bytes(main);
        let off = again as i32 - code.len() as i32;
        append(JmpExecAny { off }.into(), &mut code)?;
        append(PopExec { n: 1, ..PopExec::default() }.into(), &mut code)?;
    }
    let stop = code.len() as u32;
    let end = Listing {
        lines: vec![crate::flow::Line {
            inst: Stop::default().into(),
            target: None,
            loc: tepui_ir::Loc::default(),
            step: tepui_backend::At::default(),
        }],
        ..Listing::default()
    };
    code.extend_from_slice(&pack::run(&end)?.code);
    for l in &mut out.locs {
        l.0 += start as u32;
    }
    for held in &mut out.names.registers {
        held.offset += start as u32;
    }
    out.locs.retain(|l| l.0 < start as u32 + body(main).len() as u32);
    out.locs.push((stop, tepui_ir::Loc::default()));
    out.code = code;
    out.body_bytes = stop;
    for part in [prolog, epilog].into_iter().flatten() {
        for u in &part.uniforms {
            if !out.uniforms.contains(u) {
                out.uniforms.push(*u);
            }
        }
        out.stats.registers = out.stats.registers.max(part.stats.registers);
        let instructions = &mut out.stats.instructions;
        *instructions = instructions.saturating_add(part.stats.instructions);
        out.stats.scratch = out.stats.scratch.max(part.stats.scratch);
    }
    out.stats.bytes = (out.code.len() + out.preamble.as_ref().map_or(0, Vec::len)) as u32;
    let table = |p: Option<&Program>| match p.map(|p| &p.table) {
        Some(Table::Fragment(t)) => Some(t.clone()),
        _ => None,
    };
    if let Table::Fragment(t) = &main.table {
        let first = table(prolog).map_or_else(|| t.clone(), |p| p.before(t));
        out.table = Table::Fragment(table(epilog).map_or_else(
            || first.clone(),
            |e| {
                let mut all = first.before(&e);
                all.colours = first.colours;
                all
            },
        ));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_together_do_what_either_does() {
        let nothing = FragmentTable::default();
        let all = FragmentTable {
            kills: true,
            decides: true,
            tested: true,
            writes_memory: true,
            per_sample: true,
            reads_tile: true,
            writes_tile: true,
            reads_lanes: true,
            ..FragmentTable::default()
        };
        assert_eq!(all.before(&nothing), all);
        assert_eq!(nothing.before(&all), all);
        assert_eq!(nothing.before(&nothing), nothing);
    }
}
