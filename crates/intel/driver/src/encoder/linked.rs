//! Programs of draws with what follows from them, while a command buffer is recorded.
//!
//! Draws alternate between pipelines. [`Linked`] programs keep the packets that [`RULES`] made for them, with the version of the rest
//! of the state that each rule depends on; [`Packets`] counts these versions, and knows what was emitted last. So binding programs
//! again makes no packets.

use std::sync::Arc;

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::VertexElement;
use tepui_intel_compiler::vue::Setup;
use tepui_vulkan::Result;
use tepui_vulkan::backend::Stages;
use tepui_vulkan::state::{GraphicsState, Groups};

use super::tables::Tables;
use crate::device::{Device, Scratch};
use crate::family::Intel;
use crate::graphics::{Causes, Effect, RULES, for_each_bit, rules_of};
use crate::packets::STAGES;
use crate::programs::Programs;
use crate::shader::{FragmentKey, Shader, compile_error};

/// Programs that a command buffer keeps linked; others are linked again.
const MAX_LINKED: usize = 32;

/// Inputs of a choice of programs ([`Programs::new`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Numbers of the shaders of [`STAGES`].
    shaders: [Option<u64>; STAGES.len()],
    fragment: FragmentKey,
    patch_vertices: u32,
    discards: bool,
    several_views: bool,
}

impl Key {
    /// The key of shaders and state.
    pub fn new(shaders: &Stages<'_, Intel>, state: &GraphicsState, several_views: bool) -> Key {
        let s = shaders;
        let all = [s.vertex, s.control, s.evaluation, s.geometry, s.fragment];
        Key {
            shaders: all.map(|s| s.map(Shader::id)),
            fragment: FragmentKey::of(state),
            // Only tessellation depends on it.
            patch_vertices: if s.control.is_some() { state.patch_points } else { 0 },
            discards: state.discard,
            several_views,
        }
    }
}

/// Changes from other programs that are kept with programs.
const MAX_CHANGES: usize = 4;

/// Rules whose packets a change from other programs emits.
#[derive(Clone, Copy)]
struct ProgramChange {
    /// Number of the other programs.
    from: u64,
    /// Version of the state besides programs of the rules that depend on programs.
    version: u32,
    /// The rules, a bit each.
    rules: u32,
}

/// The changes that are kept with programs, which the next one replaces in turn.
#[derive(Default)]
pub struct ProgramChanges {
    all: [Option<ProgramChange>; MAX_CHANGES],
    next: usize,
}

impl ProgramChanges {
    fn find(&self, from: u64, version: u32) -> Option<u32> {
        let mut all = self.all.iter().flatten();
        all.find(|c| c.from == from && c.version == version).map(|c| c.rules)
    }

    fn add(&mut self, change: ProgramChange) {
        self.all[self.next] = Some(change);
        self.next = (self.next + 1) % MAX_CHANGES;
    }
}

/// Rules that a draw looks at ([`Packets::change`]).
pub struct Change {
    /// Rules whose packets may differ from those that were emitted last, a bit each.
    pub rules: u32,
    /// Number of the programs that are left, if the rules that depend on programs are to be kept for the next change.
    from: Option<u64>,
}

/// Packets, or state in memory, that a rule made for programs.
#[derive(Default)]
struct Made {
    /// Version of the other state that it depends on; 0 if it was not made yet.
    version: u32,
    /// The packets, or state in memory.
    bytes: Vec<u8>,
    /// Address of the state, if it is in memory.
    address: Option<u64>,
}

/// Programs, and what follows from them.
pub struct Linked {
    /// Number among all that the command buffer linked.
    number: u64,
    key: Option<Key>,
    /// The programs.
    pub programs: Programs,
    /// Sources of the fragment's attributes.
    pub setup: Setup,
    /// Address and logarithm of the KiB of scratch memory of each stage.
    pub scratch: [(u64, u32); STAGES.len()],
    /// Vertices read the numbers of the first vertex or instance.
    pub reads_ids: bool,
    /// Vertices read the number of the draw.
    pub reads_draw: bool,
    /// The hull stage's packet is emitted again before each primitive (Wa_16011107343).
    pub repeats_hull: bool,
    /// Binding tables and samplers of each stage, as they were made last.
    pub tables: [Tables; STAGES.len()],
    made: Vec<Made>,
    /// Changes from other programs.
    pub changes: ProgramChanges,
}

