//! Opcodes of decoded instructions.
//!
//! An opcode names what an [`Op`](super::op::Op) does. Several instructions of the ISA may share
//! one, where only their operands differ.

/// Calls a macro with every opcode, in their order, and the module of `exec` that has its handler.
macro_rules! for_each_opcode {
    ($then:ident) => {
        $then! {
            fadd: float,
            fmul: float,
            ffma: float,
            hadd: float,
            hmul: float,
            hfma: float,
            floor: float,
            ceil: float,
            trunc: float,
            rint: float,
            rcp: float,
            rsqrt: float,
            srsqrt: float,
            log2: float,
            exp2: float,
            sin_pt_1: float,
            sin_pt_2: float,
            dfdx: float,
            dfdy: float,
            fcmpsel: float,
            convert: float,
            mov_imm: int,
            iadd: int,
            imad: int,
            bitop: int,
            bfi: int,
            bfeil: int,
            extr: int,
            shlhi: int,
            shrhi: int,
            asr: int,
            asrhi: int,
            bitrev: int,
            popcount: int,
            ffs: int,
            intl: int,
            icmpsel: int,
            if_icmp: flow,
            if_fcmp: flow,
            else_icmp: flow,
            else_fcmp: flow,
            while_icmp: flow,
            while_fcmp: flow,
            pop_exec: flow,
            jmp_exec_any: flow,
            jmp_exec_none: flow,
            call: flow,
            jump_register: flow,
            stop: flow,
            barrier: flow,
            fence: flow,
            nop: flow,
            refuse: flow,
            reduce: subgroup,
            icmp_ballot: subgroup,
            fcmp_ballot: subgroup,
            shuffle: subgroup,
            get_sr: special,
            doorbell: special,
            stack_map: special,
            stack_unmap: special,
            device_load: memory,
            device_store: memory,
            device_atomic: memory,
            stack_load: memory,
            stack_store: memory,
            stack_adjust: memory,
            local_load: memory,
            local_store: memory,
            local_atomic: memory,
            uniform_store: memory,
            texture: texture,
            image_write: texture,
            image_write_block: texture,
            tile_pixel: texture,
            st_var: vertex,
            iter: fragment,
            ldcf: fragment,
            sample_mask: fragment,
            zs_emit: fragment,
            tile_access: fragment,
            texture_state_store: texture,
            sampler_state_store: texture,
        }
    };
}

pub(crate) use for_each_opcode;

macro_rules! opcodes {
    ($($name:ident: $module:ident,)*) => {
        /// Opcodes, named after their handlers in [`super::exec`].
        #[expect(missing_docs, non_camel_case_types, reason = "the handlers are documented")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Opcode {
            $($name,)*
        }

        impl Opcode {
            /// The number of opcodes.
            pub const COUNT: usize = [$(Opcode::$name),*].len();

            /// Whether it computes numbers from numbers of its lane, or of its quad.
            pub fn is_arithmetic(self) -> bool {
                matches!(Self::MODULES[self as usize], "float" | "int")
            }

            /// The modules of `exec` that have the handlers.
            const MODULES: [&str; Self::COUNT] = [$(stringify!($module)),*];

            /// Whether it takes lanes in or out by their nesting counters.
            pub fn changes_lanes(self) -> bool {
                matches!(
                    self,
                    Opcode::if_icmp
                        | Opcode::if_fcmp
                        | Opcode::else_icmp
                        | Opcode::else_fcmp
                        | Opcode::while_icmp
                        | Opcode::while_fcmp
                        | Opcode::pop_exec
                )
            }
        }
    };
}

for_each_opcode!(opcodes);
