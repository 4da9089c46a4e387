//! Reads records from bytes.

use std::io::{self, Read};

use crate::record::Record;
use crate::{MAGIC, MAX_PAYLOAD_BYTES, VERSION};

/// Reason why a stream cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream does not begin with the magic bytes.
    #[error("this is no capture: it does not begin with TEPUICAP")]
    NotACapture,
    /// The stream has another version of the format.
    #[error("the capture has version {found}; this program reads version {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// The stream ends inside a record, for example because the program was killed.
    #[error("the capture ends inside of the record at byte {offset}")]
    Truncated {
        /// Offset of the record.
        offset: u64,
    },
    /// A record is longer than [`MAX_PAYLOAD_BYTES`].
    #[error(
        "the record at byte {offset} claims {length} bytes; at most {MAX_PAYLOAD_BYTES} are allowed"
    )]
    TooLong {
        /// Offset of the record.
        offset: u64,
        /// The length in its header.
        length: u32,
    },
    /// A record's checksum is wrong.
    #[error("the record at byte {offset} is damaged: its checksum is wrong")]
    Checksum {
        /// Offset of the record.
        offset: u64,
    },
    /// A record's payload cannot be deserialised.
    #[error("the record at byte {offset} is damaged: {reason}")]
    Payload {
        /// Offset of the record.
        offset: u64,
        /// The problem.
        reason: postcard::Error,
    },
    /// The file or pipe failed.
    #[error("reading the capture failed: {0}")]
    Io(#[from] io::Error),
}

/// Iterator over the records of a stream. It ends after the first error.
pub struct Reader<R: Read> {
    input: R,
    offset: u64,
    ended: bool,
}

/// Number of variants of [`Record`].
const VARIANTS: u32 = 10;

impl<R: Read> Reader<R> {
    /// Reads and checks the header of the stream.
    pub fn new(mut input: R) -> Result<Reader<R>, ReadError> {
        let mut head = [0; 12];
        let got = fill(&mut input, &mut head)?;
        if got < MAGIC.len() || head[..8] != MAGIC {
            return Err(ReadError::NotACapture);
        }
        if got < head.len() {
            return Err(ReadError::Truncated { offset: 0 });
        }
        let found = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if found != VERSION {
            return Err(ReadError::Version { found });
        }
        Ok(Reader { input, offset: 12, ended: false })
    }

    /// Offset of the next record, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            let offset = self.offset;
            let mut head = [0; 8];
            match fill(&mut self.input, &mut head)? {
                0 => return Ok(None),
                8 => {}
                _ => return Err(ReadError::Truncated { offset }),
            }
            let [l0, l1, l2, l3, c0, c1, c2, c3] = head;
            let length = u32::from_le_bytes([l0, l1, l2, l3]);
            let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
            if length > MAX_PAYLOAD_BYTES {
                return Err(ReadError::TooLong { offset, length });
            }
            // The buffer grows with the bytes that exist, so a wrong length cannot allocate much.
            let mut payload = Vec::new();
            self.input.by_ref().take(length.into()).read_to_end(&mut payload)?;
            if payload.len() < length as usize {
                return Err(ReadError::Truncated { offset });
            }
            if crc32fast::hash(&payload) != checksum {
                return Err(ReadError::Checksum { offset });
            }
            self.offset += 8 + u64::from(length);
            // Postcard encodes the variant as a varint; known variants take one byte.
            if payload.first().is_none_or(|&variant| u32::from(variant) >= VARIANTS) {
                continue;
            }
            return postcard::from_bytes(&payload)
                .map(Some)
                .map_err(|reason| ReadError::Payload { offset, reason });
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Reads until the buffer is full or the input ends; returns the number of bytes read.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
