//! Tests that every window system must pass.

use std::time::{Duration, Instant};

use tepui_wsi::{Config, Error, Images, Mode, Pixels, Property, Status, Surface};

use crate::pattern;
use crate::window::{LONG, Window, config, present, shared, write};

/// Pictures from each source of pixels, each exact.
pub fn pictures(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let format = surface.formats().unwrap()[0];
    let row = (extent.width * format.bytes()).next_multiple_of(4) as usize;
    let swapchain = surface.swapchain(config(&surface, extent, Mode::Fifo, 3), None).unwrap();
    let mut frame = 0;
    let mut show = |window: &mut dyn Window, pixels: &mut dyn FnMut(u64) -> u64| {
        frame += 1;
        let serial = pixels(frame);
        swapchain.wait_shown(serial, LONG).unwrap();
        let expected = pattern::shown(frame, extent, format);
        pattern::compare(extent.width, &window.picture(), &expected);
    };
    let send = |pixels: Pixels<'_>| {
        let (image, status) = swapchain.acquire(LONG).unwrap();
        assert_eq!(status, Status::Optimal);
        swapchain.present(image, &[], None, pixels).unwrap().0
    };
    // Rows as the server has them, rows with padding, a last row without, rows that are made in place.
    show(window, &mut |frame| {
        let bytes = pattern::rows(frame, extent, format, row);
        send(Pixels::Rows { bytes: &bytes, pitch: row })
    });
    show(window, &mut |frame| {
        let bytes = pattern::rows(frame, extent, format, row + 12);
        send(Pixels::Rows { bytes: &bytes, pitch: row + 12 })
    });
    show(window, &mut |frame| {
        let mut bytes = pattern::rows(frame, extent, format, row + 64);
        bytes.truncate(bytes.len() - 64 - (row - (extent.width * format.bytes()) as usize));
        send(Pixels::Rows { bytes: &bytes, pitch: row + 64 })
    });
    show(window, &mut |frame| {
        send(Pixels::Fill(&mut |bytes, pitch| pattern::fill(frame, extent, format, bytes, pitch)))
    });

    let (image, _) = swapchain.acquire(LONG).unwrap();
    let short = vec![0; row * extent.height as usize - 5];
    let pixels = Pixels::Rows { bytes: &short, pitch: row };
    let error = swapchain.present(image, &[], None, pixels).unwrap_err();
    assert!(matches!(error, Error::ImageMemory { .. }), "{error}");
}

/// Pictures in memory of the driver, with and without padding and offsets.
pub fn shared_pictures(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let mut old = None;
    for padding in [0, 64] {
        let config = config(&surface, extent, Mode::Fifo, 0);
        let format = config.format;
        let (file, images) = shared(3, extent, format, padding);
        let places: Vec<_> = images.iter().map(|image| (image.offset, image.pitch)).collect();
        let config = Config { images: Images::Shared(images), ..config };
        let swapchain = surface.swapchain(config, old.as_ref()).unwrap();
        for frame in 1..=5 {
            let (image, _) = swapchain.acquire(LONG).unwrap();
            let (offset, pitch) = places[image as usize];
            write(&file, offset, &pattern::rows(frame, extent, format, pitch as usize));
            let (serial, _) = swapchain.present(image, &[], None, Pixels::InPlace).unwrap();
            swapchain.wait_shown(serial, LONG).unwrap();
            let expected = pattern::shown(frame, extent, format);
            pattern::compare(extent.width, &window.picture(), &expected);
        }
        let (image, _) = swapchain.acquire(LONG).unwrap();
        let rows = Pixels::Rows { bytes: &[], pitch: 4096 };
        let error = swapchain.present(image, &[], None, rows).unwrap_err();
        assert_eq!(error, Error::Unsupported(Property::Pixels));
        old = Some(swapchain);
    }
}

