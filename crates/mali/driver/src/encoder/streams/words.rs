//! Memory for tests of streams.

use std::collections::HashMap;

use tepui_mali_streams::Memory;

/// Bytes of memory by address; those that were never stored fault.
#[derive(Default)]
pub struct Words(HashMap<u64, u8>);

impl Memory for Words {
    type Fault = u64;

    fn load(&mut self, at: u64, into: &mut [u8]) -> Result<(), u64> {
        for (to, at) in into.iter_mut().zip(at..) {
            *to = *self.0.get(&at).ok_or(at)?;
        }
        Ok(())
    }

    fn store(&mut self, at: u64, bytes: &[u8]) -> Result<(), u64> {
        self.0.extend((at..).zip(bytes.iter().copied()));
        Ok(())
    }
}
