//! The server from its operator's point of view: errors, limits, access keys, TLS, shutdown. Each test starts the front
//! ([`front`](bloomgrove_http::front)) and a listener on its own port, with a few handlers for the tests, and connects over
//! plain sockets, so that it can misbehave.

mod access;
mod crowd;
mod limits;
mod observe;
mod shortcut;
mod stop;
mod support;
mod tls;
