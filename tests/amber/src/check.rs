//! Checks the expectations of a script against buffers.

use tepui_format::Format;
use tepui_format::texel::{self, TexelCodec};

use crate::content::Content;
use crate::data::{Number, Scalar, has_channel};
use crate::script::{Check, Comparison, Tolerance};

/// The default tolerance.
const EPSILON: f64 = 1e-6;
/// Steps of a colour from 0 to 1. A histogram has one bin more.
const STEPS: f64 = 255.0;

type CheckResult = Result<(), String>;

/// Packs a colour into a texel.
pub(crate) fn texel(format: Format, colour: [f32; 4]) -> Option<Vec<u8>> {
    let c = TexelCodec::new(format).ok()?;
    let raw = match c.is_float() {
        true => c.pack_f32(colour),
        false => c.pack_u32(colour.map(|v| (f64::from(v) * STEPS).round() as u32)),
    };
    Some(raw.to_le_bytes()[..c.bytes()].to_vec())
}

/// Unpacks the colours of an image: floats, or integers in 255ths.
fn pixels(content: &Content) -> Result<Vec<[f64; 4]>, String> {
    let t = content.texels.ok_or("the buffer has no pixels")?;
    let c = TexelCodec::new(t.format).map_err(|e| e.to_string())?;
    let colour = |b: &[u8]| match c.is_float() {
        true => c.unpack_f32(texel::load(b)).map(f64::from),
        false => c.unpack_u32(texel::load(b)).map(|v| f64::from(v) / STEPS),
    };
    Ok(content.bytes.chunks_exact(c.bytes()).map(colour).collect())
}

/// Checks an expectation.
///
/// # Errors
/// The first difference.
pub(crate) fn holds(content: &Content, check: &Check, all: &[Content]) -> CheckResult {
    match check {
        Check::Numbers { at, comparison, numbers, tolerances } => {
            each_number(content, *at, *comparison, numbers, tolerances)
        }
        Check::Pixels { rectangle, colour, tolerances } => {
            each_pixel(content, *rectangle, colour, tolerances)
        }
        Check::Same(other) => same_bytes(&content.bytes, &all[*other].bytes),
        Check::MeanSquare(other, limit) => {
            let distance = mean_square(&numbers(content)?, &numbers(&all[*other])?)?;
            check_limit(distance, *limit)
        }
        Check::Histogram(other, limit) => {
            check_limit(histograms(&pixels(content)?, &pixels(&all[*other])?, content)?, *limit)
        }
    }
}

fn check_limit(distance: f64, limit: f64) -> CheckResult {
    match distance <= limit {
        true => Ok(()),
        false => Err(format!("a distance of {distance}; at most {limit} is allowed")),
    }
}

fn each_number(
    content: &Content,
    at: usize,
    comparison: Comparison,
    numbers: &[Number],
    tolerances: &[Tolerance],
) -> CheckResult {
    let e = content.element.ok_or("its elements are not numbers")?;
    for (n, &want) in numbers.iter().enumerate() {
        let place = at + e.place(n);
        let got = content.bytes.get(place..).and_then(|b| e.scalar.decode(b));
        let got = got.ok_or_else(|| format!("the buffer ends before byte {place}"))?;
        let tolerance = tolerances.get(n).or(tolerances.first()).copied();
        // The expected number rounded to the float type.
        let want = match e.scalar {
            Scalar::Float(_) => {
                e.scalar.decode(&e.scalar.encode(want).to_le_bytes()).unwrap_or(want)
            }
            _ => want,
        };
        if !compare(got, comparison, want, tolerance) {
            return Err(format!("{got:?} at byte {place}, expected {comparison:?} {want:?}"));
        }
    }
    Ok(())
}

fn compare(got: Number, how: Comparison, want: Number, tolerance: Option<Tolerance>) -> bool {
    let (g, w) = (got.float(), want.float());
    let equal = match (tolerance, got) {
        (Some(t), _) => within_tolerance(g, w, t),
        (None, Number::Int(g)) => g == want.int(),
        (None, Number::Float(_)) => {
            within_tolerance(g, w, Tolerance { by: EPSILON, percent: false })
        }
    };
    match how {
        Comparison::Eq => equal,
        Comparison::Ne => !equal,
        Comparison::Lt => g < w,
        Comparison::Le => g <= w,
        Comparison::Gt => g > w,
        Comparison::Ge => g >= w,
    }
}

fn within_tolerance(got: f64, want: f64, t: Tolerance) -> bool {
    let by = if t.percent { want.abs() * t.by / 100.0 } else { t.by };
    got == want || (got - want).abs() <= by || got.is_nan() && want.is_nan()
}

fn each_pixel(
    content: &Content,
    [x, y, width, height]: [u32; 4],
    colour: &[f64],
    tolerances: &[Tolerance],
) -> CheckResult {
    let all = pixels(content)?;
    let Some(t) = content.texels else { return Err("the buffer has no pixels".to_owned()) };
    let size = t.size_px;
    let inside = |at: u32, n: u32, size: u32| at.checked_add(n).is_some_and(|end| end <= size);
    if !inside(x, width, size[0]) || !inside(y, height, size[1]) {
        return Err(format!("the rectangle exceeds {} × {} pixels", size[0], size[1]));
    }
    for row in y..y + height {
        for column in x..x + width {
            let got = all[row as usize * size[0] as usize + column as usize];
            for (n, want) in colour.iter().enumerate() {
                let tolerance = tolerances.get(n).or(tolerances.first());
                let by = match tolerance {
                    Some(Tolerance { by, percent: true }) => want.abs() / STEPS * by / 100.0,
                    // An 8-bit colour is rounded.
                    Some(t) => t.by / STEPS + EPSILON,
                    None => EPSILON,
                };
                if !within_tolerance(got[n], want / STEPS, Tolerance { by, percent: false }) {
                    let got = got.map(|v| v * STEPS);
                    return Err(format!("{got:?} at pixel {column} {row}, expected {colour:?}"));
                }
            }
        }
    }
    Ok(())
}

