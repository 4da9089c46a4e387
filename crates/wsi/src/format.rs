//! Pixel formats of windows: one table with the names that each window system has for them.

use wayland_client::protocol::wl_shm;

/// Channel layout of a pixel format. Names and channel order are Vulkan's; window systems do not know
/// whether values are sRGB-encoded, so both variants of a format are this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Bytes blue, green, red, alpha: `VK_FORMAT_B8G8R8A8_*`.
    B8G8R8A8,
    /// Bytes red, green, blue, alpha: `VK_FORMAT_R8G8B8A8_*`.
    R8G8B8A8,
    /// Red in bits 20 to 29 of a word: `VK_FORMAT_A2R10G10B10_UNORM_PACK32`.
    A2R10G10B10,
    /// Red in bits 0 to 9 of a word: `VK_FORMAT_A2B10G10R10_UNORM_PACK32`.
    A2B10G10R10,
    /// Red in bits 11 to 15 of a half-word: `VK_FORMAT_R5G6B5_UNORM_PACK16`.
    R5G6B5,
}

/// A format and its names.
pub(crate) struct Row {
    pub(crate) format: Format,
    pub(crate) bytes: u32,
    /// Masks of red, green and blue in a little-endian pixel, as an X visual has them.
    pub(crate) masks: [u32; 3],
    /// The formats of `wl_shm` without and with alpha.
    pub(crate) opaque: wl_shm::Format,
    pub(crate) alpha: Option<wl_shm::Format>,
}

/// All formats, in the order in which a surface lists them: what every server has first, because
/// many programs take the first.
pub(crate) const FORMATS: [Row; 5] = [
    Row {
        format: Format::B8G8R8A8,
        bytes: 4,
        masks: [0x00ff_0000, 0x0000_ff00, 0x0000_00ff],
        opaque: wl_shm::Format::Xrgb8888,
        alpha: Some(wl_shm::Format::Argb8888),
    },
    Row {
        format: Format::R8G8B8A8,
        bytes: 4,
        masks: [0x0000_00ff, 0x0000_ff00, 0x00ff_0000],
        opaque: wl_shm::Format::Xbgr8888,
        alpha: Some(wl_shm::Format::Abgr8888),
    },
    Row {
        format: Format::A2R10G10B10,
        bytes: 4,
        masks: [0x3ff0_0000, 0x000f_fc00, 0x0000_03ff],
        opaque: wl_shm::Format::Xrgb2101010,
        alpha: Some(wl_shm::Format::Argb2101010),
    },
    Row {
        format: Format::A2B10G10R10,
        bytes: 4,
        masks: [0x0000_03ff, 0x000f_fc00, 0x3ff0_0000],
        opaque: wl_shm::Format::Xbgr2101010,
        alpha: Some(wl_shm::Format::Abgr2101010),
    },
    Row {
        format: Format::R5G6B5,
        bytes: 2,
        masks: [0xf800, 0x07e0, 0x001f],
        opaque: wl_shm::Format::Rgb565,
        alpha: None,
    },
];

impl Format {
    pub(crate) fn row(self) -> &'static Row {
        // One row for each variant, in the order of declaration, which a test checks.
        &FORMATS[self as usize]
    }

    /// Bytes of a pixel.
    pub fn bytes(self) -> u32 {
        self.row().bytes
    }

    /// The DRM's codes of the format without and with alpha, which dma-bufs are described by. They are those
    /// of `wl_shm`, but for two that are older. source: wayland.xml, wl_shm.format
    pub(crate) fn fourcc(self) -> [Option<u32>; 2] {
        let code = |format: wl_shm::Format| match format {
            wl_shm::Format::Argb8888 => u32::from_le_bytes(*b"AR24"),
            wl_shm::Format::Xrgb8888 => u32::from_le_bytes(*b"XR24"),
            other => other.into(),
        };
        let row = self.row();
        [Some(code(row.opaque)), row.alpha.map(code)]
    }

    /// Bytes of a row of `width` pixels: a multiple of 4, as X servers and compositors want it.
    pub(crate) fn row_bytes(self, width: u32) -> u32 {
        (width * self.bytes()).next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_formats() {
        for row in &FORMATS {
            assert_eq!(row.format.row().format, row.format);
            assert_eq!(row.masks[0] & row.masks[1], 0);
            assert_eq!(row.masks[1] & row.masks[2], 0);
        }
    }

    #[test]
    fn codes_are_those_of_the_drm() {
        let name = |code: u32| String::from_utf8(code.to_le_bytes().to_vec()).unwrap();
        let names: Vec<_> =
            FORMATS.iter().map(|r| r.format.fourcc().map(|c| c.map(name))).collect();
        let [first, .., last] = &names[..] else { panic!("formats") };
        assert_eq!(first.each_ref().map(Option::as_deref), [Some("XR24"), Some("AR24")]);
        assert_eq!(names[2].each_ref().map(Option::as_deref), [Some("XR30"), Some("AR30")]);
        assert_eq!(last.each_ref().map(Option::as_deref), [Some("RG16"), None]);
    }

    #[test]
    fn rows_end_on_words() {
        assert_eq!(Format::B8G8R8A8.row_bytes(3), 12);
        assert_eq!(Format::R5G6B5.row_bytes(3), 8);
    }
}