/// Configurations that a surface does not support are refused, and images that exceed their memory.
pub fn refusals(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let base = || config(&surface, extent, Mode::Fifo, 3);
    let refused = |config: Config| surface.swapchain(config, None).map(|_| ()).unwrap_err();
    let images = |count| Images::Private { count };
    let none = tepui_wsi::Extent { width: 0, height: 4 };
    let huge = tepui_wsi::Extent { width: 4, height: 16385 };
    assert_eq!(refused(Config { extent: none, ..base() }), Error::Unsupported(Property::Extent));
    assert_eq!(refused(Config { extent: huge, ..base() }), Error::Unsupported(Property::Extent));
    assert_eq!(
        refused(Config { images: images(0), ..base() }),
        Error::Unsupported(Property::Count)
    );
    let two = tepui_wsi::Alpha::OPAQUE | tepui_wsi::Alpha::PRE_MULTIPLIED;
    assert_eq!(refused(Config { alpha: two, ..base() }), Error::Unsupported(Property::Alpha));
    let format = tepui_wsi::Format::R5G6B5;
    assert_eq!(refused(Config { format, ..base() }), Error::Unsupported(Property::Format));
    let (_, mut list) = shared(2, extent, base().format, 0);
    list[1].offset += 1;
    let error = refused(Config { images: Images::Shared(list), ..base() });
    assert!(matches!(error, Error::ImageMemory { .. }), "{error}");
    let (_, mut list) = shared(2, extent, base().format, 0);
    list[0].offset = u64::MAX - 5;
    let error = refused(Config { images: Images::Shared(list), ..base() });
    assert!(matches!(error, Error::ImageMemory { .. }), "{error}");
    let (_, mut list) = shared(2, extent, base().format, 0);
    list[0].pitch -= 4;
    let error = refused(Config { images: Images::Shared(list), ..base() });
    assert_eq!(error, Error::Unsupported(Property::Layout));
    // The surface takes a right one after all of these.
    surface.swapchain(base(), None).unwrap();
}

/// Rules for presenting: ownership of the window and of images.
pub fn ownership(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let base = || config(&surface, extent, Mode::Fifo, 2);
    let format = base().format;
    let first = surface.swapchain(base(), None).unwrap();
    assert_eq!(surface.swapchain(base(), None).err(), Some(Error::WindowInUse));

    // Two images, of which none is free when both are acquired.
    let (one, _) = first.acquire(Duration::ZERO).unwrap();
    let (two, _) = first.acquire(Duration::ZERO).unwrap();
    assert_ne!(one, two);
    assert_eq!(first.acquire(Duration::ZERO), Err(Error::Timeout));
    let start = Instant::now();
    assert_eq!(first.acquire(Duration::from_millis(50)), Err(Error::Timeout));
    assert!(start.elapsed() >= Duration::from_millis(50));
    first.release(&[one]).unwrap();
    let not_acquired = |image| Error::NotAcquired { image, count: 2 };
    assert_eq!(first.release(&[one]), Err(not_acquired(one)));
    assert_eq!(first.present(one, &[], None, Pixels::InPlace).err(), Some(not_acquired(one)));
    assert_eq!(first.present(7, &[], None, Pixels::InPlace).err(), Some(not_acquired(7)));
    assert_eq!(first.acquire(Duration::ZERO).unwrap().0, one);
    first.release(&[one, two]).unwrap();
    let serial = present(&first, format, 1, None);
    first.wait_shown(serial, LONG).unwrap();
    assert_eq!(first.wait_shown(serial + 1, Duration::from_millis(20)), Err(Error::Timeout));

    // A newer swapchain takes the window over.
    let (held, _) = first.acquire(LONG).unwrap();
    let second = surface.swapchain(base(), Some(&first)).unwrap();
    assert_eq!(first.acquire(Duration::ZERO), Err(Error::OutOfDate));
    let late = first.present(held, &[], None, Pixels::InPlace);
    assert_eq!(late.err(), Some(Error::OutOfDate));
    assert_eq!(first.status(), Err(Error::OutOfDate));
    let serial = present(&second, format, 2, None);
    second.wait_shown(serial, LONG).unwrap();
    drop(first);
    pattern::compare(extent.width, &window.picture(), &pattern::shown(2, extent, format));
    drop(second);
    surface.swapchain(base(), None).unwrap();
}

/// In each mode many frames, of which the last stays.
pub fn last_frame_stays(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let mut frame = 0;
    for mode in surface.modes().unwrap() {
        let config = config(&surface, extent, mode, 3);
        let format = config.format;
        let swapchain = surface.swapchain(config, None).unwrap();
        let mut serial = 0;
        for _ in 0..20 {
            frame += 1;
            let next = present(&swapchain, format, frame, None);
            assert_eq!(next, serial + 1);
            serial = next;
        }
        swapchain.wait_shown(serial, LONG).unwrap();
        pattern::compare(extent.width, &window.picture(), &pattern::shown(frame, extent, format));
    }
}

