//! What several commands let the user choose: policy, schedule, wait, workers, format.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use hocket_media::Dither;
use hocket_plan::SiblingPolicy;

use super::headings::{PLUGINS, PROJECTS};
use crate::failure::Failure;
use crate::load::ProjectUse;
use crate::load::streams::{DiskUse, Wait};

/// A sibling policy on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiblingChoice {
    /// This one.
    Policy(SiblingPolicy),
    /// The gentlest one that keeps strangers off the siblings here.
    Auto,
}

impl ValueEnum for SiblingChoice {
    fn value_variants<'a>() -> &'a [SiblingChoice] {
        const POLICIES: usize = SiblingPolicy::ALL.len();
        const ALL: [SiblingChoice; POLICIES + 1] = {
            let mut all = [SiblingChoice::Auto; POLICIES + 1];
            let mut at = 0;
            while at < POLICIES {
                all[at] = SiblingChoice::Policy(SiblingPolicy::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            SiblingChoice::Policy(policy) => {
                PossibleValue::new(policy.name()).help(policy.summary())
            }
            SiblingChoice::Auto => PossibleValue::new("auto").help(
                "The gentlest policy that keeps strangers off the siblings here; prints which and why",
            ),
        })
    }
}

impl From<SiblingPolicy> for SiblingChoice {
    fn from(policy: SiblingPolicy) -> Self {
        SiblingChoice::Policy(policy)
    }
}

/// Schedules on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// One worker runs all units in order.
    Serial,
    /// Fixed lists, with a barrier at each level.
    Lists,
    /// The worker that makes a unit ready runs or offers it, the most urgent first.
    Dataflow,
    /// A deque per worker: the owner takes the newest unit, thieves take the oldest.
    Steal,
    /// Fixed lists by measured cost and seat speed, the longest path first; planned anew when costs move.
    Critical,
    /// As many workers as pay by measured costs, with the schedule whose blocks are shortest in a trial.
    Auto,
}

impl ScheduleArg {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ScheduleArg::Auto => "auto",
            other => other.kind().name(),
        }
    }

    /// The kind to begin with; `auto` ignores it.
    pub fn kind(self) -> hocket_plan::ScheduleKind {
        match self {
            ScheduleArg::Serial => hocket_plan::ScheduleKind::Serial,
            ScheduleArg::Lists => hocket_plan::ScheduleKind::Lists,
            ScheduleArg::Dataflow | ScheduleArg::Auto => hocket_plan::ScheduleKind::Dataflow,
            ScheduleArg::Steal => hocket_plan::ScheduleKind::Steal,
            ScheduleArg::Critical => hocket_plan::ScheduleKind::Critical,
        }
    }

    /// The settings, with the steering that this schedule needs.
    pub fn steer(self, settings: hocket_engine::Settings) -> hocket_engine::Settings {
        match self {
            ScheduleArg::Auto => {
                hocket_engine::Settings { steer: hocket_engine::Steer::Auto, ..settings }
            }
            _ => settings,
        }
    }
}

/// Whether equal effects of two strips run in the lanes of one vector, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LanesArg {
    /// Each strip by itself.
    Off,
    /// Two strips with equal effects together, where this CPU has registers that are wide enough.
    Auto,
}

impl LanesArg {
    /// As on the command line.
    pub fn of(couples: hocket_engine::Couples) -> LanesArg {
        match couples {
            hocket_engine::Couples::Never => LanesArg::Off,
            _ => LanesArg::Auto,
        }
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LanesArg::Off => "off",
            LanesArg::Auto => "auto",
        }
    }
}

impl From<LanesArg> for hocket_engine::Couples {
    fn from(arg: LanesArg) -> Self {
        match arg {
            LanesArg::Off => Self::Never,
            LanesArg::Auto => Self::WhereTheyPay,
        }
    }
}

/// Transports on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportArg {
    /// Hocket's own: the song plays from its start.
    Own,
    /// The JACK server's: the song plays, stops and moves together with other clients.
    Jack,
    /// That of another Hocket, which `--send-transport` brings to the input port `transport`.
    Port,
    /// That of a program or a device whose MIDI clock comes to the input port `clock_in`. The song keeps its own tempo.
    Clock,
}

