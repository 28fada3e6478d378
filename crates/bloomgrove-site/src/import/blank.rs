//! Names for blank nodes.

use std::collections::HashMap;

use oxigraph::model::NamedNode;
use xxhash_rust::xxh3::xxh3_128;

use crate::vocabulary::BLANK;

/// The blank nodes of one document, by their labels in it or from the parser. The parser uses random labels for nodes
/// without one, so the label cannot be the name.
pub(super) struct Blanks {
    hash: u128,
    numbers: HashMap<String, usize>,
}

impl Blanks {
    pub(super) fn new(document: &[u8]) -> Self {
        Self {
            hash: xxh3_128(document),
            numbers: HashMap::new(),
        }
    }

    /// The name of the node with this label.
    pub(super) fn name(&mut self, label: &str) -> NamedNode {
        let next = self.numbers.len();
        let number = match self.numbers.get(label) {
            Some(&number) => number,
            None => *self.numbers.entry(label.to_owned()).or_insert(next),
        };
        NamedNode::new_unchecked(format!("{BLANK}{:032x}:b{number}", self.hash))
    }
}
