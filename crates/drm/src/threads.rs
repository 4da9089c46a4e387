//! Threads that work for an open file: those of its queues and of deferred operations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::fence::notify;
use crate::{Errno, lock, spawn};

/// The threads of an open file, which end before the file is closed.
///
/// A thread holds address spaces and buffers. One that outlived its file would keep their memory for a while, and would
/// execute code of a library that the client may have unloaded. Make it the last field of a file, so that it is dropped
/// after the objects whose channels the threads receive from.
#[derive(Debug, Default)]
pub struct Threads {
    closed: Arc<AtomicBool>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// A flag that is set when the file is closed. Threads then cancel what they have not begun.
    pub fn closed(&self) -> Arc<AtomicBool> {
        self.closed.clone()
    }

    /// Starts a thread, as [`spawn`] does. It must end once [`Threads::closed`] is set, [`notify`] was called and the
    /// file's objects are dropped.
    ///
    /// # Errors
    /// `ENOMEM`: there is no thread.
    pub fn start(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Errno> {
        let thread = spawn(name, body).map_err(|_| Errno::NOMEM)?;
        let mut running = lock(&self.running);
        running.retain(|thread| !thread.is_finished());
        running.push(thread);
        Ok(())
    }

    /// Sets [`Threads::closed`] and wakes the threads that wait.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        notify();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.close();
        let own = std::thread::current().id();
        for thread in lock(&self.running).drain(..) {
            // The file can go with the last reference that one of its threads holds.
            if thread.thread().id() != own {
                // A panic of the thread was reported when it happened.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::wait_until;

    #[test]
    fn threads_end_with_their_file() {
        let threads = Threads::default();
        let held = Arc::new(());
        for _ in 0..4 {
            let (held, closed) = (held.clone(), threads.closed());
            threads
                .start("tepui-test", move || {
                    wait_until(None, || closed.load(Ordering::Acquire).then_some(()));
                    drop(held);
                })
                .unwrap();
        }
        assert_eq!(Arc::strong_count(&held), 5);
        drop(threads);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_thread_may_drop_them() {
        let threads = Arc::new(Threads::default());
        let (sender, receiver) = std::sync::mpsc::channel();
        let own = threads.clone();
        threads
            .start("tepui-test", move || {
                // Those of the test are gone by then.
                while Arc::strong_count(&own) > 1 {
                    std::thread::yield_now();
                }
                drop(own);
                sender.send(()).unwrap();
            })
            .unwrap();
        drop(threads);
        receiver.recv().unwrap();
    }
}
