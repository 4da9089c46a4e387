//! `tepui instancing`: computes how a Mali GPU derives vertex and instance from linear ids.

use std::io::Write;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use tepui_mali_instancing::{Division, Instancing};

use crate::batch;

/// Explains how a Mali GPU computes the vertex and instance of a thread.
///
/// The hardware pads the number of vertices to 1, 3, 5, 7 or 9 times a power of two, and divides by
/// multiplication. This prints the values that a driver must write to attribute descriptors.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui instancing --vertices 70 --divisor 3\n  \
    echo '{\"vertices\":70,\"divisor\":3}' | tepui instancing --batch")]
pub struct Args {
    /// Number of vertices of the draw.
    #[arg(long, value_name = "N", required_unless_present = "batch")]
    vertices: Option<u32>,
    /// Number of instances after which the attribute advances.
    #[arg(long, value_name = "D", default_value_t = 1)]
    divisor: u32,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Read requests {"vertices":…,"divisor":…} from standard input, one per line, and answer each
    /// on a line.
    #[arg(long, conflicts_with_all = ["json", "vertices", "divisor"])]
    batch: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    vertices: u32,
    #[serde(default = "one")]
    divisor: u32,
}

fn one() -> u32 {
    1
}

#[derive(Serialize)]
struct Answer {
    padded_vertices: u32,
    modulus: Modulus,
    hw_divisor: u32,
    division: DivisionAnswer,
}

#[derive(Serialize)]
struct Modulus {
    shift: u32,
    odd: u32,
}

#[derive(Serialize)]
struct DivisionAnswer {
    shift: u32,
    magic_multiplier: u32,
    round_down: bool,
}

impl From<Instancing> for Answer {
    fn from(numbers: Instancing) -> Answer {
        let Division { shift, magic_multiplier, round_down, .. } = numbers.division;
        Answer {
            padded_vertices: numbers.padded_vertices,
            modulus: Modulus { shift: numbers.modulus.shift, odd: numbers.modulus.odd },
            hw_divisor: numbers.hw_divisor,
            division: DivisionAnswer { shift, magic_multiplier, round_down },
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let done = match args.vertices {
        None => batch::run("tepui instancing", |line| {
            let Request { vertices, divisor } = serde_json::from_str(line)?;
            let numbers = Instancing::new(vertices, divisor).map_err(|e| e.to_string())?;
            Ok(serde_json::to_string(&Answer::from(numbers))?)
        }),
        Some(vertices) => one_draw(vertices, args.divisor, args.json),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tepui instancing: {message}");
            ExitCode::FAILURE
        }
    }
}

fn one_draw(vertices: u32, divisor: u32, json: bool) -> Result<(), String> {
    let numbers = Instancing::new(vertices, divisor).map_err(|e| e.to_string())?;
    let text = if json {
        serde_json::to_string(&Answer::from(numbers)).map_err(|e| e.to_string())? + "\n"
    } else {
        explain(vertices, divisor, &numbers)
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| format!("standard output: {e}"))
}

fn explain(vertices: u32, divisor: u32, numbers: &Instancing) -> String {
    let Instancing { padded_vertices: padded, modulus, hw_divisor, division } = *numbers;
    let mut text = String::new();
    text += &match vertices {
        0..20 => format!("vertices          {vertices}: fewer than 20 are padded to even numbers"),
        _ => {
            let n = vertices.ilog2() - 3;
            format!(
                "vertices          {vertices} = {vertices:#b}: high bits {:04b}, then {n}",
                vertices >> n
            )
        }
    };
    text += &format!(
        "\npadded vertices   {padded} = {odd} << {shift}\n\
         per vertex        id mod {padded}: shift {shift}, odd factor {odd} (field {field})\n\
         per instance      id / {hw_divisor} = id / ({padded} * {divisor})\n",
        odd = modulus.odd,
        shift = modulus.shift,
        field = modulus.odd_field(),
    );
    text += &if division.power_of_two {
        format!("                  a power of two: shift {}\n", division.shift)
    } else {
        let correction = if division.round_down { " + multiplier" } else { "" };
        format!(
            "                  (id * multiplier{correction}) >> 32 >> {}, multiplier {:#x}\n\
             \x20                 fields: shift {}, magic multiplier {:#x} (the top bit is implied), \
             round down {}\n",
            division.shift,
            division.multiplier(),
            division.shift,
            division.magic_multiplier,
            u32::from(division.round_down),
        )
    };
    let example = padded.wrapping_mul(divisor.saturating_mul(2)).wrapping_add(vertices / 2);
    let (vertex, index) = numbers.apply(example);
    text += &format!("for example       linear id {example}: vertex {vertex}, attribute {index}\n");
    text
}
