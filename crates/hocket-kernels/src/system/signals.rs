//! Signals to the own process.

use std::io;

use super::{Operation, Ran, repeated, sealed::Sealed};
use crate::sys::pages::GuardedPage;
use crate::sys::{calls, signals};

/// What is done with a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caught {
    /// A handler is installed, again and again.
    Installed,
    /// A call that could send a signal and sends none: what is to be taken from [`Caught::Sent`].
    Nothing,
    /// A signal is sent to the own process and caught.
    Sent,
    /// A write to a page that is read only, and its signal, caught. The page is opened at the last one.
    Fault,
}

/// [`Caught`], many times. Handlers belong to the whole process: for a process that ends afterwards.
pub struct SignalOperation {
    caught: Caught,
    page: Option<GuardedPage>,
}

impl SignalOperation {
    /// One of them.
    pub fn new(caught: Caught) -> SignalOperation {
        SignalOperation { caught, page: None }
    }

    fn faults(&mut self, times: u64) -> io::Result<Ran> {
        let page = self.page.as_mut().ok_or(io::ErrorKind::NotFound)?;
        signals::install_fault_counter(page.place(), times)?;
        page.close()?;
        let value = page.read().wrapping_add(1);
        signals::take_caught();
        let start_ns = calls::now_ns();
        page.write(value);
        let ns = calls::now_ns() - start_ns;
        let caught = signals::take_caught();
        // The write must have come through in the end.
        let right = if page.read() == value { caught } else { 0 };
        Ok(Ran { ns, times, right, without_switches_ns: 0 })
    }
}

impl Sealed for SignalOperation {}

impl Operation for SignalOperation {
    fn begin(&mut self) -> io::Result<()> {
        if self.caught == Caught::Fault {
            self.page = Some(GuardedPage::new()?);
        }
        signals::install_counter()
    }

    fn run(&mut self, times: u64) -> io::Result<Ran> {
        let process = calls::process_id();
        match self.caught {
            Caught::Fault => self.faults(times.max(1)),
            Caught::Nothing => Ok(repeated(times, || signals::send_none(process))),
            Caught::Sent => {
                signals::take_caught();
                let ran = repeated(times, || signals::send(process));
                Ok(Ran { right: ran.right.min(signals::take_caught()), ..ran })
            }
            Caught::Installed => {
                let ran = repeated(times, || signals::install_counter().is_ok());
                // It must be the handler that catches.
                signals::take_caught();
                let works = signals::send(process) && signals::take_caught() == 1;
                Ok(Ran { right: if works { ran.right } else { 0 }, ..ran })
            }
        }
    }

    fn end(&mut self) {
        self.page = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::all_right;
    use super::*;

    #[test]
    fn every_signal_is_caught_once() {
        for caught in [Caught::Installed, Caught::Nothing, Caught::Sent, Caught::Fault] {
            all_right(SignalOperation::new(caught), 50);
        }
    }
}
