//! The lines between lab and guest.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::foreign;
use crate::harness::Fault;

/// The only version so far.
const VERSION: u64 = 1;
/// A design has no more variants of one guest.
const MOST_VARIANTS: usize = 32;
/// A name of a variant is no longer.
const MOST_OF_A_NAME: usize = 60;

/// A guest's first line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// The version of the protocol.
    #[serde(rename = "hocket-guest")]
    version: u64,
    /// What can be compared; one nameless variant where there are none.
    #[serde(default)]
    pub variants: Vec<String>,
}

impl Hello {
    /// Reads the line.
    ///
    /// # Errors
    /// It is none, with what one looks like.
    pub fn read(line: &str) -> Result<Hello, Fault> {
        let hello: Hello = serde_json::from_str(line).map_err(|error| {
            Fault(format!(
                "the first line is no greeting ({error}): {}; it must be like {{\"hocket-guest\": 1}}",
                shown(line)
            ))
        })?;
        if hello.version != VERSION {
            let version = hello.version;
            return Err(Fault(format!(
                "it speaks version {version}, and the lab speaks {VERSION}"
            )));
        }
        hello.names()?;
        Ok(hello)
    }

    /// Names stand in tables, conditions and records.
    fn names(&self) -> Result<(), Fault> {
        let is_name = |name: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_.+".contains(c);
            !name.trim().is_empty() && name.len() <= MOST_OF_A_NAME && name.chars().all(is_plain)
        };
        if let Some(odd) = self.variants.iter().find(|name| !is_name(name)) {
            return Err(Fault(format!(
                "'{}' is no name of a variant; use at most {MOST_OF_A_NAME} letters, digits, blanks and - _ . +",
                shown(odd)
            )));
        }
        let distinct: std::collections::BTreeSet<&String> = self.variants.iter().collect();
        match (distinct.len() == self.variants.len(), distinct.len() <= MOST_VARIANTS) {
            (false, _) => Err(Fault::new("two of its variants have one name")),
            (_, false) => Err(Fault(format!("it has more than {MOST_VARIANTS} variants"))),
            _ => Ok(()),
        }
    }
}

/// A round, as the guest gets it: a number, a variant, and what the variant is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request<'a> {
    /// Counts from 0.
    pub round: u64,
    /// The variant to be run once.
    pub variant: &'a str,
    /// For guests that the lab brings: what the variant is made of, each as text.
    #[serde(flatten)]
    pub factors: &'a BTreeMap<String, String>,
}

/// What a guest says of a round.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Answer {
    /// The round that it answers.
    pub round: u64,
    /// How long the work took, by the guest's own clock.
    #[serde(default)]
    pub time_ns: f64,
    /// From reading the request to writing the answer: the work, and what it needs before and after, such as threads and
    /// a checksum.
    pub busy_ns: Option<f64>,
    /// How many operations that were.
    #[serde(default = "one")]
    pub ops: u64,
    /// What the work came to: equal for equal results.
    pub checksum: Option<String>,
    /// Why there is no figure. The guest goes on.
    pub error: Option<String>,
    /// What else it says.
    #[serde(flatten)]
    more: Map<String, Value>,
}

fn one() -> u64 {
    1
}

impl Answer {
    /// Reads the line that answers round `round`, for which the lab has waited so long.
    ///
    /// # Errors
    /// It is none, answers another round, or says what cannot be.
    pub fn read(line: &str, round: u64, waited_ns: u64) -> Result<Answer, Fault> {
        let answer: Answer = serde_json::from_str(line).map_err(|error| {
            Fault(format!(
                "what it says is no answer ({error}): {}; it must be like {{\"round\": {round}, \"time_ns\": 1234}}",
                shown(line)
            ))
        })?;
        if answer.round != round {
            let other = answer.round;
            return Err(Fault(format!(
                "it answers round {other}, and was asked for round {round}"
            )));
        }
        if answer.error.is_some() {
            return Ok(answer);
        }
        let time_ns = answer.time_ns;
        if !time_ns.is_finite() || time_ns < 1.0 {
            return Err(Fault(format!(
                "round {round}: time_ns is {time_ns}, and must be 1 or more"
            )));
        }
        if answer.ops == 0 {
            return Err(Fault(format!("round {round}: ops is 0, and must be 1 or more")));
        }
        // Its clock may be another one, which goes faster or has longer steps.
        let longest_ns = waited_ns as f64 * 1.01 + 2e4;
        let busy_ns = answer.busy_ns.unwrap_or(time_ns);
        if !(time_ns..=longest_ns).contains(&busy_ns) {
            return Err(Fault(format!(
                "round {round}: it says that the work took {:.3} ms of {:.3} ms, and the answer came after {:.3} ms",
                time_ns / 1e6,
                busy_ns / 1e6,
                waited_ns as f64 / 1e6
            )));
        }
        Ok(answer)
    }

