//! Arguments of `hocket play`.

use std::path::PathBuf;

use clap::Args;
use hocket_devices::Connect;
use hocket_engine::Settings;

use super::choices::{
    DiskArgs, IsolateArgs, LanesArg, PluginFaultsArg, ProjectArgs, ScheduleArg, SiblingChoice,
    TransportArg, WaitArg, at_least_one,
};
use super::headings::{DEVICE, PLUGINS, RECORDING, REMOTE, WORKERS};
use super::named_file::NamedFile;
use crate::play::{ListenAddress, TokenSource, USUAL_PORT};
use crate::profile::ProfileArgs;

/// Arguments of `hocket play`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket play sessions/band.toml --length 10
  hocket play sessions/band.toml --device jack --client band
  hocket play sessions/band.toml --device jack --ports groups
  hocket play sessions/band.toml --device jack --transport jack
  hocket play sessions/band.toml --device jack --transport jack --send-clock
  hocket play sessions/band.toml --device alsa:hw:0 --frames 128
  hocket play sessions/band.toml --schedule auto --frames 128 --max-misses 0
  hocket play sessions/worst-case-8.toml --length 60 --json > run.json
  hocket play sessions/band.toml --length 10 --headless --json
  hocket play sessions/band.toml --length 10 --log evening.jsonl
  hocket play sessions/band.toml --osc 9000
  hocket play sessions/band.toml --web --web-token random
  hocket play sessions/midi/small-tune.mid --soundfont sessions/soundfonts/small.sf2
  hocket play sessions/band.toml --length 10 --take master=mix.wav --take Drums=drums.flac

