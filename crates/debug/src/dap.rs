//! The debug adapter protocol: editors step through a recording.
//!
//! One SIMD-group is one thread with one frame. Its scopes are the registers of the lane that is looked at as floats, integers
//! and bits, and the lanes that execute. The debug console takes the lines of [`command`].
//!
//! source: the protocol's specification, version 1.65 (microsoft.github.io/debug-adapter-protocol)

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value as Json, json};

use crate::command::{self, short};
use crate::recording::Recording;
use crate::registers::Register;
use crate::session::{BreakpointLocation, Session, Stop};

/// Longest message.
const MAX_MESSAGE_B: usize = 1 << 24;
/// Longest line of a header, and most lines.
const MAX_HEADER_B: u64 = 4096;
const MAX_HEADERS: usize = 32;

/// The thread and the frame that there are.
const ONE: u64 = 1;
/// References of the scopes.
const FLOATS: u64 = 1;
const INTEGERS: u64 = 2;
const BITS: u64 = 3;
const LANES: u64 = 4;
const VARIABLES: u64 = 5;
const UNIFORMS: u64 = 6;

/// Makes a recording for the arguments of `launch`.
pub type Launch<'a> = dyn FnMut(&Json) -> Result<Recording, String> + 'a;

/// A conversation with an editor.
struct Adapter<'a, W: Write> {
    output: W,
    seq: u64,
    launch: &'a mut Launch<'a>,
    session: Option<Session>,
    /// Path of the source, as the editor names it.
    path: String,
    stop_on_entry: bool,
}

/// Reads a message; `None` at the end of the input.
fn read(input: &mut impl BufRead) -> io::Result<Option<Json>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length = None;
    for count in 0.. {
        if count > MAX_HEADERS {
            return Err(bad("too many header lines"));
        }
        let mut line = String::new();
        if input.by_ref().take(MAX_HEADER_B).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() && length.is_some() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = Some(value.trim().parse().map_err(|_| bad("Content-Length is no number"))?);
        }
    }
    let length: usize = length.unwrap_or(0);
    if length > MAX_MESSAGE_B {
        return Err(bad("the message is too long"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|e| bad(&e.to_string()))
}

/// Answers requests until the editor disconnects.
///
/// # Errors
/// Input or output fails, or a message is none.
pub fn serve<'a>(
    input: &mut impl BufRead,
    output: impl Write,
    launch: &'a mut Launch<'a>,
) -> io::Result<()> {
    let mut adapter = Adapter {
        output,
        seq: 0,
        launch,
        session: None,
        path: String::new(),
        stop_on_entry: false,
    };
    while let Some(request) = read(input)? {
        if !adapter.request(&request)? {
            break;
        }
    }
    Ok(())
}

