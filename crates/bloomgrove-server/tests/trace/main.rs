//! Sites and traces over real HTTP: a coordinator in this process, and sites that the tests make up.
//!
//! | file | contents |
//! |---|---|
//! | `registry.rs` | who may register, what is returned, what is persistent |
//! | `exact.rs` | random graphs over random sites, against one merged graph |
//! | `hostile.rs` | sites that lie, stall, flood and disconnect |
//! | `several.rs` | several of those together |
//! | `missing.rs` | what a trace reports about what it cannot know |
//! | `tls.rs` | sites with TLS |
//! | `fake.rs`, `../http/support.rs` | sites and servers for the tests |

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
