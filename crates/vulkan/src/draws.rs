//! Encoding of a family's draws: at once, or in parts and with counts that the CPU has to read.
//!
//! A family names one of the two modes ([`Types::Draws`](crate::backend::Types::Draws)). With [`Immediate`], an encoder has one function for draws
//! ([`DrawEncoder`]). [`Expanding`] is for families that run stages before the rasteriser as compute programs, whose memory is
//! bounded: their encoders may ask for another rendering in the middle of a draw, or for the counts of an indirect one
//! ([`ExpandingEncoder`]).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use vulkanalia_sys as vk;

use crate::backend::{Backend, Draw, Encoder, QueueId, SyncPoint};
use crate::command::{CommandBuffer, CommandState};
use crate::error::{Error, Result};

/// A command that is run later: of a secondary command buffer, or after a draw that waits for submission.
pub enum Deferred<B: Driver> {
    /// A draw.
    Draw(Draw),
    /// The end of a rendering.
    EndRendering(Command<B>),
    /// Any other.
    Other(Command<B>),
}

/// A recorded command.
pub type Command<B> = Box<dyn Fn(&mut CommandBuffer<B>) -> Result<()> + Send>;

impl<B: Driver> Deferred<B> {
    /// Runs it.
    pub(crate) fn run(&self, c: &mut CommandBuffer<B>) -> Result<()> {
        match self {
            Deferred::Draw(draw) => c.draw(draw),
            Deferred::EndRendering(command) => {
                B::Draws::rendering_ends(c);
                command(c)
            }
            Deferred::Other(command) => command(c),
        }
    }
}

/// A family's whole driver: its backend, and the mode of its draws.
pub trait Driver: Backend<Draws: DrawMode<Self>> {}

impl<B: Backend<Draws: DrawMode<B>>> Driver for B {}

/// Way in which draws of a family are encoded.
pub trait DrawMode<B: Driver>: Sized + 'static {
    /// State of a command buffer besides its encoder.
    type State: Default;

    /// Draws inside of a rendering.
    fn draw(c: &mut CommandBuffer<B>, draw: &Draw) -> Result<()>;

    /// Draws where no rendering has begun.
    fn draw_outside(_c: &mut CommandBuffer<B>, _draw: &Draw) -> Result<()> {
        Err(Error::new(vk::Result::ERROR_UNKNOWN, "a draw outside of a rendering"))
    }

    /// The commands that are encoded at submission, if there are such.
    fn rest(_state: &mut Self::State) -> Option<&mut Vec<Deferred<B>>> {
        None
    }

    /// Whether commands are encoded at submission.
    fn has_rest(_state: &Self::State) -> bool {
        false
    }

    /// A rendering ends.
    fn rendering_ends(_c: &mut CommandBuffer<B>) {}

    /// Runs deferred commands of a list from a number on. If the others have to wait for submission, gives the number of the next.
    fn run(c: &mut CommandBuffer<B>, list: &[Deferred<B>], first: usize) -> Result<Option<usize>> {
        list[first.min(list.len())..].iter().try_for_each(|command| command.run(c))?;
        Ok(None)
    }

    /// Submits command buffers in order.
    fn submit(
        device: &Arc<B::Device>,
        queue: QueueId,
        _lost: &Arc<AtomicBool>,
        commands: &[&CommandBuffer<B>],
        waits: &[SyncPoint],
        signals: &[SyncPoint],
    ) -> Result<()> {
        let encoders: Vec<&B::Encoder> = commands.iter().map(|c| &c.encoder).collect();
        B::submit(device, queue, waits, &encoders, signals)
    }
}

/// Encoder of a family whose draws are encoded at once.
pub trait DrawEncoder<B: Backend>: Encoder<B> {
    /// Draws.
    fn draw(&mut self, state: &mut CommandState<B>, draw: &Draw) -> Result<()>;
}

/// Draws are encoded at once.
pub struct Immediate;

impl<B: Backend<Draws = Immediate>> DrawMode<B> for Immediate
where
    B::Encoder: DrawEncoder<B>,
{
    type State = ();

    #[inline]
    fn draw(c: &mut CommandBuffer<B>, draw: &Draw) -> Result<()> {
        let discards = c.state.rasterises_no_stream();
        if discards {
            c.state.set_discard(true);
        }
        let drawn = c.encoder.draw(&mut c.state, draw);
        if discards {
            c.state.set_discard(false);
        }
        drawn
    }
}

/// Draws may need several renderings, or counts that the CPU reads: [`crate::deferred`] encodes them.
pub struct Expanding;

/// Outcome of encoding a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOutcome {
    /// The draw is complete.
    Complete,
    /// The draw is partial: the rendering must be split, and the rest of the draw encoded again.
    Partial,
    /// Nothing is drawn: the CPU has to read its counts and its condition first.
    NeedsCounts,
}

/// Encoder of a family whose draws may need several renderings, or counts that the CPU reads.
pub trait ExpandingEncoder<B: Backend>: Encoder<B> {
    /// Whether the state of a draw conflicts with state that earlier draws have fixed for the rendering: it is split in front of the
    /// draw.
    fn needs_split(&self, state: &CommandState<B>) -> bool;

    /// Draws, or draws a part.
    fn draw(&mut self, state: &mut CommandState<B>, draw: &Draw) -> Result<DrawOutcome>;

    /// Drops the rendering, if nothing was drawn in it; returns whether it did.
    fn drop_rendering(&mut self) -> bool;

    /// An empty encoder that continues this one, with the active queries and transform feedback.
    fn continuation(&self) -> Self;

    /// Copies memory to the host when the recorded work is done; the copy is valid until the encoder is
    /// reset. Returns its address.
    fn read_back(&mut self, address: u64, size: u64) -> Result<*const u8>;
}
