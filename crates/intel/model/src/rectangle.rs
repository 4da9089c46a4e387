//! Draws of axis-aligned rectangles without a vertex shader: the form in which drivers fill and copy
//! memory with the 3D pipeline.
//!
//! Vertices come from vertex buffers as they are, in pixels; clipper and setup leave them alone; all
//! attributes are constant. What a draw needs beyond that is a fault that names it: other
//! topologies, shaders before the pixel shader, depth, stencil, blending, several samples.

use tepui_intel_eu::Thread;
use tepui_intel_packets::bindings::{State3dBindingTablePointersPs, State3dConstantPs};
use tepui_intel_packets::output::{
    BlendState, BlendStateEntry, State3dBlendStatePointers, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{
    State3dMultisample, State3dPs, State3dPsExtra, State3dSampleMask, State3dWm,
};
use tepui_intel_packets::raster::{
    State3dClip, State3dDrawingRectangle, State3dRaster, State3dSbe,
};
use tepui_intel_packets::vertex::{
    Primitive3d, State3dVfSgvs, State3dVfTopology, VertexBufferState, VertexComponentControl,
    VertexElementState,
};
use tepui_intel_packets::{Packet, PacketInfo};
use tepui_softgpu::AddressSpace;

use crate::context::HardwareContext;
use crate::dispatch::{CachedProgram, program, thread_fault};
use crate::format;
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::memory::Memory;
use crate::port::{Pixels, Ports, Shared};

const UNIT: Unit = Unit::Pixels;

/// The topology of rectangles of three vertices.
///
/// source: genxml, 3D_Prim_Topo_Type.
const RECTLIST: u32 = 15;

/// Bytes of a general register.
const REGISTER_BYTES: usize = 32;

/// Largest coordinate of a pixel.
const MOST_PIXELS: u32 = 16384;

/// Most layers of a render target.
const MOST_LAYERS: u32 = 2048;

/// A vertex: four components of each element.
type Vertex = Vec<[u32; 4]>;

/// What all threads of a draw share.
struct Draw {
    program: std::sync::Arc<CachedProgram>,
    kernel: u64,
    /// The rectangle in pixels: first and one behind the last of each row, of each column.
    x: [u32; 2],
    y: [u32; 2],
    /// Layers that are drawn to, the first of them.
    layers: [u32; 2],
    /// Channels of a thread.
    lanes: u32,
    /// The register at which attributes begin, and their content.
    setup: (usize, Vec<[u32; 4]>),
    control: u32,
    /// Components that are written, of each target.
    write: [[bool; 4]; 8],
}

fn unimplemented(what: &str) -> JobFault {
    JobFault::unimplemented(UNIT, what)
}

fn latched<P: Packet>(context: &HardwareContext) -> Result<P, JobFault> {
    let info: &PacketInfo = P::INFO;
    match context.latched.get(info.name) {
        Some(bytes) => P::unpack(bytes).map_err(|problem| JobFault::new(UNIT, problem.to_string())),
        // A context that never set it has the state after reset: all zero.
        None => Ok(P::default()),
    }
}

/// Whether a bit of a latched command is set.
fn bit(context: &HardwareContext, name: &str, dword: usize, bit: u32) -> bool {
    let bytes = context.latched.get(name).and_then(|b| b.get(4 * dword..4 * dword + 4));
    bytes.is_some_and(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) >> bit & 1 != 0)
}

