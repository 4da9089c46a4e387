//! The tessellator: programs that divide patches into points and primitives.
//!
//! The pattern is that of Direct3D 11's reference tessellator, which software rasterisers and Mesa's
//! drivers use too: concentric rings of points around the middle of the patch, the outermost of
//! which follows the levels of the edges, and rows of triangles between them.
//!
//! [`count`] computes the numbers of points and indices of each patch, and whether all levels are
//! equal; once the driver has turned the counts into offsets, [`fill`] writes points and indices, of
//! patches with equal levels only the first one's. Few patches are divided by a subgroup each: each
//! lane has its own points and triangles, whose places follow from their numbers. Many are divided by a
//! thread each, which wastes no lanes on patches with few points.

mod edge;
mod rings;
mod triangles;

use crate::TESSELLATED_B;
use crate::kernel::{Address, Flag, Kernel, Word};
use edge::{Edge, EdgeKind, ONE, clamped};
use rings::Rings;
use tepui_ir::{Builtin, PrimitiveKind, Shader, Spacing};
use tepui_sysval::{Field, Long, push_words};

push_words! {
    /// Words of the tessellator's programs.
    pub struct TessellateWords {
        /// Address of the records of patches.
        pub patches: Long,
        /// Address of a word for each patch: the number of its points, which [`count`] writes,
        /// then that of its first point.
        pub points: Long,
        /// Address of a word for each patch: the same of its indices.
        pub indices: Long,
        /// Address of the points that are written, [`TESSELLATED_B`] bytes each.
        pub list: Long,
        /// Address of the indices that are written.
        pub index_list: Long,
        /// Patches of all instances.
        pub count: u32,
        /// Bytes from patch to patch.
        pub stride: u32,
        /// Offset of the outer levels in a patch.
        pub outer: u32,
        /// Offset of the inner levels in a patch.
        pub inner: u32,
        /// Address of a word that [`count`] sets to one if the levels of patches differ.
        pub unlike: Long,
    }
}

/// Tessellation modes of an evaluation shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tessellation {
    /// Triangles, quads or isolines.
    pub domain: PrimitiveKind,
    /// Spacing of the points on edges.
    pub spacing: Spacing,
    /// The points are drawn, without triangles or lines.
    pub points: bool,
    /// Triangles are clockwise where u goes right and v up.
    pub clockwise: bool,
}

impl Tessellation {
    /// Maximum numbers of points and indices of a patch: those of levels of 64.
    #[must_use]
    pub fn most(&self) -> (u32, u32) {
        let (points, indices) = match self.domain {
            PrimitiveKind::Isolines => (64 * 65, 2 * 64 * 64),
            // Rings of two points more on each of three sides, around a point, and as many triangles as between them.
            PrimitiveKind::Triangles => (1 + 6 * 32 * 33 / 2, 3 * 6 * 32 * 32),
            _ => (65 * 65, 3 * 2 * 64 * 64),
        };
        (points, if self.points { points } else { indices })
    }

    /// Primitives of the index list.
    #[must_use]
    pub fn output(&self) -> PrimitiveKind {
        match self.domain {
            _ if self.points => PrimitiveKind::Points,
            PrimitiveKind::Isolines => PrimitiveKind::Lines,
            _ => PrimitiveKind::Triangles,
        }
    }
}

/// Makes the program that counts the points and indices of patches, one for each thread.
#[must_use]
pub fn count(t: &Tessellation, lanes: u32) -> Shader {
    let k = Kernel::new(lanes, "count_tessellated");
    let patch = k.builtin(Builtin::GlobalInvocationId, 0);
    k.when(patch.less(k.driver(TessellateWords::COUNT)), || {
        let pattern = Pattern::new(&k, t, patch);
        let (points, indices) = pattern.counts(&k, t);
        for (table, n) in [(TessellateWords::POINTS, points), (TessellateWords::INDICES, indices)] {
            let n = pattern.drawn.select(n, 0);
            k.driver_address(table).plus(patch, 4).store(0, &[n]);
        }
        let first = levels(&k, t, k.word(0));
        let same = levels(&k, t, patch).into_iter().zip(first).map(|(a, b)| a.is(b));
        let unlike = !same.fold(k.flag(true), |all, same| all & same);
        k.when(unlike, || k.driver_address(TessellateWords::UNLIKE).store(0, &[k.word(1)]));
    });
    k.finish()
}

