//! What happens: to machines, to clocks, to sets; and the final phase, in which nothing fails.

use std::sync::Arc;

use bloomgrove::Filter;
use bloomgrove_client::api::ChangeSet;
use bloomgrove_server::coordinator::Coordinator;

use crate::PERIOD;
use crate::truth::Fact;
use crate::world::{COORDINATOR, World};

/// Steps until failures stop.
const STEPS: usize = 32;
/// Periods within which it must have healed.
const HEALING: usize = 3;

impl World {
    /// Everything, from the first step to the last check.
    pub(crate) async fn run(self: &Arc<Self>) {
        for _ in 0..STEPS {
            self.step().await;
            self.bury();
            if self.is_wrong() {
                return;
            }
        }
        self.heal().await;
    }

    async fn step(self: &Arc<Self>) {
        self.deliver_late().await;
        self.by_clock_of(COORDINATOR);
        match self.below(40) {
            0..=7 => {
                let site = self.any_site();
                self.record(site).await;
            }
            8..=17 => {
                self.pass(1 + self.below(2 * PERIOD as usize) as u64);
                self.all_rounds().await;
            }
            18..=20 => {
                let site = self.any_site();
                self.round(site).await;
            }
            21 | 22 => self.expire().await,
            23 | 24 => self.vandalize().await,
            25 | 26 => {
                let number = self.any_machine();
                self.kill(number);
                if self.chance(2) {
                    self.start(number, None);
                }
            }
            27..=30 => self.repair(),
            31 | 32 => self.set_clock(),
            33 => {
                let site = self.any_site();
                self.inner().machines[site].is_cut_off = true;
                self.say(format!("machine {site} is cut off"));
            }
            34 => self.break_disk(),
            35 => self.back_up(),
            36 | 37 => self.change_set().await,
            38 => self.check_sets().await,
            _ => self.pass(1 + self.below(150) as u64),
        }
        if self.chance(3) {
            self.bury();
            self.trace().await;
        }
    }

    /// Turns on and connects all machines.
    fn repair(self: &Arc<Self>) {
        let machines = self.inner().machines.len();
        for number in 0..machines {
            self.inner().machines[number].is_cut_off = false;
            self.start(number, None);
        }
    }

    /// Something that happens while a request is in transit.
    pub(crate) async fn happen(self: &Arc<Self>, from: usize) {
        // A trace waits for the network, which another one uses; a site has only one round at a time.
        let is_trace = from == COORDINATOR;
        match self.below(10) {
            0..=3 if !is_trace => self.trace().await,
            0..=5 => self.vandalize().await,
            6 => {
                let site = self.any_site();
                self.record(site).await;
            }
            7 => self.expire().await,
            8 => self.pass(1 + self.below(PERIOD as usize) as u64),
            _ if is_trace => {
                let site = self.any_site();
                self.round(site).await;
            }
            _ => {}
        }
    }

    fn any_machine(&self) -> usize {
        let machines = self.inner().machines.len();
        self.below(machines)
    }

    /// Time passes.
    fn pass(&self, seconds: u64) {
        self.inner().time += seconds;
    }

    async fn all_rounds(self: &Arc<Self>) {
        let sites = self.inner().machines.len();
        for site in 1..sites {
            self.round(site).await;
            self.bury();
        }
    }

