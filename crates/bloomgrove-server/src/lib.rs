//! The coordinator.

pub mod demo;
pub mod page;
