//! The records of a stream.

use serde::{Deserialize, Serialize};

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The process that made the capture; the first record.
    Process(Process),
    /// The render node was opened.
    Opened {
        /// Which open, counted in the process from 1.
        file: u64,
    },
    /// The last descriptor of an open was closed.
    Closed {
        /// Which open.
        file: u64,
    },
    /// A request was answered.
    Call(Call),
    /// The next page, without the zeros at its end.
    Page(#[serde(with = "serde_bytes")] Vec<u8>),
    /// What an object holds now, as far as it changed since the last record of it.
    Contents(Contents),
    /// What an address space binds now: all of it.
    Mappings(Mappings),
    /// A command is about to be executed; memory is what the records so far say.
    Start(Start),
    /// A command has been executed; memory is what the records so far say.
    Finish(Finish),
    /// Pages, objects and address spaces are forgotten, and numbers start anew.
    Forget,
}

/// The process behind a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// What it was started with.
    pub arguments: Vec<String>,
    /// Name of the kernel's driver.
    pub driver: String,
    /// Which GPU, for people.
    pub gpu: String,
    /// The driver's parameter block.
    #[serde(with = "serde_bytes")]
    pub parameters: Vec<u8>,
}

/// A request and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which open file.
    pub file: u64,
    /// Which thread of the process.
    pub thread: u32,
    /// When it was answered: CLOCK_MONOTONIC in nanoseconds.
    pub time_ns: u64,
    /// The request word.
    pub request: u32,
    /// What `ioctl` returned, or minus the errno.
    pub result: i32,
    /// The argument before the call.
    #[serde(with = "serde_bytes")]
    pub before: Vec<u8>,
    /// The argument after the call; empty if it is the same.
    #[serde(with = "serde_bytes")]
    pub after: Vec<u8>,
    /// What pointers in the argument led to.
    pub memory: Vec<ClientMemory>,
}

/// A piece of the client's memory.
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

/// Changed pages of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The object's number, given by the writer.
    pub object: u64,
    /// Its size in bytes, a multiple of the page.
    pub size: u64,
    /// Which pages of the object changed, and the numbers of their contents.
    pub pages: Vec<(u32, u32)>,
}

/// A bound range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First GPU address.
    pub address: u64,
    /// Length in bytes, a multiple of the page.
    pub length: u64,
    /// The object.
    pub object: u64,
    /// Offset in the object.
    pub offset: u64,
    /// The GPU may read.
    pub read: bool,
    /// The GPU may write.
    pub write: bool,
    /// The page at the offset stands at every page of the range.
    pub single_page: bool,
}

/// All bound ranges of an address space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mappings {
    /// The address space's number, given by the writer.
    pub space: u64,
    /// The ranges, in order of address.
    pub mappings: Vec<Mapping>,
}

/// A command at the moment of its execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Which open file.
    pub file: u64,
    /// Which queue of the file.
    pub queue: u32,
    /// Submissions of the process, counted from 1.
    pub submission: u64,
    /// Hardware commands of the submission, counted from 0.
    pub command: u32,
    /// The address space it runs in.
    pub space: u64,
    /// The driver's number of the command's type.
    pub kind: u32,
    /// What the queue adds to the command: for AGX the base of USC addresses.
    pub base: u64,
    /// The command, as the driver's interface has it.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
    /// Memory is that of the moment of the submission, not of the execution: the writer could not
    /// see when the GPU began.
    pub early: bool,
}

/// How a command ended.
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
