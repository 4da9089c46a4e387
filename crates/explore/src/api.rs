//! Interface of the web page: requests and answers in JSON, and pixels separately.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tepui_agx_isa::manual;
use tepui_check::{RULES, Rule};
use tepui_debug::{Session, command};

use crate::compare::compare;
use crate::compile::{ShaderError, Target, Text, report};
use crate::record::{Group, record};
use crate::run::{Inputs, RunOptions, run};
use crate::{intel, mali};

/// A request.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Request {
    /// Machine code, statistics and, if asked for, IR after each pass.
    Compile {
        #[serde(flatten)]
        text: Text,
        #[serde(default)]
        passes: bool,
    },
    /// Two shaders side by side.
    Compare { left: Text, right: Text },
    /// Runs the shader.
    Run {
        #[serde(flatten)]
        text: Text,
        #[serde(default)]
        inputs: Inputs,
        #[serde(default)]
        check: bool,
    },
    /// Runs the shader and records a SIMD-group.
    Debug {
        #[serde(flatten)]
        text: Text,
        #[serde(default)]
        inputs: Inputs,
        group: Option<Group>,
    },
    /// A command of the debugger.
    Command { line: String },
    /// An instruction's entry of the manual of a GPU ([`Text::gpu`]).
    Manual {
        name: String,
        #[serde(default)]
        gpu: String,
    },
    /// The checker's rules.
    Rules,
}

/// A register in the debugger.
#[derive(Serialize)]
struct Register {
    number: usize,
    /// Its name, such as `r3` or `g3`.
    register: String,
    /// A word for each lane, or all words of a register that lanes share.
    words: Vec<u32>,
    /// The instruction before changed it.
    changed: bool,
    /// Contents of the register in the selected lane, by the names of the compiler and the source.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
}

/// State that the page keeps between requests.
#[derive(Default)]
pub struct Api {
    session: Option<Session>,
    pixels: Vec<u8>,
}

impl Api {
    /// Answers a request: `{"ok": …}` or `{"error": {"message": …, "place": …}}`.
    pub fn call(&mut self, request: &str) -> String {
        self.pixels.clear();
        let answer = serde_json::from_str(request)
            .map_err(|e| ShaderError::new(format!("the request: {e}")))
            .and_then(|request| self.answer(request));
        match answer {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(e) => json!({ "error": e }).to_string(),
        }
    }

