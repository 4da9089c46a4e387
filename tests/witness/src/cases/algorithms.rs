//! Complete algorithms that compute shaders are typically written for.

use half::f16;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, Result};
use crate::number::{Number, Random};

const MATRIX: usize = 64;

/// A tiled product of matrices of `T` against `product`, within `tolerance(k)` of each sum's
/// magnitude.
fn matmul<T: Number>(
    name: &str,
    make: fn(&mut Random) -> T,
    value: fn(T) -> f64,
    back: fn(f64) -> T,
    epsilon: f64,
) -> Case {
    let shader = Shader::new("matmul.comp").define("T", T::GLSL).define("SIZE", MATRIX);
    Case::new(
        format!("algorithms/matmul_{name}"),
        "tiled product of 64 x 64 matrices: local memory, barriers",
        vec![shader],
        move |bench| {
            let mut random = Random::new(21);
            let mut matrix = || (0..MATRIX * MATRIX).map(|_| make(&mut random)).collect::<Vec<T>>();
            let (a, b) = (matrix(), matrix());
            let gpu = bench.gpu;
            let (left, right) = (gpu.buffer(&a)?, gpu.buffer(&b)?);
            let result = gpu.output::<T>(MATRIX * MATRIX)?;
            let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&left, &right, &result]).build()?;
            gpu.run(&kernel, [MATRIX as u32 / 16, MATRIX as u32 / 16, 1])?;
            let (mut expected, mut tolerance) = (Vec::new(), Vec::new());
            for row in 0..MATRIX {
                for column in 0..MATRIX {
                    let terms = (0..MATRIX)
                        .map(|k| value(a[row * MATRIX + k]) * value(b[k * MATRIX + column]));
                    expected.push(back(terms.clone().sum()));
                    // One rounding a product and one a sum: MATRIX + 1 at most.
                    let magnitude: f64 = terms.map(f64::abs).sum();
                    tolerance.push(magnitude * epsilon * (MATRIX + 1) as f64);
                }
            }
            let rule = if epsilon == 0.0 {
                Rule::Bits
            } else {
                Rule::Each("(n + 1) eps sum |a b|".into(), tolerance)
            };
            Ok(vec![Output::cpu("product", &result.read::<T>(), &expected, rule)])
        },
    )
}

fn bitonic_local() -> Case {
    Case::new(
        "algorithms/bitonic_local",
        "sorts blocks of 1024 in local memory, 55 barriers",
        vec![Shader::new("bitonic_local.comp")],
        |bench| {
            let mut data = Random::integers(22, 4096);
            let buffer = bench.gpu.buffer(&data)?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&buffer]).build()?;
            bench.gpu.run(&kernel, [4, 1, 1])?;
            data.chunks_mut(1024).for_each(<[u32]>::sort);
            Ok(vec![Output::cpu("sorted", &buffer.read::<u32>(), &data, Rule::Bits)])
        },
    )
}

fn bitonic_global() -> Case {
    Case::new(
        "algorithms/bitonic_global",
        "sorts 4096 numbers in 78 dispatches with push constants and barriers",
        vec![Shader::new("bitonic_global.comp")],
        |bench| {
            let mut data = Random::integers(23, 4096);
            let buffer = bench.gpu.buffer(&data)?;
            let kernel =
                bench.gpu.kernel(&bench.spirv[0]).storage(&[&buffer]).push_bytes(8).build()?;
            bench.gpu.submit(|c| {
                let mut run = 2u32;
                while run <= 4096 {
                    let mut stride = run / 2;
                    while stride > 0 {
                        c.push(&kernel, &[run, stride]);
                        c.dispatch(&kernel, [2048 / 64, 1, 1]);
                        c.barrier();
                        stride /= 2;
                    }
                    run *= 2;
                }
            })?;
            data.sort();
            Ok(vec![Output::cpu("sorted", &buffer.read::<u32>(), &data, Rule::Bits)])
        },
    )
}

