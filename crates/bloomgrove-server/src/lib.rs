//! The coordinator.

pub mod access;
pub mod config;
pub mod coordinator;
mod process;
pub mod units;
