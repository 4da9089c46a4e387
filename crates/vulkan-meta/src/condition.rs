//! Draws and dispatches under a condition, or with their number in memory, for hardware that has neither: copies of their parameters
//! in which those that do not happen have no instances or workgroups.

use tepui_sysval::Words as _;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch, Draw};

use crate::encoder::{Launch, MetaEncoder};
use crate::program::Program;
use crate::words::{CaptureWords, ElementWords};

/// Words of the parameters of a draw.
const fn draw_words(indexed: bool) -> u8 {
    if indexed { 5 } else { 4 }
}

/// Runs a program that copies elements of words, after all work before and before all later work.
fn elements<E: MetaEncoder>(e: &mut E, program: Program, words: &ElementWords) -> Result<()> {
    let threads = [words.count, 1, 1];
    e.order()?;
    e.launch(&Launch { program, words: words.words(), bindings: &[], threads })?;
    e.order()
}

/// A copy of indirect draws in which only the first ones, by a count in memory, have instances: its address, and bytes from draw to
/// draw.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn counted<E: MetaEncoder>(
    e: &mut E,
    address: u64,
    count: u64,
    max_draws: u32,
    stride: u32,
    indexed: bool,
) -> Result<(u64, u32)> {
    let words = draw_words(indexed);
    let own = 4 * u32::from(words);
    let to = e.reserve(u64::from(own) * u64::from(max_draws.max(1)))?;
    let all = ElementWords {
        from: address.into(),
        to: to.into(),
        decides: count.into(),
        stride,
        count: max_draws,
        inverted: 0,
    };
    elements(e, Program::Count(words), &all)?;
    Ok((to, own))
}

/// The arguments of an indirect draw of captured vertices: those between a byte and what a counter says. Gives their address; the
/// addresses in `words` are set here.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn captured<E: MetaEncoder>(e: &mut E, counter: u64, words: CaptureWords) -> Result<u64> {
    let to = e.reserve(16)?;
    let words = CaptureWords { counter: counter.into(), to: to.into(), ..words };
    e.order()?;
    let program = Program::Captured;
    e.launch(&Launch { program, words: words.words(), bindings: &[], threads: [1; 3] })?;
    e.order()?;
    Ok(to)
}

/// Parameters of draws or dispatches that are zeros when the condition does not hold: the address of the copy.
fn conditional<E: MetaEncoder>(
    e: &mut E,
    condition: Condition,
    from: u64,
    words: u8,
    [stride, count]: [u32; 2],
) -> Result<u64> {
    let to = e.reserve(4 * u64::from(words) * u64::from(count.max(1)))?;
    let all = ElementWords {
        from: from.into(),
        to: to.into(),
        decides: condition.address.into(),
        stride,
        count,
        inverted: u32::from(condition.inverted),
    };
    elements(e, Program::Condition(words), &all)?;
    Ok(to)
}

/// A draw under a condition: one without vertices when it does not hold.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn draw<E: MetaEncoder>(e: &mut E, condition: Option<Condition>, draw: Draw) -> Result<Draw> {
    let Some(c) = condition else { return Ok(draw) };
    match draw {
        Draw::Direct(d) => {
            let mut words = vec![d.count, d.instances, d.first];
            if d.indexed {
                words.push(d.vertex_offset as u32);
            }
            words.push(d.first_instance);
            let from = e.upload(bytemuck::cast_slice(&words))?;
            let n = draw_words(d.indexed);
            let stride = 4 * u32::from(n);
            let address = conditional(e, c, from, n, [stride, 1])?;
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
            let words = draw_words(indexed);
            let address = conditional(e, c, address, words, [stride, count])?;
            let stride = 4 * u32::from(words);
            Ok(Draw::Indirect { address, count, stride, count_address, indexed, draw_index })
        }
    }
}

/// A dispatch under a condition: one without workgroups when it does not hold.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn dispatch<E: MetaEncoder>(
    e: &mut E,
    condition: Option<Condition>,
    dispatch: Dispatch,
) -> Result<Dispatch> {
    let Some(c) = condition else { return Ok(dispatch) };
    let (base, from) = match dispatch {
        Dispatch::Direct(base, groups) => (base, e.upload(bytemuck::cast_slice(&groups))?),
        Dispatch::Indirect(base, address) => (base, address),
    };
    Ok(Dispatch::Indirect(base, conditional(e, c, from, 3, [12, 1])?))
}
