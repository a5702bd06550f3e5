//! A file server's clients, each working through its own documents.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hocket_files::ScratchFolder;

use super::script::{LONGEST, Name, Piece, Step, pool, script};
use super::{Load, Turn};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};

/// What the names of the folders begin with.
pub(super) const PREFIX: &str = "hocket-lab-files-";

/// Clients with their scripts; each turn has a folder of its own.
pub(super) struct FileServer {
    /// Where the folders are made.
    below: PathBuf,
    scripts: Vec<Vec<Step>>,
    pool: Vec<u8>,
}

impl FileServer {
    /// In the folder for temporary files.
    pub(super) fn new(clients: usize, documents: u32) -> FileServer {
        FileServer::below(std::env::temp_dir(), clients, documents)
    }

    fn below(below: PathBuf, clients: usize, documents: u32) -> FileServer {
        let scripts = (1..=clients as u64).map(|client| script(client, documents)).collect();
        FileServer { below, scripts, pool: pool() }
    }
}

impl Load for FileServer {
    /// Making the folders and removing them is not in the time.
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault> {
        let folder = folder(&self.below)?;
        let mut team = TurnThreads::new();
        for (at, script) in self.scripts.iter().enumerate() {
            let own = folder.path().join(format!("client-{at}"));
            fs::create_dir(&own).map_err(|error| refused(&own, &error))?;
            let client = Client::new(own, &self.pool);
            team = team.with(Place::among(cpus), move || client.work(script));
        }
        let run = team.run()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let done = run.into_results().into_iter().collect::<Result<Vec<Done>, Fault>>()?;
        drop(folder);
        let check = self.scripts.iter().zip(&done).map(|(script, done)| done.check(script));
        Ok(Turn {
            wall_ns,
            cpu_ns,
            ops: done.iter().map(|done| done.steps).sum(),
            bytes: done.iter().map(|done| done.bytes).sum(),
            check: check.fold(Check::Passed, Check::and),
        })
    }
}

/// Whether files can be made here at all.
pub(super) fn probe() -> Result<(), Fault> {
    let folder = folder(&std::env::temp_dir())?;
    let path = folder.path().join("probe");
    fs::write(&path, [0; 4096]).map_err(|error| refused(&path, &error))
}

/// Is removed with all that is in it, whatever happens to the turn.
fn folder(below: &Path) -> Result<ScratchFolder, Fault> {
    ScratchFolder::create(below, PREFIX).map_err(|error| refused(below, &error))
}

fn refused(path: &Path, error: &io::Error) -> Fault {
    Fault(format!(
        "{}: {error}; the file server needs some MB in the folder for temporary files, TMPDIR names another",
        path.display()
    ))
}

/// What a client did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Done {
    steps: u64,
    bytes: u64,
    /// The first thing that was not as it must be.
    wrong: Option<String>,
}

impl Done {
    fn check(&self, script: &[Step]) -> Check {
        let steps =
            Check::equal("the number of steps of a client", self.steps, script.len() as u64);
        self.wrong.iter().fold(steps, |check, wrong| check.and(Check::Failed(wrong.clone())))
    }
}

struct Client<'a> {
    folder: PathBuf,
    pool: &'a [u8],
    open: Option<File>,
    buffer: Vec<u8>,
    done: Done,
}

