//! Refused arguments: the error of each, and that a refused request changes nothing.

mod client;

use client::*;
use tepui_drm::Errno;
use tepui_drm::device::VirtualFile;
use tepui_drm::uapi::core;
use tepui_drm::uapi::panthor::{self as uapi, Ioctl, ObjArray, VmBindOp};

#[test]
fn queries_tell_sizes_and_cut_to_the_clients() {
    let file = device().open();
    let mut info = uapi::GpuInfo::default();
    let whole = size_of_val(&info) as u32;
    let mut args = uapi::DevQuery::default();
    call(&file, Ioctl::DevQuery, &mut args).unwrap();
    assert_eq!(args.size, whole);
    let pointer = &raw mut info as u64;
    let mut args = uapi::DevQuery { size: 8, pointer, ..Default::default() };
    call(&file, Ioctl::DevQuery, &mut args).unwrap();
    assert_eq!((info.gpu_id, info.csf_id, args.size), (0xa867_0000, 0, 8));
    let mut args = uapi::DevQuery { size: 1000, pointer, ..Default::default() };
    call(&file, Ioctl::DevQuery, &mut args).unwrap();
    assert_eq!((info.shader_present.count_ones(), args.size), (4, whole));
    let mut unknown = uapi::DevQuery { r#type: 5, ..Default::default() };
    assert_eq!(call(&file, Ioctl::DevQuery, &mut unknown), INVAL);
    let mut wild = uapi::DevQuery { size: 8, pointer: 8, ..Default::default() };
    assert_eq!(call(&file, Ioctl::DevQuery, &mut wild), Err(Errno::FAULT));
}

#[test]
fn the_clock_is_told_as_asked() {
    let file = device().open();
    let ask = |flags, size| {
        let mut info = uapi::TimestampInfo { flags, ..Default::default() };
        let pointer = &raw mut info as u64;
        let mut args = uapi::DevQuery { r#type: uapi::QUERY_TIMESTAMP_INFO, size, pointer };
        call(&file, Ioctl::DevQuery, &mut args).map(|()| info)
    };
    let old = ask(0, 24).unwrap();
    assert!(old.timestamp_frequency == 1_000_000_000 && old.current_timestamp > 0);
    let cpu = ask(uapi::TIMESTAMP_CPU_MONOTONIC | uapi::TIMESTAMP_GPU, 56).unwrap();
    assert!(cpu.timestamp_frequency == 0 && cpu.cpu_timestamp_sec > 0);
    let now = cpu.cpu_timestamp_sec * 1_000_000_000 + cpu.cpu_timestamp_nsec;
    assert!(now <= cpu.current_timestamp, "the CPU's clock is read before the GPU's");
    assert_eq!(ask(uapi::TIMESTAMP_CPU_TYPE_MASK, 56), Err(Errno::INVAL));
    assert_eq!(ask(1 << 20, 56), Err(Errno::INVAL));
}

#[test]
fn address_spaces_have_the_asked_range() {
    let file = device().open();
    let create = |flags, user_va_range| {
        let mut args = uapi::VmCreate { flags, user_va_range, id: 0 };
        call(&file, Ioctl::VmCreate, &mut args).map(|()| (args.id, args.user_va_range))
    };
    assert_eq!(create(0, 0), Ok((1, 1 << 47)));
    assert_eq!(create(0, 1 << 40), Ok((2, 1 << 40)));
    assert_eq!(create(1, 0), Err(Errno::INVAL));
    assert_eq!(create(0, (1 << 48) + 4096), Err(Errno::INVAL));
    assert_eq!(create(0, 100), Err(Errno::INVAL));
    let destroy = |id, pad| call(&file, Ioctl::VmDestroy, &mut uapi::VmDestroy { id, pad });
    assert_eq!((destroy(2, 1), destroy(2, 0), destroy(2, 0)), (INVAL, Ok(()), INVAL));
}

#[test]
fn buffers_have_known_flags_and_owners() {
    let file = device().open();
    let vm_id = vm(&file);
    let create = |args: uapi::BoCreate| {
        let mut args = args;
        call(&file, Ioctl::BoCreate, &mut args).map(|()| (args.handle, args.size))
    };
    let plain = uapi::BoCreate { size: 1, ..Default::default() };
    assert_eq!(create(plain), Ok((1, 4096)));
    for wrong in [
        uapi::BoCreate { size: 0, ..plain },
        uapi::BoCreate { size: u64::MAX, ..plain },
        uapi::BoCreate { flags: 4, ..plain },
        uapi::BoCreate { flags: uapi::BO_NO_MMAP | uapi::BO_WB_MMAP, ..plain },
        uapi::BoCreate { pad: 1, ..plain },
        uapi::BoCreate { exclusive_vm_id: 9, ..plain },
    ] {
        assert_eq!(create(wrong), Err(Errno::INVAL), "{wrong:?}");
    }
    let (hidden, _) = create(uapi::BoCreate { flags: uapi::BO_NO_MMAP, ..plain }).unwrap();
    let offset = |handle, pad| {
        let mut args = uapi::BoMmapOffset { handle, pad, offset: 0 };
        call(&file, Ioctl::BoMmapOffset, &mut args).map(|()| args.offset)
    };
    assert_eq!(offset(hidden, 0), Err(Errno::PERM));
    assert_eq!(offset(1, 1), Err(Errno::INVAL));
    assert_eq!(offset(99, 0), Err(Errno::NOENT));
    assert!(file.mapping(offset(1, 0).unwrap(), 4096).is_ok());
    // A private buffer is bound in its address space alone, and never exported.
    let (private, _) = create(uapi::BoCreate { exclusive_vm_id: vm_id, ..plain }).unwrap();
    let mut prime = core::PrimeHandle { handle: private, ..Default::default() };
    assert_eq!(call_info(&file, core::Ioctl::PrimeHandleToFd.info(), &mut prime), INVAL);
    assert_eq!(bind(&file, vm_id, &[map(private, 0, 1)]), Ok(()));
    assert_eq!(bind(&file, vm(&file), &[map(private, 0, 1)]), Err((Errno::INVAL, 0)));
    let mut info = uapi::BoQueryInfo { handle: hidden, ..Default::default() };
    call(&file, Ioctl::BoQueryInfo, &mut info).unwrap();
    assert_eq!((info.create_flags, info.extra_flags), (uapi::BO_NO_MMAP, 0));
}

#[test]
fn labels_end_within_their_length() {
    let file = device().open();
    let handle = buffer(&file, 1);
    let label = |text: &[u8]| {
        let mut args = uapi::BoSetLabel { handle, pad: 0, label: text.as_ptr() as u64 };
        call(&file, Ioctl::BoSetLabel, &mut args)
    };
    assert_eq!(label(b"a label\0"), Ok(()));
    assert_eq!(label(&[b'x'; 5000]), Err(Errno::TOOBIG));
    let mut wild = uapi::BoSetLabel { handle, pad: 0, label: 8 };
    assert_eq!(call(&file, Ioctl::BoSetLabel, &mut wild), Err(Errno::FAULT));
}

#[test]
fn cache_maintenance_stays_inside_of_buffers() {
    let file = device().open();
    let handle = buffer(&file, 1);
    let sync = |op: uapi::BoSyncOp| {
        let mut args = uapi::BoSync { ops: array(&[op]) };
        call(&file, Ioctl::BoSync, &mut args)
    };
    let op = uapi::BoSyncOp { handle, r#type: 1, offset: 96, size: 4000 };
    assert_eq!(sync(op), Ok(()));
    assert_eq!(sync(uapi::BoSyncOp { size: 4001, ..op }), INVAL);
    assert_eq!(sync(uapi::BoSyncOp { size: u64::MAX, ..op }), INVAL);
    assert_eq!(sync(uapi::BoSyncOp { r#type: 2, ..op }), INVAL);
    assert_eq!(sync(uapi::BoSyncOp { handle: 9, ..op }), NOENT);
}

#[test]
fn bind_operations_are_checked_and_stop_at_the_first_refused() {
    let file = device().open();
    let vm_id = vm(&file);
    let handle = buffer(&file, 2);
    let good = map(handle, 1 << 20, 2);
    let none = VmBindOp::default();
    for wrong in [
        VmBindOp { size: 0, ..good },
        VmBindOp { size: 4097, ..good },
        VmBindOp { va: 100, ..good },
        VmBindOp { va: (1 << 47) - 4096, ..good },
        VmBindOp { va: u64::MAX - 4095, ..good },
        VmBindOp { bo_offset: 4096, ..good },
        VmBindOp { bo_handle: 9, ..good },
        VmBindOp { flags: 16, ..good },
        VmBindOp { flags: 3 << 28, ..good },
        VmBindOp { flags: uapi::BIND_OP_TYPE_UNMAP, ..good },
        VmBindOp { flags: uapi::BIND_OP_TYPE_UNMAP | 1, ..unmap(1 << 20, 1) },
        VmBindOp { flags: uapi::BIND_OP_TYPE_SYNC_ONLY, ..none },
        VmBindOp { flags: uapi::BIND_OP_MAP_SPARSE, bo_handle: 0, ..good },
        VmBindOp { flags: uapi::BIND_OP_MAP_SPARSE | uapi::BIND_OP_MAP_NOEXEC, ..good },
        VmBindOp { syncs: array(&[signals(1)]), ..good },
    ] {
        let ops = [good, wrong, map(handle, 1 << 30, 2)];
        assert_eq!(bind(&file, vm_id, &ops), Err((Errno::INVAL, 1)), "{wrong:?}");
        assert_eq!(file.bindings(vm_id), [(1 << 20, 8192)], "{wrong:?}");
        assert_eq!(bind(&file, vm_id, &[unmap(0, 1 << 20)]), Ok(()));
    }
    assert!(file.bindings(vm_id).is_empty());
    let sparse = uapi::BIND_OP_MAP_SPARSE | uapi::BIND_OP_MAP_NOEXEC;
    let range = VmBindOp { flags: sparse, size: 1 << 20, ..none };
    assert_eq!(bind(&file, vm_id, &[range]), Ok(()));
    let huge = VmBindOp { size: 1 << 40, ..range };
    assert_eq!(bind(&file, vm_id, &[huge]), Err((Errno::NOMEM, 0)));
    assert_eq!(bind(&file, 9, &[good]), Err((Errno::INVAL, 1)), "no such address space");
}

#[test]
fn objects_of_arrays_may_be_longer_than_they_are_known() {
    let file = device().open();
    let vm_id = vm(&file);
    let handle = buffer(&file, 1);
    let ask = |stride: u32, count: u32, at: u64| {
        let ops = ObjArray { stride, count, array: at };
        call(&file, Ioctl::VmBind, &mut uapi::VmBind { vm_id, flags: 0, ops })
    };
    let mut newer = [0u64; 7];
    newer[..6].copy_from_slice(bytemuck::cast_slice(bytemuck::bytes_of(&map(handle, 0, 1))));
    let at = newer.as_ptr() as u64;
    assert_eq!(ask(56, 1, at), Ok(()));
    assert_eq!(ask(40, 1, at), INVAL);
    assert_eq!(ask(1 << 30, 1, at), INVAL);
    assert_eq!(ask(48, u32::MAX, at), INVAL);
    assert_eq!(ask(48, 1, 8), Err(Errno::FAULT));
    assert_eq!(ask(0, 0, 0), Ok(()), "an empty array");
    newer[6] = 1;
    assert_eq!(ask(56, 1, newer.as_ptr() as u64), Err(Errno::TOOBIG));
}

#[test]
fn groups_have_queues_cores_and_a_priority() {
    let file = device().open();
    let vm_id = vm(&file);
    let create = |queues: &[uapi::QueueCreate], args: uapi::GroupCreate| {
        let mut args = uapi::GroupCreate { queues: array(queues), ..args };
        call(&file, Ioctl::GroupCreate, &mut args)
    };
    let plain = uapi::GroupCreate {
        vm_id,
        max_compute_cores: 4,
        compute_core_mask: 0x5_0005,
        max_tiler_cores: 1,
        tiler_core_mask: 1,
        priority: 1,
        ..Default::default()
    };
    assert_eq!(create(&[queue(); 8], plain), Ok(()));
    assert_eq!(create(&[queue(); 9], plain), INVAL);
    assert_eq!(create(&[], plain), INVAL);
    for wrong in [
        uapi::GroupCreate { pad: 1, ..plain },
        uapi::GroupCreate { priority: 4, ..plain },
        uapi::GroupCreate { max_compute_cores: 5, ..plain },
        uapi::GroupCreate { compute_core_mask: 0xf, max_compute_cores: 1, ..plain },
        uapi::GroupCreate { fragment_core_mask: 1 << 63, ..plain },
        uapi::GroupCreate { tiler_core_mask: 2, ..plain },
        uapi::GroupCreate { vm_id: 9, ..plain },
    ] {
        assert_eq!(create(&[queue()], wrong), INVAL, "{wrong:?}");
    }
    let high = uapi::GroupCreate { priority: 2, ..plain };
    assert_eq!(create(&[queue()], high), Err(Errno::ACCESS));
    for wrong in [
        uapi::QueueCreate { priority: 16, ..queue() },
        uapi::QueueCreate { pad: [0, 1, 0], ..queue() },
        uapi::QueueCreate { ringbuf_size: 5000, ..queue() },
        uapi::QueueCreate { ringbuf_size: 1 << 17, ..queue() },
    ] {
        assert_eq!(create(&[queue(), wrong], plain), INVAL, "{wrong:?}");
    }
    let destroy = |group_handle, pad| {
        call(&file, Ioctl::GroupDestroy, &mut uapi::GroupDestroy { group_handle, pad })
    };
    assert_eq!((destroy(1, 1), destroy(1, 0), destroy(1, 0)), (INVAL, Ok(()), INVAL));
}

#[test]
fn submissions_are_checked_before_any_stream_runs() {
    let file = device().open();
    let vm_id = vm(&file);
    let handle = buffer(&file, 1);
    bind(&file, vm_id, &[map(handle, 1 << 20, 1)]).unwrap();
    let group = group(&file, vm_id, 2);
    let object = syncobj(&file);
    let good = stream(0, 1 << 20, &[]);
    let signal = [signals(object)];
    for wrong in [
        uapi::QueueSubmit { queue_index: 2, ..good },
        uapi::QueueSubmit { stream_size: 4, ..good },
        uapi::QueueSubmit { stream_size: 0, ..good },
        uapi::QueueSubmit { stream_addr: 0, ..good },
        uapi::QueueSubmit { stream_addr: (1 << 20) + 8, ..good },
        uapi::QueueSubmit { pad: 1, ..good },
        stream(0, 0, &[waits_for(object)]),
        stream(0, 0, &[signals(9)]),
        stream(0, 0, &[uapi::SyncOp { flags: 2, ..signals(object) }]),
        stream(0, 0, &[uapi::SyncOp { timeline_value: 1, ..signals(object) }]),
        stream(0, 0, &[uapi::SyncOp { flags: 0x100, ..signals(object) }]),
    ] {
        // The stream before would signal, and must not.
        let streams = [stream(0, 1 << 20, &signal), wrong];
        let streams = if wrong.syncs.count == 1 { &streams[1..] } else { &streams[..] };
        assert_eq!(submit(&file, group, streams), INVAL, "{wrong:?}");
        assert!(file.core().fence(object, 0).is_err(), "{wrong:?}");
    }
    assert_eq!(submit(&file, 9, &[good]), INVAL);
    // A stream may wait for what one before it signals.
    let other = syncobj(&file);
    let streams = [stream(0, 1 << 20, &signal), stream(1, 0, &[waits_for(object), signals(other)])];
    assert_eq!(submit(&file, group, &streams), Ok(()));
    assert_eq!(outcome(&file, other), Ok(()));
}

#[test]
fn heaps_are_chunks_of_the_allowed_sizes() {
    let file = device().open();
    let vm_id = vm(&file);
    let plain = uapi::TilerHeapCreate {
        vm_id,
        initial_chunk_count: 5,
        chunk_size: 2 << 20,
        max_chunks: 64,
        target_in_flight: 65535,
        ..Default::default()
    };
    let create = |args: uapi::TilerHeapCreate| {
        let mut args = args;
        call(&file, Ioctl::TilerHeapCreate, &mut args)
            .map(|()| (args.handle, args.first_heap_chunk_gpu_va, args.tiler_heap_ctx_gpu_va))
    };
    let (handle, first, context) = create(plain).unwrap();
    assert_eq!((first, context), (1 << 47, (1 << 47) + (10 << 20)));
    assert_eq!(file.bindings(vm_id), [(first, 10 << 20), (context, 4096)]);
    for wrong in [
        uapi::TilerHeapCreate { vm_id: 9, ..plain },
        uapi::TilerHeapCreate { initial_chunk_count: 0, ..plain },
        uapi::TilerHeapCreate { initial_chunk_count: 65, ..plain },
        uapi::TilerHeapCreate { chunk_size: 64 << 10, ..plain },
        uapi::TilerHeapCreate { chunk_size: 16 << 20, ..plain },
        uapi::TilerHeapCreate { chunk_size: (2 << 20) + 1, ..plain },
    ] {
        assert_eq!(create(wrong), Err(Errno::INVAL), "{wrong:?}");
    }
    let huge =
        uapi::TilerHeapCreate { initial_chunk_count: u32::MAX, max_chunks: u32::MAX, ..plain };
    assert_eq!(create(huge), Err(Errno::NOMEM));
    // The client cannot bind there.
    assert_eq!(bind(&file, vm_id, &[unmap(first, 1)]), Err((Errno::INVAL, 0)));
    let destroy = |handle, pad| {
        call(&file, Ioctl::TilerHeapDestroy, &mut uapi::TilerHeapDestroy { handle, pad })
    };
    assert_eq!(
        (destroy(handle, 1), destroy(handle, 0), destroy(handle, 0)),
        (INVAL, Ok(()), INVAL)
    );
    assert!(file.bindings(vm_id).is_empty());
}

#[test]
fn registers_are_mapped_where_the_client_says() {
    let file = device().open();
    let place =
        |offset| call(&file, Ioctl::SetUserMmioOffset, &mut uapi::SetUserMmioOffset { offset });
    let mapped = |offset, length| file.mapping(offset, length).map(|gem| gem.is_read_only());
    assert_eq!(mapped(uapi::USER_MMIO_OFFSET_64BIT, 4096), Ok(true));
    assert_eq!(mapped(uapi::USER_MMIO_OFFSET_64BIT + 4096, 4096), Err(Errno::INVAL));
    assert_eq!(mapped(uapi::USER_MMIO_OFFSET_32BIT, 4096), Err(Errno::INVAL));
    assert_eq!(place(uapi::USER_MMIO_OFFSET_32BIT), Ok(()));
    assert_eq!(mapped(uapi::USER_MMIO_OFFSET_32BIT, 4096), Ok(true));
    assert_eq!(place(1 << 40), INVAL);
}
