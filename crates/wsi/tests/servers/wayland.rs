//! Wayland windows.

use std::process::Command;
use std::time::Duration;

use tepui_wsi::{Alpha, Error, Extent, Format, Mode, Surface};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_output::WlOutput;
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, delegate_noop};
use wayland_protocols::xdg::shell::client::xdg_surface::{self, XdgSurface};
use wayland_protocols::xdg::shell::client::xdg_toplevel::{self, XdgToplevel};
use wayland_protocols::xdg::shell::client::xdg_wm_base::{self, XdgWmBase};

use crate::window::{LONG, Window, config, present};
use crate::{Test, cases, mesa};

/// The tests.
pub const TESTS: &[Test] = &[
    ("pictures", || cases::pictures(&mut WaylandWindow::new(4))),
    ("shared_pictures", || cases::shared_pictures(&mut WaylandWindow::new(4))),
    ("refusals", || cases::refusals(&mut WaylandWindow::new(4))),
    ("ownership", || cases::ownership(&mut WaylandWindow::new(4))),
    ("last_frame_stays", || cases::last_frame_stays(&mut WaylandWindow::new(4))),
    ("old_wl_surface", || cases::last_frame_stays(&mut WaylandWindow::new(1))),
    ("fifo_is_paced", || cases::fifo_is_paced(&mut WaylandWindow::new(4))),
    ("modes_change", || cases::modes_change(&mut WaylandWindow::new(4))),
    ("nothing_leaks", || cases::nothing_leaks(&mut WaylandWindow::new(4), &mut compositor_files)),
    ("frames_have_times", || cases::frames_have_times(&mut WaylandWindow::new(4))),
    ("capabilities", capabilities),
    ("unseen_window", unseen_window),
    ("connection_ends", connection_ends),
];

/// The screen, which the window fills.
const SIZE: Extent = Extent { width: 320, height: 240 };

/// A window and the connection of the application.
struct WaylandWindow {
    connection: Connection,
    surface: WlSurface,
    _queue: EventQueue<App>,
    /// The screen as the application has it: events of presented frames name it.
    _output: WlOutput,
}

struct App {
    configured: bool,
}

impl WaylandWindow {
    /// A window that fills the screen, of a version of `wl_compositor`.
    fn new(version: u32) -> WaylandWindow {
        let connection = Connection::connect_to_env().unwrap();
        let (globals, mut queue) = registry_queue_init::<App>(&connection).unwrap();
        let handle = queue.handle();
        let compositor: WlCompositor = globals.bind(&handle, version..=version, ()).unwrap();
        let shell: XdgWmBase = globals.bind(&handle, 1..=1, ()).unwrap();
        let output: WlOutput = globals.bind(&handle, 1..=1, ()).unwrap();
        let surface = compositor.create_surface(&handle, ());
        let xdg_surface = shell.get_xdg_surface(&surface, &handle, ());
        xdg_surface.get_toplevel(&handle, ());
        surface.commit();
        let mut app = App { configured: false };
        while !app.configured {
            queue.blocking_dispatch(&mut app).unwrap();
        }
        WaylandWindow { connection, surface, _queue: queue, _output: output }
    }

    /// A `wl_surface` that is no window.
    fn bare() -> WaylandWindow {
        let connection = Connection::connect_to_env().unwrap();
        let (globals, queue) = registry_queue_init::<App>(&connection).unwrap();
        let handle = queue.handle();
        let compositor: WlCompositor = globals.bind(&handle, 4..=4, ()).unwrap();
        let output: WlOutput = globals.bind(&handle, 1..=1, ()).unwrap();
        let surface = compositor.create_surface(&handle, ());
        WaylandWindow { connection, surface, _queue: queue, _output: output }
    }
}

impl Window for WaylandWindow {
    fn surface(&self) -> Surface {
        let display = self.connection.backend().display_ptr().cast();
        let surface = self.surface.id().as_ptr().cast();
        // SAFETY: connection and surface live as long as this window.
        unsafe { Surface::wayland(display, surface).unwrap() }
    }

    fn extent(&self) -> Extent {
        SIZE
    }

    fn picture(&mut self) -> Vec<[u8; 3]> {
        // weston's own program writes the screen as PNG into the current directory.
        let runtime = std::env::var("XDG_RUNTIME_DIR").unwrap();
        let folder = std::path::Path::new(&runtime).join("picture");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let status = Command::new(mesa())
            .args(["run", "--icd", "none", "--", "weston-screenshooter"])
            .current_dir(&folder)
            .status()
            .unwrap();
        assert!(status.success());
        let file = std::fs::read_dir(&folder).unwrap().next().expect("a picture").unwrap();
        let decoder =
            png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file.path()).unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (SIZE.width, SIZE.height));
        assert_eq!(info.bit_depth, png::BitDepth::Eight);
        let size = info.color_type.samples();
        bytes.truncate(info.buffer_size());
        bytes.chunks_exact(size).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
}

