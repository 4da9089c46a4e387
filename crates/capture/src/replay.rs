//! Replays the commands of a capture.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tepui_softgpu::{Access, AddressSpace, BindError, Memory, Protection};
use xxhash_rust::xxh3::Xxh3;

use crate::{Finish, Mapping, PAGE_BYTES, Session, Start, residency};

/// Memory of one command that is set up at most.
const MAX_BYTES: u64 = 1 << 36;

/// A GPU model that executes the commands of captures.
pub trait Model {
    /// A command, as the model takes it.
    type Work;
    /// The state that a queue keeps from one command to the next; `()` if commands bring all.
    type Context: Clone;
    /// The statistics of a successful command.
    type Stats;
    /// Reason why a command ended in a fault.
    type Fault: std::fmt::Display;
    /// The contents of an attachment after a command.
    type Attachment;

    /// Bits of a GPU page's size.
    const PAGE_SHIFT: u32;
    /// Bits of a GPU address.
    const VA_BITS: u32;

    /// The work of a command, or the kernel's reason to refuse it.
    fn work(&self, start: &Start) -> Result<Self::Work, &'static str>;

    /// The state of a queue that has executed nothing.
    fn context(&self) -> Self::Context;

    /// Whether a queue in this state has executed all its work to the end. Memory of other executions of the work can
    /// only be compared then.
    fn is_settled(&self, _context: &Self::Context) -> bool {
        true
    }

    /// Executes work.
    fn run(
        &self,
        vm: &AddressSpace,
        context: &mut Self::Context,
        work: &Self::Work,
    ) -> Result<Self::Stats, Self::Fault>;

    /// Reads what work left in its attachments; nothing for work without any. The contexts are the
    /// queue's state before and after the work.
    fn attachments(
        &self,
        vm: &AddressSpace,
        before: &Self::Context,
        after: &Self::Context,
        work: &Self::Work,
    ) -> Result<Vec<Self::Attachment>, Self::Fault>;
}

/// Reason why a command cannot be executed again.
#[derive(Debug, thiserror::Error)]
pub enum Unplayable<F: std::fmt::Display> {
    /// The command is not one.
    #[error("the command is refused: {why}")]
    Refused {
        /// The kernel's reason.
        why: &'static str,
    },
    /// The memory it saw cannot be set up.
    #[error("its memory cannot be set up: {0}")]
    Memory(#[from] io::Error),
    /// The address space it ran in cannot be set up.
    #[error("its address space cannot be set up: {0}")]
    Space(#[from] BindError),
    /// Its attachments cannot be read.
    #[error("its attachments cannot be read: {0}")]
    Attachments(F),
    /// It had more memory than replay supports.
    #[error("it saw objects of {bytes} bytes")]
    TooMuch {
        /// Their size.
        bytes: u64,
    },
}

/// A run of bytes that a command changed, by GPU address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Changed {
    /// First GPU address of the page.
    pub address: u64,
    /// Hash of the page's new contents.
    pub hash: u64,
}

/// The result of a replayed command.
#[derive(Clone, Debug)]
pub struct Replayed<S, F, A> {
    /// Its result.
    pub result: Result<S, F>,
    /// The pages that it changed, in order of address; a page that is bound twice is named once.
    pub changed: Vec<Changed>,
    /// Hash over all changes.
    pub hash: u64,
    /// Whether the queue had executed all earlier work before, and all of this after.
    pub settled: [bool; 2],
    /// The contents of the attachments after a render command, if requested.
    pub attachments: Vec<A>,
    /// With further executions: the shortest elapsed time, and the shortest CPU time of all threads
    /// together.
    pub time: Option<[Duration; 2]>,
}

/// Comparison of the results with those in the capture.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Comparison {
    /// Pages that differ: GPU address of the first byte that does, the byte in the capture, the
    /// byte here, and how many bytes of the page differ.
    pub different: Vec<(u64, u8, u8, usize)>,
    /// The fault in the capture.
    pub fault: Option<String>,
    /// Whether the queue had executed all its work. If not, another order of execution may be further in it.
    pub settled: bool,
}

