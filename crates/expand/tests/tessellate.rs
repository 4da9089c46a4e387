//! The tessellator's programs write the points and triangles of the plain tessellator of `tepui-tessellator`.

use proptest::prelude::*;
use tepui_expand::TESSELLATED_B;
use tepui_expand::tessellate::{TessellateWords, Tessellation, Worker, count, fill};
use tepui_ir::interp::{self, Memory};
use tepui_ir::{PrimitiveKind, Spacing};
use tepui_sysval::{Long, Words as _};
use tepui_tessellator::{Domain, ONE, Output, Tessellated};

/// Output of the programs, and of the reference tessellator with the domain's words.
type Pattern = Tessellated;

fn tessellate(t: &Tessellation, outer: [f32; 4], inner: [f32; 2]) -> Pattern {
    let (domain, filled) = match t.domain {
        PrimitiveKind::Isolines => (Domain::Isolines, Output::Lines),
        PrimitiveKind::Triangles => (Domain::Triangles, Output::Positive),
        _ => (Domain::Quads, Output::Positive),
    };
    let spacing = match t.spacing {
        Spacing::Equal => tepui_tessellator::Spacing::Equal,
        Spacing::FractionalEven => tepui_tessellator::Spacing::FractionalEven,
        Spacing::FractionalOdd => tepui_tessellator::Spacing::FractionalOdd,
    };
    let output = match filled {
        _ if t.points => Output::Points,
        Output::Positive if t.clockwise => Output::Negative,
        filled => filled,
    };
    tepui_tessellator::tessellate(domain, spacing, output, outer, inner)
}

/// Levels of a patch: outer and inner.
type Levels = ([f32; 4], [f32; 2]);

/// Bytes of a patch's record here: 8 bytes, then the levels.
const STRIDE: u32 = 40;

fn run(t: &Tessellation, patches: &[Levels], worker: Worker, lanes: u32) -> Vec<Pattern> {
    let n = patches.len() as u32;
    let mut records = Vec::new();
    for (outer, inner) in patches {
        records.extend([0xee; 8]);
        records.extend(outer.iter().chain(inner).flat_map(|l| l.to_le_bytes()));
        records.extend([0xee; 8]);
    }
    let table = vec![0xee; 4 * n as usize];
    let mut m = Memory::default();
    m.physical.extend([
        (1 << 32, records),
        (2 << 32, table.clone()),
        (3 << 32, table),
        (6 << 32, vec![0; 4]),
    ]);
    let [patches_at, points, indices, list, index_list, unlike] =
        [1u64, 2, 3, 4, 5, 6].map(|k| Long::from(k << 32));
    let words = TessellateWords {
        patches: patches_at,
        points,
        indices,
        list,
        index_list,
        count: n,
        stride: STRIDE,
        outer: 8,
        inner: 24,
        unlike,
    };
    m.uniforms = words.bytes().to_vec();
    let program = count(t, lanes);
    tepui_ir::validate(&program).unwrap_or_else(|e| panic!("{e}\n{program}"));
    interp::dispatch(&program, [n.div_ceil(lanes), 1, 1], &mut m, 100_000_000).expect("it counts");
    let alike = m.physical[&(6 << 32)] == [0; 4];
    let counted = |(outer, inner): &Levels| {
        let edges = match t.domain {
            PrimitiveKind::Isolines => 2,
            PrimitiveKind::Triangles => 3,
            _ => 4,
        };
        outer[..edges].iter().chain(&inner[..edges - 2]).map(|l| l.to_bits()).collect::<Vec<_>>()
    };
    let all_alike = patches.iter().all(|levels| counted(levels) == counted(&patches[0]));
    assert_eq!(alike, all_alike, "{t:?}");

    let mut sizes = Vec::new();
    let mut sums = [0u32, 0];
    for p in 0..patches.len() {
        let here = [2, 3].map(|k| {
            let table = m.physical.get_mut(&((k as u64) << 32)).expect("a table");
            let bytes: &mut [u8; 4] = (&mut table[4 * p..4 * p + 4]).try_into().expect("a word");
            let n = u32::from_le_bytes(*bytes);
            *bytes = sums[k - 2].to_le_bytes();
            sums[k - 2] += n;
            n
        });
        sizes.push(here);
    }
    m.physical.insert(4 << 32, vec![0xee; (sums[0] * TESSELLATED_B) as usize]);
    m.physical.insert(5 << 32, vec![0xee; 4 * sums[1] as usize]);
    let program = fill(t, worker, lanes);
    tepui_ir::validate(&program).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let groups = match worker {
        Worker::Group => n,
        Worker::Thread => n.div_ceil(lanes),
    };
    interp::dispatch(&program, [groups, 1, 1], &mut m, 100_000_000).expect("it tessellates");
    assert_eq!(m.out_of_bounds, 0);

    let words = |k: u64| -> Vec<u32> {
        let bytes = m.physical[&(k << 32)].chunks_exact(4);
        bytes.map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    };
    let (points, indices) = (words(4), words(5));
    let (mut point, mut index) = (0, 0);
    let mut patterns = Vec::new();
    for (p, [n, m]) in sizes.into_iter().enumerate() {
        let (n, m) = (n as usize, m as usize);
        let own = points[3 * point..3 * (point + n)].chunks(3).map(|c| {
            assert_eq!(c[0], p as u32, "the patch of a point");
            [c[1], c[2]].map(|bits| (f32::from_bits(bits) * ONE as f32) as u32)
        });
        let numbers = indices[index..index + m].iter().map(|&i| i.wrapping_sub(point as u32));
        patterns.push(Pattern { points: own.collect(), indices: numbers.collect() });
        (point, index) = (point + n, index + m);
    }
    patterns
}

