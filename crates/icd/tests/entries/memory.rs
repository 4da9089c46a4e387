//! Memory by the driver's entry points.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call, ok};

const SIZE_B: u64 = 65536;

/// Memory of a device with a buffer that covers it.
#[derive(Clone, Copy)]
struct Bound {
    memory: vk::DeviceMemory,
    buffer: vk::Buffer,
}

impl DeviceOnly {
    /// New memory, or the memory of a descriptor.
    fn bound(&self, import: Option<i32>) -> Bound {
        const OPAQUE: vk::ExternalMemoryHandleTypeFlags =
            vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
        let (i, d) = (self.instance, self.device);
        let export = vk::ExportMemoryAllocateInfo { handle_types: OPAQUE, ..Default::default() };
        let import = import.map(|fd| vk::ImportMemoryFdInfoKHR {
            handle_type: OPAQUE,
            fd,
            ..Default::default()
        });
        let info = vk::MemoryAllocateInfo {
            next: import.as_ref().map_or((&raw const export).cast(), |i| (&raw const *i).cast()),
            allocation_size: SIZE_B,
            ..Default::default()
        };
        let mut memory = vk::DeviceMemory::null();
        ok(call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory)));
        let external =
            vk::ExternalMemoryBufferCreateInfo { handle_types: OPAQUE, ..Default::default() };
        let info = vk::BufferCreateInfo {
            next: (&raw const external).cast(),
            size: SIZE_B,
            usage: vk::BufferUsageFlags::TRANSFER_DST,
            ..Default::default()
        };
        let mut buffer = vk::Buffer::null();
        ok(call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer)));
        ok(call!(i, PFN_vkBindBufferMemory, vkBindBufferMemory(d, buffer, memory, 0)));
        Bound { memory, buffer }
    }

    fn export(&self, of: Bound) -> i32 {
        let info = vk::MemoryGetFdInfoKHR {
            memory: of.memory,
            handle_type: vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD,
            ..Default::default()
        };
        let mut fd = -1;
        ok(call!(
            self.instance,
            PFN_vkGetMemoryFdKHR,
            vkGetMemoryFdKHR(self.device, &info, &mut fd)
        ));
        fd
    }

    fn destroy(&self, b: Bound) {
        let (i, d) = (self.instance, self.device);
        call!(i, PFN_vkDestroyBuffer, vkDestroyBuffer(d, b.buffer, null()));
        call!(i, PFN_vkFreeMemory, vkFreeMemory(d, b.memory, null()));
    }

    /// Fills a buffer by the GPU, and reads a word of another's memory.
    fn fill(&self, to: Bound, from: Bound, word: u32) -> u32 {
        let (i, d) = (self.instance, self.device);
        let buffer = to.buffer;
        self.submit(|c| {
            call!(i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 0, SIZE_B, word));
        });
        let mut host = std::ptr::null_mut();
        let flags = vk::MemoryMapFlags::empty();
        ok(call!(i, PFN_vkMapMemory, vkMapMemory(d, from.memory, 0, SIZE_B, flags, &mut host)));
        // SAFETY: the memory is mapped, and the queue is idle.
        let word = unsafe { host.cast::<u32>().add(100).read_volatile() };
        call!(i, PFN_vkUnmapMemory, vkUnmapMemory(d, from.memory));
        word
    }
}

/// The kernel has one handle for all imports of a buffer into an open file.
#[test]
fn memory_outlives_the_other_imports_of_it() {
    let device = DeviceOnly::new(&[c"VK_KHR_external_memory_fd"]);
    let exporter = device.bound(None);
    let [first, second] = [(); 2].map(|()| device.bound(Some(device.export(exporter))));
    device.destroy(first);
    assert_eq!(device.fill(second, exporter, 0x1234_5678), 0x1234_5678);
    let third = device.bound(Some(device.export(second)));
    device.destroy(exporter);
    assert_eq!(device.fill(second, third, 0x9abc_def0), 0x9abc_def0);
    device.destroy(second);
    assert_eq!(device.fill(third, third, 5), 5);
    device.destroy(third);
}
