//! Coefficient registers: the plane equations from which fragment programs interpolate.
//!
//! A program's bindings say which vertex outputs become which registers. Each register holds the
//! plane `a x + b y + c` of one value over the pixels around the tile (for values that are
//! interpolated with perspective: of the value over w), or a flat value.
//!
// source: docs/drivers/asahi.rst, "Hardware varyings"; cmdbuf.xml, "CF binding"

use tepui_agx_packets::coefficient::{Binding, BindingHeader, CoefficientSource, ShadeModel};
use tepui_packets::Packet;
use tepui_raster::{Interpolation, Plane, WindowPlane};
use tepui_softgpu::AddressSpace;

use super::scene::{GRID, Primitive, PrimitiveKind, Scene, State};
use crate::isp::setup::sprite_from_top;
use crate::job::{JobFault, Unit};

/// Words of the position, which varyings follow in a vertex's outputs.
const POSITION_WORDS: u32 = 4;

/// The bindings of a fragment program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    /// Coefficient registers.
    pub registers: usize,
    bindings: Vec<Bound>,
}

#[derive(Clone, Debug, PartialEq)]
struct Bound {
    first: usize,
    components: usize,
    model: ShadeModel,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// 1/w.
    W,
    /// Depth.
    Z,
    /// Vertex outputs: first word and number. The contents of registers that are bound past the last
    /// output are unknown; they are zero here.
    Words(u32, usize),
    PointCoordinates,
    PrimitiveId,
}

impl Bindings {
    /// Reads the bindings of a state; none if it has none.
    pub fn read(
        vm: &AddressSpace,
        usc_exec_base: u64,
        state: &State,
    ) -> Result<Bindings, JobFault> {
        if state.bindings == 0 {
            return Ok(Bindings::default());
        }
        let at = usc_exec_base + state.bindings;
        let fault = |what: String| JobFault { packet: Some(at), ..JobFault::new(Unit::Ppp, what) };
        let word = |i: u64| {
            vm.read_array::<4>(at + 4 * i)
                .map_err(|f| fault(format!("coefficient bindings cannot be read: {f}")))
        };
        let header = BindingHeader::unpack(&word(0)?).map_err(|p| fault(p.to_string()))?;
        let registers = header.number_of_coefficient_registers as usize;
        let has_z = state.output_select.frag_coord_z;
        let user = 1 + u32::from(has_z);
        let mut bindings = Vec::new();
        for i in 0..state.shader.cf_binding_count {
            let b = Binding::unpack(&word(1 + u64::from(i))?).map_err(|p| fault(p.to_string()))?;
            let (first, components) = (b.base_coefficient_register as usize, b.components as usize);
            if first + components > registers {
                return Err(fault(format!(
                    "a binding ends at coefficient register {}, but there are {registers}",
                    first + components
                )));
            }
            let source = match b.source {
                CoefficientSource::Varying if b.base_slot == 0 && components == 1 => Source::W,
                CoefficientSource::Varying if b.base_slot >= user => {
                    // A fragment program that indexes its inputs names all components of each,
                    // whether the vertex program writes them or not. source: Mesa's
                    // agx_nir_lower_uvs.c, agx_link_varyings_vs_fs
                    let words = header.number_of_32_bit_slots.saturating_sub(b.base_slot);
                    let halves = &state.varyings_16;
                    if words < b.components && halves.smooth + halves.flat + halves.linear != 0 {
                        return Err(fault("how slots of 16 bits are counted is unknown".into()));
                    }
                    let words = words.min(b.components) as usize;
                    Source::Words(b.base_slot - user + POSITION_WORDS, words)
                }
                CoefficientSource::FragcoordZ => Source::Z,
                // A slot that the vertex program does not write: Mesa names slot 0 for it. What
                // becomes of several components is unknown; they are W here.
                CoefficientSource::Varying => Source::W,
                CoefficientSource::PointCoord => Source::PointCoordinates,
                CoefficientSource::PrimitiveId => Source::PrimitiveId,
                CoefficientSource::BarycentricCoord => {
                    return Err(fault("which barycentric coordinates are bound is unknown".into()));
                }
            };
            bindings.push(Bound { first, components, model: b.shade_model, source });
        }
        Ok(Bindings { registers, bindings })
    }

