//! Compiles WGSL and GLSL with the naga library.

use naga::back::spv::SourceLanguage;
use tepui_ir::Stage;

use super::Request;

/// Values of WGSL overrides, by name or `@id`.
fn overrides(spec: &[String]) -> Result<naga::back::PipelineConstants, String> {
    let mut constants = naga::back::PipelineConstants::default();
    for s in spec {
        let (name, value) = s.split_once('=').ok_or_else(|| format!("`{s}`: write NAME=VALUE"))?;
        let value = match value {
            "true" => 1.0,
            "false" => 0.0,
            number => number.parse().map_err(|_| format!("`{number}` is not a number"))?,
        };
        constants.insert(name.to_owned(), value);
    }
    Ok(constants)
}

/// Writes a naga module as SPIR-V with debug names and lines.
fn write(
    module: &naga::Module,
    request: &Request<'_>,
    language: SourceLanguage,
) -> Result<Vec<u32>, String> {
    let info = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    )
    .validate(module)
    .map_err(|e| format!("naga: {e:?}"))?;
    let (module, info) = naga::back::pipeline_constants::process_overrides(
        module,
        &info,
        None,
        &overrides(request.spec)?,
    )
    .map_err(|e| format!("{e}: give it with --spec NAME=VALUE"))?;
    let name = request.path.display().to_string();
    // Debug names and lines for the listing, and no checks against infinite loops.
    let options = naga::back::spv::Options {
        flags: naga::back::spv::Options::default().flags | naga::back::spv::WriterFlags::DEBUG,
        debug_info: Some(naga::back::spv::DebugInfo {
            source_code: request.text,
            file_name: &name,
            language,
        }),
        lang_version: (1, 3),
        force_loop_bounding: false,
        // Zeroed by all threads together; naga's other way has one thread store each element.
        zero_initialize_workgroup_memory:
            naga::back::spv::ZeroInitializeWorkgroupMemoryMode::Native,
        ..Default::default()
    };
    naga::back::spv::write_vec(&module, &info, &options, None).map_err(|e| format!("naga: {e}"))
}

/// Compiles WGSL to SPIR-V.
///
/// # Errors
/// naga's error message.
pub fn wgsl(request: &Request<'_>) -> Result<Vec<u32>, String> {
    let module =
        naga::front::wgsl::parse_str(request.text).map_err(|e| e.emit_to_string(request.text))?;
    write(&module, request, SourceLanguage::WGSL)
}

/// Compiles GLSL to SPIR-V.
///
/// # Errors
/// naga's error message.
pub fn glsl(request: &Request<'_>, stage: Stage) -> Result<Vec<u32>, String> {
    let mut options = naga::front::glsl::Options::from(match stage {
        Stage::Compute => naga::ShaderStage::Compute,
        Stage::Vertex => naga::ShaderStage::Vertex,
        Stage::Fragment => naga::ShaderStage::Fragment,
        stage => return Err(format!("naga reads no {stage} shaders; glslang does")),
    });
    for define in request.defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        options.defines.insert(name.to_owned(), value.to_owned());
    }
    let module = naga::front::glsl::Frontend::default()
        .parse(&options, request.text)
        .map_err(|e| format!("naga: {}", e.emit_to_string(request.text)))?;
    write(&module, request, SourceLanguage::GLSL)
}
