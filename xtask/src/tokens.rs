//! Rust source as names and signs, without comments, strings and character literals.
//!
//! Enough to ask where a keyword or a path stands; it does not parse the language.

/// A name or one sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// A name, or a single sign such as `:` or `{`.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
}

/// The tokens of `source` in order.
pub fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let mut cursor = Cursor { chars: &chars, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(sign) = cursor.peek(0) {
        let line = cursor.line;
        if let Some(text) = cursor.take(sign) {
            tokens.push(Token { text, line });
        }
    }
    tokens
}

struct Cursor<'a> {
    chars: &'a [char],
    at: usize,
    line: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn skip(&mut self, count: usize) {
        let end = (self.at + count).min(self.chars.len());
        self.line += self.chars[self.at..end].iter().filter(|sign| **sign == '\n').count();
        self.at = end;
    }

    fn skip_until(&mut self, mut stop: impl FnMut(&Self) -> bool) {
        while self.at < self.chars.len() && !stop(self) {
            self.skip(1);
        }
    }

    /// Takes what starts with `sign`; `None` for blanks, comments and literals.
    fn take(&mut self, sign: char) -> Option<String> {
        match (sign, self.peek(1)) {
            ('/', Some('/')) => self.skip_until(|cursor| cursor.peek(0) == Some('\n')),
            ('/', Some('*')) => self.skip_block_comment(),
            ('"', _) => self.skip_string(),
            ('\'', _) => self.skip_quote(),
            _ if sign.is_whitespace() => self.skip(1),
            _ if is_name(sign) => return self.take_name(),
            _ => {
                self.skip(1);
                return Some(sign.to_string());
            }
        }
        None
    }

    /// A name, or a literal behind a prefix such as `b"` or `r#"`.
    fn take_name(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_until(|cursor| !cursor.peek(0).is_some_and(is_name));
        let name: String = self.chars[start..self.at].iter().collect();
        let raw = matches!(name.as_str(), "r" | "br" | "cr");
        match self.peek(0) {
            Some('"') if raw => self.skip_raw_string(0),
            Some('#') if raw => return self.take_after_raw_prefix(),
            Some('"') if matches!(name.as_str(), "b" | "c") => self.skip_string(),
            Some('\'') if name == "b" => self.skip_quote(),
            _ => return Some(name),
        }
        None
    }

    /// Behind `r`: a raw string with hashes, or a raw name such as `r#type`.
    fn take_after_raw_prefix(&mut self) -> Option<String> {
        let hashes = self.chars[self.at..].iter().take_while(|sign| **sign == '#').count();
        self.skip(hashes);
        if self.peek(0) == Some('"') {
            self.skip_raw_string(hashes);
            return None;
        }
        self.take_name()
    }

    /// From the opening quote to the closing quote that is followed by `hashes` hashes.
    fn skip_raw_string(&mut self, hashes: usize) {
        self.skip(1);
        let closes = |cursor: &Self| {
            cursor.peek(0) == Some('"') && (1..=hashes).all(|n| cursor.peek(n) == Some('#'))
        };
        self.skip_until(closes);
        self.skip(1 + hashes);
    }

    fn skip_string(&mut self) {
        self.skip(1);
        while let Some(sign) = self.peek(0) {
            self.skip(if sign == '\\' { 2 } else { 1 });
            if sign == '"' {
                return;
            }
        }
    }

    /// A character literal, or the quote of a lifetime.
    fn skip_quote(&mut self) {
        if self.peek(1) == Some('\\') {
            self.skip(3);
            self.skip_until(|cursor| cursor.peek(0) == Some('\''));
            self.skip(1);
        } else if self.peek(2) == Some('\'') {
            self.skip(3);
        } else {
            self.skip(1);
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return,
                _ => {
                    self.skip(1);
                    continue;
                }
            }
            self.skip(2);
            if depth == 0 {
                return;
            }
        }
    }
}

fn is_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let texts: Vec<String> = tokens(source).into_iter().map(|token| token.text).collect();
        assert_eq!(texts.join(" "), expected, "{source}");
    }

    #[test]
    fn comments_are_left_out() {
        check("a // unsafe\nb /* x /* nested */ unsafe */ c /// doc", "a b c");
    }

    #[test]
    fn literals_are_left_out() {
        check(
            r##"a("unsafe \" still", b"x", r#"raw " x"#, r"\", 'u', '\'', '\u{41}')"##,
            "a ( , , , , , , )",
        );
    }

    #[test]
    fn lifetimes_and_raw_names_stay() {
        check("fn f<'a>(r#type: &'a str, r: u8)", "fn f < a > ( type : & a str , r : u8 )");
    }

    #[test]
    fn lines_count_through_literals_and_comments() {
        let found = tokens("/* 1\n2 */ \"3\n4\"\nhere");
        assert_eq!(found.last().map(|token| (token.text.as_str(), token.line)), Some(("here", 4)));
    }

    #[test]
    fn an_unfinished_file_ends() {
        check("a /* open", "a");
        check("a \"open", "a");
        check("a r#\"open", "a");
        check("a '\\", "a");
    }
}
