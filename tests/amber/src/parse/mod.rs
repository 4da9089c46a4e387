//! The parser: text to a [`Script`].

mod commands;
mod pipelines;
mod words;

use std::collections::HashMap;
use std::path::{Component, Path};

use tepui_format::Format;
use tepui_ir::interp::{Filter, SamplerData, Wrap};

use crate::data::{Element, Number};
use crate::script::{Buffer, Language, Script, Shader, Stage, Texels};
use crate::{Error, Result};
use words::Words;

/// Limit on the size of a buffer or an image in bytes.
const MAX_BYTES: usize = 1 << 26;
/// Limit on the size of a script in bytes.
const MAX_TEXT: usize = 1 << 22;

/// The vertex shader of `PASSTHROUGH`.
const PASSTHROUGH: &str = "#version 430
layout(location = 0) in vec4 position;
void main() { gl_Position = position; }
";

/// Parses a script.
///
/// # Errors
/// [`Error::Invalid`] for invalid scripts, [`Error::Refused`] for unsupported features, both with
/// the line.
pub fn parse(text: &str) -> Result<Script> {
    parse_in(text, None)
}

/// Parses a script that may refer to files in `folder`.
///
/// # Errors
/// As [`parse()`], and when a file cannot be read.
pub fn parse_in(text: &str, folder: Option<&Path>) -> Result<Script> {
    if text.len() > MAX_TEXT {
        return Err(Error::Invalid { line: 1, what: format!("more than {MAX_TEXT} bytes") });
    }
    let (words, script, names) = (Words::new(text), Script::default(), HashMap::new());
    let mut p = Parser { words, script, names, folder };
    // The first line, `#!amber`, is parsed as a comment.
    while let Some(word) = p.words.next() {
        p.top(word)?;
    }
    p.sizes()?;
    Ok(p.script)
}

/// The kind of object that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ObjectKind {
    Shader,
    Buffer,
    Sampler,
    Pipeline,
}

struct Parser<'a> {
    words: Words<'a>,
    script: Script,
    names: HashMap<(ObjectKind, &'a str), usize>,
    folder: Option<&'a Path>,
}

impl<'a> Parser<'a> {
    fn top(&mut self, word: &str) -> Result<()> {
        match word {
            // Missing features are reported when shaders are compiled.
            "DEVICE_FEATURE" | "DEVICE_EXTENSION" | "INSTANCE_EXTENSION" => {
                self.words.required("a name")?;
            }
            "DEVICE_PROPERTY" | "SET" => {
                while self.words.peek().is_some() {
                    self.words.next();
                }
            }
            _ if word.starts_with('[') => {
                return Err(self.words.refused("the sections of VkRunner's scripts"));
            }
            "SHADER" => self.shader()?,
            "BUFFER" => self.buffer()?,
            "IMAGE" => self.image()?,
            "SAMPLER" => self.sampler()?,
            "PIPELINE" => self.pipeline()?,
            "DERIVE_PIPELINE" => self.derive()?,
            _ => {
                let line = self.words.line();
                let command = self.command(word)?;
                self.script.commands.push((line, command));
            }
        }
        Ok(())
    }

    fn declare(&mut self, kind: ObjectKind, name: &'a str, number: usize) -> Result<()> {
        match self.names.insert((kind, name), number) {
            None => Ok(()),
            Some(_) => Err(self.words.invalid(format!("`{name}` is defined twice"))),
        }
    }

    fn name(&mut self, kind: ObjectKind) -> Result<usize> {
        let name = self.words.required("a name")?;
        let number = self.names.get(&(kind, name)).copied();
        number.ok_or_else(|| self.words.invalid(format!("there is no {kind:?} `{name}`")))
    }

