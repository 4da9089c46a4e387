//! Clears of attachments by rectangles in a rendering.

use tepui_ir::NumKind;
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{Attachment, Backend, Condition, Rendering};
use tepui_vulkan::{Result, vk};

use crate::draw;
use crate::encoder::{MetaEncoder, Rectangle};
use crate::program::Program;
use crate::view::kind_of;
use crate::words::ClearWords;

/// Attachments that are cleared, and their values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clear {
    /// Colours, a bit each.
    pub colours: u8,
    /// Colours of integers, a bit each.
    pub integers: u8,
    /// Values of the colours.
    pub words: ClearWords,
    /// Value of the depth.
    pub depth: Option<f32>,
    /// Value of the stencil.
    pub stencil: Option<u32>,
}

impl Clear {
    /// Parts of a rendering's attachments that a command clears.
    #[must_use]
    pub fn of_attachments<B: Backend>(
        rendering: &Rendering<B>,
        attachments: &[vk::ClearAttachment],
    ) -> Clear {
        let mut c = Clear::default();
        for a in attachments {
            // SAFETY: every bit pattern is a clear value.
            let value = unsafe { a.clear_value.color.uint32 };
            let aspects = a.aspect_mask;
            let k = a.color_attachment as usize;
            if aspects.contains(vk::ImageAspectFlags::COLOR)
                && let Some(Some(attachment)) = rendering.colours.get(k)
            {
                c.colour(k, attachment, value);
            }
            if aspects.contains(vk::ImageAspectFlags::DEPTH) && rendering.depth.is_some() {
                c.depth = Some(f32::from_bits(value[0]).clamp(0.0, 1.0));
            }
            if aspects.contains(vk::ImageAspectFlags::STENCIL) && rendering.stencil.is_some() {
                c.stencil = Some(value[1]);
            }
        }
        c
    }

    /// Parts of its attachments that a rendering clears at its beginning.
    #[must_use]
    pub fn of_loads<B: Backend>(rendering: &Rendering<B>) -> Clear {
        let clears = |a: &&Attachment<B>| a.load == vk::AttachmentLoadOp::CLEAR;
        let mut c = Clear::default();
        for (k, a) in rendering.colours.iter().enumerate() {
            if let Some(a) = a.as_ref().filter(clears) {
                c.colour(k, a, a.clear);
            }
        }
        let depth = rendering.depth.as_ref().filter(clears);
        c.depth = depth.map(|a| f32::from_bits(a.clear[0]).clamp(0.0, 1.0));
        c.stencil = rendering.stencil.as_ref().filter(clears).map(|a| a.clear[0]);
        c
    }

    /// Whether nothing is cleared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.colours == 0 && self.depth.is_none() && self.stencil.is_none()
    }

    fn colour<B: Backend>(&mut self, k: usize, a: &Attachment<B>, value: [u32; 4]) {
        self.colours |= 1 << k;
        self.integers |= u8::from(kind_of(a.image.format) != NumKind::Float) << k;
        self.words.colours[k] = value;
    }
}

/// Clears a rectangle of the current rendering.
///
/// # Errors
/// As [`MetaEncoder::draw`].
pub fn rectangle<E: MetaEncoder>(
    e: &mut E,
    clear: &Clear,
    rect: &vk::ClearRect,
    samples: u32,
    view_mask: u32,
    condition: Option<Condition>,
) -> Result<()> {
    let Clear { colours, integers, words, depth, stencil } = clear;
    e.draw(&Rectangle {
        fragment: Program::ClearFragments { colours: *colours, integers: *integers },
        words: words.words(),
        bindings: &[],
        state: draw::state(samples, depth.is_some(), *stencil),
        rect: rect.rect,
        depth: depth.unwrap_or(0.0),
        layer: rect.base_array_layer,
        layers: rect.layer_count.max(1),
        view_mask,
        condition,
    })
}
