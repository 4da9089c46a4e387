//! Image instructions taken apart, for lowering passes that change their operands.

use crate::rewrite::Emit;
use tepui_ir::{Attrs, Image, Inst, Op, Shader, TexOperands, Type, Value};

/// An image instruction: its operands, and its coordinates as scalars.
#[derive(Clone, Debug)]
pub struct ImageOp {
    /// Instruction.
    pub op: Op,
    /// Kind of image, and the optional operands that are present.
    pub image: Image,
    /// All operands; the coordinates among them are replaced by [`ImageOp::at`] when it is put together again.
    pub args: Vec<Value>,
    /// Coordinates, the layer last.
    pub at: Vec<Value>,
}

impl ImageOp {
    /// Takes an instruction with coordinates apart.
    pub fn new(e: &mut Emit, i: Inst, image: Image) -> ImageOp {
        let op = e.s.insts[i].op;
        let args = e.s.args(i).to_vec();
        let at = e.split(args[Self::coords_at(op)]);
        ImageOp { op, image, args, at }
    }

    /// Position of the coordinates among the operands: after the image, and after the sampler if there is one.
    fn coords_at(op: Op) -> usize {
        match op {
            Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexQueryLod => 2,
            _ => 1,
        }
    }

    /// Position of an optional operand among the operands.
    #[must_use]
    pub fn position(&self, flag: TexOperands) -> Option<usize> {
        self.image.operands.contains(flag).then(|| {
            let below = TexOperands::from_bits_truncate(flag.bits() - 1) & self.image.operands;
            let gradients = usize::from(below.contains(TexOperands::GRAD));
            Shader::tex_fixed_args(self.op) + below.iter().count() + gradients
        })
    }

    /// An optional operand; of gradients the first.
    #[must_use]
    pub fn get(&self, flag: TexOperands) -> Option<Value> {
        self.position(flag).map(|at| self.args[at])
    }

    /// Removes an optional operand that is one value, and returns it.
    pub fn take(&mut self, flag: TexOperands) -> Option<Value> {
        let at = self.position(flag)?;
        self.image.operands.remove(flag);
        Some(self.args.remove(at))
    }

    /// Removes both gradients, and returns them.
    pub fn take_gradients(&mut self) -> Option<[Value; 2]> {
        let at = self.position(TexOperands::GRAD)?;
        self.image.operands.remove(TexOperands::GRAD);
        let both = [self.args[at], self.args[at + 1]];
        self.args.drain(at..at + 2);
        Some(both)
    }

    /// Adds an optional operand that is one value.
    pub fn put(&mut self, flag: TexOperands, v: Value) {
        self.image.operands.insert(flag);
        if let Some(at) = self.position(flag) {
            self.args.insert(at, v);
        }
    }

    /// Position of the layer among the coordinates.
    #[must_use]
    pub fn layer(&self) -> Option<usize> {
        self.image.array.then(|| self.at.len() - 1)
    }

    /// Emits the instruction with the coordinates as they are now.
    pub fn finish(mut self, e: &mut Emit, tys: &[Type]) -> Vec<Value> {
        self.args[Self::coords_at(self.op)] = e.vec(&self.at);
        let i = e.inst(self.op, Attrs::Image(self.image), &self.args, tys);
        e.s.results(i).to_vec()
    }
}
