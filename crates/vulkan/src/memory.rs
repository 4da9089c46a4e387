//! Device memory and buffers.

use std::ffi::c_void;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Allocation, Backend, Import, MemoryPurpose, MemoryUser, Place};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::heap_usage::Counted;
use crate::object::{get, handle, maybe, slice};
use crate::sparse_block::BLOCK_B;

/// Device memory.
pub struct Memory<B: Backend> {
    /// The family's memory; images and buffers bound to it share it.
    pub inner: Arc<B::Memory>,
    counted: Counted,
    is_coherent: bool,
    /// Address at which the application placed its mapping.
    placed: Mutex<Option<Placed>>,
}

/// Pages at an address of the application's choice.
struct Placed {
    address: *mut u8,
    size: usize,
}

// SAFETY: the pages belong to the mapping.
unsafe impl Send for Placed {}

impl<B: Backend> Memory<B> {
    /// Maps the memory where the application wants it.
    unsafe fn place(&self, address: *mut u8) -> Result<()> {
        // SAFETY: the application gives room for all of the memory.
        unsafe { B::map_at(&self.inner, address)? };
        let size = B::size(&self.inner) as usize;
        *self.placed() = Some(Placed { address, size });
        Ok(())
    }

    /// A range from an offset on: `size` bytes, or the rest of the memory.
    fn range(&self, offset: u64, size: u64) -> (u64, u64) {
        let rest = self.counted.size.saturating_sub(offset);
        (offset, if size == vk::WHOLE_SIZE { rest } else { size.min(rest) })
    }

    fn placed(&self) -> MutexGuard<'_, Option<Placed>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a placed mapping; with `reserve`, nothing else is mapped there as long as the application does not do so.
    fn unplace(&self, reserve: bool) -> Result<()> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let Some(Placed { address, size }) = self.placed().take() else { return Ok(()) };
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the pages are those of the mapping that ends.
        let done = unsafe {
            match reserve {
                true => mmap_anonymous(address.cast(), size, ProtFlags::empty(), flags).map(drop),
                false => munmap(address.cast(), size),
            }
        };
        done.map_err(|_| Error::new(vk::Result::ERROR_MEMORY_MAP_FAILED, "ending a placed mapping"))
    }
}

impl<B: Backend> Drop for Memory<B> {
    fn drop(&mut self) {
        let _ = self.unplace(false);
    }
}

/// A buffer.
pub struct Buffer<B: Backend> {
    /// Bytes.
    pub size: u64,
    /// GPU address once it is bound; 0 before.
    pub address: u64,
    /// Usage.
    pub usage: vk::BufferUsageFlags2,
    pub(crate) memory: Option<Arc<B::Memory>>,
    /// The address range of a sparse buffer, to which memory is bound in pieces, or of one with a
    /// replayable address.
    pub(crate) range: Option<Arc<B::Range>>,
    requirements: vk::MemoryRequirements,
}

impl<B: Backend> Buffer<B> {
    /// Whether parts of it may have no memory.
    pub fn is_sparse(&self) -> bool {
        self.range.is_some() && self.memory.is_none()
    }

    /// Size of a range from an offset on: `range`, or the rest of the buffer.
    pub fn range(&self, offset: u64, range: u64) -> u64 {
        let rest = self.size.saturating_sub(offset);
        if range == vk::WHOLE_SIZE { rest } else { range.min(rest) }
    }
}

/// Alignment of buffers in bytes.
pub const BUFFER_ALIGNMENT: u64 = 64;

fn requirements<B: Backend>(d: &Device<B>, info: &vk::BufferCreateInfo) -> vk::MemoryRequirements {
    let (size, flags) = (info.size, info.flags);
    // SAFETY: the structure is the application's and valid.
    let usage = unsafe { buffer_usage(info) };
    let alignment = if has_range(d, flags) { BLOCK_B } else { BUFFER_ALIGNMENT };
    vk::MemoryRequirements {
        size: size.next_multiple_of(alignment),
        alignment,
        memory_type_bits: B::memory_types(&d.inner, &MemoryUser::Buffer(usage)),
    }
}

