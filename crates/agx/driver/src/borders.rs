//! Opaque black borders of formats whose alpha is not the last channel in memory.
//!
//! The hardware's opaque black has its 1 in the last channel in memory, where R4G4B4A4, B4G4R4A4 and A8 do not have their alpha. Devices
//! that enable custom border colours have a colour in each sampler with a border. On all others the programs correct what such a sampler
//! gives, but only once the device has both a sampler with that border and a view of such a format: few applications have, and the
//! correction costs each sample of a texture a branch.

use std::sync::atomic::{AtomicU8, Ordering};

use tepui_agx_packets::texture::Channel;

/// Parts of a wrong border colour that a device has; they stay, since descriptors may hold them for as long as the device lives.
#[derive(Default)]
pub struct WrongBorders(AtomicU8);

const SAMPLER: u8 = 1;
const FORMAT: u8 = 2;

impl WrongBorders {
    /// Notes a sampler whose border is the hardware's opaque black.
    pub fn add_sampler(&self) {
        self.0.fetch_or(SAMPLER, Ordering::Relaxed);
    }

    /// Notes a view of a format whose components come from these channels in memory.
    pub fn add_format(&self, swizzle: [Channel; 4]) {
        let [colour @ .., alpha] = swizzle;
        if colour.contains(&Channel::A) || !matches!(alpha, Channel::A | Channel::One) {
            self.0.fetch_or(FORMAT, Ordering::Relaxed);
        }
    }

    /// Whether programs must correct opaque black.
    #[inline]
    pub fn may_show(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SAMPLER | FORMAT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_are_needed() {
        use Channel::{A, B, G, One, R, Zero};
        for (swizzle, is_wrong) in [
            ([R, G, B, A], false),
            ([B, G, R, A], false),
            ([R, G, B, One], false),
            ([A, B, G, R], true),
            ([G, B, A, R], true),
            ([Zero, Zero, Zero, R], true),
        ] {
            let borders = WrongBorders::default();
            borders.add_format(swizzle);
            assert!(!borders.may_show());
            borders.add_sampler();
            assert_eq!(borders.may_show(), is_wrong, "{swizzle:?}");
        }
    }
}