impl TransportArg {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TransportArg::Own => "own",
            TransportArg::Jack => "jack",
            TransportArg::Port => "port",
            TransportArg::Clock => "clock",
        }
    }
}

/// Waits on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitArg {
    /// Spins, without a hint to the core.
    Spin,
    /// Spins, with a hint to the core.
    Pause,
    /// Offers the CPU to others again and again.
    Yield,
    /// Rests for a microsecond between two looks (Intel WAITPKG).
    Tpause,
    /// Rests until the awaited value changes (Intel WAITPKG).
    Umwait,
    /// Rests until the awaited value changes (AMD MONITORX).
    Mwaitx,
    /// Rests until the awaited value changes (arm64).
    Wfe,
    /// Spins for a while, then blocks.
    Hybrid,
    /// Blocks at once.
    Futex,
}

impl WaitArg {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        hocket_engine::Strategy::from(self).name()
    }
}

/// Sample formats on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// 16-bit integers.
    #[value(name = "16")]
    Pcm16,
    /// 24-bit integers.
    #[value(name = "24")]
    Pcm24,
    /// 32-bit floating point.
    #[value(name = "32f")]
    Float32,
}

/// Dither on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DitherArg {
    /// Noise of a triangular distribution; the error of rounding then does not depend on the sound.
    Tpdf,
    /// Rounds samples as they are.
    None,
}

impl DitherArg {
    /// What a file of this format gets: 16 bits get dither unless the user wants none.
    ///
    /// # Errors
    /// Dither for a format that needs none: exit code 2.
    pub(crate) fn choose(
        asked: Option<DitherArg>,
        format: FormatArg,
    ) -> Result<DitherArg, Failure> {
        match (asked, format) {
            (Some(DitherArg::Tpdf), FormatArg::Pcm24 | FormatArg::Float32) => {
                Err(Failure::bad_input(
                    "--dither tpdf: only files of 16 bits get dither; leave it out, or add --format 16",
                ))
            }
            (None, FormatArg::Pcm16) => Ok(DitherArg::Tpdf),
            (asked, _) => Ok(asked.unwrap_or(DitherArg::None)),
        }
    }

    /// For a file with this number among those of a command, which begins at this frame.
    pub(crate) fn of_file(self, number: u64, first_frame: u64) -> Option<Dither> {
        (self == DitherArg::Tpdf).then_some(Dither { seed: number, first_frame })
    }
}

impl From<hocket_plan::ScheduleKind> for ScheduleArg {
    fn from(kind: hocket_plan::ScheduleKind) -> Self {
        use hocket_plan::ScheduleKind as Kind;
        match kind {
            Kind::Serial => Self::Serial,
            Kind::Lists => Self::Lists,
            Kind::Dataflow => Self::Dataflow,
            Kind::Steal => Self::Steal,
            Kind::Critical => Self::Critical,
        }
    }
}

impl From<WaitArg> for hocket_engine::Strategy {
    fn from(arg: WaitArg) -> Self {
        match arg {
            WaitArg::Spin => Self::Spin,
            WaitArg::Pause => Self::Pause,
            WaitArg::Yield => Self::Yield,
            WaitArg::Tpause => Self::Tpause,
            WaitArg::Umwait => Self::Umwait,
            WaitArg::Mwaitx => Self::Mwaitx,
            WaitArg::Wfe => Self::Wfe,
            WaitArg::Hybrid => Self::Hybrid,
            WaitArg::Futex => Self::Futex,
        }
    }
}

impl From<FormatArg> for hocket_media::WavFormat {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Pcm16 => Self::Pcm16,
            FormatArg::Pcm24 => Self::Pcm24,
            FormatArg::Float32 => Self::Float32,
        }
    }
}

/// How files play from the disk.
#[derive(Debug, Clone, Args)]
pub struct DiskArgs {
    /// Memory for all files that play from the disk: bytes, or with K, M or G. 0 decodes every file in memory.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    pub disk_buffer: usize,
}

impl DiskArgs {
    /// For one engine.
    pub(crate) fn with(&self, wait: Wait, strict: bool) -> DiskUse {
        DiskUse { buffer_bytes: self.disk_buffer, wait, engines: 1, strict }
    }
}

