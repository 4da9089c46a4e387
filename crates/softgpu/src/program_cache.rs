//! The cache of decoded programs of a GPU.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Decoded programs by address. Users compare an entry with memory before they take it, since a driver may write another
/// program to the same address. Operations are larger than machine code, and programs may overlap, so the size is limited.
pub struct ProgramCache<P> {
    limit: usize,
    size: fn(&P) -> usize,
    entries: Mutex<Entries<P>>,
}

struct Entries<P> {
    programs: HashMap<u64, Arc<P>>,
    size: usize,
}

impl<P> Default for Entries<P> {
    fn default() -> Self {
        Entries { programs: HashMap::new(), size: 0 }
    }
}

impl<P> ProgramCache<P> {
    /// An empty cache, which starts anew when programs of more than `limit` would be in it, by their `size`.
    pub fn new(limit: usize, size: fn(&P) -> usize) -> ProgramCache<P> {
        ProgramCache { limit, size, entries: Mutex::default() }
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries<P>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program that was last decoded at an address.
    pub fn get(&self, address: u64) -> Option<Arc<P>> {
        self.entries().programs.get(&address).cloned()
    }

    /// Keeps a program in the place of an earlier one at its address.
    pub fn insert(&self, address: u64, program: Arc<P>) {
        let size = (self.size)(&program);
        let mut entries = self.entries();
        if entries.size + size > self.limit {
            *entries = Entries::default();
        }
        entries.size += size;
        if let Some(old) = entries.programs.insert(address, program) {
            entries.size -= (self.size)(&old);
        }
    }

    /// Forgets all programs.
    pub fn clear(&self) {
        *self.entries() = Entries::default();
    }

    /// All programs, by their addresses in ascending order.
    pub fn all(&self) -> Vec<(u64, Arc<P>)> {
        let entries = self.entries();
        let mut all: Vec<_> = entries.programs.iter().map(|(&at, p)| (at, p.clone())).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_do_not_pile_up() {
        let cache = ProgramCache::new(100, Vec::len);
        cache.insert(8, Arc::new(vec![1]));
        cache.insert(8, Arc::new(vec![2, 3]));
        assert_eq!(cache.get(8).as_deref(), Some(&vec![2, 3]));
        assert_eq!(cache.entries().size, 2);
        let mut most = 0;
        for address in 0..100 {
            cache.insert(address, Arc::new(vec![0; 10 + address as usize % 3]));
            let all = cache.all();
            let size: usize = all.iter().map(|(_, program)| program.len()).sum();
            assert!(size <= 100 && size == cache.entries().size);
            most = most.max(all.len());
        }
        assert!(most > 5);
        cache.clear();
        assert_eq!(cache.all(), []);
    }
}
