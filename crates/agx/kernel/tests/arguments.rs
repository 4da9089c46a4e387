//! Invalid arguments: their error numbers, and that a refused request changes nothing.

mod client;

use client::*;
use tepui_agx_chips::CHIPS;
use tepui_agx_kernel::Device;
use tepui_drm::Errno;
use tepui_drm::uapi::Request;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
use tepui_drm::uapi::core;
use tepui_drm::user::{Block, ThisProcess};

const INVAL: Result<(), Errno> = Err(Errno::INVAL);
const NOENT: Result<(), Errno> = Err(Errno::NOENT);

#[test]
fn parameters_name_the_chip() {
    for chip in CHIPS {
        let file = Device::new(chip, quiet()).open();
        let mut params = uapi::ParamsGlobal::default();
        let mut args = uapi::GetParams {
            pointer: (&raw mut params) as u64,
            size: size_of_val(&params) as u64,
            ..Default::default()
        };
        call(&file, Ioctl::GetParams, &mut args).unwrap();
        assert_eq!(params, tepui_agx_kernel::params(chip));
        assert_eq!(params.features, uapi::FEATURE_SOFT_FAULTS);
        let cores: u32 = params.core_masks.iter().map(|mask| mask.count_ones()).sum();
        assert_eq!(cores, chip.cores());
        assert_eq!(params.num_clusters_total * params.num_cores_per_cluster, cores);
    }
    let m1 = tepui_agx_chips::chip("m1").unwrap();
    assert_eq!((m1.gpu_name().as_str(), m1.cores()), ("G13G B0", 8));
    assert_eq!(tepui_agx_chips::chip("m9"), None);
}

#[test]
fn parameters_are_cut_to_the_clients_size() {
    let file = recorder().0.open();
    let block = Block::new(0x1000, vec![0xee; 16]);
    let ask = |args: uapi::GetParams| {
        let mut args = args;
        let request = Ioctl::GetParams.info().request;
        file.ioctl(&block, request, bytemuck::bytes_of_mut(&mut args)).map(drop)
    };
    let args = uapi::GetParams { pointer: 0x1000, size: 12, ..Default::default() };
    assert_eq!(ask(args), Ok(()));
    assert_eq!(ask(uapi::GetParams { size: 592, ..args }), Err(Errno::FAULT));
    assert_eq!(ask(uapi::GetParams { param_group: 1, ..args }), INVAL);
    assert_eq!(ask(uapi::GetParams { pad: 1, ..args }), INVAL);
    let bytes = block.bytes();
    assert_eq!(bytes[8..12], 13u32.to_le_bytes());
    assert_eq!(bytes[12..], [0xee; 4]);
}

#[test]
fn arguments_may_be_older_or_newer_than_the_kernel() {
    let file = recorder().0.open();
    // SAFETY: no pointers.
    let user = unsafe { ThisProcess::new() };
    let ask = |ioctl: Ioctl, bytes: &mut [u8]| {
        let info = ioctl.info();
        let word = info.request.0 & !(0x3fff << 16) | (bytes.len() as u32) << 16;
        file.ioctl(&user, Request(word), bytes).map(drop)
    };
    // An old client that knows only `flags` of `get_time`.
    assert_eq!(ask(Ioctl::GetTime, &mut [0; 8]), Ok(()));
    // A new one with a field that is not known here.
    let mut newer = [0; 24];
    assert_eq!(ask(Ioctl::GetTime, &mut newer), Ok(()));
    assert_ne!(newer[8..16], [0; 8]);
    assert_eq!(newer[16..], [0; 8]);
    newer[16] = 1;
    assert_eq!(ask(Ioctl::GetTime, &mut newer), Err(Errno::TOOBIG));
    // Words that do not belong to the argument, or to DRM.
    let request = Ioctl::GetTime.info().request;
    assert_eq!(file.ioctl(&user, request, &mut [0; 8]), Err(Errno::NOTTY));
    let alien = Request(request.0 & !0xff00 | u32::from(b'b') << 8);
    assert_eq!(file.ioctl(&user, alien, &mut [0; 16]), Err(Errno::NOTTY));
}

