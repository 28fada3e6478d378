//! Logs: one line per event, to standard error.

use std::io::IsTerminal;

use tracing_subscriber::filter::{EnvFilter, LevelFilter};

use crate::config::{LogFormat, LogOptions};

/// Starts writing logs. For a program's `main`: it applies to the whole process.
///
/// # Errors
///
/// If the level is invalid, or logs are already being written.
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
/// What is invalid.
pub(crate) fn filter(level: &str) -> Result<EnvFilter, String> {
    let help = "write error, warn, info, debug, trace or off, or directives such as \
                \"info,bloomgrove_http=debug\"";
    // A word that is not a level would be taken for the name of a module, and nothing would be logged.
    let is_word = !level.contains(['=', ',']);
    if level.is_empty() || is_word && level.parse::<LevelFilter>().is_err() {
        return Err(format!("unknown log level {level:?}; {help}"));
    }
    EnvFilter::builder()
        .parse(level)
        .map_err(|error| format!("invalid log level {level:?}: {error}; {help}"))
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
