//! Messages of the sampler: filtered texels, fetches, gathers, sizes.
//!
//! A message has parameters of one double word for each channel, in an order that its operation fixes. Texel offsets, the
//! component of a gather, residency, samplers from 16 on and those of set memory need a header.
//!
//! source: Mesa, `brw_lower_logical_sends.cpp` (`lower_sampler_logical_send`), `brw_lower_simd_width.cpp`

use super::alu::op;
use super::handle::Handle;
use super::memory::Payload;
use super::{Comp, Select, Source};
use crate::bind::View;
use crate::error::Result;
use crate::mir::{self, HEADER, Header, Inst, Message, MessageEffect, Operand};
use tepui_intel_isa::descriptor::{self, BINDLESS};
use tepui_intel_isa::message::SamplerOp as S;
use tepui_intel_isa::{Opcode, Sfid, Type as Ty};
use tepui_ir::{self as ir, Image, Op, ResKind, TexOperands, Value};
use tepui_regalloc::Val;

/// Maximum number of registers of a message, the header included.
const MAX_REGISTERS: usize = 11;

/// Bit of the header's second double word that asks for a mask of channels whose texels have memory.
const RESIDENCY: u32 = 1 << 23;
/// First of four bits that exclude components from the response.
const LEFT_OUT: u32 = 12;
/// First bit of the component of a gather.
const COMPONENT: u32 = 16;
/// First bits of the offsets in x, y and z, four bits each.
const OFFSETS: [u32; 3] = [8, 4, 0];

/// A message of the sampler.
struct Request {
    op: S,
    parameters: Vec<Comp>,
    texture: Handle,
    /// Of operations that filter.
    sampler: Option<Handle>,
    /// Bits of the header's second double word.
    bits: u32,
    /// Texel offsets as such bits.
    offsets: Option<Comp>,
    /// Components of the response.
    components: u8,
    residency: bool,
    /// Whether there is a header in any case.
    header: bool,
}

impl Request {
    fn new(op: S, texture: Handle, parameters: Vec<Comp>, components: u8) -> Request {
        Request {
            op,
            parameters,
            texture,
            sampler: None,
            bits: 0,
            offsets: None,
            components,
            residency: false,
            header: false,
        }
    }
}

