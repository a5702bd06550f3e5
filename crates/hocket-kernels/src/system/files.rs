//! Calls that ask little of the system, and files that are made and removed.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{Operation, Ran, repeated, sealed::Sealed};
use crate::sys::calls;

/// The file whose length is asked for.
const PROBED: &CStr = c"/etc/passwd";

/// One call of the system, or two that belong together.
#[derive(Debug)]
pub struct Call {
    kind: Kind,
    /// What is read from or written to.
    file: Option<OwnedFd>,
    /// The parent's number, or the length of the file that is asked for.
    expected: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    NullWrite,
    Read,
    Write,
    Stat,
    Fstat,
    OpenClose,
}

impl Call {
    const fn of(kind: Kind) -> Call {
        Call { kind, file: None, expected: 0 }
    }

    /// Asks for the parent's number, as lmbench 3 does for its simple call.
    pub const fn null() -> Call {
        Call::of(Kind::Null)
    }

    /// Writes a word to /dev/null, the simple call of lmbench in 1996.
    pub const fn null_write() -> Call {
        Call::of(Kind::NullWrite)
    }

    /// Reads a byte from /dev/zero.
    pub const fn read() -> Call {
        Call::of(Kind::Read)
    }

    /// Writes a byte to /dev/null.
    pub const fn write() -> Call {
        Call::of(Kind::Write)
    }

    /// Asks for a file by its name.
    pub const fn stat() -> Call {
        Call::of(Kind::Stat)
    }

    /// Asks for an open file.
    pub const fn fstat() -> Call {
        Call::of(Kind::Fstat)
    }

    /// Opens a file and closes it.
    pub const fn open_close() -> Call {
        Call::of(Kind::OpenClose)
    }
}

impl Sealed for Call {}

impl Operation for Call {
    fn begin(&mut self) -> io::Result<()> {
        let path = match self.kind {
            Kind::Null | Kind::NullWrite | Kind::Write => c"/dev/null",
            Kind::Read => c"/dev/zero",
            Kind::Stat | Kind::Fstat | Kind::OpenClose => PROBED,
        };
        let way = if path == c"/dev/null" { libc::O_WRONLY } else { libc::O_RDONLY };
        let file = calls::open(path, way)?;
        self.expected = match self.kind {
            // Whoever is the parent now stays it.
            Kind::Null => calls::parent_id() as u64,
            _ => calls::length_of_open(file.as_raw_fd())?,
        };
        self.file = Some(file);
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let file = self.file.as_ref().map_or(-1, |file| file.as_raw_fd());
        let expected = self.expected;
        Ok(match self.kind {
            Kind::Null => repeated(times, || calls::parent_id() as u64 == expected),
            Kind::NullWrite => repeated(times, || calls::write(file, &[1; 4]) == 4),
            Kind::Write => repeated(times, || calls::write(file, &[1]) == 1),
            Kind::Read => repeated(times, || {
                let mut byte = [1];
                calls::read(file, &mut byte) == 1 && byte == [0]
            }),
            Kind::Stat => {
                repeated(times, || calls::length_of(PROBED).is_ok_and(|it| it == expected))
            }
            Kind::Fstat => {
                repeated(times, || calls::length_of_open(file).is_ok_and(|it| it == expected))
            }
            Kind::OpenClose => repeated(times, || calls::open(PROBED, libc::O_RDONLY).is_ok()),
        })
    }

    fn end(&mut self) {
        self.file = None;
    }
}

/// Files of one size that are made and removed; one of the two is timed.
#[derive(Debug)]
pub struct CreatedFiles {
    names: Vec<CString>,
    contents: Vec<u8>,
    /// Whether the removal is timed instead of the making.
    removes: bool,
}

/// Files that are there at once, all in one folder.
const BATCH: usize = 100;

impl CreatedFiles {
    /// Times how files with so many bytes are made, written and closed.
    pub fn made(folder: &Path, prefix: &str, bytes: usize) -> Option<CreatedFiles> {
        CreatedFiles::of(folder, prefix, bytes, false)
    }

    /// Times how such files are removed.
    pub fn removed(folder: &Path, prefix: &str, bytes: usize) -> Option<CreatedFiles> {
        CreatedFiles::of(folder, prefix, bytes, true)
    }

    /// `None` where the folder's name holds a zero.
    fn of(folder: &Path, prefix: &str, bytes: usize, removes: bool) -> Option<CreatedFiles> {
        let name = |number| {
            let path = folder.join(format!("{prefix}-{number:02}"));
            CString::new(path.as_os_str().as_bytes()).ok()
        };
        let names = (0..BATCH).map(name).collect::<Option<_>>()?;
        Some(CreatedFiles { names, contents: vec![b'h'; bytes], removes })
    }

    fn make(&self, name: &CStr) -> io::Result<()> {
        let new = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let file = calls::open(name, new)?;
        calls::write_all(file.as_raw_fd(), &self.contents)
    }

    /// Removes what a run that did not end has left.
    fn clear(&self) {
        for name in &self.names {
            // Most often there is none.
            let _ = calls::unlink(name);
        }
    }

    fn batch(&self, names: &[CString]) -> io::Result<Ran> {
        let start_ns = calls::now_ns();
        for name in names {
            self.make(name)?;
        }
        let made_ns = calls::now_ns();
        let whole = self.contents.len() as u64;
        let is_whole = |name: &&CString| calls::length_of(name).is_ok_and(|it| it == whole);
        let made = names.iter().filter(is_whole).count() as u64;
        let again_ns = calls::now_ns();
        for name in names {
            calls::unlink(name)?;
        }
        let removed_ns = calls::now_ns();
        let gone = names.iter().filter(|name| calls::length_of(name).is_err()).count() as u64;
        let times = names.len() as u64;
        let (ns, right) = match self.removes {
            false => (made_ns - start_ns, made),
            true => (removed_ns - again_ns, gone),
        };
        Ok(Ran { ns, times, right, without_switches_ns: 0 })
    }
}

impl Sealed for CreatedFiles {}

impl Operation for CreatedFiles {
    fn begin(&mut self) -> io::Result<()> {
        self.clear();
        Ok(())
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let mut all = Ran::default();
        while all.times < times {
            let left = usize::try_from(times - all.times).unwrap_or(BATCH).min(BATCH);
            let names = self.names.get(..left).unwrap_or(&[]);
            let batch = self.batch(names).inspect_err(|_| self.clear())?;
            all.ns += batch.ns;
            all.times += batch.times;
            all.right += batch.right;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn every_call_does_what_it_must() {
        let calls = [
            Call::null(),
            Call::null_write(),
            Call::read(),
            Call::write(),
            Call::stat(),
            Call::fstat(),
            Call::open_close(),
        ];
        for call in calls {
            all_right(call, 20);
        }
    }

    #[test]
    fn an_answer_that_is_not_expected_is_found() {
        let mut call = Call::stat();
        call.begin().unwrap();
        call.expected += 1;
        assert_eq!(call.run(5).unwrap().right, 0);
        // Not begun: there is no file to write to.
        assert_eq!(Call::write().run(3).unwrap().right, 0);
    }
}
