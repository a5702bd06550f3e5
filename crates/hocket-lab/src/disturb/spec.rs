//! `preview,compute:2,compute:1@siblings` as data.

use std::fmt;
use std::str::FromStr;

/// What a disturber does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Computes the waveform preview of a large file, as the hosts of the 2009 thesis did.
    Preview,
    /// Computes correlations in the first-level cache, as the thesis' prototype did.
    Compute,
}

impl Load {
    /// What one piece of its work is.
    pub fn unit(self) -> &'static str {
        match self {
            Load::Preview => "pieces of 1600 bytes",
            Load::Compute => "correlations of 4096 frames",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Load::Preview => "preview",
            Load::Compute => "compute",
        }
    }
}

/// Where it may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// Where the kernel puts it.
    Anywhere,
    /// On the second and further seats of cores.
    Siblings,
    /// On the first seats of cores.
    FirstSeats,
    /// On one CPU.
    Cpu(u32),
}

/// Some equal disturbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisturbSpec {
    /// What they do.
    pub load: Load,
    /// How many.
    pub count: usize,
    /// Where.
    pub place: Where,
}

/// The most threads of one kind: enough for the largest machines, too few to lock one up.
const MAX_COUNT: usize = 256;

impl DisturbSpec {
    /// Reads a comma-separated list; `none` and the empty text are no disturbers.
    ///
    /// # Errors
    /// What is wrong and what is possible.
    pub fn parse_list(text: &str) -> Result<Vec<DisturbSpec>, String> {
        if matches!(text.trim(), "" | "none") {
            return Ok(Vec::new());
        }
        text.split(',').map(str::parse).collect()
    }

    pub(super) fn thread_name(&self, number: usize) -> String {
        let name = self.load.name();
        if self.count == 1 { name.to_owned() } else { format!("{name} {}", number + 1) }
    }
}

impl FromStr for DisturbSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what: &str| {
            format!(
                "disturber '{text}': {what}; write KIND[:COUNT][@PLACE] with KIND preview or compute, \
                 PLACE siblings, first-seats or cpuN, such as compute:2@siblings"
            )
        };
        let (what, place) = text.trim().split_once('@').unwrap_or((text.trim(), ""));
        let (kind, count) = what.split_once(':').unwrap_or((what, "1"));
        let load = match kind {
            "preview" => Load::Preview,
            "compute" => Load::Compute,
            _ => return Err(wrong("no such kind")),
        };
        let count: usize = count.parse().map_err(|_| wrong("the count is not a number"))?;
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(wrong("the count must be 1 to 256"));
        }
        let place = parse_place(place).ok_or_else(|| wrong("no such place"))?;
        Ok(DisturbSpec { load, count, place })
    }
}

fn parse_place(place: &str) -> Option<Where> {
    match place {
        "" => Some(Where::Anywhere),
        "siblings" => Some(Where::Siblings),
        "first-seats" => Some(Where::FirstSeats),
        _ => place.strip_prefix("cpu")?.parse().ok().map(Where::Cpu),
    }
}

impl fmt::Display for DisturbSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.load.name(), self.count)?;
        match self.place {
            Where::Anywhere => Ok(()),
            Where::Siblings => f.write_str("@siblings"),
            Where::FirstSeats => f.write_str("@first-seats"),
            Where::Cpu(cpu) => write!(f, "@cpu{cpu}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let specs = DisturbSpec::parse_list(text).unwrap();
        assert_eq!(specs.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lists_are_read() {
        check("", &[]);
        check("none", &[]);
        check("preview,compute:2", &["preview:1", "compute:2"]);
        check("compute:3@siblings, preview@cpu1", &["compute:3@siblings", "preview:1@cpu1"]);
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for text in ["disk", "compute:0", "compute:x", "compute:9999", "compute@moon", "preview,"] {
            let error = DisturbSpec::parse_list(text).unwrap_err();
            assert!(error.contains("KIND[:COUNT][@PLACE]"), "{text}: {error}");
        }
    }
}
