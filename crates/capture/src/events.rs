//! Iterates over the requests and commands of a stream.

use std::io::Read;

use crate::{Call, Finish, Inconsistent, Process, ReadError, Reader, Record, Session, Start, View};

/// Reason why a capture cannot be followed further.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The stream cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record does not fit those before it.
    #[error("the record that ends at byte {offset} does not fit: {reason}")]
    Inconsistent {
        /// Offset of the record's end.
        offset: u64,
        /// The problem.
        reason: Inconsistent,
    },
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The stream begins.
    Process(Process),
    /// The node was opened.
    Opened(u64),
    /// An open was closed.
    Closed(u64),
    /// A request was answered.
    Call(Call),
    /// A command is about to be executed.
    Start(Start),
    /// A command was executed.
    Finish(Finish),
}

/// Reads a stream, keeps what memory holds, and gives what happens.
pub struct Events<R: Read> {
    reader: Reader<R>,
    session: Session,
    failed: bool,
}

impl<R: Read> Events<R> {
    /// Reads the beginning.
    pub fn new(input: R) -> Result<Events<R>, EventError> {
        Ok(Events { reader: Reader::new(input)?, session: Session::new(), failed: false })
    }

    /// The memory at the last event.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Memory as a command sees it that has just started.
    pub fn memory(&self, start: &Start) -> View<'_> {
        self.session.space(start.space)
    }

    fn step(&mut self) -> Result<Option<Event>, EventError> {
        while let Some(record) = self.reader.next().transpose()? {
            let offset = self.reader.offset();
            self.session
                .apply(&record)
                .map_err(|reason| EventError::Inconsistent { offset, reason })?;
            return Ok(Some(match record {
                Record::Process(process) => Event::Process(process),
                Record::Opened { file } => Event::Opened(file),
                Record::Closed { file } => Event::Closed(file),
                Record::Call(call) => Event::Call(call),
                Record::Start(start) => Event::Start(start),
                Record::Finish(finish) => Event::Finish(finish),
                Record::Page(_) | Record::Contents(_) | Record::Mappings(_) | Record::Forget => {
                    continue;
                }
            }));
        }
        Ok(None)
    }

    /// The next event, or `None` at the end. After an error there is no more.
    #[expect(clippy::should_implement_trait, reason = "the caller borrows memory between events")]
    pub fn next(&mut self) -> Option<Result<Event, EventError>> {
        if self.failed {
            return None;
        }
        let next = self.step().transpose();
        self.failed = !matches!(next, Some(Ok(_)));
        next
    }
}
