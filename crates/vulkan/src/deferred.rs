//! Indirect draws resolved at submission, for encoders of the mode [`Expanding`].
//!
//! An encoder that cannot encode a draw whose counts are in memory returns [`DrawOutcome::NeedsCounts`]. The command buffer then
//! ends there, and keeps the following commands as a secondary command buffer does: they are encoded at submission, on the
//! queue's thread. Where a draw needs its counts, the encoded work is submitted, and the thread waits
//! for it and reads them. Counts of all indirect draws of a rendering are read together, as nothing in
//! a rendering may write them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use vulkanalia_sys as vk;

use crate::backend::{Backend, Counts, Draw, Encoder, QueueId, Rendering, SyncPoint};
use crate::command::{CommandBuffer, CommandState, PassState};
use crate::draws::{Deferred, DrawMode, DrawOutcome, Driver, Expanding, ExpandingEncoder};
use crate::error::{Error, Result};
use crate::queue::wait_for;

/// Deferred draws of a command buffer.
pub struct State<B: Driver> {
    /// Commands that are encoded at submission.
    rest: Option<Box<Rest<B>>>,
    /// The submission that encodes them.
    replay: Option<Box<Replay<B>>>,
}

impl<B: Driver> Default for State<B> {
    fn default() -> Self {
        State { rest: None, replay: None }
    }
}

impl<B: Backend<Draws = Expanding>> DrawMode<B> for Expanding
where
    B::Encoder: ExpandingEncoder<B>,
{
    type State = State<B>;

    #[inline]
    fn draw(c: &mut CommandBuffer<B>, draw: &Draw) -> Result<()> {
        if c.encoder.needs_split(&c.state) {
            c.split_rendering()?;
        }
        let discards = c.state.rasterises_no_stream();
        if discards {
            c.state.set_discard(true);
        }
        let drawn = draw_whole(c, draw);
        if discards {
            c.state.set_discard(false);
        }
        drawn
    }

    /// Draws after one that waits for submission find no rendering.
    #[cold]
    fn draw_outside(c: &mut CommandBuffer<B>, draw: &Draw) -> Result<()> {
        if c.draws.rest.is_none() {
            return Err(Error::new(vk::Result::ERROR_UNKNOWN, "a draw outside of a rendering"));
        }
        c.defer(Deferred::Draw(*draw));
        Ok(())
    }

    fn rest(state: &mut State<B>) -> Option<&mut Vec<Deferred<B>>> {
        state.rest.as_mut().map(|rest| &mut rest.commands)
    }

    fn has_rest(state: &State<B>) -> bool {
        state.rest.is_some()
    }

    fn rendering_ends(c: &mut CommandBuffer<B>) {
        if let Some(replay) = &mut c.draws.replay {
            replay.read.clear();
        }
    }

    fn run(c: &mut CommandBuffer<B>, list: &[Deferred<B>], first: usize) -> Result<Option<usize>> {
        let replay = c.draws.replay.as_mut();
        let outer = replay.map(|r| (std::mem::replace(&mut r.list, list), r.next));
        for (k, command) in list.iter().enumerate().skip(first) {
            if let Some(r) = &mut c.draws.replay {
                r.next = k + 1;
            }
            command.run(c)?;
            if c.draws.rest.is_some() {
                return Ok(Some(k + 1));
            }
        }
        if let (Some(r), Some(outer)) = (&mut c.draws.replay, outer) {
            (r.list, r.next) = outer;
        }
        Ok(None)
    }

    /// If commands are encoded here, waits until all are done.
    fn submit(
        device: &Arc<B::Device>,
        queue: QueueId,
        lost: &Arc<AtomicBool>,
        commands: &[&CommandBuffer<B>],
        waits: &[SyncPoint],
        signals: &[SyncPoint],
    ) -> Result<()> {
        if commands.iter().all(|c| c.draws.rest.is_none()) {
            let encoders: Vec<&B::Encoder> = commands.iter().map(|c| &c.encoder).collect();
            return B::submit(device, queue, waits, &encoders, signals);
        }
        let mut replay = Box::new(Replay {
            lost: lost.clone(),
            queue,
            waits: waits.to_vec(),
            encoders: Vec::new(),
            own: Vec::new(),
            read: Vec::new(),
            list: &[],
            next: 0,
        });
        for c in commands {
            replay.encoders.push(&raw const c.encoder);
            if let Some(rest) = &c.draws.rest {
                replay = rest.replay(c, replay)?;
            }
        }
        replay.submit(device, signals)?;
        // The encoders go.
        wait_for::<B>(device, lost, &signals[signals.len().saturating_sub(1)..])
    }
}

