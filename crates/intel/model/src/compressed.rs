//! States of the memory of images that have auxiliary surfaces, for the checker.
//!
//! The model keeps texels plain, whatever an auxiliary surface says. On silicon, memory that was written through a control surface
//! or under a hierarchical depth buffer is not plain until it is resolved, and an auxiliary surface says nothing right about memory that
//! was written past it. The tracker has the state of each line, from the views of the accesses to it ([`View`]):
//!
//! | state | read as a plain image | read through the auxiliary surface |
//! | --- | --- | --- |
//! | plain, resolved | right | right |
//! | compressed, under a hierarchy, clear | a finding | right; of clear lines with the colour of the clear, see [`Colour`] |
//! | stale: written plainly while it was one of these | right | a finding |
//!
//! Accesses as bytes do not read compressed memory by themselves: they are not judged. Memory that another owner has got since, who
//! wrote it from the host, is recognised by its contents, which are no longer those at the end of the batch that compressed it, or by
//! the client's advice that it does not need the old ones ([`tepui_softgpu::Memory::owner`]).
//!
//! source: Mesa, docs/isl/aux-surf-comp.rst and isl.h (`isl_aux_state`): the states, and which accesses need which operation.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use tepui_softgpu::{Access, AddressSpace, ClearColour, Contents};

/// Bytes of a line.
const LINE_BYTES: u64 = 64;

/// Limit on the lines with a state; memory past it is not judged.
const MAX_LINES: usize = 1 << 22;

/// The way in which an access sees memory: the auxiliary surface's address with a kind in its lower bits, or one of the kinds without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View(pub u64);

/// Kinds of views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum ViewKind {
    /// Bytes, without an image.
    Bytes,
    /// An image without an auxiliary surface.
    Plain,
    /// An image whose control surface the model does not look at.
    Ignored,
    /// Through a control surface that compresses.
    Compressed,
    /// Through a control surface that has clear blocks alone.
    ClearBlocks,
    /// Under a hierarchical depth buffer.
    Hierarchy,
    /// As [`ViewKind::Hierarchy`], with each depth written to memory, too.
    WriteThrough,
    /// An auxiliary surface's own memory.
    Surface,
}

impl ViewKind {
    /// The kinds by number.
    const ALL: [ViewKind; 8] = {
        use ViewKind as Kind;
        [
            Kind::Bytes,
            Kind::Plain,
            Kind::Ignored,
            Kind::Compressed,
            Kind::ClearBlocks,
            Kind::Hierarchy,
            Kind::WriteThrough,
            Kind::Surface,
        ]
    };
}

impl View {
    pub const BYTES: View = View::without(ViewKind::Bytes);
    pub const PLAIN: View = View::without(ViewKind::Plain);
    pub const IGNORED: View = View::without(ViewKind::Ignored);
    /// In place of an address: the table of Gen12, which has one control surface for each place in memory.
    pub const TABLE: u64 = 1 << 62;

    const fn without(kind: ViewKind) -> View {
        View(kind as u64)
    }

    /// The view through the auxiliary surface at an address.
    pub fn through(surface: u64, kind: ViewKind) -> View {
        View(surface & !7 | kind as u64)
    }

    fn kind(self) -> ViewKind {
        ViewKind::ALL[(self.0 & 7) as usize]
    }

    fn surface(self) -> u64 {
        self.0 & !7
    }
}

/// States of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineState {
    /// Both the memory and the auxiliary surface are right.
    Resolved,
    /// In the compression of a control surface.
    Compressed,
    /// In the compression of a hierarchical depth buffer.
    Hierarchy,
    /// Clear, with a colour.
    Clear(Colour),
    /// Written past the auxiliary surface.
    Stale,
}

/// The colour of a clear line.
///
/// The auxiliary surface only says that a block is clear; its colour is what the surface state has, or what is in memory, when it is used.
/// A clear that converts the colour in memory finds it there. Drivers that convert it themselves give the clear another address,
/// where anything may be (Mesa, blorp_genX_exec_brw.h, `op_clear_addr`): the colour is then known from its first use.
///
/// While all of an image is clear, another colour clears it again without a command (Mesa, iris_clear.c, `fast_clear_color`). From the
/// first write through the surface on, a change of the colour is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Colour {
    number: u64,
    /// The GPU address at which the clear has found it. None once it is known for uses of all addresses.
    only_at: Option<u64>,
}

