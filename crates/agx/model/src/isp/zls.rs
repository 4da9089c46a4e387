//! Z load and store (ZLS): depth and stencil of tiles from and to memory.

use tepui_agx_chips::PAGE_BYTES;
use tepui_agx_packets::Packet;
use tepui_agx_packets::render::{IspBgobjvals, IspZlsPixels, ZlsControl, ZlsFormat, ZlsTiling};
use tepui_agx_packets::texture::Layout;
use tepui_agx_texture::{Memory, Notes, Surface, SurfaceShape};
use tepui_format::Format;
use tepui_raster::TILE_SIDE;
use tepui_softgpu::Fault;

use super::setup::DepthStencil;
use crate::job::{JobFault, RenderJob, Unit, ZlsBuffer};

/// The buffer that is loaded and the one that is stored, if any.
#[derive(Default)]
struct Pair {
    load: Option<Surface>,
    store: Option<Surface>,
}

/// The loads and stores of depth and stencil at the start and the end of tiles.
pub struct Zls {
    depth: Pair,
    stencil: Pair,
    /// Depth is 16-bit fixed point.
    pub unorm16: bool,
    clear_depth: f32,
    clear_stencil: u8,
    samples: usize,
}

/// Bytes from layer to layer of a buffer: in units of pages for texels, of cache lines for
/// metadata, less one. What the low bits are is unknown; Mesa sets 1 for texels.
/// source: hk_cmd_draw.c, hk_CmdBeginRendering; asahi_drm.h speaks of bytes
fn stride(register: u32, unit: u64) -> u64 {
    (u64::from(register >> 14) + 1) * unit
}

/// Bytes of a cache line.
const LINE: u64 = 128;

impl Zls {
    /// Decodes the registers. A partial render that continues another one loads the buffers that
    /// are stored.
    pub fn new(job: &RenderJob, continued: bool, unfinished: bool) -> Result<Zls, JobFault> {
        let odd = |p: tepui_packets::Problem| JobFault::new(Unit::Isp, p.to_string());
        let control = ZlsControl::unpack(&job.zls_ctrl.to_le_bytes()).map_err(odd)?;
        let pixels = IspZlsPixels::unpack(&job.isp_zls_pixels.to_le_bytes()).map_err(odd)?;
        let values = IspBgobjvals::unpack(&job.isp_bgobjvals.to_le_bytes()).map_err(odd)?;
        let unorm16 = control.z_format == ZlsFormat::U16;
        if control.z_resolve || control.s_resolve {
            return Err(JobFault::unimplemented(Unit::Isp, "resolves of depth or stencil"));
        }
        let surface = |buffer: &ZlsBuffer, format, tiling, compressed| {
            let shape = SurfaceShape {
                format,
                layout: match tiling {
                    ZlsTiling::Gpu => Layout::Gpu,
                    ZlsTiling::Twiddled => Layout::Twiddled,
                },
                size_px: [pixels.x, pixels.y],
                samples: u32::from(job.samples),
                address: buffer.base,
                layer_stride: stride(buffer.stride, PAGE_BYTES),
                metadata: if compressed {
                    Some((buffer.comp_base, stride(buffer.comp_stride, LINE)))
                } else {
                    None
                },
            };
            Surface::new(&shape)
                .map_err(|why| JobFault::new(Unit::Isp, format!("depth or stencil buffer: {why}")))
        };
        let wanted =
            |yes: bool, make: &dyn Fn() -> Result<Surface, JobFault>| yes.then(make).transpose();
        let c = &control;
        let depth_format = if unorm16 { Format::D16_UNORM } else { Format::D32_SFLOAT };
        // A partial render keeps the stored planes.
        let (z_load, z_store) = (c.z_load || (continued && c.z_store), c.z_store);
        let (s_load, s_store) = (c.s_load || (continued && c.s_store), c.s_store);
        let keeps = |load, store, base: u64| unfinished && (load || store) && base != 0;
        let z_store = z_store || keeps(z_load, z_store, job.depth.base);
        let s_store = s_store || keeps(s_load, s_store, job.stencil.base);
        Ok(Zls {
            depth: Pair {
                load: wanted(z_load, &|| {
                    surface(&job.depth, depth_format, c.z_load_tiling, c.z_load_compress)
                })?,
                store: wanted(z_store, &|| {
                    surface(&job.depth, depth_format, c.z_store_tiling, c.z_store_compress)
                })?,
            },
            stencil: Pair {
                load: wanted(s_load, &|| {
                    surface(&job.stencil, Format::S8_UINT, c.s_load_tiling, c.s_load_compress)
                })?,
                store: wanted(s_store, &|| {
                    surface(&job.stencil, Format::S8_UINT, c.s_store_tiling, c.s_store_compress)
                })?,
            },
            unorm16,
            clear_depth: if unorm16 {
                (job.isp_bgobjdepth & 0xffff) as f32 / 65535.0
            } else {
                f32::from_bits(job.isp_bgobjdepth)
            },
            clear_stencil: values.stencil as u8,
            samples: usize::from(job.samples),
        })
    }

