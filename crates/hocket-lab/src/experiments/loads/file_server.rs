//! A file server's clients, each working through its own documents.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hocket_machine::clock::monotonic_ns;

use super::script::{Kind, LONGEST, Mix, Name, Piece, Step, pool, script};
use super::{Load, Turn};
use crate::experiments::folder;
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};
use hocket_files::ScratchFolder;

/// Clients with their scripts; each turn has a folder for each of them.
pub(in crate::experiments) struct FileServer {
    below: PathBuf,
    /// Where nobody has made a folder for this run; gone with this value.
    _own: Option<ScratchFolder>,
    scripts: Vec<Vec<Step>>,
    pool: Vec<u8>,
}

impl FileServer {
    /// In this folder, or in one of its own.
    ///
    /// # Errors
    /// No folder can be made.
    pub(in crate::experiments) fn new(
        prepared: Option<&Path>,
        clients: usize,
        documents: u32,
        mix: Mix,
    ) -> Result<FileServer, Fault> {
        let own = if prepared.is_none() { Some(folder::make()?) } else { None };
        let below = prepared.or(own.as_ref().map(|own| own.path())).map(Path::to_path_buf);
        let scripts = (1..=clients as u64).map(|client| script(client, documents, mix)).collect();
        let below = below.unwrap_or_default();
        Ok(FileServer { below, _own: own, scripts, pool: pool() })
    }

    /// Makes a client's folder, empty.
    fn client(&self, at: usize) -> Result<PathBuf, Fault> {
        let own = self.below.join(format!("client-{at}"));
        let is_made = fs::create_dir(&own).or_else(|error| match error.kind() {
            // A turn that failed has left it.
            io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&own).and_then(|()| fs::create_dir(&own))
            }
            _ => Err(error),
        });
        is_made.map_err(|error| folder::refused(&own, &error))?;
        Ok(own)
    }

    fn remove_clients(&self) {
        for at in 0..self.scripts.len() {
            // Whoever made the folder around them removes what cannot be removed here.
            let _ = fs::remove_dir_all(self.below.join(format!("client-{at}")));
        }
    }

    fn serve(&self, cpus: &[u32]) -> Result<Turn, Fault> {
        let mut team = TurnThreads::new();
        for (at, script) in self.scripts.iter().enumerate() {
            let client = Client::new(self.client(at)?, &self.pool, script.len());
            team = team.with(Place::among(cpus), move || client.work(script));
        }
        let run = team.run()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let done = run.into_results().into_iter().collect::<Result<Vec<Done>, Fault>>()?;
        let check = self.scripts.iter().zip(&done).map(|(script, done)| done.check(script));
        Ok(Turn {
            wall_ns,
            cpu_ns,
            ops: done.iter().map(Done::steps).sum(),
            bytes: done.iter().map(|done| done.bytes).sum(),
            check: check.fold(Check::Passed, Check::and),
            took: done.into_iter().flat_map(|done| done.took).collect(),
        })
    }
}

impl Load for FileServer {
    /// Making the folders and removing them is not in the time.
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault> {
        let turn = self.serve(cpus);
        self.remove_clients();
        turn
    }
}

/// Whether files can be made here at all.
///
/// # Errors
/// With what helps.
pub(in crate::experiments) fn probe() -> Result<(), Fault> {
    let folder = folder::make()?;
    let path = folder.path().join("probe");
    fs::write(&path, [0; 4096]).map_err(|error| folder::refused(&path, &error))
}

/// What a client did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Done {
    /// Each step: its kind and how long it took, in ns.
    took: Vec<(Kind, u64)>,
    bytes: u64,
    /// The first thing that was not as it must be.
    wrong: Option<String>,
}

impl Done {
    fn steps(&self) -> u64 {
        self.took.len() as u64
    }