impl Linked {
    /// Programs with their setup; gives the scratch memory that they use, too.
    ///
    /// # Errors
    /// When stages do not fit together, or there is no memory.
    pub fn new(
        device: &Device,
        key: Option<Key>,
        programs: Programs,
    ) -> Result<(Linked, Vec<Arc<Scratch>>)> {
        let inputs = programs.fragment()?.map_or(&[][..], |f| &f.1.inputs);
        let setup = programs.outputs()?.vue.setup(inputs).map_err(|e| compile_error(&e))?;
        let mut scratch = [(0, 0); STAGES.len()];
        let mut memory = Vec::new();
        for ((to, stage), v) in scratch.iter_mut().zip(STAGES).zip(&programs.stages) {
            let bytes = v.as_ref().map_or(0, |v| v.scratch);
            if let Some(s) = device.scratch(stage, bytes)? {
                *to = (s.memory.address, s.log2_kib);
                memory.push(s);
            }
        }
        let elements = &programs.vertex()?.1.elements;
        let reads_ids = elements.iter().any(|e| {
            matches!(e, VertexElement::Ids { first_vertex, first_instance, .. }
                if *first_vertex || *first_instance)
        });
        let reads_draw = elements.contains(&VertexElement::DrawIndex);
        let repeats_hull = device.generation() == Generation::Gen12 && programs.stages[1].is_some();
        let tables = Default::default();
        let made = (0..RULES.len()).map(|_| Made::default()).collect();
        let linked = Linked {
            number: 0,
            key,
            programs,
            setup,
            scratch,
            reads_ids,
            reads_draw,
            repeats_hull,
            tables,
            made,
            changes: ProgramChanges::default(),
        };
        Ok((linked, memory))
    }
}

impl Linked {
    /// Number among all that the command buffer linked.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes that a rule made.
    pub fn bytes(&self, rule: usize) -> &[u8] {
        &self.made[rule].bytes
    }

    /// The hull stage's packet, once it was made.
    pub fn hull(&self) -> &[u8] {
        let made = RULES.iter().zip(&self.made);
        let mut hull = made.filter(|(rule, _)| rule.effect == Effect::Hull);
        hull.next().map_or(&[], |(_, made)| &made.bytes)
    }

    /// Address of the state that a rule made, if it is in memory.
    pub fn address(&self, rule: usize) -> Option<u64> {
        self.made[rule].address
    }

    /// Notes that the state is in memory.
    pub fn set_address(&mut self, rule: usize, address: u64) {
        self.made[rule].address = Some(address);
    }
}

/// The linked programs of a command buffer, and the packets that it has emitted.
#[derive(Default)]
pub struct Packets {
    /// Places of linked programs; that of those in use is empty while a draw uses them.
    linked: Vec<Option<Box<Linked>>>,
    /// Programs that were linked so far: they are put in places in turn.
    count: u64,
    /// The programs of the last draw.
    current: Option<Place>,
    /// Programs of pipelines.
    pipelines: Vec<(Pipeline, Place)>,
    /// Version of the state besides programs of each rule.
    versions: Vec<u32>,
    /// Version of the state besides programs of all rules that depend on programs.
    version: u32,
    /// Number of the programs whose packets were emitted last, if all of them were.
    drawn: Option<u64>,
    /// Bytes of each rule that were emitted last.
    emitted: Vec<Vec<u8>>,
}

/// Number of a pipeline, and version of the state for which its programs are compiled.
pub type Pipeline = (u64, u32);

/// A place among linked programs, with the number of those that were put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize, u64);