fn fft() -> Case {
    Case::new(
        "algorithms/fft",
        "four transforms of 1024 complex numbers in local memory",
        vec![Shader::new("fft.comp")],
        |bench| {
            const SIZE: usize = 1024;
            let samples = Random::floats(24, 4 * SIZE * 2, -1.0, 1.0);
            let input = bench.gpu.buffer(&samples)?;
            let result = bench.gpu.output::<f32>(samples.len())?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
            bench.gpu.run(&kernel, [4, 1, 1])?;
            let mut expected = Vec::new();
            for block in samples.chunks(2 * SIZE) {
                for k in 0..SIZE {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (n, sample) in block.chunks(2).enumerate() {
                        let turn = (k * n % SIZE) as f64 / SIZE as f64;
                        let (sin, cos) = (-std::f64::consts::TAU * turn).sin_cos();
                        let (x, y) = (sample[0] as f64, sample[1] as f64);
                        re += x * cos - y * sin;
                        im += x * sin + y * cos;
                    }
                    expected.extend([re as f32, im as f32]);
                }
            }
            // The specification allows 2^-11 for sin and cos in each of ten steps; values grow
            // to about sqrt(n) in each, so to 10 * 2^-11 * sqrt(1024) at the end.
            let rule = Rule::Abs(10.0 / 2048.0 * 32.0);
            Ok(vec![Output::cpu("spectrum", &result.read::<f32>(), &expected, rule)])
        },
    )
}

fn scan() -> Case {
    Case::new(
        "algorithms/scan",
        "prefix sums of blocks of 512 in local memory",
        vec![Shader::new("scan.comp")],
        |bench| {
            let values = Random::integers(25, 8 * 512);
            let gpu = bench.gpu;
            let input = gpu.buffer(&values)?;
            let (prefix, totals) = (gpu.output::<u32>(values.len())?, gpu.output::<u32>(8)?);
            let kernel =
                gpu.kernel(&bench.spirv[0]).storage(&[&input, &prefix, &totals]).build()?;
            gpu.run(&kernel, [8, 1, 1])?;
            let (mut prefixes, mut sums) = (Vec::new(), Vec::new());
            for block in values.chunks(512) {
                let mut sum = 0u32;
                for value in block {
                    prefixes.push(sum);
                    sum = sum.wrapping_add(*value);
                }
                sums.push(sum);
            }
            Ok(vec![
                Output::cpu("prefix", &prefix.read::<u32>(), &prefixes, Rule::Bits),
                Output::cpu("totals", &totals.read::<u32>(), &sums, Rule::Bits),
            ])
        },
    )
}

fn histogram() -> Case {
    Case::new(
        "algorithms/histogram",
        "counts bytes with local and global atomics",
        vec![Shader::new("histogram.comp")],
        |bench| {
            let words: Vec<u32> =
                Random::integers(26, 4096).iter().map(|w| w & 0x7f3f_1f0f).collect();
            let (input, bins) = (bench.gpu.buffer(&words)?, bench.gpu.buffer(&[0u32; 256])?);
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &bins]).build()?;
            bench.gpu.run(&kernel, [4096 / 256, 1, 1])?;
            let mut expected = [0u32; 256];
            for word in &words {
                word.to_le_bytes().iter().for_each(|&byte| expected[byte as usize] += 1);
            }
            Ok(vec![Output::cpu("bins", &bins.read::<u32>(), &expected, Rule::Bits)])
        },
    )
}

/// First 32 bits of the fractional part of the cube root of the first 64 primes.
fn sha256_constants() -> Vec<u32> {
    (2u64..)
        .filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
        .take(64)
        .map(|prime| {
            // floor(cbrt(prime) * 2^32), by bisection in integers: (r / 2^32)^3 <= prime.
            let (mut low, mut high) = (0u128, 8u128 << 32);
            while high - low > 1 {
                let middle = (low + high) / 2;
                let square = middle * middle;
                // middle^3 <= prime * 2^96 without overflow.
                if (square >> 32) * middle <= (prime as u128) << 64 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low as u32
        })
        .collect()
}

fn sha256_block(block: &[u32], k: &[u32]) -> [u32; 8] {
    let mut w = block.to_vec();
    for i in 16..64 {
        let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
        let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
        w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
    }
    let h: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut s = h;
    for i in 0..64 {
        let s1 = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
        let choose = s[4] & s[5] ^ !s[4] & s[6];
        let t1 = s[7].wrapping_add(s1).wrapping_add(choose).wrapping_add(k[i]).wrapping_add(w[i]);
        let s0 = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
        let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2];
        s.rotate_right(1);
        s[4] = s[4].wrapping_add(t1);
        s[0] = t1.wrapping_add(s0).wrapping_add(majority);
    }
    std::array::from_fn(|i| s[i].wrapping_add(h[i]))
}

