//! The messages between a client and the server of a device, one packet of a `SOCK_SEQPACKET` socket each.
//!
//! A connection serves one call at a time. The client sends a [`Call`]; the server answers with a [`Reply`]. Before it
//! answers, it may ask for something that only the client's process can do, and waits for the client's next message:
//!
//! | server | client |
//! | --- | --- |
//! | [`Reply::Install`], with a descriptor | [`Call::Installed`]: its number in the client |
//! | [`Reply::Fetch`]: a number | [`Call::Fetched`], with the descriptor that it names |
//! | [`Reply::Place`], with a file | [`Call::Placed`]: the address at which the client mapped a part of it |
//! | [`Reply::Share`]: a range of pages | [`Call::Shared`], with the file that has them now |
//!
//! The first call is [`Call::Hello`].

use serde::{Deserialize, Serialize};
use tepui_drm::Errno;
use tepui_drm::device::{Bus, Node, PciAddress, PciIds};

/// Version of the messages. Client and server must have the same.
pub const VERSION: u32 = 3;

/// Longest message in bytes.
pub const MAX_BYTES: usize = 2048;

/// An error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNumber(pub i32);

impl From<Errno> for ErrorNumber {
    fn from(errno: Errno) -> ErrorNumber {
        ErrorNumber(errno.raw_os_error())
    }
}

impl From<ErrorNumber> for Errno {
    fn from(number: ErrorNumber) -> Errno {
        Errno::from_raw_os_error(number.0)
    }
}

/// A message of the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Introduces the client. The server reads 8 bytes at `address` in the client's memory and expects `value`.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// An address in the client's memory.
        address: u64,
        /// The value there.
        value: u64,
    },
    /// Opens the node.
    Open {
        /// The flags of `open`.
        flags: i32,
    },
    /// An ioctl.
    Ioctl {
        /// The descriptor, as the client numbers it.
        descriptor: i32,
        /// The request word.
        request: u32,
        /// The argument's address.
        arg: u64,
    },
    /// An mmap. The answer comes with the descriptor to be mapped at offset 0.
    Map {
        /// The descriptor, as the client numbers it.
        descriptor: i32,
        /// Offset.
        offset: u64,
        /// Length in bytes.
        length: u64,
        /// `PROT_…`.
        protection: i32,
        /// `MAP_…`.
        flags: i32,
    },
    /// Whether a descriptor is an open node: 1 or 0.
    IsNode {
        /// The descriptor, as the client numbers it.
        descriptor: i32,
    },
    /// Answers [`Reply::Install`].
    Installed(Result<i32, ErrorNumber>),
    /// Answers [`Reply::Fetch`]; a descriptor comes with `Ok`.
    Fetched(Result<(), ErrorNumber>),
    /// Answers [`Reply::Place`].
    Placed(Result<u64, ErrorNumber>),
    /// Answers [`Reply::Share`]: the offset of the first page in the file that comes with `Ok`.
    Shared(Result<u64, ErrorNumber>),
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Answers [`Call::Hello`]: the device's node.
    Welcome(NodeText),
    /// The connection is refused, and why.
    Refused(String),
    /// The descriptor does not belong to the device.
    NotOurs,
    /// The call's result.
    Done(Result<u32, ErrorNumber>),
    /// Asks the client to take the descriptor that comes with the message.
    Install {
        /// Whether it is to be closed on exec.
        close_on_exec: bool,
    },
    /// Asks the client for a copy of a descriptor.
    Fetch {
        /// Its number in the client.
        number: i32,
    },
    /// Asks the client to map a part of the file that comes with the message.
    Place {
        /// The first byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// Asks the client to put its own pages into a file that the server can map.
    Share {
        /// Their address.
        address: u64,
        /// Bytes.
        size: u64,
    },
}

/// The device's node as text and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeText {
    /// Minor number of the node.
    pub minor: u32,
    /// Name of the kernel's driver.
    pub driver: String,
    /// The bus.
    pub bus: BusText,
}

/// See [`Bus`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BusText {
    /// [`Bus::Platform`].
    Platform {
        /// Path of the node in the device tree.
        full_name: String,
        /// The `compatible` strings.
        compatible: Vec<String>,
    },
    /// [`Bus::Pci`].
    Pci {
        /// Domain, bus, device and function.
        address: (u16, u8, u8, u8),
        /// Vendor, device, subsystem vendor and subsystem device.
        ids: [u16; 4],
        /// Revision.
        revision: u8,
        /// Class.
        class: u32,
    },
}

impl NodeText {
    /// The message for a node with a minor number.
    pub fn new(node: &Node, minor: u32) -> NodeText {
        let bus = match &node.bus {
            Bus::Platform { full_name, compatible } => {
                BusText::Platform { full_name: full_name.clone(), compatible: compatible.clone() }
            }
            Bus::Pci { address: a, ids } => BusText::Pci {
                address: (a.domain, a.bus, a.device, a.function),
                ids: [ids.vendor, ids.device, ids.subsystem_vendor, ids.subsystem_device],
                revision: ids.revision,
                class: ids.class,
            },
        };
        NodeText { minor, driver: node.driver.to_string(), bus }
    }

    /// The node.
    pub fn node(&self) -> Node {
        let bus = match &self.bus {
            BusText::Platform { full_name, compatible } => {
                Bus::Platform { full_name: full_name.clone(), compatible: compatible.clone() }
            }
            BusText::Pci { address, ids, revision, class } => Bus::Pci {
                address: PciAddress {
                    domain: address.0,
                    bus: address.1,
                    device: address.2,
                    function: address.3,
                },
                ids: PciIds {
                    vendor: ids[0],
                    device: ids[1],
                    subsystem_vendor: ids[2],
                    subsystem_device: ids[3],
                    revision: *revision,
                    class: *class,
                },
            },
        };
        Node { driver: self.driver.clone().into(), bus }
    }
}

/// A message that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is longer than [`MAX_BYTES`].
    #[error("the message has more than {MAX_BYTES} bytes")]
    TooLong,
    /// Its bytes cannot be decoded.
    #[error("the bytes are no message: {0}")]
    Malformed(postcard::Error),
    /// Bytes follow the message.
    #[error("{0} bytes follow the message")]
    Trailing(usize),
}

/// Writes a message into a buffer; returns the part that it fills.
///
/// # Errors
/// It is too long.
pub fn encode<'a, T: Serialize>(
    message: &T,
    buffer: &'a mut [u8; MAX_BYTES],
) -> Result<&'a mut [u8], MessageError> {
    postcard::to_slice(message, buffer).map_err(|error| match error {
        postcard::Error::SerializeBufferFull => MessageError::TooLong,
        other => MessageError::Malformed(other),
    })
}

/// Reads a message that fills `bytes`.
///
/// # Errors
/// It is none.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, MessageError> {
    if bytes.len() > MAX_BYTES {
        return Err(MessageError::TooLong);
    }
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(MessageError::Malformed)?;
    if rest.is_empty() { Ok(message) } else { Err(MessageError::Trailing(rest.len())) }
}
