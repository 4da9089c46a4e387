//! Lowers colour inputs and outputs of fragment shaders: input attachments, blending, and
//! conversion of integers to the format.

use super::tile::{self, TARGETS, Tile};
use super::{Colours, Interface, Prolog, parts, spilled};
use crate::error::{Error, Result};
use tepui_ir::{Attrs, Builder, Builtin, IoLoc, Op, Shader};
use tepui_passes::attachments;
use tepui_passes::lower_blend::{self, Target};

/// Reads what the tile holds of input attachments and blends what a shader stores to it; other
/// shaders stay as they are.
///
/// # Errors
/// When a render target's format cannot be drawn to.
pub fn run(s: &mut Shader, interface: &Interface) -> Result<bool> {
    let Interface::Fragment(f) = interface else { return Ok(false) };
    let Colours::Tile(tile) = &f.colours else { return Ok(false) };
    let (targets, layout) = (targets(tile)?, tile::Layout::new(tile)?);
    let early = s.info.early_tests;
    prolog(
        s,
        Prolog { cull_distances: if early { 0 } else { f.prolog.cull_distances }, ..f.prolog },
    );
    if let Some(moved) = &tile.moved {
        attachments::move_outputs(s, moved, NO_TARGET);
    }
    let reads = attachments::run(s, &tile.attachments, layout.spilled);
    let blends = lower_blend::run(s, &tile.blend, &targets, tile.samples);
    Ok(reads | blends | spilled::run(s, layout.spilled, tile.samples))
}

/// Location of a colour without a render target: blending drops it, alpha to coverage may read it.
pub const NO_TARGET: u8 = TARGETS as u8;

fn targets(tile: &Tile) -> Result<[Option<Target>; TARGETS]> {
    let mut out = [None; TARGETS];
    for (out, format) in out.iter_mut().zip(tile.formats) {
        if let Some(format) = format {
            *out = Some(Target::of(format).ok_or(Error::Target(format))?);
        }
    }
    Ok(out)
}

/// Ends fragments of culled primitives before early tests, which would count them and write their depth. Runs after
/// [`tepui_passes::side_effects`], which makes variables of a shader's own discards: they come after the tests.
pub fn cull_before_tests(s: &mut Shader, interface: &Interface) {
    let Interface::Fragment(f) = interface else { return };
    if !s.info.early_tests || !matches!(f.colours, Colours::Tile(_)) || f.prolog.cull_distances == 0
    {
        return;
    }
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    parts::cull(&mut Builder::at(s, root), f.prolog.cull_distances);
    s.regions[root].insts.extend(insts);
}

/// A prolog's work in the program itself.
fn prolog(s: &mut Shader, p: Prolog) {
    if p == Prolog::default() {
        return;
    }
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    parts::cull(&mut Builder::at(s, root), p.cull_distances);
    let mut mask = None;
    for i in insts {
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::StoreOutput, Attrs::Io(slot))
                if p.killed != 0
                    && slot.loc == IoLoc::Builtin(Builtin::SampleMask)
                    && slot.component == 0 =>
            {
                mask = Some(s.arg(i, 0));
                continue;
            }
            (Op::Yield, _) if p.killed != 0 => {
                parts::keep(&mut Builder::at(s, root), p.killed, mask);
            }
            _ => {}
        }
        s.regions[root].insts.push(i);
    }
}
