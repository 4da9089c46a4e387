//! Memory: layouts, addresses, descriptors, bounds, scratch and local memory.

use ash::vk;
use half::f16;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, Buffer, ImageSpec, Result, Shape};
use crate::number::{Number, Random, Scalar};

fn bits<T: Number>(name: &str, data: &[T], expected: &[T]) -> Output {
    Output::cpu(name, data, expected, Rule::Bits)
}

/// Alignment of vectors, arrays and structures in a buffer.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Scalar,
    Std430,
    Std140,
}

/// Lays out the numbers of `shaders/layouts.comp`'s structure, and records their offsets.
struct FieldOffsets {
    layout: Layout,
    at: usize,
    words: Vec<usize>,
}

impl FieldOffsets {
    fn align(&mut self, words: usize) {
        self.at = self.at.next_multiple_of(if self.layout == Layout::Scalar { 1 } else { words });
    }

    /// A vector of `n` components.
    fn vector(&mut self, n: usize) {
        self.align(if n == 3 { 4 } else { n });
        self.words.extend(self.at..self.at + n);
        self.at += n;
    }

    /// An array (or the columns of a matrix): `count` vectors of `n` components.
    fn array(&mut self, count: usize, n: usize) {
        let unit = if self.layout == Layout::Std140 || n == 3 { 4 } else { n };
        for _ in 0..count {
            self.align(unit);
            self.words.extend(self.at..self.at + n);
            self.at += n;
        }
        self.align(unit);
    }

    fn structure(&mut self) {
        self.vector(1);
        self.vector(3);
        self.array(3, 3);
        self.vector(2);
        for _ in 0..2 {
            self.align(4);
            self.vector(3);
            self.vector(1);
            self.array(3, 2);
            self.align(4);
        }
        self.array(4, 2);
        self.vector(1);
        self.align(4);
    }

    /// A row-major matrix of two columns and three rows: three vectors of two, read by columns.
    fn row_major(&mut self) {
        let start = self.words.len();
        self.array(3, 2);
        let rows = self.words.split_off(start);
        self.words.extend([rows[0], rows[2], rows[4], rows[1], rows[3], rows[5]]);
    }
}

fn layouts(name: &str, layout: Layout, kind: &'static str) -> Case {
    let shader = Shader::new("layouts.comp").define("LAYOUT", name).define("KIND", kind);
    let about = format!("structures, matrices and arrays in a {kind} of layout {name}");
    Case::new(format!("memory/layout_{name}"), about, vec![shader], move |bench| {
        let mut places = FieldOffsets { layout, at: 0, words: Vec::new() };
        (0..4).for_each(|_| places.structure());
        let in_structure = places.words.len() / 4;
        (0..4).for_each(|_| places.row_major());
        let data = Random::integers(61, places.at);
        let input = bench.gpu.buffer(&data)?;
        let result = bench.gpu.output::<u32>(4 * 64)?;
        let bind = if kind == "uniform" { Bind::Uniform(&input) } else { Bind::Storage(&input) };
        let kernel = bench.gpu.kernel(&bench.spirv[0]).bind(bind).storage(&[&result]).build()?;
        bench.gpu.run(&kernel, [1, 1, 1])?;
        let mut expected = vec![0xa5a5_a5a5u32; 4 * 64];
        let (structures, matrices) = places.words.split_at(4 * in_structure);
        for element in 0..4 {
            let words = structures[element * in_structure..][..in_structure].iter();
            for (i, &word) in words.chain(&matrices[element * 6..][..6]).enumerate() {
                expected[element * 64 + i] = data[word];
            }
        }
        Ok(vec![bits("numbers", &result.read(), &expected)])
    })
}

/// Loads and stores of vectors of `n` components of `T`.
fn vectors<T: Scalar>(glsl: &'static str, n: usize, swizzle: &'static str, f: fn(T) -> T) -> Case {
    let shader = Shader::new("vectors.comp").define("T", glsl).define("SWIZZLE", swizzle);
    let name = format!("memory/vector_{glsl}_{swizzle}");
    let about = format!("loads {glsl}, stores .{swizzle}, packed without padding");
    Case::new(name, about, vec![shader], move |bench| {
        let mut random = Random::new(62);
        // Small numbers, so that floats stay exact.
        let a: Vec<T> = (0..128 * n).map(|_| T::from_small(random.next_u32() % 12)).collect();
        let (input, result) = (bench.gpu.buffer(&a)?, bench.gpu.output::<T>(a.len())?);
        let untouched: Vec<T> = result.read();
        let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
        bench.gpu.run(&kernel, [4, 1, 1])?;
        let written = |i: usize| swizzle.contains(['x', 'y', 'z', 'w'][i % n]);
        let expected: Vec<T> =
            (0..a.len()).map(|i| if written(i) { f(a[i]) } else { untouched[i] }).collect();
        Ok(vec![bits("r", &result.read::<T>(), &expected).column("a", &a)])
    })
}

