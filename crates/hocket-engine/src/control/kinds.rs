//! Kinds of nodes: names for counts by kind.

use std::sync::{Mutex, PoisonError};

use crate::block::part_counts::{MOST_KINDS, OTHERS};
use crate::block::probe::SUMS;

/// The kinds of all nodes that an engine has had, each with its number.
#[derive(Debug)]
pub(crate) struct Kinds(Mutex<Vec<String>>);

impl Default for Kinds {
    fn default() -> Self {
        Kinds(Mutex::new(vec![NAME_OF_SUMS.into()]))
    }
}

/// What comes before a chain's nodes, see [`SUMS`].
const NAME_OF_SUMS: &str = "sums";
const _: () = assert!(SUMS == 0);

impl Kinds {
    /// The number of the kind of the node with this name.
    ///
    /// Thread: control; takes a lock and allocates.
    pub(crate) fn number(&self, node: &str) -> u16 {
        let kind = kind(node);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter().position(|known| known == kind) {
            Some(number) => number as u16,
            None if all.len() + 1 < MOST_KINDS => {
                all.push(kind.into());
                all.len() as u16 - 1
            }
            None => OTHERS,
        }
    }

    /// The name of a kind.
    ///
    /// Thread: control; takes a lock and allocates.
    pub(crate) fn name(&self, number: usize) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(number).map_or_else(|| "others".into(), Clone::clone)
    }
}

/// `vocals: eq` is an `eq`. A node without a strip is a kind of its own.
fn kind(node: &str) -> &str {
    if node.contains(": send to ") {
        return "send";
    }
    node.rsplit_once(": ").map_or(node, |(_, step)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_one_kind_have_one_number_and_a_name() {
        let kinds = Kinds::default();
        let eq = kinds.number("vocals: eq");
        assert_eq!(kinds.number("a: strange: name: eq"), eq);
        assert_ne!(kinds.number("vocals: fader"), eq);
        assert_eq!(kinds.name(usize::from(eq)), "eq");
        assert_eq!(kinds.name(usize::from(SUMS)), "sums");
        let send = kinds.number("vocals: send to room: large");
        assert_eq!(kinds.name(usize::from(send)), "send");
        assert_eq!(kinds.name(usize::from(kinds.number("load"))), "load");
    }

    #[test]
    fn kinds_without_room_are_counted_together() {
        let kinds = Kinds::default();
        let numbers: Vec<u16> = (0..300).map(|it| kinds.number(&format!("x: {it}"))).collect();
        assert_eq!(numbers[..3], [1, 2, 3]);
        assert_eq!(numbers[299], OTHERS);
        assert!(numbers.iter().filter(|it| **it == OTHERS).count() > 100);
        assert_eq!(kinds.name(usize::from(OTHERS)), "others");
        assert_eq!(kinds.name(usize::from(OTHERS) - 1), "125");
    }
}
