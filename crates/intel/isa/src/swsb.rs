//! Software scoreboard of Gen12: the dependencies of an instruction, and the token that it sets.
//!
//! source: Mesa, `brw_eu_defines.h` (`tgl_swsb_encode`, `tgl_swsb_decode`).

/// The use of a token by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// Sets the token: later instructions can wait for this one.
    Set,
    /// Waits until its sources are read.
    Src,
    /// Waits until its destination is written.
    Dst,
}

/// A scoreboard annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Swsb {
    /// Waits for the in-order instruction at this distance before it: 1 to 7; 0 for none.
    pub distance: u8,
    /// A token, 0 to 15, and its use.
    pub token: Option<(u8, Token)>,
}

impl Swsb {
    /// Waits for nothing.
    pub const NONE: Swsb = Swsb { distance: 0, token: None };

    /// The code; `unordered` instructions (messages, `math`) set the token that is combined with a distance,
    /// others wait for its destination. `None` if the combination does not exist.
    pub fn code(self, unordered: bool) -> Option<u8> {
        let combined = if unordered { Token::Set } else { Token::Dst };
        match (self.distance, self.token) {
            (distance @ 0..=7, None) => Some(distance),
            (0, Some((id @ 0..=15, Token::Dst))) => Some(0x20 | id),
            (0, Some((id @ 0..=15, Token::Src))) => Some(0x30 | id),
            (0, Some((id @ 0..=15, Token::Set))) => Some(0x40 | id),
            (distance @ 1..=7, Some((id @ 0..=15, token))) if token == combined => {
                Some(0x80 | distance << 4 | id)
            }
            _ => None,
        }
    }

    /// The annotation with a code; `None` for reserved ones.
    pub fn from_code(code: u8, unordered: bool) -> Option<Swsb> {
        let (distance, id) = (code >> 4 & 7, code & 15);
        let swsb = match code {
            0..=7 => Swsb { distance: code, token: None },
            0x20..=0x2f => Swsb { distance: 0, token: Some((id, Token::Dst)) },
            0x30..=0x3f => Swsb { distance: 0, token: Some((id, Token::Src)) },
            0x40..=0x4f => Swsb { distance: 0, token: Some((id, Token::Set)) },
            0x90..=0xff => {
                let token = if unordered { Token::Set } else { Token::Dst };
                Swsb { distance, token: Some((id, token)) }
            }
            _ => return None,
        };
        Some(swsb)
    }
}