impl Colour {
    /// The colour after a use of it; the mistake of uses of another one.
    fn used(self, colour: ClearColour) -> Result<Colour, Mistake> {
        match self.only_at {
            Some(at) if colour.at != Some(at) => {
                Ok(Colour { number: colour.number, only_at: None })
            }
            _ if same_colour(self.number, colour.number) => Ok(self),
            _ => Err(Mistake::OtherColour),
        }
    }
}

struct Line {
    state: LineState,
    surface: u64,
    /// Changes of the surface from elsewhere so far; see [`Compressed::changes`].
    changes: u32,
    /// The name of the command that made the state.
    by: &'static str,
    /// A hash of the contents at the end of the batch, and whether they are known.
    contents: Option<u64>,
}

/// Mistakes in the use of auxiliary surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    /// Compressed or clear memory is read as plain.
    NotResolved,
    /// Memory is read through an auxiliary surface that was not told of a plain write.
    Stale,
    /// A clear block is used with another colour than it was cleared to.
    OtherColour,
}

impl Mistake {
    /// The description of a mistake by an access, in memory that an earlier command has left in a state.
    pub fn text(self, access: &str, at: u64, earlier: &str) -> String {
        match self {
            Mistake::NotResolved => format!(
                "memory at {at:#x}: {access} reads it as plain, but {earlier} has compressed or cleared it through an auxiliary surface; a resolve is missing between them"
            ),
            Mistake::Stale => format!(
                "memory at {at:#x}: {access} reads it through an auxiliary surface that {earlier} has written past; the surface has to be initialised or resolved before that write, or ambiguated after it"
            ),
            Mistake::OtherColour => format!(
                "memory at {at:#x}: {access} uses another clear colour than {earlier} has cleared it to; a resolve is missing before the colour changes"
            ),
        }
    }
}