    /// Pixels of the last answer: a run's picture and storage images
    /// ([`Outcome::pixels`](crate::run::Outcome::pixels)), or an image of the debugger.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    fn answer(&mut self, request: Request) -> Result<Value, ShaderError> {
        match request {
            Request::Compile { text, passes } => {
                serde_json::to_value(report(&text, passes)?).map_err(ShaderError::new)
            }
            Request::Compare { left, right } => {
                let compared = compare(&left, &right)?;
                serde_json::to_value(compared).map_err(ShaderError::new)
            }
            Request::Run { text, inputs, check } => {
                let mut outcome = match text.target()? {
                    Target::Intel(chip) => {
                        let compiled = intel::compile(&text, chip, false)?;
                        let how = intel::run::RunOptions { check, ..Default::default() };
                        intel::run::run(&text, &compiled, &inputs, how)?.outcome?
                    }
                    Target::Mali(chip) => {
                        let compiled = mali::compile(&text, chip, false)?;
                        let how = mali::run::RunOptions { check, ..Default::default() };
                        mali::run::run(&text, &compiled, &inputs, how)?.outcome?
                    }
                    Target::M1 => {
                        run(&text, &inputs, RunOptions { check, ..RunOptions::default() })?
                    }
                };
                self.pixels = std::mem::take(&mut outcome.pixels);
                serde_json::to_value(outcome).map_err(ShaderError::new)
            }
            Request::Debug { text, inputs, group } => {
                let (recording, _) = match text.target()? {
                    Target::Intel(chip) => intel::record::record(&text, chip, &inputs, group)?,
                    Target::Mali(chip) => mali::record::record(&text, chip, &inputs, group)?,
                    Target::M1 => record(&text, &inputs, group)?,
                };
                let session = self.session.insert(Session::new(recording));
                let program = &session.recording.program;
                Ok(json!({ "program": program, "state": state(session) }))
            }
            Request::Command { line } => {
                let none = || ShaderError::new("nothing is debugged");
                let session = self.session.as_mut().ok_or_else(none)?;
                let text = match command::run(session, &line).map_err(ShaderError::new)? {
                    command::Answer::Text(text) => text,
                    command::Answer::Picture(n) => {
                        let image = &session.recording.images[n];
                        self.pixels.clone_from(&image.rgba);
                        return Ok(
                            json!({ "text": image.what, "picture": image.size, "state": state(session) }),
                        );
                    }
                    command::Answer::Quit => {
                        self.session = None;
                        return Ok(json!({ "text": "" }));
                    }
                };
                Ok(json!({ "text": text, "state": state(session) }))
            }
            Request::Rules => {
                let rule = |r: &Rule| {
                    json!({
                        "id": r.id,
                        "level": r.level.name(),
                        "families": r.families,
                        "title": r.title,
                        "meaning": r.meaning,
                        "mend": r.mend,
                    })
                };
                Ok(RULES.iter().map(rule).collect())
            }
            Request::Manual { name, gpu } => {
                let text = match (Text { gpu, ..Text::default() }).target()? {
                    Target::Intel(chip) => intel::manual(chip, &name),
                    Target::Mali(_) => mali::manual(&name),
                    Target::M1 => {
                        let entries = manual::find(&name).into_iter().map(manual::entry);
                        entries.collect::<Vec<_>>().join("\n")
                    }
                };
                match text.is_empty() {
                    true => Err(ShaderError::new(format!("`{name}` is not an instruction"))),
                    false => Ok(json!({ "text": text })),
                }
            }
        }
    }
}

/// State of a debugging session, with all registers.
fn state(s: &Session) -> Value {
    let Some(step) = s.step() else { return Value::Null };
    let register = |number| {
        let words = s.recording.register(number, s.at()).map(<[u32]>::to_vec);
        Register {
            number,
            register: s.recording.register_file.name(number),
            words: words.unwrap_or_default(),
            changed: s.recording.changed(number, s.at()),
            name: s.name(number, s.lane),
        }
    };
    // Programs use few of the registers that lanes share.
    let is_shown = |&n: &usize| !s.recording.register_file.is_shared() || s.recording.is_used(n);
    let numbers = (0..s.recording.registers()).filter(is_shown);
    let breakpoints: Vec<_> = s
        .breakpoints
        .iter()
        .map(|b| match &b.at {
            tepui_debug::BreakpointLocation::Line(line) => {
                json!({ "number": b.number, "line": line })
            }
            tepui_debug::BreakpointLocation::Offset(offset) => {
                json!({ "number": b.number, "offset": offset })
            }
            tepui_debug::BreakpointLocation::Written(name) => {
                json!({ "number": b.number, "name": name })
            }
            tepui_debug::BreakpointLocation::Changed(place) => {
                json!({ "number": b.number, "place": s.recording.memory.describe(*place) })
            }
        })
        .collect();
    let instruction = s.instruction();
    json!({
        "title": s.recording.title,
        "step": s.at(),
        "steps": s.recording.steps().len(),
        "truncated": s.recording.truncated,
        "offset": instruction.map(|i| i.offset),
        "line": instruction.map(|i| i.line),
        "exec": step.exec,
        "alive": s.recording.alive,
        "lane": s.lane,
        "breakpoints": breakpoints,
        "buffers": s.recording.memory.regions.iter().map(|r| &r.name).collect::<Vec<_>>(),
        "images": s.recording.images.iter().map(|i| &i.what).collect::<Vec<_>>(),
        "shared": s.recording.register_file.is_shared(),
        "registers": numbers.map(register).collect::<Vec<_>>(),
    })
}