fn all_vectors() -> Vec<Case> {
    let mut cases = Vec::new();
    macro_rules! of {
        ($t:ty, $f:expr, [$($glsl:literal $n:literal $swizzle:literal),*]) => {
            $(cases.push(vectors::<$t>($glsl, $n, $swizzle, $f));)*
        };
    }
    of!(u8, |x| x.wrapping_mul(x).wrapping_add(x), [
        "u8vec2" 2 "xy", "u8vec3" 3 "xyz", "u8vec4" 4 "xyzw", "u8vec4" 4 "yw"
    ]);
    of!(u16, |x| x.wrapping_mul(x).wrapping_add(x), [
        "u16vec2" 2 "xy", "u16vec3" 3 "xyz", "u16vec4" 4 "xyzw", "u16vec4" 4 "xz"
    ]);
    of!(u32, |x| x.wrapping_mul(x).wrapping_add(x), [
        "uvec2" 2 "xy", "uvec3" 3 "xyz", "uvec3" 3 "y", "uvec4" 4 "xyzw", "uvec4" 4 "yzw"
    ]);
    of!(u64, |x| x.wrapping_mul(x).wrapping_add(x), [
        "u64vec2" 2 "xy", "u64vec3" 3 "xyz", "u64vec4" 4 "xyzw", "u64vec4" 4 "xw"
    ]);
    of!(f32, |x| x * x + x, ["vec3" 3 "xz", "vec4" 4 "xyzw"]);
    of!(f16, |x| x * x + x, ["f16vec2" 2 "xy", "f16vec3" 3 "xyz", "f16vec4" 4 "yz"]);
    cases
}

fn pointers() -> Case {
    Case::new(
        "memory/pointers",
        "linked lists and unaligned values behind buffer addresses",
        vec![Shader::new("pointers.comp")],
        |bench| {
            const THREADS: usize = 64;
            const NODES: usize = 1000;
            let gpu = bench.gpu;
            let mut random = Random::new(63);
            let pool = gpu.poisoned(NODES * 16)?;
            let bytes: Vec<u8> = (0..1024).map(|_| random.next_u32() as u8).collect();
            let data = gpu.buffer(&bytes)?;
            let result = gpu.output::<u32>(3 * THREADS)?;
            // Lists of random length that jump about the pool; the heads come first.
            let mut nodes: Vec<(u64, u32)> = (0..NODES).map(|_| (0, random.next_u32())).collect();
            for (i, node) in nodes.iter_mut().enumerate() {
                let next = i + 1 + random.next_u32() as usize % 60;
                if next < NODES && !random.next_u32().is_multiple_of(16) {
                    node.0 = pool.address + 16 * next as u64;
                }
            }
            let mut image = Vec::new();
            for &(next, value) in &nodes {
                next.put(&mut image);
                value.put(&mut image);
                0xcccc_ccccu32.put(&mut image);
            }
            pool.write_at(0, &image);
            let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&result]).push_bytes(16).build()?;
            gpu.submit(|c| {
                c.push(&kernel, &[pool.address, data.address]);
                c.dispatch(&kernel, [THREADS as u32 / 32, 1, 1]);
            })?;
            let word = |at: usize| {
                u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            };
            let mut expected = Vec::new();
            for i in 0..THREADS {
                let (mut sum, mut steps, mut node) = (0u32, 0, Some(i));
                while let Some(at) = node.filter(|_| steps < 100) {
                    sum = sum.wrapping_mul(31).wrapping_add(nodes[at].1);
                    let next = nodes[at].0;
                    node = (next != 0).then(|| (next - pool.address) as usize / 16);
                    steps += 1;
                }
                let q = 64 + 4 * i - 16;
                let quad = word(q)
                    ^ word(q + 4).wrapping_mul(3)
                    ^ word(q + 8).wrapping_mul(5)
                    ^ word(q + 12).wrapping_mul(7);
                expected.extend([sum.wrapping_add(steps), quad, bytes[i * 3 + 1] as u32]);
            }
            Ok(vec![bits("sums", &result.read(), &expected)])
        },
    )
}

