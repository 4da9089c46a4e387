//! Atomic operations on buffers and on local memory.
//!
//! The old values that contended operations return depend on the order of the threads, so each
//! operation runs twice: on a cell of its own for each thread, where the old value is known, and
//! on a few cells for all threads, where the cell's end is.

use ash::vk;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, Shape};
use crate::number::{Number, Random, Scalar};

const THREADS: usize = 256;

/// An operation: name, GLSL over `c` and `x`, and its result for the old value and the operand.
struct Op<T> {
    name: &'static str,
    glsl: &'static str,
    apply: fn(T, T) -> T,
    /// Whether the end does not depend on the order.
    commutes: bool,
}

fn op<T>(name: &'static str, glsl: &'static str, apply: fn(T, T) -> T) -> Op<T> {
    Op { name, glsl, apply, commutes: true }
}

macro_rules! ops {
    ($t:ty) => {
        vec![
            op::<$t>("add", "atomicAdd(c, x)", <$t>::wrapping_add),
            op::<$t>("sub", "atomicAdd(c, -x)", <$t>::wrapping_sub),
            op::<$t>("and", "atomicAnd(c, x)", |c, x| c & x),
            op::<$t>("or", "atomicOr(c, x)", |c, x| c | x),
            op::<$t>("xor", "atomicXor(c, x)", |c, x| c ^ x),
            op::<$t>("min", "atomicMin(c, x)", Ord::min),
            op::<$t>("max", "atomicMax(c, x)", Ord::max),
            Op { name: "exchange", glsl: "atomicExchange(c, x)", apply: |_, x| x, commutes: false },
            Op {
                name: "compare_swap",
                // Swaps where the cell's last bit is that of the operand's second.
                glsl: "atomicCompSwap(c, (c & ~T(1)) | ((x >> 1) & T(1)), x)",
                apply: |c, x| if c & 1 == x >> 1 & 1 { x } else { c },
                commutes: false,
            },
        ]
    };
}

fn case<T: Scalar + Ord>(op: Op<T>, shared: bool, few: bool) -> Case {
    let cells = if few { 5 } else { THREADS };
    let place = if shared { "local" } else { "buffer" };
    let crowd = if few { "contended" } else { "alone" };
    let glsl = if op.name == "compare_swap" && few {
        // Under contention the cell may change between read and swap: compare with a constant.
        "atomicCompSwap(c, T(77), x)"
    } else {
        op.glsl
    };
    let mut shader = Shader::new("atomics.comp")
        .define("T", T::GLSL)
        .define("CELLS", cells)
        .define("OP(c,x)", glsl);
    if shared {
        shader = shader.define("SHARED", 1);
    }
    let name = format!("atomics/{place}_{crowd}_{}_{}", T::GLSL, op.name);
    Case::new(name, format!("{glsl}, {cells} cells"), vec![shader], move |bench| {
        let random = |seed, count| -> Vec<T> {
            let bits = Random::integers(seed, 2 * count);
            bits.chunks(2).map(|b| T::from_bits64(b[0] as u64 | (b[1] as u64) << 32)).collect()
        };
        // One workgroup where cells are local (others would have their own) or alone.
        let threads = if shared || !few { THREADS } else { 4 * THREADS };
        let (a, mut start) = (random(41, threads), random(42, cells));
        if few && op.name == "compare_swap" {
            start.fill(T::from_bits64(77));
        }
        let gpu = bench.gpu;
        let is_wide = T::SIZE_BYTES == 8;
        gpu.feature(!is_wide || gpu.offers.atomic64, "shaderBufferInt64Atomics")?;
        let (operands, memory) = (gpu.buffer(&a)?, gpu.buffer(&start)?);
        let old = gpu.output::<T>(threads)?;
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&operands, &memory, &old]).build()?;
        gpu.run(&kernel, [(threads / THREADS) as u32, 1, 1])?;
        let (end, mut old): (Vec<T>, Vec<T>) = (memory.read(), old.read());
        let mut outputs = Vec::new();
        if !few {
            let expected: Vec<T> = start.iter().zip(&a).map(|(&c, &x)| (op.apply)(c, x)).collect();
            outputs.push(Output::cpu("cells", &end, &expected, Rule::Bits).column("x", &a));
            outputs.push(Output::cpu("old", &old, &start, Rule::Bits).column("x", &a));
        } else if op.commutes {
            let mut expected = start;
            for (i, &x) in a.iter().enumerate() {
                expected[i % cells] = (op.apply)(expected[i % cells], x);
            }
            outputs.push(Output::cpu("cells", &end, &expected, Rule::Bits));
        } else if op.name == "exchange" {
            // Each operand and initial value is returned once: they are compared as a multiset.
            old.extend(&end);
            let mut expected = [a, start].concat();
            old.sort();
            expected.sort();
            outputs.push(Output::cpu("old and end, sorted", &old, &expected, Rule::Bits));
        } else {
            // One thread of each cell finds 77 and stores its own value; all others find that value.
            let ok: Vec<u32> = (0..cells)
                .map(|cell| {
                    let mine = || (cell..threads).step_by(cells);
                    let winners = mine().filter(|&i| old[i] == start[cell]).collect::<Vec<_>>();
                    let left = winners.len() == 1 && a[winners[0]] == end[cell];
                    u32::from(left && mine().all(|i| i == winners[0] || old[i] == end[cell]))
                })
                .collect();
            outputs.push(Output::cpu("one winner a cell", &ok, &vec![1; cells], Rule::Bits));
        }
        Ok(outputs)
    })
}

