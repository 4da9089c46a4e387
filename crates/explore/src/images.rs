//! Images and samplers for a shader: reads what is asked for (`checkerboard,size=64x64`, `linear,repeat`), creates images and
//! descriptors, and reads images back.

use tepui_agx_bare::image::{self, Image, ImageInfo, Row, format_of};
use tepui_agx_bare::{Buffer, Machine};
use tepui_agx_layout::Dimension;
use tepui_format::Format;
use tepui_ir::interp::{Compare, Filter, SamplerData, Wrap};
use tepui_ir::{Dim, NumKind, ResKind, Resource};

use crate::pattern::Pattern;
use crate::picture;

/// Bytes of the largest image.
const MAX_IMAGE_B: u64 = 1 << 28;
/// Width and height of a pattern of which no size is asked for.
const PATTERN_PX: u32 = 256;

/// Initial contents of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Zeros,
    Pattern(Pattern),
    /// Contents of a file.
    File,
}

/// An image as asked for: `FILE|PATTERN|SIZE[,format=F][,size=WxH[xD]][,layers=N]`.
pub struct Request<'a> {
    /// A file, a pattern or a size.
    what: &'a str,
    content: Content,
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
    /// Reads a request.
    ///
    /// # Errors
    /// Names the word that is invalid.
    pub fn parse(text: &str) -> Result<Request<'_>, String> {
        let mut words = text.split(',');
        let what = words.next().unwrap_or("");
        let (pattern, zeros) = (Pattern::from_name(what), size(what));
        let content = match pattern {
            Some(p) => Content::Pattern(p),
            None if zeros.is_some() => Content::Zeros,
            None => Content::File,
        };
        let mut r = Request { what, content, format: None, size: zeros, layers: None };
        for w in words {
            match w.split_once('=') {
                Some(("format", f)) => r.format = Some(f.parse().map_err(|e| format!("{e}"))?),
                Some(("size", s)) => {
                    let bad =
                        || format!("`{w}`: write size=WIDTHxHEIGHT or size=WIDTHxHEIGHTxDEPTH");
                    r.size = Some(size(s).ok_or_else(bad)?);
                }
                Some(("layers", n)) => {
                    let count = n.parse().ok().filter(|&n| n > 0);
                    r.layers = Some(count.ok_or_else(|| format!("`{w}`: layers=NUMBER"))?);
                }
                _ => {
                    return Err(format!("`{w}`: an image takes format=, size= and layers="));
                }
            }
        }
        Ok(r)
    }

    /// The file that it names.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        (self.content == Content::File).then_some(self.what)
    }
}

/// An image or texel buffer that a shader runs with.
pub enum BoundImage {
    /// An image.
    Image(Box<Image>),
    /// A texel buffer.
    Buffer {
        /// Its memory.
        buffer: Buffer,
        /// Its descriptors.
        row: Row,
        /// Format of a texel.
        format: Format,
        /// Number of texels.
        texels: u32,
    },
}

impl BoundImage {
    /// The row of the descriptor table.
    ///
    /// # Errors
    /// When a value does not fit.
    pub fn row(&self) -> Result<Row, String> {
        match self {
            BoundImage::Image(i) => i.row().map_err(|e| e.to_string()),
            BoundImage::Buffer { row, .. } => Ok(*row),
        }
    }

