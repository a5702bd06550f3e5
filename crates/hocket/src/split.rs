//! `hocket split`: one session for several machines, cut by groups.

mod costs;
mod folder;
mod plan;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use hocket_plan::Session;
use hocket_plan::session::Input;
use hocket_plan::split::{Cut, CutOptions, Part, SplitError, split};
use hocket_session::session_text;

use crate::cli::SplitArgs;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::load::project::is_project;
use crate::load::{OpenedSession, effects, is_midi, topology};
use crate::output::{note, print, tell};
use folder::{CONNECTIONS, Folder, MARK, is_marked};

/// Periods beside the network's own: host 0 sends the song's place and hears the answer in one cycle of its server, whose ports
/// would form a loop. JACK breaks it by one period.
const LOOP_PERIODS: u32 = 1;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &SplitArgs) -> Result<Exit, Failure> {
    refuse_foreign(&args.session)?;
    let opened = OpenedSession::open(&args.session, args.rate, &topology()?)?;
    opened.warnings().iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    let (session, effects) = (opened.session(), effects());
    let mut inputs = Files::new(false);
    inputs.reads_session(&args.session, opened.sources());
    args.costs.iter().for_each(|path| inputs.reads("--costs", path));
    let folder = Folder::look(&args.output, &mut inputs)?;
    refuse_part(&args.session, session)?;
    let facts = effects.at(opened.rate_hz());
    let costs = costs::of_strips(args.costs.as_deref(), session, &facts)?;
    let options = CutOptions {
        hosts: args.hosts,
        network_frames: (args.net_latency + LOOP_PERIODS) * args.frames,
        costs: &costs,
    };
    let cut = split(session, &facts, &options).map_err(|error| refused_cut(args, &error))?;
    let whole = folder.make()?;
    let mut files = Vec::new();
    for (host, part) in cut.parts.iter().enumerate() {
        let mut session = part.session.clone();
        see_from(&mut session, &whole)?;
        let text = session_text(&session, &effects, &whole).map_err(refused_text)?;
        files.push((part_name(host), format!("{MARK}: what host {host} plays.\n{text}")));
        files.push((format!("host-{host}.sh"), plan::commands(&cut, host, args)));
    }
    files.push((CONNECTIONS.to_owned(), plan::connections(&cut, args, opened.rate_hz())));
    folder.write(&files)?;
    tell_cut(&cut, args.costs.is_some());
    Ok(Exit::Done)
}

/// The audio of a project lies in an archive, which parts cannot name.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    if !is_project(path) && !is_midi(path) {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{}: this is no session file; `hocket session convert` makes one of it, which can be cut",
        path.display()
    )))
}

/// A part's inputs from the network would count as ports of the sound card.
fn refuse_part(path: &Path, session: &Session) -> Result<(), Failure> {
    // A link to a part is a part, too. Standard input has no mark to look at, but its inputs have names.
    let is_part = path.canonicalize().is_ok_and(|file| is_marked(&file));
    let is_net = |input: &Input| input.name.starts_with("net-") && input.latency_frames > 0;
    if !is_part && !session.inputs.iter().any(is_net) {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{}: this is a part that hocket split has cut already; cut the whole session with more hosts",
        path.display()
    )))
}

fn refused_cut(args: &SplitArgs, error: &SplitError) -> Failure {
    let why = match error {
        SplitError::Hosts { hosts: 1, most, .. } => {
            let range = if *most == 2 { "2".to_owned() } else { format!("2 to {most}") };
            format!(
                "--hosts 1: one host plays the session as it is, without a cut; ask for {range}"
            )
        }
        error => error.to_string(),
    };
    Failure::bad_input(format!("{}: {why}", args.session.display()))
}

fn part_name(host: usize) -> String {
    format!("part-{host}.toml")
}

fn refused_text(error: impl std::fmt::Display) -> Failure {
    Failure::bad_input(format!("this session cannot be written: {error}"))
}

/// What each host has, and why some groups stay.
fn tell_cut(cut: &Cut, is_measured: bool) {
    let sum: f64 = cut.parts.iter().map(|part| part.cost).sum();
    let line = |(host, Part { groups, cost, .. }): (usize, &Part)| {
        let share = if sum > 0.0 { 100.0 * cost / sum } else { 0.0 };
        let what = match (host, groups.is_empty()) {
            (0, true) => "the master, the returns, tracks without a group".to_owned(),
            (0, false) => format!(
                "the master, the returns, tracks without a group, and {}",
                groups.join(", ")
            ),
            _ => groups.join(", "),
        };
        format!(
            "host {host}: {share:.0} % of the {} cost: {what}\n",
            if is_measured { "measured" } else { "estimated" }
        )
    };
    let lines: String = cut.parts.iter().enumerate().map(line).collect();
    print(&lines);
    for kept in &cut.kept {
        note(format_args!("'{}' stays on host 0: {}", kept.group, kept.why));
    }
    if !is_measured {
        note(
            "the costs are estimates; `hocket play SESSION --costs FILE` measures them, and --costs uses them",
        );
    }
}

/// Paths as they are seen from the new folder.
fn see_from(session: &mut Session, folder: &Path) -> Result<(), Failure> {
    let mut known = HashMap::new();
    let mut see = |path: &mut PathBuf| -> Result<(), Failure> {
        let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_owned();
        let old: &mut Option<PathBuf> = known.entry(parent.clone()).or_insert(None);
        if old.is_none() {
            let whole = parent.canonicalize().map_err(|error| {
                Failure::bad_input(format!(
                    "{}: {error}: the folder must be there before the session is cut; create it",
                    parent.display()
                ))
            })?;
            *old = Some(whole);
        }
        if let (Some(old), Some(name)) = (old, path.file_name()) {
            *path = way(folder, old).join(name);
        }
        Ok(())
    };
    session.media.iter_mut().try_for_each(|media| see(&mut media.path))?;
    session.takes.iter_mut().try_for_each(|take| see(&mut take.file))?;
    for track in &mut session.tracks {
        for clip in &mut track.notes {
            if let hocket_plan::session::NoteSource::File(file) = &mut clip.source {
                see(&mut file.path)?;
            }
        }
    }
    let tracks = session.tracks.iter_mut().map(|it| &mut it.strip);
    let groups = session.groups.iter_mut().map(|it| &mut it.strip);
    let returns = session.returns.iter_mut().map(|it| &mut it.strip);
    for strip in tracks.chain(groups).chain(returns).chain([&mut session.master]) {
        for effect in &mut strip.chain {
            effect.file.iter_mut().try_for_each(&mut see)?;
            effect.state_file.iter_mut().try_for_each(&mut see)?;
        }
    }
    Ok(())
}

/// The way from one folder to another. Both are whole and without links.
fn way(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    up.chain(to[same..].iter().copied()).collect()
}
