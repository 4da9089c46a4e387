//! Stream output, which is transform feedback: which components of vertices go where.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::vue::{Varying, VueMap};
use tepui_intel_packets::gen12;
use tepui_intel_packets::stages::{SoDecl, State3dSoBuffer, State3dSoDeclList, State3dStreamout};
use tepui_ir::{Builtin, Capture, IoLoc};
use tepui_vulkan::Result;
use tepui_vulkan::feedback::{FeedbackBuffer, MAX_FEEDBACK, MAX_STREAMS};

use super::Context;
use crate::mocs::mocs;
use crate::packets::Out;

/// Bytes of a location.
const SLOT_B: u32 = 16;

/// Declarations of the vectors of a vertex, by stream.
type Declarations = [Vec<SoDecl>; MAX_STREAMS];

/// The varying of a location of a captured output, and the mask of the first of its components; `words` follow from there.
fn place(capture: &Capture, element: u32) -> Option<(Varying, u32)> {
    let component = u32::from(capture.slot.component);
    let distance = |n: u32| (Varying::Distances((n / 4) as u8), 1 << (n % 4));
    Some(match capture.slot.loc {
        IoLoc::Location(n) => (Varying::Location(n + element as u16), 1 << component),
        IoLoc::Builtin(Builtin::Position) => (Varying::Position, 1 << component),
        IoLoc::Builtin(Builtin::Layer) => (Varying::Header, 1 << 1),
        IoLoc::Builtin(Builtin::ViewportIndex) => (Varying::Header, 1 << 2),
        IoLoc::Builtin(Builtin::PointSize) => (Varying::Header, 1 << 3),
        IoLoc::Builtin(Builtin::ClipDistance) => distance(component + element),
        // Cull distances count from the end.
        IoLoc::Builtin(Builtin::CullDistance) => distance(7 - (component + element).min(7)),
        IoLoc::Builtin(Builtin::PrimitiveId) => (Varying::PrimitiveId, 1),
        IoLoc::Builtin(_) => return None,
    })
}

/// The declarations of what a program's captures write. What a vertex does not have is left out of the buffer, as holes between
/// outputs are. source: Mesa, genX_pipeline.c (`emit_3dstate_streamout`)
fn declarations(captures: &[Capture], vue: &VueMap) -> Declarations {
    let mut all = Declarations::default();
    let mut ends = [0; MAX_FEEDBACK];
    let mut sorted: Vec<(u32, u32, &Capture, u32)> = Vec::new();
    for c in captures {
        let bytes = c.ty.size_bytes();
        // Vectors of more than two 64-bit components take two locations.
        let each = bytes.div_ceil(SLOT_B).max(1);
        sorted.extend((0..c.locations).map(|k| {
            let (element, before) = (k / each, k % each * SLOT_B);
            (c.offset + element * bytes + before, (bytes - before).min(SLOT_B) / 4, c, k)
        }));
    }
    sorted.sort_by_key(|&(offset, _, c, _)| (c.buffer, offset));
    for (offset, words, c, element) in sorted {
        let (buffer, stream) = (c.buffer as usize % MAX_FEEDBACK, c.stream as usize % MAX_STREAMS);
        let list = &mut all[stream];
        let hole = |dwords: u32| SoDecl {
            hole_flag: true,
            output_buffer_slot: buffer as u32,
            component_mask: (1 << dwords) - 1,
            ..SoDecl::default()
        };
        let mut gap = offset.saturating_sub(ends[buffer]) / 4;
        while gap > 0 {
            list.push(hole(gap.min(4)));
            gap -= gap.min(4);
        }
        ends[buffer] = offset + 4 * words;
        let found = place(c, element);
        let slot = found.and_then(|(varying, first)| Some((vue.slot(varying)?, first)));
        list.push(match slot {
            None => hole(words),
            Some((slot, first)) => SoDecl {
                output_buffer_slot: buffer as u32,
                register_index: slot as u32,
                component_mask: (((1 << words) - 1) * first) & 0xf,
                ..SoDecl::default()
            },
        });
    }
    all
}

