//! `bloomgrove remote which`.

use anyhow::{Result, bail};
use bloomgrove_client::api::{self, WhichQuery};
use bloomgrove_keys::Extraction;

use crate::shared::answers::{Enough, Form, short};
use crate::shared::connect::{Remote, key};
use crate::shared::key_args::KeyArgs;
use crate::shared::keys::KeyKind;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, units};

/// Find the sets of a server that may contain a key.
///
/// A set that is not listed does not contain the key. A listed set contains it, except for false
/// positives at the rate of its filter (--explain prints how many to expect). Exit code: 0 if any
/// set may contain any of the keys, 1 if none does.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote which doc-00042\n  \
    bloomgrove remote which --keys-from wanted.txt --prefix logs/ --count")]
pub(super) struct Which {
    #[command(flatten)]
    keys: KeyArgs,
    /// How to interpret keys
    #[arg(long = "keys", value_name = "KIND", value_enum, default_value = "text")]
    kind: KeyKind,
    /// Split each key into tokens or n-grams (tokens, ngrams=4), as the sets were filled, and find
    /// the sets that contain all of them
    #[arg(long, value_name = "KIND", conflicts_with = "kind")]
    extract: Option<Extraction>,
    /// Search only sets whose name begins with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Search only sets with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// List at most this many sets per key [default: 1k]
    #[arg(long, value_name = "COUNT", value_parser = units::count, conflicts_with = "count")]
    limit: Option<u64>,
    #[command(flatten)]
    form: Form,
    /// Report on standard error what the query cost, and how many false positives to expect
    #[arg(long)]
    explain: bool,
}

/// Keys per request: their answers are kept in memory.
const CHUNK: usize = 1000;
/// Bytes of keys per request; a server limits the size of a body.
const CHUNK_BYTES: usize = 4 << 20;

pub(super) fn run(remote: &Remote, args: Which) -> Result<Outcome> {
    args.keys.check()?;
    let mut task = Task {
        remote,
        form: Form {
            many: args.keys.are_many(),
            ..args.form
        },
        args: &args,
        output: Output::new(),
        any: false,
        cut: 0,
    };
    args.keys.each(None, |lines| task.ask(lines))?;
    let (any, cut) = (task.any, task.cut);
    task.output.finish()?;
    if cut > 0 {
        complain(format_args!(
            "{} more sets than are listed; raise --limit, or pass --count to count them",
            match cut {
                1 => "1 key may be in".to_owned(),
                keys => format!("{} keys may be in", units::grouped(keys)),
            }
        ));
    }
    Ok(if any { Outcome::Yes } else { Outcome::No })
}

struct Task<'t> {
    remote: &'t Remote,
    args: &'t Which,
    form: Form,
    output: Output,
    any: bool,
    /// Keys of which not all sets were listed.
    cut: u64,
}

impl Task<'_> {
    fn ask(&mut self, mut lines: &[&[u8]]) -> Result<()> {
        while !lines.is_empty() {
            let count = chunk(lines);
            let (now, later) = lines.split_at(count);
            self.ask_chunk(now)?;
            lines = later;
        }
        Ok(())
    }

    fn ask_chunk(&mut self, lines: &[&[u8]]) -> Result<()> {
        let keys = lines.iter().map(|line| key(self.args.kind, line));
        let question = WhichQuery {
            keys: keys.collect::<Result<_>>()?,
            extract: self.args.extract.as_ref().map(Extraction::to_string),
            prefix: self.args.prefix.clone(),
            tag: self.args.tag.clone(),
            limit: self.args.limit,
            count_only: self.form.count || self.form.quiet,
            explain: self.args.explain,
        };
        let which = self.remote.wait(self.remote.client.which(&question))?;
        for (line, answer) in lines.iter().zip(&which.answers) {
            self.print(line, answer)?;
        }
        if let Some(cost) = &which.cost {
            explain(cost, lines.len() as u64);
        }
        if self.form.quiet && self.any {
            bail!(Enough);
        }
        Ok(())
    }

    fn print(&mut self, line: &[u8], answer: &api::Answer) -> Result<()> {
        self.any |= answer.count > 0;
        let names = answer.sets.iter().flatten();
        let mut names: Vec<&[u8]> = names.map(String::as_bytes).collect();
        // Sorted, as local answers are; a server lists them as it finds them.
        names.sort_unstable();
        let all_named = self.form.count || self.form.quiet || names.len() as u64 == answer.count;
        self.cut += u64::from(!all_named);
        self.form.print(
            &mut self.output,
            line,
            answer.count,
            &names,
            serde_json::Map::new(),
        )
    }
}

/// How many of the lines go into one request.
pub(super) fn chunk(lines: &[&[u8]]) -> usize {
    let mut bytes = 0;
    let fitting = lines.iter().take(CHUNK).take_while(|line| {
        bytes += line.len();
        bytes <= CHUNK_BYTES
    });
    fitting.count().max(1)
}

fn explain(cost: &api::Cost, keys: u64) {
    complain(format_args!(
        "{} per key in the server, with {}; {} tested and {} read; expect {} false positives for a key \
         that no set contains",
        units::time(cost.microseconds / 1e6 / keys as f64),
        units::counted(cost.sets, "set"),
        units::counted(cost.filters_tested / keys, "filter"),
        units::counted(cost.words_read / keys, "word"),
        short(cost.expected_false),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_small_in_keys_and_in_bytes() {
        let long = vec![b'x'; CHUNK_BYTES / 2];
        assert_eq!(chunk(&[b"a", b"b"]), 2);
        assert_eq!(chunk(&vec![&b"a"[..]; 5000]), CHUNK);
        assert_eq!(chunk(&[&long[..], &long, &long]), 2);
        let longest = vec![b'x'; 2 * CHUNK_BYTES];
        assert_eq!(chunk(&[&longest[..], b"a"]), 1);
    }
}