/// Draws in as many renderings as the draw takes.
#[inline]
fn draw_whole<B: Backend<Draws = Expanding>>(c: &mut CommandBuffer<B>, draw: &Draw) -> Result<()>
where
    B::Encoder: ExpandingEncoder<B>,
{
    loop {
        match c.encoder.draw(&mut c.state, draw)? {
            DrawOutcome::Complete => return Ok(()),
            DrawOutcome::Partial => c.split_rendering()?,
            DrawOutcome::NeedsCounts => return c.draw_with_counts(draw),
        }
    }
}

/// The rest of a command buffer from a draw with unknown counts on.
struct Rest<B: Driver> {
    state: CommandState<B>,
    pass: Option<PassState>,
    /// The rendering that continues.
    rendering: Rendering<B>,
    /// The commands.
    commands: Vec<Deferred<B>>,
}

/// Memory that is read, as a GPU address and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    address: u64,
    size: u64,
}

/// A submission on its way.
struct Replay<B: Driver> {
    lost: Arc<AtomicBool>,
    queue: QueueId,
    /// Points that the next part waits for.
    waits: Vec<SyncPoint>,
    /// Encoders that are not submitted yet.
    encoders: Vec<*const B::Encoder>,
    /// Encoders that the submission owns, including those of earlier parts: their memory is in use
    /// until all is done.
    own: Vec<Box<B::Encoder>>,
    /// Memory that the rendering has read.
    read: Vec<(Span, Vec<u8>)>,
    /// The list of the command that runs, and the next one.
    list: *const [Deferred<B>],
    next: usize,
}

// SAFETY: the lists and encoders outlive the submission, whose thread alone uses them.
unsafe impl<B: Driver> Send for Replay<B> {}

impl<B: Driver> Replay<B> {
    /// Submits the encoders that are left.
    fn submit(&mut self, device: &Arc<B::Device>, signals: &[SyncPoint]) -> Result<()> {
        // SAFETY: pending command buffers stay as they are, and the others are the submission's own.
        let encoders: Vec<&B::Encoder> = self.encoders.iter().map(|&e| unsafe { &*e }).collect();
        B::submit(device, self.queue, &self.waits, &encoders, signals)?;
        self.waits.clear();
        self.encoders.clear();
        Ok(())
    }

    /// Takes an encoder over; it is submitted next.
    fn take(&mut self, encoder: B::Encoder) {
        let encoder = Box::new(encoder);
        self.encoders.push(&raw const *encoder);
        self.own.push(encoder);
    }

    /// Contents of memory that was read.
    fn bytes(&self, span: Span) -> Option<&[u8]> {
        self.read.iter().find(|(s, _)| *s == span).map(|(_, bytes)| &**bytes)
    }

