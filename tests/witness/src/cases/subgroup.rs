//! Sub-group operations: all kinds, types, and divergent activity.
//!
//! Sub-groups have 8 threads on lavapipe and 32 on the M1, so results are checked by a calculation over the
//! lanes that the threads themselves reported.

use half::f16;

use crate::case::{Case, Output, Rule, Shader};
use crate::number::{Number, Random, Scalar};

const THREADS: usize = 256;
const WORKGROUP: usize = 128;

/// A sub-group from the point of view of one of its threads.
struct Group<T> {
    /// The values of active lanes.
    lanes: Vec<Option<T>>,
    /// The lane of the thread.
    me: usize,
}

impl<T: Copy> Group<T> {
    fn mine(&self) -> T {
        self.lanes[self.me].expect("the lane that asks is active")
    }

    fn at(&self, lane: usize) -> Option<T> {
        self.lanes.get(lane).copied().flatten()
    }

    fn active(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.lanes.iter().enumerate().filter_map(|(i, x)| Some((i, (*x)?)))
    }

    /// Reduces lanes: all, those up to this one, those before it, or those of its cluster.
    fn fold(&self, part: Part, identity: T, f: fn(T, T) -> T) -> T {
        self.active()
            .filter(|&(lane, _)| match part {
                Part::All => true,
                Part::Inclusive => lane <= self.me,
                Part::Exclusive => lane < self.me,
                Part::Cluster(size) => lane / size == self.me / size,
            })
            .fold(identity, |sum, (_, x)| f(sum, x))
    }
}

#[derive(Clone, Copy)]
enum Part {
    All,
    Inclusive,
    Exclusive,
    Cluster(usize),
}

/// The threads that are active: GLSL over `lane` and `i`, and the same in Rust.
#[derive(Clone, Copy)]
struct Active {
    name: &'static str,
    glsl: &'static str,
    is: fn(lane: usize, i: usize) -> bool,
}

const ALL: Active = Active { name: "", glsl: "true", is: |_, _| true };
const SOME: Active = Active {
    name: "_divergent",
    glsl: "((0xb4d2695cu >> (lane & 31)) & 1) == 1 || i > 200",
    is: |lane, i| 0xb4d2_695cu32 >> (lane & 31) & 1 == 1 || i > 200,
};

/// An operation on values of `T` that returns `R`, or `None` if that is undefined.
fn case<T: Scalar, R: Number + Default>(
    name: &str,
    expr: &str,
    active: Active,
    value: fn(&mut Random) -> T,
    cpu: impl Fn(&Group<T>) -> Option<R> + Send + Sync + 'static,
) -> Case {
    let shader = Shader::new("subgroup.comp")
        .define("T", T::GLSL)
        .define("TR", R::GLSL)
        .define("EXPR", expr)
        .define("ACTIVE", active.glsl);
    let name = format!("subgroup/{name}_{}{}", T::GLSL, active.name);
    Case::new(name, expr, vec![shader], move |bench| {
        let gpu = bench.gpu;
        let mut random = Random::new(51);
        let a: Vec<T> = (0..THREADS).map(|_| value(&mut random)).collect();
        let (input, result) = (gpu.buffer(&a)?, gpu.output::<R>(THREADS)?);
        let place = gpu.output::<[u32; 2]>(THREADS)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .with_subgroups()
            .storage(&[&input, &result, &place])
            .build()?;
        gpu.run(&kernel, [(THREADS / WORKGROUP) as u32, 1, 1])?;
        let places: Vec<[u32; 2]> = place.read();
        let size = gpu.subgroup_size as usize;
        gpu.check(
            places.iter().all(|p| (p[1] as usize) < size && p[0] as usize <= WORKGROUP / size),
            "threads report places outside their sub-groups",
        )?;
        let mut expected = Vec::new();
        let mut defined = Vec::new();
        for (i, place) in places.iter().enumerate() {
            let me = place[1] as usize;
            if !(active.is)(me, i) {
                expected.push(R::default());
                defined.push(true);
                continue;
            }
            let mut lanes = vec![None; size];
            for (j, other) in places.iter().enumerate() {
                if i / WORKGROUP == j / WORKGROUP
                    && place[0] == other[0]
                    && (active.is)(other[1] as usize, j)
                {
                    lanes[other[1] as usize] = Some(a[j]);
                }
            }
            let answer = cpu(&Group { lanes, me });
            defined.push(answer.is_some());
            expected.push(answer.unwrap_or_default());
        }
        let components = R::SIZE_BYTES / R::ELEM.size_bytes();
        let defined = defined.into_iter().flat_map(|d| std::iter::repeat_n(d, components));
        let lanes: Vec<u32> = places.iter().map(|p| p[1]).collect();
        Ok(vec![
            Output::cpu("r", &result.read::<R>(), &expected, Rule::Bits)
                .defined(defined.collect())
                .column("a", &a)
                .column("lane", &lanes),
        ])
    })
}

