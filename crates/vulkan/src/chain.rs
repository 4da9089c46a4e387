//! Extension chains: structures that point to further ones, each with its type in front.

use std::collections::HashMap;
use std::ffi::c_void;

use vulkanalia_sys as vk;

/// The head of every structure in a chain.
#[repr(C)]
struct Head {
    s_type: vk::StructureType,
    next: *mut Head,
}

/// Bytes of a structure's head.
const HEAD: usize = size_of::<Head>();

/// Finds a structure of an input chain.
///
/// # Safety
/// `next` is the start of a valid chain, and structures of the type are `T`s.
pub unsafe fn find<'a, T>(next: *const c_void, s_type: vk::StructureType) -> Option<&'a T> {
    let mut at = next.cast::<Head>();
    // SAFETY: as the caller says.
    while let Some(head) = unsafe { at.as_ref() } {
        if head.s_type == s_type {
            // SAFETY: as the caller says.
            return unsafe { at.cast::<T>().as_ref() };
        }
        at = head.next;
    }
    None
}

/// Calls `body` for each structure of an output chain, with its type and address.
///
/// # Safety
/// `next` is the start of a valid chain.
pub unsafe fn each(next: *mut c_void, mut body: impl FnMut(vk::StructureType, *mut c_void)) {
    let mut at = next.cast::<Head>();
    // SAFETY: as the caller says.
    while let Some(head) = unsafe { at.as_ref() } {
        let next = head.next;
        body(head.s_type, at.cast());
        at = next;
    }
}

/// Answers to queries with extension chains: for each structure type its contents.
#[derive(Clone, Default)]
pub struct Answers(HashMap<i32, Answer>);

/// The contents of a structure.
#[derive(Clone)]
struct Answer {
    /// All bytes after the head.
    bytes: Vec<u8>,
    /// Bytes of the members; the rest is padding, whose contents are undefined.
    members: usize,
}

impl Answers {
    /// Adds a structure whose type says where it belongs.
    ///
    /// # Safety
    /// `T` is a structure of the registry that begins with its type and a pointer, and has no further pointers.
    pub unsafe fn add<T: Copy + PartialEq>(&mut self, value: T) {
        debug_assert!(size_of::<T>() >= HEAD + 4);
        // SAFETY: all bytes of registry structures here are initialised but for padding, which is copied as it is.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        let s_type = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        // A word that comparisons do not see is no member.
        let is_padding = [0, 1].into_iter().all(|word: u32| {
            let mut other = value;
            // SAFETY: the last word is in the structure, which has numbers and truth values only.
            unsafe { (&raw mut other).add(1).cast::<u32>().sub(1).write(word) };
            other == value
        });
        let padding = if is_padding { size_of::<u32>() } else { 0 };
        let members = bytes.len() - HEAD - padding;
        self.0.insert(s_type, Answer { bytes: bytes[HEAD..].to_vec(), members });
    }

    /// Adds the structures of others; of those that both have, values are on that are on in one. They have truth values only.
    pub fn join(&mut self, others: &Answers) {
        for (s_type, other) in &others.0 {
            let Some(own) = self.0.get_mut(s_type) else {
                self.0.insert(*s_type, other.clone());
                continue;
            };
            let members = own.members;
            for (to, from) in own.bytes[..members].iter_mut().zip(&other.bytes[..members]) {
                *to |= from;
            }
        }
    }

    /// Fills in every structure of a chain that there is an answer for.
    ///
    /// # Safety
    /// `next` is the start of a valid chain.
    pub unsafe fn answer(&self, next: *mut c_void) {
        // SAFETY: a structure of a type has that type's size.
        unsafe {
            each(next, |s_type, at| {
                if let Some(Answer { bytes, .. }) = self.0.get(&s_type.as_raw()) {
                    at.cast::<u8>().add(HEAD).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
            });
        }
    }

    /// Looks for features that a chain asks for and that are not there; structures of truth values only.
    ///
    /// # Safety
    /// `next` is the start of a valid chain.
    pub unsafe fn lacks(&self, next: *const c_void) -> bool {
        let mut lacks = false;
        // SAFETY: as above.
        unsafe {
            each(next.cast_mut(), |s_type, at| {
                let Some(have) = self.0.get(&s_type.as_raw()) else { return };
                let words = have.bytes[..have.members].as_chunks::<4>().0;
                for (k, have) in words.iter().enumerate() {
                    let asked = at.cast::<u8>().add(HEAD + 4 * k).cast::<u32>().read();
                    lacks |= asked == 1 && u32::from_le_bytes(*have) == 0;
                }
            });
        }
        lacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_asks_for_nothing() {
        let have =
            vk::PhysicalDeviceMultiviewFeatures { multiview: vk::TRUE, ..Default::default() };
        let mut answers = Answers::default();
        // SAFETY: a structure of the registry.
        unsafe { answers.add(have) };
        let lacks = |word: usize| {
            let mut asked = [const { 0u64 }; size_of::<vk::PhysicalDeviceMultiviewFeatures>() / 8];
            let words: &mut [u32] = bytemuck::cast_slice_mut(&mut asked);
            words[0] = have.s_type.as_raw() as u32;
            words[HEAD / 4 + word] = vk::TRUE;
            // SAFETY: a chain of one structure.
            unsafe { answers.lacks(asked.as_ptr().cast()) }
        };
        // The first of three truth values is supported; the fourth word is padding.
        assert_eq!([0, 1, 2, 3].map(lacks), [false, true, true, false]);
    }
}
