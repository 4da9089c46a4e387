//! Kernel structures of the DRM uAPI, GEM objects and sync objects.
