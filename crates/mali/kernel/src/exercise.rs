//! The panthor interface's part of [`tepui_drm::exercise`]: sequences of its ioctls, for fuzzers and property tests.
