//! A run of a group in a capture.

use tepui_mali_kernel::StreamStart;

/// A stream that a queue begins: 32 bytes, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Stream {
    /// GPU address of the first instruction.
    pub address: u64,
    /// Its length in bytes.
    pub size: u64,
    /// The submission.
    pub submission: u64,
    /// The queue's index in the group.
    pub queue: u64,
}

/// A capture's record of a run: [`tepui_capture::Start::payload`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The streams that begin with it.
    pub streams: Vec<Stream>,
}

impl Run {
    /// A run with which streams begin.
    pub fn new(started: &[StreamStart]) -> Run {
        let stream = |s: &StreamStart| Stream {
            address: s.stream.address,
            size: s.stream.size,
            submission: s.submission,
            queue: s.queue as u64,
        };
        Run { streams: started.iter().map(stream).collect() }
    }

    /// Reads a run from the bytes that [`Run::bytes`] writes.
    pub fn read(bytes: &[u8]) -> Run {
        let chunks = bytes.chunks_exact(size_of::<Stream>());
        Run { streams: chunks.map(bytemuck::pod_read_unaligned).collect() }
    }

    /// The bytes of a run.
    pub fn bytes(&self) -> Vec<u8> {
        bytemuck::cast_slice(&self.streams).to_vec()
    }

    /// The submission of the first stream that begins; 0 if none does.
    pub fn submission(&self) -> u64 {
        self.streams.first().map_or(0, |stream| stream.submission)
    }
}
