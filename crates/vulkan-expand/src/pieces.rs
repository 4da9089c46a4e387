//! Pieces of a draw whose expanded vertices need more memory than there is for them at a time.
//!
//! Each piece is expanded and drawn in a render of its own, in the memory of the piece before. Pieces go through the primitives in
//! their order: of all instances, or of one if its primitives do not fit either.

/// Instances and primitives of a piece, counted from the draw's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First instance.
    pub instance: u32,
    /// Instances.
    pub instances: u32,
    /// First primitive of each instance.
    pub primitive: u32,
    /// Primitives of each instance.
    pub primitives: u32,
}

/// Division of a draw into pieces.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// Primitives of an instance.
    primitives: u32,
    instances: u32,
    /// Primitives of an instance in a piece.
    most_primitives: u32,
    /// Instances of a piece; one if it has not all primitives.
    most_instances: u32,
}

impl Pieces {
    /// Divides `primitives` of each of `instances`, each of which takes `bytes`, into pieces of at most
    /// `most` bytes, but at least one primitive each.
    pub fn new(primitives: u32, instances: u32, bytes: u64, most: u64) -> Pieces {
        let fit = (most / bytes.max(1)).max(1);
        let most_primitives = fit.min(primitives.into()).max(1) as u32;
        let most_instances = match most_primitives < primitives {
            true => 1,
            false => (fit / u64::from(primitives.max(1))).clamp(1, instances.max(1).into()) as u32,
        };
        Pieces { primitives, instances, most_primitives, most_instances }
    }

    /// The pieces of an instance, and the pieces of instances.
    fn counts(&self) -> [u64; 2] {
        let in_instance = self.primitives.div_ceil(self.most_primitives);
        [in_instance.into(), self.instances.div_ceil(self.most_instances).into()]
    }

    /// Number of pieces.
    pub fn count(&self) -> u64 {
        self.counts().iter().product()
    }

    /// A piece by number.
    pub fn get(&self, number: u64) -> Option<Piece> {
        let [in_instance, _] = self.counts();
        if number >= self.count() {
            return None;
        }
        let primitive = (number % in_instance) as u32 * self.most_primitives;
        let instance = (number / in_instance) as u32 * self.most_instances;
        Some(Piece {
            instance,
            instances: self.most_instances.min(self.instances - instance),
            primitive,
            primitives: self.most_primitives.min(self.primitives - primitive),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_all_primitives_in_order() {
        for (primitives, instances, most) in [
            (1, 1, 100),
            (7, 3, 100),
            (7, 3, 1),
            (7, 5, 23),
            (7, 5, 9),
            (64, 2, 64),
            (3, 0, 10),
            (0, 4, 9),
        ] {
            let pieces = Pieces::new(primitives, instances, 1, most);
            let mut all = Vec::new();
            for k in 0..pieces.count() {
                let p = pieces.get(k).expect("there are so many");
                assert!(u64::from(p.instances) * u64::from(p.primitives) <= most, "{p:?}");
                for i in p.instance..p.instance + p.instances {
                    all.extend((p.primitive..p.primitive + p.primitives).map(|k| (i, k)));
                }
            }
            let want: Vec<_> =
                (0..instances).flat_map(|i| (0..primitives).map(move |k| (i, k))).collect();
            assert_eq!(all, want, "{primitives} of {instances} with {most}");
            assert_eq!(pieces.get(pieces.count()), None);
        }
    }

    #[test]
    fn a_large_primitive_is_a_piece() {
        let pieces = Pieces::new(3, 2, 1000, 10);
        assert_eq!(pieces.count(), 6);
        assert_eq!(
            pieces.get(4),
            Some(Piece { instance: 1, instances: 1, primitive: 1, primitives: 1 })
        );
    }
}
