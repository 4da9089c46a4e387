//! A small direct-mapped cache: descriptors by their bytes, blocks by theirs.

/// Values by what they were made of. Bounded; a new value takes the place of one with the same
/// hash.
pub struct Cache<K, V> {
    entries: Vec<Option<(K, V)>>,
    size: usize,
    /// Index of the value that was requested last.
    last: usize,
}

impl<K: Copy + PartialEq, V> Cache<K, V> {
    /// A cache of `size` values, a power of two.
    pub fn new(size: usize) -> Cache<K, V> {
        Cache { entries: Vec::new(), size, last: 0 }
    }

    /// The value for a key, made if it is not there.
    #[inline]
    pub fn get(&mut self, key: &K, hash: impl FnOnce(&K) -> u64, make: impl FnOnce(&K) -> V) -> &V {
        let again = matches!(self.entries.get(self.last), Some(Some((k, _))) if k == key);
        if self.entries.is_empty() {
            self.entries.resize_with(self.size, || None);
        }
        let at = match again {
            true => self.last,
            false => (hash(key) >> 32) as usize & (self.size - 1),
        };
        self.last = at;
        let entry = &mut self.entries[at];
        if !again && entry.as_ref().is_none_or(|(k, _)| k != key) {
            *entry = Some((*key, make(key)));
        }
        match entry {
            Some((_, value)) => value,
            None => unreachable!("the entry was filled just now"),
        }
    }
}

/// Mixes words into a hash whose upper half is well spread.
#[inline]
pub fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |h, w| (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

/// The words of a descriptor.
#[inline]
pub fn words<const N: usize>(bytes: &[u8; N]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|c| {
        let mut word = [0; 8];
        word[..c.len()].copy_from_slice(c);
        u64::from_le_bytes(word)
    })
}