/// The files and mappings that the compositor has open: it is the parent's sibling, found by its socket.
fn compositor_files() -> u64 {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let runtime = std::env::var("XDG_RUNTIME_DIR").unwrap();
    for process in processes {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let contains =
            |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
        if contains(&environment, &runtime) && contains(&command, "--backend=headless") {
            let count = || {
                let maps = std::fs::read_to_string(process.path().join("maps")).unwrap();
                let files = std::fs::read_dir(process.path().join("fd")).unwrap().count() as u64;
                files + maps.lines().filter(|line| line.contains("tepui-swapchain")).count() as u64
            };
            // The compositor may not have read the last requests yet.
            let mut least = count();
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(20));
                least = least.min(count());
            }
            return least;
        }
    }
    panic!("no compositor");
}

fn capabilities() {
    let window = WaylandWindow::new(4);
    let surface = window.surface();
    let capabilities = surface.capabilities().unwrap();
    assert_eq!(capabilities.current_extent, None);
    assert_eq!(capabilities.min_extent, Extent { width: 1, height: 1 });
    assert_eq!(capabilities.alpha, Alpha::OPAQUE | Alpha::PRE_MULTIPLIED);
    let formats = surface.formats().unwrap();
    assert_eq!(formats[0], Format::B8G8R8A8, "the one that each compositor has");
    assert!(formats.contains(&Format::R8G8B8A8));
    // weston has tearing control.
    assert_eq!(surface.modes().unwrap(), [Mode::Fifo, Mode::Mailbox, Mode::Immediate]);
    assert!(surface.shares_memory());
    let display = window.connection.backend().display_ptr();
    // SAFETY: an open display; null; and a proxy that is no surface.
    unsafe {
        assert!(tepui_wsi::wayland_supports(display.cast()));
        assert!(!tepui_wsi::wayland_supports(std::ptr::null_mut()));
        let null = Surface::wayland(display.cast(), std::ptr::null_mut());
        assert_eq!(null.err(), Some(Error::InvalidHandle("wl_surface")));
        let other = window.connection.display().id().as_ptr();
        let wrong = Surface::wayland(display.cast(), other.cast());
        assert_eq!(wrong.err(), Some(Error::InvalidHandle("wl_surface")));
    }
}

/// Frames of a surface that is not on the screen have no callbacks; FIFO goes on all the same.
fn unseen_window() {
    let window = WaylandWindow::bare();
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    for frame in 1..=5 {
        present(&swapchain, format, frame, None);
    }
    assert_eq!(swapchain.wait_shown(5, Duration::from_millis(50)), Err(Error::Timeout));
}

/// The compositor closes the connection: a request that it does not take does that.
fn connection_ends() {
    let window = WaylandWindow::new(4);
    let surface = window.surface();
    let config = config(&surface, SIZE, Mode::Fifo, 2);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    let serial = present(&swapchain, format, 1, None);
    swapchain.wait_shown(serial, LONG).unwrap();
    window.surface.set_buffer_scale(-1);
    window.connection.flush().unwrap();
    assert_eq!(swapchain.wait_shown(100, Duration::MAX), Err(Error::SurfaceLost));
    assert_eq!(swapchain.acquire(Duration::MAX).err(), Some(Error::SurfaceLost));
    drop(swapchain);
    let display = window.connection.backend().display_ptr().cast();
    let proxy = window.surface.id().as_ptr().cast();
    // SAFETY: both live.
    let again = unsafe { Surface::wayland(display, proxy) };
    assert_eq!(again.err(), Some(Error::SurfaceLost));
}

impl Dispatch<WlRegistry, GlobalListContents> for App {
    fn event(
        _: &mut App,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<App>,
    ) {
    }
}

impl Dispatch<XdgSurface, ()> for App {
    fn event(
        app: &mut App,
        surface: &XdgSurface,
        event: xdg_surface::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<App>,
    ) {
        if let xdg_surface::Event::Configure { serial } = event {
            surface.ack_configure(serial);
            app.configured = true;
        }
    }
}

impl Dispatch<XdgWmBase, ()> for App {
    fn event(
        _: &mut App,
        shell: &XdgWmBase,
        event: xdg_wm_base::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<App>,
    ) {
        if let xdg_wm_base::Event::Ping { serial } = event {
            shell.pong(serial);
        }
    }
}

impl Dispatch<XdgToplevel, ()> for App {
    fn event(
        _: &mut App,
        _: &XdgToplevel,
        _: xdg_toplevel::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<App>,
    ) {
    }
}

delegate_noop!(App: ignore WlCompositor);
delegate_noop!(App: ignore WlOutput);
delegate_noop!(App: ignore WlSurface);
