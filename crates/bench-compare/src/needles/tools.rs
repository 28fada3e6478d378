//! The programs that are compared: which there are, and how each is asked the same question.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use super::Result;

/// What is searched, in the words of ripgrep.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) pattern: String,
    pub(crate) fixed: bool,
    pub(crate) word: bool,
    pub(crate) ignore_case: bool,
}

impl Query {
    /// Its options, as ripgrep, ugrep and Bloomgrove's `grep` have them.
    fn options(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            (self.fixed, "-F"),
            (self.word, "-w"),
            (self.ignore_case, "-i"),
        ];
        options
            .into_iter()
            .filter_map(|(given, option)| given.then_some(option))
    }
}

/// Where the programs are.
pub(crate) struct Tools {
    pub(crate) bloomgrove: PathBuf,
}

/// Each with its package in Debian.
const OTHERS: [(&str, &str); 4] = [
    ("rg", "ripgrep"),
    ("ugrep", "ugrep"),
    ("cindex", "codesearch"),
    ("csearch", "codesearch"),
];

impl Tools {
    /// Finds them; root installs those that are missing.
    pub(crate) fn find(bloomgrove: Option<&Path>) -> Result<Self> {
        let built = ["target/dist/bloomgrove", "target/release/bloomgrove"].map(Path::new);
        let found = match bloomgrove {
            Some(given) => Some(given),
            None => built.into_iter().find(|path| path.exists()),
        };
        let found = found.ok_or("no program to measure; build it with `cargo build --profile dist`, or name it with --bloomgrove")?;
        let missing: Vec<&str> = OTHERS
            .iter()
            .filter(|(name, _)| !is_there(name))
            .map(|(_, package)| *package)
            .collect();
        if !missing.is_empty() {
            if !rustix::process::geteuid().is_root() {
                return Err(format!("these packages are missing: {}", missing.join(" ")).into());
            }
            let done = Command::new("apt-get")
                .args(["install", "-y"])
                .args(&missing)
                .status()?;
            if !done.success() {
                return Err(format!("apt-get install {}: {done}", missing.join(" ")).into());
            }
        }
        Ok(Self {
            bloomgrove: std::path::absolute(found)?,
        })
    }

    /// One line for each, with its version.
    pub(crate) fn versions(&self) -> String {
        let first = |program: &Path| {
            let output = Command::new(program).arg("--version").output().ok()?;
            Some(
                String::from_utf8_lossy(&output.stdout)
                    .lines()
                    .next()?
                    .to_owned(),
            )
        };
        let programs = [
            self.bloomgrove.as_path(),
            Path::new("rg"),
            Path::new("ugrep"),
        ];
        programs
            .into_iter()
            .filter_map(first)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The files with a match, by Bloomgrove.
    pub(crate) fn which(&self, query: &Query, root: &Path) -> Command {
        self.which_with(&[], query, root)
    }

    /// The same, with more options.
    pub(crate) fn which_with(&self, options: &[&str], query: &Query, root: &Path) -> Command {
        let mut command = Command::new(&self.bloomgrove);
        command.arg("which").args(options);
        if query.ignore_case {
            command.arg("-i");
        }
        match (query.fixed, query.word) {
            (true, true) => command.args(["--", &query.pattern]),
            (true, false) => command.args(["--no-word", "--", &query.pattern]),
            (false, true) => command.args(["-w", "-e", &query.pattern]),
            (false, false) => command.args(["-e", &query.pattern]),
        };
        command.arg(root);
        command
    }

    /// The lines that match, by Bloomgrove.
    pub(crate) fn grep(&self, query: &Query, root: &Path) -> Command {
        let mut command = Command::new(&self.bloomgrove);
        command
            .args(["grep", "-n"])
            .args(query.options())
            .args(["-e", &query.pattern])
            .arg(root);
        command
    }
}

/// ripgrep; `how` is -l or -n.
pub(crate) fn rg(query: &Query, how: &str, root: &Path) -> Command {
    let mut command = Command::new("rg");
    command.args([
        "--no-config",
        "--no-ignore",
        "--no-heading",
        "--color=never",
        "-z",
        how,
    ]);
    command
        .args(query.options())
        .args(["-e", &query.pattern])
        .arg(root);
    command
}

pub(crate) fn ugrep(query: &Query, root: &Path) -> Command {
    let mut command = Command::new("ugrep");
    command.args(["--color=never", "-z", "-l", "-r"]);
    command
        .args(query.options())
        .args(["-e", &query.pattern])
        .arg(root);
    command
}

/// codesearch knows neither words nor literal text, but regular expressions.
pub(crate) fn csearch(query: &Query, index: &Path) -> Command {
    let pattern = match query.fixed {
        true => regex::escape(&query.pattern),
        false => query.pattern.clone(),
    };
    let pattern = if query.word {
        format!("\\b{pattern}\\b")
    } else {
        pattern
    };
    let mut command = Command::new("csearch");
    command.env("CSEARCHINDEX", index).arg("-l");
    if query.ignore_case {
        command.arg("-i");
    }
    command.arg(pattern);
    command
}

pub(crate) fn cindex(index: &Path, root: &Path) -> Command {
    let mut command = Command::new("cindex");
    command.env("CSEARCHINDEX", index).arg(root);
    command
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Runs a command to its end; exit code 1 says that nothing was found. What it prints goes to a pipe:
/// some programs notice /dev/null, and stop at the first match.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.code() {
        Some(0 | 1) => Ok(output),
        _ => Err(format!(
            "{command:?}: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

/// What a command prints, in sorted lines, and how many seconds it took.
pub(crate) fn timed(command: &mut Command) -> Result<(Vec<Vec<u8>>, f64)> {
    let start = Instant::now();
    let output = output(command)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((sorted_lines(&output.stdout), seconds))
}

pub(crate) fn sorted_lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines.sort_unstable();
    lines
}
