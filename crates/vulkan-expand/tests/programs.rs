//! The programs between stages, run by the interpreter, against straightforward references.

use tepui_expand::tessellate::TessellateWords;
use tepui_expand::{StageWords, TESSELLATED_B};
use tepui_ir::interp::{self, Memory};
use tepui_sysval::{Long, Words};
use tepui_vulkan_expand::feedback::{ByteCountWords, CaptureParams, FitWords};
use tepui_vulkan_expand::params::{DrawIndexedArguments, DrawParams};
use tepui_vulkan_expand::place::{EmissionSizes, PlaceTessellatedWords, PlaceWords};
use tepui_vulkan_expand::{
    AddWords, CountDrawsWords, CountThreadsWords, ListSource, ListWords, Order, PartWords, Program,
    SumsWords,
};

/// Lanes of sub-groups that are tested.
const LANES: [u32; 3] = [8, 16, 32];

/// Address of the `k`-th buffer.
fn at(k: u64) -> u64 {
    k << 32
}

/// Memory with words in buffers.
fn memory(buffers: &[(u64, &[u32])]) -> Memory {
    let mut m = Memory::default();
    for &(k, words) in buffers {
        m.physical.insert(at(k), words.iter().flat_map(|w| w.to_le_bytes()).collect());
    }
    m
}

