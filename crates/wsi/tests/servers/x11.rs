//! X11 windows by XCB.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tepui_wsi::{Alpha, Config, Error, Extent, Format, Mode, Pixels, Rect, Status, Surface};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::res::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ColormapAlloc, ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask, ImageFormat,
    VisualClass, Visualid, WindowClass,
};
use x11rb::xcb_ffi::XCBConnection;

use crate::window::{LONG, Window, config, present};
use crate::{Test, cases, pattern, proxy};

/// The size of the window: rows and columns differ, and no power of two.
const SIZE: Extent = Extent { width: 221, height: 147 };

macro_rules! tests {
    ($connect:expr; $($name:ident),* $(,)?) => {
        &[$((stringify!($name), || $name(&mut X11Window::new($connect)))),*]
    };
}

/// Xvfb with all extensions.
pub const PRESENT_SHM: &[Test] = tests![connect();
    pictures, shared_pictures, refusals, ownership, last_frame_stays, fifo_is_paced, modes_change,
    nothing_leaks, capabilities, presentation_support, resize, destroyed, connection_ends,
    fifo_shows_each_frame, mailbox_drops_frames, fifo_relaxed_is_late, damage_is_all_that_changes,
    frames_have_times, two_windows, other_threads_read_events, alpha_visual, shares_memory, invalid_handles];
/// Without MIT-SHM.
pub const PRESENT: &[Test] = tests![connect();
    pictures, shared_pictures, ownership, last_frame_stays, nothing_leaks, resize, destroyed,
    fifo_shows_each_frame, mailbox_drops_frames, damage_is_all_that_changes, does_not_share_memory];
/// Without XFIXES, and so without regions.
pub const NO_REGIONS: &[Test] =
    tests![connect(); pictures, last_frame_stays, modes_change, nothing_leaks, resize, destroyed];
/// Servers with MIT-SHM and without Present.
pub const SHM: &[Test] = tests![connect_to(proxy::without_present().into());
    pictures, shared_pictures, ownership, last_frame_stays, fifo_is_paced, nothing_leaks, resize,
    destroyed, connection_ends, plain_modes, shares_memory];
/// Servers without either.
pub const NEITHER: &[Test] = tests![connect_to(proxy::without_present().into());
    pictures, shared_pictures, ownership, last_frame_stays, nothing_leaks, resize, destroyed,
    large_image];
/// Without both, and with the shortest requests that a server may allow.
pub const SHORT_REQUESTS: &[Test] = tests![connect_to(proxy::short_requests().into());
    pictures, shared_pictures, wide_rows];
/// Over TCP, where descriptors do not pass.
pub const REMOTE: &[Test] = tests![connect_to(proxy::remote().into());
    pictures, shared_pictures, does_not_share_memory, last_frame_stays, destroyed];
/// A screen of 16 bits.
pub const HALF_WORDS: &[Test] = &[("half_words", || format_of_screen(Format::R5G6B5))];
/// A screen of 30 bits.
pub const DEEP: &[Test] = &[("deep", || format_of_screen(Format::A2R10G10B10))];

fn connect() -> XCBConnection {
    XCBConnection::connect(None).unwrap().0
}

/// The result of libxcb when there is no server: an object without a setup.
fn failed_connection() -> *mut c_void {
    // SAFETY: the function of xcb.h; the number of the screen may be null.
    unsafe {
        let library = libloading::Library::new("libxcb.so.1").unwrap();
        type Connect = unsafe extern "C" fn(*const c_char, *mut c_int) -> *mut c_void;
        let connect: Connect = *library.get(b"xcb_connect\0").unwrap();
        let connection = connect(c":9999".as_ptr(), std::ptr::null_mut());
        std::mem::forget(library);
        connection
    }
}

