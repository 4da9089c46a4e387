//! Interface of a window for the tests of all window systems.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use tepui_wsi::{Alpha, Config, Extent, Format, Images, Mode, SharedImage, Surface, Swapchain};

use crate::pattern;

/// A window of the test.
pub trait Window {
    /// A surface of the window.
    fn surface(&self) -> Surface;
    /// The size of the window.
    fn extent(&self) -> Extent;
    /// The pixels of the window as the server shows them, top row first, 8 bits each of red, green and
    /// blue.
    fn picture(&mut self) -> Vec<[u8; 3]>;
}

/// Timeout longer than any server takes.
pub const LONG: Duration = Duration::from_secs(20);

/// A swapchain of private images with the first format and kind of alpha that the surface offers.
pub fn config(surface: &Surface, extent: Extent, mode: Mode, count: usize) -> Config {
    let capabilities = surface.capabilities().unwrap();
    let alphas = [Alpha::OPAQUE, Alpha::PRE_MULTIPLIED];
    let alpha = alphas.into_iter().find(|alpha| capabilities.alpha.contains(*alpha)).unwrap();
    let format = surface.formats().unwrap()[0];
    Config { extent, format, alpha, mode, images: Images::Private { count } }
}

/// Memory as a driver has it.
pub fn memory(bytes: &[u8]) -> OwnedFd {
    let name = CString::new("test").unwrap();
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC).unwrap();
    write(&file, 0, bytes);
    file
}

/// Writes to memory.
pub fn write(file: &OwnedFd, offset: u64, bytes: &[u8]) {
    let mut done = 0;
    while done < bytes.len() {
        done += rustix::io::pwrite(file, &bytes[done..], offset + done as u64).unwrap();
    }
}

/// Images in memory of the driver, all in one file, and the file.
pub fn shared(
    count: usize,
    extent: Extent,
    format: Format,
    padding: u32,
) -> (OwnedFd, Vec<SharedImage>) {
    let pitch = (extent.width * format.bytes()).next_multiple_of(4) + padding;
    let size = u64::from(pitch) * u64::from(extent.height);
    // The first image begins in the middle of a page.
    let start = 1000 * u64::from(padding != 0);
    let file = memory(&vec![0; (start + size * count as u64) as usize]);
    let image = |index: usize| SharedImage {
        modifier: None,
        memory: rustix::io::fcntl_dupfd_cloexec(&file, 0).unwrap(),
        offset: start + index as u64 * size,
        pitch,
    };
    let images = (0..count).map(image).collect();
    (file, images)
}

/// Acquires an image and presents a frame of the pattern, from rows; returns the frame's serial.
pub fn present(swapchain: &Swapchain, format: Format, frame: u64, mode: Option<Mode>) -> u64 {
    let extent = swapchain.extent();
    let (image, _) = swapchain.acquire(LONG).unwrap();
    let pitch = (extent.width * format.bytes()).next_multiple_of(4) as usize;
    let bytes = pattern::rows(frame, extent, format, pitch);
    let pixels = tepui_wsi::Pixels::Rows { bytes: &bytes, pitch };
    swapchain.present(image, &[], mode, pixels).unwrap().0
}