    /// Waits for something, unless a machine is killed meanwhile.
    pub(crate) async fn unless_killed<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        if self.inner().depth > 0 {
            return Some(what.await);
        }
        tokio::select! {
            biased;
            done = what => Some(done),
            () = self.kills.notified() => None,
        }
    }

    /// Records events at a site.
    pub(crate) async fn record(self: &Arc<Self>, number: usize) {
        let Some(site) = self.site(number) else {
            return;
        };
        let act = self.act(number);
        let count = 1 + [0, 2, 6, 14][self.below(4)];
        let mut events = Vec::new();
        for place in 0..count {
            let inputs = (0..self.below(3)).filter_map(|_| {
                let document = self.below(1000);
                self.inner().truth.document(document).cloned()
            });
            let inputs = inputs.collect();
            let name = self.inner().truth.facts.len() + place;
            events.push(self.inner().truth.event(name, inputs));
        }
        let told = site.record(events.clone()).await;
        let mut inner = self.inner();
        let is_off = inner.machines[number].disk.is_off();
        let (time, is_acknowledged) = (inner.time, told.is_ok() && !is_off);
        inner
            .truth
            .facts
            .extend(events.into_iter().map(|event| Fact {
                site: number,
                act,
                time,
                is_acknowledged,
                was_published: false,
                event,
            }));
        drop(inner);
        let how = match told {
            Ok(_) => "recorded".to_owned(),
            Err(refusal) => format!("refused: {refusal}"),
        };
        self.say(format!("{count} events at site {number}: {how}"));
    }

    /// A site publishes.
    pub(crate) async fn round(self: &Arc<Self>, number: usize) -> bool {
        let Some(site) = self.site(number) else {
            return false;
        };
        let act = self.act(number);
        let before = self.inner().interferences;
        let done = self.unless_killed(site.publish()).await;
        self.by_clock_of(COORDINATOR);
        let is_off = self.inner().machines[number].disk.is_off();
        match done {
            Some(Ok(())) if !is_off => {
                self.say(format!("round of site {number}"));
                self.inner().truth.rounds.insert(number, act);
                let is_clean = self.inner().interferences == before;
                self.check_index(number, act, is_clean);
                true
            }
            Some(Err(refusal)) => {
                self.say(format!("round of site {number}: {refusal}"));
                false
            }
            // It may have succeeded; this is unknown.
            _ => {
                self.check_index(number, act, false);
                false
            }
        }
    }

    pub(crate) async fn expire(&self) {
        if let Some(coordinator) = self.coordinator() {
            self.act(COORDINATOR);
            // How many of these changes share a commit is not deterministic.
            let disk = self.inner().machines[COORDINATOR].disk.clone();
            disk.set_calm(true);
            let gone = coordinator.expire().await;
            disk.set_calm(false);
            if gone > 0 {
                self.say(format!("{gone} sets expired"));
            }
        }
    }

    /// Someone does something harmful to a set or a site.
    async fn vandalize(&self) {
        let sets = self.sets_of_sites();
        let (Some(coordinator), false) = (self.coordinator(), sets.is_empty()) else {
            return;
        };
        self.act(COORDINATOR);
        self.inner().interferences += 1;
        let set = &sets[self.below(sets.len())];
        let change = ChangeSet::default();
        let how = match self.below(7) {
            0..=2 => coordinator.delete(set).await.map(|()| "deleted"),
            3 => {
                let name = Some(format!("away/{}", self.below(3)));
                let away = coordinator.describe(set, ChangeSet { name, ..change });
                away.await.map(|_| "renamed")
            }
            4 => {
                let expires_in = Some(1 + self.below(20) as u64);
                let soon = ChangeSet {
                    expires_in,
                    ..change
                };
                let soon = coordinator.describe(set, soon).await;
                soon.map(|_| "made to expire")
            }
            5 => replace(&coordinator, set).await,
            _ => {
                let site = set.split('/').next().unwrap();
                coordinator.forget_site(site).await.map(|()| "forgotten")
            }
        };
        if let Ok(how) = how {
            self.say(format!("{set} was {how}"));
        }
    }

    /// A clock is set, or a machine sleeps.
    fn set_clock(&self) {
        let number = self.any_machine();
        let by = [3, 40, 300, 4000][self.below(4)];
        let how = self.below(4);
        let mut inner = self.inner();
        let now = inner.time;
        let machine = &mut inner.machines[number];
        match how {
            0 => machine.ahead = machine.ahead.saturating_add(by),
            1 => machine.ahead = (machine.ahead - by).max(-(now as i64)),
            2 => machine.ahead = 0,
            _ => machine.asleep += by as u64,
        }
        let ahead = machine.ahead;
        if number == COORDINATOR && how == 3 {
            inner.slept = now + by as u64;
        } else if number == COORDINATOR && how != 0 {
            inner.set_back = now;
        }
        if how == 3 {
            inner.time += by as u64;
        }
        drop(inner);
        let what = if how == 3 { "slept" } else { "clock" };
        self.say(format!("machine {number}: {what}, ahead by {ahead} s"));
    }

    fn break_disk(&self) {
        let number = self.any_machine();
        let after = self.below(30) as i64;
        // A coordinator that cannot determine what is on its disk exits, and is restarted.
        let is_off = number == COORDINATOR || self.chance(2);
        let inner = self.inner();
        match is_off {
            true => inner.machines[number].disk.off_after(after),
            false => inner.machines[number].disk.fail_after(after / 4),
        }
        drop(inner);
        self.say(format!(
            "the disk of machine {number} breaks, off: {is_off}"
        ));
    }

    /// The coordinator's store is backed up, or restored from a backup.
    fn back_up(self: &Arc<Self>) {
        let data = self.inner().machines[COORDINATOR].data.clone();
        let copies = self.inner().copies.len();
        self.act(COORDINATOR);
        if copies == 0 || self.chance(2) {
            let sets = self.inner().sets.clone();
            let copy = match self.coordinator() {
                Some(coordinator) => {
                    let made = coordinator.snapshot();
                    made.ok()
                        .map(|made| (coordinator.snapshots_directory().join(made.file), true))
                }
                None => {
                    let copy = data.join(format!("copy-{copies}"));
                    std::fs::copy(data.join("store.redb"), &copy).unwrap();
                    Some((copy, false))
                }
            };
            if let Some((copy, is_snapshot)) = copy {
                self.inner().copies.push((copy, is_snapshot, sets));
                self.say("the store was saved");
            }
            return;
        }
        let (copy, is_snapshot, sets) = {
            let which = self.below(copies);
            self.inner().copies[which].clone()
        };
        self.kill(COORDINATOR);
        self.say(format!(
            "the store is put back, by a snapshot: {is_snapshot}"
        ));
        self.inner().sets = sets;
        match is_snapshot {
            true => {
                std::fs::remove_file(data.join("store.redb")).unwrap();
                self.start(COORDINATOR, Some(&copy));
            }
            false => {
                std::fs::copy(&copy, data.join("store.redb")).unwrap();
                // Its head file, if it was not restored as well, would show that the store is older.
                let _ = std::fs::remove_file(data.join("store.head"));
            }
        }
    }

    /// Nothing fails any more: soon everything is found, and traces are complete.
    async fn heal(self: &Arc<Self>) {
        self.say("all is well from here on");
        self.bury();
        let machines = {
            let mut inner = self.inner();
            inner.is_rough = false;
            inner.late.clear();
            for machine in &mut inner.machines {
                machine.disk.mend();
            }
            inner.machines.len()
        };
        self.repair();
        let mut are_well = false;
        for _ in 0..HEALING {
            self.pass(PERIOD);
            self.expire().await;
            are_well = true;
            for site in 1..machines {
                are_well &= self.round(site).await;
            }
        }
        if !are_well {
            return self.wrong("a site cannot publish, though nothing is in its way");
        }
        for site in 1..machines {
            self.record(site).await;
            let fresh = self.inner().truth.facts.len() - 1;
            self.round(site).await;
            self.check_found(fresh).await;
        }
        self.check_all().await;
        self.check_sets().await;
    }
}

/// Replaces the filter of a set by an empty one.
async fn replace(
    coordinator: &Coordinator,
    set: &str,
) -> Result<&'static str, bloomgrove_server::Error> {
    let (filter, _) = coordinator.filter(set)?;
    let empty = Filter::new(filter.params().clone())?;
    coordinator.put(set, empty, None, None, None).await?;
    Ok("replaced")
}
