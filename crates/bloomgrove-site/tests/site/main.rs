//! A site as others see it: over HTTP, and beside a real coordinator.

mod disk;
mod faults;
mod http;
mod publish;
mod support;
mod together;