/// Refuses what the model does not draw.
fn check(context: &HardwareContext, primitive: &Primitive3d) -> Result<(), JobFault> {
    let refuse =
        |refused: bool, what: &str| if refused { Err(unimplemented(what)) } else { Ok(()) };
    let topology: State3dVfTopology = latched(context)?;
    refuse(
        topology.primitive_topology_type != RECTLIST,
        "a draw of other primitives than RECTLIST",
    )?;
    // The enable bits of the shaders and of stream output, as genxml has them.
    for (name, dword, enable) in [
        ("3DSTATE_VS", 7, 0),
        ("3DSTATE_HS", 2, 31),
        ("3DSTATE_TE", 1, 0),
        ("3DSTATE_DS", 7, 0),
        ("3DSTATE_GS", 7, 0),
        ("3DSTATE_STREAMOUT", 1, 31),
    ] {
        refuse(bit(context, name, dword, enable), &format!("a draw with {name}"))?;
    }
    refuse(primitive.indirect_parameter_enable, "an indirect draw of rectangles")?;
    refuse(primitive.vertex_access_type, "an indexed draw of rectangles")?;
    refuse(primitive.vertex_count_per_instance != 3, "a draw of several rectangles")?;
    let clip: State3dClip = latched(context)?;
    refuse(!clip.perspective_divide_disable, "a draw of rectangles with perspective")?;
    let raster: State3dRaster = latched(context)?;
    refuse(raster.scissor_rectangle_enable, "a draw of rectangles with a scissor")?;
    let depth: State3dWmDepthStencil = latched(context)?;
    refuse(
        depth.depth_test_enable
            || depth.depth_buffer_write_enable
            || depth.stencil_test_enable
            || depth.stencil_buffer_write_enable,
        "a draw of rectangles with depth or stencil",
    )?;
    let samples: State3dMultisample = latched(context)?;
    refuse(samples.number_of_multisamples != 0, "a draw of several samples")?;
    let wm: State3dWm = latched(context)?;
    refuse(wm.barycentric_interpolation_mode != 0, "a draw of rectangles with interpolation")?;
    refuse(wm.legacy_depth_buffer_clear_enable, "a clear of depth")?;
    let ps: State3dPs = latched(context)?;
    refuse(ps.render_target_fast_clear_enable, "a fast clear")?;
    refuse(ps.render_target_resolve_type != 0, "a resolve of compressed colours")?;
    refuse(ps.position_xy_offset_select != 0, "a pixel shader with sample positions")?;
    let extra: State3dPsExtra = latched(context)?;
    refuse(
        extra.pixel_shader_is_per_sample
            || extra.omask_present_to_render_target
            || extra.pixel_shader_uses_source_depth
            || extra.pixel_shader_uses_source_w
            || extra.pixel_shader_computed_depth_mode != 0
            || extra.input_coverage_mask_state != 0,
        "a pixel shader with depth or coverage",
    )?;
    let constants: State3dConstantPs = latched(context)?;
    let body = constants.constant_body;
    refuse(
        ps.push_constant_enable
            && [body.read_length_0, body.read_length_1, body.read_length_2, body.read_length_3]
                != [0; 4],
        "a pixel shader with constants",
    )
}

/// Draws.
pub(crate) fn draw(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &HardwareContext,
    primitive: &Primitive3d,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    if primitive.predicate_enable && !context.registers.predicate() {
        return Ok(());
    }
    check(context, primitive)?;
    let extra: State3dPsExtra = latched(context)?;
    let mask: State3dSampleMask = latched(context)?;
    if !extra.pixel_shader_valid || mask.sample_mask & 1 == 0 || primitive.instance_count == 0 {
        return Ok(());
    }
    let mut memory = Memory::new(vm);
    let first = primitive.start_vertex_location.wrapping_add_signed(primitive.base_vertex_location);
    let instance = primitive.start_instance_location;
    let corner = |memory: &mut Memory<'_>, k: u32| vertex(memory, context, first + k, instance);
    let corners = [corner(&mut memory, 0)?, corner(&mut memory, 1)?, corner(&mut memory, 2)?];
    let Some(draw) = setup(gpu, vm, context, primitive, &corners, &mut memory)? else {
        return Ok(());
    };
    let table: State3dBindingTablePointersPs = latched(context)?;
    let table = context.bases.surface + table.pointer_to_ps_binding_table;
    let shared = Shared::of(gpu, context.bases, table);
    // Pairs of rows, layer by layer.
    let first_pair = draw.y[0] / 2;
    let pairs = (draw.y[1].div_ceil(2) - first_pair) as usize;
    let layers = (draw.layers[1] - draw.layers[0]) as usize;
    let begin = |_core| Worker {
        thread: Thread::new(),
        ports: Ports::new(vm, &shared, 0),
        budget: gpu.options.most_instructions,
        stats: JobStats::default(),
    };
    let run = |worker: &mut Worker<'_>, item: usize| {
        let layer = draw.layers[0] + (item / pairs) as u32;
        worker.rows(&draw, layer, 2 * (first_pair + (item % pairs) as u32))
    };
    let (parts, outcome) = gpu
        .pool
        .share(0..pairs * layers, begin, run, |worker| worker.stats)
        .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
    stats.draws += 1;
    for part in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
    }
    outcome
}

