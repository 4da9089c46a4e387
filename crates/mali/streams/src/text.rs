//! Instructions as text, in Mesa's syntax.
//!
// source: Mesa, decode_csf.c (`print_cs_instr`).

use std::fmt::{self, Write};

use tepui_mali_packets::cs::{self, CsCondition, CsFlushMode, CsHeapEvent, CsOpcode, CsState};
use tepui_mali_packets::cs::{CsSyncScope, TaskAxis, TileRenderOrder};
use tepui_mali_packets::{Packet, Problem};

/// The text of an instruction; the opcode and bits if no declaration fits.
pub fn text(bytes: &[u8; 8]) -> String {
    let word = u64::from_le_bytes(*bytes);
    let mut out = String::new();
    let written = cs::opcode(word).map(|opcode| write(&mut out, opcode, bytes));
    match written {
        Some(Ok(())) => out,
        _ => format!("UNKNOWN_{} 0x{:X}", word >> 56, word & ((1 << 56) - 1)),
    }
}

/// `name` if a flag is set.
fn on(flag: bool, name: &'static str) -> &'static str {
    if flag { name } else { "" }
}

fn condition(condition: CsCondition) -> &'static str {
    match condition {
        CsCondition::Lequal => "le",
        CsCondition::Greater => "gt",
        CsCondition::Equal => "eq",
        CsCondition::Nequal => "ne",
        CsCondition::Less => "lt",
        CsCondition::Gequal => "ge",
        CsCondition::Always => "always",
    }
}

fn scope(scope: CsSyncScope) -> &'static str {
    match scope {
        CsSyncScope::Csg => ".csg",
        CsSyncScope::System => ".system",
    }
}

fn flush(mode: CsFlushMode) -> &'static str {
    match mode {
        CsFlushMode::None => "nop",
        CsFlushMode::Clean => "clean",
        CsFlushMode::CleanAndInvalidate => "clean_invalidate",
    }
}

/// The registers that a mask selects, from a first one on.
struct Tuple(u32, u32);

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuple(base, mask) = *self;
        if mask == 0 {
            return f.write_str("_");
        }
        let registers = (0..16).filter(|n| mask >> n & 1 != 0);
        for (i, n) in registers.enumerate() {
            write!(f, "{}r{}", if i == 0 { "" } else { ":" }, base + n)?;
        }
        Ok(())
    }
}

/// Memory at a pair of registers and an offset.
struct Indirect(u32, i32);

impl fmt::Display for Indirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Indirect(address, 0) => write!(f, "[d{address}]"),
            Indirect(address, offset) => write!(f, "[d{address} + {offset}]"),
        }
    }
}

