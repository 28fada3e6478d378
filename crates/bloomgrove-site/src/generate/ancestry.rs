//! The length of histories: counts the ancestors of documents.

use bloomgrove_client::api::EventKind;

use super::Step;

/// The document was not made by an event.
const NONE: u32 = u32::MAX;

/// The history of one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Number of documents that it was made from, directly or indirectly.
    pub ancestors: u64,
    /// Length of the longest path back, in events.
    pub steps: u64,
    /// Number of sites that made, used, sent or received it or its ancestors.
    pub sites: u64,
}

/// Which documents were made from which.
#[derive(Debug, Default)]
pub struct Ancestry {
    /// Per document: the event that made it.
    made_by: Vec<u32>,
    /// Per document: the length of the longest path back, in events.
    steps: Vec<u32>,
    /// Per event, numbered as in `made_by`: its inputs.
    inputs: Vec<Vec<u32>>,
    /// Per document: the sites that know it.
    sites: Vec<Vec<u16>>,
}

impl Ancestry {
    /// The ancestry of all these steps, which are in chronological order.
    #[must_use]
    pub fn new(steps: impl Iterator<Item = Step>) -> Self {
        let mut ancestry = Self::default();
        for step in steps {
            ancestry.add(&step);
        }
        ancestry
    }

    fn add(&mut self, step: &Step) {
        let site = step.site as u16;
        for &input in &step.inputs {
            let sites = &mut self.sites[input as usize];
            if !sites.contains(&site) {
                sites.push(site);
            }
        }
        if step.outputs.is_empty() {
            return;
        }
        let event = self.inputs.len() as u32;
        let depths = step.inputs.iter().map(|&input| self.steps[input as usize]);
        let depth = depths.max().unwrap_or(0) + 1;
        for _ in &step.outputs {
            let created = step.kind == EventKind::Created;
            self.made_by.push(if created { NONE } else { event });
            self.steps.push(depth);
            self.sites.push(vec![site]);
        }
        self.inputs.push(step.inputs.clone());
    }

    /// Number of documents.
    #[must_use]
    pub fn documents(&self) -> u32 {
        self.made_by.len() as u32
    }

    /// Length of the longest path back from a document in events, including the one that made it.
    #[must_use]
    pub fn steps(&self, document: u32) -> u32 {
        self.steps[document as usize]
    }

    /// The ancestors of a document, itself first.
    #[must_use]
    pub fn ancestors(&self, document: u32) -> Vec<u32> {
        let mut found = vec![document];
        let mut seen = std::collections::HashSet::from([document]);
        let mut next = 0;
        while let Some(&document) = found.get(next) {
            next += 1;
            let event = self.made_by[document as usize];
            if event == NONE {
                continue;
            }
            for &input in &self.inputs[event as usize] {
                if seen.insert(input) {
                    found.push(input);
                }
            }
        }
        found
    }

    /// The history of a document.
    #[must_use]
    pub fn history(&self, document: u32) -> History {
        let all = self.ancestors(document);
        let sites = all.iter().flat_map(|&one| &self.sites[one as usize]);
        let mut sites: Vec<u16> = sites.copied().collect();
        sites.sort_unstable();
        sites.dedup();
        History {
            ancestors: all.len() as u64 - 1,
            steps: self.steps(document).into(),
            sites: sites.len() as u64,
        }
    }
}
