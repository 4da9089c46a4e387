//! `--batch`: reads one JSON request per line from standard input and writes one answer per line to
//! standard output.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use serde::Serialize;

/// Limit on the length of a line. Longer ones are answered with an error.
const MAX_LINE_B: u64 = 1 << 20;

/// The error of a request.
pub struct LineError(String);

impl From<String> for LineError {
    fn from(message: String) -> LineError {
        LineError(message)
    }
}

impl From<serde_json::Error> for LineError {
    fn from(error: serde_json::Error) -> LineError {
        LineError(error.to_string())
    }
}

#[derive(Serialize)]
struct ErrorAnswer<'a> {
    error: &'a str,
}

/// Answers each line of standard input, in order. A refused request is answered with `{"error": …}`
/// and the line number, and the next one is read. Answers are flushed whenever no further request
/// is buffered, so that a program can send one at a time.
pub fn run(
    command: &str,
    mut answer: impl FnMut(&str) -> Result<String, LineError>,
) -> Result<(), String> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = (&mut input)
            .take(MAX_LINE_B)
            .read_until(b'\n', &mut line)
            .map_err(|e| format!("standard input, line {number}: {e}"))?;
        if read == 0 {
            break;
        }
        let whole = line.ends_with(b"\n") || (read as u64) < MAX_LINE_B;
        let answered = if whole {
            match std::str::from_utf8(&line) {
                Ok(text) => answer(text.trim_end()),
                Err(error) => Err(LineError(error.to_string())),
            }
        } else {
            skip_line(&mut input).map_err(|e| format!("standard input, line {number}: {e}"))?;
            Err(LineError(format!("a line of more than {MAX_LINE_B} bytes")))
        };
        let text = match answered {
            Ok(text) => text,
            Err(LineError(message)) => {
                let error = format!("line {number}: {message}");
                serde_json::to_string(&ErrorAnswer { error: &error })
                    .map_err(|e| format!("{command}: {e}"))?
            }
        };
        let flush = input.buffer().is_empty();
        let written =
            writeln!(output, "{text}").and_then(|()| if flush { output.flush() } else { Ok(()) });
        match written {
            Ok(()) => {}
            // The reader closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(format!("standard output: {error}")),
        }
    }
    output.flush().map_err(|e| format!("standard output: {e}"))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|&b| b == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}
