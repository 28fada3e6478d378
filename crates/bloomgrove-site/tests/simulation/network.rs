//! The network: requests and responses that are lost, repeated or delayed; and what else happens while one is in
//! transit.

use std::future::pending;
use std::sync::{Arc, OnceLock, Weak};

use axum::body::{Body, to_bytes};
use bloomgrove_client::Carrier;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use tower::ServiceExt;

use crate::PERIOD;
use crate::world::{CLIENT, COORDINATOR, World};

/// Machine 0 has this port, and so on.
const PORT: usize = 1000;

/// The connection of one machine to the others.
pub(crate) struct Line {
    world: Weak<World>,
    from: usize,
}

/// A request in transit.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

/// A request that arrives when its sender no longer waits for the response.
#[derive(Debug)]
pub(crate) struct Late {
    pub(crate) due: u64,
    pub(crate) expires: u64,
    pub(crate) to: usize,
    pub(crate) parcel: Parcel,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Comes,
    /// The response is lost.
    Unanswered,
    Lost,
    Twice,
    Late,
    /// The sender is turned off before the request arrives, or before the response does.
    KillsBefore,
    KillsAfter,
}

impl Line {
    pub(crate) fn new(world: &Arc<World>, from: usize) -> Self {
        let world = Arc::downgrade(world);
        Self { world, from }
    }

    /// The URL of a machine.
    pub(crate) fn url(number: usize) -> String {
        format!("http://127.0.0.1:{}", PORT + number)
    }
}

impl Carrier for Line {
    fn carry(&self, request: reqwest::Request) -> bloomgrove_client::Carried {
        let (world, from) = (self.world.upgrade(), self.from);
        let to = usize::from(request.url().port().unwrap_or(0)) - PORT;
        let body = request.body().and_then(|body| body.as_bytes());
        let query = request.url().query();
        let parcel = Parcel {
            method: request.method().clone(),
            path: format!(
                "{}{}",
                request.url().path(),
                query.map(|query| format!("?{query}")).unwrap_or_default()
            ),
            headers: request.headers().clone(),
            body: Bytes::copy_from_slice(body.unwrap_or_default()),
        };
        Box::pin(async move {
            let answer = match world {
                Some(world) => world.carry(from, to, parcel).await,
                None => None,
            };
            answer.map(reqwest::Response::from).ok_or_else(broken)
        })
    }
}

/// The only connection error that can be created by hand.
fn broken() -> reqwest::Error {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    let make = || {
        reqwest::Client::builder()
            .tls_certs_only([])
            .build()
            .unwrap()
    };
    CLIENT.get_or_init(make).get("nowhere").build().unwrap_err()
}

impl World {
    fn fate(&self, from: usize, to: usize, parcel: &Parcel) -> Fate {
        let is_cut_off = |number: usize| {
            let inner = self.inner();
            let machine = inner.machines.get(number);
            machine.is_some_and(|machine| machine.is_cut_off)
        };
        if is_cut_off(from) || is_cut_off(to) {
            return Fate::Lost;
        }
        let (is_rough, is_inside) = {
            let inner = self.inner();
            (inner.is_rough, inner.depth > 0)
        };
        // Requests of the final check arrive.
        let is_check = from == CLIENT && !parcel.path.starts_with("/v1/sets");
        if !is_rough || is_check {
            return Fate::Comes;
        }
        let is_site = from != COORDINATOR && from != CLIENT;
        let fate = match self.below(40) {
            0 | 1 => Fate::Lost,
            2 | 3 => Fate::Unanswered,
            4 => Fate::Twice,
            5 if is_site => Fate::Late,
            6 if !is_inside && from != CLIENT => Fate::KillsBefore,
            7 if !is_inside && from != CLIENT => Fate::KillsAfter,
            _ => Fate::Comes,
        };
        if fate != Fate::Comes {
            self.inner().interferences += 1;
        }
        fate
    }

