//! The kernel's interface as data: structures with their offsets, request numbers with their names.
//!
//! Each structure is declared once, by `kernel_structs!`, with the size and the offset of every field
//! as the C compiler lays them out on a 64-bit machine; the compiler refuses a declaration that
//! does not match. The declaration also yields a list of fields, from which a tracer prints any
//! structure without knowing it.

pub mod asahi;
pub mod core;
mod field;
pub mod i915;
pub mod panfrost;
pub mod panthor;
mod request;

pub use field::Field;
pub use request::{Direction, IoctlInfo, Request};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the structures are laid out for 64-bit clients");

/// A structure that crosses the kernel boundary: plain bytes with a fixed layout.
pub trait KernelStruct: bytemuck::Pod {
    /// The kernel's name, `drm_gem_close`.
    const NAME: &'static str;
    /// The fields in order.
    const FIELDS: &'static [Field];
}

macro_rules! kernel_structs {
    ($(
        $(#[$doc:meta])*
        $cname:ident as $name:ident[$size:literal] {
            $( $offset:literal $field:ident: $ty:ty, )*
        }
    )*) => {$(
        $(#[$doc])*
        #[doc = ""]
        #[doc = concat!("`struct ", stringify!($cname), "`, ", stringify!($size), " bytes.")]
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
        #[expect(missing_docs, reason = "the fields have the kernel's names; its header documents them")]
        pub struct $name { $( pub $field: $ty, )* }

        impl Default for $name {
            fn default() -> Self {
                bytemuck::Zeroable::zeroed()
            }
        }

        impl $crate::uapi::KernelStruct for $name {
            const NAME: &'static str = stringify!($cname);
            const FIELDS: &'static [$crate::uapi::Field] = &[ $( $crate::uapi::Field {
                name: stringify!($field),
                ty: stringify!($ty),
                offset: $offset,
                size: size_of::<$ty>(),
            }, )* ];
        }

        const _: () = {
            assert!(size_of::<$name>() == $size, concat!("size of ", stringify!($cname)));
            $( assert!(
                std::mem::offset_of!($name, $field) == $offset,
                concat!("offset of ", stringify!($cname), "::", stringify!($field)),
            ); )*
        };
    )*};
}

macro_rules! ioctls {
    ($( $(#[$doc:meta])* $nr:literal $name:ident $cname:ident: $direction:ident $arg:ident, )*) => {
        /// The requests, in order of their numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Ioctl { $( $(#[$doc])* $name = $nr, )* }

        impl Ioctl {
            /// Every request.
            pub const ALL: &'static [Ioctl] = &[ $( Ioctl::$name, )* ];

            /// The request of a number, the low byte of what `ioctl` is called with.
            pub fn from_nr(nr: u8) -> Option<Ioctl> {
                match nr { $( $nr => Some(Ioctl::$name), )* _ => None }
            }

            /// Name, request word and argument.
            pub fn info(self) -> &'static $crate::uapi::IoctlInfo {
                match self { $( Ioctl::$name => const { &$crate::uapi::IoctlInfo {
                    name: concat!("DRM_IOCTL_", stringify!($cname)),
                    request: $crate::uapi::Request::new(
                        $crate::uapi::Direction::$direction,
                        $nr,
                        size_of::<$arg>(),
                    ),
                    argument: <$arg as $crate::uapi::KernelStruct>::NAME,
                    fields: <$arg as $crate::uapi::KernelStruct>::FIELDS,
                } }, )* }
            }
        }
    };
}

pub(crate) use {ioctls, kernel_structs};
