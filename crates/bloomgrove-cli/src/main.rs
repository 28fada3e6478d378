//! The program `bloomgrove`: see `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bloomgrove_cli::run_words(std::env::args_os()))
}
