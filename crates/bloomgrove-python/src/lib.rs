//! The compiled part of the Python package `bloomgrove`.
//!
//! ```text
//!   key.rs     one object is one key: bytes, str, int
//!   column.rs  many keys: Arrow and NumPy arrays, iterables     ffi.rs: their memory
//!   batch.rs   the keys of an array, some at a time
//!   answer.rs  many answers, as an Arrow array
//!   filter.rs, index.rs, ...   one class per type of the library
//!   error.rs   exceptions
//! ```
//!
//! The interpreter is detached while a column is worked through, a file is read or a server is
//! asked. Cost of a single key from a loop: 60 ns or more, most of it the call; of a key in a column:
//! that of the library (`docs/bench/python.md`).
//!
//! Every class has an entry in `python/bloomgrove/_bloomgrove.pyi`.

mod answer;
mod batch;
mod buffered;
mod client;
mod codec;
mod column;
mod error;
mod ffi;
mod filter;
mod groups;
mod index;
mod index_file;
mod key;
mod mapped;
mod params;
mod sample;
mod tune;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _bloomgrove {
    use pyo3::prelude::*;

    use crate::error;

    #[pymodule_export]
    use crate::answer::Answers;
    #[pymodule_export]
    use crate::client::PyClient;
    #[pymodule_export]
    use crate::codec::{apply, compress, delta, expand};
    #[pymodule_export]
    use crate::filter::{PyFilter, filter_of_message};
    #[pymodule_export]
    use crate::groups::IndexBuilder;
    #[pymodule_export]
    use crate::index::PyIndex;
    #[pymodule_export]
    use crate::index_file::PyIndexFile;
    #[pymodule_export]
    use crate::mapped::PyMapped;
    #[pymodule_export]
    use crate::params::{PyParams, params_of_bytes};
    #[pymodule_export]
    use crate::sample::{reconstruct, sample};
    #[pymodule_export]
    use crate::tune::{Recommendation, accuracy, bits_for_accuracy, recommend};

    /// What `bloomgrove.buffered` contains: a class there has the name of another here.
    #[pymodule]
    mod _buffered {
        #[pymodule_export]
        use crate::buffered::{BufferedBuilder, BufferedFilter};
    }

    /// Runs the command-line tool, and returns its exit code. A command line that cannot be parsed,
    /// and --help, end the process.
    #[pyfunction]
    fn run_tool(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| bloomgrove_cli::run_words(words))
    }

    /// Runs a command that takes no input and ends soon in this process, and returns its exit code and what it
    /// has printed to standard output and to standard error.
    #[pyfunction]
    fn ask_tool(
        py: Python<'_>,
        words: Vec<std::ffi::OsString>,
    ) -> (
        u8,
        std::borrow::Cow<'static, [u8]>,
        std::borrow::Cow<'static, [u8]>,
    ) {
        let said = py.detach(|| bloomgrove_cli::run_captured(words));
        (said.code, said.out.into(), said.err.into())
    }

    /// Checks every byte of a file.
    #[pyfunction]
    fn verify(py: Python<'_>, path: std::path::PathBuf) -> error::Outcome<()> {
        py.detach(|| bloomgrove::verify(path).map(drop))?;
        Ok(())
    }
}