/// FIFO frames are at least a refresh of 60 Hz apart: the first and those in flight may be ahead.
pub fn fifo_is_paced(window: &mut dyn Window) {
    const FRAMES: u32 = 30;
    let surface = window.surface();
    let config = config(&surface, window.extent(), Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    let start = Instant::now();
    let mut serial = 0;
    for frame in 0..FRAMES {
        serial = present(&swapchain, format, frame.into(), None);
    }
    swapchain.wait_shown(serial, LONG).unwrap();
    let least = Duration::from_millis(16) * (FRAMES - 3);
    let took = start.elapsed();
    assert!(took >= least, "{FRAMES} frames in {took:?}: less than {least:?}");
}

/// Frames of changing modes on one swapchain: each FIFO frame is waited for by what follows.
pub fn modes_change(window: &mut dyn Window) {
    let surface = window.surface();
    let extent = window.extent();
    let config = config(&surface, extent, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    let modes = surface.modes().unwrap();
    let mut last = 0;
    for frame in 1..=40 {
        let mode = modes[frame as usize / 3 % modes.len()];
        last = present(&swapchain, format, frame, Some(mode));
    }
    swapchain.wait_shown(last, LONG).unwrap();
    pattern::compare(extent.width, &window.picture(), &pattern::shown(40, extent, format));
}

/// A thousand swapchains leak nothing in this process. `server` counts the server's resources.
pub fn nothing_leaks(window: &mut dyn Window, server: &mut dyn FnMut() -> u64) {
    let surface = window.surface();
    let extent = window.extent();
    let run = |count: u64| {
        for frame in 0..count {
            let config = config(&surface, extent, Mode::Immediate.or_mailbox(&surface), 2);
            let format = config.format;
            let swapchain = surface.swapchain(config, None).unwrap();
            if frame % 10 == 0 {
                let serial = present(&swapchain, format, frame, None);
                // Every second time it ends while the frame is on its way.
                if frame % 20 == 0 {
                    swapchain.wait_shown(serial, LONG).unwrap();
                }
            }
        }
    };
    run(100);
    let before = (descriptors(), mappings(), server());
    let memory = resident();
    run(1000);
    let after = (descriptors(), mappings(), server());
    assert_eq!(before, after, "descriptors, mappings, resources of the server");
    let grown = resident().saturating_sub(memory);
    assert!(grown < 4 << 20, "{grown} bytes more after 1000 swapchains");
}

trait OrMailbox {
    fn or_mailbox(self, surface: &Surface) -> Mode;
}

impl OrMailbox for Mode {
    /// The mode, or the mailbox if the surface does not offer it.
    fn or_mailbox(self, surface: &Surface) -> Mode {
        if surface.modes().unwrap().contains(&self) { self } else { Mode::Mailbox }
    }
}

/// The least of some counts: the proxy of a test holds descriptors on their way for a moment.
fn descriptors() -> usize {
    let count = |_| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    };
    (0..5).map(count).min().unwrap()
}

/// Mappings of the memory of swapchains.
fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("tepui-swapchain")).count()
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The monotonic clock in nanoseconds.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The server tells when it has shown frames, on the clock of this process, and from that how long a refresh is.
pub fn frames_have_times(window: &mut dyn Window) {
    let surface = window.surface();
    assert!(surface.tells_times());
    let config = config(&surface, window.extent(), Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    assert_eq!(swapchain.shown_time(1), None);
    let mut before = now_ns();
    for frame in 1..=10 {
        let serial = present(&swapchain, format, frame, None);
        swapchain.wait_shown(serial, LONG).unwrap();
        let shown = swapchain.shown_time(serial).expect("a frame that was shown has a time");
        // The server counts microseconds, and its blanks have times of their own.
        assert!(shown + 20_000_000 > before && shown <= now_ns(), "{shown}, not after {before}");
        before = shown + 1;
    }
    let refresh = swapchain.refresh_ns().expect("frames were shown");
    assert!((5_000_000..50_000_000).contains(&refresh), "{refresh} ns");
}
