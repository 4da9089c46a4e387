//! Shaders in GLSL and WGSL as IR, by naga and the SPIR-V front end.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use tepui_ir::{Shader, Stage};

/// The IR of a vertex, fragment or compute shader in GLSL.
///
/// # Panics
/// When it is not valid.
#[must_use]
pub fn glsl(stage: Stage, source: &str) -> Shader {
    let naga_stage = match stage {
        Stage::Vertex => naga::ShaderStage::Vertex,
        Stage::Fragment => naga::ShaderStage::Fragment,
        _ => naga::ShaderStage::Compute,
    };
    let mut front = naga::front::glsl::Frontend::default();
    let module = front
        .parse(&naga::front::glsl::Options::from(naga_stage), source)
        .unwrap_or_else(|e| panic!("{e:?}"));
    translated(&module, stage)
}

/// The IR of a WGSL module's entry point of a stage.
///
/// # Panics
/// When it is not valid.
#[must_use]
pub fn wgsl(stage: Stage, source: &str) -> Shader {
    let module = naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{e}"));
    translated(&module, stage)
}

fn translated(module: &naga::Module, stage: Stage) -> Shader {
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(module).unwrap_or_else(|e| panic!("{e:?}"));
    let options = naga::back::spv::Options {
        flags: naga::back::spv::WriterFlags::empty(),
        ..Default::default()
    };
    let words =
        naga::back::spv::write_vec(module, &info, &options, None).unwrap_or_else(|e| panic!("{e}"));
    let options = tepui_spirv::Options { stage: Some(stage), ..Default::default() };
    tepui_spirv::translate(&words, &options).unwrap_or_else(|e| panic!("{e}"))
}
