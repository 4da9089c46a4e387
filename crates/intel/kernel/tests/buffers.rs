//! Buffers through the ioctls: relocations and addresses that the device chooses, a client's own pages,
//! mappings.

use std::ptr::NonNull;

use bytemuck::{Pod, bytes_of_mut};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use tepui_drm::Errno;
use tepui_drm::uapi::Request;
use tepui_drm::uapi::core as drm;
use tepui_drm::uapi::i915::{
    self as uapi, ExecObject2, Execbuffer2, Ioctl, RelocationEntry, exec, exec_object,
};
use tepui_drm::user::ThisProcess;
use tepui_intel_kernel::{Device, File, Options};

const PAGE: usize = 4096;

fn ask<T: Pod>(file: &File, request: Request, arg: &mut T) -> Result<(), Errno> {
    // SAFETY: the arguments' pointers lead to live arrays of these tests.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, request, bytes_of_mut(arg)).map(drop)
}

fn open() -> File {
    let chip = tepui_intel_chips::chip("skl").unwrap();
    Device::new(chip, Options { report_faults: false, ..Options::default() }).open()
}

fn create(file: &File, size: u64) -> u32 {
    let mut gem = uapi::GemCreateExt { size, ..Default::default() };
    ask(file, Ioctl::GemCreate.info().request, &mut gem).unwrap();
    gem.handle
}

fn write(file: &File, handle: u32, at: usize, words: &[u32]) {
    let gem = file.core().gem(handle).unwrap();
    let bytes: &[u8] = bytemuck::cast_slice(words);
    assert!(at + bytes.len() <= gem.size() as usize);
    // SAFETY: inside of the buffer; no batch runs.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), gem.base().add(at), bytes.len()) }
}

fn read(file: &File, handle: u32, at: usize) -> u32 {
    let gem = file.core().gem(handle).unwrap();
    let mut bytes = [0; 4];
    // SAFETY: as in `write`.
    unsafe { std::ptr::copy_nonoverlapping(gem.base().add(at), bytes.as_mut_ptr(), 4) }
    u32::from_le_bytes(bytes)
}

/// A batch that stores a value: MI_STORE_DATA_IMM with the address at byte 4, and the end.
fn store(address: u64, value: u32) -> [u32; 6] {
    const STORE: u32 = 0x20 << 23 | 2;
    const END: u32 = 0x0a << 23;
    [STORE, address as u32, (address >> 32) as u32, value, END, 0]
}

/// Submits and waits for the end; returns the batch's error.
fn run(file: &File, objects: &mut [ExecObject2], flags: u64) -> Result<(), Errno> {
    let mut object = drm::SyncobjCreate::default();
    ask(file, drm::Ioctl::SyncobjCreate.info().request, &mut object).unwrap();
    let fence = uapi::ExecFence { handle: object.handle, flags: uapi::EXEC_FENCE_SIGNAL };
    let mut args = Execbuffer2 {
        buffers_ptr: objects.as_mut_ptr() as u64,
        buffer_count: objects.len() as u32,
        num_cliprects: 1,
        cliprects_ptr: &raw const fence as u64,
        flags: flags | exec::FENCE_ARRAY,
        ..Default::default()
    };
    ask(file, Ioctl::GemExecbuffer2.info().request, &mut args)?;
    file.core().fence(object.handle, 0).unwrap().wait()
}

#[test]
fn relocations_say_where_buffers_are() {
    let file = open();
    let [data, batch] = [0, 1].map(|_| create(&file, PAGE as u64));
    for (lut, high) in [(0, 0), (exec::HANDLE_LUT, exec_object::SUPPORTS_48B_ADDRESS)] {
        write(&file, data, 64, &[0]);
        write(&file, batch, 0, &store(!0, 0x1234));
        let mut relocations = [RelocationEntry {
            target_handle: if lut == 0 { data } else { 0 },
            delta: 64,
            offset: 4,
            presumed_offset: 1,
            read_domains: 2,
            write_domain: 2,
        }];
        let mut objects = [
            ExecObject2 { handle: data, offset: 1, flags: high, ..Default::default() },
            ExecObject2 {
                handle: batch,
                offset: 1,
                flags: high,
                relocation_count: 1,
                relocs_ptr: relocations.as_mut_ptr() as u64,
                ..Default::default()
            },
        ];
        assert_eq!(run(&file, &mut objects, lut), Ok(()));
        assert_eq!(read(&file, data, 64), 0x1234);
        let [at, code] = [objects[0].offset, objects[1].offset];
        assert!(at != 1 && at.is_multiple_of(4096) && at != code, "{at:#x} {code:#x}");
        assert_eq!(relocations[0].presumed_offset, at);
        assert_eq!(u64::from(read(&file, batch, 4)), at + 64);
        // Addresses that the kernel returned before are right, so nothing is written.
        write(&file, data, 64, &[0]);
        relocations[0].delta = 128;
        // The device reads it through its address.
        std::hint::black_box(&mut relocations);
        assert_eq!(run(&file, &mut objects, lut | exec::NO_RELOC), Ok(()));
        assert_eq!((read(&file, data, 64), objects[0].offset), (0x1234, at));
        assert_eq!(u64::from(read(&file, batch, 4)), at + 64);
        assert_eq!(relocations[0].delta, 128, "the client's");
    }
}