/// Edges of a patch that outer levels divide; there are two inner levels less, and none of isolines.
fn edges(t: &Tessellation) -> u32 {
    match t.domain {
        PrimitiveKind::Isolines => 2,
        PrimitiveKind::Triangles => 3,
        _ => 4,
    }
}

/// The levels of a patch that count: outer, then inner.
fn levels<'k>(k: &'k Kernel, t: &Tessellation, patch: Word<'k>) -> Vec<Word<'k>> {
    let record =
        k.driver_address(TessellateWords::PATCHES).plus(patch, k.driver(TessellateWords::STRIDE));
    let level = |of: Field<TessellateWords, u32>, n: u32| record.plus(k.driver(of), 1).load(4 * n);
    let outer = (0..edges(t)).map(|n| level(TessellateWords::OUTER, n));
    outer.chain((0..edges(t) - 2).map(|n| level(TessellateWords::INNER, n))).collect()
}

/// Threads that divide a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Worker {
    /// A workgroup of one sub-group.
    Group,
    /// A thread.
    Thread,
}

/// Makes the program that writes the points and indices of patches.
#[must_use]
pub fn fill(t: &Tessellation, worker: Worker, lanes: u32) -> Shader {
    let k = Kernel::new(lanes, "tessellate");
    match worker {
        Worker::Group => {
            let patch = k.builtin(Builtin::WorkgroupId, 0);
            fill_patch(&k, t, patch, Some((k.builtin(Builtin::LocalInvocationId, 0), lanes)));
        }
        Worker::Thread => {
            let patch = k.builtin(Builtin::GlobalInvocationId, 0);
            let there = patch.less(k.driver(TessellateWords::COUNT));
            k.when(there, || fill_patch(&k, t, patch, None));
        }
    }
    k.finish()
}

/// Writes the points and indices of a patch, as a lane of a sub-group or alone.
fn fill_patch<'k>(k: &'k Kernel, t: &Tessellation, patch: Word<'k>, lane: Option<(Word<'k>, u32)>) {
    let pattern = Pattern::new(k, t, patch);
    let first = k.driver_address(TessellateWords::POINTS).plus(patch, 4).load(0);
    let to = Output {
        k,
        lane,
        patch,
        first,
        points: k.driver_address(TessellateWords::LIST).plus(first, TESSELLATED_B),
        indices: {
            let first = k.driver_address(TessellateWords::INDICES).plus(patch, 4).load(0);
            k.driver_address(TessellateWords::INDEX_LIST).plus(first, 4)
        },
        clockwise: t.clockwise,
    };
    k.when(pattern.drawn, || {
        pattern.points(&to);
        if t.points {
            let (points, _) = pattern.counts(k, t);
            to.lanes(points, |n| to.indices(n, &[n]));
        } else {
            pattern.primitives(&to);
        }
    });
}

/// Destination of a patch's points and indices.
struct Output<'k> {
    k: &'k Kernel,
    /// The lane and their number, unless there is one for all of the patch.
    lane: Option<(Word<'k>, u32)>,
    patch: Word<'k>,
    /// Number of the patch's first point.
    first: Word<'k>,
    points: Address<'k>,
    indices: Address<'k>,
    clockwise: bool,
}

