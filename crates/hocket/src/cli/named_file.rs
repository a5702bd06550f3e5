//! `NAME=FILE`: something of the session and a file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A name of the session and a file. Both may have an equals sign in them, so the session's names decide where the name
/// ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    text: String,
}

impl NamedFile {
    /// The name and the file: the longest name that is known, else what comes before the first equals sign.
    ///
    /// A file that would make a longer name can be written with its folder: `a=./b=x.wav`.
    pub fn split(&self, is_known: impl Fn(&str) -> bool) -> (&str, &Path) {
        let ways = || self.ways();
        let known = ways().filter(|(name, _)| is_known(name)).last();
        // There is one at least: `from_str` has seen it.
        let (name, file) = known.or_else(|| ways().next()).unwrap_or((&self.text, ""));
        (name, Path::new(file))
    }

    /// The same, as values.
    pub fn named(&self, is_known: impl Fn(&str) -> bool) -> (String, PathBuf) {
        let (name, file) = self.split(is_known);
        (name.to_owned(), file.to_owned())
    }

    /// From the shortest name to the longest.
    fn ways(&self) -> impl Iterator<Item = (&str, &str)> {
        let signs = self.text.match_indices('=').map(|(at, _)| at);
        let parts = signs.map(|at| (&self.text[..at], &self.text[at + 1..]));
        parts.filter(|(name, file)| !name.is_empty() && !file.is_empty())
    }
}

impl FromStr for NamedFile {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedFile, String> {
        let file = NamedFile { text: text.to_owned() };
        let is_whole = file.ways().next().is_some();
        let help = "write NAME=FILE, with a name of the session, such as master=take.wav";
        if is_whole { Ok(file) } else { Err(help.into()) }
    }
}

impl fmt::Display for NamedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, names: &[&str], name: &str, file: &str) {
        let parsed: NamedFile = text.parse().unwrap();
        assert_eq!(parsed.split(|name| names.contains(&name)), (name, Path::new(file)), "{text}");
        assert_eq!(parsed.to_string(), text);
    }

    #[test]
    fn the_names_of_the_session_decide_where_a_name_ends() {
        check("a=x.wav", &["a"], "a", "x.wav");
        check("a=b=x.wav", &["a"], "a", "b=x.wav");
        check("a=b=x.wav", &["a=b"], "a=b", "x.wav");
        check("a=b=x.wav", &["a", "a=b"], "a=b", "x.wav");
        check("a=./b=x.wav", &["a", "a=b"], "a", "./b=x.wav");
        check("c=b=x.wav", &["a"], "c", "b=x.wav");
        check("=a=x.wav", &["=a"], "=a", "x.wav");
        for wrong in ["x.wav", "a=", "=x.wav", "=", ""] {
            assert!(wrong.parse::<NamedFile>().is_err(), "{wrong}");
        }
    }
}
