//! Countdowns that arrive at countdowns.

use hocket_rt::{Countdown, Padded, Signal, Wait, Waited};

use super::Meeting;

/// A combining tree: a few threads meet at each leaf, the last one of each leaf goes on to meet those of the other
/// leaves, and so on. On the way back each releases those who wait where it was last.
///
/// With leaves for two it is the pair barrier: partners of a core meet first, over the cache that they share, and
/// one of them meets the other cores.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    parties: usize,
    leaf_size: usize,
}

#[derive(Debug)]
struct Node {
    arrivals: Padded<Countdown>,
    release: Signal,
    /// `None`: the root.
    parent: Option<usize>,
}

impl Tree {
    /// For `parties` threads (at least one), at most `fan_in` (at least two) at a node.
    pub fn new(parties: usize, fan_in: usize) -> Tree {
        Tree::with_fan_ins(parties, fan_in, fan_in)
    }

    /// The pair barrier: two at a leaf, all leaves at the root.
    pub fn pairs(parties: usize) -> Tree {
        Tree::with_fan_ins(parties, 2, parties.max(2))
    }

    fn with_fan_ins(parties: usize, leaf_size: usize, fan_in: usize) -> Tree {
        let (parties, leaf_size, fan_in) = (parties.max(1), leaf_size.max(2), fan_in.max(2));
        let mut nodes = Vec::new();
        let (mut arriving, mut size, mut level) = (parties, leaf_size, 0);
        loop {
            let here = arriving.div_ceil(size);
            let above = level + here;
            nodes.extend((0..here).map(|node| {
                let parent = (here > 1).then_some(above + node / fan_in);
                Node::new(size.min(arriving - node * size), parent)
            }));
            if here == 1 {
                return Tree { nodes, parties, leaf_size };
            }
            (arriving, size, level) = (here, fan_in, above);
        }
    }

    /// One node on the way to the root and, for the last to arrive, all above it.
    fn meet_at(&self, node: usize, wait: &Wait) -> Waited {
        let node = &self.nodes[node];
        // Before we arrive: afterwards the round may end at any time.
        let round = node.release.value();
        if !node.arrivals.arrive() {
            return node.release.wait_past(round, wait).1;
        }
        let waited = node.parent.map_or(Waited::default(), |parent| self.meet_at(parent, wait));
        // Before the release: afterwards others arrive again.
        node.arrivals.reset();
        node.release.advance();
        waited
    }
}

impl Node {
    fn new(arriving: usize, parent: Option<usize>) -> Node {
        Node { arrivals: Padded(Countdown::new(arriving as u32)), release: Signal::new(), parent }
    }
}

impl Meeting for Tree {
    fn meet(&self, number: usize, wait: &Wait) -> Waited {
        assert!(number < self.parties, "there is no thread {number} at this barrier");
        self.meet_at(number / self.leaf_size, wait)
    }

    fn parties(&self) -> usize {
        self.parties
    }
}
