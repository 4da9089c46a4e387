//! The bit-packed structures of AGX: control streams, USC words, state and descriptors.
