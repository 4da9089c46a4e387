//! Storage images and storage texel buffers: typed reads, writes and atomics of the data port, for eight channels each.

use super::handle::Handle;
use super::memory::{Payload, atomic};
use super::{Comp, Select};
use crate::bind::View;
use crate::error::Result;
use crate::lower_images::components;
use crate::mir::{Message, MessageEffect};
use tepui_intel_isa::Sfid;
use tepui_intel_isa::descriptor::{self, BINDLESS, TYPED_WIDTH};
use tepui_intel_isa::message::DataOp1;
use tepui_ir::{self as ir, Attrs, Image, ImageFormat, NumKind, Op, Type};

impl Select<'_> {
    /// Selects accesses of storage images; whether the instruction is one.
    pub(super) fn image(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::ImageLoad, Attrs::Image(image)) => self.image_load(i, image)?,
            (Op::ImageStore, Attrs::Image(image)) => self.image_store(i, image)?,
            (Op::ImageAtomic, Attrs::ImageAtomic(how, image)) => {
                self.image_atomic(i, how, image)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn typed(
        &mut self,
        i: ir::Inst,
        view: View,
        image: Image,
    ) -> Result<(u8, Payload<'static>, Vec<Comp>)> {
        if image.ms {
            return self.refuse(i, "of multisampled images: the hardware does not have them");
        }
        let handle = self.image_surface(i, self.s.arg(i, 0), view)?;
        let (surface, handle) = match handle {
            Handle::Entry(k) => (k, Payload::None),
            Handle::Record(v) => (BINDLESS, Payload::Scalar(v)),
        };
        Ok((surface, handle, self.all_comps(&[self.s.arg(i, 1)])))
    }

    fn image_load(&mut self, i: ir::Inst, image: Image) -> Result<()> {
        let s = self.s;
        if image.residency {
            return self.refuse(i, "with residency: the data port does not tell");
        }
        let (res, _) = self.descriptor(i, s.arg(i, 0))?;
        // `lower_images` gives reads that it converts another format.
        let raw = image.format != s.resources[res].format && image.format != ImageFormat::Unknown;
        let view = if raw { View::Raw } else { View::Storage };
        let (surface, handle, at) = self.typed(i, view, image)?;
        let r = s.result(i);
        let count = self.dwords(r).min(usize::from(components(image.format))) as u8;
        let control = descriptor::typed(DataOp1::TypedSurfaceRead, surface, count);
        let planes = [at.len() as u8, 0, count];
        let message = Message {
            bindless: matches!(handle, Payload::Scalar(_)),
            ..Message::new(Sfid::DataCache1, control, TYPED_WIDTH, planes)
        };
        let mut all = self.respond(message, &[Payload::Planes(&at), Payload::None, handle]);
        all.resize(self.dwords(r), Comp::Undef);
        self.set(r, &all);
        Ok(())
    }

    fn image_store(&mut self, i: ir::Inst, image: Image) -> Result<()> {
        let s = self.s;
        let (surface, handle, at) = self.typed(i, View::Storage, image)?;
        let mut data = self.all_comps(&[s.arg(i, 2)]);
        data.truncate(usize::from(components(image.format)));
        let control = descriptor::typed(DataOp1::TypedSurfaceWrite, surface, data.len() as u8);
        let planes = [at.len() as u8, data.len() as u8, 0];
        let message = Message {
            effect: MessageEffect::Write,
            bindless: matches!(handle, Payload::Scalar(_)),
            ..Message::new(Sfid::DataCache1, control, TYPED_WIDTH, planes)
        };
        self.send(message, None, &[Payload::Planes(&at), Payload::Planes(&data), handle]);
        Ok(())
    }

    fn image_atomic(&mut self, i: ir::Inst, how: ir::AtomicOp, image: Image) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let (Type::B32, Some(operation)) = (self.ty(r), atomic(how)) else {
            return self
                .refuse(i, "of other than integers of 32 bits: the hardware has no such texels");
        };
        // Floats are exchanged as integers: texels of floats have no such operations.
        let view = if image.kind == NumKind::Float { View::Raw } else { View::Storage };
        let (surface, handle, at) = self.typed(i, view, image)?;
        let data = self.all_comps(&s.args(i)[3..]);
        let control = descriptor::typed_atomic(operation, surface, true);
        let planes = [at.len() as u8, data.len() as u8, 1];
        let message = Message {
            effect: MessageEffect::Write,
            bindless: matches!(handle, Payload::Scalar(_)),
            ..Message::new(Sfid::DataCache1, control, TYPED_WIDTH, planes)
        };
        let all = self.respond(message, &[Payload::Planes(&at), Payload::Planes(&data), handle]);
        self.set(r, &all);
        Ok(())
    }
}
