//! Scenes: the primitives that draws have added to a tiler context.

use std::collections::HashMap;
use std::sync::Arc;

use tepui_raster::{Shape, WindowPlane};

use super::draw::Draw;
use crate::job::{FaultKind, JobFault, Unit};

/// Limit on the bytes of all scenes of a group, above which the heap is treated as exhausted.
const MAX_BYTES: usize = 1 << 30;

/// Limit on the bytes of a scene whose memory is reused.
const MAX_SPARE_BYTES: usize = 64 << 20;

/// The barycentric coordinates of a primitive as plane equations over the window.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barycentrics {
    /// 1/w.
    pub one_over_w: WindowPlane,
    /// The coordinates of the second and third vertex, over w.
    pub over_w: [WindowPlane; 2],
}

/// The value of a plane at a point of the window.
#[inline(always)]
pub(crate) fn value(plane: &WindowPlane, [x, y]: [f64; 2]) -> f64 {
    plane[0] * x + plane[1] * y + plane[2]
}

impl Barycentrics {
    /// The weights of the three vertices at a point.
    #[inline(always)]
    pub fn at(&self, point: [f64; 2]) -> [f32; 3] {
        let w = 1.0 / value(&self.one_over_w, point);
        let b = value(&self.over_w[0], point) * w;
        let c = value(&self.over_w[1], point) * w;
        [(1.0 - b - c) as f32, b as f32, c as f32]
    }
}

/// Data of a primitive that pixels need.
#[derive(Clone)]
pub(crate) struct Primitive {
    /// Its draw.
    pub draw: u32,
    /// Its layer, relative to the context's first.
    pub layer: u32,
    /// Its index in the draw's instance.
    pub number: u32,
    /// Whether it is front-facing.
    pub front: bool,
    /// The plane of window depth, without bias.
    pub depth: WindowPlane,
    /// Window positions of the vertices, if depth has a bias.
    pub biased: Option<Box<[[f32; 4]; 3]>>,
    /// Barycentric coordinates for the interpolation of varyings.
    pub barycentrics: Barycentrics,
    /// Offsets of its vertices' varyings in [`Scene::varyings`].
    pub vertices: [u32; 3],
    /// The index of the provoking vertex, which gives flat varyings.
    pub provoking: u8,
    /// For points, the planes of the point coordinates, with y downwards.
    pub point: Option<Box<[WindowPlane; 2]>>,
}

/// The primitives of a tiler context.
#[derive(Clone, Default)]
pub(crate) struct Scene {
    /// The draws, in order.
    pub draws: Vec<Draw>,
    /// Their primitives, in order.
    pub primitives: Vec<Primitive>,
    /// The shapes of the primitives, in order.
    pub shapes: Vec<Shape>,
    /// Varyings of vertices.
    pub varyings: Vec<u8>,
}

impl Scene {
    fn clear(&mut self) {
        self.draws.clear();
        self.primitives.clear();
        self.shapes.clear();
        self.varyings.clear();
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.draws.len() * size_of::<Draw>()
            + self.primitives.len() * size_of::<Primitive>()
            + self.shapes.len() * size_of::<Shape>()
            + self.varyings.len()
    }
}

/// The scenes of a group, by number.
#[derive(Clone, Default)]
pub(crate) struct Scenes {
    scenes: HashMap<u32, Arc<Scene>>,
    /// Scenes that a frame has been rendered from.
    drawn: Vec<u32>,
    last: u32,
    /// Bytes of all scenes.
    bytes: usize,
    /// An empty scene, whose memory a new one reuses.
    spare: Option<Arc<Scene>>,
}

impl Scenes {
    /// A new scene's number.
    pub fn create(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.scenes.contains_key(&self.last) {
                self.scenes.insert(self.last, self.spare.take().unwrap_or_default());
                return self.last;
            }
        }
    }

    /// Records that a frame has been rendered from a scene.
    pub fn drawn(&mut self, number: u32) {
        if !self.drawn.contains(&number) {
            self.drawn.push(number);
        }
    }

    /// Removes the scenes that frames have been rendered from: their heap is reused.
    pub fn remove_drawn(&mut self) {
        for number in std::mem::take(&mut self.drawn) {
            self.remove(number);
        }
    }

    /// Bytes of all scenes, which stand for those of the heap that they would take on silicon.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// A scene.
    pub fn get(&self, number: u32) -> Option<Arc<Scene>> {
        self.scenes.get(&number).cloned()
    }

    /// Modifies a scene.
    pub fn change(
        &mut self,
        number: u32,
        body: impl FnOnce(&mut Scene) -> Result<(), JobFault>,
    ) -> Result<(), JobFault> {
        let Some(scene) = self.scenes.get_mut(&number) else {
            let what = format!("the tiler context names scene {number}, which there is not");
            return Err(JobFault::new(Unit::Tiler, what));
        };
        // Tools copy groups; a scene with another reference is copied on write.
        let scene = Arc::make_mut(scene);
        let before = scene.bytes();
        let outcome = body(scene);
        self.bytes = self.bytes - before.min(self.bytes) + scene.bytes();
        if self.bytes > MAX_BYTES {
            let what = format!("the primitives need more than {MAX_BYTES} bytes of the heap");
            return Err(JobFault::new(Unit::Tiler, what).of(FaultKind::Endless));
        }
        outcome
    }

    /// Frees a scene.
    pub fn remove(&mut self, number: u32) {
        self.drawn.retain(|drawn| *drawn != number);
        if let Some(mut scene) = self.scenes.remove(&number) {
            self.bytes -= scene.bytes().min(self.bytes);
            if let Some(own) = Arc::get_mut(&mut scene).filter(|own| own.bytes() <= MAX_SPARE_BYTES)
            {
                own.clear();
                self.spare = Some(scene);
            }
        }
    }
}
