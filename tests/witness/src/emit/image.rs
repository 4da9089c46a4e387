//! A storage image of words and a sampled image of integers.

use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{Capability, Dim, ImageFormat, ImageOperands, StorageClass, Word};
use tepui_ir::{Attrs, Inst, Op, ResKind, Shader, Value};

use super::{Emit, EmitResult, Unknown, at_binding};

/// Types and variables of a shader's images by their bindings.
pub(super) struct Images(Vec<(u32, Word, Word)>);

impl Images {
    pub(super) fn new(s: &Shader, b: &mut Builder) -> Images {
        let word = b.type_int(32, 0);
        let mut all = Vec::new();
        for r in s.resources.values() {
            let (sampled, format) = match r.kind {
                ResKind::StorageImage => (2, ImageFormat::R32ui),
                ResKind::Texture => (1, ImageFormat::Unknown),
                _ => continue,
            };
            let ty = b.type_image(word, Dim::Dim2D, 0, 0, 0, sampled, format, None);
            let pointer = b.type_pointer(None, StorageClass::UniformConstant, ty);
            let variable = b.variable(pointer, None, StorageClass::UniformConstant, None);
            at_binding(b, variable, r.binding);
            all.push((r.binding, ty, variable));
        }
        if !all.is_empty() {
            b.capability(Capability::ImageQuery);
        }
        Images(all)
    }
}

impl Emit<'_> {
    /// The type and variable of a handle.
    fn behind(&self, handle: Value) -> Result<(Word, Word), Unknown> {
        let s = self.s;
        let made = s.insts.iter().find(|(i, _)| s.results(*i).first() == Some(&handle));
        let Some((_, Attrs::Res(res, _))) = made.map(|(i, d)| (i, d.attrs)) else {
            return Err(format!("{handle} is no descriptor"));
        };
        let binding = s.resources[res].binding;
        let image = self.images.0.iter().find(|i| i.0 == binding);
        image.map(|i| (i.1, i.2)).ok_or_else(|| format!("no image at binding {binding}"))
    }

    pub(super) fn image(&mut self, i: Inst) -> Result<EmitResult, Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        if !matches!(d.attrs, Attrs::Image(_) | Attrs::ImageAtomic(..)) {
            return Ok(EmitResult::Other);
        }
        let args = s.args(i);
        let (ty, variable) = self.behind(args[0])?;
        let word = self.b.type_int(32, 0);
        if let Attrs::ImageAtomic(op, _) = d.attrs {
            let pointer = self.b.type_pointer(None, StorageClass::Image, word);
            let (at, zero) = (self.value(args[1])?, self.word(0));
            let texel = self.did(|b| b.image_texel_pointer(pointer, None, variable, at, zero))?;
            return self.atomic(op, texel, &args[3..]).map(EmitResult::Value);
        }
        let image = self.did(|b| b.load(ty, None, variable, None, []))?;
        if d.op == Op::ImageStore {
            let (at, x) = (self.value(args[1])?, self.value(args[2])?);
            self.did(|b| b.image_write(image, at, x, None, []))?;
            return Ok(EmitResult::Effect);
        }
        let out = self.ty(s.ty(s.result(i)));
        Ok(EmitResult::Value(match d.op {
            Op::ImageLoad => {
                let at = self.value(args[1])?;
                self.did(|b| b.image_read(out, None, image, at, None, []))?
            }
            Op::TexFetch => {
                let (at, lod) = (self.value(args[1])?, self.value(args[2])?);
                let lod = [Operand::IdRef(lod)];
                self.did(|b| b.image_fetch(out, None, image, at, Some(ImageOperands::LOD), lod))?
            }
            Op::ImageSize => self.did(|b| b.image_query_size(out, None, image))?,
            _ => return Ok(EmitResult::Other),
        }))
    }
}
