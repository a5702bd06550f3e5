//! The primitives: their names, and how each is made.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hocket_files::ScratchFolder;
use hocket_kernels::system::{
    Bandwidth, Call, Caught, CreatedFiles, Epoll, FileMapping, Latency, Mapping, Operation,
    PageFault, Ring, Select, SignalOperation, Start, Starts, Transfer, WalkOrder, run_here,
    run_in_processes,
};

use super::sockets::Carrier;
use crate::harness::{Fault, Size};

/// What the names of the folders begin with.
pub(super) const PREFIX: &str = "hocket-lab-kernel-";

/// Descriptors that are asked about, in a quick and in a full run.
pub(super) const DESCRIPTORS: [&[usize]; 2] = [&[10, 500], &[10, 100, 250, 500]];
/// Processes of a ring and KiB of each.
pub(super) const RINGS: [&[(usize, usize)]; 2] = [
    &[(2, 0), (8, 0), (8, 16), (8, 64)],
    &[
        (2, 0),
        (2, 16),
        (2, 64),
        (8, 0),
        (8, 16),
        (8, 64),
        (16, 0),
        (16, 16),
        (16, 64),
        (64, 0),
        (64, 16),
        (64, 64),
    ],
];
/// Bytes of files.
pub(super) const FILE_BYTES: [&[usize]; 2] = [&[0, 10_240], &[0, 1024, 4096, 10_240]];
/// KiB that are read, written, copied.
pub(super) const MEMORY_KIB: [&[usize]; 2] = [&[16, 8192], &[16, 256, 8192, 65_536]];
/// KiB over which loads go in random order.
pub(super) const LOAD_KIB: [&[usize]; 2] = [
    &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
    &[
        4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
        4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536,
    ],
];
/// Bytes from one place to the next where loads go forward.
pub(super) const STRIDES: [usize; 5] = [16, 64, 256, 1024, 4096];
/// Over how many KiB each of these.
pub(super) const FORWARD_KIB: [&[usize]; 2] =
    [&[8192], &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]];
/// Memory beyond this is large.
const LARGE_KIB: usize = 8192;
/// Bytes of a cache line, for loads in random order.
const LINE: usize = 64;
/// KiB that are mapped.
pub(super) const MAPPED_KIB: [&[usize]; 2] = [&[64, 1024], &[64, 1024, 8192]];
/// Files are written in pieces: memory that this process used once may stay its own, and each later fork would copy its pages.
const PIECE_KIB: usize = 64;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Primitive {
    Null,
    NullWrite,
    Read,
    Write,
    Stat,
    Fstat,
    OpenClose,
    Select(usize),
    Epoll(usize),
    Signal(Caught),
    RoundTrip(Carrier),
    Start(Start),
    Ring { processes: usize, kib: usize },
    Map(usize),
    MapFile(usize),
    PageFault,
    FilesMade(usize),
    FilesRemoved(usize),
    Memory(Transfer, usize),
    LoadsRandom(usize),
    LoadsForward { stride: usize, kib: usize },
}

use Primitive as P;

const SIGNALS: [Caught; 4] = [Caught::Installed, Caught::Nothing, Caught::Sent, Caught::Fault];
const STARTS: [Start; 6] = [
    Start::ForkExit,
    Start::Clone3Exit,
    Start::ForkExecute,
    Start::VforkExecute,
    Start::PosixSpawn,
    Start::ForkShell,
];
const TRANSFERS: [Transfer; 3] = [Transfer::Read, Transfer::Write, Transfer::Copy];

