//! The program that copies the parameters of an indirect or conditional dispatch into its job.
//!
//! A dispatch that does not happen becomes a job of no type. source: Mesa, pan_indirect_dispatch.c

use std::sync::Arc;

use tepui_ir::{Op, Shader, Stage, Type};
use tepui_mali_compiler::Options;
use tepui_sysval::{Long, push_words};
use tepui_vulkan::Result;
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_kit::builder::Words;

use crate::device::Device;
use crate::shader::{Dynamic, Variant, compile_error};
use tepui_mali_compiler::target::LANES;

push_words! {
    /// Words of the program.
    pub struct PatchWords {
        /// Address of the job.
        pub job: Long,
        /// Address of the numbers of workgroups.
        pub arguments: Long,
        /// Address of the word that decides.
        pub condition: Long,
        /// Address of the uniform with the number of workgroups in x.
        pub count_x: Long,
        /// Address of that in y.
        pub count_y: Long,
        /// Address of that in z.
        pub count_z: Long,
        /// Whether the dispatch happens if the word is zero, rather than if it is not.
        pub inverted: u32,
        /// The header's word with the type, without the type.
        pub type_word: u32,
    }
}

/// Offset of the word with the type in a job.
const TYPE: i32 = 16;
/// Offset of the numbers of workgroups in a compute job.
const COUNTS: i32 = 40;
/// Bits of the type of compute jobs, and of jobs without work. source: v9.xml (`Job Type`)
const COMPUTE: u32 = 4 << 1;
const NULL: u32 = 1 << 1;

fn build() -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [1; 3];
    let mut m = MetaBuilder::new(&mut s, LANES).with_words(Words::Push);
    let m = &mut m;
    let zero = m.ir.u32(0);
    let condition = m.word(PatchWords::CONDITION);
    let word = m.load(condition, Type::B32, 0);
    let is_set = m.op(Op::INe, word, zero);
    let inverted = m.word(PatchWords::INVERTED);
    let inverts = m.op(Op::INe, inverted, zero);
    let mut happens = m.op(Op::IXor, is_set, inverts);
    let (job, arguments) = (m.word(PatchWords::JOB), m.word(PatchWords::ARGUMENTS));
    let counts = [0, 1, 2].map(|k| m.load(arguments, Type::B32, 4 * k));
    for count in counts {
        let some = m.op(Op::INe, count, zero);
        happens = m.op(Op::IAnd, happens, some);
    }
    let fields = [PatchWords::COUNT_X, PatchWords::COUNT_Y, PatchWords::COUNT_Z];
    for ((k, field), count) in (0i32..).zip(fields).zip(counts) {
        let own = m.ir.select(happens, count, zero);
        m.store(job, own, COUNTS + 4 * k);
        let uniform = m.word(field);
        m.store(uniform, count, 0);
    }
    let [compute, null] = [COMPUTE, NULL].map(|bits| m.ir.u32(bits));
    let kind = m.ir.select(happens, compute, null);
    let rest = m.word(PatchWords::TYPE_WORD);
    let kind = m.op(Op::IOr, rest, kind);
    m.store(job, kind, TYPE);
    m.ir.yield_(&[]);
    s
}

impl Device {
    /// The program.
    ///
    /// # Errors
    /// When it does not compile.
    pub fn patch(&self) -> Result<Arc<Variant>> {
        if let Some(found) = self.meta.patch.get() {
            return Ok(found.clone());
        }
        let program = tepui_mali_compiler::compile(&mut build(), &Options::default())
            .map_err(|e| compile_error(&e))?;
        let made = Arc::new(Variant::new(self, &program, Dynamic::default(), false)?);
        Ok(self.meta.patch.get_or_init(|| made).clone())
    }
}
