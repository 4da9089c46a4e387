//! Positions of threads in their workgroup: three rows for each SIMD-group, the same for all
//! workgroups of a launch.

use super::row::{LANES, Row};

/// The positions of a workgroup's threads.
#[derive(Default)]
pub struct Threads {
    local_size: [u32; 3],
    rows: Vec<[Row; 3]>,
}

impl Threads {
    /// The thread positions of workgroups of `local_size` threads, one entry for each SIMD-group.
    pub fn of(&mut self, local_size: [u32; 3]) -> &[[Row; 3]] {
        let [width, height, depth] = local_size;
        let groups = ((width * height * depth) as usize).div_ceil(LANES);
        if self.local_size != local_size || self.rows.len() != groups {
            self.local_size = local_size;
            self.rows.clear();
            let mut at = [0; 3];
            for _ in 0..groups {
                let mut rows = [Row::ZERO; 3];
                for lane in 0..LANES {
                    for (row, v) in rows.iter_mut().zip(at) {
                        row.0[lane] = v;
                    }
                    // Lanes after the last thread continue in the third direction.
                    at[0] += 1;
                    if at[0] >= width.max(1) {
                        (at[0], at[1]) = (0, at[1] + 1);
                    }
                    if at[1] >= height.max(1) {
                        (at[1], at[2]) = (0, at[2] + 1);
                    }
                }
                self.rows.push(rows);
            }
        }
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usc::place::Place;

    #[test]
    fn the_table_agrees_with_the_definition() {
        let mut threads = Threads::default();
        for local_size in [[32, 32, 1], [8, 4, 1], [5, 3, 7], [1, 1, 1], [40, 1, 1], [1, 1, 64]] {
            for (index, rows) in threads.of(local_size).iter().enumerate() {
                let first_thread = (index * LANES) as u32;
                let place = Place { local_size, first_thread, ..Place::default() };
                for lane in 0..LANES {
                    let here = [0, 1, 2].map(|a| rows[a].0[lane]);
                    assert_eq!(here, place.thread_in_group(lane), "{local_size:?} {lane}");
                }
            }
        }
    }
}
