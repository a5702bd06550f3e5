//! How a command ends.

use std::error::Error;
use std::fmt;
use std::io;

/// Exit codes that scripts can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0.
    Done,
    /// 1: a deadline or threshold that was asked for was missed, or a check of a plug-in failed.
    Missed,
    /// 2: bad usage or bad input.
    BadInput,
    /// 3: not possible here (rights, disk, device).
    NotPossible,
    /// 4: the session played as it was asked to, and a recording or the log of it is not whole. To play again would not help.
    NotWhole,
    /// 130: stopped by the user; what was done until then is kept.
    Interrupted,
}

impl Exit {
    /// As a number.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Missed => 1,
            Exit::BadInput => 2,
            Exit::NotPossible => 3,
            Exit::NotWhole => 4,
            Exit::Interrupted => 130,
        }
    }
}

/// Why a command ends without having done its work: one message with place, cause and remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// For people; empty: there is nothing to say.
    pub message: String,
}

impl Failure {
    /// Bad usage or input: exit code 2.
    pub fn bad_input(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::BadInput, message: message.to_string() }
    }

    /// Stopped by the user before there was anything to keep: exit code 130.
    pub fn interrupted() -> Failure {
        Failure { exit: Exit::Interrupted, message: "interrupted".into() }
    }

    /// Not possible here: exit code 3.
    pub fn not_possible(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::NotPossible, message: message.to_string() }
    }

    /// An output is not written: exit code 3. Where its reader has exited (`| head`), there is no message:
    /// the user ended it.
    pub fn not_written(error: impl Error + 'static) -> Failure {
        match is_broken_pipe(&error) {
            true => Failure { exit: Exit::NotPossible, message: String::new() },
            false => Failure::not_possible(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// Whether the system said that nobody reads what was written.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let said = error.downcast_ref::<io::Error>();
    said.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        || error.source().is_some_and(is_broken_pipe)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hocket_media::WriteError;

    use super::*;

    #[test]
    fn a_reader_that_went_away_is_no_message() {
        let of =
            |kind: io::ErrorKind| Failure::not_written(WriteError::io(Path::new("-"), kind.into()));
        let gone = of(io::ErrorKind::BrokenPipe);
        assert_eq!((gone.exit, gone.message.as_str()), (Exit::NotPossible, ""));
        let full = of(io::ErrorKind::StorageFull);
        assert!(full.exit == Exit::NotPossible && full.message.contains("the disk is full"));
    }
}
