//! The tool as a server and as its client: processes of their own, over the loopback interface.

#[path = "../support/proxy.rs"]
mod proxy;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/site.rs"]
mod site;
#[path = "../support/mod.rs"]
mod support;

mod federation;
mod remote;
mod serve;
mod serve_crash;
mod serve_memory;
mod verify;