/// The rectangle, the attributes and the program of a draw; none if no pixel is covered.
fn setup(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &HardwareContext,
    primitive: &Primitive3d,
    corners: &[Vertex; 3],
    memory: &mut Memory<'_>,
) -> Result<Option<Draw>, JobFault> {
    let position = |corner: &Vertex, axis: usize| {
        corner
            .get(1)
            .map(|p| f32::from_bits(p[axis]))
            .ok_or_else(|| unimplemented("a draw without positions"))
    };
    let clip: State3dDrawingRectangle = latched(context)?;
    let range = |axis: usize, low: u32, high: u32| -> Result<[u32; 2], JobFault> {
        let mut ends = [f32::INFINITY, f32::NEG_INFINITY];
        for corner in corners {
            let p = position(corner, axis)?;
            ends = [ends[0].min(p), ends[1].max(p)];
        }
        // A pixel is covered if its centre is: from the lower edge on, up to the upper one.
        let [from, to] = ends.map(|end| (end - 0.5).ceil().clamp(0.0, MOST_PIXELS as f32) as u32);
        Ok([from.max(low), to.min(high + 1)])
    };
    let x = range(0, clip.clipped_drawing_rectangle_x_min, clip.clipped_drawing_rectangle_x_max)?;
    let y = range(1, clip.clipped_drawing_rectangle_y_min, clip.clipped_drawing_rectangle_y_max)?;
    if x[0] >= x[1] || y[0] >= y[1] {
        return Ok(None);
    }
    // The layer is the second double word of the vertex header, which the instance number is put in.
    let sgvs: State3dVfSgvs = latched(context)?;
    let layered = sgvs.instanceid_enable
        && sgvs.instanceid_element_offset == 0
        && sgvs.instanceid_component_number == 1;
    let first = if layered { primitive.start_instance_location } else { corners[0][0][1] };
    let count = if layered { primitive.instance_count } else { 1 };
    if first.checked_add(count).is_none_or(|end| end > MOST_LAYERS) {
        return Err(JobFault::new(UNIT, "a draw to more layers than there are"));
    }
    let sbe: State3dSbe = latched(context)?;
    let attributes = sbe.number_of_sf_output_attributes;
    let constant = (0..attributes).all(|k| sbe.constant_interpolation_enable >> k & 1 != 0);
    if !constant || sbe.attribute_swizzle_enable || attributes > 32 {
        return Err(unimplemented("a draw of rectangles with interpolated attributes"));
    }
    // The offset counts pairs of elements. Which vertex's value is taken does not matter as long as
    // all three agree.
    let from = 2 * sbe.vertex_urb_entry_read_offset as usize;
    let mut values = Vec::new();
    for k in from..from + attributes as usize {
        let of = |corner: &Vertex| corner.get(k).copied().unwrap_or_default();
        let value = of(&corners[0]);
        if corners.iter().any(|corner| of(corner) != value) {
            return Err(unimplemented("a draw of rectangles with several values of an attribute"));
        }
        values.push(value);
    }
    let ps: State3dPs = latched(context)?;
    let (lanes, pointer, start) = narrowest(&ps)?;
    let kernel = context.bases.instruction + pointer;
    Ok(Some(Draw {
        program: program(gpu, vm, kernel)?,
        kernel,
        x,
        y,
        layers: [first, first + count],
        lanes,
        setup: (start as usize, values),
        control: u32::from(ps.floating_point_mode)
            | ps.rounding_mode << 4
            | u32::from(ps.single_precision_denormal_mode) << 7,
        write: write_masks(context, memory)?,
    }))
}

