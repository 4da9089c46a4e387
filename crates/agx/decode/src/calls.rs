//! Decodes the arguments of `asahi`'s ioctls into field names and values.

use tepui_decode::calls as shared;
use tepui_drm::uapi::asahi::{
    BgEot, HelperProgram, ParamsGlobal, Timestamp, Timestamps, ZlsBuffer,
};
use tepui_drm::uapi::{Field, KernelStruct};

pub use tepui_decode::calls::Fields;

/// Decodes the fields of a kernel structure. Nested structures are flattened (`helper.cfg`).
pub fn fields(list: &'static [Field], bytes: &[u8]) -> Fields {
    shared::fields(list, bytes, inner)
}

/// Version of [`fields`] of a structure's type.
pub fn fields_of<T: KernelStruct>(bytes: &[u8]) -> Fields {
    fields(T::FIELDS, bytes)
}

/// The fields of a nested structure, by the name of its type.
fn inner(ty: &str) -> Option<&'static [Field]> {
    Some(match ty {
        "HelperProgram" => HelperProgram::FIELDS,
        "ZlsBuffer" => ZlsBuffer::FIELDS,
        "BgEot" => BgEot::FIELDS,
        "Timestamps" => Timestamps::FIELDS,
        "Timestamp" => Timestamp::FIELDS,
        "ParamsGlobal" => ParamsGlobal::FIELDS,
        _ => return None,
    })
}
