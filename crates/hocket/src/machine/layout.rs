//! Lines, lists and sizes of the text.

/// The widest line of the text where the terminal's width is not known.
pub(super) const WIDTH: usize = 100;

pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// `a, b, c` broken into lines that start with `indent`.
pub(super) fn wrap(out: &mut String, indent: usize, words: impl IntoIterator<Item = String>) {
    let margin = " ".repeat(indent);
    let mut current = margin.clone();
    for word in words {
        let used = current.chars().count();
        if used > indent && used + 1 + word.chars().count() > WIDTH {
            line(out, &current);
            current.clone_from(&margin);
        }
        if current.len() > indent {
            current.push(' ');
        }
        current.push_str(&word);
    }
    line(out, &current);
}

pub(super) fn prose(out: &mut String, indent: usize, text: &str) {
    wrap(out, indent, text.split_whitespace().map(String::from));
}

/// `1 core`, `2 cores`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(super) fn bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_048_576 => (1_u64 << 10, "KiB"),
        1_048_576..1_073_741_824 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let value = format!("{:.2}", bytes as f64 / unit as f64);
    format!("{} {name}", value.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes(512), "0.5 KiB");
        assert_eq!(bytes(32 << 10), "32 KiB");
        assert_eq!(bytes(3 << 19), "1.5 MiB");
        assert_eq!(bytes(5 << 18), "1.25 MiB");
        assert_eq!(bytes(30 << 30), "30 GiB");
    }
}
