//! The IR of the programs.

use tepui_ir::{Shader, Stage};
use tepui_vulkan_kit::MetaBuilder;

use crate::program::{Conventions, Program};
use crate::{image, memory, rectangle, texels};

impl Program {
    /// Threads of a workgroup in each direction.
    fn workgroup(self, threads: u32) -> [u32; 3] {
        match self {
            Program::CopyMemory { .. }
            | Program::CopyTexels { .. }
            | Program::Blit { .. }
            | Program::Resolve { .. } => [8, threads / 8, 1],
            Program::Word | Program::Captured => [1; 3],
            _ => [threads, 1, 1],
        }
    }

    /// Builds it.
    #[must_use]
    pub fn build(self, conventions: Conventions) -> Shader {
        let mut s = Shader::new(self.stage());
        if s.info.stage == Stage::Compute {
            s.info.workgroup_size = self.workgroup(conventions.threads);
        }
        let mut m = MetaBuilder::new(&mut s, conventions.threads).with_words(conventions.words);
        match self {
            Program::CopyMemory { unit, units, from, to } => {
                texels::copy_memory(&mut m, unit, units, [from, to]);
            }
            Program::CopyTexels { from, to, samples } => {
                texels::copy_texels(&mut m, from, to, samples)
            }
            Program::Fill => memory::fill(&mut m),
            Program::Word => memory::word(&mut m),
            Program::Count(words) => memory::count(&mut m, words),
            Program::Condition(words) => memory::condition(&mut m, words),
            Program::Captured => memory::captured(&mut m),
            Program::Queries { values, pairs, wide, availability, partial } => {
                let q = memory::Queries { values, pairs, wide, availability, partial };
                memory::queries(&mut m, &q);
            }
            Program::Blit { kind, volume, to } => image::blit(&mut m, kind, volume, to),
            Program::Resolve { kind, samples, how, to } => {
                image::resolve(&mut m, kind, samples, how, to);
            }
            Program::RectangleVertices => rectangle::vertices(&mut m),
            Program::ClearFragments { colours, integers } => {
                rectangle::clear(&mut m, colours, integers);
            }
        }
        m.ir.yield_(&[]);
        s
    }
}
