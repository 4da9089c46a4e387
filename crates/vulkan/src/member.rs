//! Physical devices of a family: what stands behind the interface that instances have of them.

use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys as vk;

use crate::backend::{FormatFeatures, PhysicalInfo};
use crate::device::Device;
use crate::draws::Driver;
use crate::error::Result;
use crate::heap_usage::HeapUsage;
use crate::lookup;
use crate::object::Allocator;
use crate::offer;
use crate::physical::Family;
use crate::registry::Enabled;
use crate::table::Table;

/// A physical device of the family `B`, with state that all devices made of it share.
struct Member<B: Driver> {
    physical: Arc<B::Physical>,
    /// Description as applications see it.
    info: PhysicalInfo,
    heap_usage: Arc<HeapUsage>,
}

/// A family's physical device as an instance takes it, with the memory that the process holds of it
/// ([`HeapUsage::of_device`]).
pub fn member<B: Driver>(physical: B::Physical, heap_usage: Arc<HeapUsage>) -> Arc<dyn Family> {
    let info = offer::join(B::info(&physical));
    Arc::new(Member::<B> { physical: Arc::new(physical), info, heap_usage })
}

impl<B: Driver> Family for Member<B> {
    fn info(&self) -> &PhysicalInfo {
        &self.info
    }

    fn format_features(&self, format: Format) -> FormatFeatures {
        B::format_features(&self.physical, format)
    }

    fn modifiers(&self, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
        B::modifiers(&self.physical, format)
    }

    fn has_control_plane(&self, modifier: u64) -> bool {
        B::has_control_plane(&self.physical, modifier)
    }

    fn restricts_views(&self, modifier: u64) -> bool {
        B::restricts_views(&self.physical, modifier)
    }

    fn allocated_bytes(&self) -> [u64; vk::MAX_MEMORY_HEAPS] {
        self.heap_usage.bytes()
    }

    unsafe fn create_device(
        &self,
        enabled: Enabled,
        info: &vk::DeviceCreateInfo,
        allocator: Allocator,
    ) -> Result<vk::Device> {
        // SAFETY: as the caller says.
        unsafe {
            Device::<B>::create(
                self.commands(),
                &self.physical,
                &self.heap_usage,
                enabled,
                info,
                allocator,
            )
        }
    }

    fn commands(&self) -> &'static Table {
        lookup::of_family::<B>()
    }
}