    fn check(&self, script: &[Step]) -> Check {
        let steps =
            Check::equal("the number of steps of a client", self.steps(), script.len() as u64);
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
    fn new(folder: PathBuf, pool: &'a [u8], steps: usize) -> Client<'a> {
        let buffer = vec![0; LONGEST as usize];
        let done = Done { took: Vec::with_capacity(steps), ..Done::default() };
        Client { folder, pool, open: None, buffer, done }
    }

    fn work(mut self, script: &[Step]) -> Result<Done, Fault> {
        let mut before_ns = monotonic_ns();
        for step in script {
            self.step(*step).map_err(|error| folder::refused(&self.folder, &error))?;
            let now_ns = monotonic_ns();
            self.done.took.push((step.kind(), now_ns.saturating_sub(before_ns)));
            before_ns = now_ns;
        }
        Ok(self.done)
    }

    fn step(&mut self, step: Step) -> io::Result<()> {
        match step {
            Step::Absent(name) => self.absent(name, |path| fs::metadata(path).map(drop)),
            Step::OpenAbsent(name) => self.absent(name, |path| File::open(path).map(drop)),
            Step::Flush => self.file()?.sync_all(),
            Step::OpenLength(bytes) => {
                let found = self.file()?.metadata()?.len();
                self.has_length("the open file", found, bytes);
                Ok(())
            }
            Step::Touch => self.file()?.set_modified(SystemTime::now()),
            Step::List(files) => self.list(files),
            Step::Room => self.room(),
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

    fn absent(&mut self, name: Name, ask: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        match ask(&self.path(name)) {
            Ok(()) => self.wrong(format!("{name} is there and must not be")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn list(&mut self, files: u32) -> io::Result<()> {
        let mut found = 0;
        for entry in fs::read_dir(&self.folder)? {
            entry?;
            found += 1;
        }
        if found != files {
            self.wrong(format!("{found} files are in a folder that must have {files}"));
        }
        Ok(())
    }

    fn room(&mut self) -> io::Result<()> {
        let found = rustix::fs::statvfs(&self.folder)?;
        if found.f_bsize == 0 {
            self.wrong("a file system has blocks of 0 bytes".into());
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
        self.has_length(name, found, bytes);
        Ok(())
    }

    fn has_length(&mut self, what: impl std::fmt::Display, found: u64, bytes: u32) {
        if found != u64::from(bytes) {
            self.wrong(format!("{what} has {found} bytes and must have {bytes}"));
        }
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
        let (pool, steps) = (pool(), script(3, 1, Mix::Of1999));
        let mut client = Client::new(folder.path().to_path_buf(), &pool, steps.len());
        let (before, after) =
            steps.split_at(steps.iter().rposition(|step| matches!(step, Step::Open(_))).unwrap());
        for step in before {
            client.step(*step).unwrap();
            client.done.took.push((step.kind(), 0));
        }
        change(&folder.path().join("draft-00000.doc"));
        client.work(after)
    }

    #[test]
    fn clients_do_all_steps_of_either_mix_and_leave_nothing() {
        let below = tempfile::tempdir().unwrap();
        for mix in Mix::ALL {
            let mut server = FileServer::new(Some(below.path()), 2, 3, mix).unwrap();
            let turn = server.turn(&[]).unwrap();
            let steps: usize = server.scripts.iter().map(Vec::len).sum();
            assert_eq!((turn.check, turn.ops), (Check::Passed, steps as u64));
            assert_eq!(turn.took.len(), steps);
            assert!(turn.bytes > 50_000);
            assert_eq!(entries(below.path()), 0);
        }
    }

    #[test]
    fn a_turn_that_fails_leaves_nothing_and_says_what_helps() {
        let below = tempfile::tempdir().unwrap();
        let mut server = FileServer::new(Some(below.path()), 1, 3, Mix::Of1999).unwrap();
        let last = server.scripts[0].len() - 1;
        // A file is deleted that is not there yet.
        server.scripts[0].swap(0, last);
        let fault = server.turn(&[]).unwrap_err();
        assert!(fault.0.contains("--folder"), "{fault}");
        assert_eq!(entries(below.path()), 0);
        let nowhere = below.path().join("nowhere");
        let fault = FileServer::new(Some(&nowhere), 1, 3, Mix::Current).unwrap().turn(&[]);
        assert!(fault.unwrap_err().0.contains("nowhere"));
    }

    #[test]
    fn a_folder_of_its_own_goes_with_the_server() {
        let server = FileServer::new(None, 1, 1, Mix::Of1999).unwrap();
        let own = server.below.clone();
        assert!(own.is_dir());
        drop(server);
        assert!(!own.exists());
    }

    #[test]
    fn files_that_others_have_changed_are_found() {
        let script = script(3, 1, Mix::Of1999);
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
        // One more file than must be listed.
        let (pool, one) = (pool(), tempfile::tempdir().unwrap());
        fs::write(one.path().join("other"), "x").unwrap();
        let done = Client::new(one.path().to_path_buf(), &pool, 1).work(&[Step::List(0)]).unwrap();
        assert!(done.wrong.unwrap().contains("must have 0"));
    }

    #[test]
    fn a_step_that_was_left_out_is_found() {
        let script = script(3, 1, Mix::Of1999);
        let took = vec![(Kind::Stat, 0); script.len() - 1];
        let done = Done { took, ..Done::default() };
        assert!(matches!(done.check(&script), Check::Failed(why) if why.contains("steps")));
    }
}