/// A connection on a socket.
fn connect_to(socket: OwnedFd) -> XCBConnection {
    // SAFETY: the function of xcb.h; null is no authorisation; the connection becomes x11rb's.
    unsafe {
        let library = libloading::Library::new("libxcb.so.1").unwrap();
        type Connect = unsafe extern "C" fn(c_int, *mut c_void) -> *mut c_void;
        let connect: Connect = *library.get(b"xcb_connect_to_fd\0").unwrap();
        let connection = connect(socket.into_raw_fd(), std::ptr::null_mut());
        std::mem::forget(library);
        XCBConnection::from_raw_xcb_connection(connection, true).unwrap()
    }
}

/// A window and the connection of the application.
struct X11Window {
    connection: Arc<XCBConnection>,
    window: u32,
    extent: Extent,
    masks: [u32; 3],
}

impl X11Window {
    fn new(connection: XCBConnection) -> X11Window {
        let connection = Arc::new(connection);
        let root = &connection.setup().roots[0];
        let (depth, visual) = (root.root_depth, root.root_visual);
        X11Window::of(connection, SIZE, depth, visual)
    }

    /// A mapped window of a visual.
    fn of(
        connection: Arc<XCBConnection>,
        extent: Extent,
        depth: u8,
        visual: Visualid,
    ) -> X11Window {
        let root = connection.setup().roots[0].clone();
        let mut visuals = root.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let found = visuals.find(|v| v.visual_id == visual).unwrap();
        let masks = [found.red_mask, found.green_mask, found.blue_mask];
        let window = connection.generate_id().unwrap();
        let colormap = connection.generate_id().unwrap();
        connection.create_colormap(ColormapAlloc::NONE, colormap, root.root, visual).unwrap();
        let aux = CreateWindowAux::new()
            .background_pixel(0)
            .border_pixel(0)
            .colormap(colormap)
            .override_redirect(1);
        connection
            .create_window(
                depth,
                window,
                root.root,
                5,
                3,
                extent.width as u16,
                extent.height as u16,
                0,
                WindowClass::INPUT_OUTPUT,
                visual,
                &aux,
            )
            .unwrap()
            .check()
            .unwrap();
        connection.map_window(window).unwrap().check().unwrap();
        X11Window { connection, window, extent, masks }
    }

    fn raw(&self) -> *mut c_void {
        self.connection.get_raw_xcb_connection()
    }

    fn resize(&mut self, extent: Extent) {
        let values = ConfigureWindowAux::new().width(extent.width).height(extent.height);
        self.connection.configure_window(self.window, &values).unwrap().check().unwrap();
        self.extent = extent;
    }

    fn destroy(&self) {
        self.connection.destroy_window(self.window).unwrap().check().unwrap();
    }

    /// Fails if the application was given an error or an event that it did not ask for.
    fn expect_no_events(&self) {
        self.connection.get_input_focus().unwrap().reply().unwrap();
        if let Some(event) = self.connection.poll_for_event().unwrap() {
            panic!("the application got {event:?}");
        }
    }

    /// The server's resources of the application's client: the sum over all types.
    fn resources(&self) -> u64 {
        let cookie = self.connection.res_query_client_resources(self.window).unwrap();
        cookie.reply().unwrap().types.iter().map(|of| u64::from(of.count)).sum()
    }
}

impl Window for X11Window {
    fn surface(&self) -> Surface {
        // SAFETY: the connection is open as long as this window.
        unsafe { Surface::xcb(self.raw(), self.window).unwrap() }
    }

    fn extent(&self) -> Extent {
        self.extent
    }

    fn picture(&mut self) -> Vec<[u8; 3]> {
        let (width, height) = (self.extent.width as u16, self.extent.height as u16);
        let format = ImageFormat::Z_PIXMAP;
        let cookie =
            self.connection.get_image(format, self.window, 0, 0, width, height, !0).unwrap();
        let reply = cookie.reply().unwrap();
        let bytes = if reply.depth == 16 { 2 } else { 4 };
        let pitch = (usize::from(width) * bytes).next_multiple_of(4);
        let pixel = |bytes: &[u8]| {
            let pixel = match *bytes {
                [a, b] => u32::from(u16::from_le_bytes([a, b])),
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => unreachable!(),
            };
            self.masks.map(|mask| {
                // To 8 bits: the upper ones of more, repeated for fewer.
                let value = (pixel & mask) >> mask.trailing_zeros();
                match mask.count_ones() {
                    5 => (value << 3 | value >> 2) as u8,
                    6 => (value << 2 | value >> 4) as u8,
                    8 => value as u8,
                    10 => (value >> 2) as u8,
                    _ => unreachable!(),
                }
            })
        };
        let rows = reply.data.chunks_exact(pitch);
        rows.flat_map(|row| row.chunks_exact(bytes).take(width.into()).map(pixel)).collect()
    }
}

