//! Values that the CPU writes into uniform registers for a draw or dispatch.

use tepui_agx_compiler::Source;
use tepui_sysval::SystemValue;
use tepui_vulkan::Result;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};

use super::Encoder;
use super::arena::Upload;
use super::bindings::{Bindings, Halves, long, word};
use crate::recipe::Value;
use crate::shader::Variant;

impl Encoder {
    /// Writes the block of uniforms of a program; `own` knows what belongs to the stage.
    pub(super) fn block(
        &mut self,
        v: &Variant,
        bindings: &Bindings,
        push: &[u8; MAX_PUSH],
        own: &dyn Fn(Source) -> Option<Halves>,
    ) -> Result<u64> {
        if v.recipe.block.is_empty() {
            return Ok(0);
        }
        let mut push_address = None;
        let at: Upload = self.arena.take(&self.device, 2 * v.recipe.block.len() as u64 + 8, 16)?;
        // SAFETY: the range is new and of the right size.
        let block =
            unsafe { std::slice::from_raw_parts_mut(at.host.cast::<u16>(), v.recipe.block.len()) };
        block.copy_from_slice(&v.recipe.block);
        for &(half, value) in &v.recipe.values {
            let zeros = self.device.zeros.address;
            let push_word = |offset: u32| {
                let at = offset as usize;
                push.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            };
            let (halves, n) = match value {
                Value::SetAddress { set, offset } => {
                    match bindings.addresses[usize::from(set) % (MAX_SETS + 1)] {
                        0 => (long(zeros), 4),
                        at => (long(at + u64::from(offset)), 4),
                    }
                }
                Value::DynamicAddress { set, index } => {
                    let (at, _) = bindings.dynamic(set, index);
                    (long(if at == 0 { zeros } else { at }), 4)
                }
                Value::DynamicSize { set, index } => (word(bindings.dynamic(set, index).1), 2),
                Value::DynamicTable { set, first } => {
                    let mut bytes = Vec::new();
                    for &(address, size) in
                        bindings.dynamic[usize::from(set) % MAX_SETS].iter().skip(first as usize)
                    {
                        bytes.extend_from_slice(&address.to_le_bytes());
                        bytes.extend_from_slice(&u64::from(size).to_le_bytes());
                    }
                    (long(self.upload(&bytes, 16)?.address), 4)
                }
                Value::Null => (long(zeros), 4),
                Value::Source(s) => {
                    let n = usize::from(s.halves());
                    let value = match s {
                        Source::System(SystemValue::Push { offset }) => word(push_word(offset)),
                        Source::PushLong { offset } => long(
                            u64::from(push_word(offset)) | u64::from(push_word(offset + 4)) << 32,
                        ),
                        Source::PushAddress => {
                            let address = match push_address {
                                Some(a) => a,
                                None => self.upload(push, 16)?.address,
                            };
                            push_address = Some(address);
                            long(address)
                        }
                        Source::System(SystemValue::Driver { offset }) => {
                            word(self.driver.get(offset as usize / 4).copied().unwrap_or(0))
                        }
                        s => own(s).unwrap_or([0; 4]),
                    };
                    (value, n)
                }
            };
            let half = usize::from(half);
            block[half..half + n].copy_from_slice(&halves[..n]);
        }
        Ok(at.address)
    }
}
