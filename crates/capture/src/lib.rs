//! Captures of GPU work: a file format for the requests that a process made to the kernel and for
//! the memory that its commands read.
//!
//! A [`Writer`] turns [`Record`]s into a stream of bytes — a file, a pipe, a socket — and a
//! [`Reader`] turns them back. A [`Session`] replays the records and reconstructs GPU memory as it
//! was at each of them. [`Events`] reads a stream as requests and commands, [`Replayer`] executes
//! its commands again on a model, [`Recorder`] writes what happens at a virtual device, and
//! [`Sink`] is where its stream goes. [`mod@client`] copies what requests point to, and
//! [`mod@describe`] prints requests. Commands are left to the crate of the GPU family (for AGX
//! `tepui-agx-capture`). Start reading in `record.rs`.
//!
//! ```
//! use tepui_capture::{Process, Reader, Record, Writer};
//!
//! let record = Record::Process(Process { gpu: "Apple M1".into(), ..Process::default() });
//! let mut stream = Vec::new();
//! Writer::new(&mut stream)?.record(&record)?;
//! let mut reader = Reader::new(stream.as_slice())?;
//! assert_eq!(reader.next().transpose()?, Some(record));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Format
//!
//! All numbers are little-endian. A stream begins with 8 bytes `TEPUICAP` and a 32-bit version,
//! [`VERSION`]. Records follow without padding:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | length of the payload, at most [`MAX_PAYLOAD_BYTES`] |
//! | 4 | CRC-32 (that of Ethernet and zlib) of the payload |
//! | length | the payload: a [`Record`] in the [postcard](https://postcard.jamesmunns.com/wire-format) format |
//!
//! Variants of [`Record`] are only added at its end, and a reader skips a payload that begins with
//! a variant it does not know. Memory is stored in pages of [`PAGE_BYTES`], deduplicated: each
//! content is written once, without its trailing zeros, and later records refer to it by number.
//! Numbers count from 1 in the order of the page records; number 0 is the page of zeros.
//! [`Record::Forget`] resets the numbering, which bounds the memory of writer and reader.
//!
//! A stream may end anywhere, since programs may be killed. On a damaged record the reader reports
//! its offset and stops.

pub mod client;
pub mod describe;
mod events;
mod reader;
pub mod real;
mod record;
mod recorder;
mod replay;
mod residency;
mod session;
mod sink;
mod spaces;
mod writer;

pub use events::{Event, EventError, Events};
pub use reader::{ReadError, Reader};
pub use record::{Call, ClientMemory, Contents, Finish, Mapping, Mappings, Process, Record, Start};
pub use recorder::Recorder;
pub use replay::{Changed, Comparison, Model, Replayed, Replayer, Unplayable};
pub use session::{Inconsistent, Session, View};
pub use sink::{CAPTURE_VARIABLE, Output, Sink};
pub use spaces::Spaces;
pub use writer::{ObjectWriter, Writer};

/// The first bytes of a stream.
pub const MAGIC: [u8; 8] = *b"TEPUICAP";

/// The version of the format that this crate reads and writes.
pub const VERSION: u32 = 1;

/// Size of a page of memory.
pub const PAGE_BYTES: usize = 16384;

/// Address, length and offset of mappings are multiples of this: the smallest page of a GPU.
pub const MAPPING_BYTES: u64 = 4096;

/// The longest payload of a record.
pub const MAX_PAYLOAD_BYTES: u32 = 1 << 26;
