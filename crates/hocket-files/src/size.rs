//! Sizes of files for people.

/// A number of bytes for people: `23.4 MB`. Units are powers of 1000.
pub fn readable(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!([999, 1_000, 2_345_678].map(readable), ["999 bytes", "1 kB", "2.3 MB"]);
    }
}
