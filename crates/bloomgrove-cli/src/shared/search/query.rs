//! What is searched for: one or more patterns, and how they are meant.

use anyhow::{Context, Result};
use bloomgrove_keys::{Extraction, Needed, Pattern, PatternOptions};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

// A comment here would become the help of the command.
#[derive(clap::Args, Default)]
pub(crate) struct QueryArgs {
    /// Search for this regular expression (repeatable)
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) regexp: Vec<String>,
    /// Ignore case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Ignore case unless the pattern has an upper-case letter
    #[arg(short = 'S', long, conflicts_with = "ignore_case")]
    pub(crate) smart_case: bool,
    /// Find only matches that are whole lines
    #[arg(short = 'x', long, conflicts_with = "word")]
    pub(crate) line_regexp: bool,
}

/// A query, ready to be looked up and searched.
pub(crate) struct Query {
    patterns: Vec<String>,
    pub(crate) options: PatternOptions,
}

impl QueryArgs {
    /// Whether any option but the patterns was given.
    pub(crate) fn is_given(&self) -> bool {
        self.ignore_case || self.smart_case || self.line_regexp
    }

    /// The query for these patterns.
    pub(crate) fn query(&self, patterns: Vec<String>, fixed_strings: bool, word: bool) -> Query {
        let has_upper = patterns
            .iter()
            .any(|pattern| pattern.chars().any(char::is_uppercase));
        let mut options = PatternOptions::default();
        options.fixed_strings = fixed_strings;
        options.ignore_case = self.ignore_case || self.smart_case && !has_upper;
        options.word = word;
        options.line = self.line_regexp;
        Query { patterns, options }
    }
}

impl Query {
    /// The keys that a text must contain to match.
    pub(crate) fn needed(&self, extraction: &Extraction) -> Result<Needed> {
        let pattern = Pattern::new(&self.patterns, self.options)?;
        Ok(pattern.needed(extraction))
    }

    /// Searches lines as ripgrep does.
    pub(crate) fn matcher(&self) -> Result<RegexMatcher> {
        // Its errors show the pattern as it was written; those of the matcher show what it made of it.
        Pattern::new(&self.patterns, self.options)?;
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .unicode(true)
            .octal(false)
            .fixed_strings(self.options.fixed_strings)
            .case_insensitive(self.options.ignore_case)
            .word(self.options.word)
            .whole_line(self.options.line)
            .line_terminator(Some(b'\n'))
            .dot_matches_new_line(false)
            .build_many(&self.patterns);
        matcher.with_context(|| format!("the pattern {:?}", self.patterns.join(" or ")))
    }
}
