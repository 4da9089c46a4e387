//! Blocks of inputs and outputs: where their members go, and how they are interpolated.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionModel, FunctionControl, MemoryModel,
    StorageClass,
};
use tepui_spirv::{Options, translate};

/// A vertex shader whose block has a position and two clip distances, and nothing in between.
fn block() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.capability(Capability::ClipDistance);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, float, uint) = (b.type_void(), b.type_float(32, None), b.type_int(32, 0));
    let vec4 = b.type_vector(float, 4);
    let (zero, one, two) =
        (b.constant_bit32(uint, 0), b.constant_bit32(uint, 1), b.constant_bit32(uint, 2));
    let distances = b.type_array(float, two);
    let ty = b.type_struct([vec4, distances]);
    b.decorate(ty, Decoration::Block, []);
    for (member, builtin) in [(0, BuiltIn::Position), (1, BuiltIn::ClipDistance)] {
        b.member_decorate(ty, member, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
    }
    let pointer = b.type_pointer(None, StorageClass::Output, ty);
    let to_vec4 = b.type_pointer(None, StorageClass::Output, vec4);
    let to_float = b.type_pointer(None, StorageClass::Output, float);
    let out = b.variable(pointer, None, StorageClass::Output, None);
    let half = b.constant_bit32(float, 0.5f32.to_bits());
    let place = b.constant_composite(vec4, [half; 4]);
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    let position = b.access_chain(to_vec4, None, out, [zero]).unwrap();
    b.store(position, place, None, []).unwrap();
    for index in [zero, one] {
        let distance = b.access_chain(to_float, None, out, [one, index]).unwrap();
        b.store(distance, half, None, []).unwrap();
    }
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Vertex, main, "main", [out]);
    b.module().assemble()
}

#[test]
fn clip_distances_behind_the_position_begin_at_component_0() {
    let text = translate(&block(), &Options::default()).unwrap().to_string();
    for component in 0..2 {
        let store = format!("store_output[builtin clip_distance component {component} ");
        assert!(text.contains(&store), "no '{store}' in\n{text}");
    }
    assert!(!text.contains("clip_distance component 2"), "{text}");
}

/// A fragment shader that copies the second member of a block whose first member is interpolated linearly, at the centroid.
fn decorated_members() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, float, uint) = (b.type_void(), b.type_float(32, None), b.type_int(32, 0));
    let vec4 = b.type_vector(float, 4);
    let one = b.constant_bit32(uint, 1);
    let ty = b.type_struct([vec4, vec4]);
    b.decorate(ty, Decoration::Block, []);
    for member in 0..2 {
        b.member_decorate(ty, member, Decoration::Location, [Operand::LiteralBit32(member)]);
    }
    b.member_decorate(ty, 0, Decoration::NoPerspective, []);
    b.member_decorate(ty, 0, Decoration::Centroid, []);
    let to_block = b.type_pointer(None, StorageClass::Input, ty);
    let to_vec4 = b.type_pointer(None, StorageClass::Input, vec4);
    let to_out = b.type_pointer(None, StorageClass::Output, vec4);
    let input = b.variable(to_block, None, StorageClass::Input, None);
    let out = b.variable(to_out, None, StorageClass::Output, None);
    b.decorate(out, Decoration::Location, [Operand::LiteralBit32(0)]);
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    let second = b.access_chain(to_vec4, None, input, [one]).unwrap();
    let value = b.load(vec4, None, second, None, []).unwrap();
    b.store(out, value, None, []).unwrap();
    b.ret().unwrap();
    b.end_function().unwrap();
    b.entry_point(ExecutionModel::Fragment, main, "main", [input, out]);
    b.execution_mode(main, rspirv::spirv::ExecutionMode::OriginUpperLeft, []);
    b.module().assemble()
}

#[test]
fn members_do_not_inherit_interpolation_from_those_before() {
    let text = translate(&decorated_members(), &Options::default()).unwrap().to_string();
    let load = "load_input[location 1 component 0 float smooth center]";
    assert!(text.contains(load), "no '{load}' in\n{text}");
}