#[test]
fn time_runs_and_takes_no_flags() {
    let file = recorder().0.open();
    let time = |flags| {
        let mut args = uapi::GetTime { flags, ..Default::default() };
        call(&file, Ioctl::GetTime, &mut args).map(|()| args.gpu_timestamp)
    };
    let first = time(0).unwrap();
    assert!(time(0).unwrap() >= first && first > 0);
    assert_eq!(time(1), Err(Errno::INVAL));
}

#[test]
fn address_spaces_keep_a_range_for_the_kernel() {
    let file = recorder().0.open();
    let (start, end) = kernel_range();
    let create = |kernel_start, kernel_end, pad| {
        let mut args = uapi::VmCreate { kernel_start, kernel_end, pad, vm_id: 0 };
        call(&file, Ioctl::VmCreate, &mut args).map(|()| args.vm_id)
    };
    let refused = [
        (start, end, 1, "pad"),
        (end, start, 0, "reversed"),
        (start, start, 0, "empty"),
        (0, PAGE << 20, 0, "before the window"),
        (start, end + PAGE, 0, "behind the window"),
        (start, start + (512 << 20) - PAGE, 0, "too small"),
        (start + 8, end, 0, "misaligned"),
    ];
    for (start, end, pad, why) in refused {
        assert_eq!(create(start, end, pad), Err(Errno::INVAL), "{why}");
    }
    assert_eq!(create(start, end, 0), Ok(1));
    assert_eq!(create(PAGE, PAGE + (512 << 20), 0), Ok(2));
    let destroy = |vm_id, pad| call(&file, Ioctl::VmDestroy, &mut uapi::VmDestroy { vm_id, pad });
    assert_eq!(destroy(1, 1), INVAL);
    assert_eq!(destroy(3, 0), NOENT);
    assert_eq!(destroy(1, 0), Ok(()));
    assert_eq!(destroy(1, 0), NOENT);
    assert_eq!(create(start, end, 0), Ok(1), "the lowest free id");
}

#[test]
fn buffers_are_whole_pages() {
    let file = recorder().0.open();
    let vm = vm(&file);
    let create = |size, flags, vm_id, pad| {
        let mut args = uapi::GemCreate { size, flags, vm_id, pad, handle: 0 };
        call(&file, Ioctl::GemCreate, &mut args).map(|()| (args.handle, args.size))
    };
    assert_eq!(create(0, 0, 0, 0), Err(Errno::INVAL));
    assert_eq!(create(PAGE, 4, 0, 0), Err(Errno::INVAL), "unknown flag");
    assert_eq!(create(PAGE, 0, 0, 1), Err(Errno::INVAL), "pad");
    assert_eq!(create(u64::MAX, 0, 0, 0), Err(Errno::INVAL));
    assert!(create(1 << 60, 0, 0, 0).is_err(), "more than there can be");
    assert_eq!(create(PAGE, uapi::GEM_VM_PRIVATE, 99, 0), Err(Errno::NOENT));
    assert_eq!(create(1, 0, 0, 0), Ok((1, PAGE)));
    assert_eq!(
        create(PAGE + 1, uapi::GEM_VM_PRIVATE | uapi::GEM_WRITEBACK, vm, 0),
        Ok((2, 2 * PAGE))
    );
    let offset = |handle, flags| {
        let mut args = uapi::GemMmapOffset { handle, flags, offset: 0 };
        call(&file, Ioctl::GemMmapOffset, &mut args).map(|()| args.offset)
    };
    assert_eq!(offset(1, 1), Err(Errno::INVAL));
    assert_eq!(offset(9, 0), Err(Errno::NOENT));
    assert_ne!(offset(1, 0).unwrap(), offset(2, 0).unwrap());
    // A private buffer is never exported.
    let export = |handle| {
        let mut args = core::PrimeHandle { handle, flags: 0, fd: -1 };
        call_core(&file, core::Ioctl::PrimeHandleToFd, &mut args)
    };
    assert_eq!(export(2), INVAL);
    assert_eq!(gem_close(&file, 2), Ok(()));
    assert_eq!(gem_close(&file, 2), INVAL);
}

