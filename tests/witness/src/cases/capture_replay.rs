//! Buffers and memory at the addresses that they had on another device (`bufferDeviceAddressCaptureReplay`).

use ash::{Device, vk};

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{During, Gpu, Result, Robustness};

const SIZE_B: u64 = 100_000;

/// A buffer with its memory, which are destroyed when it is dropped.
struct Bound<'a> {
    device: &'a Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
}

/// Opaque capture addresses of a buffer and its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Addresses {
    buffer: u64,
    memory: u64,
    device: u64,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        // SAFETY: the device is live and idle: the layer waits for submissions.
        unsafe {
            self.device.destroy_buffer(self.buffer, None);
            self.device.free_memory(self.memory, None);
        }
    }
}

impl Bound<'_> {
    /// A buffer at addresses, or at any if they are 0.
    fn new(gpu: &Gpu, at: Addresses) -> Result<Bound<'_>> {
        let device = &gpu.device;
        let mut opaque =
            vk::BufferOpaqueCaptureAddressCreateInfo::default().opaque_capture_address(at.buffer);
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default()
            .size(SIZE_B)
            .usage(usage)
            .flags(vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY)
            .push_next(&mut opaque);
        // SAFETY: the device is live.
        let buffer = unsafe { device.create_buffer(&info, None) }.during("vkCreateBuffer")?;
        let mut bound = Bound { device, buffer, memory: vk::DeviceMemory::null() };
        // SAFETY: the buffer is the device's.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        let host = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(
            vk::MemoryAllocateFlags::DEVICE_ADDRESS
                | vk::MemoryAllocateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY,
        );
        let mut opaque =
            vk::MemoryOpaqueCaptureAddressAllocateInfo::default().opaque_capture_address(at.memory);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(gpu.memory_type(needs.memory_type_bits, host)?)
            .push_next(&mut flags)
            .push_next(&mut opaque);
        // SAFETY: the device is live, and the memory is new.
        unsafe {
            bound.memory = device.allocate_memory(&info, None).during("vkAllocateMemory")?;
            let result = device.bind_buffer_memory(buffer, bound.memory, 0);
            result.during("vkBindBufferMemory")?;
        }
        Ok(bound)
    }

    fn addresses(&self) -> Addresses {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.buffer);
        let memory = vk::DeviceMemoryOpaqueCaptureAddressInfo::default().memory(self.memory);
        // SAFETY: the buffer is bound, and both were made for it.
        unsafe {
            Addresses {
                buffer: self.device.get_buffer_opaque_capture_address(&info),
                memory: self.device.get_device_memory_opaque_capture_address(&memory),
                device: self.device.get_buffer_device_address(&info),
            }
        }
    }

    /// Writes the buffer on the GPU, and reads its memory.
    fn filled(&self, gpu: &Gpu, word: u32) -> Result<Vec<u32>> {
        gpu.submit(|c| {
            // SAFETY: the buffer is live and has room.
            unsafe { self.device.cmd_fill_buffer(c.handle, self.buffer, 0, SIZE_B, word) };
        })?;
        // SAFETY: the memory is host-visible, and nothing writes it any more.
        unsafe {
            let flags = vk::MemoryMapFlags::empty();
            let map = self.device.map_memory(self.memory, 0, SIZE_B, flags);
            let map = map.during("vkMapMemory")?.cast::<u32>();
            let words = std::slice::from_raw_parts(map, SIZE_B as usize / 4).to_vec();
            self.device.unmap_memory(self.memory);
            Ok(words)
        }
    }
}

fn run(bench: &Bench) -> Result<Vec<Output>> {
    let gpu = bench.gpu;
    gpu.feature(gpu.offers.capture_replay, "bufferDeviceAddressCaptureReplay")?;
    // Three buffers, all of which are destroyed before the first and the third are created again.
    let (first, _, third) = {
        let all = [(); 3].map(|()| Bound::new(gpu, Addresses::default()));
        let [a, b, c] = all;
        let (a, b, c) = (a?, b?, c?);
        (a.addresses(), b.addresses(), c.addresses())
    };
    let other = Gpu::open(&gpu.name, Robustness::Off)?;
    let (mut same, mut words) = (Vec::new(), Vec::new());
    let mut taken = 0;
    for (gpu, word) in [(gpu, 0x1234_5678), (&other, 0x9abc_def0)] {
        // In a different order than before.
        let again = Bound::new(gpu, third)?;
        let before = Bound::new(gpu, first)?;
        same.push(u32::from(again.addresses() == third && before.addresses() == first));
        words.extend(again.filled(gpu, word)?);
        // The address is occupied now.
        let twice = Bound::new(gpu, third).map(|_| ());
        let is_refused = matches!(
            twice,
            Err(crate::gpu::Error::Vulkan {
                result: vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS,
                ..
            })
        );
        taken += u32::from(is_refused);
    }
    let half = SIZE_B as usize / 4;
    let expected = [vec![0x1234_5678; half], vec![0x9abc_def0; half]].concat();
    Ok(vec![
        Output::cpu("addresses", &same, &[1, 1], Rule::Bits),
        Output::cpu("words", &words, &expected, Rule::Bits),
        Output::cpu("refused", &[taken], &[2], Rule::Bits),
    ])
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let about = "buffers and memory where they were before, in the same and in another device";
    // The reference driver does not offer it. Honeykrisp fails to allocate at an address that it returned before
    // (ERROR_OUT_OF_DEVICE_MEMORY) in a process that did nothing else, and succeeds after other cases.
    let case = Case::new("memory/capture_replay", about, Vec::<Shader>::new(), run);
    vec![case.without_lavapipe().without_honeykrisp()]
}
