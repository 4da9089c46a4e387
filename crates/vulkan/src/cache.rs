//! Pipeline caches: compiled programs by a hash of everything that they are made from.
//!
//! A family's driver asks [`Programs`] for the program of a key before it compiles one, and leaves there what it compiled. What
//! a program is, as bytes, is the driver's matter; damaged or foreign data is left out when a cache is loaded.
//!
//! A cache also has the shaders of the pipelines that were made with it ([`Made`]), which no data holds: a pipeline of the same
//! modules and set layouts takes them as they are, with the programs that they have by then.

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use vulkanalia_sys as vk;
use xxhash_rust::xxh3;

use crate::error::{Error, Result};
use crate::state::GraphicsState;

/// Bytes of the header. source: Vulkan specification, VkPipelineCacheHeaderVersionOne
pub const HEADER_B: usize = 32;

/// The header of a device's caches.
pub type Header = [u8; HEADER_B];

/// Bytes in front of each program: its key, its size, and a checksum of its bytes.
const ENTRY_B: usize = 16 + 8 + 8;

/// The header of caches of a physical device.
pub fn header(p: &vk::PhysicalDeviceProperties) -> Header {
    let mut h = [0; HEADER_B];
    let words = [HEADER_B as u32, 1, p.vendor_id, p.device_id];
    for (to, word) in h.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    h[16..].copy_from_slice(&p.pipeline_cache_uuid.0);
    h
}

/// A number that changes with the driver's library, for `pipelineCacheUUID`: caches of another build are refused.
pub fn build_stamp() -> u64 {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the function is in this library; the structure is filled in when the call says so.
    let path = unsafe {
        match libc::dladdr(build_stamp as *const c_void, info.as_mut_ptr()) {
            0 => None,
            _ => Some(std::ffi::CStr::from_ptr(info.assume_init().dli_fname).to_owned()),
        }
    };
    let stat = path.and_then(|p| rustix::fs::stat(p).ok());
    let parts = stat.map_or([0; 3], |s| [s.st_size as u64, s.st_mtime as u64, s.st_mtime_nsec]);
    xxh3::xxh3_64(bytemuck::bytes_of(&parts))
}

/// A shader or a set layout as the cache keeps it, independent of the family.
pub(crate) type Object = Arc<dyn Any + Send + Sync>;

/// Maximum number of states for which linked shaders are cached.
const MOST_LINKED: usize = 16;

/// The shaders of a pipeline.
pub(crate) struct Made {
    /// The set layouts that they know the places of descriptors from.
    pub layouts: Vec<Option<Object>>,
    /// The shaders of the pipeline's stages.
    pub shaders: Vec<Option<Object>>,
    /// States that the shaders are linked for. Pipelines with the same state share it, so that addresses tell.
    linked: RwLock<Vec<Arc<GraphicsState>>>,
}

impl Made {
    pub(crate) fn new(layouts: Vec<Option<Object>>, shaders: Vec<Option<Object>>) -> Made {
        Made { layouts, shaders, linked: RwLock::default() }
    }

    /// Whether the shaders are linked for a state.
    pub(crate) fn is_linked(&self, state: &Arc<GraphicsState>) -> bool {
        let linked = self.linked.read().unwrap_or_else(PoisonError::into_inner);
        linked.iter().any(|s| Arc::ptr_eq(s, state))
    }

    /// The shaders are linked for a state.
    pub(crate) fn keep_linked(&self, state: &Arc<GraphicsState>) {
        let mut linked = self.linked.write().unwrap_or_else(PoisonError::into_inner);
        if linked.len() == MOST_LINKED {
            linked.remove(0);
        }
        linked.push(state.clone());
    }

