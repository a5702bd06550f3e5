//! What the audio threads do in a block: `Thread0: B P(600) SB P(200)`.

use super::{PatternError, Piece, Said, said};

/// One step of a thread in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `B`: waits for all others and sleeps meanwhile.
    Barrier,
    /// `SB`: waits for all others and spins.
    SpinBarrier,
    /// `P(n)`: computes for n passes of its loop.
    Process(u32),
}

/// A thread and its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepThread {
    /// Its name.
    pub name: String,
    /// In order.
    pub steps: Vec<Step>,
}

/// Threads that meet at the same barriers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPattern {
    /// The first is the one that is triggered.
    pub threads: Vec<StepThread>,
}

/// More passes than this in one unit are a slip of the pen.
const MOST_PASSES: u32 = 10_000_000;

impl StepPattern {
    /// The pattern of the 2009 thesis, section 7.2.1.
    pub const THESIS: &'static str = "\
Thread0: B P(600) SB P(200) SB P(400) SB P(400) SB P(400) SB P(400) SB P(400)
Thread1: B P(600) SB P(150) SB P(400) SB P(400) SB P(400) SB P(400) SB P(400)
Thread2: B P(600) SB SB P(400) SB P(400) SB P(400) SB P(400) SB P(400)
Thread3: B P(600) SB SB P(400) SB P(400) SB P(400) SB P(400) SB P(400)
";

    /// Reads a pattern.
    ///
    /// # Errors
    /// [`PatternError`]: a word that is no step, or threads that would wait for each other for ever,
    /// because they do not meet at the same barriers in the same order.
    pub fn parse(text: &str) -> Result<StepPattern, PatternError> {
        let lines = said(text)?;
        let threads: Vec<StepThread> = lines.iter().map(thread).collect::<Result<_, _>>()?;
        for (line, other) in lines.iter().zip(&threads).skip(1) {
            if let Some(what) = disagreement(&threads[0], other) {
                return Err(line.name.wrong(what));
            }
        }
        Ok(StepPattern { threads })
    }

    /// The first `n` threads; they still meet at the same barriers.
    pub fn first(&self, n: usize) -> StepPattern {
        StepPattern { threads: self.threads.iter().take(n.max(1)).cloned().collect() }
    }
}

impl StepThread {
    fn barriers(&self) -> Vec<Step> {
        let is = |step: &&Step| !matches!(step, Step::Process(_));
        self.steps.iter().filter(is).copied().collect()
    }
}

fn thread(line: &Said<'_>) -> Result<StepThread, PatternError> {
    let steps = line.what.words().into_iter().map(step).collect::<Result<Vec<_>, _>>()?;
    match steps.is_empty() {
        true => {
            Err(line.what.wrong(format!("{} has no steps; write B, SB or P(n)", line.name.text)))
        }
        false => Ok(StepThread { name: line.name.text.into(), steps }),
    }
}

fn step(word: Piece<'_>) -> Result<Step, PatternError> {
    match word.text {
        "B" => Ok(Step::Barrier),
        "SB" => Ok(Step::SpinBarrier),
        text => match text.strip_prefix("P(").and_then(|rest| rest.strip_suffix(')')) {
            Some(passes) => passes_of(word.part(2, 2 + passes.len())).map(Step::Process),
            None => {
                Err(word.wrong(format!("'{text}' is no step; write B, SB or P(n), as in P(600)")))
            }
        },
    }
}

fn passes_of(number: Piece<'_>) -> Result<u32, PatternError> {
    match number.text.parse() {
        Ok(passes) if passes <= MOST_PASSES => Ok(passes),
        _ => Err(number.wrong(format!(
            "'{}' is no number of passes; write a whole number up to {MOST_PASSES}",
            number.text
        ))),
    }
}

/// Why two threads cannot meet.
fn disagreement(one: &StepThread, other: &StepThread) -> Option<String> {
    let (a, b) = (one.barriers(), other.barriers());
    if a.len() != b.len() {
        return Some(format!(
            "{} has {} barriers and {} has {}: they would wait for each other for ever",
            other.name,
            b.len(),
            one.name,
            a.len()
        ));
    }
    let at = a.iter().zip(&b).position(|(a, b)| a != b)?;
    Some(format!(
        "barrier {} of {} is another kind than that of {}: all wait at one barrier in one way",
        at + 1,
        other.name,
        one.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_the_thesis_is_read_whole() {
        let pattern = StepPattern::parse(StepPattern::THESIS).unwrap();
        assert_eq!(pattern.threads.len(), 4);
        assert!(pattern.threads.iter().all(|thread| thread.barriers().len() == 7));
        assert_eq!(pattern.threads[1].steps[3], Step::Process(150));
        assert_eq!(pattern.first(2).threads.len(), 2);
    }

    #[test]
    fn the_documentation_teaches_it_with_the_same_example() {
        let taught = include_str!("../../../../docs/lab.md");
        assert!(StepPattern::THESIS.lines().all(|line| taught.contains(line)));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let told = |text: &str| StepPattern::parse(text).unwrap_err().to_string();
        assert!(told("A: B P(600) X").starts_with("line 1, column 13: 'X' is no step"));
        assert!(told("\n# c\nA: P(6OO)").starts_with("line 3, column 6: '6OO' is no number"));
        assert!(told("A: B P(1)\n\n B: SB P(1)").starts_with("line 3, column 2: barrier 1 of B"));
        assert!(told("A: B SB\nB: B").contains("B has 1 barriers and A has 2"));
        assert!(told("A B").contains("there is no ':'"));
        assert!(told("A:").contains("has no steps"));
        assert!(told(": B").contains("no name"));
        assert!(told("A: B\nA: B").contains("two threads"));
        assert!(told("# nothing").contains("no thread"));
    }
}