fn pictures(window: &mut X11Window) {
    cases::pictures(window);
    window.expect_no_events();
}

fn shared_pictures(window: &mut X11Window) {
    cases::shared_pictures(window);
    window.expect_no_events();
}

fn refusals(window: &mut X11Window) {
    cases::refusals(window);
    window.expect_no_events();
}

fn ownership(window: &mut X11Window) {
    cases::ownership(window);
    window.expect_no_events();
}

fn last_frame_stays(window: &mut X11Window) {
    cases::last_frame_stays(window);
}

fn fifo_is_paced(window: &mut X11Window) {
    cases::fifo_is_paced(window);
}

fn modes_change(window: &mut X11Window) {
    cases::modes_change(window);
    window.expect_no_events();
}

fn frames_have_times(window: &mut X11Window) {
    cases::frames_have_times(window);
}

fn nothing_leaks(window: &mut X11Window) {
    let other = X11Window { connection: Arc::clone(&window.connection), ..*window };
    cases::nothing_leaks(window, &mut || other.resources());
    window.expect_no_events();
}

fn capabilities(window: &mut X11Window) {
    let surface = window.surface();
    let capabilities = surface.capabilities().unwrap();
    assert_eq!(capabilities.current_extent, Some(SIZE));
    assert_eq!((capabilities.min_extent, capabilities.max_extent), (SIZE, SIZE));
    assert_eq!(capabilities.alpha, Alpha::OPAQUE | Alpha::INHERIT);
    assert_eq!(surface.formats().unwrap(), [Format::B8G8R8A8]);
    let modes = [Mode::Fifo, Mode::FifoRelaxed, Mode::Mailbox, Mode::Immediate];
    assert_eq!(surface.modes().unwrap(), modes);
    window.resize(Extent { width: 30, height: 40 });
    let extent = surface.capabilities().unwrap().current_extent;
    assert_eq!(extent, Some(Extent { width: 30, height: 40 }));
}

/// Visuals with masks that are a format's can be presented to, others not.
fn presentation_support(window: &mut X11Window) {
    let root = &window.connection.setup().roots[0];
    let visuals = root.allowed_depths.iter().flat_map(|d| d.visuals.iter().map(|v| (d.depth, v)));
    let mut yes = 0;
    for (depth, visual) in visuals {
        // SAFETY: the connection is open.
        let supported = unsafe { tepui_wsi::xcb_supports(window.raw(), visual.visual_id) };
        let usual = visual.class == VisualClass::TRUE_COLOR && visual.red_mask == 0xff0000;
        if depth >= 24 && usual {
            assert!(supported, "visual {:#x}", visual.visual_id);
            yes += 1;
        }
    }
    // SAFETY: as above; and null.
    let wrong = unsafe {
        [
            tepui_wsi::xcb_supports(window.raw(), 0xffff),
            tepui_wsi::xcb_supports(std::ptr::null_mut(), 0x21),
        ]
    };
    assert_eq!(wrong, [false; 2]);
    assert!(yes >= 2, "visuals of 24 and 32 bits");
}

