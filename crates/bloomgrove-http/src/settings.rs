//! Settings, each declared once, as a clap option.
//!
//! ```text
//!   flags  >  environment  >  file  >  defaults
//! ```
//!
//! A type of settings derives [`clap::Args`], which declares the type of each setting, how it is parsed
//! (`value_parser`), its default, its flag, its environment variable and its help. Its `id` is its name in
//! the file: `limits.body` is `body` in `[limits]`. If one setting requires another, the type has to check
//! it, since the other may be set in the file. This provides
//!
//! | what | by |
//! |---|---|
//! | `Default` for the type | [`defaults`] |
//! | all sources, in this order | [`Settings`] |
//! | a file with every setting | [`sample`] |

use std::collections::HashMap;
use std::error::Error as _;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use clap::builder::{OsStr, Resettable};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line length of a sample file.
const WIDTH: usize = 98;

/// The options of a type on their own, without the environment.
fn options<T: Args>() -> Command {
    T::augment_args(Command::new("settings").disable_help_flag(true))
        .mut_args(|arg| arg.env(Resettable::<OsStr>::Reset))
}

/// The defaults of a type.
///
/// # Panics
/// If a default cannot be parsed, or an option is required, which is a mistake in the declaration.
#[must_use]
pub fn defaults<T: Args>() -> T {
    let given = options::<T>().try_get_matches_from(["settings"]);
    let made = given.and_then(|given| T::from_arg_matches(&given));
    made.expect("every setting has a default that can be parsed")
}

/// Settings from all sources.
#[derive(Debug)]
pub struct Settings<T, K> {
    /// All settings except the access keys of the file.
    pub value: T,
    /// The access keys of the file, unless flags or the environment set some.
    pub keys: Option<Vec<K>>,
    merged: ArgMatches,
}

impl<T: Args, K: DeserializeOwned> Settings<T, K> {
    /// Flags and environment (`given`, parsed by the options of the type), and a file for what they do not
    /// set.
    ///
    /// # Errors
    /// The file, the line and what is wrong there; settings that contradict each other.
    pub fn read(given: &ArgMatches, file: Option<&Path>) -> Result<Self, String> {
        let Some(path) = file else {
            return Self::parse(given, "");
        };
        let told = |error: String| format!("configuration {}{error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| told(format!(": {error}")))?;
        Self::parse(given, &text).map_err(told)
    }

    /// Like [`read`](Self::read), with the text of a file; errors start with the line.
    ///
    /// # Errors
    /// The line and what is wrong there; settings that contradict each other.
    pub fn parse(given: &ArgMatches, text: &str) -> Result<Self, String> {
        let wrong = |error: clap::Error| format!(": {}", told(&error));
        let file = File::parse::<T>(text)?;
        let keys: Keys<K> =
            toml::from_str(text).map_err(|error| at(text, error.span(), error.message()))?;
        let merged = layered::<T>(given, &file).map_err(wrong)?;
        let mut settings = Self {
            value: T::from_arg_matches(&merged).map_err(wrong)?,
            keys: None,
            merged,
        };
        if !settings.says(KEYS) {
            settings.keys = keys.keys;
        }
        Ok(settings)
    }

    /// Whether a setting was set explicitly.
    #[must_use]
    pub fn says(&self, id: &str) -> bool {
        self.merged.value_source(id) == Some(ValueSource::CommandLine)
    }
}

/// The one part of a file that is not an option, since an entry has several fields.
const KEYS: &str = "keys";

#[derive(Deserialize)]
struct Keys<K> {
    keys: Option<Vec<K>>,
}

/// The settings of a file, except access keys, by the ids of their options.
#[derive(Default)]
struct File(HashMap<String, Vec<String>>);

impl File {
    fn parse<T: Args>(text: &str) -> Result<Self, String> {
        let table =
            DeTable::parse(text).map_err(|error| at(text, error.span(), error.message()))?;
        let mut file = Self::default();
        let options = options::<T>();
        let entries = table.get_ref().iter();
        for (name, value) in entries.filter(|(name, _)| *name.get_ref() != KEYS) {
            let id = name.get_ref().to_string();
            let DeValue::Table(section) = value.get_ref() else {
                file.add(&options, text, id, name.span(), value)?;
                continue;
            };
            for (own, value) in section {
                let id = format!("{id}.{}", own.get_ref());
                file.add(&options, text, id, own.span(), value)?;
            }
        }
        Ok(file)
    }