    async fn carry(
        self: Arc<Self>,
        from: usize,
        to: usize,
        parcel: Parcel,
    ) -> Option<Response<Bytes>> {
        // One after another, even those that a trace sends at the same time: the outcome must not depend on which of two threads is
        // faster.
        let mut _one_at_a_time = None;
        if from == COORDINATOR {
            _one_at_a_time = Some(self.wire.lock().await);
            // All that are about to wait do so now, in order.
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
        }
        let fate = self.fate(from, to, &parcel);
        let told = format!("{from} -> {to}: {} {}", parcel.method, parcel.path);
        match fate {
            Fate::Comes => {}
            _ => self.say(format!("{told}: {fate:?}")),
        }
        match fate {
            Fate::Lost => return None,
            Fate::KillsBefore => self.die(from).await,
            Fate::Late => {
                let mut inner = self.inner();
                let due = inner.time + inner.late.len() as u64 * 3 + 1;
                let expires = inner.time + PERIOD;
                inner.late.push(Late {
                    due,
                    expires,
                    to,
                    parcel,
                });
                return None;
            }
            _ => {}
        }
        self.meanwhile(from).await;
        let mut answer = self.deliver(from, to, &parcel).await;
        if fate == Fate::Twice {
            answer = self.deliver(from, to, &parcel).await;
        }
        self.meanwhile(from).await;
        match fate {
            Fate::KillsAfter => self.die(from).await,
            Fate::Unanswered => return None,
            _ => {}
        }
        if from < PORT {
            let status = answer.as_ref().map(|answer| answer.status().as_u16());
            self.say(format!("{told}: {}", status.unwrap_or(0)));
        }
        answer
    }

    /// Something else happens now and then.
    async fn meanwhile(self: &Arc<Self>, from: usize) {
        let is_quiet = {
            let inner = self.inner();
            !inner.is_rough || inner.depth > 0 || from == CLIENT
        };
        if is_quiet || !self.chance(8) {
            return;
        }
        self.inner().interferences += 1;
        self.inner().depth += 1;
        // It may use the network itself, which would come back here.
        Box::pin(self.happen(from)).await;
        self.inner().depth -= 1;
        self.by_clock_of(from);
    }

    /// Never returns: the caller is dropped.
    async fn die(&self, number: usize) {
        self.inner().killed = Some(number);
        self.kills.notify_one();
        pending::<()>().await;
    }

    /// Delivers a request to a machine; returns its response, if it is on and stays on.
    pub(crate) async fn deliver(
        &self,
        from: usize,
        to: usize,
        parcel: &Parcel,
    ) -> Option<Response<Bytes>> {
        let (router, disk) = {
            let inner = self.inner();
            let machine = &inner.machines[to];
            let (_, router) = machine.running.as_ref()?;
            (router.clone(), machine.disk.clone())
        };
        if disk.is_off() {
            return None;
        }
        let mut request = Request::new(Body::from(parcel.body.clone()));
        *request.method_mut() = parcel.method.clone();
        *request.uri_mut() = parcel.path.parse().unwrap();
        *request.headers_mut() = parcel.headers.clone();
        let host = Line::url(to).trim_start_matches("http://").parse().unwrap();
        request.headers_mut().insert(http::header::HOST, host);
        // Sites are queried for lineage, which needs no clock, by many at the same time.
        if to == COORDINATOR {
            self.by_clock_of(to);
        }
        let Ok(answer) = router.oneshot(request).await;
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.ok()?;
        if to == COORDINATOR {
            self.by_clock_of(from);
        }
        match disk.is_off() {
            true => None,
            false => Some(Response::from_parts(parts, body)),
        }
    }

    /// Delivers requests whose senders no longer wait.
    pub(crate) async fn deliver_late(&self) {
        loop {
            let late = {
                let mut inner = self.inner();
                let now = inner.time;
                inner.late.retain(|late| late.expires >= now);
                let due = inner.late.iter().position(|late| late.due <= now);
                due.map(|due| inner.late.remove(due))
            };
            let Some(late) = late else { return };
            let Parcel { method, path, .. } = &late.parcel;
            self.say(format!("late -> {}: {method} {path}", late.to));
            self.deliver(CLIENT, late.to, &late.parcel).await;
        }
    }
}
