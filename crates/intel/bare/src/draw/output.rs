//! Blending, viewports, depth and stencil.

use super::{Builder, DrawError};
use crate::PAGE;
use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::FragmentInfo;
use tepui_intel_packets::gen12;
use tepui_intel_packets::output::{
    BlendState, BlendStateEntry, CcViewport, CompareFunction, SfClipViewport,
    State3dBlendStatePointers, State3dDepthBuffer, State3dPsBlend, State3dStencilBuffer,
    State3dViewportStatePointersCc, State3dViewportStatePointersSfClip, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{State3dMultisample, State3dSampleMask, State3dSamplePattern};
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};

/// Bytes of a tile, and of a row of it.
pub(super) const TILE_BYTES: usize = 4096;
const TILE_PITCH: u32 = 128;

/// Offsets of the depth and stencil buffers in memory, and of a word that nothing reads.
pub(super) struct Zs {
    pub depth: Option<u64>,
    pub stencil: Option<u64>,
    word: u64,
}

impl Builder<'_, '_> {
    pub(super) fn output(&mut self, info: &FragmentInfo) -> Result<(), DrawError> {
        self.add(State3dMultisample {
            number_of_multisamples: self.d.samples_log2,
            ..State3dMultisample::default()
        })?;
        self.add(State3dSampleMask { sample_mask: 0xffff })?;
        self.add(State3dSamplePattern::standard())?;
        let mut blend = BlendState::default().pack()?.to_vec();
        for k in 0..8 {
            let mut entry = BlendStateEntry::default();
            if let (0, Some([source, destination])) = (k, self.d.blend) {
                entry = BlendStateEntry {
                    color_buffer_blend_enable: true,
                    source_blend_factor: source,
                    destination_blend_factor: destination,
                    source_alpha_blend_factor: source,
                    destination_alpha_blend_factor: destination,
                    ..entry
                };
            }
            blend.extend(entry.pack()?);
        }
        let blend = self.m.place(&blend, 64);
        self.add(State3dBlendStatePointers {
            blend_state_pointer_valid: true,
            blend_state_pointer: blend,
        })?;
        self.add(State3dPsBlend {
            has_writeable_rt: info.targets != 0,
            color_buffer_blend_enable: self.d.blend.is_some(),
            ..State3dPsBlend::default()
        })?;
        let [width, height] = self.d.size.map(|n| n as f32);
        let mut viewports = self.d.viewports.clone();
        if viewports.is_empty() {
            viewports.push([0.0, 0.0, width, height]);
        }
        let (mut clip, mut depths) = (Vec::new(), Vec::new());
        for &[left, top, width, height] in &viewports {
            let state = SfClipViewport {
                viewport_matrix_element_m00: width / 2.0,
                viewport_matrix_element_m11: height / 2.0,
                viewport_matrix_element_m22: 1.0,
                viewport_matrix_element_m30: left + width / 2.0,
                viewport_matrix_element_m31: top + height / 2.0,
                viewport_matrix_element_m32: 0.0,
                x_min_clip_guardband: -64.0,
                x_max_clip_guardband: 64.0,
                y_min_clip_guardband: -64.0,
                y_max_clip_guardband: 64.0,
                x_min_viewport: left,
                x_max_viewport: left + width - 1.0,
                y_min_viewport: top,
                y_max_viewport: top + height - 1.0,
            };
            clip.extend(state.pack()?);
            depths.extend(CcViewport { minimum_depth: 0.0, maximum_depth: 1.0 }.pack()?);
        }
        let clip = self.m.place(&clip, 64);
        self.add(State3dViewportStatePointersSfClip { sf_clip_viewport_pointer: clip })?;
        let depths = self.m.place(&depths, 64);
        self.add(State3dViewportStatePointersCc { cc_viewport_pointer: depths })
    }

    /// A tile each for depth and for stencil, if there is such a test.
    pub(super) fn zs_buffers(&mut self) -> Zs {
        let depth = self.d.depth.map(|(_, clear)| {
            let bytes = clear.to_le_bytes().repeat(TILE_BYTES / 4);
            self.m.place(&bytes, PAGE)
        });
        let stencil = self.d.stencil.map(|_| self.m.place(&[0; TILE_BYTES], PAGE));
        Zs { depth, stencil, word: self.m.place(&[0; 8], 8) }
    }

    pub(super) fn zs(&mut self, zs: &Zs) -> Result<(), DrawError> {
        let &Zs { depth, stencil, word } = zs;
        let [width, height] = self.d.size.map(|n| n - 1);
        // source: Mesa, genxml (`SURFTYPE_2D`, `SURFTYPE_NULL`, `D32_FLOAT`)
        let kind = |there: bool| if there { 1 } else { 7 };
        let depth_buffer = State3dDepthBuffer {
            surface_type: kind(depth.is_some() || stencil.is_some()),
            surface_format: 1,
            depth_write_enable: depth.is_some(),
            stencil_write_enable: stencil.is_some(),
            surface_base_address: depth.map_or(0, |at| self.m.address(at)),
            surface_pitch: TILE_PITCH - 1,
            width,
            height,
            ..State3dDepthBuffer::default()
        };
        let stencil_at = stencil.map_or(0, |at| self.m.address(at));
        match self.generation {
            Generation::Gen9 => {
                self.add(depth_buffer)?;
                self.add(State3dStencilBuffer {
                    stencil_buffer_enable: stencil.is_some(),
                    surface_base_address: stencil_at,
                    surface_pitch: TILE_PITCH - 1,
                    ..State3dStencilBuffer::default()
                })?;
            }
            Generation::Gen12 => {
                self.add(gen12::State3dDepthBuffer::from(depth_buffer))?;
                self.add(gen12::State3dStencilBuffer {
                    surface_type: kind(stencil.is_some()),
                    stencil_write_enable: stencil.is_some(),
                    surface_base_address: stencil_at,
                    surface_pitch: TILE_PITCH - 1,
                    width,
                    height,
                    ..gen12::State3dStencilBuffer::default()
                })?;
                // Wa_1408224581.
                self.add(PipeControl {
                    post_sync_operation: PostSyncOperation::WriteImmediateData,
                    address: self.m.address(word),
                    ..PipeControl::default()
                })?;
            }
        }
        self.add(State3dWmDepthStencil {
            depth_test_enable: depth.is_some(),
            depth_buffer_write_enable: depth.is_some(),
            depth_test_function: self.d.depth.map_or(CompareFunction::Always, |d| d.0),
            stencil_test_enable: stencil.is_some(),
            stencil_test_function: self.d.stencil.unwrap_or_default(),
            stencil_test_mask: 0xff,
            ..State3dWmDepthStencil::default()
        })
    }
}

/// The depths of a Y tile: columns of 16 bytes, 32 rows each.
pub(super) fn depths(tile: &[u8; TILE_BYTES], [width, height]: [u32; 2]) -> Vec<f32> {
    let at = |x: u32, y: u32| (x / 4 * 512 + y * 16 + x % 4 * 4) as usize;
    let depth = |x, y| {
        let bytes = tile[at(x, y)..].first_chunk().copied();
        f32::from_le_bytes(bytes.unwrap_or_default())
    };
    (0..height).flat_map(|y| (0..width).map(move |x| depth(x, y))).collect()
}
