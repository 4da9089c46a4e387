//! A context of OpenGL ES without a window, and the functions of the library.

use std::ffi::{CStr, CString, c_char, c_void};

use libloading::Library;

const PLATFORM_SURFACELESS: u32 = 0x31dd;
const OPENGL_ES_API: u32 = 0x30a0;
const NONE: i32 = 0x3038;

type Pointer = *mut c_void;

/// The libraries, loaded for as long as the process runs.
pub struct Libraries {
    egl: Library,
    gles: Library,
}

fn load(name: &str) -> Result<Library, String> {
    // SAFETY: Mesa's libraries may be loaded at any time.
    unsafe { Library::new(name) }.map_err(|error| format!("{name}: {error}"))
}

impl Libraries {
    /// Loads both libraries.
    pub fn load() -> Result<Libraries, String> {
        Ok(Libraries { egl: load("libEGL.so.1")?, gles: load("libGLESv2.so.2")? })
    }

    /// A function of EGL.
    ///
    /// # Safety
    /// It must have the type `T`.
    unsafe fn egl<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's promise.
        unsafe { self.egl.get::<T>(name) }.map(|f| *f).map_err(|error| format!("{name}: {error}"))
    }

    /// A function of OpenGL ES.
    ///
    /// # Safety
    /// It must have the type `T`.
    pub unsafe fn gl<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's promise.
        unsafe { self.gles.get::<T>(name) }.map(|f| *f).map_err(|error| format!("{name}: {error}"))
    }

    /// Creates a context of the newest version that the driver supports, and makes it current; returns the
    /// version.
    pub fn make_current(&self) -> Result<[i32; 2], String> {
        type GetDisplay = unsafe extern "C" fn(u32, Pointer, *const isize) -> Pointer;
        type Initialize = unsafe extern "C" fn(Pointer, *mut i32, *mut i32) -> u32;
        type Bind = unsafe extern "C" fn(u32) -> u32;
        type Choose = unsafe extern "C" fn(Pointer, *const i32, *mut Pointer, i32, *mut i32) -> u32;
        type Create = unsafe extern "C" fn(Pointer, Pointer, Pointer, *const i32) -> Pointer;
        type Current = unsafe extern "C" fn(Pointer, Pointer, Pointer, Pointer) -> u32;
        let null = std::ptr::null_mut();
        // SAFETY: types and arguments are those of the specifications of EGL 1.5 and its extensions.
        unsafe {
            let display = self.egl::<GetDisplay>("eglGetPlatformDisplay")?(
                PLATFORM_SURFACELESS,
                null,
                std::ptr::null(),
            );
            let (mut major, mut minor) = (0, 0);
            if self.egl::<Initialize>("eglInitialize")?(display, &mut major, &mut minor) == 0 {
                return Err("there is no display without a window".into());
            }
            self.egl::<Bind>("eglBindAPI")?(OPENGL_ES_API);
            // Any surface type, OpenGL ES 2.
            let wanted = [0x3033, 0, 0x3040, 4, NONE];
            let (mut config, mut count) = (null, 0);
            let choose = self.egl::<Choose>("eglChooseConfig")?;
            choose(display, wanted.as_ptr(), &mut config, 1, &mut count);
            if count == 0 {
                return Err("there is no configuration".into());
            }
            let create = self.egl::<Create>("eglCreateContext")?;
            for version in [[3, 1], [3, 0], [2, 0]] {
                let attributes = [0x3098, version[0], 0x30fb, version[1], NONE];
                let context = create(display, config, null, attributes.as_ptr());
                if !context.is_null()
                    && self.egl::<Current>("eglMakeCurrent")?(display, null, null, context) != 0
                {
                    return Ok(version);
                }
            }
        }
        Err("no context can be made".into())
    }
}

/// Calls a function of OpenGL ES by name, with the types of its arguments and result.
macro_rules! gl {
    ($gl:expr, $name:ident($($value:expr => $type:ty),*) $(-> $result:ty)?) => {{
        // SAFETY: the types and arguments are those of the specification of OpenGL ES 3.1, as written here.
        unsafe {
            let function = $gl.libraries
                .gl::<unsafe extern "C" fn($($type),*) $(-> $result)?>(stringify!($name))
                .unwrap_or_else(|error| panic!("{error}"));
            function($($value),*)
        }
    }};
}

pub(crate) use gl;

/// Converts a C string of the library.
pub fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library's strings end with a zero and live as long as it does.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Converts text to a C string.
pub fn c_string(text: &str) -> CString {
    CString::new(text).expect("no zero in it")
}
