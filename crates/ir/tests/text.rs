//! The text form reads back as it was written, and the validator finds what is broken in it.

use tepui_ir::{Op, op::OPS, parse, validate};

const SAMPLE: &str = r#"shader compute "main" {
  workgroup_size 8 8 1
  shared_bytes 64
  float 32 [denorm_preserve rte]
  file "a.comp"
  resource storage_buffer set 0 binding 1 count 1 2d float "data"
  var b32x4 [16] "tmp"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0xa]
    loc 0:3:7
    %3:b64 = descriptor[@r0 nonuniform] %0
    %4:b32x3 = load_builtin[global_invocation_id]
    %5:b32 = extract[0] %4
    %6:b32, %7:b32 = loop (%8:b32 = %0, %9:b32 = %5) {
      %10:b1 = sge %8, %2
      if %10 {
        break %8, %9
      }
      %11:b32 = if %10 {
        yield %8
      } else {
        %12:b32 = fmul.exact.strict %9, %9
        yield %12
      }
      %13:b32 = iadd %8, %1
      continue %13, %11
    }
    store_buffer[align 4 offset 16 coherent] %3, %6, %7
    barrier[workgroup workgroup buffer shared]
    yield
  }
}
"#;

#[test]
fn reads_back_what_it_prints() {
    let s = parse(SAMPLE).unwrap();
    validate(&s).unwrap();
    assert_eq!(s.to_string(), SAMPLE);
}

#[test]
fn faults_are_found() {
    for (from, to, want) in [
        ("%10:b1 = sge %8, %2", "%10:b1 = sge %8, %3", "operand 1 is b64"),
        ("break %8, %9", "break %8", "carries [b32]"),
        ("break %8, %9", "yield %8, %9", "carries"),
        ("%5:b32 = extract[0]", "%5:b32 = extract[3]", "index must be in the vector"),
        (
            "store_buffer[align 4 offset 16 coherent] %3, %6, %7",
            "store_buffer[align 4] %3, %6, %11",
            "not defined here",
        ),
        ("    barrier[workgroup workgroup buffer shared]\n    yield\n", "", "terminator"),
        ("%0:b32 = const[0x0]", "%0:b8 = const[0x100]", "fits its type"),
        ("continue %13, %11", "yield", "may not end"),
    ] {
        assert!(SAMPLE.contains(from), "{from}");
        let s = parse(&SAMPLE.replace(from, to)).unwrap();
        let e = validate(&s).unwrap_err().to_string();
        assert!(e.contains(want), "{to}: {e}");
    }
}

#[test]
fn text_errors_have_positions() {
    for (from, to, want) in [
        ("sge", "sgee", "17:16: `sgee` is not an op"),
        ("%8, %2", "%8, %99", "17:24: %99 is not defined"),
        ("const[0xa]", "const", "11:14: const needs [const]"),
        ("@r0", "@r7", "13:25: `@r7` is not declared"),
    ] {
        let e = parse(&SAMPLE.replacen(from, to, 1)).map(|_| ()).unwrap_err().to_string();
        assert!(e.starts_with(want), "{e}");
    }
}

#[test]
fn op_table_is_well_formed() {
    for (i, row) in OPS.iter().enumerate() {
        assert_eq!(row.op as usize, i);
        assert_eq!(Op::from_name(row.name), Some(row.op));
        assert!(row.doc.trim().ends_with('.'), "{}: {}", row.name, row.doc);
        // Constant folding drops the instruction, so only a pure op may have a meaning on
        // constants.
        assert!(row.op.is_pure() || matches!(row.fold, tepui_ir::Fold::None), "{}", row.name);
    }
}
