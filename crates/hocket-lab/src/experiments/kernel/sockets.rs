//! Connected sockets for a byte that goes to another process and back.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hocket_kernels::system::{End, RoundTrip};

/// By what a byte goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    Pipe,
    Unix,
    Tcp,
    Udp,
}

impl Carrier {
    pub(super) const ALL: [Carrier; 4] = [Carrier::Pipe, Carrier::Unix, Carrier::Tcp, Carrier::Udp];

    pub(super) fn name(self) -> &'static str {
        match self {
            Carrier::Pipe => "pipe",
            Carrier::Unix => "unix",
            Carrier::Tcp => "tcp",
            Carrier::Udp => "udp",
        }
    }

    /// Between two ends that are connected with each other.
    pub(super) fn round_trip(self) -> io::Result<RoundTrip> {
        match self {
            Carrier::Pipe => RoundTrip::by_pipes(),
            Carrier::Unix => UnixStream::pair().map(|(one, other)| between(one, other)),
            Carrier::Tcp => tcp_pair().map(|(one, other)| between(one, other)),
            Carrier::Udp => udp_pair().map(|(one, other)| between(one, other)),
        }
    }
}

/// A datagram that is lost does not come later; then the turn has failed.
const PATIENCE: Duration = Duration::from_secs(10);

fn between(own: impl Into<OwnedFd>, other: impl Into<OwnedFd>) -> RoundTrip {
    RoundTrip::between(End::both_ways(own.into()), End::both_ways(other.into()))
}

fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)?;
    let own = one.local_addr()?;
    // Connected means that it stands in the queue, so this ends. Others of this machine may stand before it.
    let other = loop {
        let (other, from) = listener.accept()?;
        if from == own {
            break other;
        }
    };
    for end in [&one, &other] {
        end.set_nodelay(true)?;
    }
    Ok((one, other))
}

fn udp_pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let [one, other] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    let (one, other) = (one?, other?);
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    one.set_read_timeout(Some(PATIENCE))?;
    Ok((one, other))
}

#[cfg(test)]
mod tests {
    use hocket_kernels::system::{Operation, run_in_processes};

    use super::*;

    #[test]
    fn a_byte_comes_back_by_every_carrier() {
        for carrier in Carrier::ALL {
            let trip: Box<dyn Operation> = match carrier.round_trip() {
                Ok(trip) => Box::new(trip),
                Err(why) => {
                    println!(
                        "SKIPPED {} of a_byte_comes_back_by_every_carrier: {why}",
                        carrier.name()
                    );
                    continue;
                }
            };
            let mut trip = [trip];
            for _ in 0..2 {
                let ran = run_in_processes(&mut trip, &[&[]], None, 20).unwrap();
                assert_eq!(ran[0].right, 20, "{}", carrier.name());
            }
        }
    }
}
