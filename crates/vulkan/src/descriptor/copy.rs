//! Copies of descriptors between sets.

use vulkanalia_sys as vk;

use super::kind::DescriptorType;
use super::layout::Binding;
use super::pool::Set;
use crate::backend::{Backend, HostBytes, MAX_SET_MEMORY};
use crate::object::{get, get_mut};

/// Performs a copy.
///
/// # Safety
/// The sets are live and synchronised by the application.
pub(super) unsafe fn copy<B: Backend>(c: &vk::CopyDescriptorSet) {
    // SAFETY: as the caller says.
    unsafe {
        let source: &Set<B> = get(c.src_set);
        let target: &mut Set<B> = get_mut(c.dst_set);
        // The sets may be one: bytes go by address.
        let (from, to) = (source.host(), target.host());
        let each = |kind: usize, at: [u64; 2], size: u32| {
            let is_inside = |at: u64, bytes: HostBytes| at + u64::from(size) <= bytes.size().into();
            if size > 0 && is_inside(at[0], from[kind]) && is_inside(at[1], to[kind]) {
                let source = from[kind].start().add(at[0] as usize);
                let target = to[kind].start().add(at[1] as usize).cast_mut();
                std::ptr::copy(source, target, size as usize);
            }
        };
        let sources = source.layout.elements(c.src_binding, c.src_array_element);
        let target_layout = target.layout.clone();
        let targets = target_layout.elements(c.dst_binding, c.dst_array_element);
        for ((s, from), (t, to)) in sources.zip(targets).take(c.descriptor_count as usize) {
            if s.ty == DescriptorType::InlineUniformBlock {
                let at = [s.data() + from, t.data() + to].map(u64::from);
                each(0, at, 1);
                continue;
            }
            for kind in 0..MAX_SET_MEMORY {
                let at = |b: &Binding, element: u32| {
                    u64::from(b.offset[kind]) + u64::from(element) * u64::from(b.stride[kind])
                };
                // Elements of mutable bindings may be longer than those of others.
                each(kind, [at(s, from), at(t, to)], s.stride[kind].min(t.stride[kind]));
            }
            if s.ty.is_dynamic() && t.ty.is_dynamic() {
                let buffer = source.dynamic.get((s.first_dynamic + from) as usize).copied();
                let slot = target.dynamic.get_mut((t.first_dynamic + to) as usize);
                if let (Some(buffer), Some(slot)) = (buffer, slot) {
                    *slot = buffer;
                }
            }
        }
    }
}
