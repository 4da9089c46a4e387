//! Objects of handles: their allocation, and conversion of handles to references.
//!
//! A handle is the address of its object. Objects come from the application's allocation callbacks, if
//! there are any; memory that they own comes from the global allocator.

use std::alloc::Layout;
use std::ffi::c_void;

use vulkanalia_sys as vk;

use crate::error::{Error, Result};

/// Value that the loader expects in the first word of a dispatchable object. source: vk_icd.h,
/// ICD_LOADER_MAGIC
const LOADER_MAGIC: usize = 0x01CD_C0DE;

/// A dispatchable object: the loader overwrites the first word with its dispatch table.
#[repr(C)]
pub struct Dispatchable<T> {
    loader: usize,
    inner: T,
}

impl<T> Dispatchable<T> {
    /// Puts the loader's word before an object.
    pub fn new(inner: T) -> Dispatchable<T> {
        Dispatchable { loader: LOADER_MAGIC, inner }
    }
}

impl<T> std::ops::Deref for Dispatchable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> std::ops::DerefMut for Dispatchable<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// The application's allocator, or the global one.
#[derive(Clone, Copy)]
pub struct Allocator(Option<vk::AllocationCallbacks>);

// SAFETY: callbacks may be called from any thread that calls the API (Vulkan specification, "Host Memory").
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

impl Allocator {
    /// The global allocator.
    pub const GLOBAL: Allocator = Allocator(None);

    /// The callbacks at a pointer, or `parent`'s if it is null.
    ///
    /// # Safety
    /// The pointer is null or valid.
    pub unsafe fn new(callbacks: *const vk::AllocationCallbacks, parent: Allocator) -> Allocator {
        // SAFETY: as the caller says.
        unsafe { callbacks.as_ref() }.map_or(parent, |c| Allocator(Some(*c)))
    }

    /// Moves an object to memory of its own.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn create<T>(self, value: T) -> Result<*mut T> {
        let layout = Layout::new::<T>();
        debug_assert!(layout.size() > 0);
        let memory = match self.0 {
            // SAFETY: the size is not 0.
            None => unsafe { std::alloc::alloc(layout) },
            Some(c) => {
                let allocate = c.allocation.ok_or_else(Error::host_memory)?;
                let scope = vk::SystemAllocationScope::OBJECT;
                // SAFETY: the application's function, called as the specification says.
                unsafe { allocate(c.user_data, layout.size(), layout.align(), scope) }.cast()
            }
        }
        .cast::<T>();
        if memory.is_null() {
            return Err(Error::host_memory());
        }
        // SAFETY: the memory is new and of the right size and alignment.
        unsafe { memory.write(value) };
        Ok(memory)
    }

    /// Drops an object and frees its memory.
    ///
    /// # Safety
    /// The object was created by a compatible allocator and is no longer used.
    pub unsafe fn destroy<T>(self, object: *mut T) {
        if object.is_null() {
            return;
        }
        // SAFETY: as the caller says.
        unsafe { object.drop_in_place() };
        match self.0 {
            // SAFETY: as the caller says.
            None => unsafe { std::alloc::dealloc(object.cast(), Layout::new::<T>()) },
            Some(c) => {
                if let Some(free) = c.free {
                    // SAFETY: as the caller says.
                    unsafe { free(c.user_data, object.cast::<c_void>()) };
                }
            }
        }
    }
}

/// The object of a non-dispatchable handle.
///
/// # Safety
/// The handle is one of this driver's and names a live `T`.
pub unsafe fn get<'a, T>(handle: impl vk::Handle<Repr = u64>) -> &'a T {
    // SAFETY: as the caller says.
    unsafe { &*(handle.as_raw() as *const T) }
}

/// The object of a non-dispatchable handle that may be null.
///
/// # Safety
/// As for [`get`].
pub unsafe fn maybe<'a, T>(handle: impl vk::Handle<Repr = u64>) -> Option<&'a T> {
    // SAFETY: as the caller says.
    unsafe { (handle.as_raw() as *const T).as_ref() }
}

/// The object of a non-dispatchable handle, mutably.
///
/// # Safety
/// As for [`get`]; the application synchronises access externally.
pub unsafe fn get_mut<'a, T>(handle: impl vk::Handle<Repr = u64>) -> &'a mut T {
    // SAFETY: as the caller says.
    unsafe { &mut *(handle.as_raw() as *mut T) }
}

/// The object of a dispatchable handle.
///
/// # Safety
/// As for [`get`].
pub unsafe fn dispatch<'a, T>(handle: impl vk::Handle<Repr = usize>) -> &'a T {
    // SAFETY: as the caller says.
    unsafe { &*(handle.as_raw() as *const Dispatchable<T>) }
}

/// The object of a dispatchable handle, mutably.
///
/// # Safety
/// As for [`get_mut`].
pub unsafe fn dispatch_mut<'a, T>(handle: impl vk::Handle<Repr = usize>) -> &'a mut T {
    // SAFETY: as the caller says.
    unsafe { &mut *(handle.as_raw() as *mut Dispatchable<T>) }
}

/// A handle from an object.
pub fn handle<H: vk::Handle<Repr = u64>, T>(object: *const T) -> H {
    H::from_raw(object as u64)
}

/// A dispatchable handle from an object.
pub fn dispatchable<H: vk::Handle<Repr = usize>, T>(object: *const Dispatchable<T>) -> H {
    H::from_raw(object as usize)
}

/// A slice from a pointer and a count; empty when the pointer is null.
///
/// # Safety
/// The pointer is null or points to `count` values.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// Answers an enumeration: without an array the count, else as many elements as there is room for.
///
/// # Safety
/// `count` is valid, and `out` null or an array of that many elements.
pub unsafe fn enumerate<T, U>(
    count: *mut u32,
    out: *mut T,
    items: &[U],
    mut put: impl FnMut(&mut T, &U),
) -> vk::Result {
    // SAFETY: as the caller says.
    unsafe {
        if out.is_null() {
            *count = items.len() as u32;
            return vk::Result::SUCCESS;
        }
        let n = (*count as usize).min(items.len());
        for (k, item) in items[..n].iter().enumerate() {
            put(&mut *out.add(k), item);
        }
        *count = n as u32;
        if n < items.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
    }
}

/// An array for closures, without a heap allocation for the usual counts.
pub fn copied<T: Copy, const N: usize>(list: &[T], fill: T) -> ([T; N], usize) {
    let mut out = [fill; N];
    let n = list.len().min(N);
    out[..n].copy_from_slice(&list[..n]);
    (out, n)
}