    /// The depth buffer that is stored to.
    pub fn stored_depth(&self) -> Option<&Surface> {
        self.depth.store.as_ref()
    }

    /// The stencil buffer that is stored to.
    pub fn stored_stencil(&self) -> Option<&Surface> {
        self.stencil.store.as_ref()
    }

    /// Whether tiles are loaded from memory, so that they start with different contents.
    pub fn loads(&self) -> bool {
        self.depth.load.is_some() || self.stencil.load.is_some()
    }

    /// Fills the planes at the start of a tile.
    pub fn load<M: Memory>(
        &self,
        memory: &mut M,
        notes: &mut Notes,
        planes: &mut DepthStencil,
        tile: &Tile,
    ) -> Result<(), Fault> {
        planes.unorm_bits = if self.unorm16 { 16 } else { 0 };
        planes.clear(self.samples, self.clear_depth, self.clear_stencil);
        if let Some(surface) = &self.depth.load {
            let put = |sample, y, texels: &_| planes.put_depth(sample, y, texels);
            self.load_plane(surface, memory, notes, tile, put)?;
        }
        if let Some(surface) = &self.stencil.load {
            let put = |sample, y, texels: &_| planes.put_stencil(sample, y, texels);
            self.load_plane(surface, memory, notes, tile, put)?;
        }
        Ok(())
    }

    /// Stores the planes at the end of a tile.
    pub fn store<M: Memory>(
        &self,
        memory: &mut M,
        notes: &mut Notes,
        planes: &DepthStencil,
        tile: &Tile,
    ) -> Result<(), Fault> {
        if let Some(surface) = &self.depth.store {
            let texels = |sample, out: &mut _| planes.depth_texels(sample, out);
            self.store_plane(surface, memory, notes, tile, texels)?;
        }
        if let Some(surface) = &self.stencil.store {
            let texels = |sample, out: &mut _| planes.stencil_texels(sample, out);
            self.store_plane(surface, memory, notes, tile, texels)?;
        }
        Ok(())
    }

    /// Loads the rows of a tile that are inside the buffer and passes each to `put`, with sample
    /// and row.
    fn load_plane<M: Memory>(
        &self,
        surface: &Surface,
        memory: &mut M,
        notes: &mut Notes,
        tile: &Tile,
        mut put: impl FnMut(usize, usize, &[u32]),
    ) -> Result<(), Fault> {
        let [columns, rows] = tile.inside(surface);
        if columns == 0 || rows == 0 {
            return Ok(());
        }
        let mut texels = [[0; TILE_SIDE]; TILE_SIDE];
        for sample in 0..self.samples {
            let which = [tile.layer, sample as u32];
            surface.load_rows(memory, notes, which, tile.corner, [columns, rows], &mut texels)?;
            for (y, row) in texels[..rows].iter().enumerate() {
                put(sample, y, &row[..columns]);
            }
        }
        Ok(())
    }

    /// Stores the part of a tile that is inside the buffer; `texels` returns the rows of a sample.
    fn store_plane<M: Memory>(
        &self,
        surface: &Surface,
        memory: &mut M,
        notes: &mut Notes,
        tile: &Tile,
        texels: impl Fn(usize, &mut [[u32; TILE_SIDE]]),
    ) -> Result<(), Fault> {
        let [columns, rows] = tile.inside(surface);
        if columns == 0 || rows == 0 {
            return Ok(());
        }
        let size = [columns, rows];
        surface.open(memory, notes, tile.layer, tile.corner, size)?;
        let mut all = [[0; TILE_SIDE]; TILE_SIDE];
        for sample in 0..self.samples {
            texels(sample, &mut all[..rows]);
            let at = [tile.layer, sample as u32];
            surface.store_rows(memory, at, tile.corner, size, &all)?;
        }
        Ok(())
    }
}

/// The pixels that are loaded or stored.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Layer of the framebuffer.
    pub layer: u32,
    /// First column and row.
    pub corner: [u32; 2],
    /// Columns and rows.
    pub size_px: [u32; 2],
}

impl Tile {
    /// Columns and rows inside a buffer.
    fn inside(&self, surface: &Surface) -> [usize; 2] {
        let size = surface.size_px();
        [0, 1].map(|k| size[k].saturating_sub(self.corner[k]).min(self.size_px[k]) as usize)
    }
}
