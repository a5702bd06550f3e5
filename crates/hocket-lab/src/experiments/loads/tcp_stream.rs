//! The network half of a file server: requests and replies of the same script, without the files.

use std::io::{self, Read, Write};

use hocket_machine::clock::monotonic_ns;

use super::loopback::{Delay, Exchange, Line, lines};
use super::script::{Kind, LONGEST, Mix, Piece, Step, pool, script};
use super::{Load, Turn};
use crate::harness::turn_threads::{Place, TurnThreads};
use crate::harness::{Check, Fault};

/// A client and a server thread for each line; the lines stay open from turn to turn.
pub(in crate::experiments) struct TcpStream {
    packets: Vec<Vec<Packet>>,
    pool: Vec<u8>,
    /// None before the first turn and after one that failed.
    lines: Vec<Line>,
}

impl TcpStream {
    /// So many clients with a server thread each, and so many documents of each client.
    pub(in crate::experiments) fn new(pairs: usize, documents: u32, mix: Mix) -> TcpStream {
        let packets = |client| script(client, documents, mix).into_iter().map(Packet::of).collect();
        let packets = (1..=pairs as u64).map(packets).collect();
        TcpStream { packets, pool: pool(), lines: Vec::new() }
    }

    fn stream(&self, cpus: &[u32]) -> Result<Turn, Fault> {
        let exchange = Exchange::on(&self.lines);
        let mut team = TurnThreads::new();
        for (line, packets) in self.lines.iter().zip(&self.packets) {
            let (exchange, pool) = (&exchange, &self.pool);
            team = team
                .with(Place::among(cpus), move || {
                    exchange.watched("a client", ask(line, packets, pool))
                })
                .with(Place::among(cpus), move || {
                    exchange.watched("a server", serve(line, packets.len(), pool))
                });
        }
        let run = team.run()?;
        exchange.end()?;
        let (wall_ns, cpu_ns) = (run.wall_ns(), run.cpu_ns());
        let ends: Vec<End> = run.into_results().into_iter().flatten().collect();
        let right: Vec<Right> = ends.iter().map(|end| end.right).collect();
        let packets = || self.packets.iter().flatten();
        Ok(Turn {
            wall_ns,
            cpu_ns,
            ops: packets().count() as u64,
            bytes: packets().map(Packet::contents).sum(),
            check: check(&self.packets, &right),
            took: ends.into_iter().flat_map(|end| end.took).collect(),
        })
    }
}

impl Load for TcpStream {
    fn turn(&mut self, cpus: &[u32]) -> Result<Turn, Fault> {
        if self.lines.is_empty() {
            self.lines = lines(self.packets.len(), Delay::Off)?;
        }
        let turn = self.stream(cpus);
        if !matches!(&turn, Ok(turn) if turn.check == Check::Passed) {
            self.lines.clear();
        }
        turn
    }
}

/// Packets and bytes of contents that were what they must be, as one end saw them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Right {
    packets: u64,
    /// Of writes at the server, of reads at the client.
    bytes: u64,
}

/// What came of one end.
#[derive(Debug, Default)]
struct End {
    right: Right,
    /// At the client, each request: its kind and how long its reply took to come, in ns.
    took: Vec<(Kind, u64)>,
}

/// Both ends of every line, the client first.
fn check(packets: &[Vec<Packet>], right: &[Right]) -> Check {
    let due = packets.iter().flat_map(|packets| {
        let bytes = |way| packets.iter().filter(|p| p.way == way).map(Packet::contents).sum();
        let end = |way| Right { packets: packets.len() as u64, bytes: bytes(way) };
        [end(Way::Down), end(Way::Up)]
    });
    let ends = Check::equal("the number of ends", right.len(), 2 * packets.len());
    due.zip(right).fold(ends, |check, (due, right)| {
        let packets = Check::equal("the number of right packets", right.packets, due.packets);
        check.and(packets).and(Check::equal("the number of right bytes", right.bytes, due.bytes))
    })
}

