//! The declaration language for bit-packed GPU structures: one declaration gives pack, unpack, validation and print.
