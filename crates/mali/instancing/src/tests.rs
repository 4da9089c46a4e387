use proptest::prelude::*;

use super::*;

/// The example of Mesa's documentation.
#[test]
fn seventy_vertices() {
    let numbers = Instancing::new(70, 3).unwrap();
    assert_eq!(numbers.padded_vertices, 72);
    assert_eq!(numbers.modulus, Modulus { shift: 3, odd: 9 });
    assert_eq!(numbers.modulus.odd_field(), 4);
    assert_eq!(numbers.hw_divisor, 216);
    // The values of `panfrost_compute_magic_divisor`.
    assert_eq!(numbers.division.shift, 7);
    assert_eq!(numbers.division.magic_multiplier, 397_682_157);
    assert!(numbers.division.round_down);
}

/// The definition: the table of high bits, applied to the binary digits.
fn reference(vertices: u64) -> u64 {
    if vertices < 10 {
        return vertices;
    }
    if vertices < 20 {
        return vertices + vertices % 2;
    }
    let digits = format!("{vertices:b}");
    let n = digits.len() as u32 - 4;
    let two = |power: u32| 1u64 << power;
    match &digits[..4] {
        "1000" => 9 * two(n),
        "1001" => 5 * two(n + 1),
        high if high.starts_with("101") => 3 * two(n + 2),
        high if high.starts_with("110") => 7 * two(n + 1),
        _ => two(n + 4),
    }
}

fn check_padding(vertices: u32) {
    let expected = reference(vertices.into());
    match padded_vertex_count(vertices) {
        Ok(padded) => {
            assert_eq!(u64::from(padded), expected, "{vertices}");
            assert!(padded > vertices || (vertices < 20 && padded == vertices));
            let modulus = Modulus::new(padded);
            assert!(matches!(modulus.odd, 1 | 3 | 5 | 7 | 9), "{vertices}");
            assert_eq!(modulus.odd << modulus.shift, padded);
            for id in extremes(padded) {
                assert_eq!(modulus.apply(id), id % padded);
            }
        }
        Err(error) => {
            assert!(expected > u32::MAX.into());
            assert_eq!(error, InstancingError::TooManyVertices(vertices));
        }
    }
}

/// Ids at which a wrong quotient would show: around multiples of the divisor, and at the ends of
/// the range.
fn extremes(divisor: u32) -> impl Iterator<Item = u32> {
    let top = u32::MAX / divisor * divisor;
    let middle = (u32::MAX / divisor / 2) * divisor;
    let around = move |v: u32| [v.wrapping_sub(1), v, v.wrapping_add(1)];
    [0, divisor, middle, top, u32::MAX].into_iter().flat_map(around)
}

#[test]
fn padding_of_every_count_to_a_million_and_every_edge() {
    (1..=1 << 20).for_each(check_padding);
    for power in 20..32 {
        for sixteenth in 16..32u64 {
            let edge = (1u64 << power) / 16 * sixteenth;
            for vertices in edge - 2..=edge + 2 {
                check_padding(vertices as u32);
            }
        }
    }
    check_padding(u32::MAX);
}

fn check_division(divisor: u32) {
    let division = Division::new(divisor);
    for id in extremes(divisor) {
        assert_eq!(division.multiply(id), id / divisor, "{id} / {divisor}");
        assert_eq!(division.apply(id), id / divisor, "{id} / {divisor}");
    }
    assert_eq!(division.power_of_two, divisor & (divisor - 1) == 0);
}

#[test]
fn division_by_every_divisor_to_65536() {
    (1..=1 << 16).for_each(check_division);
}

#[test]
fn division_by_a_million_random_divisors() {
    let mut state = 1u64;
    for _ in 0..1_000_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // All magnitudes are equally likely.
        let divisor = ((state >> 32) as u32 >> (state as u32 >> 3 & 31)).max(1);
        check_division(divisor);
    }
    (u32::MAX - 100..=u32::MAX).for_each(check_division);
}

/// A condition sufficient for all 32-bit ids: the multiplier's error times the largest id is below
/// one unit of the quotient.
#[test]
fn multipliers_are_exact_enough_for_every_id() {
    for divisor in (1..=1u64 << 16).chain((1 << 32) - 70_000..1 << 32) {
        let division = Division::new(divisor as u32);
        let m = u128::from(division.multiplier());
        let (d, power) = (u128::from(divisor), 1u128 << (32 + division.shift));
        if division.round_down {
            // m·d = 2^p − e with e ≤ 2^shift; for a power of two, e is the divisor itself.
            assert!(power - m * d <= 1 << division.shift);
        } else {
            assert!(m * d - power <= 1 << division.shift);
        }
    }
}

#[test]
fn refused() {
    assert_eq!(Instancing::new(0, 1), Err(InstancingError::NoVertices));
    assert_eq!(Instancing::new(70, 0), Err(InstancingError::DivisorZero));
    let error = Instancing::new(70, u32::MAX).unwrap_err();
    assert_eq!(error, InstancingError::DivisorTooLarge { padded: 72, divisor: u32::MAX });
    let most = 0xdfff_ffff;
    assert_eq!(padded_vertex_count(most), Ok(0xe000_0000));
    assert!(padded_vertex_count(most + 1).is_err());
}

proptest! {
    #[test]
    fn a_draw_finds_its_vertices(vertices: u32, divisor in 1u32..1000, id: u32) {
        let vertices = vertices >> (vertices & 31);
        if let Ok(numbers) = Instancing::new(vertices, divisor) {
            let padded = numbers.padded_vertices;
            prop_assert_eq!(numbers.apply(id), (id % padded, id / padded / divisor));
        }
    }
}
