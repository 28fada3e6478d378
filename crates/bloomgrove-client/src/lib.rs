//! Talks to a Bloomgrove coordinator.
//!
//! [`api`] has what is said over HTTP, one type for each request and answer; the server
//! speaks the same types.

pub mod api;
