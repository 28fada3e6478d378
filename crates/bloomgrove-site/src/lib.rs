//! A site of a federation: it records what happens to documents, and lets a coordinator know which
//! documents it knows, without telling more.
//!
//! ```text
//!   events, RDF, PROV-JSON            questions: lineage, SPARQL
//!        |  event, import                   ^
//!        v                                  |
//!      triples --> log (disk) --> store (memory)
//!                                           |
//!                     ids --> publish: filters, by window --> the coordinator
//! ```

pub mod event;
pub mod generate;
pub mod id;
pub mod import;
pub mod vocabulary;