    /// Format of a texel.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            BoundImage::Image(i) => i.info().format,
            BoundImage::Buffer { format, .. } => *format,
        }
    }

    /// Number of layers or slices.
    #[must_use]
    pub fn slices(&self) -> u32 {
        match self {
            BoundImage::Image(i) => i.info().layers.max(i.info().size[2]),
            BoundImage::Buffer { .. } => 1,
        }
    }

    /// Width, and total height of all layers, stacked vertically.
    #[must_use]
    pub fn picture(&self) -> [u32; 2] {
        match self {
            BoundImage::Image(i) => [i.info().size[0], i.info().size[1] * self.slices()],
            BoundImage::Buffer { texels, .. } => [*texels, 1],
        }
    }

    /// Writes all layers from a vertical stack.
    fn write(&self, raster: &[u8]) -> Result<(), String> {
        match self {
            BoundImage::Buffer { buffer, .. } => buffer.write(raster).map_err(|e| e.to_string()),
            BoundImage::Image(i) => {
                let (stride, rows) = i.raster(0);
                for (k, slice) in (0..).zip(raster.chunks(stride * rows)) {
                    i.write(0, k, slice).map_err(|e| e.to_string())?;
                }
                Ok(())
            }
        }
    }

    /// The texels of all layers in order; samples of a texel are adjacent.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            BoundImage::Buffer { buffer, .. } => buffer.read().map_err(|e| e.to_string()),
            BoundImage::Image(i) => {
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
            picture::png_of_texels(self.format(), (w, h), &raster).map_err(|e| e.to_string())
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

/// Dimensions and contents of a requested image.
pub struct Texels {
    /// Format of a texel.
    pub format: Format,
    /// Width, height and depth in texels.
    pub size: [u32; 3],
    /// Array layers; six for each cube.
    pub layers: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// The texels of all layers or slices in order, samples of a texel adjacent; empty for zeros.
    pub bytes: Vec<u8>,
}

impl Texels {
    /// Layers or slices.
    fn slices(&self) -> u32 {
        self.layers.max(self.size[2])
    }

    /// Bytes of all layers or slices.
    fn bytes_needed(&self) -> u64 {
        let block = self.format.info().block;
        let [width, height, _] = self.size;
        let blocks = [width.div_ceil(block.width_px), height.div_ceil(block.height_px)];
        let parts = blocks.into_iter().chain([self.slices(), self.samples, block.bytes]);
        parts.map(u64::from).fold(1, u64::saturating_mul)
    }

    /// The texels of a pattern.
    fn draw(&self, pattern: Pattern) -> Result<Vec<u8>, String> {
        let ([width, height, _], samples) = (self.size, self.samples);
        let whole = [width, height * self.slices()];
        let pixels = (0..self.slices()).flat_map(|layer| {
            (0..height).flat_map(move |y| {
                (0..width).flat_map(move |x| {
                    let colour = pattern.colour(whole, [x, y], layer);
                    (0..samples).map(move |_| colour)
                })
            })
        });
        picture::texels(self.format, pixels).map_err(|e| e.to_string())
    }
}

impl Request<'_> {
    /// The image with the dimensions that the shader declares; `file` holds the contents of the file that the request names: a PNG,
    /// or rows of raw texels.
    ///
    /// # Errors
    /// The file does not fit.
    pub fn texels(&self, r: &Resource, file: Option<&[u8]>) -> Result<Texels, String> {
        if let (Some(name), None) = (self.file(), file) {
            return Err(format!(
                "`{name}` is neither a file at hand nor checkerboard, gradient, noise or a size such as 64x64"
            ));
        }
        let format = self.format.unwrap_or_else(|| default_format(r));
        let png = file.filter(|f| f.starts_with(picture::PNG_SIGNATURE));
        let png = png.map(|f| picture::texels_of_png(format, f)).transpose();
        let png = png.map_err(|e| format!("{}: {e}", self.what))?;
        let texel_bytes = format.info().block.bytes;
        let raw_bytes = file.map_or(0, <[u8]>::len) as u32;
        let layers = self.layers.unwrap_or(if r.dim == Dim::Cube { 6 } else { 1 });
        let layers = if r.array || matches!(r.dim, Dim::Cube | Dim::D3) { layers } else { 1 };
        let pattern_size = match r.dim {
            Dim::D1 | Dim::Buffer => [PATTERN_PX, 1, 1],
            Dim::D3 => [PATTERN_PX / 8; 3],
            Dim::D2 | Dim::Cube | Dim::Subpass => [PATTERN_PX, PATTERN_PX, 1],
        };
        let size = match (self.size, &png, self.content) {
            (Some(s), ..) => s,
            (None, Some(((w, h), _)), _) if h % layers == 0 => match r.dim {
                Dim::D3 => [*w, h / layers, layers],
                _ => [*w, h / layers, 1],
            },
            (None, Some(((w, h), _)), _) => [*w, *h, 1],
            (None, None, Content::Pattern(_)) => pattern_size,
            (None, None, _) if r.dim == Dim::Buffer => [raw_bytes / texel_bytes, 1, 1],
            (None, None, _) => {
                return Err(format!("{}: raw texels need size=WIDTHxHEIGHT", self.what));
            }
        };
        let size = if r.dim == Dim::Buffer { [size.iter().product(), 1, 1] } else { size };
        let layers = if r.dim == Dim::D3 { 1 } else { layers };
        let samples = if r.ms { 4 } else { 1 };
        let mut made = Texels { format, size, layers, samples, bytes: Vec::new() };
        let need = made.bytes_needed();
        if need > MAX_IMAGE_B {
            return Err(format!("{}: an image has at most {MAX_IMAGE_B} bytes", self.what));
        }
        match self.content {
            Content::Pattern(pattern) => made.bytes = made.draw(pattern)?,
            Content::File => {
                made.bytes = png.map(|p| p.1).or(file.map(<[u8]>::to_vec)).unwrap_or_default();
                let have = made.bytes.len();
                if have as u64 != need {
                    return Err(format!(
                        "{}: {have} bytes of texels; {format} has {need}",
                        self.what
                    ));
                }
            }
            Content::Zeros => {}
        }
        Ok(made)
    }
}

