//! Sync operations of a request.

use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::core::{CoreFile, put_fence};
use tepui_drm::fence::Fence;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::syncobj::Syncobj;
use tepui_drm::uapi::panthor::{self as uapi, SyncOp};

/// A signal operation of one of the request's jobs.
struct Signal {
    handle: u32,
    point: u64,
    object: Arc<Syncobj>,
    fence: Fence,
}

/// The sync operations of one request. A job may wait for what an earlier job of the same request signals; nothing is
/// visible outside before [`Syncs::publish`], so that a refused request has no effect.
pub struct Syncs<'a> {
    core: &'a CoreFile,
    signals: Vec<Signal>,
}

/// Checks the fields of an operation.
fn check(op: &SyncOp) -> Result<(), Refusal> {
    let known = uapi::SYNC_OP_HANDLE_TYPE_MASK | uapi::SYNC_OP_SIGNAL;
    require(op.flags & !known == 0, "unknown flags of a sync operation")?;
    match op.flags & uapi::SYNC_OP_HANDLE_TYPE_MASK {
        uapi::SYNC_OP_SYNCOBJ => {
            require(op.timeline_value == 0, "a binary sync object with a timeline value")
        }
        uapi::SYNC_OP_TIMELINE_SYNCOBJ => Ok(()),
        _ => require(false, "unknown type of a sync object"),
    }
}

impl<'a> Syncs<'a> {
    /// An empty set of operations.
    pub fn new(core: &'a CoreFile) -> Syncs<'a> {
        Syncs { core, signals: Vec::new() }
    }

    /// Takes the operations of one job, which signals `done`; returns the fences that it waits for.
    pub fn job(&mut self, ops: &[SyncOp], done: &Fence) -> Result<Vec<Fence>, Refusal> {
        ops.iter().try_for_each(check)?;
        let is_signal = |op: &&SyncOp| op.flags & uapi::SYNC_OP_SIGNAL != 0;
        let mut waits = Vec::new();
        for op in ops.iter().filter(|op| !is_signal(op)) {
            let own = |s: &&Signal| s.handle == op.handle && s.point == op.timeline_value;
            let fence = match self.signals.iter().rev().find(own) {
                Some(signal) => signal.fence.clone(),
                None => self.core.fence(op.handle, op.timeline_value).map_err(|_| Refusal {
                    errno: Errno::INVAL,
                    why: "a sync object that is waited for has no fence",
                })?,
            };
            waits.push(fence);
        }
        for op in ops.iter().filter(is_signal) {
            let object = self.core.syncobj(op.handle).map_err(|_| Refusal {
                errno: Errno::INVAL,
                why: "no sync object has the handle",
            })?;
            let (handle, point) = (op.handle, op.timeline_value);
            self.signals.push(Signal { handle, point, object, fence: done.clone() });
        }
        Ok(waits)
    }

    /// Puts the fences into the sync objects.
    pub fn publish(self) {
        for Signal { point, object, fence, .. } in self.signals {
            put_fence(&object, point, fence);
        }
    }
}
