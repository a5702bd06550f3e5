//! "Did you mean ...?"

/// The candidate that a person most likely meant by `word`, if any is near.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = plain(word);
    let allowed = word.len().div_ceil(3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Longer words are no misspelling of anything; the cut keeps the cost small.
const LONGEST: usize = 64;

fn plain(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).take(LONGEST).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// `'a', 'b' and 'c'`.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("'{word}'")).collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(nearest(word, ["gain_db", "pan", "fade_in_s", "output"]), expected, "{word}");
    }

    #[test]
    fn slips_find_their_word() {
        check("gian_db", Some("gain_db"));
        check("gain_DB", Some("gain_db"));
        check("gaindb", Some("gain_db"));
        check("gain", Some("gain_db"));
        check("fade-in-s", Some("fade_in_s"));
        check("outptu", Some("output"));
        check("pam", Some("pan"));
    }

    #[test]
    fn other_words_find_none() {
        check("reverb", None);
        check("", None);
        check(&"x".repeat(100_000), None);
    }

    #[test]
    fn lists_read_as_a_sentence() {
        assert_eq!(list([]), "none");
        assert_eq!(list(["a"]), "'a'");
        assert_eq!(list(["a", "b", "c"]), "'a', 'b' and 'c'");
    }
}