    /// Whether these are the set layouts.
    fn has_layouts<T>(&self, layouts: &[Option<Arc<T>>]) -> bool {
        let same = |(a, b): (&Option<Object>, &Option<Arc<T>>)| match (a, b) {
            (Some(a), Some(b)) => std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.layouts.len() == layouts.len() && self.layouts.iter().zip(layouts).all(same)
    }
}

/// A pipeline cache.
#[derive(Default)]
pub struct Cache {
    programs: RwLock<FxHashMap<u128, Arc<[u8]>>>,
    made: RwLock<FxHashMap<u128, Arc<Made>>>,
}

impl Cache {
    /// A cache with the programs in `data`, as far as they are whole and of this device and build.
    pub fn load(header: &Header, data: &[u8]) -> Cache {
        let mut programs = FxHashMap::default();
        let mut rest = data.strip_prefix(header).unwrap_or(&[]);
        while let Some((entry, more)) = rest.split_first_chunk::<ENTRY_B>() {
            let word = |k: usize| {
                let bytes = entry[k..k + 8].iter();
                bytes.rev().fold(0u64, |n, &b| n << 8 | u64::from(b))
            };
            let size = usize::try_from(word(16)).unwrap_or(usize::MAX);
            let Some((bytes, more)) = more.split_at_checked(size) else { break };
            if xxh3::xxh3_64(bytes) == word(24) {
                programs.insert(u128::from(word(8)) << 64 | u128::from(word(0)), bytes.into());
            }
            rest = more;
        }
        Cache { programs: RwLock::new(programs), ..Cache::default() }
    }

    /// The shaders of a pipeline with these set layouts.
    pub(crate) fn made<T>(&self, key: u128, layouts: &[Option<Arc<T>>]) -> Option<Arc<Made>> {
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        made.get(&key).filter(|m| m.has_layouts(layouts)).cloned()
    }

    /// Keeps the shaders of a pipeline.
    pub(crate) fn keep_made(&self, key: u128, made: Arc<Made>) {
        self.made.write().unwrap_or_else(PoisonError::into_inner).insert(key, made);
    }

