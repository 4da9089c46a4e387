//! Translations that are made once a program has run for a while.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A program's translations, one for each of its `MODES`, made when the program has run a number of times.
#[derive(Debug)]
pub struct LazyTranslation<T, const MODES: usize = 1> {
    /// Remaining runs until the first translation.
    left: AtomicU32,
    translated: [OnceLock<Option<T>>; MODES],
}

impl<T, const MODES: usize> LazyTranslation<T, MODES> {
    /// Translations that are made after `runs` runs of groups; never if it is `u32::MAX`.
    pub fn after(runs: u32) -> Self {
        let never = runs == u32::MAX;
        let cell = |_| if never { OnceLock::from(None) } else { OnceLock::new() };
        LazyTranslation { left: AtomicU32::new(runs), translated: std::array::from_fn(cell) }
    }

    /// The translation for a mode, once it exists: `translate` makes it, if it can.
    #[inline]
    pub fn get(&self, mode: usize, translate: impl FnOnce() -> Option<T>) -> Option<&T> {
        let translated = &self.translated[mode];
        if let Some(translated) = translated.get() {
            return translated.as_ref();
        }
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return None;
        }
        translated.get_or_init(translate).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_come_after_some_runs() {
        let lazy = LazyTranslation::<u32, 2>::after(2);
        assert_eq!((lazy.get(0, || Some(1)), lazy.get(1, || Some(2))), (None, None));
        assert_eq!((lazy.get(1, || Some(3)), lazy.get(1, || Some(4))), (Some(&3), Some(&3)));
        assert_eq!((lazy.get(0, || None), lazy.get(0, || Some(5))), (None, None));
        let never = LazyTranslation::<u32>::after(u32::MAX);
        assert!((0..5).all(|_| never.get(0, || Some(1)).is_none()));
    }
}
