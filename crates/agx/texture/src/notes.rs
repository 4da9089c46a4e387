//! What a model must say and cannot stop for.

use std::fmt;

/// Something whose outcome on silicon is unknown, and what this model did instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A tile of a compressed image was read or partly overwritten whose metadata says neither
    /// "uncompressed" nor "solid" eight times. Its texels count as zero.
    UnknownCompression {
        /// The eight bytes, the first lowest.
        metadata: u64,
    },
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
        }
    }
}

/// Notes, each once, at most a few.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    list: Vec<Note>,
}

impl Notes {
    const MOST: usize = 16;

    #[cold]
    pub(crate) fn add(&mut self, note: Note) {
        if self.list.len() < Notes::MOST && !self.list.contains(&note) {
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