fn descriptors() -> Case {
    Case::new(
        "memory/descriptor_arrays",
        "arrays of storage and uniform buffers, indexed uniformly and divergently",
        vec![Shader::new("descriptors.comp")],
        |bench| {
            const THREADS: usize = 256;
            let gpu = bench.gpu;
            let data: Vec<Vec<u32>> = (0..16).map(|i| Random::integers(64 + i, THREADS)).collect();
            let scales: Vec<Vec<u32>> = (0..8).map(|i| Random::integers(90 + i, 4)).collect();
            let make = |all: &[Vec<u32>]| -> Result<Vec<Buffer>> {
                all.iter().map(|words| gpu.buffer(words)).collect()
            };
            let (inputs, uniforms) = (make(&data)?, make(&scales)?);
            let results = make(&vec![vec![0; THREADS / 4]; 4])?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind_array(inputs.iter().map(Bind::Storage).collect())
                .bind_array(uniforms.iter().map(Bind::Uniform).collect())
                .bind_array(results.iter().map(Bind::Storage).collect())
                .push_bytes(4)
                .build()?;
            gpu.submit(|c| {
                c.push(&kernel, &[11u32]);
                c.dispatch(&kernel, [THREADS as u32 / 64, 1, 1]);
            })?;
            let mut expected = vec![0u32; THREADS];
            for i in 0..THREADS {
                let a = data[11][i];
                let b = data[a as usize & 15][i];
                let c = scales[b as usize & 7][i & 3];
                expected[(i & 3) * THREADS / 4 + (i >> 2)] = a.wrapping_add(b.wrapping_mul(c));
            }
            let got: Vec<u32> = results.iter().flat_map(|b| b.read::<u32>()).collect();
            Ok(vec![bits("outputs", &got, &expected)])
        },
    )
}

/// Descriptors of one type, more than a 16-bit byte offset reaches.
fn many_descriptors(name: &'static str, images: bool) -> Case {
    const COUNT: u32 = 4096;
    let mut shader = Shader::new("many.comp").define("COUNT", COUNT);
    if images {
        shader = shader.define("IMAGES", 1);
    }
    Case::new(format!("memory/{name}"), "4096 descriptors", vec![shader], move |bench| {
        let gpu = bench.gpu;
        let values = Random::integers(77, 8);
        let result = gpu.output::<u32>(COUNT as usize + 128)?;
        let number = |i: u32| (i * 7 / 3 % 8) as usize;
        let kernel = gpu.kernel(&bench.spirv[0]);
        let kernel = if images {
            let spec = ImageSpec::storage(vk::Format::R32_UINT, Shape::D2, [1, 1, 1]);
            let image = |value: &u32| gpu.image_of(spec, &[value.to_le_bytes().to_vec()]);
            let images: Vec<_> = values.iter().map(image).collect::<Result<_>>()?;
            let bind = |i| Bind::StorageImage(images[number(i)].view);
            kernel.bind_array((0..COUNT).map(bind).collect()).storage(&[&result]).build()?
        } else {
            let buffers: Vec<Buffer> =
                values.iter().map(|&v| gpu.buffer(&[v, 0, 0, 0])).collect::<Result<_>>()?;
            let bind = |i| Bind::Uniform(&buffers[number(i)]);
            kernel.bind_array((0..COUNT).map(bind).collect()).storage(&[&result]).build()?
        };
        gpu.submit(|c| c.dispatch(&kernel, [COUNT / 64, 1, 1]))?;
        let mut expected: Vec<u32> = (0..COUNT).map(|i| values[number(i)]).collect();
        let sum = expected.iter().fold(0u32, |sum, v| sum.wrapping_mul(3).wrapping_add(*v));
        expected.extend([sum; 64]);
        expected.extend([values[number(COUNT - 1)]; 64]);
        Ok(vec![bits("values", &result.read::<u32>(), &expected)])
    })
}