/// A window that changes its size makes its swapchain suboptimal until it changes back.
fn resize(window: &mut X11Window) {
    let surface = window.surface();
    let base = |extent| config(&surface, extent, Mode::Fifo, 3);
    let format = base(SIZE).format;
    let swapchain = surface.swapchain(base(SIZE), None).unwrap();
    let status = |frame| {
        let serial = present(&swapchain, format, frame, None);
        // Without events the size is known after the frame.
        swapchain.wait_shown(serial, LONG).unwrap();
        swapchain.status().unwrap()
    };
    assert_eq!(status(1), Status::Optimal);
    let larger = Extent { width: SIZE.width + 31, height: SIZE.height + 12 };
    window.resize(larger);
    assert_eq!(status(2), Status::Suboptimal);
    let (image, acquired) = swapchain.acquire(LONG).unwrap();
    assert_eq!(acquired, Status::Suboptimal);
    swapchain.release(&[image]).unwrap();
    window.resize(SIZE);
    assert_eq!(status(3), Status::Optimal);
    let smaller = Extent { width: 100, height: 77 };
    window.resize(smaller);
    assert_eq!(status(4), Status::Suboptimal);

    let next = surface.swapchain(base(smaller), Some(&swapchain)).unwrap();
    let serial = present(&next, format, 5, None);
    assert_eq!(next.wait_shown(serial, LONG), Ok(Status::Optimal));
    pattern::compare(smaller.width, &window.picture(), &pattern::shown(5, smaller, format));
    window.expect_no_events();
}

/// The window is destroyed while frames wait for their turn: nothing waits for it forever.
fn destroyed(window: &mut X11Window) {
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    for frame in 0..5 {
        present(&swapchain, format, frame, None);
    }
    let (held, _) = swapchain.acquire(LONG).unwrap();
    window.destroy();
    // The images in flight may still come back; then there is nothing more.
    let start = Instant::now();
    let error = loop {
        match swapchain.acquire(Duration::MAX) {
            Ok((image, _)) => {
                let pixels = Pixels::Fill(&mut |_, _| {});
                if let Err(error) = swapchain.present(image, &[], None, pixels) {
                    break error;
                }
            }
            Err(error) => break error,
        }
        assert!(start.elapsed() < LONG, "frames go to a window that is gone");
    };
    assert_eq!(error, Error::SurfaceLost);
    let pixels = Pixels::Fill(&mut |_, _| {});
    assert_eq!(swapchain.present(held, &[], None, pixels).err(), Some(Error::SurfaceLost));
    assert_eq!(swapchain.wait_shown(100, Duration::MAX), Err(Error::SurfaceLost));
    assert_eq!(swapchain.status(), Err(Error::SurfaceLost));
    assert_eq!(surface.capabilities().err(), Some(Error::SurfaceLost));
    drop(swapchain);
    drop(surface);
    // SAFETY: the connection is open.
    let again = unsafe { Surface::xcb(window.raw(), window.window) };
    assert!(again.is_err(), "a surface of a window that is gone");
    // The connection goes on, and the application was told nothing of the swapchain's errors.
    window.expect_no_events();
}

/// The connection ends while the swapchain waits.
fn connection_ends(window: &mut X11Window) {
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::Fifo, 2);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    present(&swapchain, format, 1, None);
    let other = connect();
    other.kill_client(window.window).unwrap().check().unwrap();
    assert_eq!(swapchain.wait_shown(100, Duration::MAX), Err(Error::SurfaceLost));
    assert_eq!(swapchain.acquire(Duration::MAX).err(), Some(Error::SurfaceLost));
    drop(swapchain);
    assert_eq!(surface.capabilities().err(), Some(Error::SurfaceLost));
    drop(surface);
    // SAFETY: the connection is not closed by its client yet.
    let again = unsafe { Surface::xcb(window.raw(), window.window) };
    assert_eq!(again.err(), Some(Error::SurfaceLost));
}

/// The counter of vertical blanks at this moment, as the application asks for it.
fn msc_of(window: &X11Window) -> u64 {
    use x11rb::protocol::present::{self, ConnectionExt as _, EventMask};
    let connection = &window.connection;
    let (major, minor) = present::X11_XML_VERSION;
    connection.present_query_version(major, minor).unwrap().reply().unwrap();
    let id = connection.generate_id().unwrap();
    let mask = EventMask::COMPLETE_NOTIFY;
    connection.present_select_input(id, window.window, mask).unwrap().check().unwrap();
    connection.present_notify_msc(window.window, 1, 0, 0, 0).unwrap();
    connection.flush().unwrap();
    let msc = loop {
        match connection.wait_for_event().unwrap() {
            Event::PresentCompleteNotify(event) if event.event == id && event.serial == 1 => {
                break event.msc;
            }
            _ => {}
        }
    };
    let none = EventMask::NO_EVENT;
    connection.present_select_input(id, window.window, none).unwrap().check().unwrap();
    while connection.poll_for_event().unwrap().is_some() {}
    msc
}