    fn stage(&mut self) -> Result<Stage> {
        Ok(match self.words.required("a stage")? {
            "compute" => Stage::Compute,
            "vertex" => Stage::Vertex,
            "fragment" => Stage::Fragment,
            "geometry" => Stage::Geometry,
            "tessellation_control" => Stage::TessellationControl,
            "tessellation_evaluation" => Stage::TessellationEvaluation,
            other => return Err(self.words.refused(format!("shaders of the stage {other}"))),
        })
    }

    fn shader(&mut self) -> Result<()> {
        let stage = self.stage()?;
        let name = self.words.required("a name")?;
        let language = self.words.required("a language")?;
        let mut target = None;
        if self.words.accept("TARGET_ENV") {
            target = Some(self.words.required("an environment")?.trim_matches('"').to_owned());
        }
        if let Some(other) = self.words.peek() {
            return Err(self.words.refused(format!("shaders with {other}")));
        }
        let (language, source) = match language {
            "PASSTHROUGH" => (Language::Glsl, PASSTHROUGH),
            "GLSL" => (Language::Glsl, self.words.lines_until_end()?),
            "SPIRV-ASM" => (Language::SpirvAsm, self.words.lines_until_end()?),
            "SPIRV-HEX" => (Language::SpirvHex, self.words.lines_until_end()?),
            other => return Err(self.words.refused(format!("shaders in {other}"))),
        };
        let number = self.script.shaders.len();
        self.script.shaders.push(Shader { stage, language, target, source: source.to_owned() });
        self.declare(ObjectKind::Shader, name, number)
    }

    /// Parses the name of a type or format, followed by its layout.
    fn element(&mut self) -> Result<(Option<Element>, Option<Format>)> {
        let name = self.words.required("a type")?;
        let std140 = self.words.accept("STD140");
        if !std140 {
            self.words.accept("STD430");
        }
        let format = name.parse().ok();
        match Element::parse(name, std140) {
            None if format.is_none() => Err(self.words.refused(format!("data of the type {name}"))),
            element => Ok((element, format)),
        }
    }

    fn count(&mut self, what: &'static str) -> Result<usize> {
        let n: usize = self.words.read(what)?;
        if n > MAX_BYTES {
            return Err(self.words.invalid(format!("{n} is too much for {what}")));
        }
        Ok(n)
    }

    /// Parses the contents of a buffer: `count` elements, or as many as are given.
    fn contents(&mut self, element: &Element, count: Option<usize>) -> Result<Vec<u8>> {
        let too_large = |n: usize| n.checked_mul(element.stride()).is_none_or(|b| b > MAX_BYTES);
        if count.is_some_and(too_large) {
            return Err(self.words.invalid(format!("more than {MAX_BYTES} bytes")));
        }
        let n = count.unwrap_or(0) * element.numbers();
        Ok(match self.words.peek() {
            Some("FILL") => {
                self.words.next();
                element.encode(&vec![self.words.number()?; n])
            }
            Some("SERIES_FROM") => {
                self.words.next();
                let from = self.words.number()?;
                self.words.expect("INC_BY")?;
                let by = self.words.number()?;
                let value = |k: usize| match (from, by) {
                    (Number::Int(from), Number::Int(by)) => Number::Int(from + by * k as i128),
                    _ => Number::Float(from.float() + by.float() * k as f64),
                };
                element.encode(&(0..n).map(value).collect::<Vec<_>>())
            }
            Some("DATA") => {
                self.words.next();
                let mut numbers = Vec::new();
                loop {
                    match self.words.required("a number or `END`")? {
                        "END" => break,
                        "FILE" => return Err(self.words.refused("data of a file")),
                        word => numbers.push(Number::parse(word).ok_or_else(|| {
                            self.words.invalid(format!("`{word}` is not a number"))
                        })?),
                    }
                }
                element.encode(&numbers)
            }
            Some("FILE") => {
                self.words.next();
                if !self.words.accept("TEXT") {
                    return Err(self.words.refused("data of a binary file"));
                }
                element.encode(&self.file()?)
            }
            Some(other) => return Err(self.words.refused(format!("data by {other}"))),
            None => vec![0; count.unwrap_or(0) * element.stride()],
        })
    }

