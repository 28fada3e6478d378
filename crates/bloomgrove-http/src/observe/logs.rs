//! Logs: one line for each event, to standard error.

use std::io::IsTerminal;

use tracing_subscriber::filter::{EnvFilter, LevelFilter};

use crate::config::{LogFormat, LogOptions};

/// From now on events are written. For a program's `main`: it holds for the whole process.
///
/// # Errors
///
/// When the level cannot be understood, or when somebody writes logs already.
pub fn start(options: &LogOptions) -> Result<(), String> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(&options.level)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match options.format {
        LogFormat::Pretty => builder.try_init(),
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .try_init(),
    }
    .map_err(|error| format!("logs: {error}"))
}

/// A level, or directives.
///
/// # Errors
///
/// What was not understood.
pub(crate) fn filter(level: &str) -> Result<EnvFilter, String> {
    let help = "write error, warn, info, debug, trace or off, or directives such as \
                \"info,bloomgrove_http=debug\"";
    // A word that is no level would be taken for the name of a part, and nothing be logged.
    let is_word = !level.contains(['=', ',']);
    if level.is_empty() || is_word && level.parse::<LevelFilter>().is_err() {
        return Err(format!("{level:?} is no level of logs; {help}"));
    }
    EnvFilter::builder()
        .parse(level)
        .map_err(|error| format!("level of logs {level:?}: {error}; {help}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_directives() {
        for good in ["info", "DEBUG", "off", "info,bloomgrove_http=debug"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        for bad in ["", "loud", "bloomgrove_http=loud"] {
            assert!(filter(bad).is_err(), "{bad}");
        }
    }
}
