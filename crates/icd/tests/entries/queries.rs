//! Results of queries by the driver's entry points.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call, ok};

#[test]
fn partial_results_are_results() {
    use vk::QueryResultFlags as F;
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    let info = vk::QueryPoolCreateInfo {
        query_type: vk::QueryType::OCCLUSION,
        query_count: 2,
        ..Default::default()
    };
    let mut pool = vk::QueryPool::null();
    ok(call!(i, PFN_vkCreateQueryPool, vkCreateQueryPool(d, &info, null(), &mut pool)));
    let get = |flags| {
        let mut words = [7u32; 4];
        let result = call!(
            i,
            PFN_vkGetQueryPoolResults,
            vkGetQueryPoolResults(d, pool, 0, 2, 16, words.as_mut_ptr().cast(), 8, flags)
        );
        (result, words)
    };
    // Nothing was asked yet.
    assert_eq!(get(F::PARTIAL), (vk::Result::SUCCESS, [0, 7, 0, 7]));
    assert_eq!(get(F::PARTIAL | F::WITH_AVAILABILITY), (vk::Result::SUCCESS, [0; 4]));
    assert_eq!(get(F::empty()), (vk::Result::NOT_READY, [7; 4]));
    assert_eq!(get(F::WITH_AVAILABILITY), (vk::Result::NOT_READY, [7, 0, 7, 0]));
    call!(i, PFN_vkDestroyQueryPool, vkDestroyQueryPool(d, pool, null()));
}
