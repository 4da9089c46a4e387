//! Ends of programs, which are found by following their bundles.

use super::bundle::{Bundle, Content, Tag, WORD_BYTES};
use super::fields::signed;
use super::word::branch;

impl Bundle {
    /// Distance in words from the bundle's end to its branch target; `None` if it has no branch.
    pub fn target(&self) -> Option<i32> {
        let Content::Alu(alu) = &self.content else { return None };
        if let Some(b) = &alu.extended {
            return (b.op != branch::DISCARD).then(|| signed(b.offset, 23));
        }
        let b = alu.branch?;
        match b.op {
            branch::DISCARD => None,
            branch::UNCONDITIONAL => Some(signed(b.offset >> 2 | b.condition << 5, 7)),
            _ => Some(signed(b.offset, 7)),
        }
    }
}

/// The bytes of a program, up to the first bundle that ends it and that no branch target lies beyond, or up to bytes
/// that encode no bundle. `read` gives the eight bytes at an offset, or nothing at the end of memory.
pub fn extent(most: usize, mut read: impl FnMut(u64) -> Option<[u8; 8]>) -> Vec<u8> {
    let (mut code, mut furthest) = (Vec::new(), 0i64);
    let mut word = |code: &mut Vec<u8>| {
        let at = code.len() as u64;
        let (Some(low), Some(high)) = (read(at), read(at + 8)) else { return false };
        code.extend(low);
        code.extend(high);
        true
    };
    while code.len() < most {
        let start = code.len();
        if !word(&mut code) {
            break;
        }
        let words = Tag(code[start] & 15).words();
        if !(1..words).all(|_| word(&mut code)) {
            break;
        }
        let Ok(bundle) = Bundle::decode(&code[start..]) else { break };
        let end = (code.len() / WORD_BYTES) as i64;
        if let Some(offset) = bundle.target() {
            furthest = furthest.max(end + i64::from(offset) + 1);
        }
        if bundle.next == Tag::BREAK && end >= furthest {
            break;
        }
    }
    code
}
