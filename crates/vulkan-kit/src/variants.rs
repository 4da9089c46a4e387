//! Programs by the state that they are compiled for.
//!
//! [`Variants`] holds those of a running process; [`key`] makes the number by which a cache on disk finds one. Both take an explicit
//! structure of state that says what a program depends on.

use std::hash::Hash;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::Xxh3;

/// A hash of all of a program's state, for caches of one build of the driver: the same state gives the same number in each process.
pub fn key(state: &impl Hash) -> u128 {
    let mut hasher = Xxh3::new();
    state.hash(&mut hasher);
    hasher.digest128()
}

/// Programs by their state. Reading takes no turns; two threads may make the same program, and the first one stays.
pub struct Variants<K, V>(RwLock<FxHashMap<K, V>>);

impl<K, V> Default for Variants<K, V> {
    fn default() -> Self {
        Variants(RwLock::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Variants<K, V> {
    fn read(&self) -> RwLockReadGuard<'_, FxHashMap<K, V>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program of a state.
    pub fn get(&self, state: &K) -> Option<V> {
        self.read().get(state).cloned()
    }

    /// The program of a state, made if it is not there.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_or<E>(&self, state: &K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        self.get_if_or(state, |_| true, make)
    }

    /// The program of a state if it `serves`; else a new one, which takes its place.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get_if_or<E>(
        &self,
        state: &K,
        serves: impl Fn(&V) -> bool,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let found = |map: &FxHashMap<K, V>| map.get(state).filter(|v| serves(v)).cloned();
        if let Some(v) = found(&self.read()) {
            return Ok(v);
        }
        let v = make()?;
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have inserted it first.
        if let Some(v) = found(&map) {
            return Ok(v);
        }
        map.insert(state.clone(), v.clone());
        Ok(v)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// All programs, in no order.
    pub fn all(&self) -> Vec<V> {
        self.read().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_of_a_state_stays_unless_it_does_not_serve() {
        let v = Variants::<u8, u32>::default();
        let made = |n| move || Ok::<_, ()>(n);
        assert_eq!(v.get_or(&1, made(10)), Ok(10));
        assert_eq!(v.get_or(&1, made(20)), Ok(10));
        assert_eq!(v.get_or(&2, || Err("no")), Err("no"));
        assert_eq!(v.get(&2), None);
        assert_eq!(v.get_if_or(&1, |p| *p > 10, made(30)), Ok(30));
        assert_eq!((v.get(&1), v.all()), (Some(30), vec![30]));
    }

    #[test]
    fn keys_tell_states_apart() {
        #[derive(Hash)]
        struct State {
            samples: u8,
            formats: Vec<Option<u16>>,
        }
        let of = |samples, formats: &[_]| key(&State { samples, formats: formats.to_vec() });
        let all = [
            of(1, &[Some(1), None]),
            of(2, &[Some(1), None]),
            of(1, &[None, Some(1)]),
            of(1, &[Some(1)]),
        ];
        for (k, a) in all.iter().enumerate() {
            assert!(all[..k].iter().all(|b| a != b), "{k}");
        }
        assert_eq!(all[0], of(1, &[Some(1), None]));
    }
}