    /// A word of memory.
    fn word(&self, address: u64) -> Option<u32> {
        let bytes = self.bytes(Span { address, size: 4 })?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The memory that decides about the counts of a draw.
fn spans(draw: &Draw) -> impl Iterator<Item = Span> {
    let (arguments, number) = match *draw {
        Draw::Indirect { address, count, stride, count_address, indexed, .. } if count > 0 => {
            let last = if indexed { 20 } else { 16 };
            let size = u64::from(count - 1) * u64::from(stride) + last;
            (Some(Span { address, size }), count_address.map(|address| Span { address, size: 4 }))
        }
        _ => (None, None),
    };
    arguments.into_iter().chain(number)
}

impl<B: Backend<Draws = Expanding>> Rest<B>
where
    B::Encoder: ExpandingEncoder<B>,
{
    /// Encodes the commands that follow an encoder, and submits all parts but the last.
    fn replay(&self, of: &CommandBuffer<B>, mut replay: Box<Replay<B>>) -> Result<Box<Replay<B>>> {
        (replay.list, replay.next) = (&raw const *self.commands, 0);
        let state = self.state.snapshot();
        let encoder = of.encoder.continuation();
        let mut c = of.continuation(encoder, state, self.pass.clone());
        c.draws.replay = Some(replay);
        c.read_ahead(&[])?;
        c.begin_rendering(self.rendering.clone())?;
        Expanding::run(&mut c, &self.commands, 0)?;
        c.encoder.finish()?;
        let Some(mut replay) = c.draws.replay.take() else { return Err(Error::host_memory()) };
        replay.take(c.encoder);
        replay.read.clear();
        Ok(replay)
    }
}

impl<B: Backend<Draws = Expanding>> CommandBuffer<B>
where
    B::Encoder: ExpandingEncoder<B>,
{
    /// Draws what the encoder cannot draw as its counts are in memory.
    #[cold]
    fn draw_with_counts(&mut self, draw: &Draw) -> Result<()> {
        if self.draws.replay.is_some() {
            return self.draw_read(draw);
        }
        let Some(rendering) = self.leave_rendering()? else {
            return Expanding::draw_outside(self, draw);
        };
        self.draws.rest = Some(Box::new(Rest {
            state: self.state.snapshot(),
            pass: self.pass.clone(),
            rendering,
            commands: vec![Deferred::Draw(*draw)],
        }));
        self.defers = true;
        Ok(())
    }

    /// Ends the rendering; gives what goes on with it.
    fn leave_rendering(&mut self) -> Result<Option<Rendering<B>>> {
        let Some(rendering) = self.state.rendering.take() else { return Ok(None) };
        if self.encoder.drop_rendering() {
            return Ok(Some(rendering));
        }
        self.state.rendering = Some(rendering);
        self.store_rendering()
    }

    /// Draws with counts out of memory.
    fn draw_read(&mut self, draw: &Draw) -> Result<()> {
        let condition = self.state.condition;
        let when = condition.map(|c| Span { address: c.address, size: 4 });
        let missing = |r: &Replay<B>| spans(draw).chain(when).any(|s| r.bytes(s).is_none());
        if self.draws.replay.as_deref().is_none_or(missing) {
            let rendering = self.leave_rendering()?;
            let wanted: Vec<Span> = spans(draw).collect();
            self.read_ahead(&wanted)?;
            if let Some(rendering) = rendering {
                self.begin_rendering(rendering)?;
            }
        }
        let Some(replay) = &self.draws.replay else { return Ok(()) };
        let holds = condition
            .is_none_or(|c| replay.word(c.address).is_some_and(|word| (word == 0) == c.inverted));
        if !holds {
            return Ok(());
        }
        let mut draws = Vec::new();
        match *draw {
            Draw::Direct(_) => draws.push(*draw),
            Draw::Indirect { count, stride, count_address, indexed, draw_index, .. } => {
                let bytes = spans(draw).next().and_then(|s| replay.bytes(s)).unwrap_or(&[]);
                let number = count_address.map_or(count, |at| replay.word(at).unwrap_or(0));
                for k in 0..count.min(number) {
                    let word = |w: usize| {
                        let at = k as usize * stride as usize + 4 * w;
                        let word = bytes.get(at..at + 4).and_then(|w| w.try_into().ok());
                        u32::from_le_bytes(word.unwrap_or_default())
                    };
                    let (vertex_offset, first_instance) =
                        if indexed { (word(3) as i32, word(4)) } else { (0, word(3)) };
                    draws.push(Draw::Direct(Counts {
                        count: word(0),
                        instances: word(1),
                        first: word(2),
                        vertex_offset,
                        first_instance,
                        indexed,
                        draw_index: draw_index + k,
                    }));
                }
            }
        }
        self.state.condition = None;
        let drawn = draws.iter().try_for_each(|d| self.draw(d));
        self.state.condition = condition;
        drawn
    }

    /// Submits what is encoded, and waits for it. Reads what is wanted, what decides about the condition, and the arguments of all
    /// draws that come in the rendering.
    fn read_ahead(&mut self, wanted: &[Span]) -> Result<()> {
        let Some(mut replay) = self.draws.replay.take() else { return Ok(()) };
        // SAFETY: the list outlives the submission.
        let list = unsafe { &*replay.list }.get(replay.next..).unwrap_or_default();
        let draws =
            list.iter().take_while(|c| !matches!(c, Deferred::EndRendering(_))).filter_map(|c| {
                match c {
                    Deferred::Draw(draw) => Some(draw),
                    _ => None,
                }
            });
        let condition = self.state.condition.map(|c| Span { address: c.address, size: 4 });
        let ahead = draws.flat_map(spans);
        let mut all: Vec<Span> = wanted.iter().copied().chain(condition).collect();
        for span in ahead {
            if !all.contains(&span) {
                all.push(span);
            }
        }
        let copies = all.iter().map(|s| self.encoder.read_back(s.address, s.size));
        let copies = copies.collect::<Result<Vec<_>>>()?;
        self.encoder.finish()?;
        let next = self.encoder.continuation();
        replay.take(std::mem::replace(&mut self.encoder, next));
        let node = B::node(&self.device);
        let sync =
            node.create_sync(false).map_err(|e| Error::kernel("creating a sync object", e))?;
        let done = replay.submit(&self.device, &[(sync, 0)]);
        let done = done.and_then(|()| wait_for::<B>(&self.device, &replay.lost, &[(sync, 0)]));
        node.destroy_sync(sync);
        done?;
        for (span, copy) in all.into_iter().zip(copies) {
            // SAFETY: the encoder keeps `span.size` bytes there, and the GPU has written them.
            let bytes = unsafe { std::slice::from_raw_parts(copy, span.size as usize) };
            replay.read.push((span, bytes.to_vec()));
        }
        self.draws.replay = Some(replay);
        Ok(())
    }
}
