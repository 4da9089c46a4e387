//! Planes over the window go through the values at the vertices, for any w.

use tepui_raster::{DepthBias, FillRule, Grid, Interpolation, PrimitiveKind, WindowPlane};

const GRID: Grid = Grid::new(8, 32768, FillRule::TopLeft);

fn at(plane: WindowPlane, x: f64, y: f64) -> f64 {
    plane[0] * x + plane[1] * y + plane[2]
}

fn near(got: f64, want: f64, what: &str) {
    assert!((got - want).abs() < 1e-6, "{what}: {got}, not {want}");
}

/// Window positions x, y, z and w.
const VERTICES: [[f32; 4]; 3] =
    [[3.0, 5.5, 0.25, 1.0], [40.0, 11.25, 0.5, 2.5], [17.5, 33.0, 0.875, 0.5]];
const VALUES: [f32; 3] = [1.0, -4.0, 9.5];

fn homogeneous() -> [[f32; 4]; 3] {
    VERTICES.map(|[x, y, z, w]| [x * w, y * w, z * w, w])
}

#[test]
fn planes_of_a_triangle_go_through_its_vertices() {
    let i = Interpolation::new(PrimitiveKind::Triangle, &homogeneous());
    let (over_w, one) = (i.over_w(VALUES), i.one_over_w());
    for (v, value) in VERTICES.map(|v| v.map(f64::from)).iter().zip(VALUES) {
        let [x, y, z, w] = *v;
        near(at(one, x, y), 1.0 / w, "1/w");
        near(at(over_w, x, y) / at(one, x, y), value.into(), "with perspective");
        near(at(i.linear(VALUES), x, y), value.into(), "linear");
        near(at(i.depth(&homogeneous()), x, y), z, "depth");
    }
}

#[test]
fn planes_of_a_line_change_along_it_alone() {
    let i = Interpolation::new(PrimitiveKind::Line, &homogeneous());
    let linear = i.linear(VALUES);
    let [[x0, y0, ..], [x1, y1, ..], _] = VERTICES.map(|v| v.map(f64::from));
    near(at(linear, x0, y0), VALUES[0].into(), "one end");
    near(at(linear, x1, y1), VALUES[1].into(), "the other");
    let (across_x, across_y) = (y0 - y1, x1 - x0);
    near(at(linear, x0 + across_x, y0 + across_y), VALUES[0].into(), "beside one end");
}

#[test]
fn a_point_has_one_value_and_coordinates_from_0_to_1() {
    let i = Interpolation::new(PrimitiveKind::Point, &homogeneous());
    assert_eq!(at(i.linear(VALUES), 77.0, -5.0), f64::from(VALUES[0]));
    let [x, y, ..] = VERTICES[0].map(f64::from);
    for top in [true, false] {
        let [s, t] = i.point_coordinates(&GRID, homogeneous()[0], 8.0, top);
        near(at(s, x - 4.0, y), 0.0, "left");
        near(at(s, x + 4.0, y + 1.0), 1.0, "right");
        near(at(t, x, y - 4.0), f64::from(u8::from(!top)), "above");
        near(at(t, x + 1.0, y + 4.0), f64::from(u8::from(top)), "below");
    }
    // Points are no smaller than a sub-pixel.
    for (size_px, seen) in [(0.25, 0.25), (0.0, 1.0 / 256.0)] {
        let [s, t] = i.point_coordinates(&GRID, homogeneous()[0], size_px, true);
        near(at(s, x + seen / 2.0, y) - at(s, x - seen / 2.0, y), 1.0, "across");
        near(at(t, x, y + seen / 2.0) - at(t, x, y - seen / 2.0), 1.0, "down");
    }
}

#[test]
fn a_bias_is_a_sum_that_is_clamped() {
    let i = Interpolation::new(PrimitiveKind::Triangle, &homogeneous());
    let plain = i.depth(&homogeneous());
    let slope = plain[0].abs().max(plain[1].abs());
    let added = |bias: DepthBias| i.biased_depth(&homogeneous(), &bias)[2] - plain[2];
    let bias = DepthBias { constant: 3.0, slope: 2.0, clamp: 0.0, unit: Some(0.25) };
    near(added(bias), 2.0 * slope + 0.75, "not clamped");
    near(added(DepthBias { clamp: 0.5, ..bias }), 0.5, "at most");
    near(
        added(DepthBias { clamp: -0.5, ..bias }),
        2.0 * slope + 0.75,
        "a negative limit is a lower one",
    );
    let down = DepthBias { constant: -3.0, slope: 0.0, ..bias };
    near(added(DepthBias { clamp: -0.5, ..down }), -0.5, "at least");
    near(added(DepthBias { clamp: 0.5, ..down }), -0.75, "a positive limit is an upper one");
    // The largest depth is 0.875: the last place of a float is 2^-24.
    let float = DepthBias { constant: (1u32 << 24) as f32, slope: 0.0, clamp: 0.0, unit: None };
    near(added(float), 1.0, "in last places");
}