    /// Lets go of all shaders: they hold the cache, too.
    pub(crate) fn forget_made(&self) {
        self.made.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The program of a key.
    pub fn get(&self, key: u128) -> Option<Arc<[u8]>> {
        self.programs.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Keeps a program.
    pub fn put(&self, key: u128, program: Vec<u8>) {
        self.programs.write().unwrap_or_else(PoisonError::into_inner).insert(key, program.into());
    }

    /// Takes over what another cache has.
    pub fn merge(&self, from: &Cache) {
        if std::ptr::eq(self, from) {
            return;
        }
        let programs = from.programs.read().unwrap_or_else(PoisonError::into_inner);
        let mut to = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        for (&key, program) in programs.iter() {
            to.entry(key).or_insert_with(|| program.clone());
        }
        let made = from.made.read().unwrap_or_else(PoisonError::into_inner);
        let mut to = self.made.write().unwrap_or_else(PoisonError::into_inner);
        for (&key, shaders) in made.iter() {
            to.entry(key).or_insert_with(|| shaders.clone());
        }
    }

    /// The cache as bytes, programs in the order of their keys; with a limit, as many whole programs as it allows. The second
    /// value says whether all are there.
    pub fn bytes(&self, header: &Header, limit: usize) -> (Vec<u8>, bool) {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        if limit < HEADER_B {
            return (Vec::new(), false);
        }
        let mut list: Vec<_> = programs.iter().collect();
        list.sort_unstable_by_key(|p| *p.0);
        let mut out = header.to_vec();
        for (key, program) in list {
            if out.len() + ENTRY_B + program.len() > limit {
                return (out, false);
            }
            out.extend(key.to_le_bytes());
            out.extend((program.len() as u64).to_le_bytes());
            out.extend(xxh3::xxh3_64(program).to_le_bytes());
            out.extend_from_slice(program);
        }
        (out, true)
    }
}

/// Programs that a pipeline may use: a cache, if the application gave one, and whether compilation is
/// allowed.
#[derive(Default)]
pub struct Programs {
    cache: Option<Arc<Cache>>,
    /// Whether the cache is the pipeline's own: such a cache must not hold the pipeline's shaders, to
    /// avoid a reference cycle.
    is_own: bool,
    only_cached: AtomicBool,
    found: AtomicBool,
    compiled: AtomicBool,
}

impl Programs {
    /// For one pipeline.
    pub(crate) fn new(cache: Option<Arc<Cache>>, only_cached: bool) -> Programs {
        Programs { cache, only_cached: AtomicBool::new(only_cached), ..Programs::default() }
    }

    /// For one pipeline that has a cache of its own.
    pub(crate) fn of_pipeline(own: Arc<Cache>, only_cached: bool) -> Programs {
        Programs { is_own: true, ..Programs::new(Some(own), only_cached) }
    }

    /// The application's cache, unless the pipeline must not compile: whether shaders have all their programs shows later.
    pub(crate) fn cache(&self) -> Option<&Arc<Cache>> {
        let only_cached = self.only_cached.load(Ordering::Relaxed);
        self.cache.as_ref().filter(|_| !self.is_own && !only_cached)
    }

    /// The pipeline's shaders came out of the cache.
    pub(crate) fn made_before(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    /// The program of a key, if the cache has one that `decode` takes.
    ///
    /// # Errors
    /// When there is none, and the pipeline must not compile.
    pub fn find<T>(&self, key: u128, decode: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>> {
        let found = self.cache.as_ref().and_then(|c| c.get(key)).and_then(|p| decode(&p));
        let state = if found.is_some() { &self.found } else { &self.compiled };
        state.store(true, Ordering::Relaxed);
        if found.is_none() && self.only_cached.load(Ordering::Relaxed) {
            return Err(Error::new(vk::Result::PIPELINE_COMPILE_REQUIRED, "not in the cache"));
        }
        Ok(found)
    }

    /// Keeps a program, when there is a cache.
    pub fn keep(&self, key: u128, encode: impl FnOnce() -> Option<Vec<u8>>) {
        if let Some(cache) = &self.cache
            && let Some(bytes) = encode()
        {
            cache.put(key, bytes);
        }
    }

    /// The pipeline is made: what its draws ask for later may be compiled.
    pub(crate) fn created(&self) {
        self.only_cached.store(false, Ordering::Relaxed);
    }

    /// Every program so far came out of the application's cache; what binaries bring did not.
    pub(crate) fn all_found(&self) -> bool {
        !self.is_own && self.found.load(Ordering::Relaxed) && !self.compiled.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> (Header, Cache) {
        let cache = Cache::default();
        for k in 0..5u8 {
            cache.put(u128::from(k) << 70 | 7, vec![k; 10 * usize::from(k)]);
        }
        (std::array::from_fn(|k| k as u8), cache)
    }

    #[test]
    fn what_is_written_is_read() {
        let (header, cache) = filled();
        let (bytes, whole) = cache.bytes(&header, usize::MAX);
        assert!(whole);
        let read = Cache::load(&header, &bytes);
        for k in 0..5u8 {
            let program = read.get(u128::from(k) << 70 | 7).unwrap();
            assert_eq!(&program[..], &vec![k; 10 * usize::from(k)]);
        }
        assert_eq!(read.bytes(&header, usize::MAX).0, bytes);
    }

    #[test]
    fn programs_of_binaries_are_no_hits_of_the_cache() {
        let cache = Arc::new(filled().1);
        let find = |p: &Programs| p.find(1 << 70 | 7, |bytes| Some(bytes.len())).unwrap();
        let application = Programs::new(Some(cache.clone()), true);
        assert_eq!(find(&application), Some(10));
        assert!(application.all_found());
        let own = Programs::of_pipeline(cache, true);
        assert_eq!(find(&own), Some(10));
        assert!(!own.all_found());
    }

    #[test]
    fn a_limit_leaves_whole_programs() {
        let (header, cache) = filled();
        let all = cache.bytes(&header, usize::MAX).0;
        for limit in 0..all.len() {
            let (some, whole) = cache.bytes(&header, limit);
            assert!(!whole && some.len() <= limit);
            let n = Cache::load(&header, &some).programs.into_inner().unwrap().len();
            assert_eq!(some.is_empty(), limit < HEADER_B);
            assert!(n < 5);
        }
    }

    #[test]
    fn damaged_programs_are_left_out() {
        let (header, cache) = filled();
        let bytes = cache.bytes(&header, usize::MAX).0;
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x55;
            let read = Cache::load(&header, &bad).programs.into_inner().unwrap();
            if at < HEADER_B {
                assert!(read.is_empty());
            }
            // A key is no part of its checksum: what is there under the old keys is right.
            for (key, program) in &read {
                if let Some(own) = cache.get(*key) {
                    assert_eq!(own, *program);
                }
            }
        }
        for end in 0..bytes.len() {
            Cache::load(&header, &bytes[..end]);
        }
    }
}