impl Packets {
    /// The programs of a key, or those that are the same and have none.
    pub fn find(&self, key: Option<&Key>, programs: Option<&Programs>) -> Option<Place> {
        let found = |l: &Linked| match key {
            Some(_) => l.key.as_ref() == key,
            None => l.key.is_none() && programs.is_some_and(|p| p.is_same(&l.programs)),
        };
        let mut all = self.linked.iter().enumerate().filter_map(|(k, l)| Some((k, l.as_deref()?)));
        all.find(|(_, l)| found(l)).map(|(k, l)| Place(k, l.number))
    }

    /// The programs of a pipeline, if it was bound lately.
    pub fn find_pipeline(&self, pipeline: Pipeline) -> Option<Place> {
        let found = self.pipelines.iter().find(|p| p.0 == pipeline)?;
        Some(found.1).filter(|&place| self.has(place))
    }

    /// Notes the programs of a pipeline.
    pub fn add_pipeline(&mut self, pipeline: Pipeline, place: Place) {
        match self.pipelines.iter_mut().find(|p| p.0.0 == pipeline.0) {
            Some(p) => *p = (pipeline, place),
            None => {
                if self.pipelines.len() >= MAX_LINKED {
                    self.pipelines.remove(0);
                }
                self.pipelines.push((pipeline, place));
            }
        }
    }

    /// Adds programs, in place of the oldest ones if there are many.
    pub fn add(&mut self, mut linked: Linked) -> Place {
        let at = self.count as usize % MAX_LINKED;
        linked.number = self.count;
        self.count += 1;
        let place = Place(at, linked.number);
        match self.linked.get_mut(at) {
            Some(old) => *old = Some(Box::new(linked)),
            None => self.linked.push(Some(Box::new(linked))),
        }
        place
    }

    /// Returns whether programs are still in their place.
    pub fn has(&self, Place(at, number): Place) -> bool {
        self.linked.get(at).and_then(Option::as_ref).is_some_and(|l| l.number == number)
    }

    /// Takes programs out for a draw; returns whether they are others than those of the last one.
    pub fn take(&mut self, place: Place) -> Option<(Box<Linked>, bool)> {
        let linked = self.linked.get_mut(place.0)?.take_if(|l| l.number == place.1)?;
        Some((linked, self.current.replace(place) != Some(place)))
    }

    /// Puts programs back.
    pub fn put(&mut self, linked: Box<Linked>) {
        let at = linked.number as usize % MAX_LINKED;
        self.linked[at] = Some(linked);
    }

    /// Counts changes of state besides programs, and gives the rules whose packets may have changed for programs that keep changes.
    pub fn change(&mut self, kept: &ProgramChanges, groups: Groups, causes: Causes) -> Change {
        if self.versions.is_empty() {
            self.versions.resize(RULES.len(), 1);
            self.emitted.resize_with(RULES.len(), Vec::new);
        }
        let others = rules_of(groups, causes.difference(Causes::SHADERS));
        for_each_bit(others.into(), |k| self.versions[k] += 1);
        let of_programs = rules_of(Groups::empty(), Causes::SHADERS);
        let drawn = self.drawn.take();
        if others & of_programs != 0 {
            self.version += 1;
        } else if let (Some(from), true) = (drawn, causes.contains(Causes::SHADERS)) {
            return match kept.find(from, self.version) {
                Some(rules) => Change { rules: others | rules, from: None },
                None => Change { rules: others | of_programs, from: Some(from) },
            };
        }
        let programs = if causes.contains(Causes::SHADERS) { of_programs } else { 0 };
        Change { rules: others | programs, from: None }
    }

    /// Notes that a change to programs of a number was emitted, of which the packets of these rules differed from those before.
    pub fn emitted(&mut self, number: u64, kept: &mut ProgramChanges, change: Change, rules: u32) {
        self.drawn = Some(number);
        if let Some(from) = change.from {
            let rules = rules & rules_of(Groups::empty(), Causes::SHADERS);
            kept.add(ProgramChange { from, version: self.version, rules });
        }
    }

