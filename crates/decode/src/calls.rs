//! Decodes the arguments of ioctls into field names and values, using the field tables of the
//! kernel structures.

use std::borrow::Cow;

use tepui_drm::uapi::Field;
use tepui_packets::Value;

/// Field names and values.
pub type Fields = Vec<(Cow<'static, str>, Value)>;

/// The fields of a nested structure, by the name of its type; `None` for plain numbers.
pub type Inner = fn(&str) -> Option<&'static [Field]>;

/// Decodes the fields of a kernel structure. Nested structures, which `inner` describes, are
/// flattened (`helper.cfg`). Fields beyond the end of the bytes are left out, since a client may
/// use an older and shorter structure.
pub fn fields(list: &'static [Field], bytes: &[u8], inner: Inner) -> Fields {
    let mut out = Fields::new();
    collect("", list, bytes, inner, &mut out);
    out
}

fn collect(prefix: &str, list: &'static [Field], bytes: &[u8], inner: Inner, out: &mut Fields) {
    for field in list {
        let Some(bytes) = bytes.get(field.offset..field.offset + field.size) else { return };
        let name = match prefix {
            "" => Cow::Borrowed(field.name),
            _ => Cow::Owned(format!("{prefix}{}", field.name)),
        };
        match inner(field.ty) {
            Some(list) => collect(&format!("{name}."), list, bytes, inner, out),
            None => out.push((name, value(field, bytes))),
        }
    }
}

fn value(field: &Field, bytes: &[u8]) -> Value {
    if field.size > 8 || !field.size.is_power_of_two() {
        let words = bytes.chunks(8).map(|word| Value::Hex(number(word)));
        // Trailing zeros are left out: most tables end with them.
        let mut words: Vec<Value> = words.collect();
        while words.len() > 1 && words.last() == Some(&Value::Hex(0)) {
            words.pop();
        }
        return Value::Array(words);
    }
    let raw = number(bytes);
    match field.ty {
        "i32" => Value::Int(i64::from(raw as u32 as i32)),
        "i64" => Value::Int(raw as i64),
        _ if is_count(field.name) => Value::Uint(raw),
        _ if field.size == 8 || is_bits(field.name) => Value::Hex(raw),
        _ => Value::Uint(raw),
    }
}

/// Reads up to 8 bytes, little endian.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Whether a field is a count rather than an address or a bit field.
fn is_count(name: &str) -> bool {
    let ends = ["_len", "_ns", "_nsec", "_hz", "_khz", "_value", "_count"];
    ends.iter().any(|end| name.ends_with(end))
        || matches!(name, "size" | "point" | "src_point" | "dst_point" | "capability" | "value")
}

/// Whether a 32-bit field is a bit field rather than a number.
fn is_bits(name: &str) -> bool {
    ["flags", "usc", "rsrc_spec", "binary", "cfg", "chip_id", "gpu_revision", "isp_", "ppp_"]
        .iter()
        .any(|part| name.contains(part))
}
