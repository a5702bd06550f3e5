//! Chat rooms with a task for each user, on an asynchronous runtime (tokio).
//!
//! The layout is that of the loops over epoll: a thread for the users of some rooms, one for their server, each with a runtime
//! of its own that has this one thread. While one task waits, others go on.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::timeout;

use super::chat::{BYTES, Heard, USERS, message};
use super::loopback::{Line, PATIENCE};

/// Of a connection, at most so many bytes are read at a time, as in the loops over epoll.
const PIECE: usize = 4096;

/// Held by who writes to a user, so that messages do not mix.
type Desks = Rc<Vec<Mutex<OwnedWriteHalf>>>;
/// Messages that were read so far, by all tasks of a thread.
type Moved = Rc<Cell<u64>>;

/// The users of these rooms, the first of which has this number: what each heard.
pub(super) fn users(lines: &[Line], first_room: usize, messages: u32) -> io::Result<Vec<Heard>> {
    on_a_runtime(async |moved: Moved| {
        let mut all = JoinSet::new();
        for (at, line) in lines.iter().enumerate() {
            let (room, user) = (first_room + at / USERS, at % USERS);
            let stream = own(&line.client)?;
            all.spawn_local(one_user(stream, Heard::new(room, user), messages, moved.clone()));
        }
        joined(all, &moved).await
    })
}

/// The server of these rooms: passes on what each user says to the others of the room.
pub(super) fn server(lines: &[Line], messages: u32) -> io::Result<()> {
    on_a_runtime(async |moved: Moved| {
        let ends = lines.iter().map(|line| own(&line.server).map(TcpStream::into_split));
        let (from, desks): (Vec<_>, Vec<_>) =
            ends.collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        let desks: Desks = Rc::new(desks.into_iter().map(Mutex::new).collect());
        let mut all = JoinSet::new();
        for (user, from) in from.into_iter().enumerate() {
            all.spawn_local(one_served(from, desks.clone(), user, messages, moved.clone()));
        }
        joined(all, &moved).await?;
        // Dropped, such a half would end the connection, which stays for the next turn. The descriptor is a copy, and closed.
        let desks = Rc::into_inner(desks).into_iter().flatten();
        desks.for_each(|desk| desk.into_inner().forget());
        Ok(())
    })
}

/// Says and hears in one task.
async fn one_user(
    mut stream: TcpStream,
    mut heard: Heard,
    messages: u32,
    moved: Moved,
) -> io::Result<Heard> {
    let (room, user) = heard.whose();
    let (from, mut to) = stream.split();
    let say = async {
        for number in 0..messages {
            to.write_all(&message(room, user, number)).await?;
        }
        io::Result::Ok(())
    };
    let hear = async {
        let mut from = BufReader::with_capacity(PIECE, from);
        let mut got = [0; BYTES];
        for _ in 0..messages as usize * (USERS - 1) {
            from.read_exact(&mut got).await?;
            moved.set(moved.get() + 1);
            heard.take(&got);
        }
        io::Result::Ok(())
    };
    tokio::try_join!(say, hear)?;
    Ok(heard)
}

/// What the server does for one user.
async fn one_served(
    from: OwnedReadHalf,
    desks: Desks,
    user: usize,
    messages: u32,
    moved: Moved,
) -> io::Result<()> {
    let mut from = BufReader::with_capacity(PIECE, from);
    let first = user / USERS * USERS;
    let mut got = [0; BYTES];
    for _ in 0..messages {
        from.read_exact(&mut got).await?;
        moved.set(moved.get() + 1);
        for other in (first..first + USERS).filter(|other| *other != user) {
            desks[other].lock().await.write_all(&got).await?;
        }
    }
    Ok(())
}

/// The same connection by a descriptor of its own, which a runtime may close.
fn own(stream: &std::net::TcpStream) -> io::Result<TcpStream> {
    let own = stream.try_clone()?;
    own.set_nonblocking(true)?;
    TcpStream::from_std(own)
}

/// On a runtime that has the calling thread alone.
fn on_a_runtime<T>(work: impl AsyncFnOnce(Moved) -> io::Result<T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work(Moved::default()))
}

/// What all tasks returned, in the order of their ends; the first error, or that nothing moves any more.
async fn joined<T: 'static>(mut all: JoinSet<io::Result<T>>, moved: &Moved) -> io::Result<Vec<T>> {
    let mut done = Vec::with_capacity(all.len());
    while !all.is_empty() {
        let before = moved.get();
        match timeout(PATIENCE, all.join_next()).await {
            Ok(ended) => done.extend(ended.transpose()?.transpose()?),
            Err(_) if moved.get() == before => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::super::loopback::{Delay, lines};
    use super::*;

    #[test]
    fn an_end_that_is_gone_is_an_error() {
        let lines = lines(USERS, Delay::On).unwrap();
        lines[3].client.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(server(&lines, 1).is_err());
        assert!(users(&lines, 0, 1).is_err());
    }

    #[test]
    fn connections_outlive_the_runtimes() {
        let lines = lines(USERS, Delay::On).unwrap();
        for _ in 0..2 {
            let heard = std::thread::scope(|scope| {
                scope.spawn(|| server(&lines, 2).unwrap());
                users(&lines, 0, 2).unwrap()
            });
            assert!(heard.iter().all(|heard| heard.total() == 2 * 19));
        }
    }
}