/// An object's pages after the command.
type Pages = BTreeMap<u32, Box<[u8]>>;

struct Outcome {
    space: u64,
    faulted: bool,
    settled: bool,
    /// Pages that were not zero before or are not now, of all objects that the command could write.
    objects: HashMap<u64, Pages>,
}

/// Identity of a command: open file, queue, submission, command.
type Key = (u64, u32, u64, u32);

/// Executes commands of a capture on a model.
pub struct Replayer<M: Model> {
    model: M,
    /// The state of each queue: open file, queue.
    contexts: HashMap<(u64, u32), M::Context>,
    /// The results of commands that have not ended yet.
    running: HashMap<Key, Outcome>,
    attachments: bool,
    repeats: u32,
}

impl<M: Model> Replayer<M> {
    /// On this model.
    pub fn new(model: M) -> Replayer<M> {
        Replayer {
            model,
            contexts: HashMap::new(),
            running: HashMap::new(),
            attachments: false,
            repeats: 0,
        }
    }

    /// Reads the attachments after each render command too.
    pub fn with_attachments(self) -> Replayer<M> {
        Replayer { attachments: true, ..self }
    }

    /// Executes each command `repeats` more times, on the memory that it left, and measures the time.
    pub fn with_repeats(self, repeats: u32) -> Replayer<M> {
        Replayer { repeats, ..self }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Executes a command that has just started in the capture.
    #[expect(clippy::type_complexity, reason = "the model's types")]
    pub fn start(
        &mut self,
        session: &Session,
        start: &Start,
    ) -> Result<Replayed<M::Stats, M::Fault, M::Attachment>, Unplayable<M::Fault>> {
        let (replayed, context, outcome) = self.execute(session, start, None)?;
        self.contexts.insert((start.file, start.queue), context);
        let key = (start.file, start.queue, start.submission, start.command);
        self.running.insert(key, outcome);
        Ok(replayed)
    }

    /// Executes a command as [`Replayer::start`] does, but leaves the state of its queue as it is, so that the command can be
    /// executed again. While it runs, memory has other bytes at the address of a patch.
    #[expect(clippy::type_complexity, reason = "the model's types")]
    pub fn attempt(
        &self,
        session: &Session,
        start: &Start,
        patch: Option<(u64, &[u8])>,
    ) -> Result<Replayed<M::Stats, M::Fault, M::Attachment>, Unplayable<M::Fault>> {
        self.execute(session, start, patch).map(|(replayed, ..)| replayed)
    }

    /// Executes a command; returns the state of its queue after it, too, and what to compare with the capture.
    #[expect(clippy::type_complexity, reason = "the model's types")]
    fn execute(
        &self,
        session: &Session,
        start: &Start,
        patch: Option<(u64, &[u8])>,
    ) -> Result<
        (Replayed<M::Stats, M::Fault, M::Attachment>, M::Context, Outcome),
        Unplayable<M::Fault>,
    > {
        let work = self.model.work(start).map_err(|why| Unplayable::Refused { why })?;
        let vm = AddressSpace::new(M::PAGE_SHIFT, M::VA_BITS);
        let objects = set_up(&vm, session, start.space)?;
        let before = self.contexts.get(&(start.file, start.queue)).cloned();
        let before = before.unwrap_or_else(|| self.model.context());
        let mut context = before.clone();
        let mut patch = patch.map(|(address, bytes)| (address, bytes.to_vec()));
        patch.iter_mut().for_each(|(address, bytes)| swap(&vm, *address, bytes));
        let result = self.model.run(&vm, &mut context, &work);
        patch.iter_mut().for_each(|(address, bytes)| swap(&vm, *address, bytes));
        let attachments = match self.attachments && result.is_ok() {
            true => self
                .model
                .attachments(&vm, &before, &context, &work)
                .map_err(Unplayable::Attachments)?,
            false => Vec::new(),
        };
        let settled = [&before, &context].map(|context| self.model.is_settled(context));
        // After a fault a queue is lost or begins anew.
        let next = if result.is_ok() { context } else { self.model.context() };
        let (changed, after) = changes(session, start.space, &objects);
        let mut all = Xxh3::new();
        for change in &changed {
            all.update(&change.address.to_le_bytes());
            all.update(&change.hash.to_le_bytes());
        }
        // Last: what is executed again may leave other results.
        let execute = || self.model.run(&vm, &mut before.clone(), &work);
        let time = (self.repeats > 0 && result.is_ok()).then(|| times(self.repeats, execute));
        let faulted = result.is_err();
        let outcome = Outcome { space: start.space, faulted, settled: settled[1], objects: after };
        let hash = all.digest();
        Ok((Replayed { result, changed, hash, settled, attachments, time }, next, outcome))
    }

    /// Compares with the capture, where the command has just finished. `None` for a command that
    /// was not executed.
    pub fn finish(&mut self, session: &Session, finish: &Finish) -> Option<Comparison> {
        let key = (finish.file, finish.queue, finish.submission, finish.command);
        let outcome = self.running.remove(&key)?;
        let mut different = Vec::new();
        // After a fault the capture holds what was written before it, and so does this; but which
        // of several threads had written is not determined.
        if !outcome.faulted {
            for (&id, pages) in &outcome.objects {
                let captured: BTreeMap<u32, &Arc<[u8]>> = session.object_pages(id).collect();
                let mut all: Vec<u32> = pages.keys().chain(captured.keys()).copied().collect();
                all.sort_unstable();
                all.dedup();
                for page in all {
                    let theirs = captured.get(&page).map_or(&[][..], |b| &b[..]);
                    let ours = pages.get(&page).map_or(&[][..], |b| &b[..]);
                    if let Some((at, their, our, count)) = difference(theirs, ours) {
                        let address = address_of(session, outcome.space, id, page);
                        different.push((address.wrapping_add(at as u64), their, our, count));
                    }
                }
            }
        }
        different.sort_unstable();
        Some(Comparison { different, fault: finish.fault.clone(), settled: outcome.settled })
    }
}

/// Exchanges bytes with those in memory, where it is bound. The GPU may have no right to write there.
fn swap(vm: &AddressSpace, address: u64, bytes: &mut [u8]) {
    for (at, byte) in (address..).zip(bytes) {
        if let Ok(host) = vm.translate(at, Access::Read) {
            // SAFETY: the byte is bound, and nothing else runs on this memory now.
            unsafe { std::ptr::swap(host, byte) };
        }
    }
}

/// The pages of objects that differ from the capture's, and all pages.
fn changes(
    session: &Session,
    space: u64,
    objects: &BTreeMap<u64, Arc<Memory>>,
) -> (Vec<Changed>, HashMap<u64, Pages>) {
    let mut changed = Vec::new();
    let mut after = HashMap::new();
    for (&id, memory) in objects {
        let pages = contents(memory);
        let place = |page: u32| address_of(session, space, id, page);
        let earlier: BTreeMap<u32, &Arc<[u8]>> = session.object_pages(id).collect();
        for (&page, bytes) in &pages {
            if !same(earlier.get(&page).map_or(&[], |b| &b[..]), bytes) {
                changed.push(Changed { address: place(page), hash: hash(bytes) });
            }
        }
        for &page in earlier.keys().filter(|page| !pages.contains_key(page)) {
            changed.push(Changed { address: place(page), hash: hash(&[]) });
        }
        after.insert(id, pages);
    }
    changed.sort_by_key(|c| c.address);
    (changed, after)
}

/// The shortest time of `repeats` executions, and the shortest CPU time.
fn times<T>(repeats: u32, execute: impl Fn() -> T) -> [Duration; 2] {
    let busy = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let mut least = [Duration::MAX; 2];
    for _ in 0..repeats {
        let (start, before) = (Instant::now(), busy());
        execute();
        let times = [start.elapsed(), busy().saturating_sub(before)];
        least = std::array::from_fn(|i| least[i].min(times[i]));
    }
    least
}

/// Binds what the capture's address space binds, over fresh memory with the same contents.
fn set_up<F: std::fmt::Display>(
    vm: &AddressSpace,
    session: &Session,
    space: u64,
) -> Result<BTreeMap<u64, Arc<Memory>>, Unplayable<F>> {
    let mut objects: BTreeMap<u64, Arc<Memory>> = BTreeMap::new();
    let mut total = 0u64;
    for mapping in session.space(space).mappings() {
        let memory = match objects.get(&mapping.object) {
            Some(memory) => memory.clone(),
            None => {
                let size = session.object_size(mapping.object).unwrap_or(0);
                total = total.saturating_add(size);
                if total > MAX_BYTES {
                    return Err(Unplayable::TooMuch { bytes: total });
                }
                let memory = Arc::new(Memory::shareable(size as usize)?);
                for (page, bytes) in session.object_pages(mapping.object) {
                    let at = page as usize * PAGE_BYTES;
                    let length = bytes.len().min(memory.size().saturating_sub(at));
                    // SAFETY: the piece lies inside of the block, which is not shared yet.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            bytes.as_ptr(),
                            memory.base().add(at),
                            length,
                        );
                    }
                }
                objects.insert(mapping.object, memory.clone());
                memory
            }
        };
        let mut protection = Protection::empty();
        protection.set(Protection::READ, mapping.read);
        protection.set(Protection::WRITE, mapping.write);
        let &Mapping { address, offset, length, .. } = mapping;
        if mapping.single_page {
            vm.bind_single_page(address, memory, offset, length, protection)?;
        } else {
            vm.bind(address, memory, offset, length, protection)?;
        }
    }
    Ok(objects)
}

