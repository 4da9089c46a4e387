//! Texel buffers of descriptors in descriptor buffers.
//!
//! An address, a size and a format describe such a texel buffer, and no object of the application's. The device keeps a view of each
//! that it was asked for, until the memory at the address is freed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tepui_format::Format;

use crate::backend::Backend;
use crate::error::Result;

/// Address, bytes and format of a texel buffer.
pub(super) type Texels = (u64, u64, Format);

/// Views of texel buffers.
struct Views<V>(BTreeMap<(u64, u64), Vec<(Format, V)>>);

impl<V> Views<V> {
    /// The view of a texel buffer, made if there is none.
    fn get(&mut self, texels: Texels, make: impl FnOnce(Texels) -> Result<V>) -> Result<&V> {
        let (address, size, format) = texels;
        let same = self.0.entry((address, size)).or_default();
        let known = match same.iter().position(|(f, _)| *f == format) {
            Some(known) => known,
            None => {
                same.push((format, make(texels)?));
                same.len() - 1
            }
        };
        Ok(&same[known].1)
    }

    /// Drops the views that begin in a range of addresses.
    fn forget(&mut self, addresses: Range<u64>) {
        if self.0.is_empty() {
            return;
        }
        let [start, end] = [addresses.start, addresses.end].map(|at| (at, 0));
        let mut rest = self.0.split_off(&start);
        self.0.append(&mut rest.split_off(&end));
    }
}

/// Views of the texel buffers of a device's descriptors.
pub(crate) struct TexelBuffers<B: Backend>(Mutex<Views<B::BufferView>>);

impl<B: Backend> Default for TexelBuffers<B> {
    fn default() -> Self {
        TexelBuffers(Mutex::new(Views(BTreeMap::new())))
    }
}

impl<B: Backend> TexelBuffers<B> {
    /// Calls `body` with the view of a texel buffer.
    ///
    /// # Errors
    /// When there is no view of the format, or no memory for it.
    pub(super) fn with(
        &self,
        device: &Arc<B::Device>,
        texels: Texels,
        body: impl FnOnce(&B::BufferView),
    ) -> Result<()> {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        body(views.get(texels, |(at, size, f)| B::buffer_view(device, f, at, size))?);
        Ok(())
    }

    /// Drops the views of addresses at which there is nothing any more.
    pub(crate) fn forget(&self, addresses: Range<u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).forget(addresses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_made_once_and_live_as_long_as_their_memory() {
        let mut views = Views(BTreeMap::new());
        let mut made = 0;
        let mut get = |views: &mut Views<u32>, at, size, format| {
            let view = views.get((at, size, format), |_| {
                made += 1;
                Ok(made)
            });
            *view.expect("it is made")
        };
        let (one, two) = (Format::R8_UNORM, Format::R32_UINT);
        assert_eq!(get(&mut views, 0x1000, 16, one), 1);
        assert_eq!(get(&mut views, 0x1000, 16, two), 2);
        assert_eq!(get(&mut views, 0x1000, 32, one), 3);
        assert_eq!(get(&mut views, 0x1fff, 16, one), 4);
        assert_eq!(get(&mut views, 0x2000, 16, one), 5);
        assert_eq!(get(&mut views, 0x0fff, 16, one), 6);
        assert_eq!(get(&mut views, 0x1000, 16, two), 2);
        views.forget(0x1000..0x2000);
        assert_eq!(views.0.keys().copied().collect::<Vec<_>>(), [(0xfff, 16), (0x2000, 16)]);
        assert_eq!(get(&mut views, 0x2000, 16, one), 5);
        assert_eq!(get(&mut views, 0x1000, 16, one), 7);
    }

    #[test]
    fn what_has_no_view_leaves_nothing() {
        let mut views: Views<u32> = Views(BTreeMap::new());
        let texels = (0x1000, 16, Format::R8_UNORM);
        assert!(views.get(texels, |_| Err(crate::Error::host_memory())).is_err());
        assert_eq!(views.get(texels, |_| Ok(1)).ok(), Some(&1));
    }
}
