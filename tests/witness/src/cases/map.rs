//! Cases that apply one GLSL expression to arrays and compare with a Rust closure.
//!
//! A case is one row: name, expression, closure. Each becomes a separate kernel, so that a failure names the
//! operation and the smallest shader that shows it.

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::Result;
use crate::number::{Number, Random, Scalar};

/// Elements in the arrays of binary and ternary rows.
const COUNT: usize = 2048;

/// Marks float properties that the expression does not preserve by default.
pub(super) fn shader<R: Number>(arity: usize, types: &[&str], expr: &str) -> Shader {
    let mut shader = Shader::new("map.comp").define("ARITY", arity).define("TR", R::GLSL);
    for (name, glsl) in ["TA", "TB", "TC"].iter().zip(types) {
        shader = shader.define(name, glsl);
    }
    shader.define("EXPR", expr)
}

/// Runs a map kernel over raw inputs and returns the result array of `count` elements.
pub(super) fn run<R: Number>(bench: &Bench, inputs: &[Vec<u8>], count: usize) -> Result<Vec<R>> {
    let gpu = bench.gpu;
    let result = gpu.output::<R>(count)?;
    let mut buffers = Vec::new();
    for input in inputs {
        buffers.push(gpu.buffer::<u8>(input)?);
    }
    let mut kernel = gpu.kernel(&bench.spirv[0]);
    for buffer in &buffers {
        kernel = kernel.storage(&[buffer]);
    }
    let kernel = kernel.storage(&[&result]).build()?;
    gpu.run(&kernel, [count.div_ceil(64) as u32, 1, 1])?;
    Ok(result.read())
}

/// Inputs of a unary row: every value of narrow types, else edges and random values.
pub(super) fn unary_inputs<A: Scalar>() -> Vec<A> {
    if A::SIZE_BYTES <= 2 {
        return (0..1u64 << (8 * A::SIZE_BYTES)).map(A::from_bits64).collect();
    }
    let mut random = Random::new(1);
    let mut values = A::edges();
    while values.len() < COUNT {
        values.push(A::from_bits64(spread(&mut random)));
    }
    values
}

/// Inputs of a binary row: every pair of edges, then random pairs.
pub(super) fn binary_inputs<A: Scalar, B: Scalar>() -> (Vec<A>, Vec<B>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for a in A::edges() {
        for b in B::edges() {
            left.push(a);
            right.push(b);
        }
    }
    let mut random = Random::new(2);
    while left.len() < COUNT {
        left.push(A::from_bits64(spread(&mut random)));
        right.push(B::from_bits64(spread(&mut random)));
    }
    (left, right)
}

/// Inputs of a ternary row: random picks from edges and random values.
pub(super) fn ternary_inputs<A: Scalar, B: Scalar, C: Scalar>() -> (Vec<A>, Vec<B>, Vec<C>) {
    fn pick<T: Scalar>(random: &mut Random, edges: &[T]) -> T {
        let choice = random.next_u32() as usize;
        if choice & 1 == 0 {
            edges[(choice >> 1) % edges.len()]
        } else {
            T::from_bits64(spread(random))
        }
    }
    let (ea, eb, ec) = (A::edges(), B::edges(), C::edges());
    let mut random = Random::new(3);
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..COUNT {
        a.push(pick(&mut random, &ea));
        b.push(pick(&mut random, &eb));
        c.push(pick(&mut random, &ec));
    }
    (a, b, c)
}

/// Random bits, half of them with a random length, so that small numbers occur.
fn spread(random: &mut Random) -> u64 {
    let bits = random.next_u64();
    let shift = random.next_u32();
    if shift & 1 == 0 { bits } else { bits >> (32 + shift % 32) }
}

/// Splits answers into a buffer and a mask of the defined ones.
fn split<R: Number>(answers: Vec<Option<R>>, any: R) -> (Vec<R>, Vec<bool>) {
    let defined = answers.iter().map(Option::is_some).collect();
    (answers.into_iter().map(|a| a.unwrap_or(any)).collect(), defined)
}

/// Repeats a mask for each component of a vector result.
fn per_component<R: Number>(mask: Vec<bool>) -> Vec<bool> {
    let components = R::SIZE_BYTES / R::ELEM.size_bytes();
    mask.into_iter().flat_map(|m| std::iter::repeat_n(m, components)).collect()
}

fn judge<R: Number>(got: &[R], answers: Vec<Option<R>>) -> Output {
    let (expected, defined) = split(answers, R::get(&vec![0; R::SIZE_BYTES]));
    Output::cpu("r", got, &expected, Rule::Bits).defined(per_component::<R>(defined))
}

/// An exact row over one input; `None` where the specification leaves the result undefined.
pub(super) fn unary<A: Scalar, R: Number>(
    name: String,
    expr: &str,
    cpu: impl Fn(A) -> Option<R> + Send + Sync + 'static,
) -> Case {
    let about = format!("{} = {expr} over {}", R::GLSL, A::GLSL);
    let shaders = vec![shader::<R>(1, &[A::GLSL], expr)];
    Case::new(name, about, shaders, move |bench| {
        let a = unary_inputs::<A>();
        let got = run::<R>(bench, &[A::to_bytes(&a)], a.len())?;
        let answers = a.iter().map(|&a| cpu(a)).collect();
        Ok(vec![judge(&got, answers).column("a", &a)])
    })
}

/// An exact row over two inputs.
pub(super) fn binary<A: Scalar, B: Scalar, R: Number>(
    name: String,
    expr: &str,
    cpu: impl Fn(A, B) -> Option<R> + Send + Sync + 'static,
) -> Case {
    let about = format!("{} = {expr} over {}, {}", R::GLSL, A::GLSL, B::GLSL);
    let shaders = vec![shader::<R>(2, &[A::GLSL, B::GLSL], expr)];
    Case::new(name, about, shaders, move |bench| {
        let (a, b) = binary_inputs::<A, B>();
        let got = run::<R>(bench, &[A::to_bytes(&a), B::to_bytes(&b)], a.len())?;
        let answers = a.iter().zip(&b).map(|(&a, &b)| cpu(a, b)).collect();
        Ok(vec![judge(&got, answers).column("a", &a).column("b", &b)])
    })
}

/// An exact row over three inputs.
pub(super) fn ternary<A: Scalar, B: Scalar, C: Scalar, R: Number>(
    name: String,
    expr: &str,
    cpu: impl Fn(A, B, C) -> Option<R> + Send + Sync + 'static,
) -> Case {
    let about = format!("{} = {expr} over {}, {}, {}", R::GLSL, A::GLSL, B::GLSL, C::GLSL);
    let shaders = vec![shader::<R>(3, &[A::GLSL, B::GLSL, C::GLSL], expr)];
    Case::new(name, about, shaders, move |bench| {
        let (a, b, c) = ternary_inputs::<A, B, C>();
        let inputs = [A::to_bytes(&a), B::to_bytes(&b), C::to_bytes(&c)];
        let got = run::<R>(bench, &inputs, a.len())?;
        let answers = (0..a.len()).map(|i| cpu(a[i], b[i], c[i])).collect();
        Ok(vec![judge(&got, answers).column("a", &a).column("b", &b).column("c", &c)])
    })
}

/// The case with infinities, NaNs and signed zeros preserved for a width.
pub(super) fn preserving(width_bits: u32, mut case: Case) -> Case {
    for shader in &mut case.shaders {
        shader.defines.push(("PRESERVE".to_owned(), width_bits.to_string()));
    }
    case
}