    /// Reads the numbers in a file in the script's folder.
    fn file(&mut self) -> Result<Vec<Number>> {
        let name = self.words.required("a file's name")?;
        let Some(folder) = self.folder else {
            return Err(self.words.refused("files beside a script that is not a file"));
        };
        if Path::new(name).components().any(|c| !matches!(c, Component::Normal(_))) {
            return Err(self.words.invalid(format!("`{name}` is not beside the script")));
        }
        let path = folder.join(name);
        let fits = std::fs::metadata(&path).is_ok_and(|m| m.len() <= MAX_BYTES as u64);
        let text = if fits { std::fs::read_to_string(&path).ok() } else { None };
        let numbers = text.and_then(|t| {
            let lines = t.lines().map(|l| l.split('#').next().unwrap_or_default());
            lines.flat_map(str::split_whitespace).map(Number::parse).collect()
        });
        numbers.ok_or_else(|| self.words.invalid(format!("`{name}` cannot be read as numbers")))
    }

    fn buffer(&mut self) -> Result<()> {
        let name = self.words.required("a name")?;
        let word = self.words.required("`DATA_TYPE` or `FORMAT`")?;
        if word != "DATA_TYPE" && word != "FORMAT" {
            return Err(self.words.refused(format!("buffers by {word}")));
        }
        let (element, format) = self.element()?;
        let mut texels = format.map(|format| Texels { format, dimensions: 2, size_px: [0, 0, 1] });
        let mut count = None;
        if self.words.accept("SIZE") {
            count = Some(self.count("a number of elements")?);
        } else if self.words.accept("WIDTH") {
            let width = self.count("a width")?;
            self.words.expect("HEIGHT")?;
            let height = self.count("a height")?;
            count = Some(width.saturating_mul(height));
            if let Some(t) = &mut texels {
                t.size_px = [width as u32, height as u32, 1];
            }
        }
        if self.words.accept("MIP_LEVELS") && self.count("a number of levels")? > 1 {
            return Err(self.words.refused("images with several levels"));
        }
        let bytes = match (element, self.words.peek()) {
            (Some(e), Some(_)) => self.contents(&e, count)?,
            (Some(e), None) if count.is_some() => self.contents(&e, count)?,
            _ => Vec::new(),
        };
        let number = self.script.buffers.len();
        let texels = texels.filter(|_| word == "FORMAT");
        self.script.buffers.push(Buffer { name: name.to_owned(), element, texels, bytes });
        self.declare(ObjectKind::Buffer, name, number)
    }

    fn image(&mut self) -> Result<()> {
        let name = self.words.required("a name")?;
        let word = self.words.required("`DATA_TYPE` or `FORMAT`")?;
        let (element, mut format) = self.element()?;
        if word == "DATA_TYPE" {
            format = element.and_then(|e| e.texel());
        }
        let format = format.ok_or_else(|| self.words.refused("images of this type"))?;
        let mut t = Texels { format, dimensions: 2, size_px: [1; 3] };
        loop {
            match self.words.peek() {
                Some("DIM_1D") => t.dimensions = 1,
                Some("DIM_2D") => t.dimensions = 2,
                Some("DIM_3D") => t.dimensions = 3,
                Some(word @ ("WIDTH" | "HEIGHT" | "DEPTH")) => {
                    self.words.next();
                    let axis = ["WIDTH", "HEIGHT", "DEPTH"].iter().position(|&w| w == word);
                    t.size_px[axis.unwrap_or(0)] = self.count("a size")? as u32;
                    continue;
                }
                Some(word @ ("MIP_LEVELS" | "SAMPLES")) => {
                    self.words.next();
                    if self.count("a count")? > 1 {
                        return Err(self.words.refused(format!("images with several {word}")));
                    }
                    continue;
                }
                _ => break,
            }
            self.words.next();
        }
        let count = t.size_px.iter().fold(1usize, |n, &s| n.saturating_mul(s as usize));
        let bytes = match element {
            Some(e) => self.contents(&e, Some(count))?,
            None => Vec::new(),
        };
        let number = self.script.buffers.len();
        let texels = Some(t);
        self.script.buffers.push(Buffer { name: name.to_owned(), element, texels, bytes });
        self.declare(ObjectKind::Buffer, name, number)
    }