#[test]
fn binds_are_checked_all_before_any_is_made() {
    let file = recorder().0.open();
    let (vm, other_vm) = (vm(&file), vm(&file));
    let handle = gem(&file, 4 * PAGE);
    let (kernel_start, kernel_end) = kernel_range();
    let good = uapi::GemBindOp {
        flags: uapi::BIND_READ | uapi::BIND_WRITE,
        handle,
        offset: 0,
        range: 4 * PAGE,
        addr: 1 << 37,
    };
    let private = {
        let mut args = uapi::GemCreate {
            size: 4 * PAGE,
            flags: uapi::GEM_VM_PRIVATE,
            vm_id: other_vm,
            ..Default::default()
        };
        call(&file, Ioctl::GemCreate, &mut args).unwrap();
        args.handle
    };
    let unbind = uapi::GemBindOp { flags: uapi::BIND_UNBIND, ..good };
    let single = uapi::GemBindOp { flags: good.flags | uapi::BIND_SINGLE_PAGE, ..good };
    let refused = [
        (uapi::GemBindOp { flags: good.flags | 16, ..good }, INVAL, "unknown flag"),
        (uapi::GemBindOp { flags: 0, ..good }, INVAL, "no access"),
        (uapi::GemBindOp { flags: uapi::BIND_UNBIND | uapi::BIND_READ, ..good }, INVAL, "both"),
        (uapi::GemBindOp { range: 0, ..good }, INVAL, "empty"),
        (uapi::GemBindOp { range: PAGE + 4096, ..good }, INVAL, "range"),
        (uapi::GemBindOp { addr: good.addr + 4096, ..good }, INVAL, "addr"),
        (uapi::GemBindOp { offset: 4096, ..good }, INVAL, "offset"),
        (uapi::GemBindOp { addr: 0, ..good }, INVAL, "before the window"),
        (uapi::GemBindOp { addr: kernel_end, ..good }, INVAL, "behind the window"),
        (uapi::GemBindOp { addr: kernel_start, ..good }, INVAL, "the kernel's"),
        (uapi::GemBindOp { addr: kernel_start - PAGE, ..good }, INVAL, "into the kernel's"),
        (uapi::GemBindOp { addr: u64::MAX - PAGE + 1, ..good }, INVAL, "around the end"),
        (uapi::GemBindOp { range: 8 * PAGE, ..good }, INVAL, "behind the buffer"),
        (uapi::GemBindOp { offset: PAGE, ..good }, INVAL, "behind the buffer"),
        (uapi::GemBindOp { offset: 4 * PAGE, ..single }, INVAL, "single page behind the buffer"),
        (uapi::GemBindOp { offset: u64::MAX - PAGE + 1, ..good }, INVAL, "wild offset"),
        (uapi::GemBindOp { handle: 99, ..good }, NOENT, "no buffer"),
        (uapi::GemBindOp { handle: private, ..good }, INVAL, "another's private buffer"),
        (uapi::GemBindOp { addr: kernel_start, ..unbind }, INVAL, "unbinding the kernel's"),
        (uapi::GemBindOp { range: 1, ..unbind }, INVAL, "unbinding part of a page"),
    ];
    let far = uapi::GemBindOp { addr: good.addr + (1 << 30), ..good };
    for (op, error, why) in refused {
        assert_eq!(bind(&file, vm, op), error, "{why}");
        assert_eq!(binds(&file, vm, &[far, op]), error, "{why}");
    }
    assert_eq!(file.bindings(vm), []);
    assert_eq!(bind(&file, 99, good), NOENT);
    assert_eq!(bind(&file, other_vm, uapi::GemBindOp { handle: private, ..good }), Ok(()));

    // The unused fields of UNBIND are not looked at.
    assert_eq!(bind(&file, vm, uapi::GemBindOp { handle: 99, offset: 7, ..unbind }), Ok(()));
    let wide = uapi::GemBindOp { range: 64 * PAGE, addr: 1 << 38, offset: 3 * PAGE, ..single };
    assert_eq!(binds(&file, vm, &[good, wide, far]), Ok(()));
    assert_eq!(
        bind(&file, vm, uapi::GemBindOp { addr: good.addr + PAGE, range: PAGE, ..unbind }),
        Ok(())
    );
    assert_eq!(
        file.bindings(vm),
        [
            (1 << 37, PAGE),
            ((1 << 37) + 2 * PAGE, 2 * PAGE),
            ((1 << 37) + (1 << 30), 4 * PAGE),
            (1 << 38, 64 * PAGE),
        ]
    );
    // Closing the handle unbinds the buffer everywhere.
    gem_close(&file, handle).unwrap();
    assert_eq!(file.bindings(vm), []);
    assert_eq!(file.bindings(other_vm).len(), 1);
}