/// Presents frames, and returns for each, in order, whether the server showed it and at which vertical
/// blank, as the server tells the application itself.
fn watch(window: &X11Window, mode: Mode, frames: u64) -> Vec<(bool, u64)> {
    use x11rb::protocol::present::{
        self, CompleteKind, CompleteMode, ConnectionExt as _, EventMask,
    };
    let surface = window.surface();
    let config = config(&surface, SIZE, mode, 4);
    let format = config.format;
    let connection = &window.connection;
    let (major, minor) = present::X11_XML_VERSION;
    connection.present_query_version(major, minor).unwrap().reply().unwrap();
    let id = connection.generate_id().unwrap();
    let mask = EventMask::COMPLETE_NOTIFY;
    connection.present_select_input(id, window.window, mask).unwrap().check().unwrap();
    let swapchain = surface.swapchain(config, None).unwrap();
    let mut last = 0;
    for frame in 1..=frames {
        last = present(&swapchain, format, frame, None);
    }
    swapchain.wait_shown(last, LONG).unwrap();
    // The server reports a frame that it dropped at the vertical blank that it would have had.
    let mut seen = BTreeMap::new();
    while seen.len() < frames as usize {
        if let Event::PresentCompleteNotify(event) = connection.wait_for_event().unwrap()
            && event.kind == CompleteKind::PIXMAP
        {
            let before = seen.insert(event.serial, (event.mode != CompleteMode::SKIP, event.msc));
            assert_eq!(before, None, "two events of one frame");
        }
    }
    assert_eq!(seen.last_key_value().map(|(serial, _)| u64::from(*serial)), Some(frames));
    seen.into_values().collect()
}

/// Fails unless the frames were shown in order, each at its own vertical blank. A server that is not
/// scheduled at a blank shows a frame at a later one, together with that one's frame; so the first may
/// delay the rest.
#[track_caller]
fn expect_own_blanks(seen: &[(bool, u64)]) {
    const LATE: u64 = 5;
    assert!(seen.iter().all(|(shown, _)| *shown), "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{seen:?}");
    let blanks = seen[seen.len() - 1].1 - seen[0].1 + 1;
    assert!(blanks + LATE >= seen.len() as u64, "{seen:?}");
}

/// Each FIFO frame is shown, each at a vertical blank of its own.
fn fifo_shows_each_frame(window: &mut X11Window) {
    expect_own_blanks(&watch(window, Mode::Fifo, 40));
}

/// Frames of the mailbox wait for vertical blanks, and newer ones replace those that wait.
fn mailbox_drops_frames(window: &mut X11Window) {
    let seen = watch(window, Mode::Mailbox, 200);
    let shown: Vec<_> = seen.iter().filter(|(shown, _)| *shown).map(|(_, msc)| *msc).collect();
    assert!(seen[199].0, "the last frame is dropped");
    assert!(shown.len() < 200, "no frame is dropped");
    let blanks = shown[shown.len() - 1] - shown[0] + 1;
    assert!(shown.len() as u64 <= blanks + 2, "{seen:?}");
}

/// A relaxed frame that misses its vertical blank is shown at once; frames in time wait for theirs.
fn fifo_relaxed_is_late(window: &mut X11Window) {
    expect_own_blanks(&watch(window, Mode::FifoRelaxed, 20));
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::FifoRelaxed, 4);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    // Among some that are late one is shown before the blank that follows.
    let late = (0..20).any(|frame| {
        std::thread::sleep(Duration::from_millis(40));
        let before = msc_of(window);
        let serial = present(&swapchain, format, frame, None);
        swapchain.wait_shown(serial, LONG).unwrap();
        frame > 0 && msc_of(window) == before
    });
    assert!(late, "each waits for a vertical blank");
}