On a terminal, a dashboard shows load, misses, workers and meters, and takes keys: space plays and stops, q quits, ?
lists the others. Where --length is not given, it plays until the song has reached its end. --headless and --quiet
leave the dashboard out.")]
pub struct PlayArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Device to play on: `jack` is a running JACK server, `alsa` the usual sound card, `alsa:PCM` another one, such as
    /// `alsa:hw:0`; `virtual` has a real clock and a real deadline, but no sound [default: jack if a server runs, else
    /// alsa if there is a card, else virtual].
    #[arg(long, value_name = "NAME", help_heading = DEVICE)]
    pub device: Option<String>,
    /// What the ports are connected to on JACK: `physical` (those of the sound card), `no`, or the name of a client.
    #[arg(long, value_name = "WHAT", default_value_t = Connect::Physical, help_heading = DEVICE)]
    pub connect: Connect,
    /// The name of the client on JACK.
    #[arg(long, value_name = "NAME", default_value = PlayArgs::CLIENT, help_heading = DEVICE)]
    pub client: String,
    /// Which transport decides when the song plays, and where. All but `own` need `--device jack`, and without --length
    /// the run has no end. With `jack`, keys and OSC ask the server; with `port` and `clock`, they cannot move the song.
    #[arg(long, value_enum, default_value_t = TransportArg::Own, help_heading = DEVICE)]
    pub transport: TransportArg,
    /// Adds an output port `transport` on JACK that says where the song is, for `--transport port` of another Hocket.
    #[arg(long, help_heading = DEVICE)]
    pub send_transport: bool,
    /// Adds a MIDI output `clock_out` on JACK that sends a MIDI clock: 24 messages per quarter note while the song plays, and
    /// start, continue, stop and song position.
    #[arg(long, help_heading = DEVICE)]
    pub send_clock: bool,
    /// Block length in frames [default: 64, on alsa 256; a JACK server decides itself].
    #[arg(long, value_name = "N")]
    pub frames: Option<u32>,
    /// Periods of one block in the buffer of a sound card (alsa), 2 to 16. More give more time to be late, and more
    /// latency; for USB cards, jackd's manual recommends 3.
    #[arg(long, value_name = "N", default_value_t = PlayArgs::PERIODS, value_parser = clap::value_parser!(u32).range(2..=16), help_heading = DEVICE)]
    pub periods: u32,
    /// Sample rate in Hz [default: the session's, on alsa 48000; a JACK server decides itself].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Length in seconds [default: the session's, or to the end of the last clip, or until Ctrl-C].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = WORKERS)]
    pub workers: Option<usize>,
    /// Which worker runs which unit when.
    #[arg(long, value_enum, default_value_t = ScheduleArg::Auto, help_heading = WORKERS)]
    pub schedule: ScheduleArg,
    /// Whether equal effects of two strips run in the lanes of one vector. The sound is the same.
    #[arg(long, value_enum, default_value_t = LanesArg::Off, help_heading = WORKERS)]
    pub lanes: LanesArg,
    /// Who may run beside a worker on its core [default: auto with schedule auto, else off].
    #[arg(long, value_enum, help_heading = WORKERS)]
    pub policy: Option<SiblingChoice>,
    /// Cost table: measured costs of the session's units. Read at the start if the file exists,
    /// written at the end.
    #[arg(long, value_name = "FILE", help_heading = WORKERS)]
    pub costs: Option<PathBuf>,
    /// How workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_enum, help_heading = WORKERS)]
    pub wait: Option<WaitArg>,
    /// How an idle thread holds its seat (policies idle-thread and pair-barrier). A blocking wait
    /// gives the seat up; use it only for comparison.
    #[arg(long, value_enum, default_value_t = WaitArg::Pause, help_heading = WORKERS)]
    pub seat_wait: WaitArg,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = Settings::PRIORITY, value_parser = clap::value_parser!(u8).range(0..=99), help_heading = WORKERS)]
    pub priority: u8,
    /// Records what a strip puts out behind its fader, as it plays: `master` or the name of a track, group or
    /// return, and a new file, .wav (floats) or .flac (24 bits). With a file that ends in .mid it records the notes and MIDI
    /// messages that a track plays. May be given several times.
    #[arg(long, value_name = "STRIP=FILE", help_heading = RECORDING)]
    pub take: Vec<NamedFile>,
    /// Records to new files where takes or the --log of an earlier run are there: mix.wav, then mix-2.wav, mix-3.wav. All takes
    /// of a run and its log have the same number, also takes of the session. Without it, Hocket refuses a take whose file
    /// exists, and a log that is there.
    #[arg(long, help_heading = RECORDING)]
    pub number_takes: bool,
    /// Gives a strip ports of its own beside the master's, behind its fader: the name of a track, group or return, or
    /// `groups` for every group. On ALSA these are the card's next channels. May be given several times.
    #[arg(long, value_name = "STRIP", help_heading = DEVICE)]
    pub ports: Vec<String>,
    /// Plays an audio file at an input of the session, from the start on and once. May be given several times; inputs
    /// without a file are silent.
    #[arg(long, value_name = "NAME=FILE")]
    pub input: Vec<NamedFile>,
    /// Lets programs and controllers steer the run by OSC: a UDP port, which only this computer reaches, or an address and
    /// a port for others. OSC has no passwords. Without --length, it then plays until the song has reached its end.
    #[arg(long, value_name = "PORT", help_heading = REMOTE)]
    pub osc: Option<ListenAddress>,
    /// Shows the dashboard as a page for browsers, too: on this computer's port 4625, another port, or an address and a port.
    /// The page is read-only without --web-token.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = USUAL_PORT, help_heading = REMOTE)]
    pub web: Option<ListenAddress>,
    /// Lets pages with this token steer the song and its strips: `random` makes one and prints it with the address of the
    /// page; a file holds one. Without --length, it then plays until the song has reached its end.
    #[arg(long, value_name = "FILE", requires = "web", help_heading = REMOTE)]
    pub web_token: Option<TokenSource>,
    /// Lets other computers reach the page, if --web has an address of a network. Nothing is encrypted.
    #[arg(long, requires = "web", help_heading = REMOTE)]
    pub web_anywhere: bool,
    /// Writes a line of JSON for each miss and each xrun: when, which block, by how much, why, and whose fault it was. A take that
    /// fails has a line, too. The first line says what runs, the last one has the counts. A file that is there stays, unless --force
    /// is given; with --number-takes, a later run writes another file.
    #[arg(long, value_name = "FILE", help_heading = RECORDING)]
    pub log: Option<PathBuf>,
    /// Replaces a file of --log that is there.
    #[arg(long, requires = "log", help_heading = RECORDING)]
    pub force: bool,
    /// Prints the result as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Shows no dashboard, and prints a line each second instead. With --json, each line is a JSON object, the last one
    /// the result.
    #[arg(long)]
    pub headless: bool,
    /// Ends with exit code 1 if there are more misses than this: late blocks and skipped periods.
    #[arg(long, value_name = "N")]
    pub max_misses: Option<u64>,
    /// Refuses a session whose audio or MIDI files are cut short or damaged, and a .dawproject of which something does not play,
    /// instead of playing the rest.
    #[arg(long)]
    pub strict: bool,
    /// How files play from the disk.
    #[command(flatten)]
    pub disk: DiskArgs,
    /// Which plug-ins run in processes of their own.
    #[command(flatten)]
    pub isolate: IsolateArgs,
    /// What happens to a plug-in without a process of its own that puts out NaN or infinity again and again, or takes
    /// longer than its sound lasts. It is reported in any case.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PluginFaultsArg::Bypass, help_heading = PLUGINS)]
    pub plugin_faults: PluginFaultsArg,
    /// How a project or a MIDI file becomes a session.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

impl PlayArgs {
    /// The name of the client where none is given.
    pub const CLIENT: &'static str = "hocket";
    /// The periods of a sound card's buffer where none are given.
    pub const PERIODS: u32 = 2;
}
