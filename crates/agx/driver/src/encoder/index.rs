//! Index buffers of draws.

use tepui_agx_packets::vdm;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Counts, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};

use super::stream::VertexStream;
use super::{Encoder, put};
use crate::device::packet;
use crate::family::Agx;

/// Maximum bytes of a draw's indices that are copied for padding.
pub(super) const PADDED_B: u64 = 1 << 26;

/// The block of a draw in the control stream; gives its first word.
pub(super) fn index_list(
    stream: &mut VertexStream,
    draw: &Draw,
    primitive: vdm::Primitive,
    restart_enable: bool,
    indirect: Option<u64>,
    index: Option<IndexBuffer>,
    zeros: u64,
) -> Result<[u8; vdm::IndexList::SIZE_BYTES]> {
    let indexed = draw.is_indexed();
    // Without an index buffer, indices are zeros.
    let index = index.filter(|i| i.address != 0).unwrap_or(IndexBuffer {
        address: zeros,
        size: 16384,
        index_bytes: 4,
        is_sparse: false,
    });
    let skipped = match *draw {
        Draw::Direct(d) if d.indexed => u64::from(d.first) * u64::from(index.index_bytes),
        _ => 0,
    };
    let (address, size) = (index.address + skipped, index.size.saturating_sub(skipped));
    let (address, size) = if size == 0 { (zeros, 16384) } else { (address, size) };
    let header = vdm::IndexList {
        index_buffer_hi: (if indexed { address >> 32 & 0xff } else { 0 }) as _,
        primitive,
        restart_enable,
        index_size: match index.index_bytes {
            1 => vdm::IndexSize::U8,
            2 => vdm::IndexSize::U16,
            _ => vdm::IndexSize::U32,
        },
        index_buffer_size_present: indexed,
        index_buffer_present: indexed,
        index_count_present: indirect.is_none(),
        instance_count_present: indirect.is_none(),
        start_present: indirect.is_none(),
        indirect_buffer_present: indirect.is_some(),
        ..vdm::IndexList::default()
    };
    let header = header.pack().map_err(packet)?;
    stream.extend_from_slice(&header);
    if indexed {
        put!(stream, vdm::IndexListBufferLo { buffer_lo: (address & 0xffff_ffff) as _ });
    }
    match (*draw, indirect) {
        (Draw::Direct(d), _) => {
            put!(stream, vdm::IndexListCount { count: d.count });
            put!(stream, vdm::IndexListInstances { count: d.instances });
            put!(stream, vdm::IndexListStart { start: d.base_vertex() });
        }
        (_, Some(address)) => put!(stream, vdm::IndexListIndirectBuffer { address }),
        _ => {}
    }
    if indexed {
        put!(stream, vdm::IndexListBufferSize { size: size.next_multiple_of(4) });
    }
    Ok(header)
}

impl Encoder {
    /// The index buffer of a draw, and the draw with its first index there. The hardware's reads past
    /// the end of the buffer are unknown, and it faults where a sparse buffer has no memory; indices
    /// there are 0, so such draws take a copy.
    pub(super) fn indices(
        &mut self,
        state: &CommandState<Agx>,
        draw: &Draw,
    ) -> Result<(Option<IndexBuffer>, Draw)> {
        let mut draw = *draw;
        let (Some(index), Draw::Direct(Counts { count, first, indexed: true, .. })) =
            (state.index.filter(|i| i.address != 0), &mut draw)
        else {
            return Ok((state.index, draw));
        };
        let unit = u64::from(index.index_bytes);
        let (start, bytes) = (u64::from(*first) * unit, u64::from(*count) * unit);
        let there = index.size.saturating_sub(start).min(bytes);
        let is_padded = there < bytes && bytes <= PADDED_B;
        if !index.is_sparse && !is_padded {
            return Ok((state.index, draw));
        }
        let (address, size) = match is_padded {
            true => (self.upload(&vec![0; bytes as usize], 16)?.address, bytes),
            false => (self.room(there)?, there),
        };
        if there > 0 {
            self.copy_buffer(index.address + start, address, there)?;
        }
        *first = 0;
        Ok((Some(IndexBuffer { address, size, is_sparse: false, ..index }), draw))
    }
}