/// Whether a buffer has addresses of its own, whatever memory is bound to it. One whose addresses are to come again has those of its
/// memory, which come again, too, if the device binds no memory to ranges for that.
fn has_range<B: Backend>(d: &Device<B>, flags: vk::BufferCreateFlags) -> bool {
    use vk::BufferCreateFlags as F;
    let binds = !B::REPLAYS_MEMORY && B::info(&d.physical).features.sparse_binding == vk::TRUE;
    flags.contains(F::SPARSE_BINDING) || binds && flags.contains(F::DEVICE_ADDRESS_CAPTURE_REPLAY)
}

/// Requested address of a buffer's own range.
unsafe fn buffer_place(info: &vk::BufferCreateInfo) -> Place {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        let opaque: Option<&vk::BufferOpaqueCaptureAddressCreateInfo> =
            chain::find(info.next, vk::StructureType::BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO);
        let address: Option<&vk::BufferDeviceAddressCreateInfoEXT> =
            chain::find(info.next, vk::StructureType::BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT);
        let opaque = opaque.map_or(0, |o| o.opaque_capture_address);
        let at = if opaque != 0 { opaque } else { address.map_or(0, |a| a.device_address) };
        let flag = vk::BufferCreateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY;
        Place::replayable(info.flags.contains(flag), at)
    }
}

/// Requested address of memory.
unsafe fn memory_place(info: &vk::MemoryAllocateInfo) -> Place {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        let flags: Option<&vk::MemoryAllocateFlagsInfo> =
            chain::find(info.next, vk::StructureType::MEMORY_ALLOCATE_FLAGS_INFO);
        let opaque: Option<&vk::MemoryOpaqueCaptureAddressAllocateInfo> =
            chain::find(info.next, vk::StructureType::MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO);
        let flag = vk::MemoryAllocateFlags::DEVICE_ADDRESS_CAPTURE_REPLAY;
        let replayable = flags.is_some_and(|f| f.flags.contains(flag));
        Place::replayable(replayable, opaque.map_or(0, |o| o.opaque_capture_address))
    }
}

unsafe fn buffer_usage(info: &vk::BufferCreateInfo) -> vk::BufferUsageFlags2 {
    // SAFETY: the chain is the application's and valid.
    let more: Option<&vk::BufferUsageFlags2CreateInfo> =
        unsafe { chain::find(info.next, vk::StructureType::BUFFER_USAGE_FLAGS_2_CREATE_INFO) };
    more.map_or(vk::BufferUsageFlags2::from_bits_truncate(u64::from(info.usage.bits())), |m| {
        m.usage
    })
}

/// Fills in what chains of memory requirements ask for: nothing prefers memory of its own.
pub(crate) unsafe fn dedicated(next: *mut c_void, requires: bool) {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        chain::each(next, |s_type, at| {
            if s_type == vk::StructureType::MEMORY_DEDICATED_REQUIREMENTS {
                let o = &mut *at.cast::<vk::MemoryDedicatedRequirements>();
                let yes = if requires { vk::TRUE } else { vk::FALSE };
                (o.prefers_dedicated_allocation, o.requires_dedicated_allocation) = (yes, yes);
            }
        });
    }
}