/// The pages of a block that are not all zero.
fn contents(memory: &Memory) -> Pages {
    let mut pages = Pages::new();
    let touched = residency::touched(memory);
    let mut page = vec![0; PAGE_BYTES];
    for index in 0..memory.size().div_ceil(PAGE_BYTES) {
        if touched.contains(index) {
            residency::copy(memory, index, &mut page);
            if page.iter().any(|&byte| byte != 0) {
                pages.insert(index as u32, page.as_slice().into());
            }
        }
    }
    pages
}

/// Whether two pages are the same; a missing end is zeros.
fn same(a: &[u8], b: &[u8]) -> bool {
    let shared = a.len().min(b.len());
    a[..shared] == b[..shared] && a[shared..].iter().chain(&b[shared..]).all(|&byte| byte == 0)
}

/// The first byte that differs, both values, and how many differ.
fn difference(a: &[u8], b: &[u8]) -> Option<(usize, u8, u8, usize)> {
    if same(a, b) {
        return None;
    }
    let at = |bytes: &[u8], i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut odd = (0..a.len().max(b.len())).filter(|&i| at(a, i) != at(b, i));
    let first = odd.next()?;
    Some((first, at(a, first), at(b, first), 1 + odd.count()))
}

/// Hash of a page; the zeros at its end do not count.
fn hash(bytes: &[u8]) -> u64 {
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    xxhash_rust::xxh3::xxh3_64(&bytes[..used])
}

/// The address at which a page of an object is bound for writing, or else bound at all; 0 if it is not
/// bound. A mapping may begin inside of the page.
fn address_of(session: &Session, space: u64, object: u64, page: u32) -> u64 {
    let offset = u64::from(page) * PAGE_BYTES as u64;
    let holds = |m: &&Mapping| {
        let length = if m.single_page { PAGE_BYTES as u64 } else { m.length };
        let end = m.offset.saturating_add(length);
        m.object == object && offset < end && m.offset < offset.saturating_add(PAGE_BYTES as u64)
    };
    let view = session.space(space);
    let writable = view.mappings().filter(holds).find(|m| m.write);
    let mapping = writable.or_else(|| view.mappings().find(holds));
    mapping.map_or(0, |m| m.address.wrapping_add(offset).wrapping_sub(m.offset))
}
