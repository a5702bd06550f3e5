//! What `hocket render` finds out before any work: session, files, numbers, seats.

use std::path::Path;

use hocket_engine::Seating;
use hocket_files::{closed_descriptor, is_standard_output};
use hocket_machine::Topology;
use hocket_media::FileFormat;
use hocket_plan::SiblingPolicy;
use hocket_plugins::isolate::Pace;

use super::region::{self, Asked};
use super::stems::Stems;
use super::{Recording, check_length, size};
use crate::bench::ANY_RATE_HZ;
use crate::cli::{DitherArg, RenderArgs, ScheduleArg};
use crate::failure::Failure;
use crate::files::{Files, Kind};
use crate::load::{OpenedSession, topology};
use crate::output::{Talk, says};
use crate::profile::Known;
use crate::takes::{self, Wanted};

/// A render that can begin: nothing of it is wrong as far as can be known without its audio.
pub(super) struct Prepared {
    pub opened: OpenedSession,
    pub format: FileFormat,
    pub dither: DitherArg,
    /// Whether anybody asks how loud it is.
    pub measures: bool,
    pub known: Known,
    pub schedule: ScheduleArg,
    pub sibling: SiblingPolicy,
    pub seating: Seating,
    /// What part is written.
    pub region: Asked,
    pub stems: Stems,
    /// What is recorded besides.
    pub takes: Vec<Wanted>,
}

impl Prepared {
    /// # Errors
    /// Whatever is wrong with the arguments, the session file or the place of the output.
    pub fn of(args: &RenderArgs, recording: Recording) -> Result<Prepared, Failure> {
        crate::bench::check_waits("--wait", args.wait.as_slice())?;
        check_length(args.length)?;
        let format = format_of(&args.output)?;
        let dither = DitherArg::choose(args.dither, args.format)?;
        let topology = topology()?;
        let known = Known::find(&args.profile, &topology)?;
        known.tell();
        crate::bench::check_block(args.frames, args.rate.unwrap_or(ANY_RATE_HZ))?;
        region::check_seconds(args)?;
        let schedule = known.schedule_or(args.schedule, args.frames);
        crate::notes::serial_workers(args.workers, &[schedule]);
        let sibling = known.policy(args.policy, args.frames, &topology, None);
        let seating = seating(args, sibling, &topology, &known)?;
        let project = args.project.with(args.strict);
        let mut opened = OpenedSession::open_as(&args.session, args.rate, &topology, project)?;
        opened.feed(&args.input)?;
        let isolated = (Pace::Offline, args.frames, None);
        crate::plugin::isolated::set_up(&args.isolate, opened.session(), isolated)?;
        crate::plugin::watched::set_up(args.plugin_faults.into(), Pace::Offline);
        let takes = match recording {
            Recording::Armed => takes::wanted(&[], opened.session_mut())?,
            Recording::Nothing => {
                crate::notes::takes_left_out(&args.session, opened.session(), "a job");
                Vec::new()
            }
        };
        let told = recording == Recording::Armed && says(Talk::Usual);
        let measures = told || args.normalize.is_some();
        let region = Asked::of(args, opened.session(), opened.rate_hz())?;
        let stems = Stems::of(args.stems.as_deref(), opened.session(), format);
        check_files(args, &opened, (&stems, &takes))?;
        if let Some(end) = region.known_end(opened.session(), opened.rate_hz()) {
            let region = region.within(args, || Ok(end), opened.rate_hz())?;
            size::question(args, region, opened.rate_hz(), stems.paths().count() as u64)?;
        }
        crate::bench::check_block(args.frames, opened.rate_hz())?;
        crate::notes::feedback(opened.session(), args.frames, opened.rate_hz());
        format
            .check(&args.output, opened.rate_hz(), args.format.into())
            .map_err(Failure::bad_input)?;
        Ok(Prepared {
            opened,
            format,
            dither,
            measures,
            known,
            schedule,
            sibling,
            seating,
            region,
            stems,
            takes,
        })
    }
}

fn seating(
    args: &RenderArgs,
    sibling: SiblingPolicy,
    topology: &Topology,
    known: &Known,
) -> Result<Seating, Failure> {
    Seating::here_with(topology, sibling, args.workers, &known.speeds()).map_err(Failure::bad_input)
}

/// By the ending of the name. What is no regular file needs no ending and gets WAV.
pub(crate) fn format_of(output: &Path) -> Result<FileFormat, Failure> {
    let refused =
        |why: String| Err(Failure::bad_input(format!("--output {}: {why}", output.display())));
    let there = std::fs::metadata(output).ok();
    if there.as_ref().is_some_and(|there| there.is_dir()) {
        return refused("this is a folder; name a file in it".into());
    }
    // What is not open is refused later, for what it is.
    let is_stream = is_standard_output(output)
        || closed_descriptor(output).is_some()
        || there.is_some_and(|there| !there.is_file());
    match FileFormat::of(output).or(is_stream.then_some(FileFormat::Wav)) {
        Some(format) => Ok(format),
        None => refused(format!("the ending says the format; choose {}", FileFormat::ENDINGS)),
    }
}

fn check_files(
    args: &RenderArgs,
    opened: &OpenedSession,
    (stems, takes): (&Stems, &[Wanted]),
) -> Result<(), Failure> {
    let mut files = Files::new(args.force);
    files.reads_session(&args.session, opened.sources());
    opened.input_files().for_each(|path| files.reads("the file of an --input", path));
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    files.prints()?;
    files.writes("--output", &args.output, Kind::Audio)?;
    stems.check(&mut files)?;
    takes::check_files(takes, opened.rate_hz(), &mut files)
}
