//! Names that a user typed.

use hocket_lab::experiments::{ALL, find, needs_a_program};
use hocket_lab::harness::Experiment;

use crate::failure::Failure;

/// The experiment of this id.
pub(super) fn experiment(id: &str) -> Result<&'static dyn Experiment, Failure> {
    find(id).ok_or_else(|| {
        let ids = ALL.iter().map(|experiment| experiment.about().id);
        let hint = nearest(id, ids);
        Failure::bad_input(format!(
            "there is no experiment '{id}'; {hint}`hocket lab list` lists them"
        ))
    })
}

/// The experiments of these ids, each once, the A/A experiment first; all where none is named, but those
/// that need a program.
pub(super) fn experiments(ids: &[String]) -> Result<Vec<&'static dyn Experiment>, Failure> {
    if ids.is_empty() {
        return Ok(ALL.iter().copied().filter(|it| !needs_a_program(*it)).collect());
    }
    let mut chosen = vec![ALL[0]];
    for id in ids {
        let experiment = experiment(id)?;
        if chosen.iter().all(|known| known.about().id != experiment.about().id) {
            chosen.push(experiment);
        }
    }
    Ok(chosen)
}

/// `did you mean 'x' or 'y'? `, or nothing where nothing is near.
pub(super) fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (distance(asked, name), name))
        .filter(|(far, name)| *far <= 2.max(name.len() / 3) || name.contains(asked))
        .collect();
    near.sort_unstable();
    let names: Vec<String> = near.iter().take(3).map(|(_, name)| format!("'{name}'")).collect();
    if names.is_empty() { String::new() } else { format!("did you mean {}? ", names.join(" or ")) }
}

/// Letters to add, leave out or exchange (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered() {
        assert_eq!(distance("kitten", "sitting"), 3);
        let names = ["false-sharing", "wake", "aa"];
        assert!(nearest("fals-sharing", names.into_iter()).contains("'false-sharing'"));
        assert!(nearest("sharing", names.into_iter()).contains("'false-sharing'"));
        assert_eq!(nearest("something-else", names.into_iter()), "");
    }
}
