//! CPU masks as text: hwloc's `0x0000ffff,,0x00000001` and `0xf...f,0x0000fff0`, and the kernel's `ffff,00000001`.
//!
//! Words of 32 bits, most significant first. An empty word is zero. `0xf...f` in front means that all higher bits are
//! set for ever. A word longer than eight digits (`taskset` style, no commas at all) is read as that many bits.

use crate::cpuset::{CpuSet, MAX_CPUS};

/// A mask that was read: the listed CPUs, and whether everything above them belongs to it as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    /// The CPUs below the infinite part.
    pub set: CpuSet,
    /// Whether the mask starts with `0xf...f`.
    pub infinite: bool,
    /// The first CPU of the infinite part.
    pub infinite_from: u32,
}

impl Mask {
    /// The members of this mask among `universe`.
    pub fn within(&self, universe: &CpuSet) -> CpuSet {
        let is_in =
            |cpu: &u32| self.set.contains(*cpu) || (self.infinite && *cpu >= self.infinite_from);
        universe.iter().filter(is_in).collect()
    }
}

/// Reads a mask; the error is the cause in words.
pub(crate) fn parse(text: &str) -> Result<Mask, String> {
    let text = text.trim();
    let (infinite, finite) = match strip_infinite(text) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if finite.is_empty() && !infinite {
        return Err("the CPU mask is empty text".into());
    }
    let mut set = CpuSet::new();
    let mut low = 0;
    for word in finite.rsplit(',').filter(|_| !finite.is_empty()) {
        low = add_word(&mut set, word, low)?;
    }
    Ok(Mask { set, infinite, infinite_from: low })
}

fn strip_infinite(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("0xf...f")?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(',') }
}

/// Adds the bits of one word that starts at CPU `low`; returns where the next word starts.
fn add_word(set: &mut CpuSet, word: &str, low: u32) -> Result<u32, String> {
    let word = word.trim();
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let bits = 4 * digits.len() as u64;
    if u64::from(low) + bits.max(32) > u64::from(MAX_CPUS) + 32 {
        return Err(format!("the CPU mask is longer than {MAX_CPUS} CPUs"));
    }
    for (place, digit) in digits.bytes().rev().enumerate() {
        let value = (digit as char).to_digit(16).ok_or_else(|| not_hexadecimal(word))?;
        add_digit(set, value, low + 4 * place as u32)?;
    }
    Ok(low + 32 * (bits.div_ceil(32).max(1)) as u32)
}

fn add_digit(set: &mut CpuSet, digit: u32, low: u32) -> Result<(), String> {
    let mut bits = (0..4).filter(|bit| digit >> bit & 1 == 1);
    match bits.all(|bit| set.insert(low + bit)) {
        true => Ok(()),
        false => Err(format!("the CPU mask names a CPU from {MAX_CPUS} on")),
    }
}

fn not_hexadecimal(word: &str) -> String {
    let shown: String = word.chars().take(24).collect();
    format!("`{shown}` in the CPU mask is not a hexadecimal word")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finite(text: &str, list: &str) {
        let mask = parse(text).expect(text);
        assert!(!mask.infinite);
        assert_eq!(mask.set, list.parse().expect(list), "{text}");
    }

    #[test]
    fn finite_masks_in_every_spelling() {
        finite("0x000000f1", "0,4-7");
        finite("0x0", "");
        finite("00000000,00000003", "0-1");
        finite(
            "0x00000303,0x03030000,,0x03030303",
            "0-1,8-9,16-17,24-25,80-81,88-89,96-97,104-105",
        );
        finite("ff,,1", "0,64-71");
        finite("0xffffffffff", "0-39");
        finite("fff", "0-11");
    }

    #[test]
    fn infinite_masks_cover_what_exists() {
        let universe: CpuSet = "0-100".parse().expect("list");
        let all = parse("0xf...f").expect("infinite");
        assert_eq!(all.within(&universe), universe);
        let most = parse("0xf...f,0x0000fff0").expect("infinite");
        assert_eq!(most.within(&universe), "4-15,32-100".parse().expect("list"));
    }

    #[test]
    fn nonsense_masks_are_refused() {
        for text in ["", "  ", "banana", "0xg", "0x1,0xf...f", "-1", "0x00000001;2", "0xf...fx"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"ffffffff,".repeat(20_000)).is_err());
        assert!(parse(&"f".repeat(100_000)).is_err());
    }
}
