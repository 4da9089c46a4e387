//! Buffers that other processes may have, too, by the kernel's handle.
//!
//! A buffer that comes back to the process that exported it, or is imported again, has the handle that it had. One object stands for each
//! handle, so that it is closed once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Shared buffers of a device.
pub struct SharedBuffers<T>(Mutex<Vec<(u32, Weak<T>)>>);

impl<T> Default for SharedBuffers<T> {
    fn default() -> SharedBuffers<T> {
        SharedBuffers(Mutex::default())
    }
}

impl<T> SharedBuffers<T> {
    fn list(&self) -> MutexGuard<'_, Vec<(u32, Weak<T>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a buffer that can be exported.
    pub fn add(&self, handle: u32, buffer: &Arc<T>) {
        self.list().push((handle, Arc::downgrade(buffer)));
    }

    /// The buffer of an imported handle: the one that has it already, for which `close` gives the new reference back, or else that which
    /// `make` makes.
    ///
    /// # Errors
    /// If `make` fails.
    pub fn import<E>(
        &self,
        handle: u32,
        close: impl FnOnce(),
        make: impl FnOnce() -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        let mut list = self.list();
        list.retain(|(_, buffer)| buffer.strong_count() > 0);
        if let Some(buffer) = list.iter().find(|s| s.0 == handle).and_then(|s| s.1.upgrade()) {
            close();
            return Ok(buffer);
        }
        let buffer = make()?;
        list.push((handle, Arc::downgrade(&buffer)));
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_one_buffer_while_it_lives() {
        let shared = SharedBuffers::default();
        let own = Arc::new(1);
        shared.add(7, &own);
        let mut closed = 0;
        let again = shared.import(7, || closed += 1, || Err("made again"));
        assert!(Arc::ptr_eq(&again.unwrap(), &own));
        assert_eq!(closed, 1);
        assert_eq!(shared.import(8, || (), || Err("no memory")), Err("no memory"));
        drop(own);
        let new = shared.import(7, || closed += 1, || Ok::<_, ()>(Arc::new(2)));
        assert_eq!((*new.unwrap(), closed), (2, 1));
    }
}
