//! The machines of a federation, and what time it is at each.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bloomgrove_client::{Client, clock};
use bloomgrove_http::access::Access;
use bloomgrove_http::budget::Budget;
use bloomgrove_http::front::{self, Front};
use bloomgrove_http::guard::Guard;
use bloomgrove_server::Config;
use bloomgrove_server::coordinator::{Coordinator, Limits};
use bloomgrove_server::http::{self, App};
use bloomgrove_server::trace::Tracer;
use bloomgrove_site::{Handle, SiteConfig, Window};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Notify;

use crate::disk::Disk;
use crate::network::{Late, Line};
use crate::sets::Sets;
use crate::truth::Truth;
use crate::{BEGIN, PERIOD};

/// The coordinator; sites have the numbers after it, and clients have none.
pub(crate) const COORDINATOR: usize = 0;
pub(crate) const CLIENT: usize = usize::MAX;

/// What runs on a machine that is on.
#[derive(Clone)]
pub(crate) enum Program {
    Coordinator(Arc<Coordinator>),
    Site(Handle),
}

pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) data: PathBuf,
    pub(crate) window: Option<Window>,
    /// How far its clock is ahead, and how long it has slept in total.
    pub(crate) ahead: i64,
    pub(crate) asleep: u64,
    /// Disconnected from the network.
    pub(crate) is_cut_off: bool,
    pub(crate) disk: Arc<Disk>,
    pub(crate) running: Option<(Program, Front)>,
}

/// The state of the simulation.
pub(crate) struct World {
    inner: Mutex<Inner>,
    client: OnceLock<Client>,
    /// From the coordinator to sites.
    pub(crate) wire: tokio::sync::Mutex<()>,
    /// Signals that a machine is killed while something waits for the network.
    pub(crate) kills: Notify,
}

pub(crate) struct Inner {
    pub(crate) random: SmallRng,
    pub(crate) time: u64,
    /// Acts so far.
    pub(crate) act: u64,
    /// Whether failures happen.
    pub(crate) is_rough: bool,
    pub(crate) machines: Vec<Machine>,
    pub(crate) late: Vec<Late>,
    pub(crate) killed: Option<usize>,
    /// Acts that happen while another waits for the network.
    pub(crate) depth: u32,
    /// What has interfered with rounds so far.
    pub(crate) interferences: u64,
    /// When the clock of the coordinator was last set back, and when the machine last slept.
    pub(crate) set_back: u64,
    pub(crate) slept: u64,
    pub(crate) truth: Truth,
    pub(crate) sets: Sets,
    /// Backups of the coordinator's store, and the sets of clients at that time.
    pub(crate) copies: Vec<(PathBuf, bool, Sets)>,
    pub(crate) history: Vec<String>,
    pub(crate) wrong: Option<String>,
}