impl<'k> Output<'k> {
    /// Runs `f` for the numbers below `count`, one for each lane at a time.
    fn lanes(&self, count: Word<'k>, f: impl FnOnce(Word<'k>)) {
        match self.lane {
            Some((lane, lanes)) => self.k.range(lane, count, lanes, f),
            None => self.k.range(0, count, 1, f),
        }
    }

    /// Writes a point of the patch.
    fn point(&self, number: Word<'k>, [u, v]: [Word<'k>; 2]) {
        let float = |at: Word<'k>| at.to_float().float_times(1.0 / ONE as f32);
        self.points.plus(number, TESSELLATED_B).store(0, &[self.patch, float(u), float(v)]);
    }

    /// Writes the indices of a primitive; points are numbered within the patch.
    fn indices(&self, primitive: Word<'k>, points: &[Word<'k>]) {
        let words: Vec<Word<'k>> = points.iter().map(|&p| p + self.first).collect();
        self.indices.plus(primitive, 4 * words.len() as u32).store(0, &words);
    }

    /// Writes the indices of a triangle whose points go counter-clockwise.
    fn triangle(&self, number: Word<'k>, [a, b, c]: [Word<'k>; 3]) {
        self.indices(number, &if self.clockwise { [a, c, b] } else { [a, b, c] });
    }
}

/// The pattern of a patch.
struct Pattern<'k> {
    /// Whether the patch is drawn: no level of an edge is zero, negative or no number.
    drawn: Flag<'k>,
    kind: Subdivision<'k>,
}

enum Subdivision<'k> {
    /// Triangles or quads.
    Rings(Rings<'k>),
    /// Lines and their points.
    Isolines {
        /// The lines; there is none at the end of the edge.
        lines: Edge<'k>,
        /// The points of each.
        line: Edge<'k>,
    },
}

impl<'k> Pattern<'k> {
    fn new(k: &'k Kernel, t: &Tessellation, patch: Word<'k>) -> Pattern<'k> {
        let mut outer = levels(k, t, patch);
        let inner = outer.split_off(edges(t) as usize);
        let drawn = outer.iter().fold(k.flag(true), |all, l| all & l.float_more(0.0));
        let divided = |l: Word<'k>, spacing| {
            Edge::new(k, clamped(l, spacing, EdgeKind::Outside), spacing, false)
        };
        let kind = match t.domain {
            PrimitiveKind::Isolines => Subdivision::Isolines {
                lines: divided(outer[0], Spacing::Equal),
                line: divided(outer[1], t.spacing),
            },
            _ => Subdivision::Rings(Rings::new(k, t.spacing, outer, inner)),
        };
        Pattern { drawn, kind }
    }

    /// Numbers of points and indices.
    fn counts(&self, k: &'k Kernel, t: &Tessellation) -> (Word<'k>, Word<'k>) {
        let (points, indices) = match &self.kind {
            Subdivision::Rings(r) => (r.point_count(), r.triangle_count(k) * 3),
            Subdivision::Isolines { lines, line } => {
                let n = lines.points - 1;
                (n * line.points, n * (line.points - 1) * 2)
            }
        };
        (points, if t.points { points } else { indices })
    }

    fn points(&self, to: &Output<'k>) {
        match &self.kind {
            Subdivision::Rings(r) => r.points(to),
            Subdivision::Isolines { lines, line } => {
                to.lanes((lines.points - 1) * line.points, |n| {
                    let row = n.over(line.points);
                    let in_row = n - row * line.points;
                    let at = [line.position(to.k, in_row), lines.position(to.k, row)];
                    to.point(n, at);
                });
            }
        }
    }

    fn primitives(&self, to: &Output<'k>) {
        match &self.kind {
            Subdivision::Rings(r) => r.triangles(to),
            Subdivision::Isolines { lines, line } => {
                let each = line.points - 1;
                to.lanes((lines.points - 1) * each, |n| {
                    // A line has one point more than segments.
                    let from = n + n.over(each);
                    to.indices(n, &[from, from + 1]);
                });
            }
        }
    }
}