#[test]
fn chosen_addresses_make_room_for_pinned_ones() {
    let file = open();
    let [a, b, batch] = [0, 1, 2].map(|_| create(&file, PAGE as u64));
    write(&file, batch, 0, &[0x0a << 23, 0]);
    let object = |handle, offset, flags, alignment| ExecObject2 {
        handle,
        offset,
        flags,
        alignment,
        ..Default::default()
    };
    let mut objects = [object(a, 0, 0, 1 << 16), object(batch, 0, 0, 0)];
    assert_eq!(run(&file, &mut objects, 0), Ok(()));
    let first = objects[0].offset;
    assert!(first > 0 && first.is_multiple_of(1 << 16));
    // Pinned at the address of the other one.
    let mut objects = [
        object(a, first, 0, 0),
        object(b, first, exec_object::PINNED, 0),
        object(batch, objects[1].offset, 0, 0),
    ];
    assert_eq!(run(&file, &mut objects, 0), Ok(()));
    assert_ne!(objects[0].offset, first);
    assert_eq!(objects[1].offset, first);
    let bound = file.bindings(0);
    assert!(bound.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{bound:?}");
    assert_eq!(bound.len(), 3);
}

#[test]
fn bad_relocations_are_refused() {
    let file = open();
    let [data, batch] = [0, 1].map(|_| create(&file, PAGE as u64));
    write(&file, batch, 0, &store(0, 1));
    let good = RelocationEntry {
        target_handle: data,
        offset: 4,
        presumed_offset: 1,
        ..Default::default()
    };
    for (entry, error) in [
        (RelocationEntry { target_handle: 99, ..good }, Errno::NOENT),
        (RelocationEntry { offset: 4092, ..good }, Errno::INVAL),
        (RelocationEntry { offset: u64::MAX - 3, ..good }, Errno::INVAL),
        (RelocationEntry { offset: 6, ..good }, Errno::INVAL),
        (RelocationEntry { write_domain: 6, ..good }, Errno::INVAL),
        (RelocationEntry { read_domains: 1, ..good }, Errno::INVAL),
    ] {
        let mut entries = [entry];
        let mut objects = [
            ExecObject2 { handle: data, ..Default::default() },
            ExecObject2 {
                handle: batch,
                relocation_count: 1,
                relocs_ptr: entries.as_mut_ptr() as u64,
                ..Default::default()
            },
        ];
        assert_eq!(run(&file, &mut objects, 0), Err(error), "{entry:?}");
    }
    let mut objects =
        [ExecObject2 { handle: batch, relocation_count: 1, relocs_ptr: 8, ..Default::default() }];
    assert_eq!(run(&file, &mut objects, 0), Err(Errno::FAULT));
}

/// Pages of this process.
struct Pages(NonNull<u8>, usize);

impl Pages {
    fn new(count: usize) -> Pages {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let any = std::ptr::null_mut();
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe { mmap_anonymous(any, count * PAGE, access, MapFlags::PRIVATE) };
        Pages(NonNull::new(base.unwrap().cast()).unwrap(), count * PAGE)
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn word(&self, at: usize) -> u32 {
        // SAFETY: inside of the pages; no batch runs.
        unsafe { self.0.as_ptr().add(at).cast::<u32>().read() }
    }

    fn unmap(&self) {
        // SAFETY: mapped in `new` with this length.
        unsafe { munmap(self.0.as_ptr().cast(), self.1) }.unwrap();
    }
}

fn userptr(file: &File, user_ptr: u64, user_size: u64, flags: u32) -> Result<u32, Errno> {
    let mut args = uapi::GemUserptr { user_ptr, user_size, flags, handle: 0 };
    ask(file, Ioctl::GemUserptr.info().request, &mut args)?;
    Ok(args.handle)
}

#[test]
fn a_clients_own_pages_are_a_buffer() {
    let file = open();
    let pages = Pages::new(2);
    let size = 2 * PAGE as u64;
    for (address, size, flags, error) in [
        (0, 0, 0, Errno::INVAL),
        (pages.address() + 8, size, 0, Errno::INVAL),
        (pages.address(), 100, 0, Errno::INVAL),
        (pages.address(), size, 4, Errno::INVAL),
        (1 << 47, size, 0, Errno::FAULT),
        (!0 << 12, size, 0, Errno::FAULT),
        (pages.address(), size, uapi::USERPTR_UNSYNCHRONIZED, Errno::NODEV),
        (PAGE as u64, size, uapi::USERPTR_PROBE, Errno::FAULT),
    ] {
        assert_eq!(userptr(&file, address, size, flags), Err(error), "{address:#x} {size} {flags}");
    }
    let handle = userptr(&file, pages.address(), size, uapi::USERPTR_PROBE).unwrap();
    let batch = create(&file, PAGE as u64);
    // The GPU's address is the CPU's, as in Intel's OpenCL driver.
    write(&file, batch, 0, &store(pages.address() + 4100, 77));
    let flags = exec_object::PINNED | exec_object::SUPPORTS_48B_ADDRESS;
    let object = |handle, offset| ExecObject2 { handle, offset, flags, ..Default::default() };
    let mut objects = [object(handle, pages.address()), object(batch, 1 << 20)];
    assert_eq!(run(&file, &mut objects, 0), Ok(()));
    assert_eq!(pages.word(4100), 77);
    // Operations that are only for buffers of the kernel's memory.
    let mut offset = uapi::GemMmapOffset { handle, ..Default::default() };
    assert_eq!(ask(&file, Ioctl::GemMmapOffset.info().request, &mut offset), Err(Errno::NODEV));
    let mut pread = uapi::GemPread { handle, size: 4, ..Default::default() };
    assert_eq!(ask(&file, Ioctl::GemPread.info().request, &mut pread), Err(Errno::INVAL));
    let mut prime = drm::PrimeHandle { handle, ..Default::default() };
    let request = drm::Ioctl::PrimeHandleToFd.info().request;
    assert_eq!(ask(&file, request, &mut prime), Err(Errno::INVAL));
    // Pages that the GPU may not write.
    let mut close = drm::GemClose { handle, ..Default::default() };
    ask(&file, drm::Ioctl::GemClose.info().request, &mut close).unwrap();
    let handle = userptr(&file, pages.address(), size, uapi::USERPTR_READ_ONLY).unwrap();
    write(&file, batch, 0, &store(pages.address() + 4100, 78));
    let mut objects = [object(handle, pages.address()), object(batch, 1 << 20)];
    assert_eq!(run(&file, &mut objects, 0), Err(Errno::IO));
    assert_eq!(pages.word(4100), 77);
    // Pages that have been unmapped.
    pages.unmap();
    assert_eq!(run(&file, &mut objects, 0), Err(Errno::FAULT));
}

#[test]
fn gem_mmap_maps_the_buffer_once_more() {
    let file = open();
    let handle = create(&file, 2 * PAGE as u64);
    write(&file, handle, PAGE + 12, &[5]);
    let ask_for = |offset, size, flags| {
        let mut args = uapi::GemMmap { handle, offset, size, flags, ..Default::default() };
        ask(&file, Ioctl::GemMmap.info().request, &mut args).map(|()| args.addr_ptr)
    };
    let page = PAGE as u64;
    let at = ask_for(page, page, 0).unwrap() as *mut u32;
    // SAFETY: a page that was just mapped.
    unsafe {
        assert_eq!(at.add(3).read(), 5);
        at.add(3).write(6);
    }
    assert_eq!(read(&file, handle, PAGE + 12), 6);
    for (offset, size, flags) in [(0, 0, 0), (page, page + 1, 0), (8, 8, 0), (0, page, 2)] {
        assert_eq!(ask_for(offset, size, flags), Err(Errno::INVAL), "{offset} {size} {flags}");
    }
}
