//! Transfer of pixels to an X server.
//!
//! | the server has | and | an image is |
//! | --- | --- | --- |
//! | DRI3 | Present | a pixmap in a dma-buf of the driver: nothing is sent |
//! | MIT-SHM with shared pixmaps | Present; rows without padding | a pixmap in shared memory: nothing is sent |
//! | MIT-SHM | | a segment of shared memory, which ShmPutImage copies |
//! | neither, or it is remote | | bytes in PutImage requests |

use std::sync::Arc;

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::dri3::ConnectionExt as _;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, Drawable, Gcontext, ImageFormat, Pixmap,
};

use super::connection::Connection;
use super::surface::X11Surface;
use crate::error::{Error, Property, Result};
use crate::memory::{ImageMemory, Layout};
use crate::swapchain::{Pixels, SharedImage};

/// Bytes of a PutImage request before the pixels, with the longer length field of BIG-REQUESTS.
const PUT_IMAGE_HEADER: usize = 28;

/// The images of a swapchain in the server, and what drawing into them needs.
pub(super) struct Canvas {
    pub(super) connection: Arc<Connection>,
    pub(super) pictures: Vec<Picture>,
    layout: Layout,
    depth: u8,
    context: Gcontext,
    /// Rows for a request, when they cannot be sent as they lie.
    packed: Vec<u8>,
}

/// One image in the server.
pub(super) struct Picture {
    pub(super) pixmap: Option<Pixmap>,
    segment: Option<shm::Seg>,
    /// Whether the pixmap lies in the memory.
    is_shared: bool,
    memory: Option<ImageMemory>,
    connection: Arc<Connection>,
}

impl Picture {
    pub(super) fn new(
        surface: &X11Surface,
        layout: Layout,
        image: Option<SharedImage>,
    ) -> Result<Picture> {
        let connection = Arc::clone(&surface.connection);
        let mut picture =
            Picture { pixmap: None, segment: None, is_shared: false, memory: None, connection };
        if let Some(modifier) = image.as_ref().and_then(|image| image.modifier) {
            let memory = ImageMemory::new(image, layout)?;
            picture.create_from_dma_buf(surface, &memory, modifier)?;
            picture.memory = Some(memory);
            return Ok(picture);
        }
        let given = image.is_some();
        if given || surface.shm.is_some() {
            let memory = ImageMemory::new(image, layout)?;
            // Offsets are words of requests, and rows are counted in pixels of 16 bits.
            let fits = memory.offset <= u32::MAX.into()
                && memory.pitch / layout.format.bytes() <= u16::MAX.into();
            if surface.shm.is_some() && fits {
                picture.attach(&memory)?;
            }
            // Memory of its own is of no use if the server cannot map it.
            if picture.segment.is_some() || given {
                picture.memory = Some(memory);
            }
        }
        if surface.present {
            picture.create_pixmap(surface, layout)?;
        }
        Ok(picture)
    }

