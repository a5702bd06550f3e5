//! DAWproject 1.0 files as sessions of Hocket.
//!
//! [`import`] opens the archive, reads `project.xml`, unpacks the audio files that clips play, and gives a session with
//! the places of its parts ([`Imported`]). `docs/dawproject.md` says what is carried over and what is not. What is not
//! comes back as remarks, one line each, with its place.
//!
//! Parts, in reading order:
//!
//! - `archive`: the ZIP file, its bounds, and files unpacked from it
//! - `xml`: elements, numbers, references; errors with their places
//! - `remarks`: what does not play as it was meant
//! - `schema`: what the format's schema does not allow
//! - `clock`: tempos, time signatures, places of timelines
//! - `channels`: tracks and channels
//! - `media`: audio files and states of plug-ins, and `stretch`: those of another speed
//! - `arrangement`: timelines as clips and notes
//! - `levels`: units
//! - `devices`: effects, and `plugins`: those that are plug-ins
//! - `mixer`: strips, outputs and sends
//! - `automation`: lanes
//!
//! Every file is bounded in what it may take: its text in bytes, elements and depth, its clips in passes of loops, its
//! audio files in free space. A file that asks for more is refused with one message. Element order is not relied on,
//! and the schema is looked at only if asked for, because programs export what it does not allow.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hocket_media::AudioFacts;
use hocket_plan::session::Session;
use hocket_plan::{Effect, EffectCatalogue};
use hocket_session::{ForeignText, Loaded, SessionError};
use hocket_time::TempoMap;

mod archive;
mod xml;
mod remarks;
mod schema;
mod clock;
mod channels;
mod stretch;
mod media;
mod arrangement;
mod levels;
mod devices;
mod plugins;
mod mixer;
mod automation;

use archive::Archive;
use automation::Targets;
use channels::Channels;
use media::{Files, MediaTable};
use mixer::Mixer;
use remarks::Remarks;
use xml::{Element, Xml, child};

/// The largest project.xml. One of a song with a thousand clips has about one MiB.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// The rate of a project without audio files.
const USUAL_RATE_HZ: u32 = 48_000;
/// The longest name of a session.
const LONGEST_NAME: usize = 200;

/// Why a project is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// It is wrong: bad input.
    Wrong(SessionError),
    /// It cannot be done here, such as for want of space on a disk: one sentence with its remedy.
    NotPossible(String),
    /// The user stopped it.
    Stopped,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Wrong(error) => error.fmt(f),
            ImportError::NotPossible(text) => f.write_str(text),
            ImportError::Stopped => f.write_str("interrupted while the project was read"),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<SessionError> for ImportError {
    fn from(error: SessionError) -> ImportError {
        ImportError::Wrong(error)
    }
}

/// How a project becomes a session.
#[derive(Clone, Copy)]
pub struct Import<'a> {
    /// The effects that exist.
    pub catalogue: &'a dyn EffectCatalogue,
    /// Effects that stand in for each device that Hocket does not have; none: such a device passes the sound on.
    pub stand_in: &'a [Effect],
    /// Once this is true the import ends as soon as it can, with [`ImportError::Stopped`]; `None`: nobody stops it.
    pub stop: Option<&'a Arc<AtomicBool>>,
    /// Whether [`Imported::deviations`] are looked for.
    pub checks_schema: bool,
}

/// A session that was a project.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The session, and the places of its audio files in project.xml.
    pub loaded: Loaded,
    /// What is left out or replaced, one line each, with its place.
    pub remarks: Vec<String>,
    /// Where the text is not what the format's schema allows, one line each, with its place; the order of elements does not
    /// count. Such a project may play as it was meant.
    pub deviations: Vec<String>,
    /// What the audio files say of themselves, by path.
    pub facts: HashMap<PathBuf, AudioFacts>,
    /// How many devices are not played.
    pub replaced: usize,
}

/// Reads a project. The audio files that its clips play are written into `folder`, which is made if there are any. They
/// get names of their own, so nothing in the archive decides where a file goes.
///
/// Thread: control; does file I/O. Cost: O(length of project.xml + clips after loops are laid out), and the audio files
/// are unpacked; those of clips at another speed are converted in memory.
///
/// # Errors
/// [`ImportError::Wrong`]: the file is no project, is damaged, or asks for too much. [`ImportError::NotPossible`]: the
/// audio files cannot be written. [`ImportError::Stopped`]: `how.stop` became true. In all cases files may have been
/// written into `folder`.
pub fn import(path: &Path, folder: &Path, how: &Import<'_>) -> Result<Imported, ImportError> {
    let mut archive = Archive::open(path, folder, how.stop.cloned().unwrap_or_default())?;
    let text = ForeignText::new(&archive.project_name(), archive.project()?);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    read(text, Files::Of(Box::new(archive)), &stem, how)
}

