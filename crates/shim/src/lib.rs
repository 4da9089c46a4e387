//! The virtual DRM render node for programs that Tepui did not write.
