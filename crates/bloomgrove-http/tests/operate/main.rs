//! The server as its operator sees it: refusals, limits, keys, TLS, stopping. Each test starts
//! what stands before the handlers ([`front`](bloomgrove_http::front)) and the listener on a
//! port of its own, with a few handlers of a kind that the tests need, and talks to it over
//! plain sockets, so that it can misbehave.

mod access;
mod crowd;
mod limits;
mod observe;
mod stop;
mod support;
mod tls;
