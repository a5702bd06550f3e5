//! Which way the signal takes from one node to another.

use std::collections::VecDeque;

use super::NodeId;

/// The shortest path of the signal from `from` to `to`, with both ends; `None` if there is none. `reads` returns the
/// sources of a node, and every node is below `nodes`.
///
/// With an edge from `to` to `from` such a path would be a cycle. Of several shortest paths it takes that whose edges come
/// first.
///
/// Thread: control; allocates. Cost: O(nodes + edges).
pub fn shortest_path<I: IntoIterator<Item = NodeId>>(
    nodes: usize,
    (from, to): (NodeId, NodeId),
    reads: impl Fn(NodeId) -> I,
) -> Option<Vec<NodeId>> {
    // Where the signal goes next on its way to `to`, for each node that was found. The search goes upstream.
    let mut next: Vec<Option<NodeId>> = vec![None; nodes];
    next[to.index()] = Some(to);
    let mut open = VecDeque::from([to]);
    while next[from.index()].is_none() {
        let reader = open.pop_front()?;
        for source in reads(reader) {
            if next[source.index()].is_none() {
                next[source.index()] = Some(reader);
                open.push_back(source);
            }
        }
    }
    let downstream = |node: &NodeId| next[node.index()].filter(|_| *node != to);
    Some(std::iter::successors(Some(from), downstream).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path among nodes, of which each reads those of its row.
    fn path(from: u32, to: u32, reads: &[&[u32]]) -> Option<Vec<u32>> {
        let sources = |node: NodeId| reads[node.index()].iter().map(|source| NodeId(*source));
        let path = shortest_path(reads.len(), (NodeId(from), NodeId(to)), sources)?;
        Some(path.into_iter().map(|node| node.0).collect())
    }

    #[test]
    fn it_is_the_shortest_and_in_the_direction_of_the_signal() {
        // 0 -> 1 -> 2 -> 3, 0 -> 4 -> 3.
        let reads: &[&[u32]] = &[&[], &[0], &[1], &[2, 4], &[0]];
        assert_eq!(path(0, 3, reads), Some(vec![0, 4, 3]));
        assert_eq!(path(1, 3, reads), Some(vec![1, 2, 3]));
        assert_eq!(path(2, 2, reads), Some(vec![2]));
    }

    #[test]
    fn there_is_none_against_the_signal_or_beside_it() {
        let reads: &[&[u32]] = &[&[], &[0], &[0], &[2]];
        assert_eq!([path(3, 0, reads), path(1, 3, reads)], [None, None]);
    }

    #[test]
    fn a_cycle_that_is_there_does_not_hold_it_up() {
        let reads: &[&[u32]] = &[&[], &[0, 2], &[1], &[2]];
        assert_eq!(path(0, 3, reads), Some(vec![0, 1, 2, 3]));
        assert_eq!(path(3, 1, reads), None);
    }
}
