//! Sites and traces over real HTTP: a coordinator in this process, and sites that the tests make up.
//!
//! | file | holds |
//! |---|---|
//! | `registry.rs` | who registers, what is told, what survives |
//! | `exact.rs` | random graphs over random sites, against one merged graph |
//! | `hostile.rs` | sites that lie, stall, flood and break off |
//! | `several.rs` | several of those together |
//! | `missing.rs` | what a trace says of what it cannot know |
//! | `tls.rs` | sites behind TLS |
//! | `fake.rs`, `../http/support.rs` | sites and servers of the tests |

mod exact;
mod fake;
mod hostile;
mod missing;
mod registry;
mod several;
#[path = "../http/support.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod support;
mod tls;