impl<W: Write> Adapter<'_, W> {
    fn send(&mut self, mut message: Json) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = json!(self.seq);
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }

    fn event(&mut self, name: &str, body: Json) -> io::Result<()> {
        self.send(json!({ "type": "event", "event": name, "body": body }))
    }

    /// Answers one request; false after the last.
    fn request(&mut self, request: &Json) -> io::Result<bool> {
        let name = request["command"].as_str().unwrap_or("").to_owned();
        let answered = self.answer(&name, &request["arguments"]);
        let mut response = json!({
            "type": "response",
            "request_seq": request["seq"],
            "command": name,
            "success": answered.is_ok(),
        });
        let mut stop = None;
        match answered {
            Ok((body, movement)) => (response["body"], stop) = (body, movement),
            Err(message) => response["message"] = json!(message),
        }
        let success = response["success"] == json!(true);
        self.send(response)?;
        if let Some(stop) = stop {
            self.stopped(stop)?;
        }
        match name.as_str() {
            "launch" if success => {
                let findings = self.session.iter().flat_map(|s| &s.recording.findings);
                let text: String = findings.map(|finding| finding.text.as_str()).collect();
                if !text.is_empty() {
                    let body = json!({ "category": "important", "output": text });
                    self.event("output", body)?;
                }
                self.event("initialized", json!({}))?;
            }
            "configurationDone" if success => {
                let first = match (&mut self.session, self.stop_on_entry) {
                    (Some(session), false) => session.resume(),
                    _ => Stop::Step,
                };
                match first {
                    Stop::End => self.event("terminated", json!({}))?,
                    Stop::Step => self.halt("entry", None)?,
                    stop => self.stopped(stop)?,
                }
            }
            "disconnect" | "terminate" => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn stopped(&mut self, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Step => self.halt("step", None),
            Stop::Breakpoint(number) => self.halt("breakpoint", Some(number)),
            Stop::Start => self.halt("entry", None),
            // The recording can still be looked at, and stepped back.
            Stop::End => self.halt("pause", None),
        }
    }

    fn halt(&mut self, reason: &str, breakpoint: Option<u32>) -> io::Result<()> {
        let hit: Vec<u32> = breakpoint.into_iter().collect();
        let body = json!({
            "reason": reason,
            "threadId": ONE,
            "allThreadsStopped": true,
            "hitBreakpointIds": hit,
        });
        self.event("stopped", body)
    }

    /// The body of the response, and how the cursor stopped if it was moved.
    fn answer(&mut self, name: &str, arguments: &Json) -> Result<(Json, Option<Stop>), String> {
        let body = match name {
            "initialize" => json!({
                "supportsConfigurationDoneRequest": true,
                "supportsStepBack": true,
                "supportsConditionalBreakpoints": true,
                "supportsSteppingGranularity": true,
                "supportsTerminateRequest": true,
                "supportsEvaluateForHovers": true,
            }),
            "launch" => {
                let recording = (self.launch)(arguments)?;
                self.path = arguments["program"].as_str().unwrap_or("").to_owned();
                self.stop_on_entry = arguments["stopOnEntry"].as_bool().unwrap_or(true);
                self.session = Some(Session::new(recording));
                json!({})
            }
            "configurationDone" | "disconnect" | "terminate" => json!({}),
            "setExceptionBreakpoints" => json!({ "breakpoints": [] }),
            "threads" => {
                let title = self.session.as_ref().map_or("", |s| s.recording.title.as_str());
                json!({ "threads": [{ "id": ONE, "name": title }] })
            }
            _ => {
                let path = self.path.clone();
                let session = self.session.as_mut().ok_or("nothing is launched")?;
                return in_session(session, &path, name, arguments);
            }
        };
        Ok((body, None))
    }
}

/// Requests about a launched program.
fn in_session(
    s: &mut Session,
    path: &str,
    name: &str,
    arguments: &Json,
) -> Result<(Json, Option<Stop>), String> {
    let instruction = arguments["granularity"] == json!("instruction");
    let body = match name {
        "setBreakpoints" => breakpoints(s, arguments),
        "stackTrace" => {
            let i = s.instruction();
            let frame = json!({
                "id": ONE,
                "name": i.map_or(String::new(), |i| format!("{:x}: {}", i.offset, i.text)),
                "line": i.map_or(0, |i| i.line),
                "column": 1,
                "source": source(s, path),
            });
            json!({ "stackFrames": [frame], "totalFrames": 1 })
        }
        "source" => json!({ "content": text(s) }),
        "scopes" => {
            let lane = s.lane;
            let scope = |name: String, reference: u64| json!({ "name": name, "variablesReference": reference, "expensive": false });
            json!({ "scopes": [
                scope(format!("Variables of lane {lane}"), VARIABLES),
                scope(format!("Lane {lane} as floats"), FLOATS),
                scope(format!("Lane {lane} as integers"), INTEGERS),
                scope(format!("Lane {lane} as bits"), BITS),
                scope("Uniforms".to_owned(), UNIFORMS),
                scope("Lanes".to_owned(), LANES),
            ] })
        }
        "variables" => variables(s, arguments["variablesReference"].as_u64().unwrap_or(0)),
        "evaluate" => {
            let line = arguments["expression"].as_str().unwrap_or("");
            // A value alone is what an editor asks for when the pointer is over it.
            let line = match command::is_value(s, line) {
                true => format!("print {line}"),
                false => line.to_owned(),
            };
            let (before, lane) = (s.at(), s.lane);
            let text = match command::run(s, &line)? {
                command::Answer::Text(text) => text,
                command::Answer::Picture(n) => {
                    format!("{}; `tepui debug` shows it", s.recording.images[n].what)
                }
                command::Answer::Quit => String::new(),
            };
            let moved = s.at() != before || s.lane != lane;
            let body = json!({ "result": text.trim_end(), "variablesReference": 0 });
            return Ok((body, moved.then_some(Stop::Step)));
        }
        "continue" => {
            let stop = s.resume();
            return Ok((json!({ "allThreadsContinued": true }), Some(stop)));
        }
        "reverseContinue" => return Ok((json!({}), Some(s.resume_back()))),
        "next" | "stepIn" if instruction => return Ok((json!({}), Some(s.step_instruction()))),
        "next" => return Ok((json!({}), Some(s.step_line()))),
        "stepIn" => return Ok((json!({}), Some(s.step_instruction()))),
        "stepOut" => return Ok((json!({}), Some(s.step_mask()))),
        "stepBack" if instruction => return Ok((json!({}), Some(s.back_instruction()))),
        "stepBack" => return Ok((json!({}), Some(s.back_line()))),
        "pause" => json!({}),
        other => return Err(format!("`{other}` is not supported")),
    };
    Ok((body, None))
}

