//! Names of parameters in sessions, made from titles.

use std::collections::HashSet;

use crate::description::session_name;

/// `Output Gain (dB)` becomes `output_gain_db`.
pub fn readable(title: &str, id: u32) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    if words.is_empty() { format!("param_{id}") } else { session_name(&words.join("_")) }
}

/// The second parameter of a name gets a number.
pub fn unique(name: &str, names: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut free =
        std::iter::once(name.to_string()).chain(numbered).filter(|name| !names.contains(name));
    let name = free.next().unwrap_or_default();
    names.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_and_each_is_there_once() {
        let mut names = HashSet::new();
        let mut name = |title: &str| unique(&readable(title, 7), &mut names);
        assert_eq!(name("Output Gain (dB)"), "output_gain_db");
        assert_eq!(name("Output gain [dB]"), "output_gain_db_2");
        assert_eq!(name("%"), "param_7");
    }
}
