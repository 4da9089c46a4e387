//! A virtual G610 with the panthor interface, and a virtual G57 with the panfrost interface, for tests.

use std::sync::Arc;

use tepui_drm::client::{RenderNode, Wait};
use tepui_mali_driver::device::Device;
use tepui_mali_driver::encoder::{self, Encoder};
use tepui_mali_driver::kernel::{Bo, Kernel};
use tepui_mali_driver::space::Window;
use tepui_mali_kernel::Options;
use tepui_vulkan::vk;
use tepui_vulkan_kit::arena::Mapped;

/// Command streams, and chains of jobs.
pub const CHIPS: [&str; 2] = ["mali-g610", "mali-g57"];

/// A virtual GPU with a device on it.
pub struct Test {
    /// Number of faults of the virtual GPU.
    pub faults: Box<dyn Fn() -> usize>,
    /// The device.
    pub device: Arc<Device>,
}

impl Test {
    /// A device.
    pub fn new(id: &str) -> Test {
        Test::relaxed(id, None)
    }

    /// A device whose work runs in an order that a seed chooses, of those that waits and dependencies allow.
    pub fn relaxed(id: &str, seed: Option<u64>) -> Test {
        let chip = tepui_mali_chips::chip(id).unwrap();
        let mut options = Options { report_faults: false, ..Options::default() };
        options.model.relaxed = seed;
        let (node, faults): (_, Box<dyn Fn() -> usize>) = match id {
            "mali-g57" => {
                let model = tepui_mali_kernel::panfrost::Device::new(chip, options);
                let node = RenderNode::of_virtual(Arc::new(model.open()));
                (node, Box::new(move || model.faults().len()))
            }
            _ => {
                let model = tepui_mali_kernel::Device::new(chip, options);
                let node = RenderNode::of_virtual(Arc::new(model.open()));
                (node, Box::new(move || model.faults().len()))
            }
        };
        assert_eq!(tepui_mali_driver::chip(&node).unwrap().product_id, chip.product_id);
        let kernel = Kernel::new(node, chip, vk::QueueGlobalPriority::MEDIUM).unwrap();
        Test { faults, device: Device::new(kernel).unwrap() }
    }

    /// A buffer with words.
    pub fn buffer(&self, words: &[u32]) -> Bo {
        let bo = Bo::new(&self.device.kernel, 4 * words.len() as u64, Window::Data).unwrap();
        bo.write(0, bytemuck::cast_slice(words));
        bo
    }

    /// Submits, and waits.
    pub fn submit(&self, commands: &[&Encoder]) {
        let node = &self.device.kernel.node;
        let done = node.create_sync(false).unwrap();
        encoder::submit(&self.device, &[], commands, &[(done, 0)]).unwrap();
        let wait = Wait { deadline_ns: i64::MAX, ..Wait::default() };
        node.wait_syncs(&[done], &[0], wait).unwrap();
        node.destroy_sync(done);
        assert_eq!((self.faults)(), 0);
        self.device.check().unwrap();
    }
}

/// The first words of a buffer.
pub fn words(bo: &Bo, count: usize) -> Vec<u32> {
    // SAFETY: the GPU is done with the buffer, which is larger.
    let bytes = unsafe { std::slice::from_raw_parts(bo.host(), 4 * count) };
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}
