//! Shared functions: the units to which a message can be sent.

use std::fmt;

macro_rules! sfids {
    ($($name:ident = $value:literal $text:literal $doc:literal;)*) => {
        /// A shared function, by its id in `send`.
        ///
        /// source: Mesa, `brw_eu_defines.h` (`brw_message_target`); names as in `brw_disasm.c`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Sfid {
            $(#[doc = $doc] $name = $value,)*
        }

        impl Sfid {
            /// All shared functions of Gen9 to Gen12.
            pub const ALL: &[Sfid] = &[$(Sfid::$name,)*];

            /// The shared function with an id; `None` for reserved ids.
            pub const fn from_id(id: u8) -> Option<Sfid> {
                match id {
                    $($value => Some(Sfid::$name),)*
                    _ => None,
                }
            }

            /// The name in assembly.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Sfid::$name => $text,)*
                }
            }
        }
    };
}

sfids! {
    Null = 0 "null" "Nothing.";
    Sampler = 2 "sampler" "The sampling engine.";
    Gateway = 3 "gateway" "The message gateway: barriers, timestamps, messages between threads.";
    SamplerCache = 4 "dp_sampler" "The data port through the sampler's cache.";
    RenderCache = 5 "render" "The data port of the render cache: render targets.";
    Urb = 6 "urb" "The unified return buffer.";
    ThreadSpawner = 7 "thread_spawner" "The thread spawner, which ends compute threads.";
    Vme = 8 "vme" "Video motion estimation.";
    ConstantCache = 9 "const" "The data port of the constant cache, read-only.";
    DataCache0 = 10 "data" "The data port of the data cache, first set of messages.";
    PixelInterpolator = 11 "pixel interp" "The pixel interpolator.";
    DataCache1 = 12 "dp data 1" "The data port of the data cache, second set of messages.";
    Cre = 13 "cre" "The check and refinement engine.";
}

impl fmt::Display for Sfid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
