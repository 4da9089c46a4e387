//! Descriptors that are pushed: the bytes of a set that a push changes, made when it is recorded.

use std::ops::Range;

use super::{SetLayout, Writer};
use crate::backend::{Backend, PerSetMemory};

/// A range of the bytes of a set in one kind of memory.
pub(super) type Written = (usize, Range<usize>);

/// Bytes of a set, and those of them that count.
#[derive(Clone, Default)]
pub struct Pushed {
    bytes: PerSetMemory<Vec<u8>>,
    written: Vec<Written>,
}

impl Pushed {
    /// The bytes that a layout fixes: those of immutable samplers.
    pub(super) fn fixed<B: Backend>(layout: &SetLayout<B>) -> Pushed {
        if layout.bindings.iter().all(|(_, b)| b.samplers.is_empty()) {
            let bytes = layout.size.map(|size| vec![0; size as usize]);
            return Pushed { bytes, written: Vec::new() };
        }
        // An immutable sampler is a part of its descriptor. Written twice over different grounds, its bytes are those that agree.
        let [bytes, ones] = [0, 0xff].map(|ground| {
            let mut bytes = layout.size.map(|size| vec![ground; size as usize]);
            writer(layout, &mut bytes, None).begin();
            bytes
        });
        let mut written = Vec::new();
        for (kind, (zeros, ones)) in bytes.iter().zip(&ones).enumerate() {
            let mut at = 0;
            while at < zeros.len() {
                let run = (at..zeros.len()).take_while(|&k| zeros[k] == ones[k]).count();
                if run > 0 {
                    written.push((kind, at..at + run));
                }
                at += run.max(1);
            }
        }
        Pushed { bytes, written }
    }

    /// The descriptors that `fill` writes, with what the layout fixes.
    pub fn new<B: Backend>(layout: &SetLayout<B>, fill: impl Fn(&mut Writer<'_, B>)) -> Pushed {
        let mut pushed = layout.fixed.clone();
        fill(&mut writer(layout, &mut pushed.bytes, Some(&mut pushed.written)));
        pushed
    }

    /// Copies the bytes that count into a set.
    pub fn put_into(&self, set: &mut PerSetMemory<Vec<u8>>) {
        for (kind, range) in &self.written {
            let from = self.bytes[*kind].get(range.clone());
            if let (Some(to), Some(from)) = (set[*kind].get_mut(range.clone()), from) {
                to.copy_from_slice(from);
            }
        }
    }
}

fn writer<'a, B: Backend>(
    layout: &'a SetLayout<B>,
    bytes: &'a mut PerSetMemory<Vec<u8>>,
    written: Option<&'a mut Vec<Written>>,
) -> Writer<'a, B> {
    let bytes = bytes.each_mut().map(|b| &mut **b);
    Writer { layout, addresses: Default::default(), bytes, dynamic: &mut [], written }
}
