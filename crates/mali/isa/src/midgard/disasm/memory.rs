//! Loads and stores.

use std::fmt::Write;

use super::super::fields::signed;
use super::super::table::{Access, Memory};
use super::super::word::{LoadStore, argument, expand, register};
use super::{Printer, access, component, is_store};

impl Printer<'_> {
    pub(super) fn load_store(&mut self, word: &LoadStore) {
        let row = word.row();
        match row {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "ldst_op_{:02X}", word.op);
            }
        }
        let (op, access) = (row.map(|row| row.op), access(word));
        if op == Some(Memory::Trap) {
            put!(self, " 0x{:X}\n", word.displacement());
            return;
        }
        let attribute = matches!(access, Access::Attribute | Access::StoreAttribute);
        let image = is_image(word.op);
        let projects = matches!(word.op, 0x11..=0x13);
        if attribute {
            let secondary = word.index_format & 2 != 0;
            let varying = matches!(word.op, 0x98..=0x9b | 0xd4..=0xd7);
            let has_default = varying || matches!(word.op, 0x94..=0x97);
            self.out.push_str(if word.index_format & 1 != 0 { ".a32" } else { "" });
            if has_default && secondary != varying {
                self.out.push_str(if secondary { ".secondary" } else { ".primary" });
            }
        } else if op == Some(Memory::LdCubemapCoords) || projects {
            self.out.push_str(if word.wide != 0 { ".f32" } else { ".f16" });
        }
        self.out.push(' ');
        let moves = matches!(word.op, 0x04..=0x13);
        let atomic = access == Access::Atomic;
        if is_store(word) {
            let mask = (0..4).fold(0, |m, i| m | ((word.mask >> i & 1) * 3) << (2 * i));
            self.argument(word.reg);
            self.swizzle(word.swizzle, expand::NONE, 2, mask);
        } else {
            match word.reg {
                26 | 27 => put!(self, "AL{}", word.reg - register::LOAD_STORE),
                28 | 29 => put!(self, "AT{}", word.reg - register::TEXTURE),
                31 => put!(self, "PC_SP"),
                number => put!(self, "R{number}"),
            }
            let addresses = matches!(op, Some(Memory::Lea | Memory::LeaImage));
            let swizzle = if moves && !addresses || atomic { 0xe4 } else { word.swizzle };
            self.out.push('.');
            for i in 0..4 {
                let c = component(swizzle >> (2 * i) & 3);
                self.out.push(if word.mask >> i & 1 != 0 { c } else { '~' });
            }
        }
        if access == Access::Uniform {
            // Mesa's text has it so, though its compiler has the number in the instruction where the bit is 0.
            match word.offset & 1 {
                0 => self.separated(word.arg_reg, word.arg_comp),
                _ => {
                    put!(self, ", {}", word.uniform_buffer());
                }
            }
            self.separated(word.index_reg, word.index_comp);
            self.shift(word.index_shift);
            self.displacement(word.displacement() >> 2);
        }
        let compares = matches!(word.op, 0x64..=0x67);
        if matches!(access, Access::Load | Access::Store | Access::Atomic) {
            self.address(word, compares);
        }
        if moves {
            put!(self, ", ");
            self.argument(word.arg_reg);
            self.swizzle(word.swizzle, expand::NONE, 2, 0xff);
        }
        if atomic {
            self.separated(word.swizzle >> 2 & 7, word.swizzle & 3);
        }
        if compares {
            self.separated(word.index_reg, word.index_comp);
        }
        let special = matches!(word.op, 0x9c..=0x9f | 0xdc..=0xdf);
        if special || attribute {
            self.separated(word.index_reg, word.index_comp);
            self.shift(word.index_shift);
            self.displacement(word.displacement() >> 9);
        }
        if attribute {
            put!(self, ", ");
            self.argument(word.arg_reg);
            if image {
                put!(self, ".u{}", if word.wide != 0 { 64 } else { 32 });
            }
            put!(self, ".{}", component(word.arg_comp));
            if word.wide != 0 && !image {
                self.displacement(signed(word.offset & 0x1ff, 9));
            }
        }
        if matches!(word.op, 0x04..=0x0b) {
            put!(self, ", 0x{:X}", (word.displacement() << 4) as u32 | word.index_shift);
        }
        self.out.push('\n');
    }

    fn address(&mut self, word: &LoadStore, compares: bool) {
        put!(self, ", ");
        let base = word.arg_reg != argument::ZERO;
        if base {
            self.argument(word.arg_reg);
            let bits = if word.wide != 0 { 64 } else { 32 };
            put!(self, ".u{bits}.{}", component(word.arg_comp));
        }
        if !compares && word.index_reg != argument::ZERO {
            put!(self, "{}", if base { " + " } else { "" });
            self.argument(word.index_reg);
            let format = ["", ".u64", ".u32", ".s32"][word.index_format as usize & 3];
            put!(self, "{format}.{}", component(word.index_comp));
            self.shift(word.index_shift);
        }
        self.displacement(word.displacement());
    }

    fn argument(&mut self, number: u32) {
        let names = [
            "AL0",
            "AL1",
            "PC_SP",
            "LOCAL_STORAGE_PTR",
            "LOCAL_THREAD_ID",
            "GROUP_ID",
            "GLOBAL_THREAD_ID",
            "0",
        ];
        match names.get(number as usize) {
            Some(name) => self.out.push_str(name),
            None => {
                put!(self, "R{number}");
            }
        }
    }

    fn separated(&mut self, number: u32, which: u32) {
        put!(self, ", ");
        self.argument(number);
        put!(self, ".{}", component(which));
    }

    fn shift(&mut self, by: u32) {
        if by != 0 {
            put!(self, " << {by}");
        }
    }

    pub(super) fn displacement(&mut self, by: i32) {
        match by {
            0 => {}
            1.. => {
                put!(self, " + 0x{by:X}");
            }
            _ => {
                put!(self, " - 0x{:X}", by.unsigned_abs());
            }
        }
    }
}

fn is_image(op: u32) -> bool {
    matches!(op, 0x0d | 0xb4..=0xb7 | 0xd8..=0xdb)
}
