//! A site from the outside: over HTTP, and with a real coordinator.

mod disk;
mod faults;
mod http;
mod publish;
mod support;
mod together;
