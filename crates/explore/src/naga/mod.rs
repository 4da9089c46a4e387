//! Compiles WGSL and GLSL with the naga library.

mod guard;
mod lets;
mod pointers;

use naga::back::spv::SourceLanguage;
use tepui_ir::Stage;

use crate::source::{Source, SourceError, SourceLocation};

fn place(l: naga::SourceLocation) -> SourceLocation {
    SourceLocation { line: l.line_number, column: l.line_position, length: l.length }
}

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
    request: &Source<'_>,
    language: SourceLanguage,
) -> Result<Vec<u32>, SourceError> {
    let validator = || {
        let flags = naga::valid::ValidationFlags::all();
        // The SPIR-V writer has no external textures.
        let all = naga::valid::Capabilities::all();
        let capabilities = all.difference(naga::valid::Capabilities::TEXTURE_EXTERNAL);
        naga::valid::Validator::new(flags, capabilities)
    };
    let info = validator().validate(module).map_err(|e| {
        // The innermost cause says most.
        let mut cause: &dyn std::error::Error = e.as_inner();
        while let Some(next) = cause.source() {
            cause = next;
        }
        let place = e.location(request.text).map(place);
        let whole = format!("naga: {}", e.emit_to_string(request.text));
        SourceError { message: cause.to_string(), place, whole }
    })?;
    pointers::check(module, &info, request.text)?;
    let (module, info) = naga::back::pipeline_constants::process_overrides(
        module,
        &info,
        None,
        &overrides(request.spec).map_err(SourceError::new)?,
    )
    .map_err(|e| SourceError::new(format!("{e}: give it with --spec NAME=VALUE")))?;
    let mut module = module.into_owned();
    lets::store(&mut module, &info);
    let info = validator()
        .validate(&module)
        .map_err(|e| SourceError::new(format!("naga: {}", e.as_inner())))?;
    let name = request.name.to_owned();
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
    naga::back::spv::write_vec(&module, &info, &options, None)
        .map_err(|e| SourceError::new(format!("naga: {e}")))
}

/// Compiles WGSL to SPIR-V.
///
/// # Errors
/// naga's error message.
pub fn wgsl(request: &Source<'_>) -> Result<Vec<u32>, SourceError> {
    guard::guard(|| parse_wgsl(request))
}

fn parse_wgsl(request: &Source<'_>) -> Result<Vec<u32>, SourceError> {
    let module = naga::front::wgsl::parse_str(request.text).map_err(|e| SourceError {
        message: e.message().to_owned(),
        // Some errors begin with a label that is nowhere.
        place: e
            .labels()
            .map(|(span, _)| span.location(request.text))
            .find(|l| l.length > 0)
            .or_else(|| e.location(request.text))
            .map(place),
        whole: e.emit_to_string(request.text),
    })?;
    write(&module, request, SourceLanguage::WGSL)
}

/// Compiles GLSL to SPIR-V.
///
/// # Errors
/// naga's error message.
pub fn glsl(request: &Source<'_>, stage: Stage) -> Result<Vec<u32>, SourceError> {
    guard::guard(|| parse_glsl(request, stage))
}

fn parse_glsl(request: &Source<'_>, stage: Stage) -> Result<Vec<u32>, SourceError> {
    let mut options = naga::front::glsl::Options::from(match stage {
        Stage::Compute => naga::ShaderStage::Compute,
        Stage::Vertex => naga::ShaderStage::Vertex,
        Stage::Fragment => naga::ShaderStage::Fragment,
        stage => {
            return Err(SourceError::new(format!("naga reads no {stage} shaders; glslang does")));
        }
    });
    for define in request.defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        options.defines.insert(name.to_owned(), value.to_owned());
    }
    let module =
        naga::front::glsl::Frontend::default().parse(&options, request.text).map_err(|e| {
            SourceError {
                message: e.errors.first().map_or_else(String::new, |e| e.kind.to_string()),
                place: e.errors.first().and_then(|e| e.location(request.text)).map(place),
                whole: format!("naga: {}", e.emit_to_string(request.text)),
            }
        })?;
    write(&module, request, SourceLanguage::GLSL)
}
