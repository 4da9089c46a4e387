//! The DRM core's part of an open file: version, capabilities, GEM handles, PRIME descriptors and
//! sync objects.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use crate::fence::{Fence, wait_until};
use crate::gem::{Backing, Buffers, Gem, Handles, link_of};
use crate::ids::Ids;
use crate::sync_file;
use crate::syncobj::{self, Syncobj, WaitFlags};
use crate::token::Registry;
use crate::uapi::Request;
use crate::uapi::core::{self as uapi, Ioctl, cap};
use crate::user::{UserMemory, read_array, with_struct as with, write_array};
use crate::{lock, monotonic_ns};

/// The driver's answer to `DRM_IOCTL_VERSION`.
#[derive(Clone, Copy, Debug)]
pub struct DriverInfo {
    /// Name of the driver.
    pub name: &'static str,
    /// One line about the hardware.
    pub description: &'static str,
    /// Major, minor, patch level.
    pub version: [i32; 3],
}

/// State that all open files of a device share.
pub struct CoreDevice {
    /// The driver.
    pub driver: DriverInfo,
    /// The objects that file descriptors refer to.
    pub registry: Arc<Registry>,
    /// Buffers.
    pub buffers: Buffers,
}

impl CoreDevice {
    /// A device without buffers.
    pub fn new(driver: DriverInfo) -> CoreDevice {
        let registry = Arc::new(Registry::default());
        CoreDevice { driver, registry: registry.clone(), buffers: Buffers::new(registry) }
    }
}

/// Imports a buffer: makes the driver's object from another process's descriptor and its size in bytes.
pub type Import = fn(OwnedFd, u64) -> Result<Box<dyn Backing>, Errno>;

/// An open file of a render node.
pub struct CoreFile {
    device: Arc<CoreDevice>,
    import: Import,
    handles: Mutex<Handles>,
    syncobjs: Mutex<Ids<Arc<Syncobj>>>,
    name: Mutex<Vec<u8>>,
}

/// `EINVAL` unless `ok`.
fn require(ok: bool) -> Result<(), Errno> {
    if ok { Ok(()) } else { Err(Errno::INVAL) }
}

impl CoreFile {
    /// A new open file without handles.
    pub fn new(device: Arc<CoreDevice>, import: Import) -> CoreFile {
        CoreFile {
            device,
            import,
            handles: Mutex::default(),
            syncobjs: Mutex::default(),
            name: Mutex::default(),
        }
    }

    /// The state that all open files of the device share.
    pub fn device(&self) -> &CoreDevice {
        &self.device
    }

    /// The name that the client gave this open file (`DRM_IOCTL_SET_CLIENT_NAME`).
    pub fn client_name(&self) -> String {
        String::from_utf8_lossy(&lock(&self.name)).into_owned()
    }

    /// The buffer that a handle names; `ENOENT` if none does.
    pub fn gem(&self, handle: u32) -> Result<Arc<Gem>, Errno> {
        lock(&self.handles).get(handle).cloned().ok_or(Errno::NOENT)
    }

    /// Returns a handle for a buffer, the existing one if there is one.
    pub fn handle(&self, gem: Arc<Gem>) -> u32 {
        lock(&self.handles).handle(gem)
    }

    /// Number of buffers that the file has handles of.
    pub fn gem_count(&self) -> usize {
        lock(&self.handles).len()
    }

    /// Number of sync objects that the file has handles of.
    pub fn syncobj_count(&self) -> usize {
        lock(&self.syncobjs).len()
    }

    /// Closes a GEM handle and returns its buffer, so that the driver can release its own references.
    /// `EINVAL` if there is no such handle.
    pub fn gem_close(&self, arg: &mut [u8]) -> Result<Arc<Gem>, Errno> {
        let mut gem = None;
        with(arg, |args: &mut uapi::GemClose| {
            gem = Some(lock(&self.handles).remove(args.handle).ok_or(Errno::INVAL)?);
            Ok(())
        })?;
        gem.ok_or(Errno::INVAL)
    }

    /// See [`crate::device::VirtualFile::mapping`].
    pub fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno> {
        let gem = self.device.buffers.at_offset(offset).ok_or(Errno::INVAL)?;
        if !lock(&self.handles).contains(&gem) {
            return Err(Errno::ACCESS);
        }
        require(length > 0 && length <= gem.size())?;
        Ok(gem)
    }