#[test]
fn binds_stand_a_stride_apart() {
    let file = recorder().0.open();
    let vm = vm(&file);
    let op = uapi::GemBindOp {
        flags: uapi::BIND_READ,
        handle: gem(&file, PAGE),
        range: PAGE,
        addr: 1 << 37,
        ..Default::default()
    };
    let bytes = |op: uapi::GemBindOp, tail: &[u8]| [bytemuck::bytes_of(&op), tail].concat();
    let ask = |bytes: &[u8], stride: usize, num_binds: u32, pad: u32| {
        let mut args = uapi::VmBind {
            vm_id: vm,
            num_binds,
            stride: stride as u32,
            pad,
            userptr: bytes.as_ptr() as u64,
        };
        call(&file, Ioctl::VmBind, &mut args)
    };
    let two =
        [bytes(op, &[0; 8]), bytes(uapi::GemBindOp { addr: 1 << 38, ..op }, &[0; 8])].concat();
    assert_eq!(ask(&two, 40, 2, 1), INVAL, "pad");
    assert_eq!(ask(&two, 24, 2, 0), INVAL, "stride");
    assert_eq!(ask(&[], 0, 0, 0), Ok(()), "nothing to do");
    assert_eq!(ask(&two, 40, 2, 0), Ok(()));
    assert_eq!(file.bindings(vm), [(1 << 37, PAGE), (1 << 38, PAGE)]);
    assert_eq!(ask(&bytes(op, &[0, 0, 0, 0, 1, 0, 0, 0]), 40, 1, 0), Err(Errno::TOOBIG));
    let mut args = uapi::VmBind {
        vm_id: vm,
        num_binds: u32::MAX,
        stride: 32,
        userptr: 8,
        ..Default::default()
    };
    assert_eq!(call(&file, Ioctl::VmBind, &mut args), Err(Errno::FAULT));
}

#[test]
fn timestamp_objects_are_parts_of_buffers() {
    let file = recorder().0.open();
    let handle = gem(&file, 4 * PAGE);
    let good = uapi::GemBindObject {
        op: uapi::BIND_OBJECT_OP_BIND,
        flags: uapi::BIND_OBJECT_USAGE_TIMESTAMPS,
        handle,
        offset: PAGE,
        range: PAGE,
        ..Default::default()
    };
    let ask = |args: uapi::GemBindObject| {
        let mut args = args;
        call(&file, Ioctl::GemBindObject, &mut args).map(|()| args.object_handle)
    };
    let refused = [
        (uapi::GemBindObject { op: 2, ..good }, Errno::INVAL),
        (uapi::GemBindObject { pad: 1, ..good }, Errno::INVAL),
        (uapi::GemBindObject { vm_id: 1, ..good }, Errno::INVAL),
        (uapi::GemBindObject { flags: 0, ..good }, Errno::INVAL),
        (uapi::GemBindObject { flags: 3, ..good }, Errno::INVAL),
        (uapi::GemBindObject { range: 0, ..good }, Errno::INVAL),
        (uapi::GemBindObject { range: 4096, ..good }, Errno::INVAL),
        (uapi::GemBindObject { offset: 4096, ..good }, Errno::INVAL),
        (uapi::GemBindObject { range: 4 * PAGE, ..good }, Errno::INVAL),
        (uapi::GemBindObject { offset: u64::MAX - PAGE + 1, ..good }, Errno::INVAL),
        (uapi::GemBindObject { handle: 99, ..good }, Errno::NOENT),
    ];
    for (args, errno) in refused {
        assert_eq!(ask(args), Err(errno), "{args:?}");
    }
    assert_eq!(ask(good), Ok(1));
    let unbind = uapi::GemBindObject {
        op: uapi::BIND_OBJECT_OP_UNBIND,
        object_handle: 1,
        ..Default::default()
    };
    assert_eq!(ask(unbind), Ok(1));
    assert_eq!(ask(unbind), Err(Errno::NOENT));
}