/// The words of the `k`-th buffer.
fn words(m: &Memory, k: u64) -> Vec<u32> {
    let bytes = &m.physical[&at(k)];
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Runs a program with its words.
fn run<W: Words>(m: &mut Memory, p: Program, own: &W, lanes: u32, threads: u32) {
    let s = p.build(lanes);
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    m.uniforms = own.bytes().to_vec();
    let groups = threads.div_ceil(s.info.workgroup_size[0]);
    interp::dispatch(&s, [groups, 1, 1], m, 100_000_000).expect("it runs");
    assert_eq!(m.out_of_bounds, 0, "{p:?}");
}

fn all_orders() -> Vec<Order> {
    let mut all = vec![
        Order::Points,
        Order::Lines,
        Order::LineStrip,
        Order::Triangles,
        Order::Whole(4),
        Order::Whole(5),
        Order::Whole(6),
        Order::LineStripWithAdjacent,
    ];
    for last in [false, true] {
        all.extend([
            Order::TriangleStrip(last),
            Order::TriangleFan(last),
            Order::TriangleStripWithAdjacent(last),
        ]);
    }
    all
}

/// Vertices of the primitives that `count` vertices make. source: Vulkan specification, "Primitive Topologies"
fn primitives(order: Order, count: u32) -> Vec<Vec<u32>> {
    let whole = |n: u32| (0..count / n).map(|i| (i * n..i * n + n).collect()).collect();
    let strip = |n: u32| (0..(count + 1).saturating_sub(n)).collect::<Vec<u32>>();
    match order {
        Order::Points => whole(1),
        Order::Lines => whole(2),
        Order::Triangles => whole(3),
        Order::Whole(n) => whole(n),
        Order::LineStrip => strip(2).into_iter().map(|i| vec![i, i + 1]).collect(),
        Order::LineStripWithAdjacent => {
            strip(4).into_iter().map(|i| (i..i + 4).collect()).collect()
        }
        Order::TriangleStrip(last) => {
            let odd = |i: u32| if last { vec![i + 1, i, i + 2] } else { vec![i, i + 2, i + 1] };
            let one = |i: u32| if i.is_multiple_of(2) { vec![i, i + 1, i + 2] } else { odd(i) };
            strip(3).into_iter().map(one).collect()
        }
        Order::TriangleFan(last) => {
            let one = |i: u32| if last { vec![0, i + 1, i + 2] } else { vec![i + 1, i + 2, 0] };
            strip(3).into_iter().map(one).collect()
        }
        // Whose vertices are in tables of the specification: the witness cases compare them with other drivers.
        Order::TriangleStripWithAdjacent(_) => Vec::new(),
    }
}

#[test]
fn vertices_are_listed_in_the_order_of_primitives() {
    for (k, order) in all_orders().into_iter().enumerate() {
        let lanes = LANES[k % LANES.len()];
        let count = 23;
        let want: Vec<u32> = primitives(order, count).concat();
        if want.is_empty() {
            continue;
        }
        let all = order.count(count);
        assert_eq!(want.len(), all as usize, "{order:?}");
        // A piece of the list.
        let from = order.vertices();
        let n = all - from;
        let mut m = memory(&[(1, &vec![u32::MAX; n as usize])]);
        let source = ListSource {
            list: at(1).into(),
            added: 100,
            count: n,
            in_buffer: u32::MAX,
            ..ListSource::default()
        };
        let own = ListWords { source, from, all, ..ListWords::default() };
        run(&mut m, Program::Unroll { order, index_bytes: 0 }, &own, lanes, n);
        let want: Vec<u32> = want[from as usize..].iter().map(|v| v + 100).collect();
        assert_eq!(words(&m, 1), want, "{order:?}");
    }
}

#[test]
fn indices_past_the_end_of_their_buffer_are_zero() {
    for index_bytes in [1, 2, 4u8] {
        let indices: Vec<u32> = (0..9).map(|k| 7 + 3 * k).collect();
        let bytes = indices.iter().flat_map(|k| k.to_le_bytes()[..index_bytes.into()].to_vec());
        let mut m = memory(&[(1, &[u32::MAX; 12])]);
        m.physical.insert(at(2), bytes.collect());
        let source = ListSource {
            list: at(1).into(),
            indices: at(2).into(),
            added: 1,
            count: 12,
            in_buffer: 9,
        };
        let own = ListWords { source, all: 12, ..ListWords::default() };
        run(&mut m, Program::Unroll { order: Order::Triangles, index_bytes }, &own, 16, 12);
        let want = indices.iter().copied().chain([0; 3]).map(|k| k + 1);
        assert_eq!(words(&m, 1), want.collect::<Vec<_>>(), "{index_bytes}");
    }
}

#[test]
fn restarts_end_primitives() {
    const RESTART: u32 = 0xffff;
    let runs: [&[u32]; 6] = [&[1, 2, 3, 4], &[5, 6], &[], &[7, 8, 9], &[10], &[11, 12, 13, 14, 15]];
    for order in [Order::Triangles, Order::TriangleStrip(false), Order::LineStrip] {
        for lanes in LANES {
            let indices = runs.join(&RESTART);
            let mut want = Vec::new();
            for run in runs {
                let all = primitives(order, run.len() as u32).concat();
                want.extend(all.into_iter().map(|k| run[k as usize] + 20));
            }
            let count = want.len() as u32 / order.vertices();
            let mut m = memory(&[(1, &[u32::MAX; 64])]);
            m.physical
                .insert(at(2), indices.iter().flat_map(|k| (*k as u16).to_le_bytes()).collect());
            let params = DrawParams { vertex_groups: [1, 3, 1], ..DrawParams::default() };
            m.physical.insert(at(3), params.bytes().to_vec());
            let source = ListSource {
                list: at(1).into(),
                indices: at(2).into(),
                added: 20,
                count: indices.len() as u32,
                in_buffer: indices.len() as u32,
            };
            let own = ListWords {
                source,
                parameters: at(3).into(),
                indices_each: 8,
                invocations: 2,
                ..ListWords::default()
            };
            run(&mut m, Program::Restarts { order, index_bytes: 2 }, &own, lanes, 1);
            assert_eq!(words(&m, 1)[..want.len()], want, "{order:?} {lanes}");
            let after: DrawParams = bytemuck::pod_read_unaligned(&m.physical[&at(3)]);
            let of_draw = count * 3;
            assert_eq!(after.stage.count, count);
            assert_eq!(after.vertex.vertices, want.len() as u32);
            assert_eq!(after.draw.count, of_draw * 8);
            assert_eq!(after.gather.invocations, of_draw * 2);
            assert_eq!(after.tessellate.count, of_draw * 2);
        }
    }
}

#[test]
fn sums_are_those_before() {
    for lanes in LANES {
        let counts: Vec<u32> = (0..77).map(|k| k * k % 11).collect();
        let mut m = memory(&[(1, &counts), (2, &[0; 2])]);
        let own = SumsWords {
            counts: at(1).into(),
            number: counts.len() as u32,
            sum: at(2).into(),
            factor: 3,
        };
        run(&mut m, Program::Sums, &own, lanes, 1);
        let before: Vec<u32> = (0..counts.len()).map(|k| counts[..k].iter().sum()).collect();
        let sum: u32 = counts.iter().sum();
        assert_eq!(words(&m, 1), before);
        assert_eq!(words(&m, 2), [3 * sum, sum]);
    }
}

#[test]
fn a_part_of_a_list_has_what_is_left() {
    for (first, most, count) in [(0, 6, 6), (6, 6, 4), (12, 6, 0)] {
        let mut m = memory(&[(1, &[10]), (2, &[0; 5])]);
        let own = PartWords {
            number: at(1).into(),
            draw: at(2).into(),
            first,
            most,
            instances: 7,
            first_instance: 9,
        };
        run(&mut m, Program::Part, &own, 32, 1);
        assert_eq!(words(&m, 2), [count, 7, first, 0, 9]);
    }
}

#[test]
fn statistics_add_up_all_draws_and_threads() {
    // Draws with other words in between.
    let draws = [[7, 2, 0, 0, 1], [0, 5, 0, 0, 1], [3, 1, 0, 0, 1], [2, 9, 0, 0, 1]];
    let high = 1 << 32;
    let counter = |m: &Memory| words(m, 2)[0] as u64 | (words(m, 2)[1] as u64) << 32;
    for (order, want) in [(None, 14 + 3 + 18), (Some(Order::Triangles), 2 * 2 + 1)] {
        let mut m = memory(&[(1, draws.as_flattened()), (2, &[5, 1])]);
        let own = CountDrawsWords {
            arguments: at(1).into(),
            sum: at(2).into(),
            draws: draws.len() as u32,
            stride: 20,
        };
        run(&mut m, Program::CountDraws(order), &own, 32, 1);
        assert_eq!(counter(&m), high + 5 + want, "{order:?}");
    }
    let mut m = memory(&[(1, &[3, 4, 5]), (2, &[u32::MAX, 0])]);
    let own = CountThreadsWords { arguments: at(1).into(), sum: at(2).into(), threads: 64 };
    run(&mut m, Program::CountThreads, &own, 32, 1);
    assert_eq!(counter(&m), u64::from(u32::MAX) + 60 * 64);
    let own = AddWords { address: at(2).into(), number: (high + 2).into() };
    run(&mut m, Program::Add, &own, 32, 1);
    assert_eq!(counter(&m), u64::from(u32::MAX) + 60 * 64 + high + 2);
}

#[test]
fn captures_take_the_primitives_that_fit() {
    for lanes in LANES {
        // Buffers 0 and 2 are used; 2 has room for 20 vertices after what it holds, which are six whole primitives.
        let mut m = memory(&[(1, &[16, 0, 40, 0]), (2, &[0; 13]), (3, &[0; 4])]);
        let own = FitWords {
            offsets: at(1).into(),
            parameters: at(2).into(),
            buffers: [at(10), at(11), at(12), at(13)].map(Long::from),
            sizes: [10_000, 10, 40 + 20 * 12 + 8, 0],
            strides: [4, 0, 12, 0],
            vertices: 9,
            instances: 5,
            per_primitive: 3,
            query: at(3).into(),
        };
        run(&mut m, Program::Fit, &own, lanes, 1);
        let got: CaptureParams = bytemuck::pod_read_unaligned(&m.physical[&at(2)]);
        assert_eq!(got.capture.vertices, 9);
        assert_eq!(got.capture.limit, 18);
        assert_eq!(got.capture.buffers[0].get(), at(10) + 16);
        assert_eq!(got.capture.buffers[2].get(), at(12) + 40);
        assert_eq!(got.groups, [9u32.div_ceil(lanes), 5, 1]);
        // Offsets go on for the next draw; the query counts captured and all primitives.
        assert_eq!(words(&m, 1), [16 + 18 * 4, 0, 40 + 18 * 12, 0]);
        assert_eq!(words(&m, 3), [6, 0, 15, 0]);
    }
    let mut m = memory(&[(1, &[100]), (2, &[7; 4])]);
    let own = ByteCountWords {
        counter: at(1).into(),
        draw: at(2).into(),
        start: 16,
        stride: 12,
        instances: 3,
        first_instance: 4,
    };
    run(&mut m, Program::ByteCount, &own, 32, 1);
    assert_eq!(words(&m, 2), [7, 3, 0, 4]);
}

/// Ranges of a heap that do not overlap and end before `end`.
fn check_ranges(mut ranges: Vec<(u64, u64)>, end: u64) {
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{ranges:x?}");
    }
    let last = ranges.last().expect("there are ranges");
    assert!(last.0 + last.1 <= end, "{ranges:x?} end before {end:x}");
}

