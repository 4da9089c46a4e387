//! The panfrost interface: buffers, chains and their fences, refused arguments.

use std::sync::Arc;

use proptest::prelude::*;
use tepui_drm::Errno;
use tepui_drm::uapi::panfrost::{self as uapi, Ioctl, param};
use tepui_drm::uapi::{KernelStruct, core};
use tepui_drm::user::ThisProcess;
use tepui_mali_kernel::Options;
use tepui_mali_kernel::panfrost::{Device, File};

type Answer = Result<(), Errno>;

fn device() -> Arc<Device> {
    let chip = tepui_mali_chips::chip("mali-g57").expect("a chip");
    Device::new(chip, Options { report_faults: false, ..Options::default() })
}

fn call<T: KernelStruct>(file: &File, ioctl: Ioctl, args: &mut T) -> Answer {
    // SAFETY: the pointers in the arguments are those of live values, or of nothing.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, ioctl.info().request, bytemuck::bytes_of_mut(args)).map(drop)
}

fn buffer(file: &File, size: u32, flags: u32) -> uapi::CreateBo {
    let mut args = uapi::CreateBo { size, flags, ..Default::default() };
    call(file, Ioctl::CreateBo, &mut args).expect("a buffer");
    args
}

fn syncobj(file: &File) -> u32 {
    let mut args = core::SyncobjCreate::default();
    // SAFETY: the argument has no pointers.
    let user = unsafe { ThisProcess::new() };
    let request = core::Ioctl::SyncobjCreate.info().request;
    file.ioctl(&user, request, bytemuck::bytes_of_mut(&mut args)).expect("a sync object");
    args.handle
}

/// Words of a buffer.
fn words(file: &File, handle: u32) -> &'static mut [u64] {
    let gem = file.core().gem(handle).expect("the buffer");
    let length = gem.size() as usize / 8;
    // SAFETY: the buffer's memory, which the leaked reference keeps; the GPU writes it before the fence signals.
    let all = unsafe { std::slice::from_raw_parts_mut(gem.base().cast::<u64>(), length) };
    std::mem::forget(gem);
    all
}

/// A job that writes `value` to an address: header and payload.
fn write_value(address: u64, value: u64, index: u64, next: u64) -> [u64; 7] {
    // Type 2 in bits 1 to 7, 64 bits in bit 0, the index from bit 16 on.
    [0, 0, 1 | 2 << 1 | index << 16, next, address, 7, value]
}

#[test]
fn a_chain_is_executed_and_its_buffers_are_waited_for() {
    let file = device().open();
    let jobs = buffer(&file, 4096, uapi::BO_NOEXEC);
    let data = buffer(&file, 100, uapi::BO_NOEXEC);
    assert!(jobs.offset > 0 && data.offset > 0 && jobs.offset.abs_diff(data.offset) >= 4096);
    let chain = words(&file, jobs.handle);
    chain[..7].copy_from_slice(&write_value(data.offset, 0x1234, 1, jobs.offset + 128));
    chain[16..23].copy_from_slice(&write_value(data.offset + 8, 0x5678, 2, 0));
    // The second waits for the first.
    chain[18] |= 1 << 32;
    let handles = [jobs.handle, data.handle];
    let out_sync = syncobj(&file);
    let mut submit = uapi::Submit {
        jc: jobs.offset,
        out_sync,
        bo_handles: handles.as_ptr() as u64,
        bo_handle_count: 2,
        ..Default::default()
    };
    call(&file, Ioctl::Submit, &mut submit).expect("submitted");
    let forever = i64::MAX;
    let mut wait = uapi::WaitBo { handle: data.handle, pad: 0, timeout_ns: forever };
    call(&file, Ioctl::WaitBo, &mut wait).expect("it ends");
    assert_eq!(file.core().fence(out_sync, 0).expect("a fence").wait(), Ok(()));
    assert_eq!(words(&file, data.handle)[..2], [0x1234, 0x5678]);
    assert_eq!([chain[0] as u32, chain[16] as u32], [1, 1], "the headers say that they have ended");
    let mut same = uapi::GetBoOffset { handle: data.handle, ..Default::default() };
    call(&file, Ioctl::GetBoOffset, &mut same).expect("an address");
    assert_eq!(same.offset, data.offset);
}

#[test]
fn a_fault_reaches_the_fence_and_the_next_chain_runs() {
    let device = device();
    let file = device.open();
    let jobs = buffer(&file, 4096, uapi::BO_NOEXEC);
    let chain = words(&file, jobs.handle);
    // A job that depends on one that does not exist.
    chain[..7].copy_from_slice(&write_value(jobs.offset + 256, 1, 1, 0));
    chain[2] |= 9 << 32;
    let out_sync = syncobj(&file);
    let mut submit = uapi::Submit { jc: jobs.offset, out_sync, ..Default::default() };
    call(&file, Ioctl::Submit, &mut submit).expect("submitted");
    assert_eq!(file.core().fence(out_sync, 0).expect("a fence").wait(), Err(Errno::IO));
    assert_eq!(device.faults().len(), 1);
    chain[2] &= !(9 << 32);
    call(&file, Ioctl::Submit, &mut submit).expect("submitted");
    assert_eq!(file.core().fence(out_sync, 0).expect("a fence").wait(), Ok(()));
    assert_eq!(chain[32], 1);
}

