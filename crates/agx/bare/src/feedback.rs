//! Runs the compute program of transform feedback, as a driver does before the draw.

use tepui_agx_compiler::abi::capture::{CaptureWords, THREADS};
use tepui_agx_compiler::{Program, Source};
use tepui_agx_model::JobStats;
use tepui_sysval::{SystemValue, Words as _};

use crate::draw::VertexBuffer;
use crate::shader::{Bindings, halves};
use crate::{Buffer, Error, Machine, address_halves};

/// The captured outputs.
pub struct Feedback<'a> {
    /// Vertices of an instance, in the order of its primitives.
    pub vertices: &'a [u32],
    /// Instances, from 0 on.
    pub instances: u32,
    /// Vertices that are written at most.
    pub limit: u32,
    /// Buffers by number.
    pub buffers: [Option<Buffer>; 4],
    /// Attributes by location.
    pub attributes: Vec<Option<VertexBuffer>>,
    /// The shader's other bindings.
    pub bindings: &'a Bindings,
}

/// Captures.
///
/// # Errors
/// When memory cannot be bound or the job faults.
pub fn run(machine: &mut Machine, program: &Program, f: &Feedback<'_>) -> Result<JobStats, Error> {
    let count = f.vertices.len() as u32;
    // Launched like drivers do by indirect dispatches: the last workgroup may have threads without a
    // vertex.
    let threads = count.max(1).next_multiple_of(THREADS);
    let list = machine.buffer(threads as usize * 4)?;
    list.write_words(f.vertices)?;
    let words = CaptureWords {
        buffers: f.buffers.each_ref().map(|b| b.as_ref().map_or(0, Buffer::address).into()),
        vertices: count,
        limit: f.limit,
    };
    let driver = |offset: u32| words.words().get(offset as usize / 4).copied().unwrap_or(0);
    let attribute = |n: u8| f.attributes.get(usize::from(n)).and_then(Option::as_ref);
    let own = |s| {
        Some(match s {
            Source::System(SystemValue::Driver { offset }) => halves(driver(offset)).to_vec(),
            Source::System(SystemValue::VertexList) => address_halves(list.address()).to_vec(),
            Source::AttributeBase { index } => {
                let at = attribute(index).map_or(0, |a| a.buffer.address() + a.offset);
                address_halves(at).to_vec()
            }
            Source::AttributeClamp { index } => {
                halves(attribute(index).map_or(0, VertexBuffer::clamp)).to_vec()
            }
            Source::System(SystemValue::BaseVertex | SystemValue::BaseInstance) => {
                halves(0).to_vec()
            }
            Source::System(SystemValue::DrawIndex) => vec![0],
            _ => return None,
        })
    };
    crate::shader::launch(machine, program, f.bindings, [threads, f.instances, 1], &own)
}