    fn sampler(&mut self) -> Result<()> {
        let name = self.words.required("a name")?;
        let mut s = SamplerData { wrap: [Wrap::Repeat; 3], max_lod: 1.0, ..SamplerData::default() };
        while let Some(word) = self.words.peek() {
            self.words.next();
            match word {
                "MAG_FILTER" => s.mag = self.filter()?,
                "MIN_FILTER" => s.min = self.filter()?,
                "MIP_FILTER" | "MIPMAP_MODE" => s.mip = self.filter()?,
                "ADDRESS_MODE_U" => s.wrap[0] = self.wrap()?,
                "ADDRESS_MODE_V" => s.wrap[1] = self.wrap()?,
                "ADDRESS_MODE_W" => s.wrap[2] = self.wrap()?,
                "MIN_LOD" => s.min_lod = self.words.read("a level")?,
                "MAX_LOD" => s.max_lod = self.words.read("a level")?,
                "UNNORMALIZED_COORDS" => s.unnormalized = true,
                "NORMALIZED_COORDS" => s.unnormalized = false,
                other => return Err(self.words.refused(format!("samplers with {other}"))),
            }
        }
        let number = self.script.samplers.len();
        self.script.samplers.push(s);
        self.declare(ObjectKind::Sampler, name, number)
    }

    fn filter(&mut self) -> Result<Filter> {
        match self.words.required("a filter")? {
            "nearest" => Ok(Filter::Nearest),
            "linear" => Ok(Filter::Linear),
            other => Err(self.words.invalid(format!("`{other}` is not a filter"))),
        }
    }

    fn wrap(&mut self) -> Result<Wrap> {
        match self.words.required("an address mode")? {
            "repeat" => Ok(Wrap::Repeat),
            "mirrored_repeat" => Ok(Wrap::Mirror),
            "clamp_to_edge" => Ok(Wrap::Clamp),
            "mirror_clamp_to_edge" => Ok(Wrap::MirrorOnce),
            other => Err(self.words.refused(format!("the address mode {other}"))),
        }
    }

    /// Sets the size of attachments to that of their framebuffers; buffers without contents are
    /// zeroed.
    fn sizes(&mut self) -> Result<()> {
        for p in self.script.pipelines.iter().filter(|p| p.graphics) {
            for &(_, buffer) in &p.colours {
                let b = &mut self.script.buffers[buffer];
                let Some(format) = b.texels.map(|t| t.format).or(b.element.and_then(|e| e.texel()))
                else {
                    let what = format!("`{}` has no format to draw in", b.name);
                    return Err(self.words.invalid(what));
                };
                let unknown = Texels { format, dimensions: 2, size_px: [0, 0, 1] };
                let t = b.texels.get_or_insert(unknown);
                if t.size_px[..2] == [0, 0] {
                    t.size_px = [p.size_px[0], p.size_px[1], 1];
                }
            }
        }
        for b in &mut self.script.buffers {
            let Some(t) = b.texels else { continue };
            let size = t.format.info().block.bytes as usize;
            let texels = t.size_px.iter().fold(size, |n, &s| n.saturating_mul(s as usize));
            if texels > MAX_BYTES {
                let what = format!("`{}` has more than {MAX_BYTES} bytes", b.name);
                return Err(self.words.invalid(what));
            }
            b.bytes.resize(texels.max(b.bytes.len()), 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
