//! Varyings: interpolation in fragment shaders, stores in vertex shaders.

use super::prelude::*;

rows! {
    /// Interpolate varyings linearly.
    ///
    /// For each channel i, interpolates coefficient register `coef + i` at the pixel's centre, a
    /// sample or the centroid. A coefficient register holds three values of a plane equation. An
    /// indirect coefficient register is in a 16-bit register.
    // source: applegpu.py, IterateDesc; agx_pack.c, AGX_OPCODE_ITER
    Iter "iter" (4, 8; 15) [0:6 = 0x21, 6:2 = 0b00] zero [u24: 6, u60: 2] {
        /// Destination.
        d: RegVec = operand counted(9, 56, 8, 30, 1).out(), RegVec::new(0, Size::B16, 1);
        /// First coefficient register.
        coef: Coef = operand coef_or_reg(16, 58, 23);
        /// Sample index.
        sample: SampleIndex = operand sample_index();
        /// The result goes to the next texture_sample as its coordinates.
        forward: bool = operand flag(22, "", "forward");
        /// Leaves out barriers with neighbouring interpolations.
        elide: bool = operand flag(46, "", "elide");
        /// Position of the interpolation.
        interpolation: Interpolation = operand choice(48, 2);
        /// Helper invocations end here.
        kill: bool = operand binbit(52);
        /// Unknown; 0.
        unk1: u8 = operand num(40, 6);
        /// Unknown; 0.
        unk2: u8 = operand num(47, 1);
        /// Unknown; 0.
        unk3: u8 = operand num(50, 2);
        /// Unknown; 0.
        unk4: u8 = operand num(53, 3);
        /// Unknown; 0.
        unk5: u8 = operand num(62, 2);
    }

    /// Interpolate varyings with perspective.
    ///
    /// As `iter`, then divided by the interpolated 1/w in coefficient register `w`.
    // source: applegpu.py, IterateDesc; agx_pack.c, AGX_OPCODE_ITERPROJ
    Iterproj "iterproj" (4, 8; 15) [0:6 = 0x21, 6:2 = 0b01] {
        /// Destination.
        d: RegVec = operand counted(9, 56, 8, 30, 1).out(), RegVec::new(0, Size::B16, 1);
        /// First coefficient register.
        coef: Coef = operand coef_or_reg(16, 58, 23);
        /// Coefficient register of 1/w.
        w: Coef = operand coef(24, 60);
        /// Sample index.
        sample: SampleIndex = operand sample_index();
        /// The result goes to the next texture_sample as its coordinates.
        forward: bool = operand flag(22, "", "forward");
        /// Leaves out barriers with neighbouring interpolations.
        elide: bool = operand flag(46, "", "elide");
        /// Position of the interpolation.
        interpolation: Interpolation = operand choice(48, 2);
        /// Helper invocations end here.
        kill: bool = operand binbit(52);
        /// Unknown; 0.
        unk1: u8 = operand num(40, 6);
        /// Unknown; 0.
        unk2: u8 = operand num(47, 1);
        /// Unknown; 0.
        unk3: u8 = operand num(50, 2);
        /// Unknown; 0.
        unk4: u8 = operand num(53, 3);
        /// Unknown; 0.
        unk5: u8 = operand num(62, 2);
    }

    /// Load coefficients.
    ///
    /// For each channel, the three values of its coefficient register. Flat shading uses the third
    /// (Mesa).
    // source: applegpu.py, LoadCFDesc; agx_pack.c, AGX_OPCODE_LDCF
    Ldcf "ldcf" (4, 8; 15) [0:6 = 0x21, 6:2 = 0b10] zero [u22: 1, u24: 6, u32: 24, u60: 4] {
        /// Destination: three values for each channel.
        d: RegVec = operand counted(9, 56, 8, 30, 3).out(), RegVec::new(0, Size::B16, 3);
        /// First coefficient register.
        coef: Coef = operand coef_or_reg(16, 58, 23);
    }
}

/// Rows that differ in the low ten bits.
macro_rules! vertex {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $opcode:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, the st_var loop; agx_pack.c, AGX_OPCODE_ST_VARY
            $Name $mnemonic (4) [0:10 = $opcode, 22:1 = 0] zero [u15: 1, u28: 3] {
                /// Unknown; 1.
                u: u8 = operand num(31, 1), 1;
                /// Value.
                r: RegVec = operand whole_reg32((10, 5), (24, 2)), RegVec::new(0, Size::B32, 1);
                /// Number of the output (UVS slot).
                index: RegOrImm = operand imm_if(16, 26, 23);
            }
        )* }
    };
}

vertex! {
    /// The vertex shader writes no varyings.
    ///
    /// Mesa encodes it as `no_var 1, r0, r0l`.
    NoVar "no_var" 0b01010001
    /// Write a vertex output.
    ///
    /// Writes the 32-bit register to vertex output `index`.
    StVar "st_var" 0b00010001
    /// Write the last vertex output.
    ///
    /// As `st_var`; ends the output of the vertex.
    StVarFinal "st_var_final" 0b10010001
}
