//! A dozen sites to explore with a coordinator: `bloomgrove serve --demo` starts them.
//!
//! Each is a site like any other, with its own directory, address and filter. Only the process is shared, and the events are made up
//! ([`generate`](crate::generate)), the same on every machine.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use bloomgrove_client::api::Event;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::generate::Workload;
use crate::{CoordinatorConfig, MOST_AT_A_TIME, Site, SiteConfig};

/// The events of the demo.
pub const WORKLOAD: Workload = Workload {
    sites: 12,
    events: 6000,
    seed: 8,
    labels: true,
    day: "2026-11-16",
};
/// Expected ids per filter: more than the busiest site has, so that none is sent twice.
const EXPECT: u64 = 4000;

/// Sites that have recorded their events and are not running yet.
pub struct Demo(Vec<Site>);

impl Demo {
    /// Creates the sites, each in a subdirectory of `directory`.
    ///
    /// # Errors
    /// If a directory cannot be used.
    pub async fn bind(coordinator: CoordinatorConfig, directory: &Path) -> Result<Self> {
        let mut days: Vec<Vec<Event>> = vec![Vec::new(); WORKLOAD.sites as usize];
        for (site, event) in WORKLOAD.events() {
            if let Some(day) = days.get_mut(site as usize) {
                day.push(event);
            }
        }
        let mut sites = Vec::new();
        for (number, mut day) in (0..).zip(days) {
            let name = WORKLOAD.site(number);
            let site = Site::bind(SiteConfig {
                data: directory.join(&name),
                listen: vec![([127, 0, 0, 1], 0).into()],
                coordinator: Some(coordinator.clone()),
                period: Duration::from_secs(2),
                expect: EXPECT,
                name,
                ..SiteConfig::default()
            });
            let site = site.await?;
            // Recording the same events again changes nothing.
            while !day.is_empty() {
                let rest = day.split_off(day.len().min(MOST_AT_A_TIME));
                let batch = std::mem::replace(&mut day, rest);
                let recorded = site.handle().record(batch).await;
                recorded.map_err(|error| anyhow::anyhow!("{error}"))?;
            }
            sites.push(site);
        }
        Ok(Self(sites))
    }

    /// Runs all sites until `stop` is true.
    ///
    /// # Errors
    /// None at present: an error on one connection does not stop a site.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let stoppers: Vec<_> = self.0.iter().map(Site::stopper).collect();
        let mut running: JoinSet<Result<()>> = self.0.into_iter().map(Site::run).collect();
        // Its sender is gone when the server is.
        let _ = stop.wait_for(|stop| *stop).await;
        for stopper in stoppers {
            stopper.send_replace(true);
        }
        while let Some(ended) = running.join_next().await {
            ended.context("a site of the demo failed")??;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use bloomgrove_server::demo::traces;

    use super::*;

    /// Also on another machine: the page and the documents speak of them.
    #[test]
    fn the_examples_have_a_long_and_a_short_history() {
        let mut made: HashMap<String, (u32, Vec<String>)> = HashMap::new();
        for (site, event) in WORKLOAD.events() {
            for output in event.outputs {
                made.insert(output, (site, event.inputs.clone()));
            }
        }
        let history = |id: &str| {
            let (mut seen, mut sites) = (HashSet::new(), HashSet::new());
            let mut waiting = vec![id.to_owned()];
            while let Some(id) = waiting.pop() {
                let (site, inputs) = &made[&id];
                sites.insert(*site);
                if seen.insert(id) {
                    waiting.extend(inputs.iter().cloned());
                }
            }
            (seen.len(), sites.len())
        };
        let [long, short] = <[String; 2]>::try_from(traces()).unwrap();
        assert_eq!(history(&long), (13, 5));
        assert_eq!(history(&short), (2, 1));
    }
}
