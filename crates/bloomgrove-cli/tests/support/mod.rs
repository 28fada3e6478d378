//! The real binary, run in a folder of its own.

#![allow(dead_code)]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Shop {
    folder: tempfile::TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let said = Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// An error that says all of these, and does not print to standard output.
    #[track_caller]
    pub(crate) fn fails_with(self, parts: &[&str]) {
        let said = self.ends(2);
        for part in parts {
            assert!(said.err.contains(part), "no {part:?} in {:?}", said.err);
        }
        assert_eq!(said.out, "");
    }
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bloomgrove"));
        command.args(args).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Said {
        let args: Vec<&str> = line.split_whitespace().collect();
        Said::of(self.command(&args).stdin(Stdio::null()).output().unwrap())
    }

    /// Same as [`run`](Self::run) in this process, for commands that are run thousands of times. A word that begins
    /// with `./` is a path.
    pub(crate) fn run_here(&self, line: &str) -> Said {
        let words = line
            .split_whitespace()
            .map(|word| match word.strip_prefix("./") {
                Some(name) => self.path(name).into_os_string(),
                None => word.into(),
            });
        let said = bloomgrove_cli::run_captured(std::iter::once("bloomgrove".into()).chain(words));
        Said {
            code: Some(said.code.into()),
            out: String::from_utf8_lossy(&said.out).into_owned(),
            err: String::from_utf8_lossy(&said.err).into_owned(),
        }
    }

    pub(crate) fn run_args(&self, args: &[impl AsRef<OsStr>]) -> Said {
        Said::of(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, line: &str, input: &[u8]) -> Said {
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut child = self
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The child may end before it has read all.
        let _ = child.stdin.take().unwrap().write_all(input);
        Said::of(child.wait_with_output().unwrap())
    }

    /// A line for the shell, where `$BLOOMGROVE` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Said {
        let output = Command::new("sh")
            .args(["-c", line])
            .env("BLOOMGROVE", env!("CARGO_BIN_EXE_bloomgrove"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said::of(output)
    }
}

/// A filter of the integers 0, 7, 14, ... below 7000, and the list of them.
pub(crate) fn sevens() -> Shop {
    let shop = Shop::new();
    shop.write("sevens.txt", lines((0..1000).map(|i| i * 7)));
    shop.run("filter build sevens.txt -o sevens.grove --keys integer --fpr 1e-6")
        .ends(0);
    shop
}

/// A filter of text: word-0, word-3, ... below word-3000; `all.txt` has every word, sorted.
pub(crate) fn words() -> Shop {
    let shop = Shop::new();
    let mut all: Vec<String> = (0..3000).map(|i| format!("word-{i}")).collect();
    all.sort();
    shop.write("all.txt", lines(&all));
    shop.write(
        "in.txt",
        lines((0..1000).map(|i| format!("word-{}", i * 3))),
    );
    shop.run("filter build in.txt -o words.grove --fpr 1e-6 --layout standard")
        .ends(0);
    shop
}

pub(crate) fn lines(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items = items.into_iter();
    items.map(|item| item.to_string() + "\n").collect()
}

pub(crate) fn set(text: &str) -> std::collections::BTreeSet<&str> {
    text.lines().collect()
}

pub(crate) fn json(said: &Said) -> serde_json::Value {
    serde_json::from_str(&said.out).unwrap()
}