    fn add(
        &mut self,
        options: &Command,
        text: &str,
        id: String,
        place: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), String> {
        let Some(arg) = options.get_arguments().find(|arg| *arg.get_id() == *id) else {
            let what = format!("unknown setting `{id}`");
            return Err(at(text, Some(place), &what));
        };
        // Numbers as they are written: the option parses units.
        let written = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => text.get(value.span()).unwrap_or_default().to_owned(),
        };
        let values: Vec<_> = match value.get_ref() {
            DeValue::Array(values) => values.iter().map(written).collect(),
            _ => vec![written(value)],
        };
        let wrong = |what: &str| Err(at(text, Some(value.span()), &format!("`{id}`: {what}")));
        if values.is_empty() && !arg.get_default_values().is_empty() {
            return wrong("the value is empty; remove the line to use the default");
        }
        let line = values.iter().map(|value| option(arg, value.as_ref()));
        let line = std::iter::once("settings".into()).chain(line);
        if let Err(error) = options.clone().try_get_matches_from(line) {
            return wrong(&match error.source() {
                Some(source) => source.to_string(),
                None => told(&error),
            });
        }
        self.0.insert(id, values);
        Ok(())
    }
}

/// The message of an error in one line, without usage and hints.
fn told(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    let lines = text.lines().take_while(|line| !line.is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// An error at a position in a text, after its line number.
fn at(text: &str, span: Option<Range<usize>>, what: &str) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!(", line {}", before.matches('\n').count() + 1));
    format!("{}: {what}", line.unwrap_or_default())
}

/// `--flag=value`.
fn option(arg: &Arg, value: &std::ffi::OsStr) -> OsString {
    let mut option = OsString::from(format!("--{}=", arg.get_long().unwrap_or_default()));
    option.push(value);
    option
}

/// All sources as one command line.
fn layered<T: Args>(given: &ArgMatches, file: &File) -> Result<ArgMatches, clap::Error> {
    let options = options::<T>();
    let mut line = vec![OsString::from("settings")];
    for arg in options.get_arguments() {
        let id = arg.get_id().as_str();
        match given.value_source(id) {
            Some(ValueSource::CommandLine | ValueSource::EnvVariable) => {
                let said = given.get_raw(id).into_iter().flatten();
                line.extend(said.map(|value| option(arg, value)));
            }
            _ => {
                let said = file.0.get(id).into_iter().flatten();
                line.extend(said.map(|value| option(arg, value.as_ref())));
            }
        }
    }
    options.try_get_matches_from(line)
}

/// A file with every setting except access keys, commented out, with help and defaults.
#[must_use]
pub fn sample<T: Args>() -> String {
    let (mut text, mut before) = (String::new(), "");
    let options = options::<T>();
    let is_own = |arg: &&Arg| *arg.get_id() != *KEYS;
    for arg in options.get_arguments().filter(is_own) {
        let id = arg.get_id().as_str();
        let (section, name) = id.split_once('.').unwrap_or(("", id));
        if section != before {
            text.push_str(&format!("\n[{section}]\n"));
            before = section;
        } else {
            text.push('\n');
        }
        let help = arg.get_long_help().or(arg.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let sentences = help.lines().filter(|line| !line.is_empty());
        let mut words: String = sentences
            .map(|line| format!("{}. ", line.strip_suffix('.').unwrap_or(line)))
            .collect();
        let is_list = matches!(arg.get_action(), clap::ArgAction::Append);
        let defaults = arg.get_default_values().iter();
        let mut values: Vec<_> = defaults
            .map(|value| literal(&value.to_string_lossy()))
            .collect();
        if values.is_empty() && !is_list {
            if !help.contains("[default:") && !help.contains("By default,") {
                words.push_str("No default.");
            }
            let names = arg.get_value_names().unwrap_or_default();
            values.extend(names.iter().map(|name| literal(name)));
        }
        wrap(&mut text, &words);
        let values = values.join(", ");
        text.push_str(&match is_list {
            true => format!("#{name} = [{values}]\n"),
            false => format!("#{name} = {values}\n"),
        });
    }
    text
}

/// As TOML: numbers and booleans bare, everything else quoted.
fn literal(value: &str) -> String {
    match value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() {
        true => value.to_owned(),
        false => format!("{value:?}"),
    }
}

/// Adds a paragraph as comments.
fn wrap(text: &mut String, paragraph: &str) {
    let mut line = String::from("#");
    for word in paragraph.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "#".into();
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