/// An operation on floats, each invocation on a cell of its own.
fn float(
    name: &str,
    glsl: &'static str,
    apply: fn(f32, f32) -> f32,
    old: fn(f32, f32) -> f32,
    shared: bool,
) -> Case {
    let mut shader = Shader::new("atomics.comp")
        .define("T", "float")
        .define("CELLS", THREADS)
        .define("OP(c,x)", glsl);
    if shared {
        shader = shader.define("SHARED", 1);
    }
    let place = if shared { "local" } else { "buffer" };
    let name = format!("atomics/{place}_alone_float_{name}");
    Case::new(name, glsl, vec![shader], move |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::ext::shader_atomic_float::NAME)?;
        gpu.require(ash::ext::shader_atomic_float2::NAME)?;
        let mut random = Random::new(45);
        let mut numbers = || (0..THREADS).map(|_| random.float(-8.0, 8.0)).collect::<Vec<f32>>();
        let (a, start) = (numbers(), numbers());
        let (operands, memory) = (gpu.buffer(&a)?, gpu.buffer(&start)?);
        let result = gpu.output::<f32>(THREADS)?;
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&operands, &memory, &result]).build()?;
        gpu.run(&kernel, [1, 1, 1])?;
        let each = |f: fn(f32, f32) -> f32| -> Vec<f32> {
            start.iter().zip(&a).map(|(&c, &x)| f(c, x)).collect()
        };
        Ok(vec![
            Output::cpu("cells", &memory.read::<f32>(), &each(apply), Rule::Bits).column("x", &a),
            Output::cpu("old", &result.read::<f32>(), &each(old), Rule::Bits).column("x", &a),
        ])
    })
    .without_honeykrisp()
}

/// Minima and maxima of floats that all invocations meet on.
fn float_extremes(shared: bool) -> Case {
    let mut shader = Shader::new("atomics.comp")
        .define("T", "float")
        .define("CELLS", 6)
        .define("OP(c,x)", "(cell & 1) == 0 ? atomicMin(c, x) : atomicMax(c, x)");
    if shared {
        shader = shader.define("SHARED", 1);
    }
    let place = if shared { "local" } else { "buffer" };
    let name = format!("atomics/{place}_contended_float_min_max");
    Case::new(name, "minima and maxima of floats", vec![shader], move |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::ext::shader_atomic_float2::NAME)?;
        let threads = if shared { THREADS } else { 4 * THREADS };
        let mut random = Random::new(46);
        let a: Vec<f32> = (0..threads).map(|_| random.float(-8.0, 8.0)).collect();
        let start = [0f32; 6];
        let (operands, memory) = (gpu.buffer(&a)?, gpu.buffer(&start)?);
        let old = gpu.output::<f32>(threads)?;
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&operands, &memory, &old]).build()?;
        gpu.run(&kernel, [(threads / THREADS) as u32, 1, 1])?;
        let mut expected = start;
        for (i, &x) in a.iter().enumerate() {
            // Workgroups number their own invocations; cells are those of all.
            let cell = &mut expected[i % 6];
            *cell = if i % 6 % 2 == 0 { cell.min(x) } else { cell.max(x) };
        }
        Ok(vec![Output::cpu("cells", &memory.read::<f32>(), &expected, Rule::Bits)])
    })
    .without_honeykrisp()
}

/// Floats that are exchanged, loaded and stored whole, and their minima and maxima.
fn floats() -> Vec<Case> {
    let mut cases = Vec::new();
    for shared in [false, true] {
        let load = match shared {
            true => "atomicLoad(c, gl_ScopeDevice, gl_StorageSemanticsShared, gl_SemanticsRelaxed)",
            false => {
                "atomicLoad(c, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelaxed)"
            }
        };
        cases.push(float("exchange", "atomicExchange(c, x)", |_, x| x, |c, _| c, shared));
        cases.push(float("load", load, |c, _| c, |c, _| c, shared));
        cases.push(float("min", "atomicMin(c, x)", f32::min, |c, _| c, shared));
        cases.push(float("max", "atomicMax(c, x)", f32::max, |c, _| c, shared));
        cases.push(float_extremes(shared));
    }
    cases
}

