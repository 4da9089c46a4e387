//! Arrays of objects in the client's memory (`drm_panthor_obj_array`), and structures that newer clients extend.

use tepui_drm::Errno;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::KernelStruct;
use tepui_drm::uapi::panthor::ObjArray;
use tepui_drm::user::{UserMemory, extensible, read_array};

/// Objects of one array. A choice: the header names no limit.
const MAX_OBJECTS: u32 = 1 << 20;

/// Largest object in bytes, as a newer client may know it: a page.
const MAX_STRIDE: u32 = 4096;

/// Reads an array. Objects may be longer than the known structure if the remaining bytes are zero.
///
/// `required` is the size of the object's first version, which every client knows.
pub fn objects<T: KernelStruct>(
    user: &dyn UserMemory,
    array: &ObjArray,
    required: usize,
) -> Result<Vec<T>, Refusal> {
    if array.count == 0 {
        return Ok(Vec::new());
    }
    require(array.stride as usize >= required, "stride is smaller than the object")?;
    require(array.stride <= MAX_STRIDE, "stride is larger than a page")?;
    require(array.count <= MAX_OBJECTS, "the array has too many objects")?;
    let mut values = Vec::new();
    for index in 0..u64::from(array.count) {
        let offset = index * u64::from(array.stride);
        let at = array.array.checked_add(offset).ok_or(Errno::FAULT)?;
        let bytes = read_array::<u8>(user, at, array.stride as usize)?;
        values.push(argument(&bytes)?);
    }
    Ok(values)
}

/// A structure from the `bytes` that the client passed, which may be fewer or more.
pub fn argument<T: KernelStruct>(bytes: &[u8]) -> Result<T, Refusal> {
    extensible(bytes)
        .map_err(|errno| Refusal { errno, why: "fields that are unknown here are not 0" })
}
