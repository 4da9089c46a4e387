//! Draws and dispatches under a condition, or with their number in memory.

use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch, Draw};

use super::Encoder;
use super::bindings::split;
use crate::meta::Program;

impl Encoder {
    /// A copy of indirect draws in which only the first ones, by a count in memory, have instances.
    pub(super) fn counted(
        &mut self,
        address: u64,
        count: u64,
        most: u32,
        stride: u32,
        indexed: bool,
    ) -> Result<(u64, u32)> {
        let words = if indexed { 5 } else { 4 };
        let own = 4 * u32::from(words);
        let to = self.room(u64::from(own) * u64::from(most.max(1)))?;
        let ([a, b], [c, d], [e, f]) = (split(address), split(to), split(count));
        self.run(Program::Count(words), &[a, b, c, d, e, f, stride, most], &[], [most, 1, 1])?;
        Ok((to, own))
    }

    /// Parameters of draws or dispatches that are zeros when the condition does not hold: the address of the copy.
    fn conditional(
        &mut self,
        c: Condition,
        from: u64,
        words: u8,
        [stride, most]: [u32; 2],
    ) -> Result<u64> {
        let to = self.room(4 * u64::from(words) * u64::from(most.max(1)))?;
        let ([a, b], [d, e], [f, g]) = (split(from), split(to), split(c.address));
        let own = [a, b, d, e, f, g, stride, most, u32::from(c.inverted)];
        self.run(Program::Condition(words), &own, &[], [most, 1, 1])?;
        Ok(to)
    }

    /// A draw under a condition: one without vertices when it does not hold.
    pub(super) fn conditional_draw(
        &mut self,
        condition: Option<Condition>,
        draw: Draw,
    ) -> Result<Draw> {
        let Some(c) = condition else { return Ok(draw) };
        match draw {
            Draw::Direct(d) => {
                let mut words = vec![d.count, d.instances, d.first];
                if d.indexed {
                    words.push(d.vertex_offset as u32);
                }
                words.push(d.first_instance);
                let from = self.upload(bytemuck::cast_slice(&words), 16)?.address;
                let n = words.len() as u8;
                let stride = 4 * u32::from(n);
                let address = self.conditional(c, from, n, [stride, 1])?;
                Ok(Draw::Indirect {
                    address,
                    count: 1,
                    stride,
                    count_address: None,
                    indexed: d.indexed,
                    draw_index: d.draw_index,
                })
            }
            Draw::Indirect { address, count, stride, count_address, indexed, draw_index } => {
                let words = if indexed { 5 } else { 4 };
                let address = self.conditional(c, address, words, [stride, count])?;
                let stride = 4 * u32::from(words);
                Ok(Draw::Indirect { address, count, stride, count_address, indexed, draw_index })
            }
        }
    }

    /// A dispatch under a condition: one without workgroups when it does not hold.
    pub(super) fn conditional_dispatch(
        &mut self,
        condition: Option<Condition>,
        dispatch: Dispatch,
    ) -> Result<Dispatch> {
        let Some(c) = condition else { return Ok(dispatch) };
        let (base, from) = match dispatch {
            Dispatch::Direct(base, groups) => {
                (base, self.upload(bytemuck::cast_slice(&groups), 16)?.address)
            }
            Dispatch::Indirect(base, address) => (base, address),
        };
        Ok(Dispatch::Indirect(base, self.conditional(c, from, 3, [12, 1])?))
    }
}