/// Creates the image of a request in the memory of an AGX GPU.
///
/// # Errors
/// As [`Request::texels`], or the hardware cannot have the image.
pub fn bind(
    machine: &mut Machine,
    r: &Resource,
    q: &Request<'_>,
    file: Option<&[u8]>,
) -> Result<BoundImage, String> {
    let Texels { format, size, layers, samples, bytes } = q.texels(r, file)?;
    let bound = if r.dim == Dim::Buffer {
        let texels = size[0];
        let texel_bytes = format.info().block.bytes;
        let buffer = machine.buffer((texels * texel_bytes) as usize).map_err(|e| e.to_string())?;
        let row = image::texel_buffer(format, &buffer, texels).map_err(|e| e.to_string())?;
        BoundImage::Buffer { buffer, row, format, texels }
    } else {
        let image = machine.image(&ImageInfo {
            format,
            dimension: match r.dim {
                Dim::D1 => Dimension::D1,
                Dim::D3 => Dimension::D3,
                Dim::Cube => Dimension::Cube,
                Dim::D2 | Dim::Buffer | Dim::Subpass => Dimension::D2,
            },
            size,
            layers,
            array: r.array,
            levels: 1,
            samples,
            storage: r.kind == ResKind::StorageImage,
        });
        BoundImage::Image(Box::new(image.map_err(|e| e.to_string())?))
    };
    if !bytes.is_empty() {
        bound.write(&bytes)?;
    }
    Ok(bound)
}

/// Reads `nearest|linear`, `clamp|repeat|mirror|mirror-once|border`, `mip-nearest|mip-linear`, a
/// comparison.
///
/// # Errors
/// Names the word that is invalid.
pub fn sampler(text: &str) -> Result<SamplerData, String> {
    const ONE: u32 = 0x3f80_0000;
    let mut s = SamplerData::default();
    for w in text.split(',') {
        match w {
            "nearest" => (s.mag, s.min) = (Filter::Nearest, Filter::Nearest),
            "linear" => (s.mag, s.min) = (Filter::Linear, Filter::Linear),
            "mip-nearest" => s.mip = Filter::Nearest,
            "mip-linear" => s.mip = Filter::Linear,
            "clamp" => s.wrap = [Wrap::Clamp; 3],
            "repeat" => s.wrap = [Wrap::Repeat; 3],
            "mirror" => s.wrap = [Wrap::Mirror; 3],
            "mirror-once" => s.wrap = [Wrap::MirrorOnce; 3],
            "border" => s.wrap = [Wrap::Border; 3],
            "black" => s.border = [0, 0, 0, ONE],
            "white" => s.border = [ONE; 4],
            _ => {
                s.compare = Some(match w {
                    "less" => Compare::Less,
                    "lequal" => Compare::LessOrEqual,
                    "greater" => Compare::Greater,
                    "gequal" => Compare::GreaterOrEqual,
                    "equal" => Compare::Equal,
                    "not-equal" => Compare::NotEqual,
                    _ => {
                        return Err(format!(
                            "`{w}`: a sampler takes nearest, linear, mip-nearest, mip-linear, clamp, repeat, mirror, \
                             mirror-once, border (with black or white), less, lequal, greater, gequal, equal, not-equal"
                        ));
                    }
                });
            }
        }
    }
    Ok(s)
}