/// Reads the text of a project as if all its audio files were there: for checks of the text alone.
///
/// # Errors
/// As [`import`], for what is wrong with the text.
pub fn import_text(text: String, how: &Import<'_>) -> Result<Imported, ImportError> {
    if text.len() > MAX_TEXT_BYTES {
        let cause = format!("project.xml is larger than {} MiB", MAX_TEXT_BYTES >> 20);
        return Err(SessionError::of_file(archive::PROJECT, cause, "split the project").into());
    }
    let text = ForeignText::new(Path::new(archive::PROJECT), text);
    read(text, Files::Pretended, "project", how)
}

fn read(
    text: ForeignText,
    files: Files,
    stem: &str,
    how: &Import<'_>,
) -> Result<Imported, ImportError> {
    let (built, deviations) = {
        let document = xml::parse(&text)?;
        let (xml, project) = (Xml::new(&text, &document), document.root_element());
        let built = build(&xml, &project, files, how)?;
        let mut deviations = Remarks::default();
        if how.checks_schema {
            schema::check(&project, &mut deviations);
        }
        (built, deviations.lines(&text))
    };
    let Built { mut session, remarks, media, replaced } = built;
    session.name = stem.chars().take(LONGEST_NAME).collect();
    let remarks = remarks.lines(&text);
    let loaded = Loaded::foreign(session, Vec::new(), text, media.spans, media.names);
    Ok(Imported { loaded, remarks, deviations, facts: media.facts, replaced })
}

struct Built {
    session: Session,
    remarks: Remarks,
    media: media::Collected,
    replaced: usize,
}

fn build<'a>(
    xml: &Xml<'a>,
    project: &Element<'a>,
    files: Files,
    how: &Import<'_>,
) -> Result<Built, ImportError> {
    check_root(xml, project)?;
    let mut remarks = Remarks::default();
    let time = clock::song_time(xml, project, &mut remarks)?;
    let map = time.map(USUAL_RATE_HZ).map_err(|error| {
        xml.error(project, format!("its tempos are not possible: {error}"), xml::EXPORT_AGAIN)
    })?;
    let structure = child(project, "Structure");
    let nothing =
        || xml.error(project, "this project has no tracks", "add a track, and export it again");
    let channels = Channels::read(xml, &structure.ok_or_else(nothing)?, &mut remarks)?;
    let mut table = MediaTable::new(files);
    let found =
        arrangement(xml, project, (&map, &time.tempos), &channels, &mut table, &mut remarks)?;
    let automated = found.points.iter().filter_map(|points| {
        child(&points.element, "Target").and_then(|target| target.attribute("parameter"))
    });
    let automated: HashSet<&str> = automated.collect();
    let mut session = Session { time, ..Session::default() };
    let mixer = Mixer {
        xml,
        channels: &channels,
        catalogue: how.catalogue,
        stand_in: how.stand_in,
        clips: found.clips,
        notes: found.notes,
        automated,
        remarks: &mut remarks,
        files: &mut table,
    };
    let mixed = mixer.mix(&mut session)?;
    let targets: &Targets<'_> = &mixed.targets;
    automation::lanes(xml, &found.points, targets, how.catalogue, &mut session, &mut remarks)?;
    tell_of_scenes(project, &mut remarks);
    let media = table.collected(&mut session);
    session.sample_rate_hz = media.rate_hz.unwrap_or(USUAL_RATE_HZ);
    session.length_s = (found.end_s > 0.0).then_some(found.end_s);
    Ok(Built { session, remarks, media, replaced: mixed.replaced })
}

fn check_root(xml: &Xml<'_>, project: &Element<'_>) -> Result<(), SessionError> {
    let name = project.tag_name().name();
    if name != "Project" {
        let cause = format!("the first element is <{name}>, and not <Project>");
        return Err(xml.error(project, cause, "name a DAWproject file of version 1.0"));
    }
    let version = project.attribute("version").unwrap_or("1.0").trim();
    match version.split('.').next() {
        Some("1") => Ok(()),
        _ => {
            let span = project.attribute_node("version").map_or(0..0, |version| version.range());
            let cause = "this version of the format is not known; Hocket reads 1.0";
            Err(xml.text().error(span, cause, "export the project in version 1.0"))
        }
    }
}

fn arrangement<'a>(
    xml: &Xml<'a>,
    project: &Element<'a>,
    time: (&TempoMap, &[hocket_time::TempoPoint]),
    channels: &Channels<'a>,
    table: &mut MediaTable,
    remarks: &mut Remarks,
) -> Result<arrangement::Arrangement<'a>, ImportError> {
    let reader = arrangement::Reader::new(xml, time, &channels.of_track, table, remarks);
    match child(project, "Arrangement") {
        Some(arrangement) => reader.read(&arrangement),
        None => Ok(reader.nothing()),
    }
}

/// Scenes hold clips for a launcher, which Hocket does not have. Empty ones are not worth a word.
fn tell_of_scenes(project: &Element<'_>, remarks: &mut Remarks) {
    let Some(scenes) = child(project, "Scenes") else { return };
    let clips = scenes.descendants().filter(|element| element.tag_name().name() == "Clip").count();
    let what = match clips {
        0 => return,
        1 => "1 clip in scenes".to_owned(),
        count => format!("{count} clips in scenes"),
    };
    remarks.add(&scenes, what, "is left out: Hocket plays the arrangement");
}
