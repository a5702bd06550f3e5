//! `hocket plugin`.

mod check;
mod input;
pub(crate) mod isolated;
mod render;
mod save;
mod show;
mod start;
pub(crate) mod source;
pub(crate) mod watched;

use std::path::PathBuf;

use hocket_plugins::presets::{self, PresetScanner};
use hocket_plugins::scan::{self, Found, Library, Places, Scanner};
use hocket_plugins::{Catalog, Description, Format, lv2};

use crate::cli::{AskPresetsArgs, InfoArgs, ListArgs, LookArgs, PluginArgs, PluginCommand};
use crate::failure::{Exit, Failure};
use crate::output::{line, print, print_json, tell};

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &PluginArgs) -> Result<Exit, Failure> {
    match &args.command {
        PluginCommand::List(args) => list(args),
        PluginCommand::Info(args) => info(args),
        PluginCommand::Render(args) => render::run(args),
        PluginCommand::Save(args) => save::run(args),
        PluginCommand::Check(args) => check::run(args),
        PluginCommand::Exercise(args) => check::exercise(args),
        PluginCommand::Look(args) => look(args),
        PluginCommand::AskPresets(args) => ask_presets(args),
        PluginCommand::Isolated => isolated::serve(),
    }
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let found = found(args.rescan)?;
    match args.json {
        true => print_json(&format!("{:#}\n", show::list_json(&found))),
        false => print(&show::list(&found)),
    }
    Ok(Exit::Done)
}

fn info(args: &InfoArgs) -> Result<Exit, Failure> {
    let catalog = catalog()?;
    let plugin = named(&catalog, &args.kind)?;
    // Nobody uses the presets of a plug-in that Hocket does not run.
    let presets = match plugin.refusal {
        None => catalog.presets(&plugin.kind).map_err(Failure::not_possible)?,
        Some(_) => Vec::new(),
    };
    match args.json {
        true => print_json(&format!("{:#}\n", show::info_json(plugin, &presets))),
        false => print(&show::info(plugin, &presets)),
    }
    Ok(Exit::Done)
}

/// The plug-in that a command line means, also one that Hocket refuses: a kind, or a URI or id alone.
///
/// # Errors
/// There is none: exit code 2.
fn named<'a>(catalog: &'a Catalog, word: &str) -> Result<&'a Description, Failure> {
    catalog.named(word).map_err(Failure::bad_input)
}

/// The same, of those that Hocket runs.
///
/// # Errors
/// There is none, or Hocket does not run it: exit code 2.
fn usable<'a>(catalog: &'a Catalog, word: &str) -> Result<&'a Description, Failure> {
    catalog.usable(&named(catalog, word)?.kind).map_err(Failure::bad_input)
}

fn look(args: &LookArgs) -> Result<Exit, Failure> {
    let format = Format::ALL.into_iter().find(|format| format.word() == args.format);
    let format = format.ok_or_else(|| Failure::bad_input("the format is lv2, clap or vst3"))?;
    let library = Library { format, path: args.library.clone() };
    scan::look(&library, args.skip, &args.into).map_err(Failure::not_possible)?;
    Ok(Exit::Done)
}

fn ask_presets(args: &AskPresetsArgs) -> Result<Exit, Failure> {
    presets::answer(&args.question, &args.into).map_err(Failure::not_possible)?;
    Ok(Exit::Done)
}

/// The plug-ins of this machine.
///
/// # Errors
/// The program cannot start itself.
pub(crate) fn catalog() -> Result<Catalog, Failure> {
    let lv2 = places().libraries().into_iter().filter(|library| library.format == Format::Lv2);
    let bundles = lv2.map(|library| library.path).collect();
    let catalog = Catalog::new(found(false)?.plugins).with_bundles(bundles);
    let program = std::env::current_exe().map_err(Failure::not_possible)?;
    let arguments = vec!["plugin".into(), "ask-presets".into()];
    Ok(catalog.with_preset_scanner(PresetScanner { program, arguments, limit: 3 * scan::LIMIT }))
}

fn places() -> Places {
    Places::of_system(|name| std::env::var_os(name))
}

fn found(again: bool) -> Result<Found, Failure> {
    let libraries = places().libraries();
    let cache = cache().inspect(|cache| {
        if again {
            // What is not there need not be removed.
            let _ = std::fs::remove_file(cache);
        }
    });
    scanned(libraries, cache)
}

/// Looks at libraries. `cache`: where results are kept.
fn scanned(libraries: Vec<Library>, cache: Option<PathBuf>) -> Result<Found, Failure> {
    let libraries = with_lilv(libraries);
    let program = std::env::current_exe().map_err(Failure::not_possible)?;
    let arguments = vec!["plugin".into(), "look".into()];
    let progress = line();
    progress.set_message("looking at new plug-ins");
    let found = Scanner { program, arguments, limit: scan::LIMIT, cache }.scan(&libraries);
    progress.finish_and_clear();
    if let (false, Err(error)) = (found.problems.is_empty(), tempfile::tempfile()) {
        tell(format_args!(
            "warning: {}: no temporary file can be made there: {}; Hocket cannot look at new plug-ins; set TMPDIR to a \
             folder that you may write to",
            std::env::temp_dir().display(),
            error.kind()
        ));
    }
    Ok(found)
}

/// Without liblilv there is one line about it, not one per bundle.
fn with_lilv(mut libraries: Vec<Library>) -> Vec<Library> {
    let has_lv2 = libraries.iter().any(|library| library.format == Format::Lv2);
    if let (true, Err(missing)) = (has_lv2, lv2::available()) {
        tell(format_args!("warning: {missing}"));
        libraries.retain(|library| library.format != Format::Lv2);
    }
    libraries
}

/// Where results are kept; `None` where the user has no such folder.
fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?;
    Some(folder.join("hocket").join("plugins.json"))
}
