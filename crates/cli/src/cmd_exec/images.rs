//! Images and samplers of `tepui exec`: parses the arguments, creates images and descriptors, and
//! saves images to files.

use tepui_agx_bare::image::{self, Image, ImageInfo, Row, format_of};
use tepui_agx_bare::{Buffer, Machine};
use tepui_agx_layout::Dimension;
use tepui_agx_packets::sampler::{BorderColour, CompareFunc, Filter, MipFilter, Sampler, Wrap};
use tepui_format::Format;
use tepui_ir::{Dim, NumKind, ResKind, Resource};

use crate::raster;

/// The parsed value of `--image`.
pub struct Request<'a> {
    /// A file or a size.
    what: &'a str,
    format: Option<Format>,
    size: Option<[u32; 3]>,
    layers: Option<u32>,
}

fn size(text: &str) -> Option<[u32; 3]> {
    let mut out = [1; 3];
    let mut parts = text.split('x');
    for place in &mut out {
        let Some(p) = parts.next() else { break };
        *place = p.parse().ok().filter(|&n| n > 0)?;
    }
    parts.next().is_none().then_some(out)
}

impl Request<'_> {
    /// Reads `FILE|SIZE[,format=F][,size=WxH[xD]][,layers=N]`.
    ///
    /// # Errors
    /// Names the word that is invalid.
    pub fn parse(text: &str) -> Result<Request<'_>, String> {
        let mut words = text.split(',');
        let mut r =
            Request { what: words.next().unwrap_or(""), format: None, size: None, layers: None };
        r.size = size(r.what);
        for w in words {
            match w.split_once('=') {
                Some(("format", f)) => r.format = Some(f.parse().map_err(|e| format!("{e}"))?),
                Some(("size", s)) => {
                    let bad =
                        || format!("`{w}`: write size=WIDTHxHEIGHT or size=WIDTHxHEIGHTxDEPTH");
                    r.size = Some(size(s).ok_or_else(bad)?);
                }
                Some(("layers", n)) => {
                    r.layers = Some(n.parse().map_err(|_| format!("`{w}`: layers=NUMBER"))?);
                }
                _ => {
                    return Err(format!("`{w}`: an image takes format=, size= and layers="));
                }
            }
        }
        Ok(r)
    }
}

/// An image or texel buffer that a shader runs with.
pub enum Bound {
    Image(Box<Image>),
    Buffer { buffer: Buffer, row: Row, format: Format, texels: u32 },
}

impl Bound {
    /// The row of the descriptor table.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn row(&self) -> Result<Row, String> {
        match self {
            Bound::Image(i) => i.row().map_err(|e| e.to_string()),
            Bound::Buffer { row, .. } => Ok(*row),
        }
    }

    fn format(&self) -> Format {
        match self {
            Bound::Image(i) => i.info().format,
            Bound::Buffer { format, .. } => *format,
        }
    }

    /// Number of layers or slices.
    fn slices(&self) -> u32 {
        match self {
            Bound::Image(i) => i.info().layers.max(i.info().size[2]),
            Bound::Buffer { .. } => 1,
        }
    }

    /// Width, and total height of all layers, stacked vertically.
    fn picture(&self) -> [u32; 2] {
        match self {
            Bound::Image(i) => [i.info().size[0], i.info().size[1] * self.slices()],
            Bound::Buffer { texels, .. } => [*texels, 1],
        }
    }

    /// Writes all layers from a vertical stack.
    fn write(&self, raster: &[u8]) -> Result<(), String> {
        match self {
            Bound::Buffer { buffer, .. } => buffer.write(raster).map_err(|e| e.to_string()),
            Bound::Image(i) => {
                let (stride, rows) = i.raster(0);
                for (k, slice) in (0..).zip(raster.chunks(stride * rows)) {
                    i.write(0, k, slice).map_err(|e| e.to_string())?;
                }
                Ok(())
            }
        }
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Bound::Buffer { buffer, .. } => buffer.read().map_err(|e| e.to_string()),
            Bound::Image(i) => {
                let mut all = Vec::new();
                for k in 0..self.slices() {
                    all.extend(i.read(0, k).map_err(|e| e.to_string())?);
                }
                Ok(all)
            }
        }
    }

    /// The contents of the file `name`: a PNG if the name ends in `.png`, else rows of raw texels.
    ///
    /// # Errors
    /// The pixels cannot be read or converted.
    pub fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let raster = self.read()?;
        if name.to_ascii_lowercase().ends_with(".png") {
            let [w, h] = self.picture();
            raster::png_of_texels(self.format(), (w, h), &raster).map_err(|e| e.to_string())
        } else {
            Ok(raster)
        }
    }
}

fn default_format(r: &Resource) -> Format {
    format_of(r.format).unwrap_or(match r.texels {
        NumKind::Float => Format::R8G8B8A8_UNORM,
        NumKind::Sint => Format::R8G8B8A8_SINT,
        NumKind::Uint => Format::R8G8B8A8_UINT,
    })
}

