//! Ids of a federation that keeps them to itself: sealed on the way out, opened on the way in.

use std::path::Path;

use anyhow::{Context, Result};
use bloomgrove_client::Seal;
use bloomgrove_client::api::{Trace, TraceRequest};

use crate::shared::connect::first_line;

/// The seal, if there is one.
pub(super) struct Sealed(Option<Seal>);

impl Sealed {
    pub(super) fn new(secret: Option<&Path>) -> Result<Self> {
        let seal = secret.map(|path| {
            let secret = first_line(path, "secret")?;
            Seal::new(&secret).with_context(|| path.display().to_string())
        });
        Ok(Self(seal.transpose()?))
    }

    pub(super) fn seal(&self, request: &mut TraceRequest) {
        if let Some(seal) = &self.0 {
            for id in &mut request.ids {
                // What somebody copied from an answer is sealed already.
                if !Seal::is_sealed(id) {
                    *id = seal.seal(id);
                }
            }
        }
    }

    pub(super) fn open(&self, mut trace: Trace) -> Trace {
        let Some(seal) = &self.0 else {
            return trace;
        };
        let open = |text: &mut String| {
            // What was not sealed, or by others, stays what it is.
            if let Ok(opened) = seal.open(text) {
                *text = opened;
            }
        };
        trace.ids.iter_mut().for_each(open);
        for node in &mut trace.nodes {
            open(&mut node.node.id);
            let texts = [
                &mut node.node.kind,
                &mut node.node.label,
                &mut node.node.time,
                &mut node.node.agent,
                &mut node.node.peer,
            ];
            texts.into_iter().flatten().for_each(open);
        }
        for link in &mut trace.links {
            open(&mut link.link.effect);
            open(&mut link.link.cause);
        }
        for site in &mut trace.sites {
            site.why.iter_mut().for_each(open);
        }
        // As it would be in order without a seal.
        trace.nodes.sort_by(|one, other| {
            let key =
                |node: &bloomgrove_client::api::TraceNode| (node.distance, node.node.id.clone());
            key(one).cmp(&key(other))
        });
        trace.links.sort_by(|one, other| one.link.cmp(&other.link));
        trace
    }
}
