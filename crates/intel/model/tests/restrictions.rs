//! Restrictions on the order of commands: batches that keep them, and batches without what they ask for.

use std::sync::Arc;

use tepui_intel_chips::{CHIPS, Generation};
use tepui_intel_model::{Batch, Gpu, Options, ReportKind};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersVs, State3dConstantBody, State3dConstantGs, State3dConstantVs,
    State3dPushConstantAllocVs,
};
use tepui_intel_packets::media::MediaVfeState;
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::output::{State3dCcStatePointers, State3dDepthBuffer};
use tepui_intel_packets::pixel::{State3dPs, State3dWmHzOp};
use tepui_intel_packets::stages::{State3dGs, State3dVs};
use tepui_intel_packets::state::{
    PipeControl, Pipeline, PipelineSelect, PostSyncOperation, StateBaseAddress,
};
use tepui_intel_packets::vertex::Primitive3d;
use tepui_intel_packets::{Packet, Revision, gen12};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x1_0000;
const BYTES: usize = 0x1_0000;
const WORD: u64 = BASE + 0x8000;

/// A batch of a generation.
struct Commands {
    generation: Generation,
    bytes: Vec<u8>,
}

impl Commands {
    fn new(generation: Generation) -> Commands {
        Commands { generation, bytes: Vec::new() }
    }

    fn put<P: Packet>(&mut self, packet: P) -> &mut Commands {
        let revision: Revision = tepui_intel_packets::revision(self.generation);
        let mut bytes = vec![0; P::INFO.size_bytes];
        packet.pack_into_as(&mut bytes, revision).expect("a command");
        self.bytes.extend(bytes);
        self
    }

    fn select(&mut self, pipeline: Pipeline) -> &mut Commands {
        let mask = if self.generation == Generation::Gen12 { 0x13 } else { 3 };
        self.put(PipelineSelect {
            pipeline_selection: pipeline,
            mask_bits: mask,
            ..PipelineSelect::default()
        })
    }

    fn control(&mut self, set: impl FnOnce(&mut PipeControl)) -> &mut Commands {
        let mut control = PipeControl::default();
        set(&mut control);
        if control.post_sync_operation != PostSyncOperation::NoWrite {
            control.address = WORD;
        }
        self.put(control)
    }

    /// Work that draws nothing: a list without vertices.
    fn draw(&mut self) -> &mut Commands {
        self.put(Primitive3d { primitive_topology_type: 1, ..Primitive3d::default() })
    }

    fn base(&mut self, surface: u64) -> &mut Commands {
        let set = StateBaseAddress {
            surface_state_base_address_modify_enable: true,
            surface_state_base_address: surface,
            ..StateBaseAddress::default()
        };
        match self.generation {
            Generation::Gen9 => self.put(set),
            Generation::Gen12 => self.put(gen12::StateBaseAddress::from(set)),
        }
    }

    /// A depth buffer that is none (surface type 7), with what Gen12 wants after it.
    fn no_depth(&mut self) -> &mut Commands {
        match self.generation {
            Generation::Gen9 => {
                self.put(State3dDepthBuffer { surface_type: 7, ..State3dDepthBuffer::default() })
            }
            Generation::Gen12 => {
                let depth = gen12::State3dDepthBuffer {
                    surface_type: 7,
                    ..gen12::State3dDepthBuffer::default()
                };
                self.put(depth)
                    .control(|c| c.post_sync_operation = PostSyncOperation::WriteImmediateData)
            }
        }
    }

    /// The names of the restrictions that the batch does not keep.
    fn broken(&self) -> Vec<String> {
        let chip = CHIPS.iter().find(|chip| chip.generation == self.generation).expect("a chip");
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(BYTES).expect("memory"));
        vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
        let gpu = Gpu::new(chip, Options { check: true, ..Options::default() });
        let mut batch = self.bytes.clone();
        batch.extend(MiBatchBufferEnd::default().pack().expect("a command"));
        vm.write(BASE, &batch).unwrap();
        let batch = Batch { address: BASE, length: batch.len() as u64 };
        let stats = gpu.execute(&vm, &mut gpu.context(), &batch).expect("a batch without faults");
        let mut names: Vec<String> = stats
            .reports
            .iter()
            .filter(|report| report.kind == ReportKind::CommandOrder)
            .map(|report| report.at.text.split_once(", ").expect("a name").1.to_owned())
            .collect();
        names.sort();
        names
    }
}

fn flush_all(control: &mut PipeControl) {
    control.render_target_cache_flush_enable = true;
    control.depth_cache_flush_enable = true;
    control.depth_stall_enable = true;
    control.dc_flush_enable = true;
    control.command_streamer_stall_enable = true;
}