const EMISSION: EmissionSizes =
    EmissionSizes { invocations: 2, records_bytes: 96, indices: 5, lists: 3 };

fn place(heap_bytes: u32, lanes: u32) -> (DrawParams, u32) {
    let mut m = memory(&[(1, &[14, 3, 2, 70, 5]), (2, &vec![256; 0x4000]), (3, &[])]);
    m.physical.insert(at(3), DrawParams::default().bytes().to_vec());
    let own = PlaceWords {
        arguments: at(1).into(),
        heap: at(2).into(),
        heap_bytes,
        parameters: at(3).into(),
        indices: at(4).into(),
        in_buffer: 15,
        vertex_bytes: 32,
        emission: EMISSION,
        threads: 8,
        first_primitive: 6,
    };
    let p = Program::Place { order: Order::Triangles, index_bytes: 2, restart: false };
    run(&mut m, p, &own, lanes, 1);
    (bytemuck::pod_read_unaligned(&m.physical[&at(3)]), words(&m, 2)[0])
}

#[test]
fn buffers_of_a_draw_are_apart_and_in_the_heap() {
    for lanes in LANES {
        let (p, used) = place(0x10000, lanes);
        let (primitives, instances) = (4, 3);
        let (vertices, emissions) = (primitives * 3 * instances, primitives * instances * 2);
        let heap = at(2);
        check_ranges(
            vec![
                (p.list.list.get(), 4 * u64::from(vertices)),
                (p.stage.vertices.get(), 32 * u64::from(vertices)),
                (p.stage.output.get(), 96 * u64::from(emissions)),
                (p.stage.list.get(), 4 * 5 * 3 * u64::from(emissions)),
                (p.gather.table.get(), 4 * u64::from(emissions)),
            ],
            heap + u64::from(used),
        );
        assert_eq!((p.stage.count, p.stage.first, p.stage.patch_vertices), (primitives, 6, 3));
        assert_eq!(p.vertex.buffers[0], p.stage.vertices);
        assert_eq!(p.vertex.vertices, 12);
        // From index 2 on, of which the buffer has 15.
        assert_eq!((p.list.indices.get(), p.list.in_buffer), (at(4) + 4, 13));
        assert_eq!((p.list.added, p.list.count, p.first_instance), (70, 12, 5));
        assert_eq!(p.list_groups, [12u32.div_ceil(lanes), 1, 1]);
        assert_eq!(p.vertex_groups, [12u32.div_ceil(lanes), instances, 1]);
        assert_eq!(p.geometry_groups, [1, instances, 1]);
        assert_eq!(p.gather_groups, [emissions.div_ceil(lanes), 1, 1]);
        assert_eq!((p.gather.invocations, p.gather.records), (emissions, p.stage.output));
        assert_eq!(p.tessellate.patches, p.stage.output);
        let first = ((p.stage.list.get() - heap) / 4) as u32;
        let draw = DrawIndexedArguments {
            count: emissions * 5,
            instances: 1,
            first,
            ..DrawIndexedArguments::default()
        };
        assert_eq!(p.draw, draw);
    }
    // Without room, nothing is drawn.
    let (p, used) = place(0x400, 32);
    assert_eq!((p.stage.count, p.draw.count, p.vertex_groups[0]), (0, 0, 0));
    assert!(used <= 0x400);
}

