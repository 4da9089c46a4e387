//! Constant arrays that are indexed at run time become constant data whatever their length.

use crate::{GROUP, Kernel, run};
use rspirv::spirv;
use tepui_agx_compiler::{Options, compile};

fn element(i: u32) -> u32 {
    (i.wrapping_mul(i)).wrapping_mul(2_654_435_761).wrapping_add(i * 7)
}

/// Reads element `input % length` of a constant array.
fn module(length: u32) -> Vec<u32> {
    let mut k = Kernel::new(&[]);
    let count = k.uint(length);
    let array = k.b.type_array(k.u32, count);
    let elements: Vec<_> = (0..length).map(|i| k.uint(element(i))).collect();
    let table = k.b.constant_composite(array, elements);
    let class = spirv::StorageClass::Function;
    let (to_array, to_u32) =
        (k.b.type_pointer(None, class, array), k.b.type_pointer(None, class, k.u32));
    let v = k.b.variable(to_array, None, class, Some(table));
    let i = k.input(1, 0);
    let i = k.b.u_mod(k.u32, None, i, count).unwrap();
    let p = k.b.access_chain(to_u32, None, v, [i]).unwrap();
    let v = k.b.load(k.u32, None, p, None, []).unwrap();
    k.output(1, 0, v);
    k.finish()
}

#[test]
fn long_tables_are_constant_data() {
    let input: Vec<u32> =
        (0..GROUP as u32).map(|i| if i < 4 { i } else { i.wrapping_mul(2_246_822_519) }).collect();
    for length in [16_384, 16_385, 32_755, 40_000, 65_000] {
        let words = module(length);
        let want: Vec<u32> = input.iter().map(|&i| element(i % length)).collect();
        for (by, got) in run(&words, &input, GROUP) {
            assert_eq!(got, want, "{by}: {length}");
        }
        let mut s = tepui_spirv::translate(&words, &Default::default()).unwrap();
        let program = compile(&mut s, &Options::default()).unwrap();
        assert_eq!((program.stats.scratch, program.data.len()), (0, 4 * length as usize));
        assert!(
            program.stats.instructions < 100,
            "{length}: {} instructions",
            program.stats.instructions
        );
    }
}