    /// Appends the registers of a primitive to `out`. The origin of their plane equations is
    /// `corner`, as it is already that of `depth`, the plane equation of depth.
    pub fn compute(
        &self,
        scene: &Scene,
        primitive: &Primitive,
        interpolation: &Interpolation,
        depth: &Plane,
        corner: [u32; 2],
        out: &mut Vec<Plane>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe {
                self.compute_wide(scene, primitive, interpolation, depth, corner, out)
            };
        }
        self.compute_any(scene, primitive, interpolation, depth, corner, out);
    }

    /// Version of [`Bindings::compute_any`] in wide vectors.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn compute_wide(
        &self,
        scene: &Scene,
        primitive: &Primitive,
        interpolation: &Interpolation,
        depth: &Plane,
        corner: [u32; 2],
        out: &mut Vec<Plane>,
    ) {
        self.compute_any(scene, primitive, interpolation, depth, corner, out);
    }

    #[inline(always)]
    fn compute_any(
        &self,
        scene: &Scene,
        primitive: &Primitive,
        interpolation: &Interpolation,
        depth: &Plane,
        corner: [u32; 2],
        out: &mut Vec<Plane>,
    ) {
        let from = out.len();
        out.resize(from + self.registers, [0.0; 3]);
        let out = &mut out[from..];
        let state = &scene.states[primitive.state as usize];
        for b in &self.bindings {
            let registers = &mut out[b.first..b.first + b.components];
            match b.source {
                Source::W => registers.fill(local(interpolation.one_over_w(), corner)),
                Source::Z => registers.fill(*depth),
                Source::Words(word, count) => {
                    let registers = &mut registers[..count];
                    match b.model {
                        ShadeModel::Perspective | ShadeModel::Linear => {
                            let linear = b.model == ShadeModel::Linear;
                            let first = primitive.vertices.map(|vertex| vertex + word);
                            smooth(scene, first, interpolation, linear, corner, registers);
                        }
                        _ => {
                            let vertex =
                                primitive.vertices[usize::from(primitive.provoking).min(2)];
                            for (at, register) in (vertex + word..).zip(registers) {
                                *register = flat(scene.output(at));
                            }
                        }
                    }
                }
                Source::PointCoordinates => {
                    if primitive.kind != PrimitiveKind::Point {
                        continue;
                    }
                    let (position, size_px) = (primitive.positions[0], primitive.size_px);
                    let top = sprite_from_top(state);
                    let planes = interpolation.point_coordinates(&GRID, position, size_px, top);
                    for (register, plane) in registers.iter_mut().zip(planes) {
                        *register = match b.model {
                            ShadeModel::Perspective => {
                                local(interpolation.divide_by_w(plane), corner)
                            }
                            _ => local(plane, corner),
                        };
                    }
                }
                Source::PrimitiveId => registers.fill(flat(primitive.primitive_id)),
            }
        }
    }
}

/// The registers of values that are interpolated, from the words `first` of each vertex on.
#[inline(always)]
fn smooth(
    scene: &Scene,
    first: [u32; 3],
    interpolation: &Interpolation,
    linear: bool,
    corner: [u32; 2],
    registers: &mut [Plane],
) {
    /// Registers that are computed together.
    const LANES: usize = 4;
    let [x, y] = corner.map(f64::from);
    for (block, registers) in registers.chunks_mut(LANES).enumerate() {
        let mut values = [[0.0; LANES]; 3];
        for (values, first) in values.iter_mut().zip(first) {
            // Words after the bound ones are harmless. One load reads them all, since the host is slow
            // to load what it stored in parts.
            let at = first as usize + LANES * block;
            *values = match scene.outputs.get(at..).and_then(<[u32]>::first_chunk) {
                Some(&[a, b, c, d]) => {
                    [f32::from_bits(a), f32::from_bits(b), f32::from_bits(c), f32::from_bits(d)]
                }
                None => std::array::from_fn(|i| f32::from_bits(scene.output((at + i) as u32))),
            };
        }
        let [a, b, mut c] = interpolation.planes(linear, &values);
        for i in 0..LANES {
            // As `local`.
            c[i] += a[i] * x + b[i] * y;
        }
        for (i, register) in registers.iter_mut().enumerate() {
            *register = [a[i] as f32, b[i] as f32, c[i] as f32];
        }
    }
}

/// A flat value. Fragment programs take the third of a register's numbers, or the second where the
/// second vertex is the provoking one; what the others hold is unknown.
/// source: Mesa's agx_nir_lower_interpolation.c, `interpolate_flat`
fn flat(bits: u32) -> Plane {
    [0.0, f32::from_bits(bits), f32::from_bits(bits)]
}

/// Moves the origin of a plane equation from that of the window to `corner`.
pub fn local(plane: WindowPlane, corner: [u32; 2]) -> Plane {
    let [a, b, c] = plane;
    let c = a * f64::from(corner[0]) + b * f64::from(corner[1]) + c;
    [a as f32, b as f32, c as f32]
}
