//! Pixel formats: blocks, channels, pack and unpack, block-compressed texels.
