//! Fields of kernel structures.

/// One field of a kernel structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The kernel's name.
    pub name: &'static str,
    /// The Rust type's name.
    pub ty: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}