/// Reductions, scans and clusters of one operation on a type.
fn arithmetic<T: Scalar + Default>(
    op: &str,
    identity: T,
    value: fn(&mut Random) -> T,
    f: fn(T, T) -> T,
) -> Vec<Case> {
    let mut cases = Vec::new();
    let lower = op.to_lowercase();
    for active in [ALL, SOME] {
        for (name, glsl, part) in [
            ("reduce", format!("subgroup{op}(a)"), Part::All),
            ("inclusive", format!("subgroupInclusive{op}(a)"), Part::Inclusive),
            ("exclusive", format!("subgroupExclusive{op}(a)"), Part::Exclusive),
            ("cluster2", format!("subgroupClustered{op}(a, 2)"), Part::Cluster(2)),
            ("cluster4", format!("subgroupClustered{op}(a, 4)"), Part::Cluster(4)),
            ("cluster8", format!("subgroupClustered{op}(a, 8)"), Part::Cluster(8)),
        ] {
            // For divergent activity, and for types other than 32-bit ones, a sample is tested.
            let divergent = active.name == SOME.name;
            if divergent && matches!(part, Part::Cluster(2 | 8))
                || T::SIZE_BYTES != 4 && (divergent || matches!(part, Part::Cluster(2 | 8)))
            {
                continue;
            }
            let name = format!("{lower}_{name}");
            cases.push(case::<T, T>(&name, &glsl, active, value, move |g| {
                Some(g.fold(part, identity, f))
            }));
        }
    }
    cases
}

macro_rules! integers {
    ($cases:ident, $($t:ty),*) => {$(
        let any: fn(&mut Random) -> $t = |r| r.next_u64() as $t;
        $cases.extend(arithmetic::<$t>("Add", 0, any, <$t>::wrapping_add));
        $cases.extend(arithmetic::<$t>("Mul", 1, any, <$t>::wrapping_mul));
        $cases.extend(arithmetic::<$t>("Min", <$t>::MAX, any, Ord::min));
        $cases.extend(arithmetic::<$t>("Max", <$t>::MIN, any, Ord::max));
        $cases.extend(arithmetic::<$t>("And", !0, any, |a, b| a & b));
        $cases.extend(arithmetic::<$t>("Or", 0, any, |a, b| a | b));
        $cases.extend(arithmetic::<$t>("Xor", 0, any, |a, b| a ^ b));
    )*};
}

/// Values whose sums and products are exact in any order.
fn small(random: &mut Random) -> f32 {
    (random.next_u32() >> 28) as f32 - 7.0
}

fn power_of_two(random: &mut Random) -> f32 {
    [0.5, 1.0, 2.0, -1.0][random.next_u32() as usize >> 30]
}

