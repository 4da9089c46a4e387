//! The records of a stream.

use serde::{Deserialize, Serialize};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The process that made the capture; the first record.
    Process(Process),
    /// The render node was opened.
    Opened {
        /// Number of the open, counted in the process from 1.
        file: u64,
    },
    /// The last descriptor of an open was closed.
    Closed {
        /// Number of the open.
        file: u64,
    },
    /// An ioctl returned.
    Call(Call),
    /// The content of a page, without its trailing zeros. Its number is one more than that of the
    /// page record before.
    Page(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The pages of a buffer object that changed since the last record of that object.
    Contents(Contents),
    /// All mappings of an address space.
    Mappings(Mappings),
    /// A command is about to execute; the records up to this one describe memory.
    Start(Start),
    /// A command has executed; the records up to this one describe memory.
    Finish(Finish),
    /// All pages, objects and address spaces are dropped, and the page numbers start over.
    Forget,
}

/// The process that was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub id: u32,
    /// Command line.
    pub arguments: Vec<String>,
    /// Name of the kernel's driver.
    pub driver: String,
    /// Name of the GPU, for display.
    pub gpu: String,
    /// The driver's parameter block.
    #[serde(with = "serde_bytes")]
    pub parameters: Vec<u8>,
}

/// An ioctl and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Number of the open file.
    pub file: u64,
    /// Number of the thread in the process.
    pub thread: u32,
    /// Time of the answer: CLOCK_MONOTONIC in nanoseconds.
    pub time_ns: u64,
    /// The ioctl's request number.
    pub request: u32,
    /// The return value of `ioctl`, or minus the errno.
    pub result: i32,
    /// The argument before the call.
    #[serde(with = "serde_bytes")]
    pub before: Vec<u8>,
    /// The argument after the call; empty if the call did not change it.
    #[serde(with = "serde_bytes")]
    pub after: Vec<u8>,
    /// The client memory that pointers in the argument refer to.
    pub memory: Vec<ClientMemory>,
}

/// A range of the client's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientMemory {
    /// The field of the argument that points to it.
    pub field: String,
    /// Its address.
    pub address: u64,
    /// The bytes before the call, or after it where the kernel wrote them.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Changed pages of a buffer object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The object's number, given by the writer.
    pub object: u64,
    /// Its size in bytes, a multiple of the page.
    pub size: u64,
    /// The changed pages: index in the object, and number of the page record that holds the
    /// content.
    pub pages: Vec<(u32, u32)>,
}

/// A mapped GPU address range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First GPU address.
    pub address: u64,
    /// Length in bytes, a multiple of [`crate::MAPPING_BYTES`].
    pub length: u64,
    /// The object.
    pub object: u64,
    /// Offset in the object.
    pub offset: u64,
    /// The GPU may read.
    pub read: bool,
    /// The GPU may write.
    pub write: bool,
    /// Every page of the range maps the one page at the offset.
    pub single_page: bool,
}

/// All mappings of an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mappings {
    /// The address space's number, given by the writer.
    pub space: u64,
    /// The ranges, in order of address.
    pub mappings: Vec<Mapping>,
}

/// A command that is about to execute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Number of the open file.
    pub file: u64,
    /// Number of the queue in the file.
    pub queue: u32,
    /// Submissions of the process, counted from 1.
    pub submission: u64,
    /// Hardware commands of the submission, counted from 0.
    pub command: u32,
    /// The address space it runs in.
    pub space: u64,
    /// The type of the command, as the kernel interface numbers it.
    pub kind: u32,
    /// Queue state that the command needs: for AGX the base of USC addresses.
    pub base: u64,
    /// The command in the format of the kernel interface.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
    /// Memory was captured at submission, not at execution, because the writer could not observe
    /// when the GPU began.
    pub early: bool,
}

/// Completion of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// As in [`Start`].
    pub file: u64,
    /// As in [`Start`].
    pub queue: u32,
    /// As in [`Start`].
    pub submission: u64,
    /// As in [`Start`].
    pub command: u32,
    /// The fault, if it ended in one.
    pub fault: Option<String>,
}