impl<'a> Client<'a> {
    fn new(folder: PathBuf, pool: &'a [u8]) -> Client<'a> {
        let buffer = vec![0; LONGEST as usize];
        Client { folder, pool, open: None, buffer, done: Done::default() }
    }

    fn work(mut self, script: &[Step]) -> Result<Done, Fault> {
        for step in script {
            self.step(*step).map_err(|error| refused(&self.folder, &error))?;
            self.done.steps += 1;
        }
        Ok(self.done)
    }

    fn step(&mut self, step: Step) -> io::Result<()> {
        match step {
            Step::Absent(name) => self.absent(name),
            Step::Create(name) => self.create(name),
            Step::Open(name) => self.open(name),
            Step::Write(piece) => self.write(piece),
            Step::Read(piece) => self.read(piece),
            Step::Close => {
                self.open = None;
                Ok(())
            }
            Step::Length(name, bytes) => self.length(name, bytes),
            Step::Rename(old, new) => fs::rename(self.path(old), self.path(new)),
            Step::Delete(name) => fs::remove_file(self.path(name)),
        }
    }

    fn path(&self, name: Name) -> PathBuf {
        self.folder.join(name.to_string())
    }

    fn file(&self) -> io::Result<&File> {
        self.open.as_ref().ok_or_else(|| io::Error::other("no file is open"))
    }

    fn wrong(&mut self, what: String) {
        self.done.wrong.get_or_insert(what);
    }

    fn absent(&mut self, name: Name) -> io::Result<()> {
        match fs::metadata(self.path(name)) {
            Ok(_) => self.wrong(format!("{name} is there and must not be")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn create(&mut self, name: Name) -> io::Result<()> {
        self.open = Some(File::create_new(self.path(name))?);
        Ok(())
    }

    fn open(&mut self, name: Name) -> io::Result<()> {
        self.open = Some(OpenOptions::new().read(true).write(true).open(self.path(name))?);
        Ok(())
    }

    fn write(&mut self, piece: Piece) -> io::Result<()> {
        let mut file = self.file()?;
        file.seek(SeekFrom::Start(piece.at.into()))?;
        file.write_all(piece.of(self.pool))?;
        self.done.bytes += u64::from(piece.bytes);
        Ok(())
    }

    fn read(&mut self, piece: Piece) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = &mut buffer[..piece.bytes as usize];
        let mut file = self.file()?;
        file.seek(SeekFrom::Start(piece.at.into()))?;
        let outcome = file.read_exact(read);
        if outcome.is_ok() && read != piece.of(self.pool) {
            self.wrong(format!(
                "{} bytes from {} on are not what was written",
                piece.bytes, piece.at
            ));
        }
        self.buffer = buffer;
        self.done.bytes += u64::from(piece.bytes);
        outcome
    }

    fn length(&mut self, name: Name, bytes: u32) -> io::Result<()> {
        let found = fs::metadata(self.path(name))?.len();
        if found != u64::from(bytes) {
            self.wrong(format!("{name} has {found} bytes and must have {bytes}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(below: &Path) -> usize {
        fs::read_dir(below).unwrap().count()
    }

    /// What a client says of the first document after somebody else has changed it.
    fn changed(change: impl Fn(&Path)) -> Result<Done, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let (pool, steps) = (pool(), script(3, 1));
        let mut client = Client::new(folder.path().to_path_buf(), &pool);
        let (before, after) =
            steps.split_at(steps.iter().rposition(|step| matches!(step, Step::Open(_))).unwrap());
        for step in before {
            client.step(*step).unwrap();
            client.done.steps += 1;
        }
        change(&folder.path().join("draft-00000.doc"));
        client.work(after)
    }

    #[test]
    fn clients_do_all_steps_and_leave_nothing() {
        let below = tempfile::tempdir().unwrap();
        let mut server = FileServer::below(below.path().to_path_buf(), 2, 3);
        let turn = server.turn(&[]).unwrap();
        let steps: usize = server.scripts.iter().map(Vec::len).sum();
        assert_eq!((turn.check, turn.ops), (Check::Passed, steps as u64));
        assert!(turn.bytes > 100_000);
        assert_eq!(entries(below.path()), 0);
    }

    #[test]
    fn a_turn_that_fails_leaves_nothing_and_says_what_helps() {
        let below = tempfile::tempdir().unwrap();
        let mut server = FileServer::below(below.path().to_path_buf(), 1, 3);
        let last = server.scripts[0].len() - 1;
        // A file is deleted that is not there yet.
        server.scripts[0].swap(0, last);
        let fault = server.turn(&[]).unwrap_err();
        assert!(fault.0.contains("TMPDIR"), "{fault}");
        assert_eq!(entries(below.path()), 0);
        let nowhere = below.path().join("nowhere");
        assert!(FileServer::below(nowhere, 1, 3).turn(&[]).unwrap_err().0.contains("nowhere"));
    }

    #[test]
    fn files_that_others_have_changed_are_found() {
        let script = script(3, 1);
        assert_eq!(changed(|_| ()).unwrap().check(&script), Check::Passed);
        let longer = |path: &Path| {
            OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
        };
        let Check::Failed(why) = changed(longer).unwrap().check(&script) else { panic!() };
        assert!(why.contains("must have"), "{why}");
        let other = |path: &Path| {
            let bytes = fs::metadata(path).unwrap().len() as usize;
            fs::write(path, vec![7; bytes]).unwrap();
        };
        let Check::Failed(why) = changed(other).unwrap().check(&script) else { panic!() };
        assert!(why.contains("not what was written"), "{why}");
        let gone = |path: &Path| fs::remove_file(path).unwrap();
        assert!(changed(gone).unwrap_err().0.contains("TMPDIR"));
    }

    #[test]
    fn a_step_that_was_left_out_is_found() {
        let script = script(3, 1);
        let done = Done { steps: script.len() as u64 - 1, ..Done::default() };
        assert!(matches!(done.check(&script), Check::Failed(why) if why.contains("steps")));
    }

    /// A folder that a killed turn left is found by its free lock; one that is only called so is somebody's.
    #[test]
    fn the_folder_of_a_killed_turn_is_known_by_its_lock() {
        let below = tempfile::tempdir().unwrap();
        let named_so = below.path().join(format!("{PREFIX}1234-0"));
        fs::create_dir(&named_so).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        File::open(&named_so).unwrap().set_modified(long_ago).unwrap();
        let alive = folder(below.path()).unwrap();
        FileServer::below(below.path().to_path_buf(), 1, 1).turn(&[]).unwrap();
        assert!(hocket_files::remove_dead_folders(below.path(), PREFIX).is_empty());
        assert!(named_so.exists() && alive.path().exists());
        // The killed process takes its lock with it and leaves folder and mark.
        let dead = below.path().join(format!("{PREFIX}1234-1"));
        fs::create_dir(&dead).unwrap();
        let mark = |folder: &Path| PathBuf::from(format!("{}.lock", folder.display()));
        fs::copy(mark(alive.path()), mark(&dead)).unwrap();
        assert_eq!(hocket_files::remove_dead_folders(below.path(), PREFIX), [dead]);
    }
}