/// 3DSTATE_SO_DECL_LIST and 3DSTATE_STREAMOUT.
pub fn streamout(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let (state, vue) = (c.state, &c.outputs.vue);
    let captures = c.captures;
    // Which stream is drawn is the unit's choice, so it is on for other streams than the first, too.
    let has_streams =
        state.rasterization_stream != 0 || c.geometry.is_some_and(|(_, info)| info.has_streams());
    if captures.is_empty() && !has_streams {
        return out.put(&State3dStreamout {
            rendering_disable: state.discard,
            ..State3dStreamout::default()
        });
    }
    let all = declarations(captures, vue);
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let counts = [0, 1, 2, 3].map(|k: usize| all[k].len() as u32);
    let mut selects = [0; MAX_STREAMS];
    let mut pitches = [0; MAX_FEEDBACK];
    for c in captures {
        let buffer = c.buffer as usize % MAX_FEEDBACK;
        selects[c.stream as usize % MAX_STREAMS] |= 1 << buffer;
        pitches[buffer] = c.stride;
    }
    out.put(&State3dSoDeclList {
        dword_length: 2 * longest as u32 + 1,
        stream_to_buffer_selects_0: selects[0],
        stream_to_buffer_selects_1: selects[1],
        stream_to_buffer_selects_2: selects[2],
        stream_to_buffer_selects_3: selects[3],
        num_entries_0: counts[0],
        num_entries_1: counts[1],
        num_entries_2: counts[2],
        num_entries_3: counts[3],
    })?;
    for k in 0..longest {
        for list in &all {
            out.put(&list.get(k).cloned().unwrap_or_default())?;
        }
    }
    // All of a vertex is read.
    let length = (vue.slots.len() as u32).div_ceil(2).max(1) - 1;
    out.put(&State3dStreamout {
        so_function_enable: true,
        so_statistics_enable: c.statistics && !captures.is_empty(),
        rendering_disable: state.discard,
        render_stream_select: state.rasterization_stream.into(),
        reorder_mode: state.provoking_last,
        stream_0_vertex_read_length: length,
        stream_1_vertex_read_length: length,
        stream_2_vertex_read_length: length,
        stream_3_vertex_read_length: length,
        buffer_0_surface_pitch: pitches[0],
        buffer_1_surface_pitch: pitches[1],
        buffer_2_surface_pitch: pitches[2],
        buffer_3_surface_pitch: pitches[3],
        ..State3dStreamout::default()
    })
}

/// Buffers of stream output; none while transform feedback is not active.
pub fn buffers(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let none = [FeedbackBuffer::default(); MAX_FEEDBACK];
    let all = c.feedback.unwrap_or(&none);
    for (k, b) in (0..).zip(all) {
        let size = b.size.min(u64::from(u32::MAX)) as u32 / 4;
        let there = b.address != 0 && size != 0;
        let buffer = State3dSoBuffer {
            so_buffer_index: k,
            so_buffer_enable: there,
            mocs: u32::from(mocs(c.generation)),
            surface_base_address: if there { b.address } else { 0 },
            surface_size: size.max(1) - 1,
            ..State3dSoBuffer::default()
        };
        match c.generation {
            Generation::Gen9 => out.put(&buffer)?,
            Generation::Gen12 => indexed(k, &buffer, out)?,
        }
    }
    Ok(())
}

/// The command of Gen12 for a buffer: each has one of its own.
fn indexed(index: u32, b: &State3dSoBuffer, out: &mut Out) -> Result<()> {
    macro_rules! put {
        ($Command:ident) => {
            out.put(&gen12::$Command {
                so_buffer_enable: b.so_buffer_enable,
                mocs: b.mocs,
                surface_base_address: b.surface_base_address,
                surface_size: b.surface_size,
                ..gen12::$Command::default()
            })
        };
    }
    match index {
        0 => put!(State3dSoBufferIndex0),
        1 => put!(State3dSoBufferIndex1),
        2 => put!(State3dSoBufferIndex2),
        _ => put!(State3dSoBufferIndex3),
    }
}

#[cfg(test)]
mod tests {
    use tepui_ir::{Interp, IoSlot, NumKind, Sampling, Type};

    use super::*;

    fn capture(loc: IoLoc, component: u8, ty: Type, locations: u32, offset: u32) -> Capture {
        let slot = IoSlot {
            loc,
            component,
            index: 0,
            kind: NumKind::Float,
            interp: Interp::Smooth,
            sampling: Sampling::Center,
        };
        Capture { slot, ty, locations, stream: 0, buffer: 1, stride: 64, offset }
    }

    #[test]
    fn outputs_are_declared_in_the_order_of_the_buffer_with_holes_between() {
        let vue = VueMap::new(0, 0b101, false);
        let captures = [
            capture(IoLoc::Location(2), 1, Type::vec(32, 2), 1, 40),
            capture(IoLoc::Builtin(Builtin::Position), 0, Type::vec(32, 4), 1, 4),
            // Not written.
            capture(IoLoc::Location(1), 0, Type::vec(32, 3), 1, 48),
        ];
        let all = declarations(&captures, &vue);
        let list: Vec<_> = all[0]
            .iter()
            .map(|d| (d.hole_flag, d.register_index, d.component_mask, d.output_buffer_slot))
            .collect();
        let location_2 = vue.slot(Varying::Location(2)).unwrap() as u32;
        assert_eq!(
            list,
            [
                (true, 0, 0b0001, 1),
                (false, 1, 0b1111, 1),
                // Bytes 20 to 39.
                (true, 0, 0b1111, 1),
                (true, 0, 0b0001, 1),
                (false, location_2, 0b0110, 1),
                (true, 0, 0b0111, 1),
            ]
        );
        assert!(all[1..].iter().all(Vec::is_empty));
    }

    #[test]
    fn wide_vectors_take_two_slots() {
        let vue = VueMap::new(0, 0b1111, false);
        // Two columns of three doubles.
        let captures = [capture(IoLoc::Location(0), 0, Type::vec(64, 3), 4, 0)];
        let all = declarations(&captures, &vue);
        let list: Vec<_> = all[0].iter().map(|d| (d.register_index, d.component_mask)).collect();
        let slot = |n| vue.slot(Varying::Location(n)).unwrap() as u32;
        assert_eq!(list, [(slot(0), 0xf), (slot(1), 0x3), (slot(2), 0xf), (slot(3), 0x3)]);
    }
}