fn write(out: &mut String, opcode: CsOpcode, bytes: &[u8; 8]) -> Result<(), Problem> {
    macro_rules! unpack {
        ($name:ident) => {
            cs::$name::unpack(bytes)?
        };
    }
    /// Writes formatted text to a string, which cannot fail.
    macro_rules! put {
        ($($t:tt)*) => {{ let _ = write!(out, $($t)*); }};
    }
    macro_rules! sync {
        ($name:ident, $data:literal) => {{
            let i = unpack!($name);
            put!(
                "{opcode}{}{} [d{}], {}{}, #{:x}, #{}",
                on(i.error_propagate, ".error_propagate"),
                scope(i.scope),
                i.address,
                $data,
                i.data,
                i.wait_mask,
                i.signal_slot
            );
        }};
    }
    macro_rules! sync_wait {
        ($name:ident, $data:literal) => {{
            let i = unpack!($name);
            let how = if i.error_reject { ".reject" } else { ".inherit" };
            put!("{opcode}.{}{how} d{}, {}{}", condition(i.condition), i.address, $data, i.data);
        }};
    }
    match opcode {
        CsOpcode::Nop => match unpack!(CsNop).ignored {
            0 => put!("NOP"),
            ignored => put!("NOP // 0x{ignored:X}"),
        },
        CsOpcode::Move => {
            let i = unpack!(CsMove);
            put!("MOVE d{}, #0x{:X}", i.destination, i.immediate);
        }
        CsOpcode::Move32 => {
            let i = unpack!(CsMove32);
            put!("MOVE32 r{}, #0x{:X}", i.destination, i.immediate);
        }
        CsOpcode::Wait => {
            let i = unpack!(CsWait);
            put!("WAIT{} #{:x}", on(i.progress_increment, ".progress_inc"), i.wait_mask);
        }
        CsOpcode::RunCompute => {
            let i = unpack!(CsRunCompute);
            let axis = match i.task_axis {
                TaskAxis::X => "x_axis",
                TaskAxis::Y => "y_axis",
                TaskAxis::Z => "z_axis",
            };
            put!(
                "RUN_COMPUTE{}.{axis}.srt{}.spd{}.tsd{}.fau{} #{}",
                on(i.progress_increment, ".progress_inc"),
                i.srt_select,
                i.spd_select,
                i.tsd_select,
                i.fau_select,
                i.task_increment
            );
        }
        CsOpcode::RunComputeIndirect => {
            let i = unpack!(CsRunComputeIndirect);
            put!(
                "RUN_COMPUTE_INDIRECT{}.srt{}.spd{}.tsd{}.fau{} #{}",
                on(i.progress_increment, ".progress_inc"),
                i.srt_select,
                i.spd_select,
                i.tsd_select,
                i.fau_select,
                i.workgroups_per_task
            );
        }
        CsOpcode::RunTiling => {
            let i = unpack!(CsRunTiling);
            put!(
                "RUN_TILING{}.srt{}.spd{}.tsd{}.fau{}",
                on(i.progress_increment, ".progress_inc"),
                i.srt_select,
                i.spd_select,
                i.tsd_select,
                i.fau_select
            );
        }
        CsOpcode::RunIdvs => {
            let i = unpack!(CsRunIdvs);
            put!(
                "RUN_IDVS{}{}{}.varying_srt{}.varying_fau{}.varying_tsd{}.frag_srt{}.frag_tsd{} r{}, #{:x}",
                on(i.progress_increment, ".progress_inc"),
                on(!i.malloc_enable, ".no_malloc"),
                on(i.draw_id_register_enable, ".draw_id_enable"),
                u32::from(i.varying_srt_select),
                u32::from(i.varying_fau_select),
                u32::from(i.varying_tsd_select),
                u32::from(i.fragment_srt_select),
                u32::from(i.fragment_tsd_select),
                i.draw_id,
                i.flags_override
            );
        }
        CsOpcode::RunFragment => {
            let i = unpack!(CsRunFragment);
            let order = match i.tile_order {
                TileRenderOrder::ZOrder => "zorder",
                TileRenderOrder::Horizontal => "horizontal",
                TileRenderOrder::Vertical => "vertical",
                TileRenderOrder::ReverseHorizontal => "rev_horizontal",
                TileRenderOrder::ReverseVertical => "rev_vertical",
            };
            put!(
                "RUN_FRAGMENT{}{}.tile_order={order}",
                on(i.progress_increment, ".progress_inc"),
                on(i.enable_tem, ".tile_enable_map_enable")
            );
        }
        CsOpcode::RunFullscreen => {
            let i = unpack!(CsRunFullscreen);
            let progress = on(i.progress_increment, ".progress_inc");
            put!("RUN_FULLSCREEN{progress} r{}, #{:x}", i.dcd, i.flags_override);
        }
        CsOpcode::FinishTiling => {
            let i = unpack!(CsFinishTiling);
            put!("FINISH_TILING{}", on(i.progress_increment, ".progress_inc"));
        }
        CsOpcode::FinishFragment => {
            let i = unpack!(CsFinishFragment);
            put!(
                "FINISH_FRAGMENT{} d{}, d{}, #{:x}, #{}",
                on(i.increment_fragment_completed, ".frag_end"),
                i.last_heap_chunk,
                i.first_heap_chunk,
                i.wait_mask,
                i.signal_slot
            );
        }
        CsOpcode::AddImmediate32 => {
            let i = unpack!(CsAddImmediate32);
            put!("ADD_IMMEDIATE32 r{}, r{}, #{}", i.destination, i.source, i.immediate);
        }
        CsOpcode::AddImmediate64 => {
            let i = unpack!(CsAddImmediate64);
            put!("ADD_IMMEDIATE64 d{}, d{}, #{}", i.destination, i.source, i.immediate);
        }
        CsOpcode::Umin32 => {
            let i = unpack!(CsUmin32);
            put!("UMIN32 r{}, r{}, r{}", i.destination, i.source_1, i.source_2);
        }
        CsOpcode::LoadMultiple => {
            let i = unpack!(CsLoadMultiple);
            let (registers, memory) =
                (Tuple(i.base_register, i.mask), Indirect(i.address, i.offset));
            put!("LOAD_MULTIPLE {registers}, {memory}");
        }
        CsOpcode::StoreMultiple => {
            let i = unpack!(CsStoreMultiple);
            let (registers, memory) =
                (Tuple(i.base_register, i.mask), Indirect(i.address, i.offset));
            put!("STORE_MULTIPLE {memory}, {registers}");
        }
        CsOpcode::Branch => {
            let i = unpack!(CsBranch);
            put!("BRANCH.{} r{}, #{}", condition(i.condition), i.value, i.offset);
        }
        CsOpcode::SetSbEntry => {
            let i = unpack!(CsSetSbEntry);
            put!("SET_SB_ENTRY #{}, #{}", i.endpoint_entry, i.other_entry);
        }
        CsOpcode::ProgressWait => {
            let i = unpack!(CsProgressWait);
            put!("PROGRESS_WAIT d{}, #{}", i.source, i.queue);
        }
        CsOpcode::SetExceptionHandler => {
            let i = unpack!(CsSetExceptionHandler);
            put!("SET_EXCEPTION_HANDLER d{}, r{}", i.address, i.length);
        }
        CsOpcode::Call => {
            let i = unpack!(CsCall);
            put!("CALL d{}, r{}", i.address, i.length);
        }
        CsOpcode::Jump => {
            let i = unpack!(CsJump);
            put!("JUMP d{}, r{}", i.address, i.length);
        }
        CsOpcode::ReqResource => {
            let i = unpack!(CsReqResource);
            put!(
                "REQ_RESOURCE{}{}{}{}",
                on(i.compute, ".compute"),
                on(i.fragment, ".fragment"),
                on(i.tiler, ".tiler"),
                on(i.idvs, ".idvs")
            );
        }
        CsOpcode::FlushCache2 => {
            let i = unpack!(CsFlushCache2);
            put!(
                "FLUSH_CACHE2.{}_l2.{}_lsc{} r{}, #{:x}, #{}",
                flush(i.l2_flush_mode),
                flush(i.lsc_flush_mode),
                if i.other_invalidate { ".invalidate_other" } else { ".nop_other" },
                i.latest_flush_id,
                i.wait_mask,
                i.signal_slot
            );
        }
        CsOpcode::SyncAdd32 => sync!(CsSyncAdd32, "r"),
        CsOpcode::SyncSet32 => sync!(CsSyncSet32, "r"),
        CsOpcode::SyncAdd64 => sync!(CsSyncAdd64, "d"),
        CsOpcode::SyncSet64 => sync!(CsSyncSet64, "d"),
        CsOpcode::SyncWait32 => sync_wait!(CsSyncWait32, "r"),
        CsOpcode::SyncWait64 => sync_wait!(CsSyncWait64, "d"),
        CsOpcode::StoreState => {
            let i = unpack!(CsStoreState);
            let state = match i.state {
                CsState::Timestamp => "SYSTEM_TIMESTAMP",
                CsState::CycleCount => "CYCLE_COUNT",
                CsState::DisjointCount => "DISJOINT_COUNT",
                CsState::ErrorStatus => "ERROR_STATE",
            };
            put!(
                "STORE_STATE.{state} d{}, #{}, #{:x}, #{}",
                i.address,
                i.offset,
                i.wait_mask,
                i.signal_slot
            );
        }
        CsOpcode::ProtRegion => put!("PROT_REGION #{}", unpack!(CsProtRegion).size),
        CsOpcode::ProgressStore => put!("PROGRESS_STORE d{}", unpack!(CsProgressStore).source),
        CsOpcode::ProgressLoad => put!("PROGRESS_LOAD d{}", unpack!(CsProgressLoad).destination),
        CsOpcode::ErrorBarrier => put!("ERROR_BARRIER"),
        CsOpcode::HeapSet => put!("HEAP_SET d{}", unpack!(CsHeapSet).address),
        CsOpcode::HeapOperation => {
            let i = unpack!(CsHeapOperation);
            let operation = match i.operation {
                CsHeapEvent::VertexTilerStarted => "vt_start",
                CsHeapEvent::VertexTilerCompleted => "vt_end",
                CsHeapEvent::FragmentCompleted => "frag_end",
            };
            put!("HEAP_OPERATION.{operation} #{:x}, #{}", i.wait_mask, i.signal_slot);
        }
        CsOpcode::TracePoint => {
            let i = unpack!(CsTracePoint);
            // The range is printed as encoded, even if it exceeds the register file.
            let last = (i.base_register + i.register_count).saturating_sub(1);
            put!(
                "TRACE_POINT r{}:r{last}, #{:x}, #{}",
                i.base_register,
                i.wait_mask,
                i.signal_slot
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_print_as_mesa_prints_them() {
        let text = |word: u64| super::text(&word.to_le_bytes());
        assert_eq!(text(0x0300_0000_0001_0000), "WAIT #1");
        assert_eq!(text(0x1600_4200_3000_fffd), "BRANCH.ne r66, #-3");
        assert_eq!(text(0x0128_1234_5678_9abc), "MOVE d40, #0x123456789ABC");
        assert_eq!(text(0xff00_0000_0000_0001), "UNKNOWN_255 0x1");
        assert_eq!(Tuple(4, 0b1011).to_string(), "r4:r5:r7");
    }

    #[test]
    fn every_instruction_has_a_text() {
        for info in cs::ALL {
            let bytes = info.default_bytes().expect("its defaults fit");
            let bytes: [u8; 8] = bytes.try_into().expect("eight bytes");
            let name = info.name.strip_prefix("CS ").expect("a prefix");
            assert!(super::text(&bytes).starts_with(name), "{name}: {}", super::text(&bytes));
        }
    }
}
