//! VM_BIND: operations on an address space, executed immediately or on the address space's queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};

use tepui_drm::Errno;
use tepui_drm::core::CoreFile;
use tepui_drm::fence::{Fence, wait_until};
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::threads::Threads;
use tepui_drm::uapi::panthor::{self as uapi, SyncOp, VmBindOp};
use tepui_drm::user::UserMemory;

use crate::array::objects;
use crate::submit::Syncs;
use crate::vm::{Bind, Vm};
use tepui_drm::lock;

/// An operation on an address space's queue.
pub struct BindOperation {
    waits: Vec<Fence>,
    bind: Bind,
    done: Fence,
}

/// Executes a VM_BIND on an address space. Closing the file, which `threads` belong to, cancels operations that
/// wait.
///
/// # Errors
/// Errors of the operations. Immediate operations stop at the first that is refused, and `args.ops.count` becomes
/// the number of operations before it; if operations are deferred, a refused request has no effect.
pub fn vm_bind(
    vm: &Arc<Vm>,
    core: &CoreFile,
    user: &dyn UserMemory,
    args: &mut uapi::VmBind,
    threads: &Threads,
) -> Result<(), Refusal> {
    require(args.flags & !uapi::BIND_ASYNC == 0, "unknown flags")?;
    let ops: Vec<VmBindOp> = objects(user, &args.ops, size_of::<VmBindOp>())?;
    if args.flags & uapi::BIND_ASYNC != 0 {
        return defer(vm, core, user, &ops, threads);
    }
    let result = ops.iter().enumerate().try_for_each(|(index, op)| {
        let kind = op.flags & uapi::BIND_OP_TYPE_MASK;
        let done = require(kind != uapi::BIND_OP_TYPE_SYNC_ONLY, "SYNC_ONLY without ASYNC")
            .and_then(|()| require(op.syncs.count == 0, "sync operations without ASYNC"))
            .and_then(|()| vm.apply(vm.check(op, |handle| core.gem(handle))?));
        done.inspect_err(|_| args.ops.count = index as u32)
    });
    vm.release();
    result
}

fn defer(
    vm: &Arc<Vm>,
    core: &CoreFile,
    user: &dyn UserMemory,
    ops: &[VmBindOp],
    threads: &Threads,
) -> Result<(), Refusal> {
    let mut syncs = Syncs::new(core);
    let mut jobs = Vec::new();
    for op in ops {
        let list: Vec<SyncOp> = objects(user, &op.syncs, size_of::<SyncOp>())?;
        let bind = vm.check(op, |handle| core.gem(handle))?;
        let is_empty = matches!(bind, Bind::Nothing) && list.is_empty();
        require(!is_empty, "SYNC_ONLY without sync operations")?;
        let done = Fence::new();
        let waits = syncs.job(&list, &done)?;
        jobs.push(BindOperation { waits, bind, done });
    }
    let queue = queue(vm, threads)?;
    syncs.publish();
    for job in jobs {
        if let Err(lost) = queue.send(job) {
            lost.0.done.signal(Err(Errno::CANCELED));
        }
    }
    Ok(())
}

/// The queue of an address space. Its thread ends with the address space.
fn queue(vm: &Arc<Vm>, threads: &Threads) -> Result<Sender<BindOperation>, Refusal> {
    let mut slot = lock(&vm.deferred);
    if let Some(queue) = &*slot {
        return Ok(queue.clone());
    }
    let (sender, receiver) = channel();
    let (weak, closed) = (Arc::downgrade(vm), threads.closed());
    threads.start("tepui-vm-bind", move || work(&weak, &receiver, &closed))?;
    Ok(slot.insert(sender).clone())
}

fn work(vm: &Weak<Vm>, receiver: &Receiver<BindOperation>, closed: &AtomicBool) {
    for BindOperation { waits, bind, done } in receiver {
        let is_closed = || closed.load(Ordering::Acquire);
        wait_until(None, || (is_closed() || waits.iter().all(Fence::is_signaled)).then_some(()));
        let Some(vm) = vm.upgrade().filter(|_| !is_closed()) else {
            done.signal(Err(Errno::CANCELED));
            continue;
        };
        let result = vm.apply(bind);
        vm.release();
        if result.is_err() {
            vm.set_unusable();
        }
        done.signal(result.map_err(|refusal| refusal.errno));
    }
}