/// A request and its reply. How long they are follows tbench, which gives both the lengths of SMB packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    request: u32,
    reply: u32,
    way: Way,
    piece: Piece,
    kind: Kind,
}

/// Where contents go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To the server.
    Up,
    /// To the client.
    Down,
    /// There are none.
    None,
}

impl Way {
    const ALL: [Way; 3] = [Way::Up, Way::Down, Way::None];
}

/// Of requests and replies that carry contents, what is not contents.
const FRAME: u32 = 59;
/// Lengths of request and reply, way and first byte of the contents in the pool.
const HEAD: usize = 16;

impl Packet {
    fn of(step: Step) -> Packet {
        let nothing = Piece { at: 0, bytes: 0, from: 0 };
        let kind = step.kind();
        let (request, reply, way, piece) = match step {
            Step::Write(piece) => (FRAME + piece.bytes, 55, Way::Up, piece),
            Step::Read(piece) => (FRAME, FRAME + piece.bytes, Way::Down, piece),
            Step::Create(_) | Step::Open(_) => (104, 87, Way::None, nothing),
            Step::Absent(_) | Step::Length(..) => (104, 59, Way::None, nothing),
            Step::OpenAbsent(_) => (104, 39, Way::None, nothing),
            Step::OpenLength(_) => (72, 59, Way::None, nothing),
            Step::Touch => (100, 39, Way::None, nothing),
            Step::Room => (72, 64, Way::None, nothing),
            Step::List(files) => (110, 64 + 94 * files, Way::None, nothing),
            Step::Flush => (41, 39, Way::None, nothing),
            Step::Rename(..) => (138, 39, Way::None, nothing),
            Step::Close => (47, 39, Way::None, nothing),
            Step::Delete(_) => (104, 39, Way::None, nothing),
        };
        Packet { request, reply, way, piece, kind }
    }

    fn contents(&self) -> u64 {
        self.piece.bytes.into()
    }