entry! {
    /// `vkAllocateMemory`.
    fn vkAllocateMemory<B: Backend>(device: vk::Device, info: *const vk::MemoryAllocateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DeviceMemory) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let export: Option<&vk::ExportMemoryAllocateInfo> = chain::find(info.next, vk::StructureType::EXPORT_MEMORY_ALLOCATE_INFO);
            let import: Option<&vk::ImportMemoryFdInfoKHR> = chain::find(info.next, vk::StructureType::IMPORT_MEMORY_FD_INFO_KHR);
            let import = import.filter(|i| !i.handle_type.is_empty());
            let file = import.map(|i| Import::File(OwnedFd::from_raw_fd(i.fd)));
            let host: Option<&vk::ImportMemoryHostPointerInfoEXT> = chain::find(info.next, vk::StructureType::IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
            let host = host.filter(|i| !i.handle_type.is_empty()).map(|i| Import::Host(i.host_pointer.cast()));
            let allocation = Allocation {
                size: info.allocation_size,
                memory_type: info.memory_type_index,
                exportable: export.is_some_and(|e| !e.handle_types.is_empty()),
                import: file.or(host),
                place: memory_place(info),
                purpose: MemoryPurpose::Resources,
            };
            let inner = Arc::new(B::allocate(&d.inner, allocation)?);
            let ty = d.memory_type(info.memory_type_index);
            let memory = Memory::<B> {
                inner,
                counted: Counted::new(&d.heap_usage, ty.heap_index as usize, info.allocation_size),
                is_coherent: ty.property_flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT),
                placed: Mutex::default(),
            };
            *out = handle(d.allocator(callbacks).create(memory)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkFreeMemory`.
    fn vkFreeMemory<B: Backend>(device: vk::Device, memory: vk::DeviceMemory, callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            let d = Device::<B>::of(device);
            if let Some(m) = maybe::<Memory<B>>(memory) {
                let start = B::address(&m.inner);
                d.texel_buffers.forget(start..start + B::size(&m.inner));
            }
            d.allocator(callbacks).destroy(memory.as_raw() as *mut Memory<B>)
        }
    }

    /// `vkMapMemory`.
    fn vkMapMemory<B: Backend>(_device: vk::Device, memory: vk::DeviceMemory, offset: u64, _size: u64, _flags: vk::MemoryMapFlags, out: *mut *mut c_void) -> vk::Result {
        unsafe {
            *out = B::host(&get::<Memory<B>>(memory).inner).add(offset as usize).cast();
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkMapMemory2`.
    fn vkMapMemory2<B: Backend>(_device: vk::Device, info: *const vk::MemoryMapInfo, out: *mut *mut c_void) -> vk::Result {
        unsafe {
            let info = &*info;
            let memory = get::<Memory<B>>(info.memory);
            let placed: Option<&vk::MemoryMapPlacedInfoEXT> = chain::find(info.next, vk::StructureType::MEMORY_MAP_PLACED_INFO_EXT);
            if let Some(p) = placed.filter(|_| info.flags.contains(vk::MemoryMapFlags::PLACED_EXT)) {
                memory.place(p.placed_address.cast())?;
                *out = p.placed_address;
            } else {
                *out = B::host(&memory.inner).add(info.offset as usize).cast();
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkUnmapMemory`: memory stays mapped where the driver has it as long as it lives.
    fn vkUnmapMemory<B: Backend>(_device: vk::Device, memory: vk::DeviceMemory) {
        unsafe { drop(get::<Memory<B>>(memory).unplace(false)) }
    }

    /// `vkUnmapMemory2`.
    fn vkUnmapMemory2<B: Backend>(_device: vk::Device, info: *const vk::MemoryUnmapInfo) -> vk::Result {
        unsafe {
            let reserve = (*info).flags.contains(vk::MemoryUnmapFlags::RESERVE_EXT);
            get::<Memory<B>>((*info).memory).unplace(reserve)?;
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkFlushMappedMemoryRanges`.
    fn vkFlushMappedMemoryRanges<B: Backend>(_device: vk::Device, count: u32, ranges: *const vk::MappedMemoryRange) -> vk::Result {
        unsafe { each_incoherent::<B>(slice(ranges, count), B::flush)? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkInvalidateMappedMemoryRanges`.
    fn vkInvalidateMappedMemoryRanges<B: Backend>(_device: vk::Device, count: u32, ranges: *const vk::MappedMemoryRange) -> vk::Result {
        unsafe { each_incoherent::<B>(slice(ranges, count), B::invalidate)? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetDeviceMemoryCommitment`.
    fn vkGetDeviceMemoryCommitment<B: Backend>(_device: vk::Device, memory: vk::DeviceMemory, out: *mut u64) {
        unsafe { *out = get::<Memory<B>>(memory).counted.size }
    }

    /// `vkGetDeviceMemoryOpaqueCaptureAddress`.
    fn vkGetDeviceMemoryOpaqueCaptureAddress<B: Backend>(_device: vk::Device, info: *const vk::DeviceMemoryOpaqueCaptureAddressInfo) -> u64 {
        unsafe { B::address(&get::<Memory<B>>((*info).memory).inner) }
    }

    /// `vkGetMemoryFdKHR`.
    fn vkGetMemoryFdKHR<B: Backend>(device: vk::Device, info: *const vk::MemoryGetFdInfoKHR, out: *mut i32) -> vk::Result {
        unsafe {
            let (d, memory): (_, &Memory<B>) = (Device::<B>::of(device), get((*info).memory));
            *out = B::export(&d.inner, &memory.inner)?.into_raw_fd();
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetMemoryFdPropertiesKHR`.
    fn vkGetMemoryFdPropertiesKHR<B: Backend>(device: vk::Device, ty: vk::ExternalMemoryHandleTypeFlags, _fd: i32, out: *mut vk::MemoryFdPropertiesKHR) -> vk::Result {
        unsafe { (*out).memory_type_bits = B::memory_types(&Device::<B>::of(device).inner, &MemoryUser::File(ty)) }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetMemoryHostPointerPropertiesEXT`.
    fn vkGetMemoryHostPointerPropertiesEXT<B: Backend>(device: vk::Device, _ty: vk::ExternalMemoryHandleTypeFlags, _pointer: *const c_void, out: *mut vk::MemoryHostPointerPropertiesEXT) -> vk::Result {
        unsafe { (*out).memory_type_bits = B::memory_types(&Device::<B>::of(device).inner, &MemoryUser::Host) }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkCreateBuffer`.
    fn vkCreateBuffer<B: Backend>(device: vk::Device, info: *const vk::BufferCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Buffer) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let requirements = requirements(d, info);
            let mut buffer = Buffer::<B> { size: info.size, address: 0, usage: buffer_usage(info), memory: None, range: None, requirements };
            if has_range(d, info.flags) {
                let range = B::reserve(&d.inner, requirements.size, None, buffer_place(info))?;
                buffer.address = B::range_address(&range);
                buffer.range = Some(Arc::new(range));
            }
            *out = handle(d.allocator(callbacks).create(buffer)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyBuffer`.
    fn vkDestroyBuffer<B: Backend>(device: vk::Device, buffer: vk::Buffer, callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            let d = Device::<B>::of(device);
            if let Some(b) = maybe::<Buffer<B>>(buffer).filter(|b| b.range.is_some()) {
                d.texel_buffers.forget(b.address..b.address + b.size);
            }
            d.allocator(callbacks).destroy(buffer.as_raw() as *mut Buffer<B>)
        }
    }

    /// `vkGetBufferMemoryRequirements`.
    fn vkGetBufferMemoryRequirements<B: Backend>(_device: vk::Device, buffer: vk::Buffer, out: *mut vk::MemoryRequirements) {
        unsafe { *out = get::<Buffer<B>>(buffer).requirements }
    }

    /// `vkGetBufferMemoryRequirements2`.
    fn vkGetBufferMemoryRequirements2<B: Backend>(_device: vk::Device, info: *const vk::BufferMemoryRequirementsInfo2, out: *mut vk::MemoryRequirements2) {
        unsafe {
            (*out).memory_requirements = get::<Buffer<B>>((*info).buffer).requirements;
            dedicated((*out).next, false);
        }
    }

    /// `vkGetDeviceBufferMemoryRequirements`.
    fn vkGetDeviceBufferMemoryRequirements<B: Backend>(device: vk::Device, info: *const vk::DeviceBufferMemoryRequirements, out: *mut vk::MemoryRequirements2) {
        unsafe {
            let info = &*(*info).create_info;
            (*out).memory_requirements = requirements(Device::<B>::of(device), info);
            dedicated((*out).next, false);
        }
    }

    /// `vkGetBufferDeviceAddress`.
    fn vkGetBufferDeviceAddress<B: Backend>(_device: vk::Device, info: *const vk::BufferDeviceAddressInfo) -> u64 {
        unsafe { get::<Buffer<B>>((*info).buffer).address }
    }

    /// `vkGetBufferOpaqueCaptureAddress`.
    fn vkGetBufferOpaqueCaptureAddress<B: Backend>(_device: vk::Device, info: *const vk::BufferDeviceAddressInfo) -> u64 {
        unsafe { get::<Buffer<B>>((*info).buffer).address }
    }
}

/// Calls `each` for those ranges of memory that are not coherent.
unsafe fn each_incoherent<B: Backend>(
    ranges: &[vk::MappedMemoryRange],
    each: impl Fn(&B::Memory, u64, u64) -> Result<()>,
) -> Result<()> {
    for r in ranges {
        // SAFETY: the handle is live.
        let memory: &Memory<B> = unsafe { get(r.memory) };
        if !memory.is_coherent {
            let (offset, size) = memory.range(r.offset, r.size);
            each(&memory.inner, offset, size)?;
        }
    }
    Ok(())
}
