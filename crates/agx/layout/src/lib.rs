//! Where every pixel of an AGX image lies.
