//! Decodes the arguments of `i915`'s ioctls into field names and values.

use tepui_decode::calls as shared;
use tepui_drm::uapi::i915::{
    ContextParam, EngineClassInstance, MemoryClassInstance, UserExtension,
};
use tepui_drm::uapi::{Field, KernelStruct};

pub use tepui_decode::calls::Fields;

/// Decodes the fields of a kernel structure. Nested structures are flattened
/// (`base.next_extension`).
pub fn fields(list: &'static [Field], bytes: &[u8]) -> Fields {
    shared::fields(list, bytes, inner)
}

/// Decodes the fields of a typed structure, as [`fields`] does.
pub fn fields_of<T: KernelStruct>(bytes: &[u8]) -> Fields {
    fields(T::FIELDS, bytes)
}

/// The fields of a nested structure, by the name of its type.
fn inner(ty: &str) -> Option<&'static [Field]> {
    Some(match ty {
        "UserExtension" => UserExtension::FIELDS,
        "EngineClassInstance" => EngineClassInstance::FIELDS,
        "MemoryClassInstance" => MemoryClassInstance::FIELDS,
        "ContextParam" => ContextParam::FIELDS,
        _ => return None,
    })
}
