//! Streams run in order when their fences have signalled, wait for memory, and fault.

mod client;

use client::*;
use tepui_drm::Errno;
use tepui_drm::fence::Fence;
use tepui_drm::uapi::panthor::{self as uapi, Ioctl, VmBindOp};
use tepui_mali_kernel::File;

const AT: u64 = 1 << 20;
/// The first words of streams.
const ENDS: u32 = 0;
const FAULTS: u32 = 1;
const WAITS: u32 = 2;

/// An address space with a buffer bound at [`AT`], and a group of three queues.
struct Setup {
    file: File,
    vm_id: u32,
    memory: u32,
    group: u32,
}

fn setup() -> Setup {
    let file = device().open();
    let vm_id = vm(&file);
    let memory = buffer(&file, 1);
    bind(&file, vm_id, &[map(memory, AT, 1)]).unwrap();
    let group = group(&file, vm_id, 3);
    Setup { file, vm_id, memory, group }
}

#[test]
fn a_queue_that_waits_for_memory_goes_on_when_the_client_writes_it() {
    let Setup { file, memory, group, .. } = setup();
    poke(&file, memory, 0, WAITS);
    let (first, second, third) = (syncobj(&file), syncobj(&file), syncobj(&file));
    let streams = [
        stream(0, AT, &[signals(first)]),
        // One after the first in its queue, and one in a queue of its own.
        stream(0, AT + 64, &[signals(second)]),
        stream(1, AT + 64, &[signals(third)]),
    ];
    submit(&file, group, &streams).unwrap();
    assert_eq!(outcome(&file, third), Ok(()));
    let is_signaled = |object| file.core().fence(object, 0).unwrap().is_signaled();
    assert!(!is_signaled(first) && !is_signaled(second));
    poke(&file, memory, 0, ENDS);
    assert_eq!(outcome(&file, second), Ok(()));
    assert!(is_signaled(first));
}

#[test]
fn a_stream_waits_for_its_fences() {
    let Setup { file, group, .. } = setup();
    let (before, after) = (syncobj(&file), syncobj(&file));
    let fence = Fence::new();
    file.core().syncobj(before).unwrap().replace(Some(fence.clone()));
    submit(&file, group, &[stream(2, AT, &[waits_for(before), signals(after)])]).unwrap();
    assert!(!file.core().fence(after, 0).unwrap().is_signaled());
    // A wait ends even if the work that it waits for has failed.
    fence.signal(Err(Errno::IO));
    assert_eq!(outcome(&file, after), Ok(()));
}

#[test]
fn a_fault_loses_the_group_and_no_other() {
    let Setup { file, vm_id, memory, group: lost } = setup();
    poke(&file, memory, 64, FAULTS);
    poke(&file, memory, 128, WAITS);
    let (waiting, faulting, later) = (syncobj(&file), syncobj(&file), syncobj(&file));
    assert_eq!(group_state(&file, lost), (0, 0));
    let streams =
        [stream(0, AT + 128, &[signals(waiting)]), stream(1, AT + 64, &[signals(faulting)])];
    submit(&file, lost, &streams).unwrap();
    assert_eq!(outcome(&file, faulting), Err(Errno::IO));
    assert_eq!(outcome(&file, waiting), Err(Errno::CANCELED));
    assert_eq!(group_state(&file, lost), (uapi::GROUP_STATE_FATAL_FAULT, 1 << 1));
    submit(&file, lost, &[stream(2, AT, &[signals(later)])]).unwrap();
    assert_eq!(outcome(&file, later), Err(Errno::CANCELED));
    let faults = file.device().faults();
    assert_eq!((faults.len(), faults[0].group, faults[0].queue), (1, lost, 1));
    // Memory that is not bound faults as well; another group of the file works.
    let other = group(&file, vm_id, 1);
    submit(&file, other, &[stream(0, AT, &[signals(later)])]).unwrap();
    assert_eq!(outcome(&file, later), Ok(()));
    submit(&file, other, &[stream(0, AT + 4096, &[signals(later)])]).unwrap();
    assert_eq!(outcome(&file, later), Err(Errno::IO));
}

#[test]
fn destroying_a_group_or_closing_the_file_cancels_what_waits() {
    let Setup { file, vm_id, memory, group: first } = setup();
    poke(&file, memory, 0, WAITS);
    let second = group(&file, vm_id, 1);
    let (one, two) = (syncobj(&file), syncobj(&file));
    submit(&file, first, &[stream(0, AT, &[signals(one)])]).unwrap();
    submit(&file, second, &[stream(0, AT, &[signals(two)])]).unwrap();
    let mut args = uapi::GroupDestroy { group_handle: first, pad: 0 };
    call(&file, Ioctl::GroupDestroy, &mut args).unwrap();
    assert_eq!(outcome(&file, one), Err(Errno::CANCELED));
    let fence = file.core().fence(two, 0).unwrap();
    assert!(!fence.is_signaled());
    drop(file);
    assert_eq!(fence.wait(), Err(Errno::CANCELED));
}

#[test]
fn deferred_binds_run_in_order_after_their_fences() {
    let Setup { file, vm_id, memory, .. } = setup();
    let (before, after) = (syncobj(&file), syncobj(&file));
    let fence = Fence::new();
    file.core().syncobj(before).unwrap().replace(Some(fence.clone()));
    let defer = |ops: &[VmBindOp]| {
        let mut args = uapi::VmBind { vm_id, flags: uapi::BIND_ASYNC, ops: array(ops) };
        call(&file, Ioctl::VmBind, &mut args)
    };
    let (wait, signal) = ([waits_for(before)], [signals(after)]);
    let sync_only = VmBindOp { flags: uapi::BIND_OP_TYPE_SYNC_ONLY, ..Default::default() };
    let ops = [
        VmBindOp { syncs: array(&wait), ..map(memory, 1 << 30, 1) },
        unmap(AT, 1),
        VmBindOp { syncs: array(&signal), ..sync_only },
    ];
    defer(&ops).unwrap();
    assert_eq!(file.bindings(vm_id), [(AT, 4096)]);
    fence.signal(Ok(()));
    assert_eq!(outcome(&file, after), Ok(()));
    assert_eq!(file.bindings(vm_id), [(1 << 30, 4096)]);
    assert_eq!(defer(&[sync_only]), INVAL);
    let mut state = uapi::VmGetState { vm_id, state: 9 };
    call(&file, Ioctl::VmGetState, &mut state).unwrap();
    assert_eq!(state.state, uapi::VM_STATE_USABLE);
}
