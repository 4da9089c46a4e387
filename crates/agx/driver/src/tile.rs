//! Background and end-of-tile programs, which initialise a tile before its fragments and store its
//! colours after them.
//!
//! A background program is a fragment program from the IR: each colour is cleared, loaded or left alone. An end-of-tile program
//! writes each colour's block to its image.

use std::fmt::Write;
use std::sync::Arc;

use tepui_agx_compiler::Options;
use tepui_agx_compiler::abi::tile::{Layout, TARGETS, Tile};
use tepui_agx_compiler::abi::{Colours, Fragment, Interface};
use tepui_agx_isa::asm::assemble;
use tepui_agx_packets::usc::{self, SharedLayout};
use tepui_format::Numeric;
use tepui_ir::{
    Access, Attrs, Builder, Builtin, Dim, Image, ImageFormat, Interp, IoLoc, IoSlot, Mem, NumKind,
    Op, ResKind, Resource, Sampling, Shader, Stage, TexOperands, Type,
};
use tepui_vulkan::{Error, Result, vk};

pub use crate::caches::Before;
use crate::caches::{BackgroundKey, EndKey};
use crate::code::Code;
use crate::device::Device;
use crate::kernel::lock;
use crate::recipe::Places;
use crate::shader::Variant;

/// The words of the tilebuffer.
pub fn shared(layout: &Layout, samples: u8) -> usc::Shared {
    let [w, h] = layout.tile_px;
    usc::Shared {
        uses_shared_memory: true,
        layout: match layout.tile_px {
            [32, 32] => SharedLayout::Tile32x32,
            [32, _] => SharedLayout::Tile32x16,
            _ => SharedLayout::Tile16x16,
        },
        sample_count: u32::from(samples.max(1)),
        sample_stride_in_8_bytes: layout.sample_bytes / 8,
        bytes_per_threadgroup: (layout.sample_bytes * u32::from(samples.max(1)) * w * h)
            .next_multiple_of(256),
    }
}

fn formats(tile: &Tile) -> [Option<i32>; TARGETS] {
    tile.formats.map(|f| f.map(tepui_format::Format::vk))
}

fn kind(numeric: Numeric) -> NumKind {
    match numeric {
        Numeric::Uint => NumKind::Uint,
        Numeric::Sint => NumKind::Sint,
        _ => NumKind::Float,
    }
}

impl Device {
    /// The background program of a tile.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn background(
        self: &Arc<Self>,
        tile: &Tile,
        before: [Before; TARGETS],
    ) -> Result<Arc<Variant>> {
        let key = BackgroundKey { formats: formats(tile), samples: tile.samples, before };
        if let Some(v) = lock(&self.tile_programs.background).get(&key) {
            return Ok(v.clone());
        }
        let loads = before.contains(&Before::Load);
        let mut s = background(tile, before);
        let interface = Interface::Fragment(Fragment {
            colours: Colours::Tile(Box::new(Tile {
                formats: tile.formats,
                samples: tile.samples,
                ..Tile::default()
            })),
            per_sample: loads && tile.samples > 1,
            ..Fragment::default()
        });
        let p =
            tepui_agx_compiler::compile_as(&mut s, &Options::default(), &interface, &mut |_, _| {})
                .map_err(|e| {
                    Error::new(vk::Result::ERROR_UNKNOWN, format!("a background program: {e}"))
                })?;
        let v = Arc::new(Variant::new(self, &p, &Places::rows(TARGETS as u32))?);
        Ok(lock(&self.tile_programs.background).entry(key).or_insert(v).clone())
    }

    /// The end-of-tile program of a tile that stores these colours, a bit each; their PBE descriptors are `ts0` and so on, in order.
    ///
    /// # Errors
    /// When it does not assemble.
    pub fn end_of_tile(
        self: &Arc<Self>,
        tile: &Tile,
        layout: &Layout,
        stored: u8,
    ) -> Result<Arc<Code>> {
        let key = EndKey { formats: formats(tile), samples: tile.samples, stored };
        if let Some(c) = lock(&self.tile_programs.end).get(&key) {
            return Ok(c.clone());
        }
        // Coordinates are relative to the tile; after their registers follow the sample, if there are
        // several, and the layer.
        let (name, place) = match tile.samples {
            0 | 1 => ("tex_2d_array", "r1l_r1h_r2l_r2h_r3l"),
            _ => ("tex_2d_ms_array", "r0h_r1l_r1h_r2l"),
        };
        let mut text = String::new();
        let slots = layout.slots.iter().enumerate().filter(|s| stored >> s.0 & 1 != 0);
        for (n, slot) in slots.filter_map(|s| *s.1).enumerate() {
            let format = slot.isa.text().unwrap_or("i32");
            let _ = write!(
                text,
                "mov_imm r0, {}, 0b0\nget_sr r1, sr2 (threadgroup_position_in_grid.z)\n\
                 image_write_block r0l, {place}, 0, ts{n}, {name}, rte, {format}, 0, 9, 1\n",
                slot.offset,
            );
        }
        text += "stop";
        let code = assemble(&text).map_err(|e| {
            let why = e.first().map_or_else(String::new, ToString::to_string);
            Error::new(vk::Result::ERROR_UNKNOWN, format!("an end-of-tile program: {why}"))
        })?;
        let code = Arc::new(self.code(&code)?);
        Ok(lock(&self.tile_programs.end).entry(key).or_insert(code).clone())
    }
}