fn sha256() -> Case {
    Case::new(
        "algorithms/sha256",
        "one block a thread: rotations, and arrays of 64 words in each thread",
        vec![Shader::new("sha256.comp")],
        |bench| {
            let constants = sha256_constants();
            let blocks = Random::integers(27, 256 * 16);
            let gpu = bench.gpu;
            let (input, k) = (gpu.buffer(&blocks)?, gpu.buffer(&constants)?);
            let digests = gpu.output::<u32>(256 * 8)?;
            let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&input, &k, &digests]).build()?;
            gpu.run(&kernel, [4, 1, 1])?;
            let expected: Vec<u32> =
                blocks.chunks(16).flat_map(|block| sha256_block(block, &constants)).collect();
            Ok(vec![Output::cpu("digests", &digests.read::<u32>(), &expected, Rule::Bits)])
        },
    )
}

fn quicksort() -> Case {
    Case::new(
        "algorithms/quicksort",
        "64 numbers a thread: private arrays with divergent indices, a stack",
        vec![Shader::new("quicksort.comp")],
        |bench| {
            let mut data: Vec<i32> =
                Random::integers(28, 128 * 64).iter().map(|&x| x as i32 >> (x & 31)).collect();
            let buffer = bench.gpu.buffer(&data)?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&buffer]).build()?;
            bench.gpu.run(&kernel, [4, 1, 1])?;
            data.chunks_mut(64).for_each(<[i32]>::sort);
            Ok(vec![Output::cpu("sorted", &buffer.read::<i32>(), &data, Rule::Bits)])
        },
    )
}

fn nbody() -> Case {
    Case::new(
        "algorithms/nbody",
        "256 bodies attract each other: inversesqrt, tiles in local memory",
        vec![Shader::new("nbody.comp")],
        |bench| {
            let bodies = Random::floats(29, 256 * 4, 0.0, 1.0);
            let input = bench.gpu.buffer(&bodies)?;
            let result = bench.gpu.output::<f32>(bodies.len())?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
            bench.gpu.run(&kernel, [2, 1, 1])?;
            let (mut expected, mut tolerance) = (Vec::new(), Vec::new());
            for me in bodies.chunks(4) {
                let (mut sum, mut size) = ([0.0; 4], [0.0; 4]);
                for other in bodies.chunks(4) {
                    let to: [f64; 3] = std::array::from_fn(|i| other[i] as f64 - me[i] as f64);
                    let inverse = (to.iter().map(|x| x * x).sum::<f64>() + 0.01).sqrt().recip();
                    for i in 0..4 {
                        let term = if i < 3 { to[i] * inverse * inverse } else { 1.0 };
                        let term = term * inverse * other[3] as f64;
                        sum[i] += term;
                        size[i] += term.abs();
                    }
                }
                expected.extend(sum.map(|x| x as f32));
                // Sixteen roundings a term with inversesqrt (2 ULP) cubed, and 256 sums.
                tolerance.extend(size.map(|x| x * (16.0 + 256.0) / (1 << 24) as f64 + 1e-6));
            }
            let rule = Rule::Each("(16 + n) eps sum |term|".into(), tolerance);
            Ok(vec![Output::cpu("accelerations", &result.read::<f32>(), &expected, rule)])
        },
    )
}

fn life() -> Case {
    Case::new(
        "algorithms/life",
        "ten generations of a 50 x 37 torus between two byte buffers",
        vec![Shader::new("life.comp")],
        |bench| {
            let (width, height) = (50usize, 37usize);
            let mut cells: Vec<u8> =
                Random::integers(30, width * height).iter().map(|x| (x >> 9 & 1) as u8).collect();
            let gpu = bench.gpu;
            let (a, b) = (gpu.buffer(&cells)?, gpu.output::<u8>(cells.len())?);
            let build = |from, to| -> Result<_> {
                gpu.kernel(&bench.spirv[0])
                    .bind(Bind::Storage(from))
                    .bind(Bind::Storage(to))
                    .push_bytes(8)
                    .build()
            };
            let (forth, back) = (build(&a, &b)?, build(&b, &a)?);
            gpu.submit(|c| {
                for generation in 0..10 {
                    let kernel = if generation % 2 == 0 { &forth } else { &back };
                    c.push(kernel, &[width as i32, height as i32]);
                    c.dispatch(kernel, [7, 5, 1]);
                    c.barrier();
                }
            })?;
            for _ in 0..10 {
                let alive = |x: usize, y: usize| {
                    let neighbours = (0..9).filter(|n| *n != 4).map(|n| {
                        let (dx, dy) = (n % 3 + width - 1, n / 3 + height - 1);
                        cells[(y + dy) % height * width + (x + dx) % width]
                    });
                    let count: u8 = neighbours.sum();
                    u8::from(count == 3 || count == 2 && cells[y * width + x] == 1)
                };
                cells = (0..width * height).map(|i| alive(i % width, i / width)).collect();
            }
            Ok(vec![Output::cpu("cells", &a.read::<u8>(), &cells, Rule::Bits)])
        },
    )
}

