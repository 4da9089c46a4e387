//! Arithmetic instructions.
//!
// source: Mesa, midgard.h (midgard_alu_op), midgard_ops.c (alu_opcode_props), midgard_ops.h (midgard_is_integer_op,
// midgard_is_unsigned_op).

use super::{AluRow, Units};

/// The type of an instruction's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceType {
    /// Floats.
    Float,
    /// Integers with a sign, or bits.
    Signed,
    /// Integers without a sign.
    Unsigned,
}

macro_rules! alu {
    ($($code:literal $name:ident $text:literal ($units:expr) $kind:ident $([$converts:ident])? $(channels $channels:literal)?;)*) => {
        /// An arithmetic instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)] // The rows are their documentation.
        pub enum Alu { $($name = $code,)* }

        /// Every row, by opcode.
        pub const ALU: &[AluRow] = &[$(AluRow {
            op: Alu::$name,
            name: $text,
            units: Units($units),
            kind: SourceType::$kind,
            converts: alu!(@given $($converts)?),
            channels: alu!(@channels $($channels)?),
        },)*];
    };
    (@given) => { false };
    (@given converts) => { true };
    (@channels) => { 0 };
    (@channels $channels:literal) => { $channels };
}

const ADD: u8 = Units::VADD | Units::SADD;
const MUL: u8 = Units::VMUL | Units::SMUL;
const ADD_MUL: u8 = ADD | MUL;
const LUT: u8 = Units::LUT;
const ALL: u8 = ADD_MUL | LUT;
const VMUL: u8 = Units::VMUL;
const VADD: u8 = Units::VADD;
const SMUL: u8 = Units::SMUL;
const VECTOR: u8 = VMUL | VADD;
const NONE: u8 = 0;