impl Primitive {
    /// Those of a run, in the order of tables.
    pub(super) fn all(size: Size) -> Vec<Primitive> {
        let mut all =
            vec![P::Null, P::NullWrite, P::Read, P::Write, P::Stat, P::Fstat, P::OpenClose];
        all.extend(size.of(DESCRIPTORS).iter().map(|count| P::Select(*count)));
        all.extend(size.of(DESCRIPTORS).iter().map(|count| P::Epoll(*count)));
        all.extend(SIGNALS.map(P::Signal));
        all.extend(Carrier::ALL.map(P::RoundTrip));
        all.extend(STARTS.map(P::Start));
        let ring = |(processes, kib): &(usize, usize)| P::Ring { processes: *processes, kib: *kib };
        all.extend(size.of(RINGS).iter().map(ring));
        all.extend(size.of(MAPPED_KIB).iter().map(|kib| P::Map(*kib)));
        all.extend(size.of(MAPPED_KIB).iter().map(|kib| P::MapFile(*kib)));
        all.push(P::PageFault);
        all.extend(size.of(FILE_BYTES).iter().map(|bytes| P::FilesMade(*bytes)));
        all.extend(size.of(FILE_BYTES).iter().map(|bytes| P::FilesRemoved(*bytes)));
        for transfer in TRANSFERS {
            all.extend(size.of(MEMORY_KIB).iter().map(|kib| P::Memory(transfer, *kib)));
        }
        all.extend(size.of(LOAD_KIB).iter().map(|kib| P::LoadsRandom(*kib)));
        for stride in STRIDES {
            let forward = |kib: &usize| P::LoadsForward { stride, kib: *kib };
            all.extend(size.of(FORWARD_KIB).iter().map(forward));
        }
        all
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Primitive> {
        let all = [Size::Quick, Size::Full].into_iter().flat_map(Primitive::all);
        all.into_iter().find(|primitive| primitive.name() == name)
    }

    pub(super) fn name(self) -> String {
        let family = self.family();
        match self {
            P::Select(count) | P::Epoll(count) => format!("{family}-{count}"),
            P::Signal(Caught::Installed) => "signal-install".into(),
            P::Signal(Caught::Nothing) => "signal-none".into(),
            P::Signal(Caught::Sent) => "signal-sent".into(),
            P::Signal(Caught::Fault) => "signal-fault".into(),
            P::Ring { processes, kib } => format!("{family}-{processes}-{kib}"),
            P::FilesMade(bytes) => format!("file-make-{bytes}"),
            P::FilesRemoved(bytes) => format!("file-remove-{bytes}"),
            P::Memory(Transfer::Read, kib) => format!("read-{kib}"),
            P::Memory(Transfer::Write, kib) => format!("write-{kib}"),
            P::Memory(Transfer::Copy, kib) => format!("copy-{kib}"),
            P::LoadsRandom(kib) => format!("{family}-{kib}-random"),
            P::LoadsForward { stride, kib } => format!("{family}-{kib}-{stride}"),
            P::Map(kib) | P::MapFile(kib) => format!("{family}-{kib}"),
            _ => family.into(),
        }
    }

    /// What is there or missing together.
    pub(super) fn family(self) -> &'static str {
        match self {
            P::Null => "null",
            P::NullWrite => "null-write",
            P::Read => "read",
            P::Write => "write",
            P::Stat => "stat",
            P::Fstat => "fstat",
            P::OpenClose => "open-close",
            P::Select(_) => "select",
            P::Epoll(_) => "epoll",
            P::Signal(_) => "signal",
            P::RoundTrip(carrier) => carrier.name(),
            P::Start(Start::ForkExit) => "fork-exit",
            P::Start(Start::Clone3Exit) => "clone3-exit",
            P::Start(Start::ForkExecute) => "fork-exec",
            P::Start(Start::VforkExecute) => "vfork-exec",
            P::Start(Start::PosixSpawn) => "posix-spawn",
            P::Start(Start::ForkShell) => "fork-sh",
            P::Ring { .. } => "ring",
            P::Map(_) => "map",
            P::MapFile(_) => "map-file",
            P::PageFault => "page-fault",
            P::FilesMade(_) | P::FilesRemoved(_) => "file",
            P::Memory(..) => "memory",
            P::LoadsRandom(_) | P::LoadsForward { .. } => "load",
        }
    }

    /// Whether it needs a second process.
    pub(super) fn has_partners(self) -> bool {
        matches!(self, P::RoundTrip(_) | P::Start(_))
    }

    /// Whether a quick run measures it in company, too: one of each kind.
    pub(super) fn is_typical(self) -> bool {
        matches!(
            self,
            P::Null
                | P::OpenClose
                | P::RoundTrip(Carrier::Pipe)
                | P::Start(Start::ForkExit | Start::ForkExecute)
                | P::PageFault
                | P::Memory(Transfer::Copy, 8192)
        )
    }

    /// Whether it is about memory, and needs a piece of its own.
    pub(super) fn is_memory(self) -> bool {
        matches!(self, P::Memory(..) | P::LoadsRandom(_) | P::LoadsForward { .. })
    }

    /// Whether the machine may lack the memory for one on each seat.
    pub(super) fn is_large(self) -> bool {
        matches!(self, P::Memory(_, kib) | P::LoadsRandom(kib) if kib > LARGE_KIB)
    }

    /// Whether it is one of a grid, which is measured alone.
    pub(super) fn is_of_grid(self) -> bool {
        matches!(self, P::LoadsForward { kib, .. } if kib != FORWARD_KIB[0][0])
    }

    pub(super) fn is_ring(self) -> bool {
        matches!(self, P::Ring { .. })
    }

