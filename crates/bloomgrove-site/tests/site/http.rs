//! A site over HTTP.
