//! The token that lets a page steer.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::failure::Failure;
use crate::output::tell;

/// Characters of a token: fewer could be tried one after another.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;
/// More than a token with line breaks around it.
const LARGEST_FILE: u64 = 1024;

/// Where the token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// Made anew for each run.
    Random,
    /// Its one line.
    File(PathBuf),
}

impl FromStr for TokenSource {
    type Err = String;

    /// A file that is called `random` can be written with its folder: `./random`.
    fn from_str(text: &str) -> Result<TokenSource, String> {
        match text {
            "" => Err("write random, or the name of a file".into()),
            "random" => Ok(TokenSource::Random),
            name => Ok(TokenSource::File(name.into())),
        }
    }
}

/// A secret that fits into an address.
pub(super) struct Token(String);

impl Token {
    /// `None`: too short, too long, or with other characters than letters, digits, `-` and `_`.
    pub(super) fn new(text: &str) -> Option<Token> {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_token = LENGTHS.contains(&text.len()) && text.bytes().all(is_known);
        is_token.then(|| Token(text.into()))
    }

    /// # Errors
    /// A file that cannot be read or holds no token: exit code 2. A system without random numbers: 3.
    pub(super) fn of(source: &TokenSource) -> Result<Token, Failure> {
        match source {
            TokenSource::Random => random::<16>().map(Token).ok_or_else(|| {
                Failure::not_possible(
                    "--web-token random: the system gives no random numbers; name a file",
                )
            }),
            TokenSource::File(path) => in_file(path).map_err(|why| {
                Failure::bad_input(format!("--web-token {}: {why}", path.display()))
            }),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Its time says nothing of how much was right.
    pub(super) fn is(&self, given: &str) -> bool {
        let pairs = self.0.bytes().zip(given.bytes());
        let differences = pairs.fold(0, |all, (own, given)| all | (own ^ given));
        self.0.len() == given.len() && differences == 0
    }
}

fn in_file(path: &Path) -> Result<Token, String> {
    let refused = |error: std::io::Error| {
        format!("{error}; name a file with a token, or give --web-token random")
    };
    let file = File::open(path).map_err(refused)?;
    let about = file.metadata().map_err(refused)?;
    let mut text = String::new();
    file.take(LARGEST_FILE).read_to_string(&mut text).map_err(refused)?;
    if about.is_file() && about.mode() & 0o077 != 0 {
        let path = path.display();
        tell(format_args!(
            "warning: --web-token {path}: other users can read it: chmod 600 {path}"
        ));
    }
    Token::new(text.trim()).ok_or_else(|| {
        format!(
            "it holds no token: write one line of {} to {} letters, digits, - and _",
            LENGTHS.start(),
            LENGTHS.end()
        )
    })
}

/// For one page.
pub(super) fn nonce() -> Option<String> {
    random::<16>()
}

/// Two digits for each byte. `None`: the system has none yet.
fn random<const BYTES: usize>() -> Option<String> {
    let mut bytes = [0; BYTES];
    let length = getrandom(&mut bytes[..], GetRandomFlags::empty()).ok()?;
    (length == BYTES).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fits_into_an_address_and_is_long() {
        for wrong in ["", "0123456789abcde", "0123456789abcde!", "0123456789 abcdef"] {
            assert!(Token::new(wrong).is_none(), "{wrong}");
        }
        let token = Token::new("0123456789-Abcde_").unwrap();
        assert!(token.is("0123456789-Abcde_"));
        for wrong in ["", "0123456789-Abcde", "0123456789-Abcde_0", "0123456789-abcde_"] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(Token::new(&"x".repeat(257)).is_none());
    }

    #[test]
    fn random_tokens_are_tokens_and_never_the_same() {
        let [one, other] = [(); 2].map(|()| Token::of(&TokenSource::Random).unwrap());
        assert!(Token::new(one.text()).is_some());
        assert!(!one.is(other.text()));
    }
}
