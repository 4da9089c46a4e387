//! Divergent control flow, mirrored statement by statement from `shaders/control.comp`.

use crate::case::{Case, Output, Rule, Shader};
use crate::number::Random;

/// Threads of each case: not a multiple of the workgroup, so that the last one is partial.
const THREADS: usize = 1000;

fn nested_loops(id: u32, x: u32) -> u32 {
    let mut sum = x;
    for i in 0..(x & 7) + 1 {
        if (i + id) % 3 == 1 {
            continue;
        }
        let mut j = 0u32;
        loop {
            if j > (x >> 3 & 7) {
                break;
            }
            j += 1;
            if (j ^ id) & 3 == 2 {
                continue;
            }
            for k in 0..5u32 {
                if k == (id & 3) + 1 && j & 1 == 0 {
                    break;
                }
                sum = sum.wrapping_mul(1_664_525).wrapping_add(k + i * 7 + j * 13);
                if sum % 1021 == 7 {
                    return sum ^ 0xdead_0000;
                }
                if sum % 19 == 4 {
                    continue;
                }
                sum = sum.wrapping_add(3);
            }
            if sum.is_multiple_of(29) {
                break;
            }
        }
        if sum.is_multiple_of(53) {
            break;
        }
    }
    sum
}

fn switches(id: u32, x: u32) -> u32 {
    let mut r = match x & 15 {
        0 => 5,
        1 => 18,
        2 => 11,
        3..=5 => id,
        9 => return 0xabcd,
        _ => x >> 4,
    };
    r ^= match x >> 16 & 0xff0 {
        0x100 => 1,
        0xff0 => 2,
        0x7f0 | 0x800 => {
            if id & 1 == 1 {
                0
            } else {
                4 ^ 8
            }
        }
        _ => 8,
    };
    r
}

fn switch_in_loop(id: u32, x: u32) -> u32 {
    let (mut state, mut r) = (x & 3, 0u32);
    for i in 0..30u32 {
        match state {
            0 => {
                state = x >> (i & 15) & 3;
                if x >> i & 1 == 1 {
                    continue;
                }
                r = r.wrapping_add(1);
            }
            1 => {
                state = 2;
                r = r.wrapping_mul(3).wrapping_add(id);
            }
            2 => {
                state = r & 3;
                continue;
            }
            _ => {
                if r & 7 == 5 {
                    return r.wrapping_add(i * 1000);
                }
                state = 0;
            }
        }
        r = r.wrapping_add(i);
        if r > 100_000 {
            break;
        }
    }
    r
}

fn do_while(id: u32, x: u32) -> u32 {
    let (mut n, mut steps, mut r) = ((x & 0xff) + 1, 0u32, id);
    loop {
        steps += 1;
        if n & 1 == 0 {
            n >>= 1;
        } else {
            r = r.wrapping_add(n);
            n = 3 * n + 1;
        }
        if !(n != 1 && steps < 200) {
            return r.wrapping_mul(256).wrapping_add(steps);
        }
    }
}

fn early(x: u32, limit: u32) -> u32 {
    for i in 2..limit {
        if x.is_multiple_of(i) {
            return i;
        }
        if i * i > x {
            return x;
        }
    }
    0
}

fn returns(id: u32, x: u32) -> u32 {
    let mut a = early((x & 0xfff) + 2, 40);
    if id & 1 == 0 {
        a += early(id + 2, 10) * 1000;
    } else if x & 1 == 0 {
        return early(a + 17, 64);
    }
    a
}

fn short_circuit(id: u32, x: u32) -> u32 {
    let mut r = x;
    let first = x & 1 == 0
        && {
            r = r.wrapping_add(5);
            !r.is_multiple_of(3)
        }
        && {
            r = r.wrapping_mul(3);
            r > 100
        };
    if first || {
        r = r.wrapping_sub(1);
        r.is_multiple_of(7)
    } {
        r ^= 0x5a5a;
    }
    let add = match (x & 2 != 0, x & 4 != 0) {
        (true, true) => r >> 3,
        (true, false) => r << 2,
        (false, true) => r.wrapping_mul(5),
        (false, false) => r.wrapping_add(id),
    };
    r.wrapping_add(add)
}