impl World {
    pub(crate) fn new(seed: u64, directory: &Path) -> Arc<Self> {
        let mut random = SmallRng::seed_from_u64(seed);
        let sites = random.random_range(1..=3);
        let machines = (0..=sites).map(|number| {
            let data = directory.join(number.to_string());
            let window = random.random_range(0..2) == 0 && number != COORDINATOR;
            let keep = [30, 90, 200][random.random_range(0..3)];
            // A machine without a battery begins in 1970.
            let is_new = window && random.random_range(0..4) == 0;
            Machine {
                name: format!("site{number}"),
                disk: Disk::mount(&data, 255),
                data,
                window: window.then_some(Window {
                    length: Duration::from_secs(60),
                    keep: Duration::from_secs(keep),
                }),
                ahead: if is_new { -(BEGIN as i64) } else { 0 },
                asleep: 0,
                is_cut_off: false,
                running: None,
            }
        });
        let machines = machines.collect();
        let inner = Inner {
            random,
            time: BEGIN,
            act: 0,
            is_rough: true,
            machines,
            late: Vec::new(),
            killed: None,
            depth: 0,
            interferences: 0,
            set_back: 0,
            slept: 0,
            truth: Truth::default(),
            sets: Sets::default(),
            copies: Vec::new(),
            history: Vec::new(),
            wrong: None,
        };
        let world = Arc::new(Self {
            inner: Mutex::new(inner),
            client: OnceLock::new(),
            wire: tokio::sync::Mutex::default(),
            kills: Notify::new(),
        });
        for number in 0..=sites {
            world.start(number, None);
        }
        world
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number from 0 on.
    pub(crate) fn below(&self, limit: usize) -> usize {
        self.inner().random.random_range(0..limit)
    }

    /// True once in this many times.
    pub(crate) fn chance(&self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn say(&self, what: impl Into<String>) {
        let mut inner = self.inner();
        let line = format!("+{} s: {}", inner.time - BEGIN, what.into());
        inner.history.push(line);
    }

    /// Records a violation.
    pub(crate) fn wrong(&self, what: impl Into<String>) {
        let what = what.into();
        self.say(format!("WRONG: {what}"));
        self.inner().wrong.get_or_insert(what);
    }

    pub(crate) fn is_wrong(&self) -> bool {
        self.inner().wrong.is_some()
    }

    /// A machine acts: its clock applies.
    pub(crate) fn by_clock_of(&self, number: usize) {
        let inner = self.inner();
        if let Some(machine) = inner.machines.get(number) {
            let now = inner.time.saturating_add_signed(machine.ahead);
            clock::simulate(now, inner.time - BEGIN - machine.asleep);
        }
    }

    /// The number of another act, of a machine.
    pub(crate) fn act(&self, number: usize) -> u64 {
        self.by_clock_of(number);
        let mut inner = self.inner();
        inner.act += 1;
        inner.act
    }

    pub(crate) fn coordinator(&self) -> Option<Arc<Coordinator>> {
        match self.inner().machines[COORDINATOR].running.clone() {
            Some((Program::Coordinator(coordinator), _)) => Some(coordinator),
            _ => None,
        }
    }

    pub(crate) fn site(&self, number: usize) -> Option<Handle> {
        match self.inner().machines[number].running.clone() {
            Some((Program::Site(site), _)) => Some(site),
            _ => None,
        }
    }

    /// A site, on or off.
    pub(crate) fn any_site(&self) -> usize {
        let sites = self.inner().machines.len() - 1;
        1 + self.below(sites)
    }

    /// The client of the coordinator.
    pub(crate) fn client(self: &Arc<Self>) -> Client {
        self.client.get_or_init(|| self.client_of(CLIENT)).clone()
    }

    fn client_of(self: &Arc<Self>, from: usize) -> Client {
        let builder = Client::builder(Line::url(COORDINATOR));
        let line = Line::new(self, from);
        builder.carrier(Arc::new(line)).build().unwrap()
    }

    /// Turns a machine on; a coordinator from a snapshot, if one is given.
    pub(crate) fn start(self: &Arc<Self>, number: usize, restore: Option<&Path>) {
        if self.inner().machines[number].running.is_some() {
            return;
        }
        self.act(number);
        let data = self.inner().machines[number].data.clone();
        let left_over = [0, 100, 255, 255][self.below(4)];
        let disk = Disk::mount(&data, left_over);
        let running = match number {
            COORDINATOR => {
                let config = Config::default();
                let limits = Limits::default();
                let coordinator = Arc::new(Coordinator::open(&data, restore, limits).unwrap());
                let line = Arc::new(Line::new(self, COORDINATOR));
                let app = App::new(Vec::new(), Tracer::carried(&config, line).unwrap());
                app.start(coordinator.clone());
                let guard = Guard::new(Access::open());
                let router = http::router(app);
                let budget = Budget::new(config.limits.memory);
                let router = front::before(router, guard, &config.limits, budget, config.log.slow);
                (Program::Coordinator(coordinator), router)
            }
            _ => {
                let config = {
                    let machine = &self.inner().machines[number];
                    SiteConfig {
                        name: machine.name.clone(),
                        data,
                        period: Duration::from_secs(PERIOD),
                        window: machine.window,
                        expect: 1,
                        ..SiteConfig::default()
                    }
                };
                let client = Some(self.client_of(number));
                let site = Handle::open(&config, Line::url(number), client).unwrap();
                let router = site.router(&config);
                (Program::Site(site), router)
            }
        };
        let mut inner = self.inner();
        let machine = &mut inner.machines[number];
        (machine.disk, machine.running) = (disk, Some(running));
        drop(inner);
        self.say(format!("machine {number} is on"));
    }

    /// Turns a machine off immediately.
    pub(crate) fn kill(&self, number: usize) {
        let running = {
            let mut inner = self.inner();
            let machine = &mut inner.machines[number];
            machine.disk.go_off();
            machine.running.take()
        };
        if running.is_some() {
            self.say(format!("machine {number} is off"));
        }
        // Not while others are waiting: it joins its threads.
        drop(running);
    }

    /// Removes machines that were turned off.
    pub(crate) fn bury(&self) {
        let killed = self.inner().killed.take();
        let off: Vec<usize> = {
            let inner = self.inner();
            let machines = inner.machines.iter().enumerate();
            let off = machines.filter(|(number, machine)| {
                machine.running.is_some() && (machine.disk.is_off() || killed == Some(*number))
            });
            off.map(|(number, _)| number).collect()
        };
        for number in off {
            self.kill(number);
        }
    }

    /// Names of all sets of sites that the coordinator has.
    pub(crate) fn sets_of_sites(&self) -> Vec<String> {
        let Some(coordinator) = self.coordinator() else {
            return Vec::new();
        };
        let sets = coordinator.list("site", None, None, None);
        let names = sets.sets.into_iter().map(|set| set.name);
        names.filter(|name| name.contains("/ids/")).collect()
    }
}
