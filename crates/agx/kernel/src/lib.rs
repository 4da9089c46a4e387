//! The virtual AGX device behind the asahi kernel interface.