fn deep_ifs(id: u32, x: u32) -> u32 {
    fn descend(x: u32, bit: u32, end: u32, r: u32, inside: impl Fn(u32) -> u32) -> u32 {
        if bit == end {
            inside(r)
        } else if x >> bit & 1 == 1 {
            descend(x, bit + 1, end, r.wrapping_add(bit + 1), inside)
        } else {
            r ^ (bit << 8)
        }
    }
    let r = descend(x, 0, 8, 0, |r| r.wrapping_add(id * 3));
    descend(x, 8, 16, r, |r| r ^ (id * 5))
}

fn mixed_loops(_id: u32, x: u32) -> u32 {
    let mut r = 1u32;
    for _ in 0..10 {
        for j in (1..=x & 15).rev() {
            r = r.wrapping_mul(31).wrapping_add(j);
        }
        r ^= r >> 7;
    }
    r
}

fn whole_groups(id: u32, x: u32) -> u32 {
    let mut r = x;
    if id & 32 == 0 {
        for i in 0..8 {
            r = r.wrapping_mul(7).wrapping_add(i);
        }
    }
    if id == 77 {
        for _ in 0..100 {
            r = r.wrapping_mul(5).wrapping_add(1);
        }
    }
    if id & 31 > 28 { !r } else { r }
}

type Kernel = fn(u32, u32) -> u32;

/// Clocks of shaders do not go back.
fn clock() -> Case {
    let shaders = vec![Shader::new("clock.comp")];
    Case::new("control/clock", "the shader's clock between loops", shaders, |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::khr::shader_clock::NAME)?;
        let x = Random::integers(12, THREADS);
        let (input, result) = (gpu.buffer(&x)?, gpu.output::<u32>(THREADS)?);
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
        gpu.run(&kernel, [THREADS.div_ceil(64) as u32, 1, 1])?;
        Ok(vec![Output::cpu("later", &result.read::<u32>(), &vec![1; THREADS], Rule::Bits)])
    })
}

pub(super) fn cases() -> Vec<Case> {
    let rows: [(&str, &str, Kernel); 10] = [
        ("nested_loops", "three divergent loops deep, break, continue and return", nested_loops),
        ("switches", "dense, sparse and falling-through switches", switches),
        ("switch_in_loop", "a state machine: break and continue in a switch", switch_in_loop),
        ("do_while", "Collatz steps: continue to a condition at the end", do_while),
        ("returns", "functions that return from loops", returns),
        ("short_circuit", "conditions with side effects", short_circuit),
        ("deep_ifs", "eight ifs deep, twice", deep_ifs),
        ("mixed_loops", "a divergent loop in a uniform one", mixed_loops),
        ("whole_groups", "branches that whole SIMD-groups or one thread take", whole_groups),
        ("identity", "no control flow but the bounds check", |_, x| x),
    ];
    rows.into_iter()
        .map(|(name, about, cpu)| {
            let shader = Shader::new("control.comp").define("KERNEL", name);
            Case::new(format!("control/{name}"), about, vec![shader], move |bench| {
                let gpu = bench.gpu;
                let x = Random::integers(11, THREADS);
                let (input, result) = (gpu.buffer(&x)?, gpu.output::<u32>(THREADS)?);
                let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&input, &result]).build()?;
                gpu.run(&kernel, [THREADS.div_ceil(64) as u32, 1, 1])?;
                let expected: Vec<u32> = (0..THREADS).map(|i| cpu(i as u32, x[i])).collect();
                Ok(vec![
                    Output::cpu("r", &result.read::<u32>(), &expected, Rule::Bits).column("x", &x),
                ])
            })
        })
        .chain([clock()])
        .collect()
}
