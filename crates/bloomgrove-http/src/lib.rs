//! What every server of Bloomgrove stands on, whatever it serves.
//!
//! ```text
//!   connections    listen, tls
//!        |
//!   every request  front: observe (ids, the log), guard and access (keys), limit and budget
//!        |
//!   handlers       extract: what was sent;  work: what takes long, on threads;  Error: why not
//!        |
//!   the disk       disk, private: files of redb that notice damage, for their owner only
//! ```
//!
//! | You want | Use |
//! |---|---|
//! | to listen, and to end in order | [`listen::Listeners`], [`listen::until_signals`] |
//! | keys, limits and logs before handlers of yours | [`front::before`] |
//! | to say no | [`Error`]: an [`api::Problem`](bloomgrove_client::api::Problem) on the wire |
//! | to work longer than a request may block a thread | [`work::Places`] |
//! | a file that is checked before it is opened | [`disk`] |
//!
//! Not for: anything that knows what is served. That is in the crates above.

pub mod access;
pub mod budget;
pub mod config;
pub mod disk;
mod error;
pub mod extract;
pub mod front;
pub mod guard;
pub mod limit;
pub mod listen;
pub mod observe;
pub mod private;
pub mod settings;
pub mod tls;
pub mod work;

pub use error::Error;
