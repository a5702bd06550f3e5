//! `hocket split`: one session for several machines, cut by groups.

mod costs;
mod folder;
mod plan;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use hocket_plan::Session;
use hocket_plan::split::{Cut, CutOptions, Part, split};
use hocket_session::session_text;

use crate::cli::SplitArgs;
use crate::failure::{Exit, Failure};
use crate::load::project::is_project;
use crate::load::{OpenedSession, effects, is_midi, topology};
use crate::output::{note, print, tell};
use folder::{Folder, MARK};

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
    let facts = effects.at(opened.rate_hz());
    let costs = costs::of_strips(args.costs.as_deref(), session, &facts)?;
    let options = CutOptions {
        hosts: args.hosts,
        network_frames: (args.net_latency + LOOP_PERIODS) * args.frames,
        costs: &costs,
    };
    let refused = |error| Failure::bad_input(format!("{}: {error}", args.session.display()));
    let cut = split(session, &facts, &options).map_err(refused)?;
    let folder = Folder::open(&args.output)?;
    let mut files = Vec::new();
    for (host, part) in cut.parts.iter().enumerate() {
        let mut session = part.session.clone();
        see_from(&mut session, folder.whole())?;
        let text = session_text(&session, &effects, folder.whole()).map_err(refused_text)?;
        files.push((part_name(host), format!("{MARK}: what host {host} plays.\n{text}")));
        files.push((format!("host-{host}.sh"), plan::commands(&cut, host, args)));
    }
    files.push(("connections.txt".to_owned(), plan::connections(&cut, args, opened.rate_hz())));
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
