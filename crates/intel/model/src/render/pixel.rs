//! Pixel threads: their programs, their payload, and their pixels.

use std::sync::Arc;

use tepui_intel_chips::Generation;
use tepui_intel_eu::{Stop, Thread};
use tepui_intel_packets::pixel::{CoverageMask, State3dPs};
use tepui_softgpu::AddressSpace;

use super::coarse;
use super::geometry::Primitive;
use super::planes::value;
use super::points::Points;
use super::state::{Bindings, State};
use super::target::LANES;
use super::unit::UNIT;
use crate::context::HardwareContext;
use crate::gpu::{CachedProgram, Gpu};
use crate::job::{FaultKind, JobFault};
use crate::memory::Memory;
use crate::port::{DispatchState, Ports};
use crate::program::{program, thread_fault};
use tepui_intel_eu::REGISTER_BYTES;

/// A dispatch variant of a pixel shader's program.
pub(super) struct DispatchVariant {
    pub lanes: usize,
    kernel: u64,
    pub program: Arc<CachedProgram>,
    /// The register at which constants begin, which attributes follow.
    pub start: usize,
}

/// The pixel shader of a draw.
pub(super) struct PixelShader {
    pub variant: DispatchVariant,
    /// The primitive's topology, as in the payload header.
    topology: u32,
    /// The generation, which determines the layout of payloads.
    pub generation: Generation,
    header: [u32; 8],
    scratch_bytes: u32,
    pub constants: Vec<u8>,
    pub control: u32,
    /// Whether all channels of subspans run, not only covered ones.
    vector_mask: bool,
    /// Barycentric modes of 3DSTATE_WM: perspective (pixel, centroid, sample), then linear.
    barycentrics: u32,
    depth: bool,
    w: bool,
    coverage: bool,
    /// That mask is what early tests have left.
    depth_coverage: bool,
    /// Whether the payload contains sample offsets.
    pub offsets: bool,
    /// Whether a thread's channels are samples instead of pixels.
    pub per_sample: bool,
    /// The size of coarse pixels, if channels are these.
    pub coarse: Option<[u32; 2]>,
    /// Whether the payload contains the plane of source depth.
    depth_plane: bool,
    /// Position ZW Interpolation Mode: whether depth and W are at the pixel's centre, centroid or sample.
    position_mode: u32,
    pub shared: DispatchState,
}

/// A subspan: two by two pixels, or one sample of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Subspan {
    /// The upper left pixel.
    pub place: [u32; 2],
    /// The covered samples of each pixel, after tests.
    pub covered: [u32; 4],
    /// The covered samples of each pixel, before tests.
    pub coverage: [u32; 4],
    /// The sample, in per-sample threads.
    pub sample: u8,
}

/// Parameters of a thread.
#[derive(Clone, Copy)]
pub(super) struct ThreadParameters<'w> {
    /// The index of the worker, which has its own scratch memory.
    pub core: u32,
    pub primitive: &'w Primitive,
    /// The primitive's attributes.
    pub attributes: &'w [u32],
    /// The subspans, at most as many as the program has channels for.
    pub subspans: &'w [Subspan],
}

/// General registers of a thread, for writing payloads.
pub(super) struct Registers<'t>(pub &'t mut [u8]);