impl Select<'_> {
    /// Selects messages of the sampler; whether the instruction is one.
    pub(super) fn texture(&mut self, i: ir::Inst) -> Result<bool> {
        match self.s.insts[i].op {
            Op::TexSample | Op::TexSampleLod | Op::TexGather => self.sample(i)?,
            Op::TexQueryLod => self.query_lod(i)?,
            Op::TexFetch => self.fetch(i)?,
            Op::ImageSize | Op::TexLevels => self.sizes(i)?,
            Op::ImageSamples => self.samples(i)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The components of an operand.
    fn operand(&self, v: Option<Value>) -> Vec<Comp> {
        v.map_or(Vec::new(), |v| self.all_comps(&[v]))
    }

    fn sample(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let Some((image, t)) = s.tex_args(i) else {
            return self.refuse(i, "has no image attributes");
        };
        let texture = self.image_surface(i, s.arg(i, 0), View::Sampled)?;
        let sampler = self.sampler(i, s.arg(i, 1))?;
        let at = self.all_comps(&[s.arg(i, 2)]);
        let compares = t.dref.is_some();
        let gathers = s.insts[i].op == Op::TexGather;
        let offset = self.operand(t.offset);
        // The header has offsets of four bits.
        let fits = |c: &Comp| matches!(*c, Comp::Const(k) if (-8..8).contains(&(k as i32)));
        let far = gathers && !offset.iter().all(fits);
        let lod = self.operand(t.lod);
        let first_level = lod.first() == Some(&Comp::Const(0));
        let op = match (compares, t.bias.is_some(), t.lod.is_some(), t.ddx.is_some()) {
            (false, ..) if gathers && far => S::Gather4Po,
            (true, ..) if gathers && far => S::Gather4PoC,
            (false, ..) if gathers => S::Gather4,
            (true, ..) if gathers => S::Gather4C,
            (false, .., true) => S::SampleD,
            (true, .., true) => S::SampleDC,
            (false, _, true, _) if first_level => S::SampleLz,
            (true, _, true, _) if first_level => S::SampleCLz,
            (false, _, true, _) => S::SampleL,
            (true, _, true, _) => S::SampleLC,
            (false, true, ..) => S::SampleB,
            (true, true, ..) => S::SampleBC,
            (false, ..) => S::Sample,
            (true, ..) => S::SampleC,
        };
        let mut parameters = self.operand(t.dref);
        let zero = Comp::Const(0);
        match op {
            S::SampleD | S::SampleDC => {
                let (dx, dy) = (self.operand(t.ddx), self.operand(t.ddy));
                for (k, &c) in at.iter().enumerate() {
                    parameters.push(c);
                    if k < dx.len() {
                        parameters.extend([dx[k], dy[k]]);
                    }
                }
                if t.min_lod.is_some() {
                    let missing = 4 - at.len() + 2 * (3 - dx.len());
                    parameters.extend(std::iter::repeat_n(zero, missing));
                }
            }
            S::Gather4Po | S::Gather4PoC => {
                parameters.extend(&at[..2]);
                parameters.extend(&offset);
                parameters.extend(&at[2..]);
            }
            _ => {
                if matches!(op, S::SampleL | S::SampleLC) {
                    parameters.extend(lod);
                }
                parameters.extend(self.operand(t.bias));
                parameters.extend(&at);
                if t.min_lod.is_some() {
                    parameters.extend(std::iter::repeat_n(zero, 4 - at.len()));
                }
            }
        }
        parameters.extend(self.operand(t.min_lod));
        let components = if compares && !gathers { 1 } else { 4 };
        let mut request = Request::new(op, texture, parameters, components);
        request.sampler = Some(sampler);
        request.residency = image.residency;
        if gathers {
            request.header = true;
            request.bits = if compares { 0 } else { u32::from(image.component) << COMPONENT };
        }
        if t.offset.is_some() && !far {
            request.offsets = Some(self.packed(i, &offset)?);
        }
        self.request(i, request)
    }

    /// Texel offsets as bits of a header; the same for all channels.
    fn packed(&mut self, i: ir::Inst, offset: &[Comp]) -> Result<Comp> {
        let mut bits = 0;
        let mut sum: Option<Val> = None;
        let immediate =
            |n: u32| Source { operand: Operand::immediate(Ty::UD, n.into()), val: None };
        for (&c, at) in offset.iter().zip(OFFSETS) {
            match c {
                Comp::Const(k) => bits |= (k & 15) << at,
                Comp::Undef => {}
                _ if !self.is_uniform(c) => {
                    return self.refuse(i, "with texel offsets of each channel is not compiled");
                }
                _ => {
                    let v = self.scalar(c);
                    let low = self.read(v, Ty::UD);
                    let low = self.def_scalar(op(Opcode::And), Ty::UD, &[low, immediate(15)]);
                    let low = self.read(low, Ty::UD);
                    let up = self.def_scalar(op(Opcode::Shl), Ty::UD, &[low, immediate(at)]);
                    sum = Some(match sum {
                        None => up,
                        Some(sum) => {
                            let [a, b] = [sum, up].map(|v| self.read(v, Ty::UD));
                            self.def_scalar(op(Opcode::Or), Ty::UD, &[a, b])
                        }
                    });
                }
            }
        }
        Ok(match sum {
            None => Comp::Const(bits),
            Some(v) => {
                let v = self.read(v, Ty::UD);
                Comp::Val(self.def_scalar(op(Opcode::Or), Ty::UD, &[v, immediate(bits)]))
            }
        })
    }

    fn query_lod(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let texture = self.image_surface(i, s.arg(i, 0), View::Sampled)?;
        let sampler = self.sampler(i, s.arg(i, 1))?;
        if s.args(i).len() > 3 {
            return self.refuse(i, "with a bias is not compiled");
        }
        let at = self.all_comps(&[s.arg(i, 2)]);
        let mut request = Request::new(S::Lod, texture, at, 2);
        request.sampler = Some(sampler);
        self.request(i, request)
    }

    fn fetch(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let Some((image, t)) = s.tex_args(i) else {
            return self.refuse(i, "has no image attributes");
        };
        if t.offset.is_some() {
            return self.refuse(i, "with texel offsets is not compiled");
        }
        let view = self.own_view(i)?;
        let texture = self.image_surface(i, s.arg(i, 0), view)?;
        let mut at = self.all_comps(&[s.arg(i, 1)]);
        if image.ms {
            return self.fetch_sample(i, texture, &at, (t.sample, image));
        }
        if at.len() == 1 {
            at.push(Comp::Const(0));
        }
        let lod = self.operand(t.lod).first().copied().unwrap_or(Comp::Const(0));
        let op = if lod == Comp::Const(0) { S::LdLz } else { S::Ld };
        if op == S::Ld {
            at.insert(2, lod);
        }
        let mut request = Request::new(op, texture, at, 4);
        request.residency = image.residency;
        self.request(i, request)
    }

    /// A sample of a multisampled image: the multisample control surface says where it is.
    fn fetch_sample(
        &mut self,
        i: ir::Inst,
        texture: Handle,
        at: &[Comp],
        (sample, image): (Option<Value>, Image),
    ) -> Result<()> {
        let mcs = self.ask(i, Request::new(S::LdMcs, texture, at.to_vec(), 2))?;
        let mut parameters = self.operand(sample);
        if parameters.is_empty() {
            parameters.push(Comp::Const(0));
        }
        parameters.extend(mcs);
        parameters.extend(at);
        let mut request = Request::new(S::Ld2DmsW, texture, parameters, 4);
        request.residency = image.residency;
        self.request(i, request)
    }

    /// The view of an image that the binding's descriptor has: of storage images, the residency and the size are asked for.
    fn own_view(&self, i: ir::Inst) -> Result<View> {
        let (res, _) = self.descriptor(i, self.s.arg(i, 0))?;
        Ok(match self.s.resources[res].kind {
            ResKind::StorageImage | ResKind::StorageTexelBuffer => View::Storage,
            _ => View::Sampled,
        })
    }

    fn sizes(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let view = self.own_view(i)?;
        let texture = self.image_surface(i, s.arg(i, 0), view)?;
        let lod = s.tex_args(i).and_then(|(_, t)| t.lod);
        let lod = self.operand(lod).first().copied().unwrap_or(Comp::Const(0));
        let r = s.result(i);
        // Width, height, depth or layers, levels.
        let levels = s.insts[i].op == Op::TexLevels;
        let components = if levels { 4 } else { self.dwords(r) as u8 };
        let all = self.ask(i, Request::new(S::ResInfo, texture, vec![lod], components))?;
        self.set(r, if levels { &all[3..] } else { &all });
        Ok(())
    }

    fn samples(&mut self, i: ir::Inst) -> Result<()> {
        let view = self.own_view(i)?;
        let texture = self.image_surface(i, self.s.arg(i, 0), view)?;
        let mut request = Request::new(S::SampleInfo, texture, Vec::new(), 1);
        request.header = true;
        self.request(i, request)
    }

    fn request(&mut self, i: ir::Inst, request: Request) -> Result<()> {
        let all = self.ask(i, request)?;
        self.set(self.s.result(i), &all);
        Ok(())
    }

    /// Sends a message; the components of its response, and a code of residency if that is asked for.
    fn ask(&mut self, i: ir::Inst, r: Request) -> Result<Vec<Comp>> {
        let (entry, table, handle) = match r.sampler {
            None => (0, 0, None),
            Some(Handle::Entry(k)) => (k & 15, k >> 4, None),
            Some(Handle::Record(v)) => (0, 0, Some(v)),
        };
        let header = r.header
            || r.bits != 0
            || r.residency
            || r.offsets.is_some()
            || table > 0
            || handle.is_some();
        let most = |width: u8| {
            r.parameters.len() * usize::from(width / 8) + usize::from(header) <= MAX_REGISTERS
        };
        // Gradients have no form for 16 channels.
        let narrow = matches!(r.op, S::SampleD | S::SampleDC);
        let width = match self.message_width() {
            16 if narrow || !most(16) => 8,
            width => width,
        };
        if !most(width) {
            return self.refuse(i, "with so many operands does not fit into a message");
        }
        let (surface, bindless) = match r.texture {
            Handle::Entry(k) => (k, None),
            Handle::Record(v) => (BINDLESS, Some(v)),
        };
        let components = r.components + u8::from(r.residency);
        let planes = [r.parameters.len() as u8, 0, components];
        let control = descriptor::sampler(r.op, surface, entry, width);
        let message = Message {
            effect: MessageEffect::Pure,
            bindless: bindless.is_some(),
            residency: r.residency,
            header: if header { Header::Value } else { Header::None },
            ..Message::new(Sfid::Sampler, control, width, planes)
        };
        let parameters = match r.parameters.is_empty() {
            true => Payload::None,
            false => Payload::Planes(&r.parameters),
        };
        let surface = bindless.map_or(Payload::None, Payload::Scalar);
        if !header {
            return Ok(self.respond(message, &[parameters, Payload::None, surface]));
        }
        let mut bits = r.bits | if r.residency { RESIDENCY } else { 0 };
        bits |= (0xf & 0xf << r.components) << LEFT_OUT;
        let header = self.header([bits, table.into()], r.offsets, handle);
        Ok(self.respond(message, &[Payload::Header(header), parameters, surface]))
    }

    fn header(
        &mut self,
        [bits, table]: [u32; 2],
        offsets: Option<Comp>,
        handle: Option<Val>,
    ) -> Val {
        const NONE: Source = Source { operand: Operand::NONE, val: None };
        let (bits, offsets) = match offsets {
            Some(Comp::Const(k)) => (bits | k, NONE),
            Some(c) => (bits, self.source(c, Ty::UD)),
            None => (bits, NONE),
        };
        let handle = handle.map_or(NONE, |v| self.read(v, Ty::UD));
        let header = self.f.val(HEADER);
        let how = mir::Op::SamplerHeader { bits, table: table as u8 };
        self.push(Inst::new(how, Operand::value(Ty::UD), &[]), Some(header), &[offsets, handle]);
        header
    }
}

/// Operands of an instruction that have to be the same for all channels: handles, and texel offsets in a header.
#[must_use]
pub(crate) fn uniform_operands(s: &ir::Shader, i: ir::Inst) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let sampled = matches!(s.insts[i].op, Op::TexSample | Op::TexSampleLod);
    if sampled
        && let Some((image, t)) = s.tex_args(i)
        && image.operands.contains(TexOperands::OFFSET)
    {
        all.extend(t.offset);
    }
    all
}
