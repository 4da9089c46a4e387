//! X11 windows.
//!
//! [`Connection`] speaks on the application's connection by libxcb. A [`X11Surface`] knows what the
//! server offers for a window, and from that makes one of two engines:
//!
//! - [`present`] shows pixmaps by the Present extension at the vertical blank that the mode asks for.
//! - [`plain`] copies images into the window, for servers without Present.
//!
//! Both bring pixels to the server as [`upload`] describes.

mod connection;
mod plain;
mod present;
mod special;
mod surface;
mod upload;

pub(crate) use connection::{Connection, xcb_of_xlib};
pub(crate) use surface::X11Surface;

use crate::error::Result;
use crate::memory::Layout;
use crate::swapchain::{Config, Engine, Images};
use upload::Picture;

impl X11Surface {
    pub(crate) fn engine(&self, config: Config) -> Result<Box<dyn Engine>> {
        let Config { extent, format, images, .. } = config;
        let layout = Layout { extent, format };
        let mut canvas = upload::Canvas::new(self, layout)?;
        let images: Vec<_> = match images {
            Images::Private { count } => (0..count).map(|_| None).collect(),
            Images::Shared(images) => images.into_iter().map(Some).collect(),
        };
        for image in images {
            let picture = Picture::new(self, layout, image)?;
            canvas.pictures.push(picture);
        }
        Ok(match self.present {
            true => Box::new(present::Presenter::new(self, canvas, extent)?),
            false => Box::new(plain::Copier::new(self.window, canvas)),
        })
    }
}