alu! {
0x10 Fadd "FADD" (ADD) Float;
    0x11 FaddRtz "FADD.rtz" (ADD) Float;
    0x12 FaddRtn "FADD.rtn" (ADD) Float;
    0x13 FaddRtp "FADD.rtp" (ADD) Float;
    0x14 Fmul "FMUL" (MUL | LUT) Float;
    0x15 FmulRtz "FMUL.rtz" (MUL | LUT) Float;
    0x16 FmulRtn "FMUL.rtn" (MUL | LUT) Float;
    0x17 FmulRtp "FMUL.rtp" (MUL | LUT) Float;
    0x28 Fmin "FMIN" (ADD_MUL) Float;
    0x29 FminNan "FMIN.nan" (ADD_MUL) Float;
    0x2a Fabsmin "FABSMIN" (ADD_MUL) Float;
    0x2b FabsminNan "FABSMIN.nan" (ADD_MUL) Float;
    0x2c Fmax "FMAX" (ADD_MUL) Float;
    0x2d FmaxNan "FMAX.nan" (ADD_MUL) Float;
    0x2e Fabsmax "FABSMAX" (ADD_MUL) Float;
    0x2f FabsmaxNan "FABSMAX.nan" (ADD_MUL) Float;
    0x30 Fmov "FMOV" (ALL) Float;
    0x31 FmovRtz "FMOV.rtz" (ALL) Float;
    0x32 FmovRtn "FMOV.rtn" (ALL) Float;
    0x33 FmovRtp "FMOV.rtp" (ALL) Float;
    0x34 Froundeven "FROUNDEVEN" (ADD) Float;
    0x35 Ftrunc "FTRUNC" (ADD) Float;
    0x36 Ffloor "FFLOOR" (ADD) Float;
    0x37 Fceil "FCEIL" (ADD) Float;
    0x38 Ffma "FMA" (LUT) Float;
    0x39 FfmaRtz "FMA.rtz" (LUT) Float;
    0x3a FfmaRtn "FMA.rtn" (LUT) Float;
    0x3b FfmaRtp "FMA.rtp" (LUT) Float;
    0x3c Fdot3 "FDOT3" (VMUL) Float channels 3;
    0x3d Fdot3r "FDOT3R" (VMUL) Float channels 3;
    0x3e Fdot4 "FDOT4" (VMUL) Float channels 4;
    0x3f Freduce "FREDUCE" (NONE) Float;
    0x40 Iadd "ADD" (ADD_MUL) Signed;
    0x41 Ishladd "ADD" (MUL) Signed;
    0x46 Isub "SUB" (ADD_MUL) Signed;
    0x47 Ishlsub "SUB" (MUL) Signed;
    0x48 Iaddsat "ADDSAT" (ADD) Signed;
    0x49 Uaddsat "ADDSAT" (ADD) Unsigned;
    0x4e Isubsat "SUBSAT" (ADD) Signed;
    0x4f Usubsat "SUBSAT" (ADD) Unsigned;
    0x58 Imul "MUL" (MUL) Signed;
    0x59 Iwmul "WMUL.s" (VMUL) Signed;
    0x5a Uwmul "WMUL.u" (VMUL) Unsigned;
    0x5b Iuwmul "WMUL.su" (VMUL) Signed;
    0x60 Imin "MIN" (ADD_MUL) Signed;
    0x61 Umin "MIN" (ADD_MUL) Unsigned;
    0x62 Imax "MAX" (ADD_MUL) Signed;
    0x63 Umax "MAX" (ADD_MUL) Unsigned;
    0x64 Iavg "AVG.rtz" (ADD) Signed;
    0x65 Uavg "AVG.rtz" (ADD) Unsigned;
    0x66 Iravg "AVG.round" (ADD) Signed;
    0x67 Uravg "AVG.round" (ADD) Unsigned;
    0x68 Iasr "ASR" (ADD) Signed;
    0x69 Ilsr "LSR" (ADD) Signed;
    0x6c Ishlsat "SHL.sat" (ADD) Signed;
    0x6d Ushlsat "SHL.sat" (ADD) Unsigned;
    0x6e Ishl "SHL" (ADD) Signed;
    0x70 Iand "AND" (ADD_MUL) Signed;
    0x71 Ior "OR" (ADD_MUL) Signed;
    0x72 Inand "NAND" (ADD_MUL) Signed;
    0x73 Inor "NOR" (ADD_MUL) Signed;
    0x74 Iandnot "ANDNOT" (ADD_MUL) Signed;
    0x75 Iornot "ORNOT" (ADD_MUL) Signed;
    0x76 Ixor "XOR" (ADD_MUL) Signed;
    0x77 Inxor "NXOR" (ADD_MUL) Signed;
    0x78 Iclz "CLZ" (ADD) Signed;
    0x7a Ipopcnt "POPCNT" (VADD) Signed;
    0x7b Imov "MOV" (ALL) Signed;
    0x7c Iabsdiff "ABSDIFF" (ADD) Signed;
    0x7d Uabsdiff "ABSDIFF" (ADD) Unsigned;
    0x7e Ichoose "CHOOSE" (ADD) Signed;
    0x80 Feq "FCMP.eq" (ADD_MUL) Float [converts];
    0x81 Fne "FCMP.ne" (ADD_MUL) Float [converts];
    0x82 Flt "FCMP.lt" (ADD_MUL) Float [converts];
    0x83 Fle "FCMP.le" (ADD_MUL) Float [converts];
    0x88 FballEq "FCMP.all.eq" (VECTOR) Float [converts] channels 4;
    0x89 FballNeq "FCMP.all.ne" (VECTOR) Float [converts] channels 4;
    0x8a FballLt "FCMP.all.lt" (VECTOR) Float [converts] channels 4;
    0x8b FballLte "FCMP.all.le" (VECTOR) Float [converts] channels 4;
    0x90 FbanyEq "FCMP.any.eq" (VECTOR) Float [converts] channels 4;
    0x91 FbanyNeq "FCMP.any.ne" (VECTOR) Float [converts] channels 4;
    0x92 FbanyLt "FCMP.any.lt" (VECTOR) Float [converts] channels 4;
    0x93 FbanyLte "FCMP.any.le" (VECTOR) Float [converts] channels 4;
    0x98 F2iRte "F2I" (ADD) Float [converts];
    0x99 F2iRtz "F2I.rtz" (ADD) Float [converts];
    0x9a F2iRtn "F2I.rtn" (ADD) Float [converts];
    0x9b F2iRtp "F2I.rtp" (ADD) Float [converts];
    0x9c F2uRte "F2U" (ADD) Float [converts];
    0x9d F2uRtz "F2U.rtz" (ADD) Float [converts];
    0x9e F2uRtn "F2U.rtn" (ADD) Float [converts];
    0x9f F2uRtp "F2U.rtp" (ADD) Float [converts];
    0xa0 Ieq "CMP.eq" (ADD_MUL) Signed;
    0xa1 Ine "CMP.ne" (ADD_MUL) Signed;
    0xa2 Ult "CMP.lt" (ADD_MUL) Unsigned;
    0xa3 Ule "CMP.le" (ADD_MUL) Unsigned;
    0xa4 Ilt "CMP.lt" (ADD_MUL) Signed;
    0xa5 Ile "CMP.le" (ADD_MUL) Signed;
    0xa8 IballEq "CMP.all.eq" (VECTOR) Signed channels 4;
    0xa9 IballNeq "CMP.all.ne" (VECTOR) Signed channels 4;
    0xaa UballLt "CMP.all.lt" (VECTOR) Unsigned channels 4;
    0xab UballLte "CMP.all.le" (VECTOR) Unsigned channels 4;
    0xac IballLt "CMP.all.lt" (VECTOR) Signed channels 4;
    0xad IballLte "CMP.all.le" (VECTOR) Signed channels 4;
    0xb0 IbanyEq "CMP.any.eq" (VECTOR) Signed channels 4;
    0xb1 IbanyNeq "CMP.any.ne" (VECTOR) Signed channels 4;
    0xb2 UbanyLt "CMP.any.lt" (VECTOR) Unsigned channels 4;
    0xb3 UbanyLte "CMP.any.le" (VECTOR) Unsigned channels 4;
    0xb4 IbanyLt "CMP.any.lt" (VECTOR) Signed channels 4;
    0xb5 IbanyLte "CMP.any.le" (VECTOR) Signed channels 4;
    0xb8 I2fRte "I2F" (ADD) Signed [converts];
    0xb9 I2fRtz "I2F.rtz" (ADD) Signed [converts];
    0xba I2fRtn "I2F.rtn" (ADD) Signed [converts];
    0xbb I2fRtp "I2F.rtp" (ADD) Signed [converts];
    0xbc U2fRte "U2F" (ADD) Unsigned [converts];
    0xbd U2fRtz "U2F.rtz" (ADD) Unsigned [converts];
    0xbe U2fRtn "U2F.rtn" (ADD) Unsigned [converts];
    0xbf U2fRtp "U2F.rtp" (ADD) Unsigned [converts];
    0xc0 IcselV "CSEL.vector" (VADD) Signed;
    0xc1 Icsel "CSEL.scalar" (VADD | SMUL) Signed;
    0xc4 FcselV "FCSEL.vector" (VADD) Float;
    0xc5 Fcsel "FCSEL.scalar" (VADD | SMUL) Float;
    0xc6 Froundaway "FROUNDAWAY" (ADD) Float;
    0xe8 Fatan2Pt2 "FATAN2_PT2" (LUT) Float;
    0xec FpowPt1 "FPOW_PT1" (LUT) Float;
    0xed FpownPt1 "FPOWN_PT1" (LUT) Float;
    0xee FpowrPt1 "FPOWR_PT1" (LUT) Float;
    0xf0 Frcp "FRCP" (LUT) Float;
    0xf2 Frsqrt "FRSQRT" (LUT) Float;
    0xf3 Fsqrt "FSQRT" (LUT) Float;
    0xf4 Fexp2 "FEXP2" (LUT) Float;
    0xf5 Flog2 "FLOG2" (LUT) Float;
    0xf6 Fsinpi "FSINPI" (LUT) Float;
    0xf7 Fcospi "FCOSPI" (LUT) Float;
    0xf9 Fatan2Pt1 "FATAN2_PT1" (LUT) Float;
}