/// Floats that are exchanged in texels.
fn float_exchange() -> Case {
    const SIDE: u32 = 32;
    let shader = Shader::new("image_atomic.comp")
        .define("T", "float")
        .define("IMAGE", "image2D")
        .define("QUALIFIER", "r32f")
        .define("OP(c,x)", "imageAtomicExchange(image, c, x)")
        .define("AT", format!("ivec2(t % {SIDE}, t / {SIDE})"));
    let about = "floats are exchanged in texels";
    Case::new("image/atomic_exchange_float", about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::ext::shader_atomic_float::NAME)?;
        let texels = (SIDE * SIDE) as usize;
        let mut random = Random::new(115);
        let mut numbers = || (0..texels).map(|_| random.float(-8.0, 8.0)).collect::<Vec<f32>>();
        let (start, a) = (numbers(), numbers());
        let spec = ImageSpec::storage(vk::Format::R32_SFLOAT, Shape::D2, [SIDE, SIDE, 1]);
        let image = gpu.image_of(spec, &[f32::to_bytes(&start)])?;
        let (operands, old) = (gpu.buffer(&a)?, gpu.output::<f32>(texels)?);
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::StorageImage(image.view))
            .storage(&[&operands, &old])
            .push_bytes(4)
            .build()?;
        gpu.submit(|c| {
            c.push(&kernel, &[texels as u32]);
            c.dispatch(&kernel, [texels as u32 / 64, 1, 1]);
        })?;
        let end = f32::from_slice(&gpu.read_image(&image, 0, 4 * texels)?);
        Ok(vec![
            Output::cpu("texels", &end, &a, Rule::Bits),
            Output::cpu("old", &old.read::<f32>(), &start, Rule::Bits),
        ])
    })
    .without_honeykrisp()
}

fn cas_loop() -> Case {
    Case::new(
        "atomics/cas_loop",
        "float sums by compare-and-swap loops that contend within SIMD-groups",
        vec![Shader::new("cas_loop.comp")],
        |bench| {
            let a: Vec<f32> =
                Random::integers(43, 512).iter().map(|x| (x >> 20) as f32 * 0.25).collect();
            let (input, sums) = (bench.gpu.buffer(&a)?, bench.gpu.buffer(&[0f32; 4])?);
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &sums]).build()?;
            bench.gpu.run(&kernel, [8, 1, 1])?;
            let mut expected = [0f32; 4];
            // Multiples of 1/4 below 2^24: exact in any order.
            a.iter().enumerate().for_each(|(i, x)| expected[i & 3] += x);
            Ok(vec![Output::cpu("sums", &sums.read::<f32>(), &expected, Rule::Bits)])
        },
    )
}

fn append() -> Case {
    Case::new(
        "atomics/append",
        "a list behind an atomic counter, from divergent threads",
        vec![Shader::new("append.comp")],
        |bench| {
            let a = Random::integers(44, 2048);
            let input = bench.gpu.buffer(&a)?;
            let list = bench.gpu.buffer(&[0u32; 2049])?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &list]).build()?;
            bench.gpu.run(&kernel, [32, 1, 1])?;
            let mut list: Vec<u32> = list.read();
            let mut odd: Vec<u32> = a.into_iter().filter(|x| x & 1 == 1).collect();
            let length = odd.len();
            odd.sort();
            odd.insert(0, length as u32);
            list[1..=length].sort();
            odd.resize(2049, 0);
            Ok(vec![Output::cpu("list, sorted", &list, &odd, Rule::Bits)])
        },
    )
}

/// All operations on a type, in the kinds of memory that have them.
fn of<T: Scalar + Ord + Number>(shared: &[bool], ops: fn() -> Vec<Op<T>>) -> Vec<Case> {
    let mut cases = Vec::new();
    for &shared in shared {
        for few in [false, true] {
            cases.extend(ops().into_iter().map(|op| case(op, shared, few)));
        }
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let both = &[false, true];
    let mut cases = of::<u32>(both, || ops!(u32));
    cases.extend(of::<i32>(both, || ops!(i32)));
    cases.extend(of::<u64>(&[false], || ops!(u64)));
    cases.extend(of::<i64>(&[false], || ops!(i64)));
    cases.extend(floats());
    cases.extend([float_exchange(), cas_loop(), append()]);
    cases
}