    /// A further figure of this name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.more.get(name)?.as_f64().filter(|number| number.is_finite())
    }

    /// A further text of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.more.get(name)?.as_str()
    }
}

/// What a command is called in messages: its program, also behind `env` and its settings.
pub(super) fn name_of<S: AsRef<OsStr>>(words: &[S]) -> String {
    let mut words = words.iter().map(|word| word.as_ref().to_string_lossy());
    let mut program = words.next().unwrap_or_default();
    if program == "env" {
        while let Some(word) = words.next() {
            if word == "-u" {
                words.next();
            } else if !word.contains('=') {
                program = word;
                break;
            }
        }
    }
    let name = Path::new(program.as_ref()).file_name().unwrap_or_default();
    shown(&name.to_string_lossy())
}

/// What a guest wrote, as a part of a message.
pub(super) fn shown(text: &str) -> String {
    foreign::shortened(&foreign::plain(text), 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(read: Result<T, Fault>, words: &str) {
        let why = read.unwrap_err().0;
        assert!(why.contains(words), "{why}");
    }

    #[test]
    fn greetings_are_read_or_refused() {
        let hello =
            Hello::read(r#"{"hocket-guest": 1, "variants": ["a", "b c"], "x": 2}"#).unwrap();
        assert_eq!(hello.variants, ["a", "b c"]);
        assert!(Hello::read(r#"{"hocket-guest": 1}"#).unwrap().variants.is_empty());
        refused(Hello::read("Welcome!\u{1b}[2J"), "\\u{1b}[2J; it must be like");
        refused(Hello::read("{}"), "hocket-guest");
        refused(Hello::read(r#"{"hocket-guest": 2}"#), "version 2");
        refused(Hello::read(r#"{"hocket-guest": 1, "variants": ["a", "a"]}"#), "one name");
        refused(Hello::read(r#"{"hocket-guest": 1, "variants": ["<a>"]}"#), "no name");
    }

    #[test]
    fn answers_are_read_or_refused() {
        let line = r#"{"round": 3, "time_ns": 1000, "checksum": "ab", "nice": -4, "jdk": "25"}"#;
        let answer = Answer::read(line, 3, 2000).unwrap();
        assert_eq!((answer.time_ns, answer.ops, answer.number("nice")), (1000.0, 1, Some(-4.0)));
        assert_eq!((answer.checksum.as_deref(), answer.text("jdk")), (Some("ab"), Some("25")));
        refused(Answer::read(line, 4, 2000), "round 3, and was asked for round 4");
        refused(Answer::read("7", 4, 2000), "no answer");
        refused(Answer::read(r#"{"round": 3}"#, 3, 2000), "time_ns is 0, and must be 1 or more");
        refused(Answer::read(r#"{"round": 3, "time_ns": 0.5}"#, 3, 2000), "time_ns is 0.5");
        refused(Answer::read(r#"{"round": 3, "time_ns": 1e999}"#, 3, 2000), "no answer");
        refused(Answer::read(r#"{"round": 3, "time_ns": 5, "ops": 0}"#, 3, 2000), "ops is 0");
        let error = Answer::read(r#"{"round": 3, "error": "no memory"}"#, 3, 9).unwrap().error;
        assert_eq!(error.as_deref(), Some("no memory"));
        let long = r#"{"round": 3, "time_ns": 5000000}"#;
        refused(Answer::read(long, 3, 2_000_000), "5.000 ms, and the answer came after 2.000 ms");
        refused(Answer::read(long, 3, 4_900_000), "the answer came after 4.900 ms");
        assert!(Answer::read(long, 3, 4_990_000).is_ok());
        let busy = |ns: &str| format!(r#"{{"round": 3, "time_ns": 1000, "busy_ns": {ns}}}"#);
        assert_eq!(Answer::read(&busy("1500"), 3, 2000).unwrap().busy_ns, Some(1500.0));
        refused(Answer::read(&busy("900"), 3, 2000), "0.001 ms of 0.001 ms");
        refused(Answer::read(&busy("9e9"), 3, 2000), "0.001 ms of 9000.000 ms");
    }

    #[test]
    fn programs_behind_env_have_their_own_names() {
        for (words, name) in [
            (&["/usr/bin/java", "-cp", "x"][..], "java"),
            (&["env", "-u", "A", "B=c", "/opt/bin/java", "D=e"], "java"),
            (&["env", "-u"], "env"),
            (&[], ""),
        ] {
            assert_eq!(name_of(words), name, "{words:?}");
        }
    }

    #[test]
    fn requests_are_one_line() {
        let factors = [("threads".into(), "2".into())].into_iter().collect();
        let request = Request { round: 7, variant: "two", factors: &factors };
        let line = serde_json::to_string(&request).unwrap();
        assert_eq!(line, r#"{"round":7,"variant":"two","threads":"2"}"#);
    }
}