/// Offsets that fit the instructions' immediates, and some that do not.
fn constant_places() -> Case {
    let about = "stores and loads at constant places of a large buffer";
    let shaders = vec![Shader::new("constant_places.comp")];
    Case::new("memory/constant_places", about, shaders, |bench| {
        let gpu = bench.gpu;
        let mut data = Random::integers(83, 4 * 65536);
        let (buffer, result) = (gpu.buffer(&data)?, gpu.output::<u32>(16)?);
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&buffer, &result]).build()?;
        gpu.run(&kernel, [1, 1, 1])?;
        let read: Vec<u32> = [65534, 40000, 8193, 16385]
            .into_iter()
            .flat_map(|place: usize| data[4 * place..4 * place + 4].to_vec())
            .collect();
        data[4 * 65535..].copy_from_slice(&[1, 2, 3, 4]);
        data[4 * 32768..4 * 32769].copy_from_slice(&[5, 6, 7, 8]);
        data[4 * 8192 + 1] = 9;
        data[4 * 32767] = 10;
        let data = bits("data", &buffer.read::<u32>(), &data);
        Ok(vec![data, bits("read", &result.read::<u32>(), &read)])
    })
}

fn constant_tables() -> Case {
    let about = "constant arrays that are indexed at run time";
    let shaders = vec![Shader::new("constant_tables.comp")];
    Case::new("memory/constant_tables", about, shaders, |bench| {
        let gpu = bench.gpu;
        let mix = |i: u32| i.wrapping_mul(2_654_435_761);
        let index: Vec<u32> = Random::integers(84, 64).into_iter().map(|i: u32| i % 40).collect();
        let (input, result) = (gpu.buffer(&index)?, gpu.output::<u32>(64 * 8)?);
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
        gpu.run(&kernel, [1, 1, 1])?;
        let expected = index.iter().flat_map(|&i| {
            let v = i % 6;
            let flag = if mix(i % 36) & 0x10000 != 0 { 3 } else { 5 };
            let partly = if i % 2 != 0 { mix(i / 2) } else { i };
            [mix(i), mix(v), mix(v + 7), v, flag, mix(index[0] / 2), mix(39), partly]
        });
        Ok(vec![bits("read", &result.read::<u32>(), &expected.collect::<Vec<_>>())])
    })
}

fn dynamic_offsets() -> Case {
    Case::new(
        "memory/dynamic_offsets",
        "one descriptor set, offsets that change between dispatches",
        vec![Shader::new("dynamic.comp")],
        |bench| {
            let gpu = bench.gpu;
            let data = Random::integers(65, 64 * 8);
            let (input, result) = (gpu.buffer(&data)?, gpu.output::<u32>(64 * 8)?);
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::UniformDynamic(&input, 16))
                .bind(Bind::StorageDynamic(&result, 128))
                .build()?;
            gpu.submit(|c| {
                for i in 0..8u32 {
                    c.dispatch_at(&kernel, [1, 1, 1], &[256 * (7 - i), 256 * i]);
                }
            })?;
            let expected: Vec<u32> = (0..64 * 8)
                .map(|i| {
                    let (block, thread) = (i / 64, i % 64);
                    if thread < 32 {
                        data[64 * (7 - block) + thread % 4].wrapping_add(thread as u32)
                    } else {
                        0xa5a5_a5a5
                    }
                })
                .collect();
            Ok(vec![bits("r", &result.read(), &expected)])
        },
    )
}

