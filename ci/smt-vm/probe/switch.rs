//! SMT switched off by a process, which then ends or is killed: the siblings go and come back.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use hocket_machine::pin::CpuSet;
use hocket_machine::smt;
use hocket_machine::topology::Topology;

/// Bringing CPUs back takes up to seconds on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the process that switched SMT off ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Normal,
    /// By SIGKILL.
    Killed,
}

impl End {
    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            End::Normal => "smt off, process ends",
            End::Killed => "smt off, process killed",
        }
    }
}

/// Switches off and sees the siblings go, ends the process and sees them come back.
///
/// # Errors
/// What is not as it should be.
pub fn check(topology: &Topology, end: End) -> Result<String, String> {
    let before = on_line()?;
    let firsts: CpuSet =
        topology.cores.iter().map(|core| topology.seats[core.seats[0]].cpu).collect();
    let (mut child, stdin) = start()?;
    let during = on_line()?;
    match end {
        End::Normal => drop(stdin),
        End::Killed => child.kill().map_err(|error| error.to_string())?,
    }
    child.wait().map_err(|error| error.to_string())?;
    let after = wait_for(&before)?;
    if during != firsts {
        return Err(format!("CPUs {during} were on line instead of {firsts}"));
    }
    Ok(format!("CPUs {before} on line, then {during}, then {after}"))
}

fn on_line() -> Result<CpuSet, String> {
    let state = smt::state().map_err(|error| error.to_string())?;
    let cpus = state.on_line.value().cloned();
    cpus.ok_or_else(|| "the kernel does not say which CPUs are on line".into())
}

/// The kernel's answer within the time that it may take.
fn wait_for(wanted: &CpuSet) -> Result<CpuSet, String> {
    let start = Instant::now();
    loop {
        let now = on_line()?;
        if now == *wanted {
            return Ok(now);
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("CPUs {wanted} are not back, but {now}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start() -> Result<(Child, ChildStdin), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut child = Command::new("/proc/self/exe")
        .arg("switch-off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(said)?;
    let stdin = child.stdin.take().ok_or("the process has no input")?;
    let out = child.stdout.as_mut().ok_or("the process has no output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).map_err(said)?;
    match line.trim() {
        "off" => Ok((child, stdin)),
        why => Err(format!("SMT stays on: {why}")),
    }
}

/// The process that switches off, until its input ends.
pub fn serve() -> ExitCode {
    let mut out = std::io::stdout();
    match smt::switch_off() {
        Err(error) => {
            let _ = writeln!(out, "{error}");
            ExitCode::FAILURE
        }
        Ok(_off) => {
            // Nobody reads: then nobody waits for the end of the input either.
            let _ = writeln!(out, "off").and_then(|()| out.flush());
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            ExitCode::SUCCESS
        }
    }
}
