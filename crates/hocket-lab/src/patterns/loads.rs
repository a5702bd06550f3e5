//! Free loads: `Thread0: biquads for 20000 passes on core 0 with fifo 20 from 2 ms`.

use hocket_kernels::{Biquads, Correlation, Kernel, contention};
use hocket_machine::class::Class;

use super::{PatternError, Piece, Said, said};

/// Where a thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// `anywhere`, or nothing said: where the system puts it.
    Anywhere,
    /// `on cpu N`: the system's number.
    Cpu(u32),
    /// `on core N`: the first seat of the core, counted from 0.
    Core(usize),
    /// `on sibling N`: the second seat of the core.
    Sibling(usize),
}

/// `with ...`: `ordinary` (or nothing said), `nice N`, `fifo N`, `idle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority(pub Class);

/// `for ...`: when a thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// `for N passes`.
    Passes(u64),
    /// `for T ms`, in nanoseconds.
    Time(u64),
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadThread {
    /// Its name.
    pub name: String,
    /// The name of the kernel that it runs.
    pub kernel: String,
    /// How long.
    pub work: Work,
    /// Where.
    pub seat: Seat,
    /// In which class.
    pub priority: Priority,
    /// `from T ms`: after the start of all, in nanoseconds.
    pub from_ns: u64,
}

/// Threads that begin together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPattern {
    /// In order.
    pub threads: Vec<LoadThread>,
}

/// Longer than this is no experiment.
const MOST_MS: f64 = 60_000.0;
/// About a minute of the quickest kernel.
const MOST_PASSES: u64 = 1_000_000_000;

impl LoadPattern {
    /// So many threads fit into a record.
    pub const MOST_THREADS: usize = 16;

    /// Reads a pattern. Whether its seats and rights exist is asked when it is run.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn parse(text: &str) -> Result<LoadPattern, PatternError> {
        let lines = said(text)?;
        if let Some(line) = lines.get(Self::MOST_THREADS) {
            let most = Self::MOST_THREADS;
            return Err(line.name.wrong(format!("a pattern has at most {most} threads")));
        }
        Ok(LoadPattern { threads: lines.iter().map(thread).collect::<Result<_, _>>()? })
    }
}

impl LoadThread {
    /// What it runs, new.
    pub fn kernel(&self) -> Option<Box<dyn Kernel>> {
        kernels().into_iter().find(|kernel| kernel.name() == self.kernel)
    }
}

fn kernels() -> Vec<Box<dyn Kernel>> {
    let mut all = contention::all();
    all.insert(0, Box::new(Biquads::new(1)));
    all.insert(1, Box::new(Correlation::new(1)));
    all
}

fn thread(line: &Said<'_>) -> Result<LoadThread, PatternError> {
    let mut words = Words { left: line.what.words().into_iter().peekable(), end: line.what };
    let kernel = words.next("a kernel")?;
    let known: Vec<&str> = kernels().iter().map(|kernel| kernel.name()).collect();
    if !known.contains(&kernel.text) {
        let names = known.join(", ");
        return Err(kernel.wrong(format!("'{}' is no kernel; write one of {names}", kernel.text)));
    }
    let mut thread = LoadThread {
        name: line.name.text.into(),
        kernel: kernel.text.into(),
        work: Work::Passes(0),
        seat: Seat::Anywhere,
        priority: Priority(Class::Other { nice: 0 }),
        from_ns: 0,
    };
    let mut has_work = false;
    while words.left.peek().is_some() {
        let word = words.next("")?;
        match word.text {
            "for" => (thread.work, has_work) = (work(&mut words)?, true),
            "on" => thread.seat = seat(&mut words)?,
            "anywhere" => thread.seat = Seat::Anywhere,
            "with" => thread.priority = priority(&mut words)?,
            "from" => thread.from_ns = time(&mut words)?,
            text => {
                return Err(word.wrong(format!(
                    "'{text}' is not understood; write `for`, `on`, `anywhere`, `with` or `from`"
                )));
            }
        }
    }
    match has_work {
        true => Ok(thread),
        false => {
            Err(kernel.wrong("how long? write `for N passes` or `for T ms` behind the kernel"))
        }
    }
}

/// The words of a line, one after the other.
struct Words<'a> {
    left: std::iter::Peekable<std::vec::IntoIter<Piece<'a>>>,
    end: Piece<'a>,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<Piece<'a>, PatternError> {
        let end = self.end.part(self.end.text.len(), self.end.text.len());
        self.left.next().ok_or_else(|| end.wrong(format!("the line ends where {what} should be")))
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<(T, Piece<'a>), PatternError> {
        let word = self.next(what)?;
        let wrong = |_| word.wrong(format!("'{}' is not {what}", word.text));
        Ok((word.text.parse().map_err(wrong)?, word))
    }
}

