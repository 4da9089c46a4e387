use super::parse;
use crate::Error;
use crate::script::{Command, Work};

const SHADERS: &str = "#!amber
SHADER compute c GLSL TARGET_ENV spv1.3
void main() {} # no comment here
END
SHADER vertex v PASSTHROUGH
";

/// The error of a script after [`SHADERS`], which has five lines.
fn error(text: &str) -> Error {
    parse(&format!("{SHADERS}{text}")).expect_err(text)
}

#[test]
fn scripts_become_commands() {
    let text = format!(
        "{SHADERS}BUFFER b DATA_TYPE vec3<uint32> SIZE 2 SERIES_FROM 1 INC_BY 2 # a comment
BUFFER f FORMAT B8G8R8A8_UNORM
PIPELINE compute p
  ATTACH c ENTRY_POINT other SPECIALIZE 3 AS uint32 7
  BIND BUFFER b AS storage DESCRIPTOR_SET 1 BINDING 2
END
DERIVE_PIPELINE q FROM p
END
PIPELINE graphics g
  ATTACH v
  BIND BUFFER f AS color LOCATION 0
  FRAMEBUFFER_SIZE 4 2
END
REPEAT 3
  RUN q 1 2 3
END
RUN g DRAW_RECT POS 1 0 SIZE 2 2
EXPECT b IDX 4 TOLERANCE 1% EQ 3 5
EXPECT f IDX 0 0 SIZE 4 2 EQ_RGBA 0 0 0 0"
    );
    let s = parse(&text).expect("a script");
    assert_eq!(s.shaders[0].source, "void main() {} # no comment here\n");
    assert_eq!(s.shaders[0].target.as_deref(), Some("spv1.3"));
    assert_eq!(s.buffers[0].bytes.len(), 32);
    assert_eq!(s.buffers[0].bytes[16], 7);
    assert_eq!(s.buffers[1].bytes.len(), 32);
    assert_eq!(s.pipelines[1].stages[0].constants, [(3, 7)]);
    assert_eq!(s.pipelines[1].bindings[0].slot, (1, 2, 0));
    assert!(matches!(&s.commands[0].1, Command::Repeat(3, inner) if inner.len() == 1));
    let Command::Run(2, Work::Vertices(_, corners)) = &s.commands[1].1 else { panic!("no draw") };
    assert_eq!(corners[1], [-0.5, -1.0]);
    assert_eq!(corners[2], [0.5, 1.0]);
    assert_eq!(s.commands[2].0, 23);
}

#[test]
fn unsupported_features_are_named_with_their_line() {
    let refused = |text| match error(text) {
        Error::Refused { line, what } => (line, what),
        e => panic!("{text}: {e}"),
    };
    assert_eq!(refused("PIPELINE raytracing p\nEND").0, 6);
    assert_eq!(refused("BUFFER b DATA_TYPE triple SIZE 3").1, "data of the type triple");
    assert_eq!(refused("\nFIDDLE x").1, "the command FIDDLE");
    assert_eq!(refused("PIPELINE compute p\nATTACH c\nSTENCIL x\nEND").0, 8);
}

#[test]
fn invalid_scripts_are_errors() {
    let invalid = |text| match error(text) {
        Error::Invalid { line, what } => (line, what),
        e => panic!("{text}: {e}"),
    };
    assert_eq!(invalid("BUFFER b DATA_TYPE int32 SIZE 3 FILL x").0, 6);
    assert_eq!(
        invalid("SHADER compute d GLSL\nvoid main() {}"),
        (6, "no `END` follows".to_owned())
    );
    assert!(invalid("RUN nobody 1 1 1").1.contains("nobody"));
    assert!(invalid("SHADER vertex v PASSTHROUGH").1.contains("twice"));
    invalid("BUFFER b DATA_TYPE int32 SIZE 9999999999 FILL 0");
    invalid("BUFFER b DATA_TYPE vec4<float> SIZE 60000000 FILL 0");
    invalid("PIPELINE graphics p\nFRAMEBUFFER_SIZE 0 5\nEND");
    invalid("PIPELINE compute p\nATTACH c\nEND\nRUN p DRAW_RECT POS 0 0 SIZE 1 1");
    invalid("BUFFER b FORMAT R8_UINT\nEXPECT b IDX 0 EQ");
}
