//! The result of a single store with all events: the lineage of a document, computed from the steps.
//!
//! It shares no code with the sites except the names of documents and events, so that it does not
//! repeat their mistakes.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use bloomgrove_client::api::{Link, Node, Relation, Trace};
use bloomgrove_site::event;
use bloomgrove_site::generate::{Step, Workload};

/// All steps, and what is known of each document.
pub(super) struct Truth {
    pub(super) workload: Workload,
    pub(super) steps: Vec<Step>,
    /// By document: the step that made it.
    made_by: Vec<u64>,
    /// By document: the steps in which it was sent or received.
    transfers: Vec<Vec<u64>>,
}

/// The lineage of a document.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Whole {
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) links: BTreeSet<Link>,
}

impl Truth {
    pub(super) fn new(workload: Workload) -> Self {
        let steps: Vec<Step> = workload.steps().collect();
        let (mut made_by, mut transfers) = (Vec::new(), Vec::<Vec<u64>>::new());
        for step in &steps {
            for _ in &step.outputs {
                made_by.push(step.number);
                transfers.push(Vec::new());
            }
            if step.peer.is_some() {
                for &input in &step.inputs {
                    transfers[input as usize].push(step.number);
                }
            }
        }
        Self {
            workload,
            steps,
            made_by,
            transfers,
        }
    }

    /// The number of ids that each site knows.
    pub(super) fn ids(&self) -> Vec<u64> {
        let mut known = vec![HashSet::<u32>::new(); self.workload.sites as usize];
        let mut events = vec![0; self.workload.sites as usize];
        for step in &self.steps {
            let site = step.site as usize;
            events[site] += 1;
            known[site].extend(step.inputs.iter().chain(&step.outputs));
        }
        let all = known.iter().zip(events);
        all.map(|(known, events)| known.len() as u64 + events)
            .collect()
    }

    /// The lineage of a document, up to this many links.
    pub(super) fn lineage(&self, document: u32, depth: Option<u32>) -> Whole {
        let mut whole = Whole::default();
        // Documents and steps with their distances, nearest first.
        let mut waiting = VecDeque::from([(Some(document), None, 0)]);
        let mut seen = HashSet::from([(Some(document), None)]);
        while let Some((document, step, distance)) = waiting.pop_front() {
            let node = match (document, step) {
                (Some(document), _) => Node {
                    id: self.workload.document(document),
                    ..Node::default()
                },
                (_, Some(step)) => self.event(step),
                _ => continue,
            };
            let id = node.id.clone();
            whole.nodes.insert(id.clone(), node);
            if depth.is_some_and(|depth| distance >= depth) {
                continue;
            }
            let mut reach = |document: Option<u32>, step: Option<u64>, relation: Relation| {
                let cause = match (document, step) {
                    (Some(document), _) => self.workload.document(document),
                    (_, step) => self.workload.event(step.unwrap_or_default()),
                };
                whole.links.insert(Link {
                    effect: id.clone(),
                    relation,
                    cause,
                });
                if seen.insert((document, step)) {
                    waiting.push_back((document, step, distance + 1));
                }
            };
            if let Some(document) = document {
                let made_by = self.made_by[document as usize];
                reach(None, Some(made_by), Relation::GeneratedBy);
                for &transfer in &self.transfers[document as usize] {
                    reach(None, Some(transfer), Relation::TransferredBy);
                }
            } else if let Some(step) = step.map(|step| &self.steps[step as usize])
                && step.peer.is_none()
            {
                for &input in &step.inputs {
                    reach(Some(input), None, Relation::Used);
                }
            }
        }
        whole
    }

    fn event(&self, number: u64) -> Node {
        let step = &self.steps[number as usize];
        let kind = event::name(step.kind);
        let seconds = step.time / 1000;
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let day = self.workload.day;
        Node {
            id: self.workload.event(number),
            kind: Some(kind.to_owned()),
            time: Some(format!("{day}T{hours:02}:{minutes:02}:{seconds:02}Z")),
            peer: step.peer.map(|peer| self.workload.site(peer)),
            ..Node::default()
        }
    }
}

/// The lineage in a trace, without sites and distances.
pub(super) fn of_trace(trace: &Trace) -> Whole {
    let nodes = trace.nodes.iter().map(|found| &found.node);
    Whole {
        nodes: nodes.map(|node| (node.id.clone(), node.clone())).collect(),
        links: trace.links.iter().map(|found| found.link.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use bloomgrove_client::api::{LineageQuery, Start};
    use bloomgrove_site::{Site, SiteConfig};

    use super::*;

    /// One site that has recorded everything returns the same as the steps.
    #[tokio::test]
    async fn one_store_of_all_events_says_the_same() -> Result<()> {
        let workload = Workload {
            sites: 12,
            events: 3000,
            ..Workload::default()
        };
        let truth = Truth::new(workload);
        let directory = tempfile::tempdir()?;
        let site = Site::bind(SiteConfig {
            data: directory.path().into(),
            listen: vec!["127.0.0.1:0".parse()?],
            ..SiteConfig::default()
        })
        .await?;
        let handle = site.handle();
        let events = workload.events().map(|(_, event)| event).collect();
        let recorded = handle.record(events).await;
        recorded.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        let mut longest = 0;
        for document in (0..truth.made_by.len() as u32).step_by(7) {
            for depth in [None, Some(0), Some(1), Some(3)] {
                let id = workload.document(document);
                let question = LineageQuery {
                    ids: vec![Start { id, depth }],
                    ..LineageQuery::default()
                };
                let told = handle.lineage(question).await;
                let told = told.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
                let nodes = told.nodes.into_iter().map(|node| (node.id.clone(), node));
                let told = Whole {
                    nodes: nodes.collect(),
                    links: told.links.into_iter().collect(),
                };
                let whole = truth.lineage(document, depth);
                longest = longest.max(whole.links.len());
                assert_eq!(told, whole, "document {document}, depth {depth:?}");
            }
        }
        assert!(longest > 50, "{longest}");
        Ok(())
    }
}