/// The narrowest program of a pixel shader: its channels, its offset and the register at which its
/// attributes begin.
///
/// source: Mesa, brw_compiler.h (`_brw_wm_prog_data_prog_offset`): a program that is alone has kernel
/// 0; of several, SIMD8 has kernel 0, SIMD32 kernel 1, SIMD16 kernel 2.
fn narrowest(ps: &State3dPs) -> Result<(u32, u64, u32), JobFault> {
    let zero =
        (ps.kernel_start_pointer_0, ps.dispatch_grf_start_register_for_constant_setup_data_0);
    let two = (ps.kernel_start_pointer_2, ps.dispatch_grf_start_register_for_constant_setup_data_2);
    let enabled =
        [ps.n8_pixel_dispatch_enable, ps.n16_pixel_dispatch_enable, ps.n32_pixel_dispatch_enable];
    let (lanes, (pointer, start)) = match enabled {
        [true, ..] => (8, zero),
        [false, true, false] => (16, zero),
        [false, true, true] => (16, two),
        _ => return Err(unimplemented("a pixel shader of SIMD32 alone")),
    };
    Ok((lanes, pointer, start))
}

/// The components that are written, of each target. Blending and logical operations are refused.
fn write_masks(
    context: &HardwareContext,
    memory: &mut Memory<'_>,
) -> Result<[[bool; 4]; 8], JobFault> {
    let pointer: State3dBlendStatePointers = latched(context)?;
    let mut masks = [[true; 4]; 8];
    if !pointer.blend_state_pointer_valid {
        return Ok(masks);
    }
    let at = context.bases.dynamic + pointer.blend_state_pointer + BlendState::SIZE_BYTES as u64;
    for (index, mask) in masks.iter_mut().enumerate() {
        let mut bytes = [0; BlendStateEntry::SIZE_BYTES];
        memory
            .read(at + (index * bytes.len()) as u64, &mut bytes)
            .map_err(|fault| JobFault::memory(UNIT, fault))?;
        let entry = BlendStateEntry::unpack(&bytes)
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
        if entry.color_buffer_blend_enable || entry.logic_op_enable {
            return Err(unimplemented("a draw of rectangles with blending"));
        }
        *mask = [
            !entry.write_disable_red,
            !entry.write_disable_green,
            !entry.write_disable_blue,
            !entry.write_disable_alpha,
        ];
    }
    Ok(masks)
}

/// Fetches a vertex.
fn vertex(
    memory: &mut Memory<'_>,
    context: &HardwareContext,
    index: u32,
    instance: u32,
) -> Result<Vertex, JobFault> {
    const NAME: &str = "3DSTATE_VERTEX_ELEMENTS";
    let elements = context.latched.get(NAME).and_then(|bytes| bytes.get(4..)).unwrap_or(&[]);
    let mut vertex = Vec::new();
    for bytes in elements.chunks_exact(VertexElementState::SIZE_BYTES) {
        let element = VertexElementState::unpack(bytes)
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
        let source = fetch(memory, context, &element, index)?;
        let controls = [
            element.component_0_control,
            element.component_1_control,
            element.component_2_control,
            element.component_3_control,
        ];
        let mut value = [0; 4];
        for (component, control) in controls.into_iter().enumerate() {
            value[component] = match control {
                VertexComponentControl::StoreSrc => source[component],
                VertexComponentControl::Store1Fp => 1.0f32.to_bits(),
                VertexComponentControl::Store1Int => 1,
                _ => 0,
            };
        }
        vertex.push(value);
    }
    let sgvs: State3dVfSgvs = latched(context)?;
    let mut put = |enable: bool, element: u32, component: u32, number: u32| {
        if let (true, Some(value)) = (enable, vertex.get_mut(element as usize)) {
            value[component as usize & 3] = number;
        }
    };
    put(sgvs.vertexid_enable, sgvs.vertexid_element_offset, sgvs.vertexid_component_number, index);
    put(
        sgvs.instanceid_enable,
        sgvs.instanceid_element_offset,
        sgvs.instanceid_component_number,
        instance,
    );
    Ok(vertex)
}

