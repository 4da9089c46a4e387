//! Draws of a triangle: every pixel of a picture is what the interpreter says.

use crate::reference::{self, Pixel, Words};
use std::collections::HashMap;
use tepui_ir::interp::Memory;
use tepui_ir::{IoLoc, Shader};

/// A triangle of two shaders on square targets.
pub struct Triangle<'a> {
    /// Vertex shader; its attributes are 0.
    pub vertex: &'a Shader,
    /// Fragment shader.
    pub fragment: &'a Shader,
    /// Components of the targets before the draw.
    pub clear: [u32; 4],
    /// Side of the targets.
    pub side: u32,
}

impl Triangle<'_> {
    /// Pixels by the interpreter, row after row.
    ///
    /// # Panics
    /// When the interpreter does not run a shader.
    #[must_use]
    pub fn reference(&self) -> Vec<Pixel> {
        let mut memory = Memory::default();
        let corners: Vec<Words> =
            reference::vertices(self.vertex, &mut memory, (0, 3), 0, &|_, _, _| 0)
                .expect("the interpreter runs the vertex shader");
        let mut framebuffer = HashMap::new();
        for (c, &word) in (0..4).zip(&self.clear) {
            framebuffer.insert((IoLoc::Location(0), c), word);
        }
        let corners = [&corners[0], &corners[1], &corners[2]];
        reference::triangle(self.fragment, &mut memory, corners, [self.side; 2], &framebuffer)
            .expect("the interpreter runs the fragment shader")
    }

    /// Compares a picture with the pixels of [`Triangle::reference`]. Pixels near edges are left out, and components that the fragment
    /// shader does not write. `colour` gives the components of a target's pixel, `near` says whether a component is
    /// what it must be, `what` is added to messages.
    ///
    /// # Panics
    /// At the first difference, or when the triangle covers hardly anything.
    pub fn compare(
        &self,
        want: &[Pixel],
        targets: &[u8],
        colour: &dyn Fn(u8, usize) -> Vec<u32>,
        near: &dyn Fn(u8, u32, u32) -> bool,
        what: &dyn Fn() -> String,
    ) {
        let mut covered = 0;
        for &n in targets {
            for (k, p) in want.iter().enumerate().filter(|(_, p)| !p.doubtful) {
                covered += usize::from(p.alive);
                for (c, got) in (0..).zip(colour(n, k)) {
                    let written = p.colours.get(&(n, c)).copied();
                    let cleared = Some(self.clear[usize::from(c)]);
                    let Some(want) = (if p.alive { written } else { cleared }) else { continue };
                    assert!(
                        near(n, got, want),
                        "pixel {} {}, colour {n} component {c}: {got:#x} ({}), not {want:#x} ({})\n{}",
                        k % self.side as usize,
                        k / self.side as usize,
                        f32::from_bits(got),
                        f32::from_bits(want),
                        what()
                    );
                }
            }
        }
        assert!(covered > 100, "{covered} pixels are too few\n{}", what());
    }
}

/// Whether a float is within a tolerance of what it must be, relative to the larger of it and 1.
#[must_use]
pub fn floats_are_near(tolerance: f64, got: u32, want: u32) -> bool {
    let (g, w) = (f64::from(f32::from_bits(got)), f64::from(f32::from_bits(want)));
    got == want || (g - w).abs() <= tolerance * g.abs().max(1.0)
}
