//! Launches of compute programs, and barriers between them.

use std::sync::Arc;
use tepui_sysval::{Arguments, SystemValue};

use tepui_agx_compiler::Source;
use tepui_agx_packets::{cdm, usc};
use tepui_vulkan::Result;
use tepui_vulkan::backend::Dispatch;
use tepui_vulkan::command::MAX_PUSH;
use tepui_vulkan::dependency::{Dependency, Ordering, Within};

use super::bindings::{Bindings, Halves, word};
use super::order::{Wait, splits, wait_of};
use super::{Encoder, put};
use crate::family::Agx;
use crate::shader::Variant;

impl Encoder {
    /// Appends a dispatch of a program, which runs at the same time as other launches unless a dependency or [`Encoder::order`] says
    /// otherwise. `writes` says whether it may write memory.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn launch(
        &mut self,
        v: &Arc<Variant>,
        bindings: &Bindings,
        push: &[u8; MAX_PUSH],
        dispatch: &Dispatch,
        writes: bool,
    ) -> Result<()> {
        if matches!(dispatch, Dispatch::Direct(_, groups) if groups.contains(&0)) {
            return Ok(());
        }
        self.before_launch(writes)?;
        self.append_launch(v, bindings, push, dispatch, &|_| None, &|_| None)
    }

    /// Appends a dispatch of a sequence of the driver's own, after all launches before and before all later ones: `own` supplies its
    /// values besides its size and the view, `from_memory` the addresses of words that the GPU writes.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn launch_with(
        &mut self,
        v: &Arc<Variant>,
        bindings: &Bindings,
        push: &[u8; MAX_PUSH],
        dispatch: &Dispatch,
        own: &dyn Fn(Source) -> Option<Halves>,
        from_memory: &dyn Fn(Source) -> Option<u64>,
    ) -> Result<()> {
        self.order();
        self.before_launch(true)?;
        self.append_launch(v, bindings, push, dispatch, own, from_memory)?;
        self.order();
        Ok(())
    }

    fn append_launch(
        &mut self,
        v: &Arc<Variant>,
        bindings: &Bindings,
        push: &[u8; MAX_PUSH],
        dispatch: &Dispatch,
        own: &dyn Fn(Source) -> Option<Halves>,
        from_memory: &dyn Fn(Source) -> Option<u64>,
    ) -> Result<()> {
        let (base, groups) = match dispatch {
            Dispatch::Direct(base, groups) => (*base, *groups),
            Dispatch::Indirect(base, _) => (*base, [0; 3]),
        };
        let view = self.expansion.view;
        let own = |s: Source| match s {
            Source::System(SystemValue::NumWorkgroups { axis }) => {
                Some(word(groups[usize::from(axis)]))
            }
            Source::System(SystemValue::BaseWorkgroup { axis }) => {
                Some(word(base[usize::from(axis)]))
            }
            s => {
                own(s).or_else(|| (s == Source::System(SystemValue::ViewIndex)).then(|| word(view)))
            }
        };
        // The number of workgroups comes from where the dispatch does.
        let from_memory = |s: Source| match (s, dispatch) {
            (Source::System(value), Dispatch::Indirect(_, at)) => value
                .in_arguments(Arguments::Dispatch)
                .map(|offset| at + u64::from(offset))
                .or_else(|| from_memory(s)),
            (s, _) => from_memory(s),
        };
        let block = self.block(v, bindings, push, &own)?;
        let mut words = Vec::with_capacity(128);
        self.state_words(&mut words, v, block, |s| bindings.addresses[usize::from(s)])?;
        for &(half, value) in &v.recipe.values {
            if let crate::recipe::Value::Source(source) = value
                && let Some(buffer) = from_memory(source)
            {
                put_uniform(&mut words, v.recipe.register(half), source.halves(), buffer)?;
            }
        }
        put!(
            words,
            usc::Shared {
                uses_shared_memory: v.shared_bytes > 0,
                layout: usc::SharedLayout::VertexCompute,
                sample_count: 1,
                sample_stride_in_8_bytes: 0,
                bytes_per_threadgroup: if v.shared_bytes > 0 {
                    v.shared_bytes.next_multiple_of(256)
                } else {
                    65536
                },
            }
        );
        self.end_words(&mut words, v, None, false)?;
        let pipeline = self.upload(&words, 64)?.usc();
        let (mode, local) = match dispatch {
            Dispatch::Direct(..) => (cdm::Mode::Direct, v.workgroup),
            Dispatch::Indirect(..) => (cdm::Mode::IndirectGlobal, v.workgroup),
        };
        put!(
            self.stream,
            cdm::LaunchWord0 {
                uniform_register_count: Self::uniform_count(v),
                texture_state_register_count: v.textures.next_multiple_of(8),
                sampler_state_register_count: Self::sampler_states(v),
                preshader_register_count: 16,
                mode,
            }
        );
        put!(self.stream, cdm::LaunchWord1 { pipeline });
        match *dispatch {
            Dispatch::Direct(_, groups) => {
                let [x, y, z] = [0, 1, 2].map(|k| groups[k].saturating_mul(local[k]));
                put!(self.stream, cdm::GlobalSize { x, y, z });
            }
            // In memory, the size is counted in workgroups.
            Dispatch::Indirect(_, address) => put!(self.stream, cdm::Indirect { address }),
        }
        let [x, y, z] = local;
        put!(self.stream, cdm::LocalSize { x, y, z });
        self.stream_scratch = self.stream_scratch.max(v.scratch);
        self.keep.push(v.clone());
        Ok(())
    }
}

