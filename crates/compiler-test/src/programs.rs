//! Programs that compilers have got wrong, and what random ones do not have.
//!
//! The text files in `programs` begin with a comment that says what is special; each runs on the memory of a random program.

use std::path::Path;

use tepui_ir::Shader;

use crate::{Compiler, Executor, Tally, differential};

/// The programs by name.
///
/// # Panics
/// When a file cannot be read or is no valid shader.
#[must_use]
pub fn all() -> Vec<(String, Shader)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let entries = std::fs::read_dir(&folder).expect("the folder of programs");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let one = |path: &std::path::PathBuf| {
        let at = path.display();
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{at}: {e}"));
        let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{at}: {e}"));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{at}: {e}"));
        (path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned()), s)
    };
    files.iter().map(one).collect()
}

/// Compiles and runs all programs, without passes that the compiler does not need. It must take them all.
///
/// # Panics
/// When a program is refused or leaves something else than the interpreter.
pub fn check<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    mut executor: impl FnMut() -> E,
) {
    let all = all();
    assert!(!all.is_empty(), "there are programs");
    for (name, s) in all {
        println!("{name}");
        let t = differential::check(compiler, &mut executor, 0..1, &|_| s.clone(), false);
        assert_eq!(t.same, 1, "{name}: {t:?}");
    }
}

/// Compiles and runs a loop that hands on `count` values, each in another one's place: more than there are registers.
///
/// # Panics
/// As [`check`].
pub fn check_carried<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    executor: impl FnMut() -> E,
    count: usize,
) -> Tally {
    let s = carried(count);
    let t = differential::check(compiler, executor, 3..4, &|_| s.clone(), false);
    assert_eq!(t.same, 1, "{t:?}");
    t
}

fn carried(count: usize) -> Shader {
    let list = |f: &dyn Fn(usize) -> String| (0..count).map(f).collect::<Vec<_>>().join(", ");
    let lines = |f: &dyn Fn(usize) -> String| (0..count).map(|k| f(k) + "\n").collect::<String>();
    let next = |k: usize| 2000 + (k + 1) % count;
    let text = format!(
        "shader compute \"main\" {{
          workgroup_size 16 1 1
          resource storage_buffer set 0 binding 0 count 1 2d float \"\"
          body {{
            %0:b32 = const[0x0]
            %1:b32 = const[0x1]
            %2:b64 = descriptor[@r0] %0
            %3:b32 = load_builtin[local_invocation_index]
            %4:b32 = const[0x9]
            %5:b32 = ishl %3, %4
            {}
            {} = loop ({}, %4999:b32 = %0) {{
              %5000:b1 = sge %4999, %4
              if %5000 {{
                break {}
              }}
              {}
              %4998:b32 = iadd %4999, %1
              continue {}, %4998
            }}
            %9000:b32 = iadd %0, %0
            {}
            store_buffer[align 4 offset 64] %2, %5, %{}
            yield
          }}
        }}",
        lines(&|k| format!(
            "%{}:b32 = load_buffer[align 4 offset {}] %2, %5",
            1000 + k,
            k % 16 * 4
        )),
        list(&|k| format!("%{}:b32", 4000 + k)),
        list(&|k| format!("%{}:b32 = %{}", 2000 + k, 1000 + k)),
        list(&|k| format!("%{}", 2000 + k)),
        lines(&|k| format!("%{}:b32 = iadd %{}, %4999", 6000 + k, next(k))),
        list(&|k| format!("%{}", 6000 + k)),
        lines(&|k| format!(
            "%{}:b32 = imul %{}, %4\n%{}:b32 = iadd %{}, %{}",
            9001 + 2 * k,
            9000 + 2 * k,
            9002 + 2 * k,
            9001 + 2 * k,
            4000 + k
        )),
        9000 + 2 * count,
    );
    let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}"));
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::tests::{Identity, Interpreter};

    #[test]
    fn the_interpreter_agrees_with_itself() {
        check(&Identity, || Interpreter(0));
        check_carried(&Identity, || Interpreter(0), 20);
    }

    #[test]
    #[should_panic(expected = "lane 0 byte 0")]
    fn a_wrong_byte_is_found() {
        check(&Identity, || Interpreter(1));
    }
}
