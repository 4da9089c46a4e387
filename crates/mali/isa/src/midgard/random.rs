//! Random bundles, for tests.

use super::bundle::{Alu, Bundle, Content, Tag};
use super::table::{ALU, MEMORY, TEXTURE};
use super::word::{Conditional, Extended, LoadStore, Registers, Scalar, Texture, Vector};

/// A bundle, of random bits.
pub fn bundle(draw: &mut impl FnMut() -> u64) -> Bundle {
    let mut wide = || u128::from(draw()) | u128::from(draw()) << 64;
    let next = Tag((wide() % 15 + 1) as u8);
    let choice = wide();
    let content = match choice % 4 {
        0 => {
            let mut word = || {
                let row = &MEMORY[wide() as usize % MEMORY.len()];
                LoadStore { op: row.op as u32, ..LoadStore::decode(wide()) }
            };
            Content::LoadStore([word(), word()])
        }
        1 => {
            let row = &TEXTURE[wide() as usize % TEXTURE.len()];
            Content::Texture(Texture { op: row.code, ..Texture::decode(wide()) })
        }
        _ => {
            let has = |bit: u32| choice >> bit & 1 != 0;
            let mut op = || ALU[wide() as usize % ALU.len()].op as u32;
            let (v, s) = ([op(), op(), op()], [op(), op()]);
            let mut registers = || Registers::decode(wide());
            let r: [Registers; 5] = std::array::from_fn(|_| registers());
            let mut vector = |n: usize| Vector { op: v[n], ..Vector::decode(wide()) };
            let v = [0, 1, 2].map(&mut vector);
            let mut scalar = |n: usize| Scalar { op: s[n], ..Scalar::decode(wide()) };
            let s = [0, 1].map(&mut scalar);
            Content::Alu(Alu {
                vmul: has(8).then_some((r[0], v[0])),
                sadd: has(9).then_some((r[1], s[0])),
                vadd: has(10).then_some((r[2], v[1])),
                smul: has(11).then_some((r[3], s[1])),
                lut: has(12).then_some((r[4], v[2])),
                branch: has(13).then_some(Conditional::decode(wide())),
                extended: has(14).then_some(Extended::decode(wide())),
                constants: has(15).then(|| [0; 4].map(|_: u32| wide() as u32)),
            })
        }
    };
    let tag = match &content {
        Content::LoadStore(_) => Tag::LOAD_STORE,
        Content::Texture(t) if t.op == super::table::texture::BARRIER => Tag::BARRIER,
        Content::Texture(_) => Tag(2 + (choice >> 16) as u8 % 2),
        Content::Alu(alu) => Tag(8 + (choice >> 16) as u8 % 2 * 4 + alu.words() as u8 - 1),
    };
    Bundle { tag, next, content }
}