/// Runs the program between the tessellator's counts and its points, of 70 patches in 7 instances. The patches have 9 points and
/// 12 indices each, or together such of the first.
fn tessellated(geometry: bool, unlike: u32) -> (DrawParams, DrawParams, u32) {
    let (patches, each) = (70, 10);
    let sums = |n: u32| (0..patches).map(|k| k * n).collect::<Vec<u32>>();
    let before = DrawParams {
        stage: StageWords { patches: at(9).into(), count: each, first: 4, ..StageWords::default() },
        tessellate: TessellateWords {
            points: at(4).into(),
            indices: at(5).into(),
            count: patches,
            ..TessellateWords::default()
        },
        points: [patches * 9; 2],
        indices: [patches * 12; 2],
        unlike,
        ..DrawParams::default()
    };
    let mut m = memory(&[(2, &vec![256; 0x10000]), (4, &sums(9)), (5, &sums(12))]);
    m.physical.insert(at(1), before.bytes().to_vec());
    m.physical.insert(at(3), DrawParams::default().bytes().to_vec());
    let own = PlaceTessellatedWords {
        parameters: at(1).into(),
        heap: at(2).into(),
        heap_bytes: 0x40000,
        later: at(3).into(),
        vertex_bytes: 48,
        emission: EMISSION,
        vertices: 3,
    };
    run(&mut m, Program::PlaceTessellated(geometry), &own, 32, 1);
    let params = |k: u64| bytemuck::pod_read_unaligned(&m.physical[&at(k)]);
    (params(1), params(3), words(&m, 2)[0])
}

