//! Loads and stores.

use std::fmt::Write;

use super::super::fields::signed;
use super::super::names::{
    ADDRESSES, ARGUMENTS, INDEX_32, INDEX_FORMATS, TABLES, WIDTHS, component,
};
use super::super::swizzle::IDENTITY;
use super::super::word::{LoadStore, argument, expand, register};
use super::Printer;

impl Printer<'_> {
    pub(super) fn load_store(&mut self, word: &LoadStore) {
        let row = word.row();
        match row {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "ldst_op_{:02X}", word.op);
            }
        }
        let shape = word.shape();
        if shape.trap {
            put!(self, " 0x{:X}\n", word.displacement());
            return;
        }
        if shape.attribute {
            let table = word.index_format >> 1 & 1;
            self.out.push_str(if word.index_format & 1 != 0 { INDEX_32 } else { "" });
            if shape.table.is_some_and(|usual| table != usual) {
                self.out.push_str(TABLES[table as usize]);
            }
        } else if shape.sized {
            self.out.push_str(WIDTHS[word.wide as usize & 1]);
        }
        self.out.push(' ');
        if shape.store {
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
            let swizzle = if shape.swizzled { word.swizzle } else { IDENTITY };
            self.out.push('.');
            for i in 0..4 {
                let c = component(swizzle >> (2 * i) & 3);
                self.out.push(if word.mask >> i & 1 != 0 { c } else { '~' });
            }
        }
        if shape.uniform {
            // Mesa's text has it this way, although its compiler encodes the number in the instruction if the
            // bit is 0.
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
        if shape.address {
            self.address(word, shape.compares);
        }
        if shape.moves {
            put!(self, ", ");
            self.argument(word.arg_reg);
            self.swizzle(word.swizzle, expand::NONE, 2, 0xff);
        }
        if shape.atomic {
            self.separated(word.swizzle >> 2 & 7, word.swizzle & 3);
        }
        if shape.compares {
            self.separated(word.index_reg, word.index_comp);
        }
        if shape.special {
            self.separated(word.index_reg, word.index_comp);
            self.shift(word.index_shift);
            self.displacement(word.displacement() >> 9);
        }
        if shape.attribute {
            put!(self, ", ");
            self.argument(word.arg_reg);
            if shape.image {
                self.out.push_str(ADDRESSES[word.wide as usize & 1]);
            }
            put!(self, ".{}", component(word.arg_comp));
            if word.wide != 0 && !shape.image {
                self.displacement(signed(word.offset & 0x1ff, 9));
            }
        }
        if shape.packs {
            put!(self, ", 0x{:X}", (word.displacement() << 4) as u32 | word.index_shift);
        }
        self.out.push('\n');
    }

    fn address(&mut self, word: &LoadStore, compares: bool) {
        put!(self, ", ");
        let base = word.arg_reg != argument::ZERO;
        if base {
            self.argument(word.arg_reg);
            let width = ADDRESSES[word.wide as usize & 1];
            put!(self, "{width}.{}", component(word.arg_comp));
        }
        if !compares && word.index_reg != argument::ZERO {
            put!(self, "{}", if base { " + " } else { "" });
            self.argument(word.index_reg);
            let format = INDEX_FORMATS[word.index_format as usize & 3];
            put!(self, "{format}.{}", component(word.index_comp));
            self.shift(word.index_shift);
        }
        self.displacement(word.displacement());
    }

    fn argument(&mut self, number: u32) {
        match ARGUMENTS.get(number as usize) {
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
