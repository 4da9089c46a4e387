//! The states of images, with an engine whose events the test decides.

use std::sync::atomic::AtomicU32;

use super::*;

const EXTENT: Extent = Extent { width: 4, height: 2 };

/// An engine that does what the test says.
#[derive(Default)]
struct Script {
    events: Mutex<Vec<Event>>,
    /// Error that `present` and `drain` return.
    refuses: Mutex<Option<Error>>,
    broken: AtomicBool,
    checks: AtomicU32,
    frames: Mutex<Vec<(usize, u64, Mode)>>,
}

impl Engine for Arc<Script> {
    fn present(&self, frame: Frame<'_>) -> Result<()> {
        self.frames.lock().unwrap().push((frame.image, frame.serial, frame.mode));
        self.refuses.lock().unwrap().take().map_or(Ok(()), Err)
    }

    fn drain(&self, events: &mut Vec<Event>) -> Result<()> {
        events.append(&mut self.events.lock().unwrap());
        if self.broken.load(Ordering::Relaxed) { Err(Error::SurfaceLost) } else { Ok(()) }
    }

    fn wait(&self, until: Instant) -> Result<()> {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        Err(Error::SurfaceLost)
    }
}

fn swapchain(count: usize) -> (Arc<Script>, Swapchain) {
    let script = Arc::new(Script::default());
    let engine = Box::new(Arc::clone(&script));
    (script, Swapchain::new(engine, EXTENT, Mode::Fifo, count))
}

fn happen(script: &Script, events: &[Event]) {
    script.events.lock().unwrap().extend_from_slice(events);
}

fn acquired(swapchain: &Swapchain) -> Option<u32> {
    swapchain.acquire(Duration::ZERO).ok().map(|(image, _)| image)
}

fn present(swapchain: &Swapchain, image: u32) -> Result<(u64, Status)> {
    swapchain.present(image, &[], None, Pixels::InPlace)
}

#[test]
fn images_come_back_in_the_order_in_which_they_are_free() {
    let (script, swapchain) = swapchain(3);
    let images: Vec<_> = (0..3).map(|_| acquired(&swapchain).unwrap()).collect();
    assert_eq!(images, [0, 1, 2]);
    assert_eq!(acquired(&swapchain), None);
    for image in images {
        present(&swapchain, image).unwrap();
    }
    assert_eq!(acquired(&swapchain), None);
    happen(&script, &[Event::Free(2), Event::Free(0)]);
    assert_eq!([acquired(&swapchain), acquired(&swapchain)], [Some(2), Some(0)]);
    assert_eq!(acquired(&swapchain), None);
}

#[test]
fn an_image_of_the_driver_does_not_become_free() {
    let (script, swapchain) = swapchain(1);
    let image = acquired(&swapchain).unwrap();
    // Twice free, and one that does not exist: a server may say anything.
    happen(&script, &[Event::Free(0), Event::Free(0), Event::Free(99)]);
    assert_eq!(acquired(&swapchain), None);
    present(&swapchain, image).unwrap();
    happen(&script, &[Event::Free(0), Event::Free(0)]);
    assert_eq!(acquired(&swapchain), Some(0));
    assert_eq!(acquired(&swapchain), None);
}

#[test]
fn an_image_comes_back_when_its_frame_is_refused() {
    let (script, swapchain) = swapchain(1);
    let image = acquired(&swapchain).unwrap();
    *script.refuses.lock().unwrap() = Some(Error::OutOfMemory);
    assert_eq!(present(&swapchain, image), Err(Error::OutOfMemory));
    // A wait for a frame that was never presented returns.
    assert_eq!(swapchain.wait_shown(1, Duration::ZERO), Ok(Status::Optimal));
    let image = acquired(&swapchain).unwrap();
    assert_eq!(present(&swapchain, image).unwrap().0, 2);
}

#[test]
fn a_later_frame_shows_the_earlier() {
    let (script, swapchain) = swapchain(3);
    for _ in 0..3 {
        let image = acquired(&swapchain).unwrap();
        present(&swapchain, image).unwrap();
    }
    happen(&script, &[Event::Shown(2)]);
    assert!(swapchain.wait_shown(1, Duration::ZERO).is_ok());
    assert!(swapchain.wait_shown(2, Duration::ZERO).is_ok());
    assert_eq!(swapchain.wait_shown(3, Duration::ZERO), Err(Error::Timeout));
    happen(&script, &[Event::Shown(3), Event::Shown(1)]);
    assert!(swapchain.wait_shown(3, Duration::ZERO).is_ok());
}

#[test]
fn the_mode_of_a_frame_stays_for_those_that_follow() {
    let (script, swapchain) = swapchain(3);
    for mode in [None, Some(Mode::Mailbox), None] {
        let image = acquired(&swapchain).unwrap();
        swapchain.present(image, &[], mode, Pixels::InPlace).unwrap();
    }
    let frames = [(0, 1, Mode::Fifo), (1, 2, Mode::Mailbox), (2, 3, Mode::Mailbox)];
    assert_eq!(*script.frames.lock().unwrap(), frames);
}

#[test]
fn a_lost_window_stays_lost() {
    let (script, swapchain) = swapchain(2);
    let image = acquired(&swapchain).unwrap();
    script.broken.store(true, Ordering::Relaxed);
    assert_eq!(swapchain.acquire(Duration::MAX), Err(Error::SurfaceLost));
    script.broken.store(false, Ordering::Relaxed);
    assert_eq!(present(&swapchain, image), Err(Error::SurfaceLost));
    assert!(script.frames.lock().unwrap().is_empty());
}

#[test]
fn a_wait_without_end_asks_whether_the_window_exists() {
    let (script, swapchain) = swapchain(1);
    acquired(&swapchain).unwrap();
    assert_eq!(swapchain.acquire(Duration::MAX), Err(Error::SurfaceLost));
    assert_eq!(script.checks.load(Ordering::Relaxed), 1);
}

#[test]
fn another_size_is_suboptimal() {
    let (script, swapchain) = swapchain(1);
    let other = Extent { width: 5, height: 2 };
    happen(&script, &[Event::Resized(other)]);
    assert_eq!(swapchain.acquire(Duration::ZERO), Ok((0, Status::Suboptimal)));
    happen(&script, &[Event::Resized(other), Event::Resized(EXTENT)]);
    assert_eq!(swapchain.status(), Ok(Status::Optimal));
}

#[test]
fn rectangles_are_clipped() {
    let clipped = |x, y, width, height| Rect { x, y, width, height }.clipped(EXTENT);
    let rect = |x, y, width, height| Some(Rect { x, y, width, height });
    assert_eq!(clipped(-1, -1, 2, 2), rect(0, 0, 1, 1));
    assert_eq!(clipped(1, 0, u32::MAX, u32::MAX), rect(1, 0, 3, 2));
    assert_eq!(clipped(i32::MAX, 0, u32::MAX, 1), None);
    assert_eq!(clipped(i32::MIN, 0, 1 << 31, 1), None); // it ends before the first column
    assert_eq!(clipped(i32::MIN, 0, u32::MAX, 1), rect(0, 0, 4, 1));
    assert_eq!(clipped(0, 2, 1, 1), None);
    assert_eq!(clipped(0, 0, 0, 1), None);
}
