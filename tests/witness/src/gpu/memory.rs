//! Buffers in host-visible memory, mapped for as long as they live.

use std::alloc::{Layout, alloc_zeroed};

use ash::{ext, vk};

use super::{Destroyable, During, Error, Gpu, Result};
use crate::number::Number;

/// A buffer of any usage, mapped.
pub struct Buffer {
    /// The handle.
    pub handle: vk::Buffer,
    /// Its device address.
    pub address: vk::DeviceAddress,
    /// Length in bytes.
    pub len_bytes: u64,
    map: *mut u8,
}

impl Buffer {
    /// The content. Only meaningful once the GPU's work on it has been waited for.
    pub fn bytes(&self) -> Vec<u8> {
        // SAFETY: `map` covers `len_bytes` bytes of coherent memory until the device goes, and the
        // layer waits for each submission, so nothing writes it meanwhile.
        unsafe { std::slice::from_raw_parts(self.map, self.len_bytes as usize) }.to_vec()
    }

    /// One byte of the content, as [`Buffer::bytes`].
    pub fn byte(&self, offset_bytes: usize) -> u8 {
        assert!(offset_bytes < self.len_bytes as usize);
        // SAFETY: in bounds by the assertion; as in `bytes` nothing writes it meanwhile.
        unsafe { self.map.add(offset_bytes).read() }
    }

    /// The content as numbers.
    pub fn read<T: Number>(&self) -> Vec<T> {
        T::from_slice(&self.bytes())
    }

    /// Replaces the content from `offset_bytes` on.
    pub fn write_at(&self, offset_bytes: usize, data: &[u8]) {
        assert!(offset_bytes + data.len() <= self.len_bytes as usize);
        // SAFETY: in bounds by the assertion; as in `bytes` nothing else accesses it meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.map.add(offset_bytes), data.len())
        }
    }
}

const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER.as_raw()
        | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::VERTEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDEX_BUFFER.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw(),
);

impl Gpu {
    /// A buffer that holds `data`.
    pub fn buffer<T: Number>(&self, data: &[T]) -> Result<Buffer> {
        let bytes = T::to_bytes(data);
        let buffer = self.empty(bytes.len())?;
        buffer.write_at(0, &bytes);
        Ok(buffer)
    }

    /// A buffer for `count` numbers, filled with a pattern that no kernel writes, so that what was
    /// not written shows.
    pub fn output<T: Number>(&self, count: usize) -> Result<Buffer> {
        self.poisoned(count * T::SIZE_BYTES)
    }

    /// A buffer of `len_bytes` bytes 0xA5.
    pub fn poisoned(&self, len_bytes: usize) -> Result<Buffer> {
        let buffer = self.empty(len_bytes)?;
        buffer.write_at(0, &vec![0xa5; len_bytes]);
        Ok(buffer)
    }