fn invalidate_all(control: &mut PipeControl) {
    control.texture_cache_invalidation_enable = true;
    control.constant_cache_invalidation_enable = true;
    control.state_cache_invalidation_enable = true;
    control.instruction_cache_invalidate_enable = true;
}

const BOTH: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

#[test]
fn another_pipeline_needs_flushes() {
    for generation in BOTH {
        let gen9 = generation == Generation::Gen9;
        let mut right = Commands::new(generation);
        right.select(Pipeline::ThreeD).draw().control(flush_all).control(invalidate_all);
        right.select(Pipeline::Gpgpu);
        assert_eq!(right.broken(), [""; 0], "{generation}");

        let mut without = Commands::new(generation);
        without.select(Pipeline::ThreeD).draw().control(|c| {
            flush_all(c);
            c.depth_cache_flush_enable = false;
        });
        without.control(invalidate_all).select(Pipeline::Gpgpu);
        assert_eq!(without.broken(), ["PIPELINE_SELECT"], "{generation}");

        // Invalidations of the PIPE_CONTROL that flushes come before the flush.
        let mut at_once = Commands::new(generation);
        at_once.select(Pipeline::ThreeD).draw().control(|c| {
            flush_all(c);
            invalidate_all(c);
        });
        at_once.select(Pipeline::Gpgpu);
        let expected: &[&str] = if gen9 { &["PIPELINE_SELECT"] } else { &[] };
        assert_eq!(at_once.broken(), expected, "{generation}");

        let mut colours = Commands::new(generation);
        colours.select(Pipeline::ThreeD).put(State3dCcStatePointers {
            color_calc_state_pointer_valid: true,
            color_calc_state_pointer: 0,
        });
        colours.select(Pipeline::Gpgpu);
        let expected: &[&str] = if gen9 { &["WaClearCCStatePriorPipelineSelect"] } else { &[] };
        assert_eq!(colours.broken(), expected, "{generation}");
    }
}

#[test]
fn base_addresses_need_flushes_before_and_an_invalidation_after() {
    for generation in BOTH {
        let mut right = Commands::new(generation);
        right.select(Pipeline::ThreeD).draw().control(flush_all).base(0x10_0000);
        right.control(invalidate_all).draw();
        assert_eq!(right.broken(), [""; 0], "{generation}");

        let mut wrong = Commands::new(generation);
        wrong.select(Pipeline::ThreeD).draw().base(0x10_0000).draw();
        let expected = ["STATE_BASE_ADDRESS", "state cache after STATE_BASE_ADDRESS"];
        assert_eq!(wrong.broken(), expected, "{generation}");

        // Nothing was read yet.
        let mut first = Commands::new(generation);
        first.select(Pipeline::ThreeD).base(0x10_0000).draw();
        assert_eq!(first.broken(), [""; 0], "{generation}");

        // A base that stays needs nothing.
        let mut same = Commands::new(generation);
        same.select(Pipeline::ThreeD).draw().base(0).draw();
        assert_eq!(same.broken(), [""; 0], "{generation}");

        let mut gpgpu = Commands::new(generation);
        gpgpu.select(Pipeline::Gpgpu).base(0x10_0000);
        let expected: &[&str] =
            if generation == Generation::Gen9 { &[] } else { &["Wa_1607854226"] };
        assert_eq!(gpgpu.broken(), expected, "{generation}");
    }
}

#[test]
fn pipe_controls_have_rules_of_their_own() {
    let mut vertices = Commands::new(Generation::Gen9);
    vertices.select(Pipeline::ThreeD).control(|c| c.vf_cache_invalidation_enable = true);
    let expected = ["WaPipeControlBeforeVFCacheInvalidationEnable", "vertex cache invalidation"];
    assert_eq!(vertices.broken(), expected);
    let mut right = Commands::new(Generation::Gen9);
    right.select(Pipeline::ThreeD).control(|_| {}).control(|c| {
        c.vf_cache_invalidation_enable = true;
        c.post_sync_operation = PostSyncOperation::WriteImmediateData;
    });
    assert_eq!(right.broken(), [""; 0]);

    for generation in BOTH {
        let mut textures = Commands::new(generation);
        textures.select(Pipeline::Gpgpu).control(|c| c.texture_cache_invalidation_enable = true);
        assert_eq!(textures.broken(), ["texture invalidation in GPGPU"], "{generation}");
        let mut vfe = Commands::new(generation);
        vfe.select(Pipeline::ThreeD).draw().put(MediaVfeState::default());
        assert_eq!(vfe.broken(), ["MEDIA_VFE_STATE"], "{generation}");
    }

    let mut depth = Commands::new(Generation::Gen12);
    depth.select(Pipeline::ThreeD).control(|c| c.depth_cache_flush_enable = true);
    assert_eq!(depth.broken(), ["Wa_1409600907"]);
}