/// The source of an element; 0 outside of its buffer.
fn fetch(
    memory: &mut Memory<'_>,
    context: &HardwareContext,
    element: &VertexElementState,
    index: u32,
) -> Result<[u32; 4], JobFault> {
    let Some(bytes) = context.vertex_buffers.get(&element.vertex_buffer_index) else {
        return Ok([0; 4]);
    };
    let buffer = VertexBufferState::unpack(bytes)
        .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
    let number = element.source_element_format;
    let format = format::find(number)
        .ok_or_else(|| unimplemented(&format!("the vertex format {number:#x}")))?;
    let offset = u64::from(buffer.buffer_pitch) * u64::from(index)
        + u64::from(element.source_element_offset);
    if buffer.null_vertex_buffer
        || !element.valid
        || offset + format.bytes as u64 > u64::from(buffer.buffer_size)
    {
        return Ok([0; 4]);
    }
    let mut texel = [0; 16];
    memory
        .read(buffer.buffer_starting_address + offset, &mut texel[..format.bytes])
        .map_err(|fault| JobFault::memory(UNIT, fault))?;
    Ok(format.unpack(&texel[..format.bytes], [0; 2]))
}

/// What a worker has.
struct Worker<'a> {
    thread: Thread,
    ports: Ports<'a>,
    budget: u64,
    stats: JobStats,
}

impl Worker<'_> {
    /// Shades two rows of pixels, subspans of 2×2 side by side.
    fn rows(&mut self, draw: &Draw, layer: u32, y: u32) -> Result<(), JobFault> {
        for x in (draw.x[0] & !1..draw.x[1]).step_by(draw.lanes as usize / 2) {
            let mut pixels = Pixels { places: [[0; 2]; 32], layer, write: draw.write };
            let mut mask = 0u32;
            for lane in 0..draw.lanes {
                let place = [x + lane / 4 * 2 + lane % 2, y + lane / 2 % 2];
                pixels.places[lane as usize] = place;
                let inside = (draw.x[0]..draw.x[1]).contains(&place[0])
                    && (draw.y[0]..draw.y[1]).contains(&place[1]);
                mask |= u32::from(inside) << lane;
            }
            if mask != 0 {
                self.ports.set_pixels(pixels);
                self.shade(draw, mask, [x, y])?;
            }
        }
        Ok(())
    }

    fn shade(&mut self, draw: &Draw, mask: u32, [x, y]: [u32; 2]) -> Result<(), JobFault> {
        let thread = &mut self.thread;
        thread.grf_mut().fill(0);
        thread.start(&tepui_intel_eu::Dispatch {
            mask,
            vector_mask: mask,
            state: 0,
            control: draw.control,
        });
        // source: SNB PRM volume 2 part 1, "PS thread payload": R1.2 and on are the upper left pixels
        // of the subspans, X in the lower and Y in the upper half; R1.7 is the mask of pixels.
        let place = |x: u32| x & 0xffff | y << 16;
        let [a, b, c, d] = [0, 2, 4, 6].map(|more| place(x + more));
        thread.write_payload(1, &[0, 0, a, b, c, d, 0, mask]);
        let (start, values) = &draw.setup;
        for (index, value) in values.iter().enumerate() {
            // Two components to a register: the constant part is the last of four double words.
            let [a, b, c, d] = *value;
            let at = start + 2 * index;
            if (at + 2) * REGISTER_BYTES <= thread.grf().len() {
                thread.write_payload(at, &[0, 0, 0, a, 0, 0, 0, b, 0, 0, 0, c, 0, 0, 0, d]);
            }
        }
        self.stats.threads += 1;
        let before = self.budget;
        let stop = thread
            .run(draw.program.program(), &mut self.ports, &mut self.budget)
            .map_err(|fault| thread_fault(draw.kernel, fault))?;
        self.stats.instructions += before - self.budget;
        match stop {
            tepui_intel_eu::Stop::EndOfThread => Ok(()),
            _ => Err(JobFault::new(UNIT, "a pixel shader waits").of(FaultKind::Endless)),
        }
    }
}