    fn head(&self) -> [u8; HEAD] {
        let way = Way::ALL.iter().position(|way| *way == self.way).unwrap_or(0) as u32;
        let mut head = [0; HEAD];
        for (at, word) in [self.request, self.reply, way, self.piece.from].into_iter().enumerate() {
            head[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        head
    }

    /// `None` where no packet can be so.
    fn from_head(head: &[u8; HEAD], pool: usize) -> Option<Packet> {
        let word = |at: usize| {
            u32::from_le_bytes([head[4 * at], head[4 * at + 1], head[4 * at + 2], head[4 * at + 3]])
        };
        let (request, reply, from) = (word(0), word(1), word(3));
        let way = *Way::ALL.get(word(2) as usize)?;
        let bytes = match way {
            Way::Up => request.checked_sub(FRAME)?,
            Way::Down => reply.checked_sub(FRAME)?,
            Way::None => 0,
        };
        let fits = (HEAD as u32..=FRAME + LONGEST).contains(&request)
            && (4..=FRAME + LONGEST).contains(&reply)
            && (from as usize).saturating_add(bytes as usize) <= pool;
        // What it is for only the client knows.
        let (piece, kind) = (Piece { at: 0, bytes, from }, Kind::Stat);
        fits.then_some(Packet { request, reply, way, piece, kind })
    }
}

/// The client: one request after the other, each after the reply to the one before.
fn ask(line: &Line, packets: &[Packet], pool: &[u8]) -> io::Result<End> {
    let mut right = Right::default();
    let mut took = Vec::with_capacity(packets.len());
    let mut buffer = vec![0; (FRAME + LONGEST) as usize];
    let mut before_ns = monotonic_ns();
    for (number, packet) in packets.iter().enumerate() {
        let request = &mut buffer[..packet.request as usize];
        request[..HEAD].copy_from_slice(&packet.head());
        if packet.way == Way::Up {
            request[FRAME as usize..].copy_from_slice(packet.piece.of(pool));
        }
        (&line.client).write_all(request)?;
        let reply = &mut buffer[..packet.reply as usize];
        (&line.client).read_exact(reply)?;
        right.note(packet, Way::Down, reply, pool, reply[..4] == (number as u32).to_le_bytes());
        let now_ns = monotonic_ns();
        took.push((packet.kind, now_ns.saturating_sub(before_ns)));
        before_ns = now_ns;
    }
    Ok(End { right, took })
}

/// The server of one line: as many requests as are to come.
fn serve(line: &Line, requests: usize, pool: &[u8]) -> io::Result<End> {
    let mut right = Right::default();
    let mut buffer = vec![0; (FRAME + LONGEST) as usize];
    for number in 0..requests as u32 {
        let mut head = [0; HEAD];
        (&line.server).read_exact(&mut head)?;
        let packet = Packet::from_head(&head, pool.len())
            .ok_or_else(|| io::Error::other("a request that no client makes"))?;
        let request = &mut buffer[..packet.request as usize];
        (&line.server).read_exact(&mut request[HEAD..])?;
        right.note(&packet, Way::Up, request, pool, true);
        let reply = &mut buffer[..packet.reply as usize];
        reply[..4].copy_from_slice(&number.to_le_bytes());
        if packet.way == Way::Down {
            reply[FRAME as usize..].copy_from_slice(packet.piece.of(pool));
        }
        (&line.server).write_all(reply)?;
    }
    Ok(End { right, took: Vec::new() })
}

impl Right {
    /// Counts a packet that has come, and its contents if they go that way, where they are right.
    fn note(&mut self, packet: &Packet, way: Way, got: &[u8], pool: &[u8], framed: bool) {
        let carries = packet.way == way;
        let contents = !carries || got[FRAME as usize..] == *packet.piece.of(pool);
        self.packets += u64::from(framed && contents);
        self.bytes += if carries && contents { packet.contents() } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets() -> Vec<Packet> {
        let all = Mix::ALL.into_iter().flat_map(|mix| script(1, 2, mix));
        all.map(Packet::of).collect()
    }

    #[test]
    fn heads_are_read_as_they_were_written_and_impossible_ones_refused() {
        let pool = pool();
        for packet in packets() {
            let read = Packet::from_head(&packet.head(), pool.len()).unwrap();
            let (at, kind) = (packet.piece.at, packet.kind);
            assert_eq!(Packet { piece: Piece { at, ..read.piece }, kind, ..read }, packet);
        }
        assert_eq!(Packet::from_head(&[0xff; HEAD], pool.len()), None);
        assert_eq!(Packet::from_head(&[0; HEAD], pool.len()), None);
    }

    #[test]
    fn all_contents_arrive_turn_after_turn() {
        for mix in Mix::ALL {
            let mut load = TcpStream::new(2, 3, mix);
            for _ in 0..2 {
                let turn = load.turn(&[]).unwrap();
                assert_eq!(turn.check, Check::Passed);
                assert!(turn.ops > 100 && turn.bytes > 50_000);
                assert_eq!(turn.took.len() as u64, turn.ops);
            }
        }
    }

    #[test]
    fn contents_that_differ_are_found() {
        let lines = lines(1, Delay::Off).unwrap();
        let (sent, packets) = (pool(), packets());
        let mut other = sent.clone();
        other.iter_mut().for_each(|byte| *byte ^= 1);
        let right = std::thread::scope(|scope| {
            let server = scope.spawn(|| serve(&lines[0], packets.len(), &other).unwrap());
            [ask(&lines[0], &packets, &sent).unwrap().right, server.join().unwrap().right]
        });
        assert_eq!((right[0].bytes, right[1].bytes), (0, 0));
        assert!(
            matches!(check(&[packets], &right), Check::Failed(why) if why.contains("right packets"))
        );
    }

    #[test]
    fn an_end_that_is_missing_is_found_and_a_cut_line_made_anew() {
        assert!(matches!(check(&[packets()], &[]), Check::Failed(why) if why.contains("ends")));
        let mut load = TcpStream::new(1, 1, Mix::Of1999);
        load.turn(&[]).unwrap();
        load.lines[0].client.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(load.turn(&[]).is_err());
        assert_eq!(load.turn(&[]).unwrap().check, Check::Passed);
    }
}