#[test]
fn constants_take_effect_with_the_binding_table() {
    let vertex = State3dVs { enable: true, simd8_dispatch_enable: true, ..State3dVs::default() };
    let constants = |slot: usize| {
        let mut body = State3dConstantBody::default();
        match slot {
            0 => body.read_length_0 = 1,
            _ => body.read_length_3 = 1,
        }
        State3dConstantVs { constant_body: body, ..State3dConstantVs::default() }
    };
    let table = State3dBindingTablePointersVs { pointer_to_vs_binding_table: 0 };
    let begin = || {
        let mut commands = Commands::new(Generation::Gen9);
        commands.select(Pipeline::ThreeD).put(vertex);
        commands
    };
    let mut right = begin();
    right.put(State3dPushConstantAllocVs::default()).put(constants(3)).put(table).draw();
    assert_eq!(right.broken(), [""; 0]);
    let mut late = begin();
    late.put(table).put(constants(3)).draw();
    assert_eq!(late.broken(), ["3DSTATE_CONSTANT"]);
    let mut moved = begin();
    moved.put(constants(3)).put(table).put(State3dPushConstantAllocVs::default()).draw();
    assert_eq!(moved.broken(), ["3DSTATE_PUSH_CONSTANT_ALLOC"]);
    let mut low = begin();
    low.put(constants(0)).put(table).draw();
    assert_eq!(low.broken(), ["3DSTATE_CONSTANT, buffer 0"]);
}

/// Mesa's drivers differ: for one, other constants ask for those of all stages, for the other, another binding table. Both is an error.
#[test]
fn constants_of_all_stages_come_with_a_binding_table() {
    let vertex = State3dVs { enable: true, simd8_dispatch_enable: true, ..State3dVs::default() };
    let geometry = State3dGs { enable: true, ..State3dGs::default() };
    let (of_vertex, of_geometry) = (State3dConstantVs::default(), State3dConstantGs::default());
    let table = State3dBindingTablePointersVs { pointer_to_vs_binding_table: 0 };
    let begin = || {
        let mut commands = Commands::new(Generation::Gen12);
        commands.select(Pipeline::ThreeD).put(vertex).put(geometry);
        commands.put(of_vertex).put(of_geometry).put(table).draw();
        commands
    };
    let mut one = begin();
    one.put(of_vertex).put(table).draw();
    assert_eq!(one.broken(), ["Wa_1604061319"]);
    let mut both = begin();
    both.put(of_vertex).put(of_geometry).put(table).draw();
    assert_eq!(both.broken(), [""; 0]);
    let mut without_table = begin();
    without_table.put(of_vertex).draw();
    assert_eq!(without_table.broken(), [""; 0]);
}

#[test]
fn clears_need_flushes_around_them() {
    let fast_clear = State3dPs { render_target_fast_clear_enable: true, ..State3dPs::default() };
    for generation in BOTH {
        let mut wrong = Commands::new(generation);
        wrong.select(Pipeline::ThreeD).draw().put(fast_clear).draw();
        assert_eq!(wrong.broken(), ["clears and resolves"], "{generation}");
        let mut right = Commands::new(generation);
        right.select(Pipeline::ThreeD).draw().control(|c| {
            c.render_target_cache_flush_enable = true;
            c.depth_stall_enable = true;
            c.texture_cache_invalidation_enable = true;
            match generation {
                Generation::Gen9 => c.command_streamer_stall_enable = true,
                Generation::Gen12 => c.tile_cache_flush_enable = true,
            }
        });
        right.put(fast_clear).draw();
        assert_eq!(right.broken(), [""; 0], "{generation}");

        // An operation without its end.
        let resolve =
            State3dWmHzOp { depth_buffer_resolve_enable: true, ..State3dWmHzOp::default() };
        let mut open = Commands::new(generation);
        open.select(Pipeline::ThreeD).no_depth().put(resolve).draw();
        assert_eq!(open.broken(), ["3DSTATE_WM_HZ_OP"], "{generation}");
        let mut closed = Commands::new(generation);
        closed.select(Pipeline::ThreeD).no_depth().put(resolve);
        closed.control(|c| c.post_sync_operation = PostSyncOperation::WriteImmediateData);
        closed.put(State3dWmHzOp::default()).draw();
        assert_eq!(closed.broken(), [""; 0], "{generation}");
    }
}