impl Encoder {
    /// Makes the next launch wait for all before it.
    pub(super) fn order(&mut self) {
        self.order.ask(Wait::All);
    }

    /// Does what a dependency asks for.
    pub(super) fn depend(&mut self, d: &Dependency<Agx>, within: Within) -> Ordering {
        self.order.ask(wait_of(d));
        match within {
            Within::Rendering { reads_targets } if splits(d, reads_targets) => {
                self.order.counts.splits += 1;
                Ordering::SplitRendering
            }
            _ => Ordering::Done,
        }
    }

    /// Puts a barrier in front of a launch, if it has to wait.
    pub(super) fn before_launch(&mut self, writes: bool) -> Result<()> {
        if self.order.needs_barrier(writes) {
            self.compute_barrier()?;
        }
        self.order.open = true;
        self.order.counts.launches += 1;
        Ok(())
    }

    /// Makes what the stream's launches wrote visible to later commands. Whether the end of a stream does so by itself is unknown;
    /// Mesa has a barrier after each launch.
    pub(super) fn end_launches(&mut self) -> Result<()> {
        if self.order.open {
            self.compute_barrier()?;
        }
        self.order.wait = Wait::Nothing;
        Ok(())
    }

    /// Makes what was launched visible to what follows.
    fn compute_barrier(&mut self) -> Result<()> {
        // Bits 0 to 19 but 12 and 14 to 17, as Mesa sets them after each launch. source:
        // hk_cmd_dispatch.c, cdm_barrier
        put!(
            self.stream,
            cdm::Barrier {
                unk_0: true,
                unk_1: true,
                unk_2: true,
                usc_cache_inval: true,
                unk_4: true,
                unk_5: true,
                unk_6: true,
                unk_7: true,
                unk_8: true,
                unk_9: true,
                unk_10: true,
                unk_11: true,
                unk_13: true,
                unk_18: true,
                unk_19: true,
                ..cdm::Barrier::default()
            }
        );
        self.order.passed();
        Ok(())
    }
}

/// A USC word that loads uniforms.
pub(super) fn put_uniform(words: &mut Vec<u8>, half: u16, halves: u16, buffer: u64) -> Result<()> {
    let size_halfs = u32::from(halves);
    if half < 256 {
        put!(words, usc::Uniform { start_halfs: u32::from(half), size_halfs, buffer });
    } else {
        put!(words, usc::UniformHigh { start_halfs: u32::from(half - 256), size_halfs, buffer });
    }
    Ok(())
}