    /// Shares the memory with the server, unless the server refuses, as one reached through a proxy
    /// may.
    fn attach(&mut self, memory: &ImageMemory) -> Result<()> {
        let xcb = self.connection.xcb();
        let segment = xcb.generate_id()?;
        match xcb.shm_attach_fd(segment, memory.duplicate()?, false)?.check() {
            Ok(()) => self.segment = Some(segment),
            Err(x11rb::errors::ReplyError::X11Error(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Makes a pixmap of a dma-buf.
    fn create_from_dma_buf(
        &mut self,
        surface: &X11Surface,
        memory: &ImageMemory,
        modifier: u64,
    ) -> Result<()> {
        let xcb = self.connection.xcb();
        let pixmap = xcb.generate_id()?;
        let Layout { extent, .. } = memory.layout;
        let offset = u32::try_from(memory.offset);
        let offset = offset.map_err(|_| Error::Unsupported(Property::Layout))?;
        let (width, height) = (extent.width as u16, extent.height as u16);
        let depth = surface.depth;
        let made = xcb.dri3_pixmap_from_buffers(
            pixmap,
            surface.window,
            width,
            height,
            memory.pitch,
            offset,
            0,
            0,
            0,
            0,
            0,
            0,
            depth,
            self.connection.bits_per_pixel(depth),
            modifier,
            vec![memory.duplicate()?],
        );
        made?.check()?;
        self.pixmap = Some(pixmap);
        self.is_shared = true;
        Ok(())
    }

    fn create_pixmap(&mut self, surface: &X11Surface, layout: Layout) -> Result<()> {
        let xcb = self.connection.xcb();
        let pixmap = xcb.generate_id()?;
        let (width, height) = (layout.extent.width as u16, layout.extent.height as u16);
        if let (Some(segment), Some(memory)) = (self.segment, &self.memory)
            && surface.shm.is_some_and(|shm| shm.pixmaps)
            && memory.pitch as usize == layout.row()
        {
            let (window, depth) = (surface.window, surface.depth);
            let offset = memory.offset as u32; // `new` attached no others
            let made = xcb
                .shm_create_pixmap(pixmap, window, width, height, depth, segment, offset)?
                .check();
            match made {
                Ok(()) => {
                    self.pixmap = Some(pixmap);
                    self.is_shared = true;
                    return Ok(());
                }
                Err(x11rb::errors::ReplyError::X11Error(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        xcb.create_pixmap(surface.depth, pixmap, surface.window, width, height)?.check()?;
        self.pixmap = Some(pixmap);
        Ok(())
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        // The server keeps pixmap and segment until it has shown what was presented. Errors mean that
        // the connection is closed, and with it everything freed.
        let xcb = self.connection.xcb();
        if let Some(pixmap) = self.pixmap
            && let Ok(cookie) = xcb.free_pixmap(pixmap)
        {
            cookie.ignore_error();
        }
        if let Some(segment) = self.segment
            && let Ok(cookie) = xcb.shm_detach(segment)
        {
            cookie.ignore_error();
        }
    }
}

impl Canvas {
    pub(super) fn new(surface: &X11Surface, layout: Layout) -> Result<Canvas> {
        let connection = Arc::clone(&surface.connection);
        let context = connection.xcb().generate_id()?;
        let values = CreateGCAux::new().graphics_exposures(0);
        connection.xcb().create_gc(context, surface.window, &values)?.check()?;
        let (pictures, packed) = (Vec::new(), Vec::new());
        Ok(Canvas { connection, pictures, layout, depth: surface.depth, context, packed })
    }

    /// Whether the server reads the image from memory, so that the memory is in use until it says
    /// otherwise.
    pub(super) fn is_read_by_server(&self, image: usize) -> bool {
        let picture = &self.pictures[image];
        picture.segment.is_some() || picture.is_shared
    }

    /// Brings the pixels of an image into its pixmap, or into `window` without one.
    pub(super) fn draw(
        &mut self,
        image: usize,
        window: Drawable,
        pixels: Pixels<'_>,
    ) -> Result<()> {
        let Canvas { connection, pictures, layout, depth, context, packed } = self;
        let picture = &mut pictures[image];
        let target = picture.pixmap.unwrap_or(window);
        let put = Put { connection, layout: *layout, depth: *depth, context: *context, target };
        match (&mut picture.memory, picture.segment) {
            (Some(memory), _) if picture.is_shared => memory.store(pixels),
            (Some(memory), Some(segment)) => {
                memory.store(pixels)?;
                put.segment(memory, segment)
            }
            (Some(memory), None) => {
                memory.store(pixels)?;
                let (bytes, pitch) = memory.read()?;
                put.bytes(bytes, pitch, packed)
            }
            (None, _) => match pixels {
                Pixels::InPlace => Err(Error::Unsupported(Property::Pixels)),
                Pixels::Rows { bytes, pitch } => {
                    layout.check_rows(bytes, pitch)?;
                    put.bytes(bytes, pitch, packed)
                }
                Pixels::Fill(fill) => {
                    let pitch = layout.row();
                    let mut bytes = vec![0; pitch * layout.rows()];
                    fill(&mut bytes, pitch);
                    put.bytes(&bytes, pitch, packed)
                }
            },
        }
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        if let Ok(cookie) = self.connection.xcb().free_gc(self.context) {
            cookie.ignore_error();
        }
        self.pictures.clear();
        let _ = self.connection.flush();
    }
}

/// Destination of pixels.
struct Put<'a> {
    connection: &'a Connection,
    layout: Layout,
    depth: u8,
    context: Gcontext,
    target: Drawable,
}

impl Put<'_> {
    /// Copies from shared memory.
    fn segment(&self, memory: &ImageMemory, segment: shm::Seg) -> Result<()> {
        let (width, height) = self.size();
        let pitch = memory.pitch / self.layout.format.bytes();
        let cookie = self.connection.xcb().shm_put_image(
            self.target,
            self.context,
            pitch as u16,
            height,
            0,
            0,
            width,
            height,
            0,
            0,
            self.depth,
            ImageFormat::Z_PIXMAP.into(),
            false,
            segment,
            memory.offset as u32,
        )?;
        cookie.ignore_error();
        Ok(())
    }

    /// Sends rows, as many in a request as the server takes; parts of rows if not even one fits.
    fn bytes(&self, bytes: &[u8], pitch: usize, packed: &mut Vec<u8>) -> Result<()> {
        let xcb = self.connection.xcb();
        let (width, height) = self.size();
        let (width, height) = (usize::from(width), usize::from(height));
        let pixel = self.layout.format.bytes() as usize;
        let room = xcb.maximum_request_bytes().saturating_sub(PUT_IMAGE_HEADER) & !3;
        let columns = width.min(room / pixel).max(1);
        let row = (columns * pixel).next_multiple_of(4);
        let rows = (room / row).clamp(1, height);
        for y in (0..height).step_by(rows) {
            let count = rows.min(height - y);
            for x in (0..width).step_by(columns) {
                let columns = columns.min(width - x);
                let row = (columns * pixel).next_multiple_of(4);
                let start = y * pitch + x * pixel;
                let whole = bytes.get(start..start + count * row);
                let data = match whole.filter(|_| pitch == row) {
                    Some(data) => data,
                    None => {
                        packed.clear();
                        for line in 0..count {
                            let start = start + line * pitch;
                            packed.extend_from_slice(&bytes[start..start + columns * pixel]);
                            packed.resize((line + 1) * row, 0);
                        }
                        &*packed
                    }
                };
                let cookie = xcb.put_image(
                    ImageFormat::Z_PIXMAP,
                    self.target,
                    self.context,
                    columns as u16,
                    count as u16,
                    x as i16,
                    y as i16,
                    0,
                    self.depth,
                    data,
                )?;
                cookie.ignore_error();
            }
        }
        Ok(())
    }

    /// The size of the image, which is checked to be at most 16384 by 16384.
    fn size(&self) -> (u16, u16) {
        (self.layout.extent.width as u16, self.layout.extent.height as u16)
    }
}
