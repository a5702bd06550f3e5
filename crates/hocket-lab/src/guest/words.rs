//! A command line as a list of words.

/// Why a text is no command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// It has no words.
    #[error("there is no command; name a program, as in \"./program 7\"")]
    Empty,
    /// A quote does not end.
    #[error("a quote ({0}) does not end; close it")]
    Open(char),
}

/// The words of a command line: separated by blanks; quotes, single or double, hold a word together and end with it.
/// Nothing else has a meaning: no variables, no pipes. `sh -c '...'` is for those.
///
/// # Errors
/// [`WordsError`].
pub fn of(text: &str) -> Result<Vec<String>, WordsError> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (c, open) {
            ('\'' | '"', None) => {
                open = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(quote)) if c == quote => open = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (open, words.first().is_none_or(String::is_empty)) {
        (Some(quote), _) => Err(WordsError::Open(quote)),
        (None, true) => Err(WordsError::Empty),
        (None, false) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together_and_nothing_else_has_a_meaning() {
        for (text, expected) in [
            ("xz", vec!["xz"]),
            ("  xz  -T 2\tfile ", vec!["xz", "-T", "2", "file"]),
            ("sh -c 'echo \"a b\"'", vec!["sh", "-c", "echo \"a b\""]),
            ("a\"b c\"d '' $HOME|x", vec!["ab cd", "", "$HOME|x"]),
        ] {
            assert_eq!(of(text).unwrap(), expected, "{text}");
        }
        for text in ["", " \n", "''"] {
            assert_eq!(of(text), Err(WordsError::Empty), "{text}");
        }
        assert_eq!(of("a 'b"), Err(WordsError::Open('\'')));
        assert_eq!(of("a 'b\" c"), Err(WordsError::Open('\'')));
    }
}
