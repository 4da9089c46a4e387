//! Derivatives in compute shaders, whose invocations form groups of four: squares of their positions, or four of their numbers.

use ash::vk;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer};
use crate::number::Random;

/// Levels of the texture; each texel has the number of its level.
const LEVELS: u32 = 6;
/// Width and height of the texture.
const SIDE: u32 = 32;
/// Workgroups in each direction.
const GROUPS: [u32; 3] = [2, 2, 1];

/// A dispatch: the size of workgroups, and whether groups are squares.
#[derive(Clone, Copy)]
struct Grid {
    size: [u32; 3],
    squares: bool,
}

impl Grid {
    /// Invocations in each direction.
    fn all(self) -> [u32; 3] {
        std::array::from_fn(|k| self.size[k] * GROUPS[k])
    }

    /// The position of an invocation, and its number within the workgroup.
    fn place(self, number: u32) -> ([u32; 3], u32) {
        let [w, h, _] = self.all();
        let at = [number % w, number / w % h, number / (w * h)];
        let local: [u32; 3] = std::array::from_fn(|k| at[k] % self.size[k]);
        (at, (local[2] * self.size[1] + local[1]) * self.size[0] + local[0])
    }

    /// The numbers of the four invocations of an invocation's group, in their order, and its place among them.
    fn quad(self, number: u32) -> ([u32; 4], u32) {
        let [w, h, _] = self.all();
        let ([x, y, z], index) = self.place(number);
        let of = |at: [u32; 3]| (at[2] * h + at[1]) * w + at[0];
        if self.squares {
            let all =
                std::array::from_fn(|k| of([x & !1 | k as u32 & 1, y & !1 | k as u32 >> 1, z]));
            return (all, (y & 1) << 1 | x & 1);
        }
        let first: [u32; 3] = std::array::from_fn(|k| [x, y, z][k] / self.size[k] * self.size[k]);
        let all = std::array::from_fn(|k| {
            let n = index & !3 | k as u32;
            let [sx, sy, _] = self.size;
            of([first[0] + n % sx, first[1] + n / sx % sy, first[2] + n / (sx * sy)])
        });
        (all, index & 3)
    }
}

fn case(name: &str, grid: Grid) -> Case {
    let group = if grid.squares { "derivative_group_quadsNV" } else { "derivative_group_linearNV" };
    let [x, y, z] = grid.size;
    let shader = Shader::new("derivatives.comp")
        .define("GROUP", group)
        .define("X", x)
        .define("Y", y)
        .define("Z", z);
    let about = "derivatives and levels of detail in a compute shader";
    Case::new(format!("derivatives/{name}"), about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        gpu.require(crate::gpu::COMPUTE_DERIVATIVES)?;
        let count: u32 = grid.all().iter().product();
        let mut random = Random::new(77);
        let values: Vec<f32> = (0..count).map(|_| random.float(-500.0, 500.0).round()).collect();
        // Each group of four looks at a place of its own, at a level of its own.
        let level = |first: u32| first.wrapping_mul(2_654_435_761) >> 16 & 3;
        let step = |first: u32| (1 << level(first)) as f32 / SIDE as f32;
        let places: Vec<f32> = (0..count)
            .flat_map(|n| {
                let (quad, k) = grid.quad(n);
                let at = |side: u32| 0.25 + step(quad[0]) * side as f32;
                [at(k & 1), at(k >> 1)]
            })
            .collect();
        let spec = ImageSpec::sampled(vk::Format::R32_SFLOAT, Shape::D2, [SIDE, SIDE, 1]);
        let spec = spec.through(Transfer::Gpu).levels(LEVELS);
        let texels = |level: u32| {
            let [width, height, _] = spec.level_px(level);
            (level as f32).to_le_bytes().repeat((width * height) as usize)
        };
        let image = gpu.image_of(spec, &(0..LEVELS).map(texels).collect::<Vec<_>>())?;
        let repeat = vk::SamplerAddressMode::REPEAT;
        let sampler = gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, repeat))?;
        let (a, p) = (gpu.buffer(&values)?, gpu.buffer(&places)?);
        let r = gpu.poisoned(count as usize * 64)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::Texture(image.view, sampler))
            .storage(&[&a, &p, &r])
            .build()?;
        gpu.run(&kernel, GROUPS)?;
        let read: Vec<f32> = r.read();
        // Coarse derivatives are those of either row or column.
        let expected = |row: usize| -> Vec<f32> {
            let of = |n: u32| {
                let (quad, k) = grid.quad(n);
                let f = quad.map(|q| values[q as usize]);
                let k = k as usize;
                let (x, y) = (f[k | 1] - f[k & !1], f[k | 2] - f[k & !2]);
                let (dx, dy) = (f[2 * row + 1] - f[2 * row], f[2 + row] - f[row]);
                let (level, step) = (level(quad[0]) as f32, step(quad[0]));
                let index = grid.place(n).1 as f32;
                [
                    [x, y, x.abs() + y.abs(), index],
                    [dx, dy, dx, dy],
                    [level, level + 1.0, level, level],
                    [10.0 * x, step, 0.0, step],
                ]
            };
            (0..count).flat_map(|n| of(n).concat()).collect()
        };
        let [first, second] = [0, 1].map(expected);
        Ok(vec![Output::cpu("r", &read, &first, Rule::Abs(1.0 / 128.0)).or(&second)])
    })
    .without_honeykrisp()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let grid = |squares, size| Grid { size, squares };
    vec![
        case("squares", grid(true, [8, 4, 1])),
        case("squares_one", grid(true, [2, 2, 1])),
        case("squares_deep", grid(true, [6, 2, 3])),
        case("squares_many", grid(true, [32, 32, 1])),
        case("row", grid(false, [32, 1, 1])),
        case("row_one", grid(false, [4, 1, 1])),
        case("row_odd", grid(false, [3, 4, 3])),
        case("row_many", grid(false, [256, 4, 1])),
    ]
}