    /// Whether it cannot be done in a forked process.
    pub(super) fn runs_here(self) -> bool {
        self == P::Start(Start::PosixSpawn)
    }

    /// What one pass over memory moves.
    pub(super) fn bytes_of_a_pass(self) -> Option<u64> {
        match self {
            P::Memory(_, kib) => Some(kib as u64 * 1024),
            _ => None,
        }
    }

    /// Makes it for process `number` of those that do it at once.
    pub(super) fn operation(self, site: &Site, number: usize) -> Result<Box<dyn Operation>, Fault> {
        let told = |error: std::io::Error| Fault(format!("{}: {error}", self.name()));
        Ok(match self {
            P::Null => Box::new(Call::null()),
            P::NullWrite => Box::new(Call::null_write()),
            P::Read => Box::new(Call::read()),
            P::Write => Box::new(Call::write()),
            P::Stat => Box::new(Call::stat()),
            P::Fstat => Box::new(Call::fstat()),
            P::OpenClose => Box::new(Call::open_close()),
            P::Select(count) => Box::new(Select::on(count)),
            P::Epoll(count) => Box::new(Epoll::on(count)),
            P::Signal(caught) => Box::new(SignalOperation::new(caught)),
            P::RoundTrip(carrier) => Box::new(carrier.round_trip().map_err(told)?),
            P::Start(start) => Box::new(site.starts(start)?),
            P::Ring { processes, kib } => Box::new(Ring::of(processes, kib << 10)),
            P::Map(kib) => Box::new(Mapping::of(kib << 10)),
            P::MapFile(kib) => {
                let piece: Vec<u8> = (0..PIECE_KIB << 10).map(|at| (at >> 10) as u8).collect();
                let pieces = kib / PIECE_KIB;
                let file = nameless(site.folder()?, &piece, pieces);
                let file = file.map_err(|error| Fault(self.hint(site, &error.to_string())))?;
                Box::new(FileMapping::of(file, &piece, pieces))
            }
            P::PageFault => Box::new(PageFault::new()),
            P::FilesMade(bytes) => {
                let prefix = format!("made-{number}");
                let files = CreatedFiles::made(site.folder()?, &prefix, bytes);
                Box::new(files.ok_or_else(|| Fault::new("a folder with a zero in its name"))?)
            }
            P::FilesRemoved(bytes) => {
                let prefix = format!("removed-{number}");
                let files = CreatedFiles::removed(site.folder()?, &prefix, bytes);
                Box::new(files.ok_or_else(|| Fault::new("a folder with a zero in its name"))?)
            }
            P::Memory(transfer, kib) => {
                Box::new(Bandwidth::over(transfer, kib << 10).map_err(told)?)
            }
            P::LoadsRandom(kib) => {
                Box::new(Latency::over(kib << 10, LINE, WalkOrder::Random).map_err(told)?)
            }
            P::LoadsForward { stride, kib } => {
                let loads = Latency::over(kib << 10, stride, WalkOrder::Forward);
                Box::new(loads.map_err(told)?)
            }
        })
    }

    /// Why this machine lacks it; `None` if it has it. Tries it once; loads and memory are always there.
    pub(super) fn refusal(self, site: &Site) -> Option<String> {
        if self.is_memory() {
            return None;
        }
        let tried = self.operation(site, 0).and_then(|operation| {
            let mut one = [operation];
            let ran = match self.runs_here() {
                true => run_here(&mut *one[0], 1).map(|ran| vec![ran]).map_err(|e| e.to_string()),
                false => run_in_processes(&mut one, &[&[]], None, 1),
            };
            let ran = ran.map_err(|why| Fault(self.hint(site, &why)))?;
            match ran.iter().all(|ran| ran.right == ran.times) {
                true => Ok(()),
                false => Err(Fault(format!("{} did not do what it must", self.name()))),
            }
        });
        tried.err().map(|fault| fault.0)
    }

    /// Why it is refused, with what it needs.
    pub(super) fn hint(self, site: &Site, why: &str) -> String {
        match self {
            P::Select(count) | P::Epoll(count) => {
                format!("{why}; it needs {count} open files (`ulimit -n`)")
            }
            P::RoundTrip(Carrier::Tcp | Carrier::Udp) => {
                format!("{why}; it needs the loopback interface and free ports")
            }
            P::FilesMade(_) | P::FilesRemoved(_) | P::MapFile(_) => match &site.folder {
                Ok(folder) => in_folder(folder.path(), &why),
                Err(why) => why.clone(),
            },
            P::Ring { processes, .. } => {
                let files = 2 * processes + 20;
                format!(
                    "{why}; it needs {processes} processes (`ulimit -u`) and {files} open files (`ulimit -n`)"
                )
            }
            _ => why.into(),
        }
    }
}

