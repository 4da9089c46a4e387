//! Swapchains without a window: an image is free as soon as it is presented.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Result;
use crate::swapchain::{self, Event, Frame};

/// Shows nothing.
#[derive(Default)]
pub(crate) struct Engine {
    events: Mutex<Vec<Event>>,
    happened: Condvar,
}

impl swapchain::Engine for Engine {
    fn present(&self, frame: Frame<'_>) -> Result<()> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.extend([Event::Free(frame.image), Event::Shown(frame.serial)]);
        self.happened.notify_all();
        Ok(())
    }

    fn drain(&self, events: &mut Vec<Event>) -> Result<()> {
        events.append(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    fn wait(&self, until: Instant) -> Result<()> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let timeout = until.saturating_duration_since(Instant::now());
        // A spurious end is one more look at the state.
        drop(self.happened.wait_timeout_while(events, timeout, |events| events.is_empty()));
        Ok(())
    }
}