/// With damage regions the server copies only those: the rest of the window stays.
fn damage_is_all_that_changes(window: &mut X11Window) {
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    present(&swapchain, format, 1, None);
    let damage = [
        Rect { x: 10, y: 20, width: 30, height: 5 },
        Rect { x: -4, y: 140, width: 9, height: 1000 },
        Rect { x: 500, y: 0, width: 9, height: 9 },
    ];
    let (image, _) = swapchain.acquire(LONG).unwrap();
    let mut fill = |bytes: &mut [u8], pitch: usize| pattern::fill(2, SIZE, format, bytes, pitch);
    let (serial, _) = swapchain.present(image, &damage, None, Pixels::Fill(&mut fill)).unwrap();
    swapchain.wait_shown(serial, LONG).unwrap();
    let inside = |x: i32, y: i32| {
        damage.iter().any(|rect| {
            (rect.x..rect.x + rect.width as i32).contains(&x)
                && (rect.y..rect.y + rect.height as i32).contains(&y)
        })
    };
    let mut expected = pattern::shown(1, SIZE, format);
    let new = pattern::shown(2, SIZE, format);
    for (at, pixel) in expected.iter_mut().enumerate() {
        let (x, y) = (at as u32 % SIZE.width, at as u32 / SIZE.width);
        if inside(x as i32, y as i32) {
            *pixel = new[at];
        }
    }
    pattern::compare(SIZE.width, &window.picture(), &expected);
}

/// Two windows of one connection in turns.
fn two_windows(window: &mut X11Window) {
    let root = window.connection.setup().roots[0].clone();
    let size = Extent { width: 64, height: 32 };
    let connection = Arc::clone(&window.connection);
    let mut other = X11Window::of(connection, size, root.root_depth, root.root_visual);
    // Above the first, which keeps its own pixels only where it can be seen.
    let values = ConfigureWindowAux::new().x(300).y(200);
    other.connection.configure_window(other.window, &values).unwrap().check().unwrap();
    let (one, two) = (window.surface(), other.surface());
    let format = one.formats().unwrap()[0];
    let first = one.swapchain(config(&one, SIZE, Mode::Fifo, 3), None).unwrap();
    let second = two.swapchain(config(&two, size, Mode::Mailbox, 3), None).unwrap();
    let mut serials = (0, 0);
    for frame in 1..=30 {
        serials.0 = present(&first, format, frame, None);
        serials.1 = present(&second, format, frame + 100, None);
    }
    first.wait_shown(serials.0, LONG).unwrap();
    second.wait_shown(serials.1, LONG).unwrap();
    pattern::compare(SIZE.width, &window.picture(), &pattern::shown(30, SIZE, format));
    pattern::compare(size.width, &other.picture(), &pattern::shown(130, size, format));
}

/// The application has a thread that reads all events, as Qt does, and another that waits for frames.
fn other_threads_read_events(window: &mut X11Window) {
    let (connection, id) = (Arc::clone(&window.connection), window.window);
    let ended = Arc::new(AtomicBool::new(false));
    let reader = {
        let ended = Arc::clone(&ended);
        std::thread::spawn(move || match connection.wait_for_event().unwrap() {
            Event::ClientMessage(_) if ended.load(Ordering::Relaxed) => {}
            event => panic!("the application got {event:?}"),
        })
    };
    let surface = window.surface();
    let base = config(&surface, SIZE, Mode::Fifo, 3);
    let format = base.format;
    for _ in 0..5 {
        let base = config(&surface, SIZE, Mode::Fifo, 3);
        let swapchain = surface.swapchain(base, None).unwrap();
        std::thread::scope(|scope| {
            for thread in 1..=3 {
                let swapchain = &swapchain;
                scope.spawn(move || {
                    for serial in 1..=20 {
                        swapchain.wait_shown(serial * thread / 3, LONG).unwrap();
                    }
                });
            }
            for frame in 1..=20 {
                present(&swapchain, format, frame, None);
            }
        });
    }
    ended.store(true, Ordering::Relaxed);
    let message = x11rb::protocol::xproto::ClientMessageEvent::new(32, id, 1u32, [0u32; 5]);
    window.connection.send_event(false, id, EventMask::NO_EVENT, message).unwrap();
    window.connection.flush().unwrap();
    reader.join().unwrap();
}