    /// The sync object that a handle names; `ENOENT` if none does.
    pub fn syncobj(&self, handle: u32) -> Result<Arc<Syncobj>, Errno> {
        lock(&self.syncobjs).get(handle).cloned().ok_or(Errno::NOENT)
    }

    /// The fence of a sync object's timeline point. `ENOENT` if there is no such object, `EINVAL` if
    /// the point has no fence.
    pub fn fence(&self, handle: u32, point: u64) -> Result<Fence, Errno> {
        self.syncobj(handle)?.fence(point)
    }

    /// Answers one of the core's requests.
    ///
    /// # Errors
    /// `EACCES` for requests that render nodes refuse, `EINVAL` for an unknown number, and the errors
    /// of each request.
    pub fn ioctl(
        &self,
        user: &dyn UserMemory,
        request: Request,
        arg: &mut [u8],
    ) -> Result<(), Errno> {
        let Some(ioctl) = Ioctl::from_nr(request.nr()) else {
            let refused = uapi::is_primary_only(request.nr());
            return Err(if refused { Errno::ACCESS } else { Errno::INVAL });
        };
        match ioctl {
            Ioctl::Version => with(arg, |args| self.version(user, args)),
            Ioctl::GetCap => with(arg, get_cap),
            Ioctl::SetClientName => with(arg, |args| self.set_client_name(user, args)),
            Ioctl::GemClose => self.gem_close(arg).map(drop),
            Ioctl::GemChangeHandle => with(arg, |args: &mut uapi::GemChangeHandle| {
                lock(&self.handles).change(args.handle, args.new_handle)
            }),
            Ioctl::PrimeHandleToFd => with(arg, |args| self.prime_handle_to_fd(user, args)),
            Ioctl::PrimeFdToHandle => with(arg, |args| self.prime_fd_to_handle(user, args)),
            Ioctl::SyncobjCreate => with(arg, |args| self.syncobj_create(args)),
            Ioctl::SyncobjDestroy => with(arg, |args: &mut uapi::SyncobjDestroy| {
                require(args.pad == 0)?;
                let gone = lock(&self.syncobjs).remove(args.handle);
                gone.map(drop).ok_or(Errno::INVAL)
            }),
            Ioctl::SyncobjHandleToFd => with(arg, |args| self.syncobj_handle_to_fd(user, args)),
            Ioctl::SyncobjFdToHandle => with(arg, |args| self.syncobj_fd_to_handle(user, args)),
            Ioctl::SyncobjTransfer => with(arg, |args| self.syncobj_transfer(args)),
            Ioctl::SyncobjWait => with(arg, |args| self.syncobj_wait(user, args)),
            Ioctl::SyncobjTimelineWait => with(arg, |args| self.syncobj_timeline_wait(user, args)),
            Ioctl::SyncobjEventfd => with(arg, |args| self.syncobj_eventfd(user, args)),
            Ioctl::SyncobjReset => with(arg, |args: &mut uapi::SyncobjArray| {
                for object in self.syncobj_array(user, args)? {
                    object.replace(None);
                }
                Ok(())
            }),
            Ioctl::SyncobjSignal => with(arg, |args: &mut uapi::SyncobjArray| {
                for object in self.syncobj_array(user, args)? {
                    object.replace(Some(Fence::signaled()));
                }
                Ok(())
            }),
            Ioctl::SyncobjTimelineSignal => {
                with(arg, |args| self.syncobj_signal_points(user, args))
            }
            Ioctl::SyncobjQuery => with(arg, |args| self.syncobj_query(user, args)),
        }
    }

    fn version(&self, user: &dyn UserMemory, args: &mut uapi::Version) -> Result<(), Errno> {
        let driver = &self.device.driver;
        [args.version_major, args.version_minor, args.version_patchlevel] = driver.version;
        // The text is truncated to the buffer, without a terminator; the length becomes the full
        // length.
        let put = |length: &mut u64, at: u64, text: &str| {
            let room = usize::try_from(*length).unwrap_or(usize::MAX);
            *length = text.len() as u64;
            let fits = &text.as_bytes()[..room.min(text.len())];
            if fits.is_empty() || at == 0 { Ok(()) } else { user.write(at, fits) }
        };
        put(&mut args.name_len, args.name, driver.name)?;
        put(&mut args.date_len, args.date, "0")?;
        put(&mut args.desc_len, args.desc, driver.description)
    }

