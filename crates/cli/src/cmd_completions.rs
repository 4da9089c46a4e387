//! `tepui completions` and `tepui man`: shell completions and manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::cmd_isa::print_out;

/// Prints the completions of a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui completions bash > ~/.local/share/bash-completion/completions/tepui
  tepui completions zsh > ~/.zfunc/_tepui
  tepui completions fish > ~/.config/fish/completions/tepui.fish")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completions.
pub fn run(args: &Args) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tepui", &mut script);
    print_out("completions", &String::from_utf8_lossy(&script))
}

/// Writes manual pages: tepui(1) and one for each subcommand.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui man                     # the page of tepui itself, to standard output
  tepui man | man -l -
  tepui man -o ~/.local/share/man/man1 && man tepui-compile")]
pub struct ManArgs {
    /// Writes all pages into this directory.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Writes the pages.
pub fn run_man(args: &ManArgs) -> ExitCode {
    let command = Cli::command();
    match &args.output {
        None => {
            let mut page = Vec::new();
            match clap_mangen::Man::new(command).render(&mut page) {
                Ok(()) => print_out("man", &String::from_utf8_lossy(&page)),
                Err(error) => failed(&error),
            }
        }
        Some(directory) => {
            let written = std::fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(command, directory));
            match written {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => failed(&format!("{}: {error}", directory.display())),
            }
        }
    }
}

fn failed(why: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("tepui man: {why}");
    ExitCode::FAILURE
}