    /// Makes the bytes of a rule for programs, if they are not there or state besides programs has changed.
    ///
    /// # Errors
    /// Errors of `make`, which gets memory that it may reuse.
    pub fn make(
        &self,
        linked: &mut Linked,
        rule: usize,
        make: impl FnOnce(&Linked, Vec<u8>) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let version = self.versions[rule];
        if linked.made[rule].version != version {
            let spare = std::mem::take(&mut linked.made[rule].bytes);
            let bytes = make(linked, spare)?;
            linked.made[rule] = Made { version, bytes, address: None };
        }
        Ok(())
    }

    /// Forgets what rules of an effect emitted last, as other packets have taken its place.
    pub fn forget(&mut self, effect: Effect) {
        let overwritten = RULES.iter().zip(&mut self.emitted).filter(|(r, _)| r.effect == effect);
        overwritten.for_each(|(_, emitted)| emitted.clear());
    }

    /// Notes the bytes of a rule as emitted; returns whether they are others than what was emitted last.
    pub fn differs(&mut self, linked: &Linked, rule: usize) -> bool {
        let (bytes, emitted) = (&linked.made[rule].bytes, &mut self.emitted[rule]);
        if emitted == bytes {
            return false;
        }
        emitted.clone_from(bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_changes_besides_programs() {
        let mut packets = Packets::default();
        let kept = ProgramChanges::default();
        let rule = |name| RULES.iter().position(|r| r.name == name).unwrap();
        let [fragment, blend, viewports] = ["fragment", "blend", "viewports"].map(rule);
        let has = |all: Change| [fragment, blend, viewports].map(|k| all.rules >> k & 1 != 0);
        let all = packets.change(&kept, Groups::empty(), Causes::SHADERS);
        assert_eq!(has(all), [true, true, false]);
        // Other programs leave what other programs' packets follow from.
        assert!(packets.versions.iter().all(|&v| v == 1));
        let all = packets.change(&kept, Groups::BLEND_EQUATION, Causes::empty());
        assert_eq!(has(all), [false, true, false]);
        assert_eq!((packets.versions[fragment], packets.versions[blend]), (1, 2));
        packets.change(&kept, Groups::empty(), Causes::RENDERING);
        assert_eq!((packets.versions[fragment], packets.versions[blend]), (2, 3));
    }

    #[test]
    fn a_change_between_programs_looks_at_what_differed_last_time() {
        let mut packets = Packets::default();
        let mut kept = [ProgramChanges::default(), ProgramChanges::default()];
        let rule = |name| 1u32 << RULES.iter().position(|r| r.name == name).unwrap();
        let [fragment, buffers] = ["fragment", "buffers"].map(rule);
        let all = rules_of(Groups::empty(), Causes::SHADERS);
        let mut draw = |k: usize, groups, causes, differ| {
            let change = packets.change(&kept[k], groups, causes);
            let rules = change.rules;
            packets.emitted(k as u64, &mut kept[k], change, differ);
            rules
        };
        let none = Groups::empty();
        let (shaders, others) = (Causes::SHADERS, Causes::BUFFERS);
        // Nothing is known of what was emitted before.
        assert_eq!(draw(0, none, shaders, all), all);
        // What else changed is not kept.
        assert_eq!(draw(1, none, shaders | others, fragment | buffers), all | buffers);
        assert_eq!(draw(0, none, shaders, fragment), all);
        assert_eq!(draw(1, none, shaders, fragment), fragment);
        assert_eq!(draw(0, none, shaders | others, fragment), fragment | buffers);
        assert_eq!(draw(0, none, others, 0), buffers);
        // Other state that packets of programs depend on: all of them are looked at again.
        assert_eq!(draw(0, Groups::BLEND_EQUATION, Causes::empty(), 0) & fragment, 0);
        assert_eq!(draw(1, none, shaders, fragment), all);
        assert_eq!(draw(0, none, shaders, fragment), all);
        assert_eq!(draw(1, none, shaders, fragment), fragment);
    }
}