/// A mistake, at an address, with the earlier command.
pub(crate) type Found = (Mistake, u64, &'static str);

/// The states of an address space's lines.
#[derive(Default)]
pub(crate) struct Compressed {
    lines: HashMap<u64, Line>,
    /// Lines of auxiliary surfaces: the surface they belong to.
    of_surfaces: HashMap<u64, u64>,
    /// Writes to auxiliary surfaces that were not for an access through them: a driver has initialised them.
    changes: HashMap<u64, u32>,
    /// Surfaces through which something was written since the last clear.
    written: HashSet<u64>,
    /// Lines whose state is of this batch.
    fresh: Vec<u64>,
}

fn lines(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let end = address.saturating_add(bytes.max(1)).div_ceil(LINE_BYTES);
    (address / LINE_BYTES..end).map(|line| line * LINE_BYTES)
}

/// A hash of a line's contents and their owner; none if it is not bound.
fn contents(vm: &AddressSpace, at: u64) -> Option<u64> {
    let mut bytes = [0u8; LINE_BYTES as usize];
    vm.read(at, &mut bytes).ok()?;
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    vm.mapping_at(at)?.memory.owner().hash(&mut hasher);
    Some(hasher.finish())
}

impl Compressed {
    /// Handles an access; returns the first mistake of it.
    pub fn access(
        &mut self,
        view: View,
        access: Access,
        (address, bytes): (u64, u64),
        by: &'static str,
        vm: Option<&AddressSpace>,
    ) -> Option<Found> {
        let kind = view.kind();
        if kind == ViewKind::Surface {
            for line in lines(address, bytes) {
                self.of_surfaces.insert(line, view.surface());
            }
            return None;
        }
        if self.lines.is_empty() && !compresses(kind) {
            return None;
        }
        let mut found = None;
        for line in lines(address, bytes) {
            if access != Access::Write {
                found = found.or_else(|| self.read(view, line, vm));
            }
            if access != Access::Read {
                self.write(view, line, by);
            }
        }
        found
    }

    /// The line, if its auxiliary surface was not initialised since it got its state.
    fn current(&self, line: u64) -> Option<&Line> {
        let found = self.lines.get(&line)?;
        let changes = self.changes.get(&found.surface).copied().unwrap_or(0);
        (found.changes == changes).then_some(found)
    }

    fn read(&mut self, view: View, at: u64, vm: Option<&AddressSpace>) -> Option<Found> {
        let line = self.current(at)?;
        let mistake = match (view.kind(), line.state) {
            (ViewKind::Bytes | ViewKind::Surface, _) | (_, LineState::Resolved) => return None,
            (ViewKind::Plain | ViewKind::Ignored, LineState::Stale) => return None,
            (ViewKind::Ignored, LineState::Compressed) => return None,
            (ViewKind::Plain | ViewKind::Ignored, _) => Mistake::NotResolved,
            // A control surface knows nothing of a hierarchy that is not written through.
            (ViewKind::Compressed | ViewKind::WriteThrough, LineState::Hierarchy) => {
                Mistake::NotResolved
            }
            (_, LineState::Stale) if line.surface == view.surface() => Mistake::Stale,
            _ => return None,
        };
        // What another owner has written from the host since is not this line's any more.
        let same = match (line.contents, vm) {
            (Some(then), Some(vm)) => contents(vm, at) == Some(then),
            _ => true,
        };
        if same {
            return Some((mistake, at, line.by));
        }
        self.lines.remove(&at);
        None
    }

    fn write(&mut self, view: View, at: u64, by: &'static str) {
        if compresses(view.kind()) || view.kind() == ViewKind::ClearBlocks {
            self.written.insert(view.surface());
        }
        if let Some(&surface) = self.of_surfaces.get(&at) {
            *self.changes.entry(surface).or_default() += 1;
        }
        let state = match view.kind() {
            ViewKind::Compressed | ViewKind::WriteThrough => LineState::Compressed,
            ViewKind::Hierarchy => LineState::Hierarchy,
            // The hardware writes the rest of the block, too.
            ViewKind::ClearBlocks => {
                self.lines.remove(&at);
                return;
            }
            _ => {
                match self.current(at).map(|line| line.surface) {
                    Some(surface) => self.set(at, surface, LineState::Stale, by),
                    None => drop(self.lines.remove(&at)),
                }
                return;
            }
        };
        self.set(at, view.surface(), state, by);
    }

    fn set(&mut self, at: u64, surface: u64, state: LineState, by: &'static str) {
        if self.lines.len() >= MAX_LINES && !self.lines.contains_key(&at) {
            return;
        }
        let changes = self.changes.get(&surface).copied().unwrap_or(0);
        let known = self.lines.insert(at, Line { state, surface, changes, by, contents: None });
        if known.is_none_or(|known| known.contents.is_some()) {
            self.fresh.push(at);
        }
    }

    /// Handles a change or a use of contents without an access to them.
    pub fn contents(
        &mut self,
        view: View,
        (address, bytes): (u64, u64),
        contents: Contents,
        by: &'static str,
    ) -> Option<Found> {
        let mut found = None;
        if matches!(contents, Contents::Cleared(_)) {
            self.written.remove(&view.surface());
        }
        for at in lines(address, bytes) {
            match contents {
                Contents::Plain => drop(self.lines.remove(&at)),
                Contents::Resolved => self.set(at, view.surface(), LineState::Resolved, by),
                Contents::Cleared(ClearColour { number, at: only_at }) => {
                    let colour = Colour { number, only_at };
                    self.set(at, view.surface(), LineState::Clear(colour), by);
                }
                Contents::UsedClear(colour) => {
                    found = found.or(self.used_clear(view, at, colour));
                }
            }
        }
        found
    }

    fn used_clear(&mut self, view: View, at: u64, colour: ClearColour) -> Option<Found> {
        let line = self.current(at).filter(|line| line.surface == view.surface())?;
        let LineState::Clear(then) = line.state else { return None };
        match then.used(colour) {
            Ok(known) => {
                self.lines.get_mut(&at)?.state = LineState::Clear(known);
                None
            }
            Err(mistake) if self.written.contains(&view.surface()) => Some((mistake, at, line.by)),
            Err(_) => {
                for line in self.lines.values_mut().filter(|line| line.surface == view.surface()) {
                    if let LineState::Clear(known) = &mut line.state {
                        known.number = colour.number;
                    }
                }
                None
            }
        }
    }

    /// Ends a batch: what lines have now is what their state is about.
    pub fn end(&mut self, vm: &AddressSpace) {
        for at in std::mem::take(&mut self.fresh) {
            if let Some(line) = self.lines.get_mut(&at) {
                line.contents = contents(vm, at);
            }
        }
    }
}

/// A clear colour, from a texel of it and its address in memory. Its number is the texel's bits, of large texels both halves at once: views
/// of other formats have the same.
pub(crate) fn clear_colour(texel: &[u8], at: Option<u64>) -> ClearColour {
    let half =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let (low, high) = texel.split_at(texel.len().min(8));
    ClearColour { number: half(low) ^ half(high).rotate_left(1), at }
}

/// Whether two numbers are of the same colour, but for a step of a channel: a driver that converts it to the format and back rounds
/// otherwise than a clear does. Channels begin at any even bit of a byte.
fn same_colour(a: u64, b: u64) -> bool {
    let mut bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    bytes.all(|(a, b)| matches!(a.abs_diff(b), 0 | 1 | 4 | 16))
}

fn compresses(kind: ViewKind) -> bool {
    matches!(kind, ViewKind::Compressed | ViewKind::Hierarchy | ViewKind::WriteThrough)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_softgpu::{Memory, Protection};

    use super::*;

    const SURFACE: u64 = 0x10_0000;

    struct Checked(Compressed);

    impl Checked {
        fn new() -> Checked {
            Checked(Compressed::default())
        }

        fn access(&mut self, view: View, access: Access, at: u64) -> Option<Mistake> {
            self.0.access(view, access, (at, 16), "a command", None).map(|(mistake, ..)| mistake)
        }

        fn write(&mut self, view: View, at: u64) {
            assert_eq!(self.access(view, Access::Write, at), None);
        }

        fn read(&mut self, view: View, at: u64) -> Option<Mistake> {
            self.access(view, Access::Read, at)
        }

        fn contents(&mut self, view: View, at: u64, contents: Contents) -> Option<Mistake> {
            self.0.contents(view, (at, 64), contents, "a command").map(|(mistake, ..)| mistake)
        }
    }

    #[test]
    fn kinds_are_in_the_order_of_their_numbers() {
        for (number, kind) in (0..).zip(ViewKind::ALL) {
            assert_eq!(kind as u64, number);
            assert_eq!(View::through(SURFACE, kind).kind(), kind);
        }
    }

    #[test]
    fn compressed_memory_is_read_through_its_surface_until_it_is_resolved() {
        let through = View::through(SURFACE, ViewKind::Compressed);
        let mut checked = Checked::new();
        checked.write(View::PLAIN, 0);
        assert_eq!(checked.read(View::PLAIN, 0), None);
        checked.write(through, 0);
        assert_eq!(checked.read(through, 0), None);
        assert_eq!(checked.read(View::IGNORED, 0), None);
        assert_eq!(checked.read(View::BYTES, 0), None);
        assert_eq!(checked.read(View::PLAIN, 0), Some(Mistake::NotResolved));
        assert_eq!(checked.read(View::PLAIN, 64), None, "another line");
        checked.contents(through, 0, Contents::Plain);
        assert_eq!(checked.read(View::PLAIN, 0), None);
    }

    #[test]
    fn a_plain_write_makes_the_surface_stale() {
        let through = View::through(SURFACE, ViewKind::Hierarchy);
        let mut checked = Checked::new();
        checked.write(through, 0);
        checked.contents(through, 0, Contents::Resolved);
        assert_eq!(checked.read(View::PLAIN, 0), None);
        assert_eq!(checked.read(through, 0), None);
        checked.write(View::PLAIN, 0);
        assert_eq!(checked.read(View::PLAIN, 0), None);
        assert_eq!(checked.read(through, 0), Some(Mistake::Stale));
        let other = View::through(2 * SURFACE, ViewKind::Hierarchy);
        assert_eq!(checked.read(other, 0), None, "another image has the memory");
        checked.contents(through, 0, Contents::Resolved);
        assert_eq!(checked.read(through, 0), None);
    }

    #[test]
    fn a_surface_that_is_written_is_initialised() {
        let through = View::through(SURFACE, ViewKind::Compressed);
        let mut checked = Checked::new();
        checked.write(View::through(SURFACE, ViewKind::Surface), SURFACE);
        checked.write(through, 0);
        checked.write(View::PLAIN, 0);
        assert_eq!(checked.read(through, 0), Some(Mistake::Stale));
        checked.write(View::PLAIN, SURFACE);
        assert_eq!(checked.read(through, 0), None);
    }

    #[test]
    fn memory_of_another_owner_is_plain() {
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(4096).unwrap());
        vm.bind(0, memory.clone(), 0, 4096, Protection::READ | Protection::WRITE).unwrap();
        let through = View::through(SURFACE, ViewKind::Hierarchy);
        let mut checked = Checked::new();
        let read_plain = |checked: &mut Checked| {
            let found = checked.0.access(View::PLAIN, Access::Read, (0, 16), "a read", Some(&vm));
            found.map(|(mistake, ..)| mistake)
        };
        checked.write(through, 0);
        checked.0.end(&vm);
        assert_eq!(read_plain(&mut checked), Some(Mistake::NotResolved));
        memory.give_up();
        assert_eq!(read_plain(&mut checked), None);
    }

    #[test]
    fn clear_blocks_keep_their_colour() {
        let through = View::through(SURFACE, ViewKind::ClearBlocks);
        let mut checked = Checked::new();
        let colour = |texel: [u8; 4]| clear_colour(&texel, None);
        checked.contents(through, 0, Contents::Cleared(colour([229, 26, 128, 77])));
        let rounded = Contents::UsedClear(colour([230, 26, 128, 76]));
        assert_eq!(checked.contents(through, 0, rounded), None);
        // Another colour clears all blocks again.
        checked.contents(through, 64, Contents::Cleared(colour([229, 26, 128, 77])));
        let other = Contents::UsedClear(colour([229, 26, 128, 0]));
        assert_eq!(checked.contents(through, 0, other), None);
        assert_eq!(checked.contents(through, 64, other), None);
        // Not if one was written.
        checked.write(through, 64);
        assert_eq!(checked.contents(through, 0, other), None);
        assert_eq!(checked.contents(through, 0, rounded), Some(Mistake::OtherColour));
        assert_eq!(checked.read(View::PLAIN, 0), Some(Mistake::NotResolved));
        // A write resolves the block, and nothing is compressed after it.
        checked.write(through, 0);
        assert_eq!(checked.read(View::PLAIN, 0), None);
    }

    #[test]
    fn clear_colours_in_memory_are_known_from_the_clear_or_the_first_use() {
        let through = View::through(SURFACE, ViewKind::Compressed);
        let colour = |texel: [u8; 4], at| clear_colour(&texel, Some(at));
        let (red, green) = ([255, 0, 0, 255], [0, 255, 0, 255]);
        let mut checked = Checked::new();
        checked.contents(through, 0, Contents::Cleared(colour(red, 0x40)));
        checked.write(through, 64);
        let used = |texel, at| Contents::UsedClear(colour(texel, at));
        assert_eq!(checked.contents(through, 0, used(red, 0x40)), None);
        assert_eq!(checked.contents(through, 0, used(green, 0x40)), Some(Mistake::OtherColour));
        // The clear was given another address than uses have.
        assert_eq!(checked.contents(through, 0, used(green, 0x80)), None);
        assert_eq!(checked.contents(through, 0, used(green, 0xc0)), None);
        assert_eq!(checked.contents(through, 0, used(red, 0x80)), Some(Mistake::OtherColour));
    }

    #[test]
    fn memory_of_a_new_owner_is_not_judged() {
        use std::sync::Arc;
        use tepui_softgpu::{Memory, Protection};
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(1 << 12).expect("memory"));
        vm.bind(0x1000, memory, 0, 1 << 12, Protection::READ | Protection::WRITE).expect("bound");
        let through = View::through(SURFACE, ViewKind::Compressed);
        let mut checked = Compressed::default();
        checked.access(through, Access::Write, (0x1000, 128), "a command", Some(&vm));
        checked.end(&vm);
        let read = |checked: &mut Compressed, at| {
            checked.access(View::PLAIN, Access::Read, (at, 16), "a command", Some(&vm)).is_some()
        };
        assert!(read(&mut checked, 0x1000));
        vm.write(0x1000, &[7; 16]).expect("bound");
        assert!(!read(&mut checked, 0x1000));
        assert!(read(&mut checked, 0x1040));
    }
}
