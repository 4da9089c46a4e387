//! Operations with one source, and operations across the lanes of a warp.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after convert;

    "Copies a register."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..CVT } => {
        MOV_I32 = "MOV.i32" 32, 0x91, 0x0;
    }

    "Counts leading zeros."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..CVT } => {
        CLZ_U32 = "CLZ.u32" 32, 0x91, 0x4;
    }

    "Counts leading zeros."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").swizzled()], ..CVT } => {
        CLZ_V2U16 = "CLZ.v2u16" 16, 0x91, 0x5;
    }

    "Counts leading zeros."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..CVT } => {
        CLZ_V4U8 = "CLZ.v4u8" 8, 0x91, 0x6;
    }

    "The magnitude of a signed integer."
    Form { second: AT_16, dest: true, sources: &[src(0, "A").widened()], ..CVT } => {
        IABS_S32 = "IABS.s32" 32, 0x91, 0x8;
        IABS_V2S16 = "IABS.v2s16" 16, 0x91, 0x9;
    }

    "The magnitude of a signed integer."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..CVT } => {
        IABS_V4S8 = "IABS.v4s8" 8, 0x91, 0xa;
    }

    "Counts bits that are set."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        POPCOUNT_I32 = "POPCOUNT.i32" 32, 0x91, 0xc;
    }

    "Reverses the order of the bits."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        BITREV_I32 = "BITREV.i32" 32, 0x91, 0xd;
    }

    "Inverts all bits."
    Form { second: AT_16, dest: true, sources: &[src(0, "A")], ..SFU } => {
        NOT_OLD_I32 = "NOT_OLD.i32" 32, 0x91, 0xe;
        NOT_OLD_I64 = "NOT_OLD.i64" 64, 0x191, 0xe;
    }

    "The mask of the warp's lanes, within each subgroup, whose source is not zero."
    Form { dest: true, modifiers: &[SUBGROUP_SIZE], sources: &[src(0, "A")], ..CVT } => {
        WMASK = "WMASK" 32, 0x95, 0x0;
    }

    "Reads A from the lane of the subgroup that B names."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SUBGROUP_SIZE, LANE_OPERATION, INACTIVE_RESULT],
        sources: &[src(0, "A"), src(1, "lane").lanes().sized(8)],
        ..SFU
    } => {
        CLPER_I32 = "CLPER.i32" 32, 0xa0, 0xf;
        CLPER_V2U16 = "CLPER.v2u16" 16, 0xa1, 0xf;
    }

    "Reads A from the lane of the subgroup that B names."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SUBGROUP_SIZE, LANE_OPERATION, INACTIVE_RESULT],
        sources: &[src(0, "A"), src(1, "lane").lanes()],
        ..SFU
    } => {
        CLPER_V4U8 = "CLPER.v4u8" 8, 0xa2, 0xf;
    }

    "Reads A from the lane of the subgroup that B names."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SUBGROUP_SIZE, LANE_OPERATION, INACTIVE_RESULT],
        sources: &[src(0, "A"), src(1, "lane").lanes().sized(8)],
        ..SFU
    } => {
        CLPER_S32 = "CLPER.s32" 32, 0xa8, 0xf;
        CLPER_V2S16 = "CLPER.v2s16" 16, 0xa9, 0xf;
    }

    "Reads A from the lane of the subgroup that B names."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SUBGROUP_SIZE, LANE_OPERATION, INACTIVE_RESULT],
        sources: &[src(0, "A"), src(1, "lane").lanes()],
        ..SFU
    } => {
        CLPER_V4S8 = "CLPER.v4s8" 8, 0xaa, 0xf;
    }

    "Reads A from the lane of the subgroup that B names."
    Form {
        second: AT_16,
        dest: true,
        modifiers: &[SUBGROUP_SIZE, LANE_OPERATION, INACTIVE_RESULT],
        sources: &[src(0, "A"), src(1, "lane").lanes().sized(8)],
        ..SFU
    } => {
        CLPER_U64 = "CLPER.u64" 64, 0x1a3, 0xf;
        CLPER_S64 = "CLPER.s64" 64, 0x1ab, 0xf;
    }
}
