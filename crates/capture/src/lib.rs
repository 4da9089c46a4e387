//! Captures: what a process asked of a GPU, and the memory that its commands saw.
//!
//! A [`Writer`] turns [`Record`]s into a stream of bytes — a file, a pipe, a socket — and a
//! [`Reader`] turns them back; a [`Session`] applies them one after another and answers what memory
//! held at each moment. [`Events`] reads a stream as what happened, [`Replayer`] executes its
//! commands again on a model, and [`Sink`] is where a recorder's stream goes. What the bytes of a
//! call or a command mean is the business of the family's crate.
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
//! a variant it does not know. Memory travels in pages of [`PAGE_BYTES`]; a page is written once,
//! without the zeros at its end, and later records name it by its number: pages count from 1 in the
//! order of their records, and number 0 is the page of zeros. [`Record::Forget`] starts all numbers
//! anew, so that a reader's memory is bounded as the writer's is.
//!
//! A stream may end anywhere, as programs do. A reader of a damaged stream gives the offset and
//! stops.

mod events;
mod reader;
mod record;
mod replay;
mod residency;
mod session;
mod sink;
mod spaces;
mod writer;

pub use events::{Event, EventError, Events};
pub use reader::{ReadError, Reader};
pub use record::{Call, ClientMemory, Contents, Finish, Mapping, Mappings, Process, Record, Start};
pub use replay::{Changed, Compared, Model, Replayed, Replayer, Unplayable};
pub use session::{Inconsistent, Session, View};
pub use sink::{CAPTURE_VARIABLE, Output, Sink};
pub use spaces::Spaces;
pub use writer::{ObjectWriter, Writer};

/// What a stream begins with.
pub const MAGIC: [u8; 8] = *b"TEPUICAP";

/// The version that is written and read here.
pub const VERSION: u32 = 1;

/// Size of a page of memory.
pub const PAGE_BYTES: usize = 16384;

/// The longest payload of a record.
pub const MAX_PAYLOAD_BYTES: u32 = 1 << 26;