/// How a DAWproject file or a MIDI file becomes a session.
#[derive(Debug, Clone, Default, Args)]
pub struct ProjectArgs {
    /// Of a MIDI file: the SoundFont (.sf2) that plays it [default: $HOCKET_SOUNDFONT, or the General MIDI set that is
    /// installed].
    #[arg(long, value_name = "FILE", help_heading = PROJECTS)]
    pub soundfont: Option<PathBuf>,
    /// Of a .dawproject: gives each plug-in and device that Hocket does not have a stand-in that changes no sound
    /// and costs about this many microseconds per 64 frames, instead of nothing.
    #[arg(long, value_name = "MICROSECONDS", value_parser = microseconds, help_heading = PROJECTS)]
    pub stand_in: Option<f64>,
    /// What the process that started this one measured for it, so that both have the same session.
    #[arg(long, hide = true, value_name = "COUNT")]
    pub stand_in_windows: Option<u32>,
}

impl ProjectArgs {
    /// `strict`: everything of it must play.
    pub(crate) fn with(&self, strict: bool) -> ProjectUse {
        let ProjectArgs { soundfont, stand_in, stand_in_windows } = self.clone();
        let (stand_in_us, windows) = (stand_in, stand_in_windows);
        ProjectUse { soundfont, stand_in_us, windows, strict, ..ProjectUse::default() }
    }
}

/// Which plug-ins run in processes of their own.
#[derive(Debug, Clone, Default, Args)]
pub struct IsolateArgs {
    /// Runs plug-ins in processes of their own, one block later: all, or those with this kind, URI, id or name. One that
    /// crashes or hangs is silent until it has been started again. May be given several times.
    #[arg(
        long,
        value_name = "PLUGIN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        help_heading = PLUGINS
    )]
    pub isolate: Vec<String>,
}

/// What happens to a plug-in that spoils the sound again and again, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PluginFaultsArg {
    /// Its input passes, as late as its output was.
    Bypass,
    /// It plays on.
    Report,
}

impl From<PluginFaultsArg> for hocket_plugins::watch::OnFault {
    fn from(arg: PluginFaultsArg) -> Self {
        match arg {
            PluginFaultsArg::Bypass => Self::Bypass,
            PluginFaultsArg::Report => Self::Report,
        }
    }
}

/// More than 0 and at most 1000.
fn microseconds(text: &str) -> Result<f64, String> {
    let us: f64 = text.parse().map_err(|_| "not a number of microseconds".to_owned())?;
    match us > 0.0 && us <= 1000.0 {
        true => Ok(us),
        false => Err("choose more than 0 and at most 1000 microseconds".into()),
    }
}

/// `65536`, `64K`, `64M`, `1G`: a number of bytes.
fn size(text: &str) -> Result<usize, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units.iter().find(|(unit, _)| text.to_ascii_uppercase().ends_with(*unit));
    let (number, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], *shift));
    let wrong = || "not a size; write a whole number of bytes, or 64K, 64M, 1G".to_owned();
    let number: usize = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|size| *size <= 1 << 40)
        .ok_or_else(|| "more than 1024G; a disk buffer is memory".into())
}

/// A number of workers.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if count == 0 { Err("at least 1 worker is needed, the leader".into()) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{DiskArgs, size};
    use crate::load::streams::DISK_BUFFER_BYTES;

    #[derive(Parser)]
    struct Parsed {
        #[command(flatten)]
        disk: DiskArgs,
    }

    #[test]
    fn sizes_have_binary_units() {
        let read = ["0", "65536", "64k", "64K", "3M", "1G"].map(size);
        assert_eq!(read, [0, 65_536, 65_536, 65_536, 3 << 20, 1 << 30].map(Ok));
    }

    #[test]
    fn checking_and_loading_have_the_same_disk_buffer() {
        let parsed = Parsed::try_parse_from(["hocket"]).unwrap();
        assert_eq!(parsed.disk.disk_buffer, DISK_BUFFER_BYTES);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "M", "-1", "1.5G", "64MB", "1T", "99999999999G", "1025G", "é"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
