//! Sites and traces over real HTTP.

mod registry;
mod support;
