//! `bloomgrove remote sites` and `forget`: the sites of a federation, as the coordinator knows them.

use anyhow::Result;

use super::change::report;
use crate::shared::connect::Remote;
use crate::shared::output::Output;
use crate::shared::{Outcome, units};

/// List the sites that publish to the server, and whether each is online.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote sites\n  \
    bloomgrove remote sites --json")]
pub(super) struct Sites {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(remote: &Remote, args: Sites) -> Result<Outcome> {
    let list = remote.wait(remote.client.sites())?;
    let mut output = Output::new();
    if args.json {
        output.json(&serde_json::to_value(&list)?)?;
    } else if !list.sites.is_empty() {
        let rows: Vec<Vec<String>> = list
            .sites
            .iter()
            .map(|site| {
                let heartbeat = site
                    .last_heartbeat
                    .map_or("not yet".into(), |seconds| format!("{seconds:.0} s ago"));
                let online = if site.online { "yes" } else { "no" };
                vec![
                    site.name.clone(),
                    online.into(),
                    heartbeat,
                    units::grouped(site.pending),
                    units::grouped(site.sets),
                    site.url.clone(),
                ]
            })
            .collect();
        let head = ["site", "online", "heartbeat", "pending", "sets", "address"];
        output.table(&head, &rows)?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Remove a site that is gone for good, so that traces no longer wait for it.
///
/// Its sets stay until they are removed (`bloomgrove remote remove`) or expire.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove remote forget galway")]
pub(super) struct Forget {
    /// The site
    #[arg(value_name = "SITE")]
    site: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn forget(remote: &Remote, args: Forget) -> Result<Outcome> {
    remote.wait(remote.client.remove_site(&args.site))?;
    let value = serde_json::json!({ "removed": args.site });
    report(args.json, &value, format_args!("removed {}", args.site))
}
