//! Midgard's varyings that are in no buffer.
//!
// source: Mesa, pan_cmdstream.c (panfrost_emit_varying_descriptor: special records).

use crate::pixels::{Pixels, Point};

/// Types of varyings that are in no buffer: the point coordinate.
const POINT_COORDINATE: u8 = 33;
const FRAGMENT_COORDINATE: u8 = 37;
const FRONT_FACING: u8 = 38;
/// The point coordinate that counts from below.
const POINT_COORDINATE_FROM_BELOW: u8 = 97;

/// The position at which a lane's varyings are interpolated.
pub fn place(pixels: &Pixels, lane: usize, centroid: bool) -> Point {
    let own = &pixels.lanes[lane];
    match pixels.state.as_ref().is_some_and(|p| p.per_sample) {
        true => Point::Sample(own.sample),
        false if centroid => Point::Centroid(own.coverage),
        false => Point::Centre,
    }
}

/// The value of a varying that is in no buffer.
pub fn builtin(pixels: &Pixels, lane: usize, special: u8) -> Option<[u32; 4]> {
    let at = place(pixels, lane, false);
    let primitive = pixels.primitive(lane);
    let one = 1f32.to_bits();
    Some(match special {
        FRAGMENT_COORDINATE => {
            let [x, y] = pixels.point(lane, at);
            let [low, high] = pixels.state.as_ref().map_or([0.0, 1.0], |p| p.range);
            let z = pixels.depth(lane, pixels.within(lane, at)).clamp(low, high);
            let w = primitive
                .map_or(1.0, |p| crate::pixels::scene::value(&p.barycentrics.one_over_w, [x, y]));
            [x as f32, y as f32, z, w as f32].map(f32::to_bits)
        }
        FRONT_FACING => [u32::from(primitive.is_none_or(|p| p.front)).wrapping_neg(); 4],
        POINT_COORDINATE | POINT_COORDINATE_FROM_BELOW => {
            let planes = primitive.and_then(|p| p.point.as_ref());
            let place = pixels.point(lane, at);
            let mut s = planes.map_or([0.0; 2], |planes| {
                [0, 1].map(|k| crate::pixels::scene::value(&planes[k], place) as f32)
            });
            if special == POINT_COORDINATE_FROM_BELOW {
                s[1] = 1.0 - s[1];
            }
            [s[0].to_bits(), s[1].to_bits(), 0, one]
        }
        _ => return None,
    })
}