impl Registers<'_> {
    fn put(&mut self, register: usize, dword: usize, value: u32) {
        let at = register * REGISTER_BYTES + 4 * dword;
        if let Some(to) = self.0.get_mut(at..at + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Writes a whole register.
    pub fn put_row(&mut self, register: usize, dwords: &[u32; 8]) {
        let at = register * REGISTER_BYTES;
        if let Some(to) = self.0.get_mut(at..at + REGISTER_BYTES) {
            for (to, dword) in to.as_chunks_mut::<4>().0.iter_mut().zip(dwords) {
                *to = dword.to_le_bytes();
            }
        }
    }
}

impl PixelShader {
    pub fn new(
        gpu: &Gpu,
        vm: &AddressSpace,
        context: &HardwareContext,
        state: &State,
        memory: &mut Memory<'_>,
    ) -> Result<PixelShader, JobFault> {
        let (ps, extra) = (&state.ps, &state.extra);
        let bindings = Bindings::of_pixels(context, memory, ps.push_constant_enable)?;
        let (lanes, pointer, start) = choose(ps)?;
        let kernel = context.bases.instruction + pointer;
        let scratch = ps.scratch_space_base_pointer as u32;
        Ok(PixelShader {
            variant: DispatchVariant {
                lanes,
                kernel,
                program: program(gpu, vm, kernel)?,
                start: start as usize,
            },
            header: [
                0,
                0,
                0,
                bindings.sampler_offset | ps.per_thread_scratch_space,
                bindings.table_offset,
                scratch,
                0,
                0,
            ],
            topology: state.topology & 0x1f,
            generation: context.generation,
            scratch_bytes: if scratch == 0 { 0 } else { 1024 << ps.per_thread_scratch_space },
            constants: bindings.constants,
            control: u32::from(ps.floating_point_mode)
                | ps.rounding_mode << 4
                | u32::from(ps.single_precision_denormal_mode) << 7,
            vector_mask: ps.vector_mask_enable,
            barycentrics: state.wm.barycentric_interpolation_mode,
            depth: extra.pixel_shader_uses_source_depth,
            w: extra.pixel_shader_uses_source_w,
            coverage: extra.input_coverage_mask_state != CoverageMask::NONE,
            depth_coverage: extra.input_coverage_mask_state == CoverageMask::DEPTH,
            offsets: ps.position_xy_offset_select != 0,
            per_sample: extra.pixel_shader_is_per_sample,
            coarse: coarse::size(context, memory, state)?,
            depth_plane: extra.pixel_shader_requires_source_depth_and_or_w_plane_coefficients,
            position_mode: state.wm.position_zw_interpolation_mode,
            shared: DispatchState::of(
                gpu,
                kernel,
                context.bases,
                bindings.table,
                bindings.samplers,
            ),
        })
    }

    /// Number of subspans of a thread.
    pub fn subspans(&self) -> usize {
        self.variant.lanes / 4
    }

    /// Runs a thread for the subspans of a primitive; returns the instructions that it executed.
    pub fn run(
        &self,
        thread: &mut Thread,
        ports: &mut Ports<'_>,
        budget: &mut u64,
        work: &ThreadParameters<'_>,
    ) -> Result<u64, JobFault> {
        let ThreadParameters { core, primitive, attributes, subspans } = *work;
        let Some(back_end) = ports.pixels_mut() else {
            return Err(JobFault::new(UNIT, "pixels without a back end"));
        };
        let (mut mask, mut vector_mask) = (0u32, 0u32);
        back_end.tested = 0;
        back_end.strip = None;
        back_end.covered = [0; LANES];
        if let Some(coarse) = &mut back_end.coarse {
            coarse.begin();
        }
        for (slot, subspan) in subspans.iter().enumerate() {
            for pixel in 0..4 {
                let lane = 4 * slot + pixel;
                back_end.places[lane] = self.corner(subspan, pixel);
                back_end.covered[lane] = subspan.covered[pixel];
                back_end.samples_of[lane] = subspan.sample;
                mask |= u32::from(subspan.covered[pixel] != 0) << lane;
            }
            vector_mask |= 0xf << (4 * slot);
        }
        let program = self.variant.program.program();
        let channels = if self.vector_mask { vector_mask } else { mask };
        thread.clear_for(program, channels, 0);
        thread.start(&tepui_intel_eu::Dispatch {
            mask: channels,
            vector_mask,
            state: 0,
            control: self.control,
        });
        let (header, polygon) = self.header(primitive, core);
        let samples = &back_end.output.samples;
        let mut grf = Registers(thread.grf_mut());
        grf.put_row(0, &header);
        let halves = self.variant.lanes.div_ceil(16);
        if self.generation == Generation::Gen12 {
            grf.put(1, 1, polygon);
        }
        for half in 0..halves {
            let of_half = subspans.iter().skip(4 * half).take(4).enumerate();
            let mut ids = 0;
            for (slot, subspan) in of_half {
                let [x, y] = subspan.place;
                grf.put(1 + half, 2 + slot, x & 0xffff | y << 16);
                ids |= u32::from(subspan.sample) << (4 * slot);
            }
            // source: Mesa, brw_compile_fs.cpp (`brw_emit_interpolation_setup`): the size of coarse pixels is in bytes 0
            // and 1 of r1.0.
            let ids = self.coarse.map_or(ids, |[width, height]| width | height << 8);
            grf.put(1 + half, 0, ids);
            let pixels = mask >> (16 * half) & 0xffff;
            grf.put(1 + half, 7, pixels | pixels << 16);
        }
        let centre = self.coarse.unwrap_or([1; 2]).map(|side| side as f32 / 2.0);
        let mut next = 1 + halves;
        let width = self.variant.lanes.min(16);
        for half in 0..halves {
            if samples.count == 1 && !self.offsets && self.coarse.is_none() {
                let of_half = &subspans[subspans.len().min(4 * half)..];
                next = self.payload_of_pixels(&mut grf, next, primitive, samples.px(0), of_half);
                continue;
            }
            let lanes = (0..width).filter_map(|lane| {
                let subspan = subspans.get(4 * half + lane / 4)?;
                Some((lane, subspan, lane % 4))
            });
            // The position at which a channel's value is evaluated: the pixel's centre, centroid or sample.
            let point = |subspan: &Subspan, pixel: usize, mode: u32| {
                let [x, y] = self.corner(subspan, pixel);
                // Assumption: the centroid of a coarse pixel is its centre.
                let sample = match mode {
                    _ if self.coarse.is_some() => None,
                    1 => centroid(subspan.coverage[pixel], samples.count),
                    2 => Some(usize::from(subspan.sample)),
                    _ => None,
                };
                let [dx, dy] = sample.map_or(centre, |s| samples.px(s));
                [f64::from(x) + f64::from(dx), f64::from(y) + f64::from(dy)]
            };
            for mode in 0..6 {
                if self.barycentrics >> mode & 1 == 0 {
                    continue;
                }
                for (lane, subspan, pixel) in lanes.clone() {
                    let at = point(subspan, pixel, mode % 3);
                    let [b, c] = primitive.interpolation.at(mode >= 3, at);
                    // Eight channels of the first coordinate, followed by those of the second.
                    let register = next + 2 * (lane / 8);
                    grf.put(register, lane % 8, b.to_bits());
                    grf.put(register + 1, lane % 8, c.to_bits());
                }
                next += width / 4;
            }
            // Position ZW Interpolation Mode: 0 pixel, 1 centroid... 3 sample; per-sample threads use their
            // own sample.
            let mode = match (self.per_sample, self.position_mode) {
                (true, _) | (_, 3) => 2,
                (_, 2) => 1,
                _ => 0,
            };
            if self.depth {
                for (lane, subspan, pixel) in lanes.clone() {
                    // Depth is clamped when it is tested, not here.
                    let z = value(&primitive.depth, point(subspan, pixel, mode)) as f32;
                    grf.put(next + lane / 8, lane % 8, z.to_bits());
                }
                next += width / 8;
            }
            if self.w {
                for (lane, subspan, pixel) in lanes.clone() {
                    let w = primitive.interpolation.w(point(subspan, pixel, mode));
                    grf.put(next + lane / 8, lane % 8, (w as f32).to_bits());
                }
                next += width / 8;
            }
            if self.offsets {
                // One byte each for X and Y, in sixteenths of a pixel.
                for (lane, subspan, pixel) in lanes.clone() {
                    let sample = match self.per_sample {
                        true => Some(usize::from(subspan.sample)),
                        false => centroid(subspan.coverage[pixel], samples.count),
                    };
                    let [x, y] = sample.map_or([0.5; 2], |s| samples.px(s));
                    let bytes = [(x * 16.0) as u8, (y * 16.0) as u8];
                    let at = next * REGISTER_BYTES + 2 * lane;
                    if let Some(to) = grf.0.get_mut(at..at + 2) {
                        to.copy_from_slice(&bytes);
                    }
                }
                next += 1;
            }
            if self.coverage {
                for (lane, subspan, pixel) in lanes.clone() {
                    grf.put(next + lane / 8, lane % 8, self.mask_of(subspan)[pixel]);
                }
                next += width / 8;
            }
        }
        if self.depth_plane
            && let Some(first) = subspans.first()
        {
            // source: Mesa, brw_compile_fs.cpp (`brw_emit_interpolation_setup`): the slopes in Y and X, the X of the
            // start, the value there, and in the seventh double word the Y of the start.
            let start = first.place.map(f64::from);
            let [dx, dy, _] = primitive.depth;
            let plane = [dy, dx, start[0], value(&primitive.depth, start), 0.0, 0.0, start[1], 0.0];
            grf.put_row(next, &plane.map(|v| (v as f32).to_bits()));
        }
        self.setup(&mut grf, attributes);
        self.execute(thread, ports, budget)
    }

    /// The covered samples of each pixel of a subspan that channels are told of.
    fn mask_of<'s>(&self, subspan: &'s Subspan) -> &'s [u32; 4] {
        if self.depth_coverage { &subspan.covered } else { &subspan.coverage }
    }

    /// The upper left pixel of a channel of a subspan.
    fn corner(&self, subspan: &Subspan, pixel: usize) -> [u32; 2] {
        let [width, height] = self.coarse.unwrap_or([1; 2]);
        let [x, y] = subspan.place;
        [x + pixel as u32 % 2 * width, y + pixel as u32 / 2 * height]
    }

    /// The first register of the payload, and its primitive information.
    pub fn header(&self, primitive: &Primitive, core: u32) -> ([u32; 8], u32) {
        let mut header = self.header;
        // source: SNB PRM volume 2 part 1, "PS thread payload": bits 4:0 are the topology; Mesa,
        // brw_fs_nir.cpp (`emit_frontfacing_interpolation`): bit 15 is set for back faces, and the word must
        // not be 0; bits 26:16 are the layer (`fetch_render_target_array_index`), and bits 30:27 the viewport
        // (`fetch_viewport_index`). On Gen12 they are in r1.1.
        let polygon = u32::from(!primitive.front) << 15
            | (primitive.layer & 0x7ff) << 16
            | primitive.viewport << 27;
        header[0] = self.topology;
        if self.generation == Generation::Gen9 {
            header[0] |= polygon;
        }
        header[5] = header[5].wrapping_add(core.wrapping_mul(self.scratch_bytes));
        (header, polygon)
    }

    /// Writes the end of the payload: constants and the primitive's attributes.
    pub fn setup(&self, grf: &mut Registers<'_>, attributes: &[u32]) {
        let start = (self.variant.start * REGISTER_BYTES).min(grf.0.len());
        let setup = &mut grf.0[start..];
        let length = self.constants.len().min(setup.len());
        let (constants, setup) = setup.split_at_mut(length);
        constants.copy_from_slice(&self.constants[..length]);
        for (to, value) in setup.as_chunks_mut::<4>().0.iter_mut().zip(attributes) {
            *to = value.to_le_bytes();
        }
    }

    /// The 32 bits of setup data at a byte of the general registers.
    pub fn setup_dword(&self, attributes: &[u32], byte: usize) -> Option<u32> {
        let at = byte.checked_sub(self.variant.start * REGISTER_BYTES)?;
        match at.checked_sub(self.constants.len()) {
            Some(at) => attributes.get(at / 4).copied(),
            None => Some(u32::from_le_bytes(*self.constants.get(at..)?.first_chunk()?)),
        }
    }

    /// Runs a thread with a complete payload to its end; returns the number of executed instructions.
    pub fn execute(
        &self,
        thread: &mut Thread,
        ports: &mut Ports<'_>,
        budget: &mut u64,
    ) -> Result<u64, JobFault> {
        let before = *budget;
        let stop = thread
            .run(self.variant.program.program(), ports, budget)
            .map_err(|fault| thread_fault(self.variant.kernel, fault))?;
        if stop != Stop::EndOfThread {
            return Err(JobFault::new(UNIT, "a pixel shader waits").of(FaultKind::Endless));
        }
        Ok(before - *budget)
    }

    /// Number of payload rows with a value per single-sampled pixel.
    pub fn rows_of_pixels(&self) -> usize {
        // Each barycentric mode has two coordinates.
        2 * self.barycentrics.count_ones() as usize
            + usize::from(self.depth)
            + usize::from(self.w)
            + usize::from(self.coverage)
    }

    /// Writes the part of the payload after the header for half of a thread with single-sampled pixels, at `sample`;
    /// returns the next register. Registers that the program does not read are skipped.
    pub fn payload_of_pixels(
        &self,
        grf: &mut Registers<'_>,
        from: usize,
        primitive: &Primitive,
        sample: [f32; 2],
        subspans: &[Subspan],
    ) -> usize {
        let width = self.variant.lanes.min(16);
        let wanted = self.variant.program.program().inputs().any;
        let end = from + self.rows_of_pixels() * width / 8;
        if wanted & registers(from, end) == 0 {
            return end;
        }
        let points = Points::of(subspans, sample);
        let mut next = from;
        let row = |grf: &mut Registers<'_>, row: &[f32; 16], stride: usize, at: usize| {
            for (k, eight) in row.as_chunks::<8>().0.iter().enumerate().take(width / 8) {
                grf.put_row(at + k * stride, &eight.map(f32::to_bits));
            }
        };
        for mode in 0..6 {
            if self.barycentrics >> mode & 1 == 0 {
                continue;
            }
            if wanted & registers(next, next + width / 4) != 0 {
                let [b, c] =
                    points.barycentrics(&primitive.interpolation, mode >= 3, mode % 3 == 2);
                // Eight channels of the first coordinate, followed by those of the second.
                row(grf, &b, 2, next);
                row(grf, &c, 2, next + 1);
            }
            next += width / 4;
        }
        // Position ZW Interpolation Mode, as in multisampled threads.
        let of_sample = self.per_sample || self.position_mode == 3;
        if self.depth {
            // Depth is clamped when it is tested, not here.
            row(grf, &points.depths(&primitive.depth, of_sample), 1, next);
            next += width / 8;
        }
        if self.w {
            row(grf, &points.w(&primitive.interpolation, of_sample), 1, next);
            next += width / 8;
        }
        if self.coverage {
            for (lane, subspan) in (0..width).step_by(4).zip(subspans) {
                for pixel in 0..4 {
                    let lane = lane + pixel;
                    grf.put(next + lane / 8, lane % 8, self.mask_of(subspan)[pixel]);
                }
            }
            next += width / 8;
        }
        next
    }
}