#[test]
fn queues_have_an_address_space_and_a_known_priority() {
    let file = recorder().0.open();
    let good = uapi::QueueCreate { vm_id: vm(&file), ..Default::default() };
    let ask = |args: uapi::QueueCreate| {
        let mut args = args;
        call(&file, Ioctl::QueueCreate, &mut args).map(|()| args.queue_id)
    };
    assert_eq!(ask(uapi::QueueCreate { flags: 1, ..good }), Err(Errno::INVAL));
    assert_eq!(ask(uapi::QueueCreate { vm_id: 9, ..good }), Err(Errno::NOENT));
    for (priority, answer) in
        [(0, Ok(1)), (1, Ok(2)), (2, Err(Errno::INVAL)), (4, Err(Errno::INVAL))]
    {
        assert_eq!(ask(uapi::QueueCreate { priority, ..good }), answer);
    }
    let destroy =
        |queue_id, pad| call(&file, Ioctl::QueueDestroy, &mut uapi::QueueDestroy { queue_id, pad });
    assert_eq!(destroy(1, 1), INVAL);
    assert_eq!(destroy(1, 0), Ok(()));
    assert_eq!(destroy(1, 0), NOENT);
}

#[test]
fn submissions_are_checked_whole() {
    let (device, list) = recorder();
    let file = device.open();
    let queue = queue(&file, vm(&file));
    let none = uapi::BARRIER_NONE;
    let start = Commands::default;
    let compute = uapi::CmdCompute { cdm_ctrl_stream_base: 7, ..Default::default() };
    let attachment =
        bytemuck::bytes_of(&uapi::Attachment { pointer: 1, size: 2, ..Default::default() })
            .to_vec();
    let stamped = |handle, offset| {
        let mut command = compute;
        command.ts.end = uapi::Timestamp { handle, offset };
        start().compute(command)
    };
    {
        let mut args = uapi::GemBindObject {
            flags: uapi::BIND_OBJECT_USAGE_TIMESTAMPS,
            handle: gem(&file, PAGE),
            range: PAGE,
            ..Default::default()
        };
        call(&file, Ioctl::GemBindObject, &mut args).unwrap();
        assert_eq!(args.object_handle, 1);
    }
    let bytes = |command: &uapi::CmdCompute| bytemuck::bytes_of(command).to_vec();
    let raw = |kind, barriers, payload: &[u8]| start().raw(kind, barriers, payload);
    let broken = |commands: Commands, cut: usize| {
        let length = commands.0.len() - cut;
        Commands(commands.0[..length].to_vec())
    };
    let many = |count| (0..count).fold(start(), |commands, _| commands.compute(compute));
    let twice = [attachment.clone(), attachment.clone()].concat();
    let mut flagged = attachment.clone();
    flagged[20] = 1;
    let pr = render();
    let refused = [
        (start(), INVAL, "nothing"),
        (broken(start().compute(compute), 1), INVAL, "cut payload"),
        (Commands(vec![0; 4]), INVAL, "cut header"),
        (raw(5, [none; 2], &[]), INVAL, "unknown type"),
        (raw(uapi::CMD_COMPUTE, [none; 2], &[0; 12]), INVAL, "size not a multiple of 8"),
        (raw(uapi::CMD_COMPUTE, [none, 1], &bytes(&compute)), INVAL, "barrier of later work"),
        (raw(uapi::CMD_COMPUTE, [1, none], &bytes(&compute)), INVAL, "barrier of other work"),
        (raw(2, [none; 2], &attachment), INVAL, "no hardware command"),
        (raw(2, [0, none], &attachment).compute(compute), INVAL, "barrier of attachments"),
        (raw(3, [none; 2], &attachment[..16]).compute(compute), INVAL, "part of an attachment"),
        (raw(4, [none; 2], &flagged).compute(compute), INVAL, "attachment's flags"),
        (raw(4, [none; 2], &attachment.repeat(17)).compute(compute), INVAL, "17 attachments"),
        (many(65), INVAL, "65 commands"),
        (start().compute(uapi::CmdCompute { flags: 1, ..compute }), INVAL, "compute flags"),
        (
            raw(uapi::CMD_COMPUTE, [none; 2], &[bytes(&compute), vec![1; 8]].concat()),
            Err(Errno::TOOBIG),
            "unknown fields",
        ),
        (start().render(uapi::CmdRender { flags: 8, ..pr }), INVAL, "render flags"),
        (start().render(uapi::CmdRender { samples: 3, ..pr }), INVAL, "3 samples"),
        (start().render(uapi::CmdRender { width_px: 0, ..pr }), INVAL, "no width"),
        (start().render(uapi::CmdRender { layers: 0, ..pr }), INVAL, "no layers"),
        (start().render(uapi::CmdRender { utile_width_px: 8, ..pr }), INVAL, "tile size"),
        (stamped(9, 0), NOENT, "no timestamp object"),
        (stamped(1, 4), INVAL, "timestamp misaligned"),
        (stamped(1, PAGE as u32), INVAL, "timestamp outside"),
    ];
    let out = syncobj(&file, false);
    for (commands, error, why) in refused {
        assert_eq!(submit(&file, queue, &commands, &[], &[binary(out)]), error, "{why}");
    }
    let good = start().compute(compute);
    assert_eq!(submit(&file, 9, &good, &[], &[]), NOENT);
    let syncs = [
        (uapi::Sync { sync_type: 2, ..binary(out) }, INVAL, INVAL),
        (uapi::Sync { timeline_value: 1, ..binary(out) }, INVAL, INVAL),
        (binary(99), NOENT, NOENT),
        (point(out, 0), INVAL, INVAL),
    ];
    for (sync, as_in, as_out) in syncs {
        assert_eq!(submit(&file, queue, &good, &[sync], &[]), as_in, "{sync:?}");
        assert_eq!(submit(&file, queue, &good, &[], &[binary(out), sync]), as_out, "{sync:?}");
    }
    assert_eq!(submit(&file, queue, &good, &[binary(out)], &[]), INVAL, "no fence to wait for");
    let mut args = uapi::Submit { queue_id: queue, cmdbuf_size: 8, ..Default::default() };
    assert_eq!(call(&file, Ioctl::Submit, &mut args), Err(Errno::FAULT));
    for wrong in [uapi::Submit { flags: 1, ..args }, uapi::Submit { pad: 1, ..args }] {
        args = wrong;
        assert_eq!(call(&file, Ioctl::Submit, &mut args), INVAL);
    }
    let mut args = uapi::Submit {
        queue_id: queue,
        cmdbuf: good.0.as_ptr() as u64,
        cmdbuf_size: good.0.len() as u32,
        syncs: 8,
        in_sync_count: u32::MAX,
        out_sync_count: u32::MAX,
        ..Default::default()
    };
    assert_eq!(call(&file, Ioctl::Submit, &mut args), Err(Errno::FAULT));
    // None of these ran, or touched the sync object.
    assert!(file.core().fence(out, 0).is_err());
    assert!(list.lock().unwrap().is_empty());

    // Valid submissions: every barrier, older and newer commands, the maximum number of commands.
    let fine = raw(2, [none; 2], &twice)
        .raw(3, [none; 2], &[])
        .raw(uapi::CMD_COMPUTE, [0, 0], &bytes(&compute)[..16])
        .render(pr)
        .raw(uapi::CMD_COMPUTE, [1, 1], &[bytes(&compute), vec![0; 8]].concat());
    assert_eq!(submit(&file, queue, &fine, &[], &[]), Ok(()));
    assert_eq!(submit(&file, queue, &many(64), &[], &[binary(out)]), Ok(()));
    wait(&file, out).unwrap();
    assert_eq!(list.lock().unwrap().len(), 2 + 64);
}

#[test]
fn ids_are_the_files_own() {
    let device = recorder().0;
    let (one, other) = (device.open(), device.open());
    let vm = vm(&one);
    let (queue, gem, object) = (queue(&one, vm), gem(&one, PAGE), syncobj(&one, true));
    let destroy =
        |file, vm_id| call(file, Ioctl::VmDestroy, &mut uapi::VmDestroy { vm_id, pad: 0 });
    assert_eq!(destroy(&other, vm), NOENT);
    assert_eq!(submit(&other, queue, &Commands::default().marked(1), &[], &[]), NOENT);
    assert_eq!(gem_close(&other, gem), INVAL);
    assert_eq!(wait(&other, object), NOENT);
    assert_ne!(one.id(), other.id());
}