    fn set_client_name(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SetClientName,
    ) -> Result<(), Errno> {
        require(args.name_len <= uapi::CLIENT_NAME_MAX_LEN)?;
        let name = read_array::<u8>(user, args.name, args.name_len as usize)?;
        require(name.iter().all(u8::is_ascii_graphic))?;
        *lock(&self.name) = name;
        Ok(())
    }

    fn prime_handle_to_fd(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::PrimeHandle,
    ) -> Result<(), Errno> {
        let (cloexec, rdwr) = (libc::O_CLOEXEC as u32, libc::O_RDWR as u32);
        require(args.flags & !(cloexec | rdwr) == 0)?;
        let gem = self.gem(args.handle)?;
        let fd = self.device.buffers.export(&gem)?;
        args.fd = user.install(fd, args.flags & cloexec != 0)?;
        Ok(())
    }

    fn prime_fd_to_handle(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::PrimeHandle,
    ) -> Result<(), Errno> {
        let gem = self.device.buffers.import(user.descriptor(args.fd)?, self.import)?;
        args.handle = self.handle(gem);
        Ok(())
    }

    fn syncobj_create(&self, args: &mut uapi::SyncobjCreate) -> Result<(), Errno> {
        require(args.flags & !uapi::SYNCOBJ_CREATE_SIGNALED == 0)?;
        let fence = (args.flags != 0).then(Fence::signaled);
        args.handle = lock(&self.syncobjs).insert(Arc::new(Syncobj::new(fence)));
        Ok(())
    }

    fn syncobj_handle_to_fd(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjHandle,
    ) -> Result<(), Errno> {
        let known = uapi::SYNCOBJ_FD_SYNC_FILE | uapi::SYNCOBJ_FD_TIMELINE;
        require(args.pad == 0 && args.flags & !known == 0)?;
        let timeline = args.flags & uapi::SYNCOBJ_FD_TIMELINE != 0;
        require(timeline || args.point == 0)?;
        let fd = if args.flags & uapi::SYNCOBJ_FD_SYNC_FILE != 0 {
            sync_file::export(&self.device.registry, self.fence(args.handle, args.point)?)?
        } else {
            require(args.point == 0)?;
            let object = self.syncobj(args.handle).map_err(|_| Errno::INVAL)?;
            self.device.registry.issue(object)?.0
        };
        args.fd = user.install(fd, true)?;
        Ok(())
    }

    fn syncobj_fd_to_handle(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjHandle,
    ) -> Result<(), Errno> {
        let known = uapi::SYNCOBJ_FD_SYNC_FILE | uapi::SYNCOBJ_FD_TIMELINE;
        require(args.pad == 0 && args.flags & !known == 0)?;
        let timeline = args.flags & uapi::SYNCOBJ_FD_TIMELINE != 0;
        require(timeline || args.point == 0)?;
        if args.flags & uapi::SYNCOBJ_FD_SYNC_FILE != 0 {
            let fence = sync_file::import(&self.device.registry, user, args.fd)?;
            let object = self.syncobj(args.handle)?;
            put_fence(&object, args.point, fence);
        } else {
            require(args.point == 0)?;
            let fd = user.descriptor(args.fd)?;
            let object = self.device.registry.find::<Syncobj>(fd.as_fd()).ok_or(Errno::INVAL)?;
            args.handle = lock(&self.syncobjs).insert(object);
        }
        Ok(())
    }

    fn syncobj_transfer(&self, args: &mut uapi::SyncobjTransfer) -> Result<(), Errno> {
        /// Longest time that a transfer waits for the source's fence to be submitted.
        const PATIENCE_NS: u64 = 5_000_000_000;
        require(args.pad == 0)?;
        let flags = WaitFlags::from_bits(args.flags).ok_or(Errno::INVAL)?;
        require(WaitFlags::FOR_SUBMIT.contains(flags))?;
        let to = self.syncobj(args.dst_handle)?;
        let from = self.syncobj(args.src_handle)?;
        let fence = if flags.is_empty() {
            from.fence(args.src_point)?
        } else {
            let deadline = monotonic_ns() + PATIENCE_NS;
            wait_until(Some(deadline), || from.fence(args.src_point).ok()).ok_or(Errno::TIME)?
        };
        put_fence(&to, args.dst_point, fence);
        Ok(())
    }

    fn syncobjs(
        &self,
        user: &dyn UserMemory,
        handles: u64,
        count: u32,
    ) -> Result<Vec<Arc<Syncobj>>, Errno> {
        let handles = read_array::<u32>(user, handles, count as usize)?;
        handles.into_iter().map(|handle| self.syncobj(handle)).collect()
    }