/// Creates the image of a request, with the dimensions that the shader declares.
///
/// # Errors
/// The file cannot be read or does not fit.
pub fn bind(machine: &mut Machine, r: &Resource, q: &Request<'_>) -> Result<Bound, String> {
    let format = q.format.unwrap_or_else(|| default_format(r));
    let file = match size(q.what) {
        Some(_) => None,
        None => Some(crate::input::read(q.what.as_ref()).map_err(|e| format!("{}: {e}", q.what))?),
    };
    let png = file.as_deref().filter(|f| f.starts_with(raster::PNG_SIGNATURE));
    let picture = png.map(|f| raster::texels_of_png(format, f)).transpose();
    let picture = picture.map_err(|e| format!("{}: {e}", q.what))?;
    let texel = format.info().block.bytes as usize;
    let default_layers = if r.dim == Dim::Cube { 6 } else { 1 };
    let layers = q.layers.unwrap_or(default_layers);
    let content = picture.as_ref().map(|p| &p.1).or(file.as_ref());
    if r.dim == Dim::Buffer {
        let texels = match (q.size, content) {
            (Some([w, h, d]), _) => w * h * d,
            (None, Some(c)) => (c.len() / texel) as u32,
            (None, None) => 0,
        };
        let buffer = machine.buffer(texels as usize * texel).map_err(|e| e.to_string())?;
        let row = image::texel_buffer(format, &buffer, texels).map_err(|e| e.to_string())?;
        let bound = Bound::Buffer { buffer, row, format, texels };
        return fill(bound, q, content.map(Vec::as_slice));
    }
    let stacked = r.array || matches!(r.dim, Dim::D3 | Dim::Cube);
    let size = match (q.size, &picture) {
        (Some(s), _) => s,
        (None, Some(((w, h), _))) if stacked && h % layers == 0 => match r.dim {
            Dim::D3 => [*w, h / layers, layers],
            _ => [*w, h / layers, 1],
        },
        (None, Some(((w, h), _))) => [*w, *h, 1],
        (None, None) => {
            return Err(format!("{}: raw texels need size=WIDTHxHEIGHT", q.what));
        }
    };
    let info = ImageInfo {
        format,
        dimension: match r.dim {
            Dim::D1 => Dimension::D1,
            Dim::D3 => Dimension::D3,
            Dim::Cube => Dimension::Cube,
            Dim::D2 | Dim::Buffer | Dim::Subpass => Dimension::D2,
        },
        size,
        layers: if r.array || r.dim == Dim::Cube { layers } else { 1 },
        array: r.array,
        levels: 1,
        samples: if r.ms { 4 } else { 1 },
        storage: r.kind == ResKind::StorageImage,
    };
    let image = machine.image(&info).map_err(|e| e.to_string())?;
    fill(Bound::Image(Box::new(image)), q, content.map(Vec::as_slice))
}

fn fill(bound: Bound, q: &Request<'_>, content: Option<&[u8]>) -> Result<Bound, String> {
    if let Some(c) = content {
        let need = bound.read()?.len();
        if c.len() != need {
            return Err(format!(
                "{}: {} bytes of texels; {} has {need}",
                q.what,
                c.len(),
                bound.format()
            ));
        }
        bound.write(c)?;
    }
    Ok(bound)
}

/// Reads `nearest|linear`, `clamp|repeat|mirror|mirror-once|border`, `mip-nearest|mip-linear`, a
/// comparison.
///
/// # Errors
/// Names the word that is invalid.
pub fn sampler(text: &str) -> Result<[u8; 8], String> {
    let mut s = Sampler {
        maximum_lod: 14.0,
        maximum_anisotropy: 1,
        mip_filter: MipFilter::Nearest,
        ..Sampler::default()
    };
    for w in text.split(',') {
        let wrap = |s: &mut Sampler, w| (s.wrap_s, s.wrap_t, s.wrap_r) = (w, w, w);
        let filter = |s: &mut Sampler, f| (s.magnify, s.minify) = (f, f);
        match w {
            "nearest" => filter(&mut s, Filter::Nearest),
            "linear" => filter(&mut s, Filter::Linear),
            "mip-nearest" => s.mip_filter = MipFilter::Nearest,
            "mip-linear" => s.mip_filter = MipFilter::Linear,
            "clamp" => wrap(&mut s, Wrap::ClampToEdge),
            "repeat" => wrap(&mut s, Wrap::Repeat),
            "mirror" => wrap(&mut s, Wrap::MirroredRepeat),
            "mirror-once" => wrap(&mut s, Wrap::MirroredClampToEdge),
            "border" => wrap(&mut s, Wrap::ClampToBorder),
            "black" => s.border_colour = BorderColour::OpaqueBlack,
            "white" => s.border_colour = BorderColour::OpaqueWhite,
            _ => {
                s.compare_func = match w {
                    "less" => CompareFunc::Less,
                    "lequal" => CompareFunc::Lequal,
                    "greater" => CompareFunc::Greater,
                    "gequal" => CompareFunc::Gequal,
                    "equal" => CompareFunc::Equal,
                    "not-equal" => CompareFunc::NotEqual,
                    _ => {
                        return Err(format!(
                            "`{w}`: a sampler takes nearest, linear, mip-nearest, mip-linear, clamp, repeat, mirror, \
                             mirror-once, border (with black or white), less, lequal, greater, gequal, equal, not-equal"
                        ));
                    }
                };
                s.compare_enable = true;
            }
        }
    }
    image::sampler(&s).map_err(|e| e.to_string())
}
