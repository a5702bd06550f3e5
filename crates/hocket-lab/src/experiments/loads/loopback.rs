//! Connections from this process to itself, and how a conversation on many of them ends when one fails.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::harness::Fault;

/// A connection with both of its ends.
#[derive(Debug)]
pub(super) struct Line {
    /// The end that connected.
    pub client: TcpStream,
    /// The end that was connected to.
    pub server: TcpStream,
}

/// No end waits longer than this for the other; then the turn has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Whether small packets wait for the answer to those before (Nagle's algorithm), as the system has it unless asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Delay {
    /// As sockets are at first.
    On,
    /// They are sent at once (TCP_NODELAY).
    Off,
}

/// Whether so many connections can be made.
///
/// # Errors
/// With what helps.
pub(in crate::experiments) fn probe(count: usize) -> Result<(), Fault> {
    lines(count, Delay::Off).map(drop)
}

/// The same, and whether each end can have a second descriptor.
///
/// # Errors
/// With what helps.
pub(super) fn probe_with_copies(count: usize) -> Result<(), Fault> {
    let lines = lines(count, Delay::Off)?;
    let ends = lines.iter().flat_map(|line| [&line.client, &line.server]);
    let copies: io::Result<Vec<TcpStream>> = ends.map(TcpStream::try_clone).collect();
    copies.map(drop).map_err(|error| {
        let needed = 4 * count + 20;
        Fault(format!(
            "{count} TCP connections with two descriptors for each end cannot be had: {error}; they need {needed} open \
             files: raise the limit (`ulimit -n`)"
        ))
    })
}

/// So many connections on the loopback interface. Nothing listens any more when this returns.
pub(super) fn lines(count: usize, delay: Delay) -> Result<Vec<Line>, Fault> {
    let made = || -> io::Result<Vec<Line>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        (0..count).map(|_| line(&listener, address, delay)).collect()
    };
    made().map_err(|error| {
        Fault(format!(
            "{count} TCP connections on the loopback interface cannot be made: {error}{}",
            remedy(&error, count)
        ))
    })
}

/// What helps against a limit of the system.
fn remedy(error: &io::Error, count: usize) -> String {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            format!("; they need {} open files: raise the limit (`ulimit -n`)", 2 * count + 20)
        }
        Some(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => {
            "; all ports are taken: end programs that hold them, or widen net.ipv4.ip_local_port_range".into()
        }
        _ => "; they need the loopback interface".into(),
    }
}

fn line(listener: &TcpListener, address: SocketAddr, delay: Delay) -> io::Result<Line> {
    let client = TcpStream::connect_timeout(&address, PATIENCE)?;
    let own = client.local_addr()?;
    // Connected means that it stands in the queue, so this ends. Others of this machine may stand before it.
    let server = loop {
        let (server, from) = listener.accept()?;
        if from == own {
            break server;
        }
    };
    for end in [&client, &server] {
        end.set_nodelay(delay == Delay::Off)?;
        end.set_read_timeout(Some(PATIENCE))?;
        end.set_write_timeout(Some(PATIENCE))?;
    }
    Ok(Line { client, server })
}

/// What threads do on some lines. At the first thing that goes wrong all lines are cut, so that nobody
/// waits for what will not come.
pub(super) struct Exchange<'a> {
    /// The lines.
    pub lines: &'a [Line],
    trouble: Mutex<Option<String>>,
}

impl<'a> Exchange<'a> {
    pub(super) fn on(lines: &'a [Line]) -> Exchange<'a> {
        Exchange { lines, trouble: Mutex::default() }
    }

    /// What a thread returned, if nothing went wrong with it.
    pub(super) fn watched<T>(&self, who: &str, outcome: io::Result<T>) -> Option<T> {
        outcome.map_err(|error| self.cut(format!("{who}: {}", told(&error)))).ok()
    }

    fn cut(&self, why: String) {
        // The first one is the cause; the others were cut off.
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        for end in self.lines.iter().flat_map(|line| [&line.client, &line.server]) {
            // It may have been cut already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// To be called when all threads have ended.
    pub(super) fn end(self) -> Result<(), Fault> {
        let trouble = self.trouble.into_inner().unwrap_or_else(PoisonError::into_inner);
        trouble.map_or(Ok(()), |why| Err(Fault(why)))
    }
}

fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing moved for {} s", PATIENCE.as_secs())
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn both_ends_belong_together() {
        let lines = lines(3, Delay::On).unwrap();
        for (number, line) in lines.iter().enumerate() {
            (&line.client).write_all(&[number as u8]).unwrap();
        }
        for (number, line) in lines.iter().enumerate() {
            let mut got = [9];
            (&line.server).read_exact(&mut got).unwrap();
            assert_eq!(got, [number as u8]);
        }
    }

    #[test]
    fn limits_are_told_with_what_helps() {
        let told = |errno: rustix::io::Errno| remedy(&errno.into(), 200);
        assert!(told(rustix::io::Errno::MFILE).contains("420 open files"));
        assert!(told(rustix::io::Errno::ADDRNOTAVAIL).contains("ports"));
        assert!(told(rustix::io::Errno::NETDOWN).contains("loopback"));
    }

    #[test]
    fn nothing_listens_when_lines_are_made() {
        let lines = lines(1, Delay::Off).unwrap();
        let address = lines[0].client.peer_addr().unwrap();
        let refused = TcpStream::connect_timeout(&address, PATIENCE).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn the_first_trouble_is_told_and_nobody_goes_on_waiting() {
        let lines = lines(2, Delay::Off).unwrap();
        let exchange = Exchange::on(&lines);
        let read = |line: &Line| (&line.server).read_exact(&mut [0; 8]);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| exchange.watched("the one who waits", read(&lines[0])));
            let refused = io::Error::other("it is broken");
            assert_eq!(exchange.watched("the cause", Err::<(), _>(refused)), None);
            assert_eq!(waits.join().unwrap(), None);
        });
        assert_eq!(exchange.end(), Err(Fault::new("the cause: it is broken")));
    }
}