    fn syncobj_array(
        &self,
        user: &dyn UserMemory,
        args: &uapi::SyncobjArray,
    ) -> Result<Vec<Arc<Syncobj>>, Errno> {
        require(args.pad == 0 && args.count_handles != 0)?;
        self.syncobjs(user, args.handles, args.count_handles)
    }

    fn syncobj_wait(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjWait,
    ) -> Result<(), Errno> {
        let flags = WaitFlags::from_bits(args.flags).ok_or(Errno::INVAL)?;
        require(!flags.contains(WaitFlags::AVAILABLE) && args.pad == 0)?;
        if args.count_handles == 0 {
            return Ok(());
        }
        let objects = self.syncobjs(user, args.handles, args.count_handles)?;
        let objects: Vec<_> = objects.into_iter().map(|object| (object, 0)).collect();
        args.first_signaled = syncobj::wait(&objects, flags, args.timeout_nsec)?;
        Ok(())
    }

    fn syncobj_timeline_wait(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjTimelineWait,
    ) -> Result<(), Errno> {
        let flags = WaitFlags::from_bits(args.flags).ok_or(Errno::INVAL)?;
        require(args.pad == 0)?;
        if args.count_handles == 0 {
            return Ok(());
        }
        let objects = self.syncobjs(user, args.handles, args.count_handles)?;
        let points = self.points(user, args.points, args.count_handles)?;
        let objects: Vec<_> = objects.into_iter().zip(points).collect();
        args.first_signaled = syncobj::wait(&objects, flags, args.timeout_nsec)?;
        Ok(())
    }

    /// Reads the timeline points of `count` objects; a null pointer means that all are 0.
    fn points(&self, user: &dyn UserMemory, at: u64, count: u32) -> Result<Vec<u64>, Errno> {
        if at == 0 { Ok(vec![0; count as usize]) } else { read_array(user, at, count as usize) }
    }

    fn syncobj_signal_points(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjTimelineArray,
    ) -> Result<(), Errno> {
        require(args.flags == 0 && args.count_handles != 0)?;
        let objects = self.syncobjs(user, args.handles, args.count_handles)?;
        let points = self.points(user, args.points, args.count_handles)?;
        for (object, point) in objects.iter().zip(points) {
            object.add_point(point, Fence::signaled());
        }
        Ok(())
    }

    fn syncobj_query(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjTimelineArray,
    ) -> Result<(), Errno> {
        require(args.flags & !uapi::SYNCOBJ_QUERY_LAST_SUBMITTED == 0 && args.count_handles != 0)?;
        let objects = self.syncobjs(user, args.handles, args.count_handles)?;
        let points: Vec<_> = objects.iter().map(|object| object.query(args.flags != 0)).collect();
        write_array(user, args.points, &points)
    }

    fn syncobj_eventfd(
        &self,
        user: &dyn UserMemory,
        args: &mut uapi::SyncobjEventfd,
    ) -> Result<(), Errno> {
        let flags = WaitFlags::from_bits(args.flags).ok_or(Errno::INVAL)?;
        require(args.pad == 0 && WaitFlags::AVAILABLE.contains(flags))?;
        let object = self.syncobj(args.handle)?;
        let eventfd = user.descriptor(args.fd)?;
        require(link_of(eventfd.as_raw_fd())?.as_bytes() == b"anon_inode:[eventfd]")?;
        syncobj::on_point(&object, args.point, !flags.is_empty(), move || {
            let _ = rustix::io::write(&eventfd, &1u64.to_ne_bytes());
        })
        .map_err(|_| Errno::NOMEM)
    }
}

fn get_cap(args: &mut uapi::GetCap) -> Result<(), Errno> {
    args.value = match args.capability {
        cap::TIMESTAMP_MONOTONIC | cap::SYNCOBJ | cap::SYNCOBJ_TIMELINE => 1,
        cap::PRIME => 3,
        // The remaining requests belong to mode setting.
        _ => return Err(Errno::OPNOTSUPP),
    };
    Ok(())
}

/// Attaches a fence to a sync object: at a timeline point, or replacing its binary fence (point 0).
pub fn put_fence(object: &Syncobj, point: u64, fence: Fence) {
    if point == 0 { object.replace(Some(fence)) } else { object.add_point(point, fence) }
}