/// Replaces the breakpoints of the source.
fn breakpoints(s: &mut Session, arguments: &Json) -> Json {
    s.breakpoints.clear();
    let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
    let set = |b: &Json| {
        let wanted = b["line"].as_u64().unwrap_or(0) as u32;
        // The next line that has code.
        let lines = s.recording.program.iter().map(|i| i.line);
        let Some(line) = lines.filter(|&l| l >= wanted && l != 0).min() else {
            return json!({ "verified": false, "message": "no instruction comes from there" });
        };
        let condition = match b["condition"].as_str().filter(|c| !c.trim().is_empty()) {
            Some(text) => match command::parse_condition(s.recording.register_file, text) {
                Ok(condition) => Some(condition),
                Err(message) => return json!({ "verified": false, "message": message }),
            },
            None => None,
        };
        let number = s.set(BreakpointLocation::Line(line), condition);
        json!({ "verified": true, "id": number, "line": line })
    };
    json!({ "breakpoints": wanted.iter().map(set).collect::<Vec<_>>() })
}

/// The variables of a scope.
fn variables(s: &Session, reference: u64) -> Json {
    let variable = |name: String, value: String| json!({ "name": name, "value": value, "variablesReference": 0 });
    if reference == LANES {
        let exec = s.step().map_or(0, |step| step.exec);
        let state = |lane: &u32| {
            variable(
                format!("lane {lane}"),
                if exec >> lane & 1 != 0 { "executes" } else { "waits" }.to_owned(),
            )
        };
        let all: Vec<Json> =
            (0..32).filter(|lane| s.recording.alive >> lane & 1 != 0).map(|l| state(&l)).collect();
        return json!({ "variables": all });
    }
    if reference == VARIABLES {
        let all = s.variables().filter_map(|(name, register)| {
            let bits = s.register(register, s.lane)?;
            Some(variable(name.to_string(), both(bits, register.bytes() == 2)))
        });
        return json!({ "variables": all.collect::<Vec<_>>() });
    }
    if reference == UNIFORMS {
        let all = s.recording.uniforms.iter().map(|u| {
            let name = u.name.and_then(|n| s.recording.names.get(n as usize));
            let name = name.map_or(String::new(), |n| format!(" {n}"));
            let place = s.recording.register_file.uniform(u.half / 2);
            variable(format!("{place}{name}"), both(u.word, false))
        });
        return json!({ "variables": all.collect::<Vec<_>>() });
    }
    let word_text = |word: u32| match reference {
        INTEGERS => (word as i32).to_string(),
        BITS => format!("{word:#010x}"),
        _ => short(f32::from_bits(word)),
    };
    let file = s.recording.register_file;
    let all = (0..s.recording.registers()).filter_map(|number| {
        let text = match file.is_shared() {
            true if !s.recording.is_used(number) => return None,
            true => {
                let words = s.recording.register(number, s.at())?.iter();
                words.map(|&word| word_text(word)).collect::<Vec<_>>().join(" ")
            }
            false => word_text(s.register(Register::of_lane(number), s.lane)?),
        };
        let name = format!("{} {}", file.name(number), s.name(number, s.lane));
        Some(variable(name.trim_end().to_owned(), text))
    });
    json!({ "variables": all.collect::<Vec<_>>() })
}

