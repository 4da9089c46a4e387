//! Non-fatal diagnostics of the texture unit and the pixel back end.

use std::fmt;

use crate::error::Unsupported;

/// Something whose outcome on silicon is unknown, and what this model did instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A tile of a compressed image was read or partly overwritten whose metadata says neither
    /// "uncompressed" nor "solid" eight times. Its texels count as zero.
    UnknownCompression {
        /// The eight bytes, the first lowest.
        metadata: u64,
    },
    /// A texture was read through a descriptor that is not understood. The result is zero.
    Descriptor {
        /// The kind of the descriptor.
        which: &'static str,
        /// The problem.
        why: Unsupported,
    },
    /// A texel that is not mapped was read. It counts as zero.
    Unmapped {
        /// GPU address of the texel.
        address: u64,
    },
}

impl Note {
    /// Whether this describes the program's behaviour rather than a limitation of the model, so that
    /// only the checker reports it. Drivers hoist texture samples above the condition that decides
    /// whether their result is used, and filters read texels next to those that were drawn: GTK samples
    /// glyph atlases with gaps that were never written. Silicon reports neither.
    pub fn is_for_checker(&self) -> bool {
        match self {
            Note::Descriptor { .. } | Note::Unmapped { .. } => true,
            Note::UnknownCompression { metadata } => *metadata == 0,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::UnknownCompression { metadata: 0 } => {
                f.write_str("a tile of a compressed image is read that was never written")
            }
            Note::UnknownCompression { metadata } => write!(
                f,
                "how a compressed tile with metadata {metadata:#018x} holds its texels is unknown; \
                 they read as zero"
            ),
            Note::Descriptor { which, why } => {
                write!(f, "{which} descriptor: {why}; the result is undefined, here zero")
            }
            Note::Unmapped { address } => {
                write!(
                    f,
                    "texels at {address:#x} are not mapped; the result is undefined, here zero"
                )
            }
        }
    }
}

/// Notes, each once, at most a few.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    list: Vec<Note>,
}

impl Notes {
    const MAX: usize = 16;

    #[cold]
    pub(crate) fn add(&mut self, note: Note) {
        if self.list.len() < Notes::MAX && !self.list.contains(&note) {
            self.list.push(note);
        }
    }

    /// Takes the notes out.
    pub fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.list)
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
