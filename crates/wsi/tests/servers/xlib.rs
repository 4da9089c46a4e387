//! X11 windows by Xlib.

use std::ffi::{c_char, c_int, c_ulong, c_void};

use tepui_wsi::{Error, Extent, Mode, Surface};

use crate::Test;
use crate::pattern;
use crate::window::{LONG, config, present};

/// The tests.
pub const TESTS: &[Test] = &[("picture", picture), ("window_of_xlib_is_gone", window_is_gone)];

const SIZE: Extent = Extent { width: 90, height: 60 };

/// The functions of Xlib.h that the tests call.
struct Xlib {
    library: libloading::Library,
    display: *mut c_void,
}

impl Xlib {
    fn open() -> Xlib {
        // SAFETY: libX11 runs nothing when it is loaded; null is the display of the environment.
        unsafe {
            let library = libloading::Library::new("libX11.so.6").unwrap();
            type Open = unsafe extern "C" fn(*const c_char) -> *mut c_void;
            let open: Open = *library.get(b"XOpenDisplay\0").unwrap();
            let display = open(std::ptr::null());
            assert!(!display.is_null());
            Xlib { library, display }
        }
    }

    /// A mapped window.
    fn window(&self) -> c_ulong {
        type Root = unsafe extern "C" fn(*mut c_void) -> c_ulong;
        type Create = unsafe extern "C" fn(
            *mut c_void,
            c_ulong,
            c_int,
            c_int,
            u32,
            u32,
            u32,
            c_ulong,
            c_ulong,
        ) -> c_ulong;
        type Call = unsafe extern "C" fn(*mut c_void, c_ulong) -> c_int;
        // SAFETY: the functions of Xlib.h on an open display.
        unsafe {
            let root: Root = *self.library.get(b"XDefaultRootWindow\0").unwrap();
            let create: Create = *self.library.get(b"XCreateSimpleWindow\0").unwrap();
            let map: Call = *self.library.get(b"XMapWindow\0").unwrap();
            let (width, height) = (SIZE.width, SIZE.height);
            let window = create(self.display, root(self.display), 7, 7, width, height, 0, 0, 0);
            map(self.display, window);
            window
        }
    }

    fn call(&self, name: &[u8], window: c_ulong) -> c_int {
        type Call = unsafe extern "C" fn(*mut c_void, c_ulong) -> c_int;
        // SAFETY: functions of this type on an open display.
        unsafe { self.library.get::<Call>(name).unwrap()(self.display, window) }
    }

    /// Waits until the server has answered everything: errors would end the process.
    fn sync(&self) {
        self.call(b"XSync\0", 0);
    }

    /// The pixels of the window as Xlib reads them.
    fn pixels(&self, window: c_ulong) -> Vec<[u8; 3]> {
        type Get = unsafe extern "C" fn(
            *mut c_void,
            c_ulong,
            c_int,
            c_int,
            u32,
            u32,
            c_ulong,
            c_int,
        ) -> *mut c_void;
        type Pixel = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_ulong;
        const Z_PIXMAP: c_int = 2;
        // SAFETY: the functions of Xlib.h and Xutil.h on an open display; the image is leaked.
        unsafe {
            let get: Get = *self.library.get(b"XGetImage\0").unwrap();
            let (width, height) = (SIZE.width, SIZE.height);
            let image = get(self.display, window, 0, 0, width, height, c_ulong::MAX, Z_PIXMAP);
            assert!(!image.is_null());
            // XGetPixel is a macro over the image's functions: through a sub-image of one pixel, or as
            // Xlib's own exported function.
            let pixel: Pixel = *self.library.get(b"XGetPixel\0").unwrap();
            let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            places
                .map(|(x, y)| {
                    let value = pixel(image, x as c_int, y as c_int);
                    [(value >> 16) as u8, (value >> 8) as u8, value as u8]
                })
                .collect()
        }
    }
}

fn picture() {
    let xlib = Xlib::open();
    let window = xlib.window();
    // SAFETY: the display stays open.
    let surface = unsafe { Surface::xlib(xlib.display, window).unwrap() };
    let config = config(&surface, SIZE, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    for frame in 1..=10 {
        // Xlib's own requests in between.
        xlib.call(b"XClearWindow\0", window);
        xlib.sync();
        let serial = present(&swapchain, format, frame, None);
        swapchain.wait_shown(serial, LONG).unwrap();
        let expected = pattern::shown(frame, SIZE, format);
        pattern::compare(SIZE.width, &xlib.pixels(window), &expected);
    }
    type Visual = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;
    type Id = unsafe extern "C" fn(*mut c_void) -> c_ulong;
    // SAFETY: functions of Xlib.h on an open display and its default visual.
    let supported = unsafe {
        let visual: Visual = *xlib.library.get(b"XDefaultVisual\0").unwrap();
        let id: Id = *xlib.library.get(b"XVisualIDFromVisual\0").unwrap();
        tepui_wsi::xlib_supports(xlib.display, id(visual(xlib.display, 0)))
    };
    assert!(supported);
}

fn window_is_gone() {
    let xlib = Xlib::open();
    let window = xlib.window();
    // SAFETY: the display stays open.
    let surface = unsafe { Surface::xlib(xlib.display, window).unwrap() };
    let config = config(&surface, SIZE, Mode::Fifo, 3);
    let format = config.format;
    let swapchain = surface.swapchain(config, None).unwrap();
    present(&swapchain, format, 1, None);
    xlib.call(b"XDestroyWindow\0", window);
    xlib.sync();
    assert_eq!(swapchain.wait_shown(9, std::time::Duration::MAX), Err(Error::SurfaceLost));
    drop(swapchain);
    // Xlib ends the process for errors that it sees.
    xlib.sync();
    // SAFETY: as above; no ID has more than 29 bits.
    let wrong = unsafe { Surface::xlib(xlib.display, c_ulong::MAX).err() };
    assert_eq!(wrong, Some(Error::SurfaceLost));
}