/// source: Linux, panfrost_gem.c (`panfrost_gem_close`)
#[test]
fn the_memory_of_a_closed_buffer_is_not_there_any_more() {
    let device = device();
    let file = device.open();
    let jobs = buffer(&file, 4096, uapi::BO_NOEXEC);
    let data = buffer(&file, 4096, uapi::BO_NOEXEC);
    words(&file, jobs.handle)[..7].copy_from_slice(&write_value(data.offset, 5, 1, 0));
    let mut close = core::GemClose { handle: data.handle, pad: 0 };
    // SAFETY: the argument has no pointers.
    let user = unsafe { ThisProcess::new() };
    let request = core::Ioctl::GemClose.info().request;
    file.ioctl(&user, request, bytemuck::bytes_of_mut(&mut close))
        .expect("the buffer has a handle");
    let mut submit = uapi::Submit {
        jc: jobs.offset,
        bo_handles: (&raw const jobs.handle) as u64,
        bo_handle_count: 1,
        ..Default::default()
    };
    call(&file, Ioctl::Submit, &mut submit).expect("a chain");
    let mut wait = uapi::WaitBo { handle: jobs.handle, timeout_ns: i64::MAX, ..Default::default() };
    call(&file, Ioctl::WaitBo, &mut wait).expect("it ends");
    assert_eq!(device.faults().len(), 1);
}

#[test]
fn wrong_arguments_are_refused() {
    let file = device().open();
    let invalid = Err(Errno::INVAL);
    let create = |size, flags, pad| {
        let mut args = uapi::CreateBo { size, flags, pad, ..Default::default() };
        call(&file, Ioctl::CreateBo, &mut args)
    };
    assert_eq!(create(0, 0, 0), invalid);
    assert_eq!(create(4096, 8, 0), invalid);
    assert_eq!(create(4096, uapi::BO_HEAP, 0), invalid);
    assert_eq!(create(4096, uapi::BO_HEAP | uapi::BO_NOEXEC | uapi::BO_WB_MMAP, 0), invalid);
    assert_eq!(create(4096, 0, 1), invalid);
    let heap = buffer(&file, 1 << 27, uapi::BO_HEAP | uapi::BO_NOEXEC);
    let mut map = uapi::MmapBo { handle: heap.handle, ..Default::default() };
    assert_eq!(call(&file, Ioctl::MmapBo, &mut map), invalid);
    map.handle = 99;
    assert_eq!(call(&file, Ioctl::MmapBo, &mut map), Err(Errno::NOENT));
    let mut submit = uapi::Submit::default();
    assert_eq!(call(&file, Ioctl::Submit, &mut submit), invalid, "no chain");
    submit = uapi::Submit { jc: 64, requirements: 4, ..Default::default() };
    assert_eq!(call(&file, Ioctl::Submit, &mut submit), invalid);
    submit = uapi::Submit { jc: 64, jm_ctx_handle: 7, ..Default::default() };
    assert_eq!(call(&file, Ioctl::Submit, &mut submit), invalid);
    submit = uapi::Submit { jc: 64, bo_handle_count: 1, ..Default::default() };
    assert_eq!(call(&file, Ioctl::Submit, &mut submit), Err(Errno::FAULT));
    let mut context = uapi::JmCtxCreate { priority: uapi::JM_CTX_PRIORITY_HIGH, handle: 0 };
    assert_eq!(call(&file, Ioctl::JmCtxCreate, &mut context), Err(Errno::ACCESS));
    context.priority = uapi::JM_CTX_PRIORITY_MEDIUM;
    call(&file, Ioctl::JmCtxCreate, &mut context).expect("a context");
    let mut destroy = uapi::JmCtxDestroy { handle: context.handle, pad: 0 };
    call(&file, Ioctl::JmCtxDestroy, &mut destroy).expect("it was there");
    assert_eq!(call(&file, Ioctl::JmCtxDestroy, &mut destroy), invalid);
    let mut get = uapi::GetParam { param: param::GPU_PROD_ID, ..Default::default() };
    call(&file, Ioctl::GetParam, &mut get).expect("known");
    assert_eq!(get.value, 0x9093);
    get.param = 1000;
    assert_eq!(call(&file, Ioctl::GetParam, &mut get), invalid);
    let mut counters = uapi::PerfcntEnable::default();
    assert_eq!(call(&file, Ioctl::PerfcntEnable, &mut counters), Err(Errno::NOSYS));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Requests of arbitrary bytes are answered. Their pointers lead nowhere.
    #[test]
    fn no_request_panics(calls in prop::collection::vec((0x40u8..0x4e, prop::collection::vec(0u32..9, 12)), 1..12)) {
        let file = device().open();
        // SAFETY: numbers below a page are no addresses of this process.
        let user = unsafe { ThisProcess::new() };
        for (number, words) in calls {
            let ioctl = Ioctl::from_nr(number).expect("declared");
            let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            bytes.truncate(ioctl.info().request.size());
            let _ = file.ioctl(&user, ioctl.info().request, &mut bytes);
        }
    }
}