fn robust() -> Case {
    /// Elements of the first buffer: accesses of four elements next to each other are partly inside.
    const A: usize = 18;
    let case = Case::new(
        "memory/robust_buffers",
        "reads, writes and atomics beyond the ends of storage and uniform buffers",
        vec![Shader::new("robust.comp")],
        |bench| {
            let gpu = bench.gpu;
            let (a, b, c) =
                (Random::integers(66, 40), Random::integers(67, 160), Random::integers(68, 256));
            // Each buffer is larger than the descriptor's range.
            let (ab, bb, cb) = (gpu.buffer(&a)?, gpu.buffer(&b)?, gpu.buffer(&c)?);
            let (db, eb) = (gpu.buffer(&[3u32; 256])?, gpu.buffer(&[7u32; 256])?);
            let fb = gpu.buffer(&[9u32; 256])?;
            let result = gpu.output::<u32>(64 * 12)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageRange(&ab, 0, 4 * A as u64))
                .bind(Bind::StorageRange(&bb, 0, 16 * 10))
                .bind(Bind::UniformRange(&cb, 0, 16 * 16))
                .bind(Bind::StorageRange(&db, 0, 4 * 12))
                .bind(Bind::StorageRange(&eb, 0, 4 * 16))
                .bind(Bind::StorageRange(&fb, 0, 4 * 18))
                .storage(&[&result])
                .build()?;
            gpu.run(&kernel, [1, 1, 1])?;
            let get = |words: &[u32], i: usize, length: usize| {
                if i < length { words[i] } else { 0 }
            };
            let mut expected = Vec::new();
            let mut d = vec![3u32; 256];
            let mut racy = vec![true; 256];
            for i in 0..64usize {
                let far = if i & 1 == 1 { i } else { 1 << (i & 31).min(28) };
                let quad = if i < 10 { b[4 * i].wrapping_add(b[4 * i + 3]) } else { 0 };
                expected.extend([
                    get(&a, i, A),
                    get(&a, far, A),
                    quad,
                    if i < 16 { c[4 * i + 1] } else { 0 },
                    A as u32,
                    10,
                    0,
                    (if (1..11).contains(&i) { b[4 * i - 1] } else { 0 }).wrapping_add(if i < 10 {
                        b[4 * i]
                    } else {
                        0
                    }),
                ]);
                if far + 8 < 12 {
                    // Two threads write some elements: either may win.
                    racy[far + 8] = d[far + 8] == 3;
                    d[far + 8] = i as u32 + 1000;
                }
            }
            let at = |i: usize| -> u32 { get(&a, i, A) };
            for i in 0..64usize {
                expected.extend([
                    at(i.wrapping_sub(1)) ^ at(i),
                    at(2 * i) ^ at(2 * i + 1),
                    (at(4 * i) ^ at(4 * i + 1)).wrapping_add(at(4 * i + 2) ^ at(4 * i + 3)),
                    i as u32,
                ]);
            }
            let mut e = vec![7u32; 256];
            e[..16].fill(8);
            let mut f = vec![9u32; 256];
            for (i, x) in f[..18].iter_mut().enumerate() {
                *x = (i / 4 + i % 4) as u32;
            }
            Ok(vec![
                bits("reads", &result.read(), &expected),
                bits("written", &db.read(), &d).defined(racy),
                bits("added", &eb.read(), &e),
                bits("next to each other", &fb.read(), &f),
            ])
        },
    );
    case.robust()
}

fn scratch(length: u32) -> Case {
    Case::new(
        format!("memory/scratch_{length}"),
        format!("an array of {length} words in each thread, indexed by data"),
        vec![Shader::new("scratch.comp").define("LENGTH", length)],
        move |bench| {
            const THREADS: usize = 256;
            let x = Random::integers(69, THREADS);
            let (input, result) = (bench.gpu.buffer(&x)?, bench.gpu.output::<u32>(THREADS)?);
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
            bench.gpu.run(&kernel, [THREADS as u32 / 64, 1, 1])?;
            let expected: Vec<u32> = (0..THREADS as u32)
                .map(|i| {
                    let mut a: Vec<u32> = (0..length).map(|k| k * 7 + i).collect();
                    let mut state = x[i as usize];
                    for k in 0..200 {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let (from, to) = ((state >> 8) % length, (state >> 20) % length);
                        if state >> 30 != 1 {
                            let add = a[from as usize] ^ k;
                            a[to as usize] = a[to as usize].wrapping_add(add);
                        }
                    }
                    a.iter().fold(0u32, |sum, &w| sum.wrapping_mul(33).wrapping_add(w))
                })
                .collect();
            Ok(vec![bits("r", &result.read(), &expected)])
        },
    )
}

fn spills() -> Case {
    Case::new(
        "memory/spills",
        "240 values alive at once across a divergent loop",
        vec![Shader::new("spills.comp")],
        |bench| {
            const COUNT: usize = 240;
            const THREADS: usize = 128;
            let x = Random::integers(70, 1024);
            let (input, result) = (bench.gpu.buffer(&x)?, bench.gpu.output::<u32>(THREADS)?);
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
            bench.gpu.run(&kernel, [THREADS as u32 / 64, 1, 1])?;
            let expected: Vec<u32> = (0..THREADS)
                .map(|i| {
                    let mut v: Vec<u32> = (0..COUNT)
                        .map(|k| x[(i * 7 + k * 13) & 1023].wrapping_add(k as u32))
                        .collect();
                    for _ in 0..(x[i] & 3) + 1 {
                        for k in 0..COUNT {
                            v[k] = v[k].wrapping_mul(5).wrapping_add(v[(k + 119) % COUNT]);
                        }
                    }
                    v.iter().rev().fold(0u32, |sum, w| sum.wrapping_mul(31) ^ w)
                })
                .collect();
            Ok(vec![bits("r", &result.read(), &expected)])
        },
    )
}

