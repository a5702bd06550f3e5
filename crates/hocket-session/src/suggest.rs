//! "Did you mean ...?"

/// The candidate that a person most likely meant by `word`, if any is near.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let mut search = Search::new(word);
    candidates.into_iter().for_each(|candidate| search.look_at(&plain(candidate), candidate));
    search.found
}

/// Words that are looked through again and again.
#[derive(Debug)]
pub(crate) struct Words(Vec<(Vec<char>, String)>);

impl Words {
    pub(crate) fn new(words: Vec<String>) -> Words {
        Words(words.into_iter().map(|word| (plain(&word), word)).collect())
    }

    /// As [`nearest`].
    pub(crate) fn nearest(&self, word: &str) -> Option<&str> {
        let mut search = Search::new(word);
        self.0.iter().for_each(|(plain, word)| search.look_at(plain, word));
        search.found
    }
}

/// The search for the word that is nearest to another one.
struct Search<'a> {
    word: Vec<char>,
    /// How far from it the next one may be: nearer than the one that was found. `None`: that is the word itself.
    allowed: Option<usize>,
    found: Option<&'a str>,
}

impl<'a> Search<'a> {
    fn new(word: &str) -> Search<'a> {
        let word = plain(word);
        let allowed = Some(word.len().div_ceil(3).clamp(1, 4));
        Search { word, allowed, found: None }
    }

    fn look_at(&mut self, plain: &[char], candidate: &'a str) {
        let Some(allowed) = self.allowed else { return };
        if let Some(distance) = distance(&self.word, plain, allowed) {
            (self.allowed, self.found) = (distance.checked_sub(1), Some(candidate));
        }
    }
}

/// Longer words are no misspelling of anything; the cut keeps the cost small.
const LONGEST: usize = 64;

fn plain(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).take(LONGEST).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours between two words; `None` if they are more than `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    // Folders have thousands of names, and most of them differ in length or at the beginning.
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let width = b.len() + 1;
    let mut rows = [[0; LONGEST + 1]; 3];
    (0..width).for_each(|j| rows[0][j] = j);
    for i in 1..=a.len() {
        let (before, last, own) = ((i + 1) % 3, (i + 2) % 3, i % 3);
        rows[own][0] = i;
        let mut least = i;
        for j in 1..width {
            let replaced = rows[last][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[last][j] + 1).min(rows[own][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[before][j - 2] + 1);
            }
            rows[own][j] = best;
            least = least.min(best);
        }
        // Later rows are no smaller, but for a swap, which takes one from two rows before.
        if least > most + 1 {
            return None;
        }
    }
    let found = rows[a.len() % 3][b.len()];
    (found <= most).then_some(found)
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

    /// The search allows less and less; it finds what a search of all finds.
    #[test]
    fn of_many_similar_words_the_first_of_the_nearest_is_found() {
        let words: Vec<String> = (0..2000).map(|number| format!("take {number:04}.wav")).collect();
        let all = Words::new(words.clone());
        for word in [
            "take 17.wav",
            "take 0001.wav",
            "take 1999x.wav",
            "tkae 0815.flac",
            "take 20000.wav",
            "mix",
        ] {
            let letters = plain(word);
            let most = letters.len().div_ceil(3).clamp(1, 4);
            let distances = words.iter().map(|other| distance(&letters, &plain(other), most));
            let near =
                distances.zip(&words).filter_map(|(distance, other)| Some((distance?, other)));
            let expected =
                near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other.as_str());
            assert_eq!(all.nearest(word), expected, "{word}");
            assert_eq!(nearest(word, words.iter().map(String::as_str)), expected, "{word}");
        }
    }
}