/// Bits as a float and as an integer, since no type of the value is known.
fn both(bits: u32, is_half: bool) -> String {
    match is_half {
        true => format!("{} or {}", short(command::half(bits as u16)), bits as i16),
        false => format!("{} or {}", short(f32::from_bits(bits)), bits as i32),
    }
}

/// Source reference: the file that was launched, or a source that the editor requests from the adapter.
fn source(s: &Session, path: &str) -> Json {
    let name = &s.recording.file;
    match s.recording.embedded {
        true => json!({ "name": name, "sourceReference": ONE }),
        false => json!({ "name": name, "path": path }),
    }
}

/// The source, or the program where there is none.
fn text(s: &Session) -> String {
    match s.recording.source.is_empty() {
        false => s.recording.source.join("\n"),
        true => {
            let line = |i: &crate::Instruction| format!("{:5x}: {}\n", i.offset, i.text);
            s.recording.program.iter().map(line).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tests::recording;

    /// The adapter's answers to requests.
    fn talk(requests: &[Json]) -> Vec<Json> {
        let mut input = Vec::new();
        for (k, r) in requests.iter().enumerate() {
            let mut r = r.clone();
            (r["seq"], r["type"]) = (json!(k), json!("request"));
            let text = r.to_string();
            input.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).bytes());
        }
        let mut output = Vec::new();
        serve(&mut &input[..], &mut output, &mut |_| Ok(recording())).expect("it ends");
        let mut rest = &output[..];
        std::iter::from_fn(|| read(&mut rest).expect("messages")).collect()
    }

    fn request(command: &str, arguments: Json) -> Json {
        json!({ "command": command, "arguments": arguments })
    }

    #[test]
    fn an_editor_steps_through() {
        let said = talk(&[
            request("initialize", json!({})),
            request("launch", json!({ "program": "/x" })),
            request(
                "setBreakpoints",
                json!({ "breakpoints": [{ "line": 2, "condition": "r1 == 2" }] }),
            ),
            request("configurationDone", json!({})),
            request("continue", json!({ "threadId": 1 })),
            request("stackTrace", json!({})),
            request("variables", json!({ "variablesReference": INTEGERS })),
            request("evaluate", json!({ "expression": "r1" })),
            request("stepBack", json!({ "granularity": "instruction" })),
            request("disconnect", json!({})),
        ]);
        let events = || said.iter().filter(|m| m["type"] == "event");
        let reasons: Vec<_> = events().map(|m| m["body"]["reason"].as_str()).collect();
        // Line 2 begins at step 1, where r1 is 0 in both lanes: the condition does not hold there.
        assert_eq!(reasons, [None, Some("entry"), Some("pause"), Some("step")], "{said:#?}");
        let of = |name: &str| said.iter().find(|m| m["command"] == name).expect("an answer");
        assert_eq!(of("setBreakpoints")["body"]["breakpoints"][0]["verified"], true);
        assert_eq!(of("stackTrace")["body"]["stackFrames"][0]["line"], 3);
        assert_eq!(of("variables")["body"]["variables"][1]["value"], "3");
        assert!(of("evaluate")["body"]["result"].as_str().is_some_and(|t| t.contains("lane 1")));
        assert!(said.iter().filter(|m| m["type"] == "response").all(|m| m["success"] == true));
    }

    #[test]
    fn broken_messages_are_errors() {
        let mut launch = |_: &Json| Ok(recording());
        for bytes in [
            "Content-Length: x\r\n\r\n",
            "Content-Length: 3\r\n\r\n{{{",
            "Content-Length: 99999999999\r\n\r\n",
        ] {
            let mut launch = &mut launch;
            assert!(serve(&mut bytes.as_bytes(), Vec::new(), &mut launch).is_err(), "{bytes}");
        }
        let said = talk(&[request("next", json!({})), request("nonsense", json!({}))]);
        assert!(said.iter().all(|m| m["success"] == false));
    }
}