/// Where primitives find what they need.
pub(super) struct Site {
    /// Gone with this value; or why there is none.
    folder: Result<ScratchFolder, String>,
    program: Option<&'static str>,
    shell: Option<&'static str>,
}

const PROGRAMS: [&str; 2] = ["/bin/true", "/usr/bin/true"];
const SHELLS: [&str; 2] = ["/bin/sh", "/usr/bin/sh"];

impl Default for Site {
    /// In the folder for temporary files.
    fn default() -> Site {
        Site::below(&std::env::temp_dir())
    }
}

impl Site {
    /// With a folder in this one.
    pub(super) fn below(below: &Path) -> Site {
        let folder = ScratchFolder::create(below, PREFIX);
        Site {
            folder: folder.map_err(|error| in_folder(below, &error)),
            program: PROGRAMS.into_iter().find(|path| is_program(path)),
            shell: SHELLS.into_iter().find(|path| is_program(path)),
        }
    }

    fn folder(&self) -> Result<&Path, Fault> {
        self.folder.as_ref().map(ScratchFolder::path).map_err(|why| Fault(why.clone()))
    }

    fn starts(&self, start: Start) -> Result<Starts, Fault> {
        let absent = |paths: [&str; 2]| Fault(format!("there is no {}", paths.join(" and no ")));
        let ends = matches!(start, Start::ForkExit | Start::Clone3Exit);
        let program = match self.program {
            None if !ends => return Err(absent(PROGRAMS)),
            program => program.unwrap_or_default(),
        };
        let shell = match self.shell {
            None if start == Start::ForkShell => return Err(absent(SHELLS)),
            shell => shell.unwrap_or_default(),
        };
        Starts::new(start, program, shell).ok_or_else(|| Fault::new("a path with a zero"))
    }
}

/// A file with so many of these pieces that is gone when it is closed, also where the process is killed.
fn nameless(folder: &Path, piece: &[u8], pieces: usize) -> std::io::Result<OwnedFd> {
    let mut file = tempfile::tempfile_in(folder)?;
    (0..pieces).try_for_each(|_| file.write_all(piece))?;
    Ok(file.into())
}

fn in_folder(folder: &Path, why: &dyn std::fmt::Display) -> String {
    format!(
        "{}: {why}; files are made in the folder for temporary files, TMPDIR names another",
        folder.display()
    )
}

fn is_program(path: &str) -> bool {
    let may_be_executed =
        |found: std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    std::fs::metadata(path).is_ok_and(may_be_executed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_primitive_is_found_by_its_name() {
        for size in [Size::Quick, Size::Full] {
            let all = Primitive::all(size);
            let mut names: Vec<String> = all.iter().map(|it| it.name()).collect();
            assert!(all.iter().all(|it| Primitive::named(&it.name()) == Some(*it)));
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all.len(), "two have one name");
        }
        // What a quick run measures in company is a part of it.
        assert!(Primitive::all(Size::Quick).into_iter().filter(|it| it.is_typical()).count() >= 6);
    }

    #[test]
    fn what_is_missing_is_told_with_what_helps() {
        let site = Site {
            folder: Site::below(Path::new("/nowhere/none")).folder,
            program: None,
            shell: None,
        };
        let refusal = |primitive: Primitive| primitive.refusal(&site).unwrap();
        assert!(refusal(P::FilesMade(0)).contains("TMPDIR"));
        assert!(refusal(P::Start(Start::ForkExecute)).contains("/bin/true"));
        assert_eq!(P::Start(Start::ForkExit).refusal(&site), None);
        let site = Site { program: Some("/bin/true"), ..site };
        assert!(P::Start(Start::ForkShell).refusal(&site).unwrap().contains("/bin/sh"));
        assert!(P::Select(100_000).refusal(&site).unwrap().contains("ulimit -n"));
        // A program that ends with another code.
        let site = Site { program: Some("/bin/false"), ..site };
        let wrong = P::Start(Start::ForkExecute).refusal(&site).unwrap();
        assert!(wrong.contains("did not do what it must"), "{wrong}");
    }

    #[test]
    fn the_folder_goes_with_the_site() {
        let below = tempfile::tempdir().unwrap();
        let site = Site::below(below.path());
        let mut files = [P::FilesMade(10).operation(&site, 3).unwrap()];
        assert_eq!(run_in_processes(&mut files, &[&[]], None, 5).unwrap()[0].right, 5);
        drop(site);
        assert_eq!(std::fs::read_dir(below.path()).unwrap().count(), 0);
    }
}
