//! A set of operating-system CPU numbers.
//!
//! The set grows as needed, keeps no trailing zero words (so two equal sets compare equal), and refuses numbers from
//! [`MAX_CPUS`] on: no kernel hands those out, and a file that names one is damaged.

use std::fmt;
use std::str::FromStr;

/// One more than the largest CPU number a set holds. Linux is built for at most 8192 CPUs.
pub const MAX_CPUS: u32 = 16_384;

const BITS: u32 = u64::BITS;

/// A growable set of logical CPUs, by the number the operating system gives them.
///
/// Cost: one bit per CPU up to the largest member; every operation is linear in that.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    // Invariant: the last word is not zero.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The set of one CPU; empty if `cpu` is not below [`MAX_CPUS`].
    pub fn single(cpu: u32) -> Self {
        let mut set = Self::new();
        set.insert(cpu);
        set
    }

    /// Adds `cpu`. Returns false, and changes nothing, if `cpu` is not below [`MAX_CPUS`].
    pub fn insert(&mut self, cpu: u32) -> bool {
        if cpu >= MAX_CPUS {
            return false;
        }
        let word = (cpu / BITS) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % BITS);
        true
    }

    /// Removes `cpu`. Returns whether it was in the set.
    pub fn remove(&mut self, cpu: u32) -> bool {
        let had = self.contains(cpu);
        if had {
            self.words[(cpu / BITS) as usize] &= !(1 << (cpu % BITS));
            self.trim();
        }
        had
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        let word = self.words.get((cpu / BITS) as usize);
        word.is_some_and(|w| w >> (cpu % BITS) & 1 == 1)
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The smallest member.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The largest member.
    pub fn last(&self) -> Option<u32> {
        let top = *self.words.last()?;
        Some((self.words.len() as u32 - 1) * BITS + (BITS - 1 - top.leading_zeros()))
    }

    /// The members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(i as u32 * BITS + bit)
            })
        })
    }

    /// The members of either set.
    pub fn union(&self, other: &Self) -> Self {
        let longest = self.words.len().max(other.words.len());
        self.combine(other, longest, |a, b| a | b)
    }

    /// The members of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let shortest = self.words.len().min(other.words.len());
        self.combine(other, shortest, |a, b| a & b)
    }

    /// The members of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, self.words.len(), |a, b| a & !b)
    }

    /// Whether every member is also in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// Whether the two sets share a member.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// Reads a kernel CPU mask: hexadecimal words of 32 bits, most significant first, separated by commas.
    ///
    /// # Errors
    /// The cause, in words, if the text is not such a mask or names a CPU from [`MAX_CPUS`] on.
    pub fn parse_mask(text: &str) -> Result<Self, String> {
        let parsed = crate::topology::bitmap::parse(text)?;
        if parsed.infinite {
            return Err(format!("the mask `{text}` has no end"));
        }
        Ok(parsed.set)
    }

    /// The little-endian bytes of the mask, as system calls expect them, padded to at least `len` bytes.
    pub(crate) fn to_mask_bytes(&self, len: usize) -> Vec<u8> {
        let words = self.words.len().max(len.div_ceil(8)).max(1);
        let word = |i: usize| self.words.get(i).copied().unwrap_or(0);
        (0..words).flat_map(|i| word(i).to_ne_bytes()).collect()
    }

    /// The set written by a system call into `bytes`: native words of 64 bits.
    pub(crate) fn from_mask_bytes(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let mut set = Self { words: words.iter().map(|w| u64::from_ne_bytes(*w)).collect() };
        set.words.truncate((MAX_CPUS / BITS) as usize);
        set.trim();
        set
    }

    fn combine(&self, other: &Self, len: usize, op: impl Fn(u64, u64) -> u64) -> Self {
        let word = |words: &[u64], i: usize| words.get(i).copied().unwrap_or(0);
        let words = (0..len).map(|i| op(word(&self.words, i), word(&other.words, i)));
        let mut set = Self { words: words.collect() };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<u32> for CpuSet {
    /// Collects CPU numbers; those from [`MAX_CPUS`] on are left out.
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        set.extend(cpus);
        set
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl fmt::Display for CpuSet {
    /// The kernel's list form: `0-3,8,10-11`; `none` for the empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let mut separator = "";
        let mut cpus = self.iter().peekable();
        while let Some(start) = cpus.next() {
            let mut end = start;
            while cpus.next_if_eq(&(end + 1)).is_some() {
                end += 1;
            }
            write!(f, "{separator}{start}")?;
            if end > start {
                write!(f, "-{end}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl serde::Serialize for CpuSet {
    /// A list of numbers, smallest first.
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.iter())
    }
}

impl FromStr for CpuSet {
    type Err = String;

    /// Reads the kernel's list form: `0-3,8,10-11`; blank text is the empty set.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::new();
        for part in text.trim().split(',').filter(|p| !p.trim().is_empty()) {
            let (start, end) = parse_range(part.trim())?;
            set.extend(start..=end);
        }
        Ok(set)
    }
}

fn parse_range(part: &str) -> Result<(u32, u32), String> {
    let (start, end) = part.split_once('-').unwrap_or((part, part));
    let number = |s: &str| s.trim().parse::<u32>().ok().filter(|&cpu| cpu < MAX_CPUS);
    match (number(start), number(end)) {
        (Some(start), Some(end)) if start <= end => Ok((start, end)),
        _ => Err(format!("`{part}` is not a CPU number or a range of them below {MAX_CPUS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().expect("a CPU list")
    }

    #[test]
    fn lists_are_written_as_they_are_read() {
        for list in ["0", "0-3", "0-3,8,10-11", "63-64", "127,8191", "16383"] {
            assert_eq!(set(list).to_string(), list);
        }
        assert_eq!(set("").to_string(), "none");
        assert_eq!(set("3,1,2,0"), set("0-3"));
    }

    #[test]
    fn nonsense_lists_are_refused() {
        for list in ["x", "3-1", "-1", "1-", "99999999999", "0-16384", "0x3"] {
            assert!(list.parse::<CpuSet>().is_err(), "{list}");
        }
    }

    #[test]
    fn removing_keeps_equality() {
        let mut a = set("1,900");
        assert!(a.remove(900) && !a.remove(900) && !a.remove(5));
        assert_eq!(a, CpuSet::single(1));
        assert!(!a.insert(MAX_CPUS));
    }

    #[test]
    fn set_algebra_agrees_with_membership() {
        let (a, b) = (set("0-70,200"), set("64-130"));
        for cpu in 0..260 {
            let (in_a, in_b) = (a.contains(cpu), b.contains(cpu));
            assert_eq!(a.union(&b).contains(cpu), in_a || in_b);
            assert_eq!(a.intersection(&b).contains(cpu), in_a && in_b);
            assert_eq!(a.difference(&b).contains(cpu), in_a && !in_b);
        }
        assert!(set("64-70").is_subset(&a) && a.intersects(&b));
        assert_eq!((a.first(), a.last(), a.len()), (Some(0), Some(200), 72));
    }

    #[test]
    fn masks_survive_the_system_call_form() {
        let a = set("0,63-65,130");
        assert_eq!(CpuSet::from_mask_bytes(&a.to_mask_bytes(128)), a);
        assert_eq!(a.to_mask_bytes(128).len(), 128);
    }
}