fn floats() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(arithmetic::<f32>("Add", 0.0, small, |a, b| a + b));
    cases.extend(arithmetic::<f32>("Mul", 1.0, power_of_two, |a, b| a * b));
    cases.extend(arithmetic::<f32>("Min", f32::INFINITY, small, f32::min));
    cases.extend(arithmetic::<f32>("Max", f32::NEG_INFINITY, small, f32::max));
    cases.extend(arithmetic::<f16>("Add", f16::ZERO, |r| f16::from_f32(small(r)), |a, b| a + b));
    cases.extend(arithmetic::<f16>(
        "Mul",
        f16::ONE,
        |r| f16::from_f32(power_of_two(r)),
        |a, b| a * b,
    ));
    cases.extend(arithmetic::<f16>(
        "Min",
        f16::INFINITY,
        |r| f16::from_f32(small(r)),
        |a, b| if a < b { a } else { b },
    ));
    cases.extend(arithmetic::<f16>(
        "Max",
        f16::NEG_INFINITY,
        |r| f16::from_f32(small(r)),
        |a, b| if a > b { a } else { b },
    ));
    cases
}

fn any32(random: &mut Random) -> u32 {
    random.next_u32()
}

/// A ballot of the lanes for which `f` holds, as `uvec4`.
fn mask(lanes: impl Iterator<Item = usize>) -> [u32; 4] {
    let mut mask = [0; 4];
    lanes.for_each(|lane| mask[lane / 32] |= 1 << (lane % 32));
    mask
}

/// Moves between lanes, for types of each width.
fn moves<T: Scalar + Default>(value: fn(&mut Random) -> T) -> Vec<Case> {
    type Pick = fn(usize, usize) -> Option<usize>;
    let picks: [(&str, &str, Pick); 13] = [
        ("shuffle", "subgroupShuffle(a, (lane * 7 + 3) % gl_SubgroupSize)", |me, size| {
            Some((me * 7 + 3) % size)
        }),
        ("shuffle_xor", "subgroupShuffleXor(a, 5)", |me, _| Some(me ^ 5)),
        ("shuffle_up", "subgroupShuffleUp(a, 3)", |me, _| me.checked_sub(3)),
        ("shuffle_down", "subgroupShuffleDown(a, 2)", |me, _| Some(me + 2)),
        ("broadcast", "subgroupBroadcast(a, 6)", |_, _| Some(6)),
        ("quad_broadcast", "subgroupQuadBroadcast(a, 2)", |me, _| Some(me & !3 | 2)),
        ("quad_horizontal", "subgroupQuadSwapHorizontal(a)", |me, _| Some(me ^ 1)),
        ("quad_vertical", "subgroupQuadSwapVertical(a)", |me, _| Some(me ^ 2)),
        ("quad_diagonal", "subgroupQuadSwapDiagonal(a)", |me, _| Some(me ^ 3)),
        ("rotate", "subgroupRotate(a, 5)", |me, size| Some((me + 5) % size)),
        ("rotate_cluster", "subgroupClusteredRotate(a, 3, 8)", |me, _| {
            Some(me & !7 | (me + 3) & 7)
        }),
        ("shuffle_low", "subgroupShuffle(a, lane >> 1)", |me, _| Some(me >> 1)),
        ("shuffle_same", "subgroupShuffle(a, lane)", |me, _| Some(me)),
    ];
    let mut cases = Vec::new();
    for (name, glsl, pick) in picks {
        for active in [ALL, SOME] {
            if active.name == SOME.name && T::SIZE_BYTES != 4 {
                continue;
            }
            cases.push(case::<T, T>(name, glsl, active, value, move |g| {
                // Undefined: a lane that does not exist, or is not active.
                g.at(pick(g.me, g.lanes.len())?)
            }));
        }
    }
    cases.push(case::<T, T>("broadcast_first", "subgroupBroadcastFirst(a)", SOME, value, |g| {
        g.active().next().map(|(_, x)| x)
    }));
    cases
}