fn work(words: &mut Words<'_>) -> Result<Work, PatternError> {
    let (number, place) = words.number::<f64>("a number of passes or milliseconds")?;
    let unit = words.next("`passes` or `ms`")?;
    match unit.text {
        "passes" if (1.0..=MOST_PASSES as f64).contains(&number) && number.fract() == 0.0 => {
            Ok(Work::Passes(number as u64))
        }
        "passes" => Err(place.wrong(format!("write a whole number of 1 to {MOST_PASSES} passes"))),
        "ms" => Ok(Work::Time(nanoseconds(number, place)?)),
        other => {
            Err(unit.wrong(format!("'{other}' is no measure of work; write `passes` or `ms`")))
        }
    }
}

fn time(words: &mut Words<'_>) -> Result<u64, PatternError> {
    let (number, place) = words.number::<f64>("a number of milliseconds")?;
    let unit = words.next("`ms`")?;
    match unit.text {
        "ms" => nanoseconds(number, place),
        other => Err(unit.wrong(format!("'{other}' is no unit of time here; write `ms`"))),
    }
}

fn nanoseconds(ms: f64, place: Piece<'_>) -> Result<u64, PatternError> {
    match (0.0..=MOST_MS).contains(&ms) {
        true => Ok((ms * 1e6) as u64),
        false => Err(place.wrong(format!("write 0 to {MOST_MS} ms"))),
    }
}

fn seat(words: &mut Words<'_>) -> Result<Seat, PatternError> {
    let kind = words.next("`cpu N`, `core N` or `sibling N`")?;
    let seat: fn(u32) -> Seat = match kind.text {
        "cpu" => Seat::Cpu,
        "core" => |n| Seat::Core(n as usize),
        "sibling" => |n| Seat::Sibling(n as usize),
        other => {
            let what = format!("'{other}' is no seat; write `cpu N`, `core N` or `sibling N`");
            return Err(kind.wrong(what));
        }
    };
    Ok(seat(words.number::<u32>("a number from 0 on")?.0))
}

fn priority(words: &mut Words<'_>) -> Result<Priority, PatternError> {
    let kind = words.next("`ordinary`, `nice N`, `fifo N` or `idle`")?;
    let within = |range: std::ops::RangeInclusive<i16>, words: &mut Words<'_>| {
        let (n, place) = words.number::<i16>("a whole number")?;
        let (low, high) = (range.start(), range.end());
        match range.contains(&n) {
            true => Ok(n),
            false => Err(place.wrong(format!("{n} is not possible; write {low} to {high}"))),
        }
    };
    let class = match kind.text {
        "ordinary" => Class::Other { nice: 0 },
        "idle" => Class::Idle,
        "nice" => Class::Other { nice: within(-20..=19, words)? as i8 },
        "fifo" => Class::Fifo { priority: within(1..=99, words)? as u8 },
        other => {
            return Err(kind.wrong(format!(
                "'{other}' is no priority; write `ordinary`, `nice N`, `fifo N` or `idle`"
            )));
        }
    };
    Ok(Priority(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_everything_in_any_order() {
        let text = "A: biquads for 20 ms from 2.5 ms with fifo 20 on sibling 1 # comment\nB: fp for 7 passes";
        let pattern = LoadPattern::parse(text).unwrap();
        assert_eq!(
            pattern.threads[0],
            LoadThread {
                name: "A".into(),
                kernel: "biquads".into(),
                work: Work::Time(20_000_000),
                seat: Seat::Sibling(1),
                priority: Priority(Class::Fifo { priority: 20 }),
                from_ns: 2_500_000,
            }
        );
        let second = &pattern.threads[1];
        assert_eq!((second.work, second.seat), (Work::Passes(7), Seat::Anywhere));
        assert!(pattern.threads.iter().all(|thread| thread.kernel().is_some()));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let told = |text: &str| LoadPattern::parse(text).unwrap_err().to_string();
        assert!(told("A: sing for 1 ms").starts_with("line 1, column 4: 'sing' is no kernel"));
        assert!(told("A: fp for 1.5 passes").starts_with("line 1, column 11: write a whole"));
        assert!(told("A: fp for 1 parsec").starts_with("line 1, column 13: 'parsec'"));
        assert!(told("A: fp for 1 ms on roof 1").starts_with("line 1, column 19: 'roof'"));
        assert!(told("A: fp for 1 ms with nice 20").starts_with("line 1, column 26: 20 is not"));
        assert!(told("A: fp for 1 ms on cpu").contains("the line ends where"));
        assert!(told("A: fp on cpu 1").contains("how long?"));
        assert!(told("A: fp for 1 ms whenever").contains("'whenever' is not understood"));
        let many: String = (0..17).map(|n| format!("T{n}: fp for 1 ms\n")).collect();
        assert!(told(&many).starts_with("line 17, column 1: a pattern has at most 16"));
    }
}