/// Workers, and lanes of a sub-group.
const WORKERS: [(Worker, u32); 4] =
    [(Worker::Group, 32), (Worker::Thread, 32), (Worker::Group, 16), (Worker::Thread, 8)];

fn check(t: &Tessellation, patches: &[Levels], workers: &[(Worker, u32)]) {
    for &(worker, lanes) in workers {
        for (got, levels) in run(t, patches, worker, lanes).into_iter().zip(patches) {
            let want = tessellate(t, levels.0, levels.1);
            assert_eq!(
                got.points, want.points,
                "points of {levels:?}, {t:?}, {worker:?} of {lanes}"
            );
            assert_eq!(
                got.indices, want.indices,
                "indices of {levels:?}, {t:?}, {worker:?} of {lanes}"
            );
        }
    }
}

const DOMAINS: [PrimitiveKind; 3] =
    [PrimitiveKind::Triangles, PrimitiveKind::Quads, PrimitiveKind::Isolines];

#[test]
fn special_levels() {
    let mut patches = vec![
        ([1.0; 4], [1.0; 2]),
        ([0.0, 1.0, 1.0, 1.0], [1.0; 2]),
        ([1.0, f32::NAN, 1.0, 1.0], [1.0; 2]),
        ([-1.0, 1.0, 1.0, 1.0], [1.0; 2]),
        ([1.0, 1.0, 2.0, 1.0], [f32::NAN, 1.0]),
        ([2.0; 4], [1.0; 2]),
        ([1.0; 4], [2.0; 2]),
        ([1.0; 4], [1.0, 3.0]),
        ([1.0; 4], [3.0, 1.0]),
        ([64.0; 4], [64.0; 2]),
        ([63.0, 64.0, 1.0, 2.0], [5.0, 64.0]),
        ([1000.0, 0.25, f32::INFINITY, 1.0e-30], [0.0, 40.5]),
    ];
    for n in 1..8 {
        for m in 1..8 {
            let (n, m) = (n as f32, m as f32);
            patches.push(([n, m, n, m + 1.0], [m, n]));
            patches.push(([3.0; 4], [n, m]));
        }
    }
    // Inner levels that the domain does not have make no difference.
    let same = vec![([2.0, 3.0, 4.0, 5.0], [2.0, 3.0]), ([2.0, 3.0, 4.0, 5.0], [2.0, 4.0])];
    for domain in DOMAINS {
        for &spacing in Spacing::ALL {
            let t = Tessellation { domain, spacing, points: false, clockwise: false };
            check(&t, &patches, &WORKERS);
            check(&t, &same, &WORKERS);
        }
        // The topology that they are drawn as matters little to the levels.
        let t = Tessellation { domain, spacing: Spacing::Equal, points: true, clockwise: false };
        check(&t, &patches[..20], &WORKERS);
        check(&Tessellation { points: false, clockwise: true, ..t }, &patches[..20], &WORKERS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_levels(
        outer in prop::collection::vec(prop::array::uniform4(0.1f32..70.0), 4),
        inner in prop::collection::vec(prop::array::uniform2(0.1f32..70.0), 4),
    ) {
        let patches: Vec<Levels> = outer.into_iter().zip(inner).collect();
        for domain in DOMAINS {
            for &spacing in Spacing::ALL {
                let t = Tessellation { domain, spacing, points: false, clockwise: false };
                check(&t, &patches, &WORKERS[..2]);
            }
        }
    }
}