    /// A buffer that holds `data`, whose memory is pages of this program's. They are never freed.
    pub fn host_buffer<T: Number>(&self, data: &[T]) -> Result<Buffer> {
        const HOST: vk::ExternalMemoryHandleTypeFlags =
            vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        self.require(ext::external_memory_host::NAME)?;
        let calls = ext::external_memory_host::Device::new(&self.instance, &self.device);
        let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut host);
        // SAFETY: the chain is well formed and outlives the call.
        unsafe { self.instance.get_physical_device_properties2(self.physical, &mut all) };
        let align = host.min_imported_host_pointer_alignment;
        let bytes = T::to_bytes(data);
        let len_bytes = bytes.len() as u64;
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HOST);
        let create =
            vk::BufferCreateInfo::default().size(len_bytes).usage(USAGE).push_next(&mut external);
        let handle = self.bare_buffer(&create)?;
        // SAFETY: `handle` is this device's.
        let needs = unsafe { self.device.get_buffer_memory_requirements(handle) };
        let size = needs.size.next_multiple_of(align);
        let layout = Layout::from_size_align(size as usize, align as usize)
            .map_err(|e| Error::Case(e.to_string()))?;
        // SAFETY: the size is not 0.
        let map = unsafe { alloc_zeroed(layout) };
        let mut offered = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the pages are this program's, and the structure outlives the call.
        let result = unsafe {
            (calls.fp().get_memory_host_pointer_properties_ext)(
                self.device.handle(),
                HOST,
                map.cast(),
                &mut offered,
            )
        };
        result.result().during("vkGetMemoryHostPointerPropertiesEXT")?;
        let types = needs.memory_type_bits & offered.memory_type_bits;
        let mut import = vk::ImportMemoryHostPointerInfoEXT::default().handle_type(HOST);
        import.p_host_pointer = map.cast();
        let mut flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(self.memory_type(types, vk::MemoryPropertyFlags::HOST_COHERENT)?)
            .push_next(&mut import)
            .push_next(&mut flags);
        // SAFETY: the pages stay, and the memory type is one that they may have.
        let memory =
            unsafe { self.device.allocate_memory(&allocate, None) }.during("vkAllocateMemory")?;
        self.keep(Destroyable::Memory(memory));
        // SAFETY: the memory is new and of a type that the buffer allows.
        unsafe { self.device.bind_buffer_memory(handle, memory, 0) }
            .during("vkBindBufferMemory")?;
        let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
        // SAFETY: the buffer is bound and was made for device addresses.
        let address = unsafe { self.device.get_buffer_device_address(&info) };
        let buffer = Buffer { handle, address, len_bytes, map };
        buffer.write_at(0, &bytes);
        Ok(buffer)
    }

    /// A buffer that nothing was written to.
    pub fn empty(&self, len_bytes: usize) -> Result<Buffer> {
        self.empty_for(len_bytes, vk::BufferUsageFlags::empty())
    }

    /// A buffer that nothing was written to, with further usage.
    pub fn empty_for(&self, len_bytes: usize, more: vk::BufferUsageFlags) -> Result<Buffer> {
        let len_bytes = len_bytes as u64;
        let mut usage = USAGE | more;
        if self.require(ash::ext::conditional_rendering::NAME).is_ok() {
            usage |= vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT;
        }
        let create = vk::BufferCreateInfo::default().size(len_bytes).usage(usage);
        // SAFETY: the device is live.
        let handle =
            unsafe { self.device.create_buffer(&create, None) }.during("vkCreateBuffer")?;
        self.keep(Destroyable::Buffer(handle));
        // SAFETY: `handle` is this device's.
        let needs = unsafe { self.device.get_buffer_memory_requirements(handle) };
        let memory = self.allocate(
            needs,
            vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT,
        )?;
        // SAFETY: the memory is new, of a type that the buffer allows, and host-visible.
        let map = unsafe {
            self.device.bind_buffer_memory(handle, memory, 0).during("vkBindBufferMemory")?;
            self.device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .during("vkMapMemory")?
        };
        let info = vk::BufferDeviceAddressInfo::default().buffer(handle);
        // SAFETY: the buffer is bound and was made for device addresses.
        let address = unsafe { self.device.get_buffer_device_address(&info) };
        Ok(Buffer { handle, address, len_bytes, map: map.cast() })
    }

    fn limits(&self) -> vk::PhysicalDeviceLimits {
        // SAFETY: the instance is live.
        unsafe { self.instance.get_physical_device_properties(self.physical) }.limits
    }

    /// Most texels of a texel buffer.
    pub fn max_texels(&self) -> u32 {
        self.limits().max_texel_buffer_elements
    }

    /// Width, height and layers of the largest rendering.
    pub fn max_framebuffer(&self) -> [u32; 3] {
        let l = self.limits();
        [l.max_framebuffer_width, l.max_framebuffer_height, l.max_framebuffer_layers]
    }

    /// A buffer without memory.
    pub fn bare_buffer(&self, create: &vk::BufferCreateInfo<'_>) -> Result<vk::Buffer> {
        // SAFETY: the device is live.
        let handle = unsafe { self.device.create_buffer(create, None) }.during("vkCreateBuffer")?;
        self.keep(Destroyable::Buffer(handle));
        Ok(handle)
    }

    /// Memory for `needs`, freed with the device.
    pub(crate) fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
    ) -> Result<vk::DeviceMemory> {
        let mut address =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(self.memory_type(needs.memory_type_bits, flags)?)
            .push_next(&mut address);
        // SAFETY: the device is live and the memory type is one of its own.
        let memory =
            unsafe { self.device.allocate_memory(&allocate, None) }.during("vkAllocateMemory")?;
        self.keep(Destroyable::Memory(memory));
        Ok(memory)
    }

    /// A view of `count` texels of a buffer, for texel buffers.
    pub fn buffer_view(
        &self,
        buffer: &Buffer,
        format: vk::Format,
        offset_bytes: u64,
        range_bytes: u64,
    ) -> Result<vk::BufferView> {
        self.texels(buffer.handle, format, offset_bytes, range_bytes)
    }

    /// A view of texels of a buffer that may have no memory.
    pub fn texels(
        &self,
        buffer: vk::Buffer,
        format: vk::Format,
        offset_bytes: u64,
        range_bytes: u64,
    ) -> Result<vk::BufferView> {
        let create = vk::BufferViewCreateInfo::default()
            .buffer(buffer)
            .format(format)
            .offset(offset_bytes)
            .range(range_bytes);
        // SAFETY: the buffer is live and has texel buffer usage.
        let view = unsafe { self.device.create_buffer_view(&create, None) }
            .during("vkCreateBufferView")?;
        self.keep(Destroyable::BufferView(view));
        Ok(view)
    }
}
