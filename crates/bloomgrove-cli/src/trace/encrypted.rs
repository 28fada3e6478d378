//! Encrypts the ids of a query and decrypts those of a trace, for a federation that encrypts its ids.

use std::path::Path;

use anyhow::{Context, Result};
use bloomgrove_client::IdCipher;
use bloomgrove_client::api::{Trace, TraceQuery};

use crate::shared::connect::first_line;

/// The cipher, if there is a secret.
pub(super) struct EncryptedIds(Option<IdCipher>);

impl EncryptedIds {
    pub(super) fn new(secret: Option<&Path>) -> Result<Self> {
        let cipher = secret.map(|path| {
            let secret = first_line(path, "secret")?;
            IdCipher::new(&secret).with_context(|| path.display().to_string())
        });
        Ok(Self(cipher.transpose()?))
    }

    pub(super) fn encrypt(&self, request: &mut TraceQuery) {
        if let Some(cipher) = &self.0 {
            for id in &mut request.ids {
                // An id copied from an earlier answer is encrypted already.
                if !IdCipher::is_encrypted(id) {
                    *id = cipher.encrypt(id);
                }
            }
        }
    }

    pub(super) fn decrypt(&self, mut trace: Trace) -> Trace {
        let Some(cipher) = &self.0 else {
            return trace;
        };
        let decrypt = |text: &mut String| {
            // What is not encrypted under this secret stays unchanged.
            if let Ok(decrypted) = cipher.decrypt(text) {
                *text = decrypted;
            }
        };
        trace.ids.iter_mut().for_each(decrypt);
        for node in &mut trace.nodes {
            decrypt(&mut node.node.id);
            let texts = [
                &mut node.node.kind,
                &mut node.node.label,
                &mut node.node.time,
                &mut node.node.agent,
                &mut node.node.peer,
            ];
            texts.into_iter().flatten().for_each(decrypt);
        }
        for link in &mut trace.links {
            decrypt(&mut link.link.effect);
            decrypt(&mut link.link.cause);
        }
        for site in &mut trace.sites {
            site.why.iter_mut().for_each(decrypt);
        }
        // In the same order as without encryption.
        trace.nodes.sort_by(|one, other| {
            let key =
                |node: &bloomgrove_client::api::TraceNode| (node.distance, node.node.id.clone());
            key(one).cmp(&key(other))
        });
        trace.links.sort_by(|one, other| one.link.cmp(&other.link));
        trace
    }
}
