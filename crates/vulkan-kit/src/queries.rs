//! Layout of a query pool in memory: the values of all queries as 64-bit words, then a word of each that says whether they are there.

/// The layout of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLayout {
    /// Queries.
    pub count: u32,
    /// Values of each.
    pub values: u32,
}

impl QueryLayout {
    /// Bytes of the pool.
    pub fn bytes(self) -> u64 {
        8 * u64::from(self.values + 1) * u64::from(self.count)
    }

    /// The first byte of a value of a query.
    pub fn value(self, query: u32, value: u32) -> u64 {
        8 * (u64::from(self.values) * u64::from(query) + u64::from(value))
    }

    /// The first byte of the word that says whether the values of a query are there.
    pub fn available(self, query: u32) -> u64 {
        8 * (u64::from(self.values) * u64::from(self.count) + u64::from(query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_words_are_in_two_places() {
        let pool = QueryLayout { count: 5, values: 3 };
        let all = (0..5).flat_map(|q| (0..3).map(move |v| pool.value(q, v)));
        let mut all: Vec<_> = all.chain((0..5).map(|q| pool.available(q))).collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq((0..pool.bytes() / 8).map(|word| 8 * word)));
    }

    #[test]
    fn large_pools_do_not_wrap() {
        let pool = QueryLayout { count: u32::MAX, values: 11 };
        assert_eq!(pool.available(u32::MAX - 1), pool.bytes() - 8);
    }
}