#[test]
fn patches_with_equal_levels_are_instances_of_one() {
    let used = |n: u32| at(2) + u64::from(n);
    let (p, _, end) = tessellated(false, 0);
    assert_eq!((p.draw.count, p.draw.instances), (12, 70));
    assert_eq!((p.tessellate_groups, p.tessellate_threads), ([1, 1, 1], [0, 1, 1]));
    assert_eq!((p.evaluate.count, p.evaluate.patch_count, p.evaluate.first), (9, 10, 4));
    assert_eq!(p.evaluate.patches.get(), at(9));
    let own = p.tessellate;
    let sizes = |n: u64| {
        [(own.list.get(), n * 9 * u64::from(TESSELLATED_B)), (own.index_list.get(), n * 12 * 4)]
    };
    check_ranges(sizes(1).to_vec(), used(end));
    let (p, _, end) = tessellated(false, 1);
    assert_eq!((p.draw.count, p.draw.instances), (70 * 12, 1));
    // Many patches have a thread each.
    assert_eq!((p.tessellate_groups, p.tessellate_threads), ([0, 1, 1], [3, 1, 1]));
    let own = p.tessellate;
    let sizes = |n: u64| {
        [(own.list.get(), n * 9 * u64::from(TESSELLATED_B)), (own.index_list.get(), n * 12 * 4)]
    };
    check_ranges(sizes(70).to_vec(), used(end));
    // A geometry shader reads all primitives.
    let (p, later, end) = tessellated(true, 0);
    let (points, primitives) = (70 * 9, 70 * 12 / 3);
    let own = p.tessellate;
    let mut ranges = vec![
        (own.list.get(), 70 * 9 * u64::from(TESSELLATED_B)),
        (own.index_list.get(), 70 * 12 * 4),
    ];
    let emissions = u64::from(primitives) * 2;
    ranges.extend([
        (p.evaluate.output.get(), points * 48),
        (later.stage.output.get(), emissions * 96),
        (later.stage.list.get(), emissions * 5 * 3 * 4),
        (later.gather.table.get(), emissions * 4),
    ]);
    check_ranges(ranges, used(end));
    assert_eq!(p.evaluate_groups, [(points as u32).div_ceil(32), 1, 1]);
    assert_eq!((later.stage.count, later.stage.patch_count), (primitives, 10));
    assert_eq!(later.stage.vertices, p.evaluate.output);
    assert_eq!((later.stage.indices, later.stage.points), (own.index_list, own.list));
    assert_eq!(later.geometry_groups, [(emissions as u32).div_ceil(32), 1, 1]);
    assert_eq!((later.draw.count, later.draw.instances), (emissions as u32 * 5, 1));
    assert_eq!(u64::from(later.draw.first), (later.stage.list.get() - at(2)) / 4);
}
