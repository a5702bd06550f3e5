//! `hocket completions` and `hocket generate`: shell completions and man pages, made from the arguments themselves.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::{Exit, Failure};
use crate::output::print_rows;

/// Arguments of `hocket completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket completions bash > hocket.bash   then, in ~/.bashrc: . /path/to/hocket.bash
  hocket completions zsh > _hocket        in a folder of $fpath
  hocket completions fish > hocket.fish   in ~/.config/fish/completions")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `hocket generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The folder that gets man, bash, zsh and fish.
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Prints the completions.
pub fn completions(args: &CompletionsArgs) -> Exit {
    print_rows(&completions_for(args.shell));
    Exit::Done
}

fn completions_for(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hocket", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes a man page for each command, and completions under the names by which shells find them.
///
/// # Errors
/// The folder cannot be written to: exit code 3.
pub fn run(args: &GenerateArgs) -> Result<Exit, Failure> {
    write_all(&args.folder).map_err(|error| {
        Failure::not_possible(format!("{}: not written: {error}", args.folder.display()))
    })?;
    Ok(Exit::Done)
}

fn write_all(folder: &Path) -> std::io::Result<()> {
    for (shell, name) in [
        (Shell::Bash, "bash/hocket"),
        (Shell::Zsh, "zsh/_hocket"),
        (Shell::Fish, "fish/hocket.fish"),
    ] {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
        std::fs::write(file, completions_for(shell))?;
    }
    let pages = folder.join("man");
    std::fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(Cli::command(), pages)
}
