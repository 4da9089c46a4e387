//! Colours of a rendering that fragment programs read from the tile buffer, and the targets that their outputs go to.

use tepui_format::Format;
use tepui_ir::Shader;
use tepui_passes::attachments;
use tepui_vulkan::state::{GraphicsState, MAX_COLOURS};

use super::blend::NO_TARGET;

/// Targets of a fragment program's outputs and input attachments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Locations {
    /// Targets of outputs, if they are not those of their numbers.
    pub moved: Option<[Option<u8>; MAX_COLOURS]>,
    /// Targets of input attachments.
    inputs: [Option<u8>; MAX_COLOURS],
    /// Samples of a pixel, if input attachments are targets.
    samples: u32,
}

/// Targets of outputs, if they are not those of their numbers.
pub fn moved(
    s: &GraphicsState,
    formats: &[Option<Format>; MAX_COLOURS],
) -> Option<[Option<u8>; MAX_COLOURS]> {
    let mut moved = [None; MAX_COLOURS];
    for (k, location) in s.locations.iter().enumerate().filter(|&(k, _)| formats[k].is_some()) {
        if let Some(to) = location.and_then(|n| moved.get_mut(usize::from(n))) {
            *to = Some(k as u8);
        }
    }
    let is_moved = |k: usize| moved[k].is_some_and(|to| usize::from(to) != k);
    (0..MAX_COLOURS).any(is_moved).then_some(moved)
}

impl Locations {
    /// Locations of a state for targets of some formats; `reads` says whether the program has input attachments.
    pub fn new(
        s: &GraphicsState,
        formats: &[Option<Format>; MAX_COLOURS],
        reads: bool,
    ) -> Locations {
        let mut out = Locations { moved: moved(s, formats), ..Locations::default() };
        if s.local_read && reads {
            for (target, input) in s.inputs.iter().enumerate() {
                if let Some(slot) = input.and_then(|n| out.inputs.get_mut(usize::from(n)))
                    && formats[target].is_some()
                {
                    (*slot, out.samples) = (Some(target as u8), s.samples);
                }
            }
        }
        out
    }

    /// Whether a program reads the samples of several.
    pub fn reads_samples(&self) -> bool {
        self.samples > 1
    }

    /// Lowers reads of input attachments and moves outputs.
    pub fn run(&self, ir: &mut Shader) {
        if let Some(moved) = &self.moved {
            attachments::move_outputs(ir, moved, NO_TARGET);
        }
        attachments::run(ir, &self.inputs, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_go_to_the_attachments_that_take_them() {
        let format = Some(Format::R8G8B8A8_UNORM);
        let mut formats = [None; MAX_COLOURS];
        (formats[0], formats[1]) = (format, format);
        let mut s = GraphicsState::default();
        assert_eq!(Locations::new(&s, &formats, true), Locations::default());
        (s.locations[0], s.locations[1]) = (Some(1), Some(0));
        let swapped = Locations::new(&s, &formats, false).moved.unwrap();
        assert_eq!(swapped[..2], [Some(1), Some(0)]);
        // An attachment without an output moves none.
        (s.locations[0], s.locations[1]) = (None, Some(1));
        assert_eq!(Locations::new(&s, &formats, false).moved, None);
    }

    #[test]
    fn input_attachments_are_targets_of_renderings_without_a_render_pass() {
        let mut formats = [None; MAX_COLOURS];
        formats[1] = Some(Format::R8G8B8A8_UNORM);
        let mut s = GraphicsState { local_read: true, samples: 4, ..GraphicsState::default() };
        s.inputs[1] = Some(0);
        assert_eq!(Locations::new(&s, &formats, true).inputs[0], Some(1));
        assert!(Locations::new(&s, &formats, true).reads_samples());
        assert!(!Locations::new(&s, &formats, false).reads_samples());
        s.local_read = false;
        assert_eq!(Locations::new(&s, &formats, true), Locations::default());
    }
}
