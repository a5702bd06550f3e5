//! Arguments of `hocket trace`.

use std::path::PathBuf;

use clap::Args;
use hocket_engine::Settings;

use super::choices::{
    DiskArgs, LanesArg, ProjectArgs, ScheduleArg, SiblingChoice, WaitArg, at_least_one,
};
use super::headings::{WATCHING, WORKERS};
use crate::profile::ProfileArgs;

/// Arguments of `hocket trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket trace sessions/band.toml -o trace.html
  hocket trace sessions/band.toml --blocks 100 -o trace.txt
  hocket trace sessions/band.toml --on-miss --length 30 -o misses.html
  hocket trace sessions/band.toml --on-miss --disturb compute:2 -o misses.pftrace
  hocket trace sessions/band.toml --schedule lists --frames 128 -o trace.json
  hocket trace sessions/band.toml --schedule lists,critical --disturb compute:2 -o both.html
  hocket trace sessions/band.toml --lanes off,auto -o both.html
  hocket trace sessions/band.toml --on-miss --system -o misses.html
  hocket trace --attach 4711 --length 5 -o threads.html
  hocket trace --from before.json --from after.json -o both.html
  hocket trace --from JackEngineProfiling.log -o jack.html
  perf script -i perf.data | hocket trace --from - --threads jackd -o threads.html

The ending of FILE chooses the format:
  .html            a page of its own, for any browser
  .txt             text
  .json            trace events, for ui.perfetto.dev and profiler.firefox.com
  .pftrace, .perfetto-trace   Perfetto's own format, for ui.perfetto.dev

It plays on the virtual device: a real clock and a real deadline, but no sound.

With --attach it plays nothing. It watches the threads of a program that runs: where and when each ran, who ran beside
it, who woke it and who had its CPU. The program is not stopped or changed. It needs CAP_PERFMON, or
kernel.perf_event_paranoid=-1; without, it sees when threads of your own programs ran, and no others.

With --from it shows the same of a file that `perf script` prints after `perf sched record`, of ftrace's
/sys/kernel/tracing/trace, or of what `trace-cmd report` prints. Of what `pw-profiler -J` prints, of PipeWire's profiler.log
and of JackEngineProfiling.log it shows the cycles as blocks, with a lane for each client. A .json file that
`hocket trace SESSION` wrote is read again. Two files with blocks stand one under the other on a page.")]
pub struct TraceArgs {
    /// The session file or .dawproject; `-` reads a session from standard input.
    #[arg(value_name = "SESSION", required_unless_present_any = ["attach", "from"])]
    pub session: Option<PathBuf>,
    /// Plays nothing, and watches the threads of the program with this process number instead.
    #[arg(long, value_name = "PID", groups = ["watched", "kernel"], value_parser = clap::value_parser!(i32).range(1..), conflicts_with_all = [
        "session", "blocks", "on_miss", "system", "frames", "rate", "workers", "schedule", "policy", "wait",
        "seat_wait", "lanes", "disturb", "priority", "max_misses", "strict", "cpu_time",
    ], help_heading = WATCHING)]
    pub attach: Option<i32>,
    /// Plays nothing, and reads what perf sched, ftrace, trace-cmd, PipeWire's or JACK's profiler wrote as text, or an earlier
    /// trace as .json; `-` reads standard input. Given twice, two traces with blocks stand one under the other on a page.
    #[arg(long, value_name = "FILE", group = "watched", conflicts_with_all = [
        "session", "blocks", "on_miss", "system", "frames", "rate", "workers", "schedule", "policy", "wait",
        "seat_wait", "lanes", "disturb", "priority", "max_misses", "strict", "cpu_time", "attach", "length", "interrupts",
    ], help_heading = WATCHING)]
    pub from: Vec<PathBuf>,
    /// With --from: the threads that make up the program, by the number of a thread or process, or a part of a name; several
    /// have commas between them [default: every thread].
    #[arg(long, value_name = "LIST", requires = "from", value_delimiter = ',', value_parser = clap::builder::NonEmptyStringValueParser::new(), help_heading = WATCHING)]
    pub threads: Vec<String>,
    /// Watches the processes that the program has started or starts, too. With --from: the threads that its threads start.
    #[arg(long, requires = "watched", help_heading = WATCHING)]
    pub children: bool,
    /// With --attach or --system: records the interrupts on each CPU, too.
    #[arg(long, requires = "kernel")]
    pub interrupts: bool,
    /// Adds what other threads did on every CPU during the kept blocks, not only on the workers' seats in late ones; and who
    /// woke whom.
    #[arg(long, group = "kernel")]
    pub system: bool,
    /// Notes for how much of a unit or wait of 20 µs or more its thread had no CPU: whether a late unit was interrupted, or
    /// dear. Needs no rights; costs a system call per thread and block, and one per long unit.
    #[arg(long)]
    pub cpu_time: bool,
    /// The file to write: .html, .txt, .json, .pftrace or .perfetto-trace.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Plays this many blocks and keeps each [default: 1000].
    #[arg(long, value_name = "N", conflicts_with_all = ["on_miss", "length"], value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub blocks: Option<u64>,
    /// Keeps late blocks only, each with the block before and after it, and why it was late. If none is late, keeps the one
    /// with the least slack.
    #[arg(long)]
    pub on_miss: bool,
    /// How long to play or to watch, in seconds [default: 10 with --on-miss or --attach, otherwise --blocks decides].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = WORKERS)]
    pub workers: Option<usize>,
    /// Which worker runs which unit when; two with a comma between them are played one after the other and stand one under
    /// the other on a page [default: the machine profile's, or dataflow].
    #[arg(long, value_enum, value_delimiter = ',', help_heading = WORKERS)]
    pub schedule: Vec<ScheduleArg>,
    /// Who may run beside a worker on its core; two, as with --schedule.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "off", help_heading = WORKERS)]
    pub policy: Vec<SiblingChoice>,
    /// How workers wait inside a block; two, as with --schedule [default: the machine profile's, or hybrid].
    #[arg(long, value_enum, value_delimiter = ',', help_heading = WORKERS)]
    pub wait: Vec<WaitArg>,
    /// Whether equal effects of two strips run in the lanes of one vector; two, as with --schedule.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "off", help_heading = WORKERS)]
    pub lanes: Vec<LanesArg>,
    /// How an idle thread holds its seat (policies idle-thread and pair-barrier). A blocking wait
    /// gives the seat up; use it only for comparison.
    #[arg(long, value_enum, default_value_t = WaitArg::Pause, help_heading = WORKERS)]
    pub seat_wait: WaitArg,
    /// Load beside the engine, such as `compute:2@siblings`: preview or compute, how many, and where (siblings,
    /// first-seats or cpu3).
    #[arg(long, value_name = "LIST", default_value = "none")]
    pub disturb: String,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = Settings::PRIORITY, value_parser = clap::value_parser!(u8).range(0..=99), help_heading = WORKERS)]
    pub priority: u8,
    /// Replaces a file that Hocket did not write.
    #[arg(long)]
    pub force: bool,
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
    /// How a project becomes a session.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}