fn shared_memory() -> Case {
    Case::new(
        "memory/local",
        "32 KiB of zeroed local memory: words, vectors, halves and bytes",
        vec![Shader::new("shared_memory.comp")],
        |bench| {
            let x = Random::integers(71, 256);
            let (input, result) = (bench.gpu.buffer(&x)?, bench.gpu.output::<u32>(3 * 256)?);
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
            bench.gpu.run(&kernel, [3, 1, 1])?;
            let mut expected = Vec::new();
            for place in 0..3 {
                expected.extend(shared_memory_of(&x, place));
            }
            Ok(vec![bits("r", &result.read(), &expected)])
        },
    )
    // lavapipe 26.1 zeroes local memory for the first workgroup only.
    .without_lavapipe()
}

/// The expected output of one workgroup of `shaders/shared_memory.comp`.
fn shared_memory_of(x: &[u32], place: usize) -> Vec<u32> {
    let (mut words, mut bytes) = (vec![0u32; 4096], vec![0u8; 4096]);
    let (mut halves, mut quads) = (vec![0u16; 2048], vec![[0u32; 4]; 512]);
    for i in 0..256 {
        for k in 0..4 {
            words[(i * 4 + k) * 4 + place] = x[i].wrapping_add(k as u32);
            bytes[(i * 4 + k) * 4 + place] = (x[i] >> (k * 8)) as u8;
        }
        halves[i * 8 + place] = (x[i] >> 5) as u16;
        if i < 128 {
            quads[i * 4 + place] = [x[i], i as u32, !x[i], 9];
        }
    }
    let value = |i: usize| {
        let j = 255 - i;
        let mut sum = 0u32;
        for k in 0..16 {
            sum = sum
                .wrapping_mul(3)
                .wrapping_add(words[j * 16 + k])
                .wrapping_add(bytes[j * 16 + k] as u32 * 7);
        }
        for k in 0..8 {
            sum = sum.wrapping_mul(5).wrapping_add(halves[j * 8 + k] as u32);
        }
        for k in 0..2 {
            let mixed = quads[j * 2 + k].iter().fold(0, |m, q| m ^ q);
            sum = sum.wrapping_mul(11).wrapping_add(mixed);
        }
        sum
    };
    (0..256).map(value).collect()
}

fn exchange() -> Case {
    Case::new(
        "memory/exchange",
        "a workgroup exchanges values through a buffer, with barriers",
        vec![Shader::new("exchange.comp")],
        |bench| {
            let mut x = Random::integers(72, 1024);
            let buffer = bench.gpu.buffer(&x)?;
            let kernel = bench.gpu.kernel(&bench.spirv[0]).storage(&[&buffer]).build()?;
            bench.gpu.run(&kernel, [4, 1, 1])?;
            for bit in 0..8 {
                let k = 1usize << bit;
                x = (0..x.len())
                    .map(|i| {
                        let sum = x[i].wrapping_add(x[i ^ k]);
                        sum.wrapping_mul(3).wrapping_add(k as u32)
                    })
                    .collect();
            }
            Ok(vec![bits("x", &buffer.read(), &x)])
        },
    )
}

/// Pages of the program's own that kernels read and write.
fn host_pages() -> Case {
    let shader = super::map::shader::<u32>(1, &["uint"], "a * 3 + 1");
    let about = "buffers that consist of pages of the program's";
    Case::new("memory/host_pages", about, vec![shader], |bench| {
        let gpu = bench.gpu;
        let data = Random::integers(88, 4096);
        let (input, result) = (gpu.host_buffer(&data)?, gpu.host_buffer(&vec![7u32; 4096])?);
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
        gpu.run(&kernel, [64, 1, 1])?;
        let first: Vec<u32> = data.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect();
        let mut outputs = vec![bits("result", &result.read(), &first)];
        // What the program writes into its pages is what the next kernel reads.
        input.write_at(0, &u32::to_bytes(&first));
        gpu.run(&kernel, [64, 1, 1])?;
        let second: Vec<u32> = first.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect();
        outputs.push(bits("written again", &result.read(), &second));
        Ok(outputs)
    })
    .without_honeykrisp()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        layouts("scalar", Layout::Scalar, "buffer"),
        layouts("std430", Layout::Std430, "buffer"),
        layouts("std140", Layout::Std140, "uniform"),
        pointers(),
        descriptors(),
        many_descriptors("many_uniform_buffers", false),
        many_descriptors("many_storage_images", true),
        constant_places(),
        constant_tables(),
        dynamic_offsets(),
        robust(),
        scratch(16),
        scratch(100),
        scratch(1500),
        spills(),
        shared_memory(),
        exchange(),
        host_pages(),
    ];
    cases.extend(all_vectors());
    cases
}