fn mandelbrot() -> Case {
    Case::new(
        "algorithms/mandelbrot",
        "iteration counts without contraction: equal on every driver",
        vec![Shader::new("mandelbrot.comp")],
        |bench| {
            const WIDTH: u32 = 128;
            const LIMIT: u32 = 200;
            let (corner, step) = ([-2.2f32, -1.3], [3.2f32 / 128.0, 2.6 / 96.0]);
            let result = bench.gpu.output::<u32>((WIDTH * 96) as usize)?;
            let kernel =
                bench.gpu.kernel(&bench.spirv[0]).storage(&[&result]).push_bytes(24).build()?;
            bench.gpu.submit(|c| {
                let floats = [corner, step].concat().into_iter().map(f32::to_bits);
                c.push(&kernel, &floats.chain([WIDTH, LIMIT]).collect::<Vec<u32>>());
                c.dispatch(&kernel, [WIDTH / 8, 96 / 8, 1]);
            })?;
            let count = |pixel: u32| {
                let c = [
                    corner[0] + (pixel % WIDTH) as f32 * step[0],
                    corner[1] + (pixel / WIDTH) as f32 * step[1],
                ];
                let (mut x, mut y, mut n) = (0f32, 0f32, 0);
                while n < LIMIT && x * x + y * y <= 4.0 {
                    (x, y) = (x * x - y * y + c[0], x * y + x * y + c[1]);
                    n += 1;
                }
                n
            };
            let expected: Vec<u32> = (0..WIDTH * 96).map(count).collect();
            Ok(vec![Output::cpu("counts", &result.read::<u32>(), &expected, Rule::Bits)])
        },
    )
}

fn path_tracer() -> Case {
    Case::new(
        "algorithms/path_tracer",
        "spheres under a sky, 8 paths a pixel, six bounces",
        vec![Shader::new("path_tracer.comp")],
        |bench| {
            const SIZE: [u32; 2] = [160, 120];
            let result = bench.gpu.output::<u32>((SIZE[0] * SIZE[1]) as usize)?;
            let kernel =
                bench.gpu.kernel(&bench.spirv[0]).storage(&[&result]).push_bytes(12).build()?;
            bench.gpu.submit(|c| {
                c.push(&kernel, &[SIZE[0], SIZE[1], 8u32]);
                c.dispatch(&kernel, [SIZE[0] / 8, SIZE[1] / 8, 1]);
            })?;
            // A path that hits an edge by a rounding on one driver misses it on the other, and
            // one of eight paths changes a pixel: few may differ much, the rest by a rounding.
            let rule = Rule::Mostly { abs: 2.0, permille: 20.0 };
            Ok(vec![Output::peer("picture", &result.read::<[u8; 4]>(), rule).picture(SIZE)])
        },
    )
}

pub(super) fn cases() -> Vec<Case> {
    let matmul_f32 =
        matmul::<f32>("f32", |r| r.float(-1.0, 1.0), |x| x as f64, |x| x as f32, 2f64.powi(-24));
    let matmul_f16 = matmul::<f16>(
        "f16",
        |r| f16::from_f32(r.float(-1.0, 1.0)),
        f16::to_f64,
        f16::from_f64,
        2f64.powi(-11),
    );
    let matmul_i32 =
        matmul::<i32>("i32", |r| r.next_u32() as i32 >> 20, |x| x as f64, |x| x as i32, 0.0);
    vec![
        matmul_i32,
        matmul_f32,
        matmul_f16,
        bitonic_local(),
        bitonic_global(),
        fft(),
        scan(),
        histogram(),
        sha256(),
        quicksort(),
        nbody(),
        life(),
        mandelbrot(),
        path_tracer(),
    ]
}
