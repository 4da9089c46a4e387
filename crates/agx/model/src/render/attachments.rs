//! Contents of a render command's attachments, for debugging of draws.

use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::render::{BgEotUsc, Counts};
use tepui_agx_packets::texture::{TextureDimension, TextureType};
use tepui_agx_texture::{Kind, LANES, Notes, Operands, Request, Unit as TextureUnit, texture_of};
use tepui_softgpu::{AddressSpace, RangeCache};

use crate::Gpu;
use crate::isp::Zls;
use crate::job::{JobFault, JobStats, RenderJob, Unit};
use crate::pipeline::Pipeline;
use crate::usc::access::{DescriptorSource, TextureAccess};
use crate::usc::cache::Programs;
use crate::usc::exec::texture::View;

/// The kind of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The image that the end-of-tile program stores to by the texture state register of this
    /// number.
    Colour(u8),
    /// The depth buffer.
    Depth,
    /// The stencil buffer.
    Stencil,
}

/// One layer of an attachment.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Its kind.
    pub aspect: Aspect,
    /// Layer.
    pub layer: u32,
    /// Width and height.
    pub size_px: [u32; 2],
    /// Texels in rows: red, green, blue and alpha as floats (integers converted); depth and stencil
    /// have only the first.
    pub texels: Vec<[f32; 4]>,
}

impl Gpu {
    /// Reads the attachments of a render command from memory: the images that its end-of-tile
    /// program stores to, depth and stencil buffers if they are stored; sample 0 of multisampled
    /// ones.
    ///
    /// # Errors
    /// If a program or descriptor cannot be read.
    pub fn attachments(
        &self,
        vm: &AddressSpace,
        job: &RenderJob,
    ) -> Result<Vec<Attachment>, JobFault> {
        let mut found = Vec::new();
        for (number, descriptor) in self.colour_targets(vm, job)? {
            for layer in 0..u32::from(job.layers) {
                found.push(colour(vm, number, &descriptor, layer)?);
            }
        }
        let zls = Zls::new(job, false, false)?;
        for layer in 0..u32::from(job.layers) {
            for (aspect, surface) in
                [(Aspect::Depth, zls.stored_depth()), (Aspect::Stencil, zls.stored_stencil())]
            {
                let Some(surface) = surface else { continue };
                let size_px = surface.size_px();
                let mut ranges = RangeCache::default();
                ranges.refresh(vm);
                let mut memory = View { vm, ranges: &mut ranges };
                let mut notes = Notes::default();
                let mut texels = Vec::new();
                let mut row = vec![0; size_px[0] as usize];
                for y in 0..size_px[1] {
                    // A row at a time in pieces of a tile's width, as the unit itself reads.
                    for (i, part) in row.chunks_mut(16).enumerate() {
                        let at = [16 * i as u32, y];
                        surface
                            .load_row(&mut memory, &mut notes, [layer, 0], at, part)
                            .map_err(|fault| JobFault::new(Unit::Isp, fault.to_string()))?;
                    }
                    texels.extend(row.iter().map(|&v| {
                        let v = match aspect {
                            Aspect::Depth if zls.unorm16 => v as f32 / 65535.0,
                            Aspect::Depth => f32::from_bits(v),
                            _ => v as f32 / 255.0,
                        };
                        [v, v, v, 1.0]
                    }));
                }
                found.push(Attachment { aspect, layer, size_px, texels });
            }
        }
        Ok(found)
    }

    /// Texture state registers that the end-of-tile program stores tiles to, with their
    /// descriptors.
    fn colour_targets(
        &self,
        vm: &AddressSpace,
        job: &RenderJob,
    ) -> Result<Vec<(u8, [u8; 24])>, JobFault> {
        let odd = |p: tepui_packets::Problem| JobFault::new(Unit::Pbe, p.to_string());
        let usc = BgEotUsc::unpack(&job.eot.usc.to_le_bytes()).map_err(odd)?;
        if usc.pipeline == 0 {
            return Ok(Vec::new());
        }
        let counts = Counts::unpack(&job.eot.rsrc_spec.to_le_bytes()).map_err(odd)?;
        let programs = Programs::new(vm, job.usc_exec_base, &self.programs);
        let pipeline = Pipeline {
            vm,
            usc_exec_base: job.usc_exec_base,
            address: usc.pipeline,
            samplers: counts.sampler_state_register_count,
            sampler_heap: (job.sampler_heap, u32::from(job.sampler_count)),
            helper: job.fragment_helper,
        };
        let launch = pipeline.load(&programs)?;
        let launch = self.prepare(vm, launch, &mut JobStats::default())?;
        let mut found = Vec::new();
        for access in launch.program.code.accesses() {
            let TextureAccess::Block(store) = access else { continue };
            let DescriptorSource::State(number) = store.image else { continue };
            if let Some(descriptor) = launch.textures.get(usize::from(number))
                && found.iter().all(|&(known, _)| known != number)
            {
                found.push((number, *descriptor));
            }
        }
        Ok(found)
    }
}

/// Reads a layer of an image.
fn colour(
    vm: &AddressSpace,
    number: u8,
    pbe: &[u8; 24],
    layer: u32,
) -> Result<Attachment, JobFault> {
    let odd = |p: tepui_packets::Problem| JobFault::new(Unit::Pbe, p.to_string());
    let (texture, size_px) = texture_of(pbe).map_err(odd)?;
    let dimension = Pbe::unpack(pbe).map_err(odd)?.dimension;
    // Cubes are loaded from as arrays.
    let dimension = match dimension {
        TextureDimension::Cube | TextureDimension::CubeArray => TextureDimension::D2Array,
        other => other,
    };
    let request = Request::new(Kind::Load, dimension);
    let integer =
        Pbe::unpack(pbe).is_ok_and(|p| matches!(p.type_, TextureType::Uint | TextureType::Sint));
    let mut unit = TextureUnit::default();
    let mut ranges = RangeCache::default();
    ranges.refresh(vm);
    let mut memory = View { vm, ranges: &mut ranges };
    let mut texels = Vec::with_capacity((size_px[0] * size_px[1]) as usize);
    for y in 0..size_px[1] {
        for x in (0..size_px[0]).step_by(LANES) {
            let lanes = (size_px[0] - x).min(LANES as u32);
            let exec = u32::MAX >> (LANES as u32 - lanes);
            let operands = Operands {
                coordinates: [
                    std::array::from_fn(|i| x + i as u32),
                    [y; LANES],
                    [if dimension == TextureDimension::D3 { layer } else { 0 }; LANES],
                ],
                layer: [layer; LANES],
                ..Operands::default()
            };
            let mut out = [[0; LANES]; 5];
            unit.read(&mut memory, &request, &texture, None, &operands, exec, &mut out)
                .map_err(|fault| JobFault::new(Unit::Texture, fault.to_string()))?;
            texels.extend((0..lanes as usize).map(|i| {
                std::array::from_fn(|c| match integer {
                    true => out[c][i] as f32,
                    false => f32::from_bits(out[c][i]),
                })
            }));
        }
    }
    Ok(Attachment { aspect: Aspect::Colour(number), layer, size_px, texels })
}
