//! Where every pixel of a Mali image lies.
