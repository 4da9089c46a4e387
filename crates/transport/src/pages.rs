//! The client's own pages, in a file that the server can map.
//!
//! A buffer may consist of pages that the client has allocated itself (`GEM_USERPTR`). A device in the client's process
//! reaches them where they are; one in another process can only map files. So the pages move to a file, which is mapped
//! in their place: the client sees no difference. The file is as large as the address space and empty but for these
//! pages, each at the offset of its address. Ranges may overlap, then.
//!
//! Unlike a kernel, which leaves the pages where they are, this loses what another thread writes to them during the call,
//! and a child of `fork` shares the pages with its parent.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// The address space of a process: 47 bits.
const FILE_BYTES: u64 = 1 << 47;

/// The file of a process, made with the first pages.
#[derive(Default)]
pub struct OwnPages(Mutex<Option<OwnedFd>>);

impl OwnPages {
    /// Puts whole pages of this process into the file; gives it, and the offset of the first page.
    ///
    /// # Errors
    /// `EFAULT` if a page is not mapped, is shared already with somebody else, or holds the stack of this call.
    pub fn share(&self, address: u64, size: u64) -> Result<(OwnedFd, u64), Errno> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(new_file()?);
        }
        let file = file.as_ref().ok_or(Errno::NOMEM)?;
        let end = address.checked_add(size).filter(|&end| end <= FILE_BYTES).ok_or(Errno::FAULT)?;
        let stack = &raw const end as u64;
        if (address..end).contains(&stack) {
            return Err(Errno::FAULT);
        }
        let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| Errno::FAULT)?;
        let inode = rustix::fs::fstat(file)?.st_ino;
        let parts = parts(&maps, inode, address, end).ok_or(Errno::FAULT)?;
        for part in parts {
            replace(file, &part)?;
        }
        Ok((rustix::io::fcntl_dupfd_cloexec(file, 0)?, address))
    }
}

fn new_file() -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("tepui-pages", flags)?;
    rustix::fs::ftruncate(&file, FILE_BYTES)?;
    // The server maps it, and would not survive its getting shorter.
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK)?;
    Ok(file)
}

/// Pages that are not in the file yet.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    start: u64,
    end: u64,
    writable: bool,
}

/// The parts of a range that are not in the file with this inode yet, from the text of `/proc/self/maps`. `None` if a part
/// cannot go there.
fn parts(maps: &str, inode: u64, address: u64, end: u64) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut next = address;
    for line in maps.lines() {
        // source: proc(5): address, permissions, offset, device, inode, path.
        let mut words = line.split_ascii_whitespace();
        let (first, last) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (first, last) = (number(first)?, number(last)?);
        if last <= next {
            continue;
        }
        if first > next {
            return None;
        }
        let permissions = words.next()?.as_bytes();
        let offset = number(words.next()?)?;
        let is_in_file = words.nth(1)?.parse() == Ok(inode) && offset == first;
        if !is_in_file {
            if permissions.first() != Some(&b'r') || permissions.get(3) != Some(&b'p') {
                return None;
            }
            let writable = permissions.get(1) == Some(&b'w');
            parts.push(Part { start: next, end: last.min(end), writable });
        }
        next = last.min(end);
        if next == end {
            return Some(parts);
        }
    }
    None
}

/// Copies pages to the file and maps it in their place.
fn replace(file: &OwnedFd, part: &Part) -> Result<(), Errno> {
    let length = usize::try_from(part.end - part.start).map_err(|_| Errno::FAULT)?;
    copy(file, part.start, length)?;
    let access =
        ProtFlags::READ | if part.writable { ProtFlags::WRITE } else { ProtFlags::empty() };
    // SAFETY: the pages hold the same bytes as before, under the same addresses, and can be read and written as before.
    unsafe {
        mmap(
            part.start as *mut _,
            length,
            access,
            MapFlags::SHARED | MapFlags::FIXED,
            file,
            part.start,
        )?
    };
    Ok(())
}

/// Writes memory of this process to the file, at the offset of its address. The kernel reads it, so that a page that
/// cannot be read is an error.
fn copy(file: &OwnedFd, start: u64, length: usize) -> Result<(), Errno> {
    let mut done = 0;
    while done < length {
        let at = start + done as u64;
        // SAFETY: the kernel checks the range.
        let wrote =
            unsafe { libc::syscall(libc::SYS_pwrite64, file.as_raw_fd(), at, length - done, at) };
        match wrote {
            1.. => done += wrote as usize,
            // SAFETY: errno's location is always valid.
            _ => match Errno::from_raw_os_error(unsafe { *libc::__errno_location() }) {
                Errno::INTR => {}
                errno => return Err(errno),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    const MAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0 \n\
3000-4000 rw-s 00003000 00:01 77 /memfd:tepui-pages (deleted)\n\
4000-5000 r--p 00000000 00:00 0 \n\
6000-7000 rw-s 00000000 00:05 3 /dev/shm/x\n";

    #[test]
    fn what_is_in_the_file_stays_there() {
        let part = |start, end, writable| Part { start, end, writable };
        assert_eq!(parts(MAPS, 77, 0x3000, 0x4000), Some(vec![]));
        assert_eq!(
            parts(MAPS, 77, 0x2000, 0x5000),
            Some(vec![part(0x2000, 0x3000, true), part(0x4000, 0x5000, false)])
        );
        // The file of somebody else, a gap, pages that others share.
        assert_eq!(parts(MAPS, 78, 0x2000, 0x4000), None);
        assert_eq!(parts(MAPS, 77, 0x4000, 0x6000), None);
        assert_eq!(parts(MAPS, 77, 0x6000, 0x7000), None);
        assert_eq!(parts(MAPS, 77, 0x0, 0x2000), None);
    }

    #[test]
    fn the_file_and_the_pages_are_the_same() {
        let (any, length) = (std::ptr::null_mut(), 3 << 12);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping.
        let room = unsafe { rustix::mm::mmap_anonymous(any, length, access, MapFlags::PRIVATE) };
        let room = room.unwrap().cast::<u8>();
        // SAFETY: inside of it, as below.
        unsafe { room.add(0x1010).write_volatile(7) };
        let pages = OwnPages::default();
        let address = room as u64;
        for (from, to) in [(0x1000, 0x2000), (0, 0x3000)] {
            let (file, offset) = pages.share(address + from, to - from).unwrap();
            assert_eq!(offset, address + from);
            let file = File::from(file);
            let mut byte = [0];
            file.read_exact_at(&mut byte, address + 0x1010).unwrap();
            // SAFETY: as above.
            assert_eq!(byte[0], unsafe { room.add(0x1010).read_volatile() });
            file.write_all_at(&[byte[0] + 1], address + 0x1010).unwrap();
        }
        // SAFETY: as above.
        assert_eq!(unsafe { room.add(0x1010).read_volatile() }, 9);
        // SAFETY: the range is no longer used.
        unsafe { rustix::mm::munmap(room.cast(), length).unwrap() };
        assert!(pages.share(address, 0x1000).is_err());
        assert!(pages.share(&raw const address as u64 & !0xfff, 0x1000).is_err(), "the stack");
    }
}