/// The set of general registers from `first` up to `end`, exclusive.
pub(super) fn registers(first: usize, end: usize) -> u128 {
    let below = |n: usize| u128::MAX.checked_shr(128 - n.min(128) as u32).unwrap_or(0);
    below(end) & !below(first)
}

/// The sample at which a pixel's centroid is evaluated; none for its centre.
///
/// Assumption: the first covered sample, unless all or none are.
fn centroid(coverage: u32, count: usize) -> Option<usize> {
    let all = coverage.count_ones() as usize == count;
    (coverage != 0 && !all).then(|| coverage.trailing_zeros() as usize)
}

/// The dispatch variant: its channels, its offset and the register at which constants begin.
///
/// source: Mesa, brw_compiler.h (`_brw_wm_prog_data_prog_offset`): a single program is kernel 0; with
/// several, SIMD8 is kernel 0, SIMD32 kernel 1, SIMD16 kernel 2.
fn choose(ps: &State3dPs) -> Result<(usize, u64, u32), JobFault> {
    let zero =
        (ps.kernel_start_pointer_0, ps.dispatch_grf_start_register_for_constant_setup_data_0);
    let two = (ps.kernel_start_pointer_2, ps.dispatch_grf_start_register_for_constant_setup_data_2);
    let enabled =
        [ps.n8_pixel_dispatch_enable, ps.n16_pixel_dispatch_enable, ps.n32_pixel_dispatch_enable];
    let (lanes, (pointer, start)) = match enabled {
        [false, true, false] => (16, zero),
        [_, true, _] => (16, two),
        [true, false, _] => (8, zero),
        [false, false, true] => (32, zero),
        [false, false, false] => {
            return Err(JobFault::new(UNIT, "3DSTATE_PS without a dispatch width"));
        }
    };
    Ok((lanes, pointer, start))
}