fn ballots() -> Vec<Case> {
    let mut cases = Vec::new();
    for active in [ALL, SOME] {
        let mut add = |name, expr, cpu: fn(&Group<u32>) -> Option<[u32; 4]>| {
            cases.push(case::<u32, [u32; 4]>(name, expr, active, any32, cpu));
        };
        fn odd(g: &Group<u32>) -> impl Iterator<Item = usize> + '_ {
            g.active().filter(|(_, x)| x & 1 == 1).map(|(lane, _)| lane)
        }
        fn counts(x: usize) -> Option<[u32; 4]> {
            Some([x as u32; 4])
        }
        add("ballot", "subgroupBallot((a & 1) == 1)", |g| Some(mask(odd(g))));
        add("ballot_true", "subgroupBallot(true)", |g| Some(mask(g.active().map(|(l, _)| l))));
        add("bit_count", "uvec4(subgroupBallotBitCount(subgroupBallot((a & 1) == 1)))", |g| {
            counts(odd(g).count())
        });
        add(
            "inclusive_bit_count",
            "uvec4(subgroupBallotInclusiveBitCount(subgroupBallot((a & 1) == 1)))",
            |g| counts(odd(g).filter(|&l| l <= g.me).count()),
        );
        add(
            "exclusive_bit_count",
            "uvec4(subgroupBallotExclusiveBitCount(subgroupBallot((a & 1) == 1)))",
            |g| counts(odd(g).filter(|&l| l < g.me).count()),
        );
        // Undefined for an empty ballot.
        add("find_lsb", "uvec4(subgroupBallotFindLSB(subgroupBallot((a & 1) == 1)))", |g| {
            odd(g).min().and_then(counts)
        });
        add("find_msb", "uvec4(subgroupBallotFindMSB(subgroupBallot((a & 1) == 1)))", |g| {
            odd(g).max().and_then(counts)
        });
        add("inverse_ballot", "uvec4(subgroupInverseBallot(uvec4(0x5a3c96f1u)))", |g| {
            counts(0x5a3c_96f1usize >> (g.me & 31) & 1)
        });
        add(
            "bit_extract",
            "uvec4(subgroupBallotBitExtract(subgroupBallot((a & 1) == 1), lane ^ 1))",
            |g| counts(odd(g).filter(|&l| l == g.me ^ 1).count()),
        );
        add("elect", "uvec4(subgroupElect())", |g| {
            counts(usize::from(g.active().next().is_some_and(|(l, _)| l == g.me)))
        });
        add("any", "uvec4(subgroupAny(a > 0xf0000000u))", |g| {
            counts(usize::from(g.active().any(|(_, x)| x > 0xf000_0000)))
        });
        add("all", "uvec4(subgroupAll(a > 0x10000000u))", |g| {
            counts(usize::from(g.active().all(|(_, x)| x > 0x1000_0000)))
        });
        add("all_equal", "uvec4(subgroupAllEqual(a >> 31))", |g| {
            counts(usize::from(g.active().all(|(_, x)| x >> 31 == g.mine() >> 31)))
        });
        add("all_equal_same", "uvec4(subgroupAllEqual(i >> 7))", |_| counts(1));
        add("eq_mask", "gl_SubgroupEqMask", |g| Some(mask(g.me..g.me + 1)));
        add("ge_mask", "gl_SubgroupGeMask", |g| Some(mask(g.me..g.lanes.len())));
        add("gt_mask", "gl_SubgroupGtMask", |g| Some(mask(g.me + 1..g.lanes.len())));
        add("le_mask", "gl_SubgroupLeMask", |g| Some(mask(0..g.me + 1)));
        add("lt_mask", "gl_SubgroupLtMask", |g| Some(mask(0..g.me)));
        add("size", "uvec4(gl_SubgroupSize)", |g| counts(g.lanes.len()));
        add("id", "uvec4(gl_NumSubgroups)", |g| counts(WORKGROUP / g.lanes.len()));
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ballots();
    cases.extend(moves::<u32>(any32));
    cases.extend(moves::<u16>(|r| r.next_u32() as u16));
    cases.extend(moves::<u8>(|r| r.next_u32() as u8));
    cases.extend(moves::<u64>(Random::next_u64));
    cases.extend(moves::<f32>(|r| r.float(-9.0, 9.0)));
    cases.extend(moves::<f16>(|r| f16::from_f32(r.float(-9.0, 9.0))));
    integers!(cases, u32, i32, i16, u64, u8);
    cases.extend(floats());
    cases
}
