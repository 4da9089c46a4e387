//! Result ids, and maps and sets of them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A result id.
pub(crate) type Id = u32;

/// Hashes a 32-bit id by multiplication: ids are small and dense, and come from no attacker that
/// gains by collisions (the bound on work is the number of instructions).
#[derive(Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u32(u32::from(b));
        }
    }
    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_u64(&mut self, n: u64) {
        self.write_u32(n as u32);
        self.write_u32((n >> 32) as u32);
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u32(u32::from(n));
    }
}

/// A map keyed by ids.
pub(crate) type IdMap<V> = HashMap<Id, V, BuildHasherDefault<IdHasher>>;
/// A set of ids.
pub(crate) type IdSet = HashSet<Id, BuildHasherDefault<IdHasher>>;
/// A map keyed by ids or tuples of ids.
pub(crate) type SmallMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
