//! The coordinator.

pub mod access;
pub mod config;
pub mod coordinator;
pub mod front;
pub mod guard;
pub mod http;
pub mod limit;
pub mod listen;
pub mod observe;
pub mod refusal;
pub mod tls;
pub mod units;
