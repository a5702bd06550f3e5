//! Numbers in sentences.

/// `1 line`, `3 lines`.
pub(crate) fn counted(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// `once`, `3 times`.
#[cfg(feature = "write")]
pub(crate) fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "line")), ["0 lines", "1 line", "2 lines"]);
        assert_eq!([0, 1, 2].map(times), ["0 times", "once", "2 times"]);
    }
}