/// The IR of a background program.
fn background(tile: &Tile, before: [Before; TARGETS]) -> Shader {
    let mut s = Shader::new(Stage::Fragment);
    let ms = tile.samples > 1;
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
    let mut place = None;
    for (k, format) in tile.formats.iter().enumerate() {
        let Some(format) = format else { continue };
        let kind = kind(tepui_agx_compiler::abi::tile::channels(*format).1);
        let colour = match before[k] {
            Before::Nothing => continue,
            Before::Clear => {
                let words: Vec<_> = (0..4)
                    .map(|c| {
                        let at = b.u32(16 * k as u32 + 4 * c);
                        b.load(
                            Op::LoadUniform,
                            Mem { align_log2: 2, ..Mem::default() },
                            &[at],
                            Type::B32,
                        )
                    })
                    .collect();
                b.vec(&words)
            }
            Before::Load => {
                let at = *place.get_or_insert_with(|| {
                    let p = b.builtin(Builtin::FragCoord, Type::vec(32, 4));
                    let xy: Vec<_> = [0, 1]
                        .map(|c| {
                            let v = b.extract(p, c);
                            b.convert(Op::F2U, v, 32)
                        })
                        .to_vec();
                    let layer = b.builtin(Builtin::Layer, Type::B32);
                    b.vec(&[xy[0], xy[1], layer])
                });
                let r = b.shader.resources.push(Resource {
                    kind: ResKind::Texture,
                    set: 0,
                    binding: k as u32,
                    count: 1,
                    input_attachment: 0,
                    dim: Dim::D2,
                    array: true,
                    ms,
                    format: ImageFormat::Unknown,
                    texels: kind,
                    name: String::new(),
                });
                let image = b.descriptor(r, zero, Access::NON_WRITABLE);
                let mut args = vec![image, at];
                let mut operands = TexOperands::empty();
                if ms {
                    operands |= TexOperands::SAMPLE;
                    args.push(b.builtin(Builtin::SampleId, Type::B32));
                } else {
                    operands |= TexOperands::LOD;
                    args.push(zero);
                }
                let attrs = Attrs::Image(Image {
                    dim: Dim::D2,
                    array: true,
                    ms,
                    kind,
                    operands,
                    component: 0,
                    residency: false,
                    format: ImageFormat::Unknown,
                    access: Access::NON_WRITABLE,
                });
                b.value(Op::TexFetch, attrs, &args, Type::vec(32, 4))
            }
        };
        let slot = IoSlot {
            loc: IoLoc::Location(k as u16),
            component: 0,
            index: 0,
            kind,
            interp: Interp::Flat,
            sampling: Sampling::Center,
        };
        b.effect(Op::StoreOutput, Attrs::Io(slot), &[colour, zero]);
    }
    b.yield_(&[]);
    s
}
