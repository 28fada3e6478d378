//! The coordinator.

pub mod access;
pub mod config;
pub mod units;