/// A window with alpha.
fn alpha_visual(window: &mut X11Window) {
    let root = window.connection.setup().roots[0].clone();
    let depth = root.allowed_depths.iter().find(|depth| depth.depth == 32).unwrap();
    let visual = depth.visuals.iter().find(|v| v.class == VisualClass::TRUE_COLOR).unwrap();
    let connection = Arc::clone(&window.connection);
    let mut window = X11Window::of(connection, SIZE, 32, visual.visual_id);
    let surface = window.surface();
    let capabilities = surface.capabilities().unwrap();
    assert_eq!(capabilities.alpha, Alpha::PRE_MULTIPLIED | Alpha::INHERIT);
    let opaque = Config { alpha: Alpha::OPAQUE, ..config(&surface, SIZE, Mode::Fifo, 3) };
    let error = surface.swapchain(opaque, None).err();
    assert_eq!(error, Some(Error::Unsupported(tepui_wsi::Property::Alpha)));
    cases::pictures(&mut window);
}

fn shares_memory(window: &mut X11Window) {
    assert!(window.surface().shares_memory());
}

fn does_not_share_memory(window: &mut X11Window) {
    assert!(!window.surface().shares_memory());
}

fn plain_modes(window: &mut X11Window) {
    assert_eq!(window.surface().modes().unwrap(), [Mode::Fifo, Mode::Immediate]);
}

/// Pointers and windows that are none.
fn invalid_handles(window: &mut X11Window) {
    // SAFETY: null is allowed, and the connection is open.
    let errors = unsafe {
        [
            Surface::xcb(std::ptr::null_mut(), 1).err(),
            Surface::xlib(std::ptr::null_mut(), 1).err(),
            Surface::wayland(std::ptr::null_mut(), std::ptr::null_mut()).err(),
            Surface::xcb(window.raw(), 0).err(),
            Surface::xcb(window.raw(), 0x1fff_ffff).err(),
            Surface::xcb(failed_connection(), 1).err(),
        ]
    };
    let lost = Some(Error::SurfaceLost);
    assert_eq!(
        errors[..2],
        [Some(Error::InvalidHandle("X connection")), Some(Error::InvalidHandle("Xlib display"))]
    );
    assert_eq!(errors[2], Some(Error::InvalidHandle("wl_display")));
    assert_eq!(errors[3..], [lost.clone(), lost.clone(), lost]);
    window.expect_no_events();
}

/// An image larger than the longest request.
fn large_image(window: &mut X11Window) {
    let wide = Extent { width: 16384, height: 290 };
    assert!(window.connection.maximum_request_bytes() < 16384 * 290 * 4);
    partly_seen(window, wide);
}

/// An image of which not even a row fits into a request.
fn wide_rows(window: &mut X11Window) {
    let wide = Extent { width: 5000, height: 40 };
    assert!(window.connection.maximum_request_bytes() < 5000 * 4);
    partly_seen(window, wide);
}

/// An image that reaches beyond the screen.
fn partly_seen(window: &mut X11Window, wide: Extent) {
    window.resize(wide);
    let surface = window.surface();
    let config = config(&surface, wide, Mode::Immediate, 2);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    let serial = present(&swapchain, format, 3, None);
    swapchain.wait_shown(serial, LONG).unwrap();
    // Only pixels on the screen can be read.
    let seen = Extent { width: 390, height: wide.height };
    window.extent = seen;
    pattern::compare(seen.width, &window.picture(), &pattern::shown(3, seen, format));
}

/// The pictures of a screen with another format.
fn format_of_screen(format: Format) {
    let mut window = X11Window::new(connect());
    assert_eq!(window.surface().formats().unwrap(), [format]);
    cases::pictures(&mut window);
    cases::shared_pictures(&mut window);
    window.expect_no_events();
}