fn same_bytes(a: &[u8], b: &[u8]) -> CheckResult {
    if a.len() != b.len() {
        return Err(format!("{} bytes instead of {}", a.len(), b.len()));
    }
    match a.iter().zip(b).position(|(a, b)| a != b) {
        Some(at) => Err(format!("{:#x} instead of {:#x} at byte {at}", a[at], b[at])),
        None => Ok(()),
    }
}

/// Components of pixels in 255ths, or numbers of a buffer.
fn numbers(content: &Content) -> Result<Vec<f64>, String> {
    if content.texels.is_some() {
        return Ok(pixels(content)?.into_iter().flatten().map(|v| v * STEPS).collect());
    }
    let e = content.element.ok_or("its elements are not numbers")?;
    let count = content.bytes.len() / e.stride() * e.numbers();
    let number = |n| e.scalar.decode(content.bytes.get(e.place(n)..)?).map(Number::float);
    Ok((0..count).filter_map(number).collect())
}

fn mean_square(a: &[f64], b: &[f64]) -> Result<f64, String> {
    if a.len() != b.len() {
        return Err(format!("{} numbers instead of {}", a.len(), b.len()));
    }
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    Ok((sum / a.len().max(1) as f64).sqrt())
}

/// The largest normalised earth mover's distance between the histograms of a channel.
fn histograms(a: &[[f64; 4]], b: &[[f64; 4]], content: &Content) -> Result<f64, String> {
    if a.len() != b.len() {
        return Err(format!("{} pixels instead of {}", a.len(), b.len()));
    }
    let format = content.texels.map(|t| t.format).ok_or("the buffer has no pixels")?;
    let histogram = |pixels: &[[f64; 4]], channel: usize| {
        let mut bins = [0.0; STEPS as usize + 1];
        for p in pixels {
            bins[(p[channel].clamp(0.0, 1.0) * STEPS).round() as usize] += 1.0;
        }
        bins
    };
    let distance = |channel| {
        let (a, b) = (histogram(a, channel), histogram(b, channel));
        let mut carried = 0.0f64;
        let moved: f64 = a
            .iter()
            .zip(b)
            .map(|(a, b)| {
                carried += a - b;
                carried.abs()
            })
            .sum();
        moved
    };
    let largest = (0..4).filter(|&c| has_channel(format, c)).map(distance).fold(0.0, f64::max);
    Ok(largest / (a.len().max(1) as f64 * (STEPS + 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Texels;

    fn image(bytes: Vec<u8>) -> Content {
        let format = Format::B8G8R8A8_UNORM;
        let texels = Some(Texels { format, dimensions: 2, size_px: [2, 1, 1] });
        Content { element: None, texels, bytes }
    }

    #[test]
    fn colours_are_compared_in_255ths() {
        let c = image(vec![0, 0, 255, 255, 3, 0, 255, 255]);
        let check = |x, tolerances: Vec<Tolerance>| {
            let colour = vec![255.0, 0.0, 0.0, 255.0];
            holds(&c, &Check::Pixels { rectangle: [x, 0, 1, 1], colour, tolerances }, &[])
        };
        assert_eq!(check(0, vec![]), Ok(()));
        assert!(check(1, vec![]).is_err());
        assert!(check(1, vec![Tolerance { by: 2.0, percent: false }]).is_err());
        assert_eq!(check(1, vec![Tolerance { by: 3.0, percent: false }]), Ok(()));
        assert!(check(2, vec![]).is_err());
    }

    #[test]
    fn distances_of_pictures() {
        let (a, b) = (image(vec![0; 8]), image(vec![255; 8]));
        let all = [a.clone(), b];
        assert_eq!(holds(&a, &Check::Same(0), &all), Ok(()));
        assert!(holds(&a, &Check::Same(1), &all).is_err());
        assert!(holds(&a, &Check::MeanSquare(1, 254.0), &all).is_err());
        assert_eq!(holds(&a, &Check::MeanSquare(1, 255.0), &all), Ok(()));
        assert!(holds(&a, &Check::Histogram(1, 0.99), &all).is_err());
        assert_eq!(holds(&a, &Check::Histogram(0, 0.0), &all), Ok(()));
    }

    #[test]
    fn numbers_of_vectors_skip_padding() {
        let element = crate::data::Element::parse("vec3<int32>", false).expect("a type");
        let ints = [1, 2, 3, 4].map(Number::Int);
        let c = Content { element: Some(element), texels: None, bytes: element.encode(&ints) };
        let check = |comparison, numbers: &[Number]| {
            let numbers = numbers.to_vec();
            holds(&c, &Check::Numbers { at: 0, comparison, numbers, tolerances: vec![] }, &[])
        };
        assert_eq!(check(Comparison::Eq, &ints), Ok(()));
        assert!(check(Comparison::Ne, &ints).is_err());
        assert_eq!(check(Comparison::Lt, &[2, 3, 4, 5].map(Number::Int)), Ok(()));
        assert!(check(Comparison::Eq, &[0; 9].map(Number::Int)).is_err());
    }
}
