//! Runs every `console` example in the README and docs/guide, and compares what it prints with what is written there.
//!
//! ```text
//!   docs/guide/indexes.md --commands--> one bash, in a directory of its own with a copy of examples/
//!            ^                               |  their output
//!            +---------- compare ----------- the same text with this output
//! ```
//!
//! In the text, `[..]` matches any part of a line, and a line of `...` any number of lines. To replace the output in the
//! text by what the commands print now: `SNAPSHOTS=overwrite cargo test -p bloomgrove-cli --test guide`.
//!
//! A command that ends in `&` starts a server; the next one waits until it listens. The ports 7117 to 7119 are replaced by
//! free ones. A command that fails must be followed by `echo $?`, so that no failure goes unnoticed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{fs, thread};

use snapbox::{Assert, Data, IntoData};

#[test]
fn every_example_prints_what_is_written_there() {
    let assert = Assert::new().action_env("SNAPSHOTS").normalize_paths(false);
    let pages = pages();
    thread::scope(|scope| {
        for file in &pages {
            scope.spawn(|| assert.eq(replayed(file, &assert), Data::read_from(file, None)));
        }
    });
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.with_file_name(file)
            };
            assert!(target.exists(), "{}: no such file: {link}", page.display());
            assert!(
                heading.is_empty() || headings(&target).contains(&heading.to_owned()),
                "{}: no such heading: {link}",
                page.display()
            );
        }
    }
}

/// The README and the guide.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir("../../docs/guide")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(!pages.is_empty(), "the guide is missing");
    pages.push("../../README.md".into());
    pages
}

/// The headings of a page, as links name them.
fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let titles = text.lines().filter(|line| line.starts_with('#'));
    let name = |title: &str| {
        let words = title
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .replace(' ', "-");
        words.replace(|c: char| !c.is_alphanumeric() && c != '-', "")
    };
    titles.map(name).collect()
}

/// The commands in a row of a table.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let is_row = line.starts_with("| ");
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter(move |span| is_row && span.starts_with("bloomgrove "))
}

/// The text of `file`, with what its commands print in place of what is written there.
fn replayed(file: &Path, assert: &Assert) -> String {
    let written = fs::read_to_string(file).unwrap();
    let mut text = String::new();
    let mut session = None;
    let mut console = false;
    let mut lines = written.lines().peekable();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        // Those in a table only have to succeed.
        for command in commands(line).filter(|_| file.ends_with("../../README.md")) {
            let session = session.get_or_insert_with(|| Session::start(file));
            session.run(command);
            session.run("true");
        }
        let Some(first) = line.strip_prefix("$ ").filter(|_| console) else {
            assert!(
                !console || line == "```",
                "{}: not a command: {line}",
                file.display()
            );
            console = line == "```console";
            continue;
        };
        let mut command = format!("{first}\n");
        while command.ends_with("\\\n") {
            let more = lines.next().expect("a command ends in a backslash");
            text += &format!("{more}\n");
            command += &format!("{more}\n");
        }
        let mut output = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
            output += &format!("{line}\n");
        }
        let printed = session
            .get_or_insert_with(|| Session::start(file))
            .run(command.trim_end());
        // One by one, so that a command that prints something else now does not cost the others their `[..]`.
        let (printed, _) = assert.normalize(printed.into_data(), output.into_data());
        text += &printed.render().expect("text");
    }
    text
}

/// A shell in a directory of its own.
struct Session {
    file: String,
    shell: Child,
    commands: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The ports that are written, and those that stand for them.
    ports: Vec<(String, String)>,
    /// The exit code of the last command.
    status: String,
    /// A copy of examples/, and what the commands have made.
    _directory: tempfile::TempDir,
}

impl Session {
    fn start(file: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy(
            Path::new("../../examples"),
            &directory.path().join("examples"),
        );
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let free = listeners.map(|listener| listener.local_addr().unwrap().port().to_string());
        let program = Path::new(env!("CARGO_BIN_EXE_bloomgrove"));
        let path = [
            program.parent().unwrap().as_os_str(),
            &std::env::var_os("PATH").unwrap(),
        ]
        .join(":".as_ref());
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            .current_dir(&directory)
            .env("PATH", path)
            .env("TZ", "UTC")
            .env("BLOOMGROVE_LISTEN", format!("127.0.0.1:{}", free[0]))
            .env("BLOOMGROVE_SERVER", format!("http://127.0.0.1:{}", free[0]))
            .env("BLOOMGROVE_SITE", format!("http://127.0.0.1:{}", free[1]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut commands = shell.stdin.take().unwrap();
        // Servers end with the shell, which ends with the test, whatever happens to it.
        writeln!(
            commands,
            "exec 2>&1; trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"
        )
        .unwrap();
        Self {
            file: file.display().to_string(),
            output: BufReader::new(shell.stdout.take().unwrap()),
            shell,
            commands,
            ports: ["7117", "7118", "7119"]
                .map(String::from)
                .into_iter()
                .zip(free)
                .collect(),
            status: "0".into(),
            _directory: directory,
        }
    }

    /// What a command prints.
    fn run(&mut self, command: &str) -> String {
        const END: &str = "-- end of the command:";
        assert!(
            self.status == "0" || command.starts_with("echo $?"),
            "{}: the command before `{command}` failed with exit code {}; `echo $?` must follow it",
            self.file,
            self.status
        );
        let mut line = command.to_owned();
        for (written, free) in &self.ports {
            line = line.replace(written, free);
        }
        if line.ends_with(" &") {
            // Awaited until it has said all that it says when it starts.
            line = format!(
                "{} >started & while [ ! -s started ] && kill -0 $!; do sleep 0.05; done; sleep 0.5; cat started",
                line.trim_end_matches(" &")
            );
        }
        let status = std::mem::take(&mut self.status);
        write!(
            self.commands,
            "(exit {status})\n{{ {line}\n}} </dev/null\nprintf '\\n{END}%s\\n' $?\n"
        )
        .unwrap();
        let mut printed = String::new();
        while self.status.is_empty() {
            let start = printed.len();
            let read = self.output.read_line(&mut printed).unwrap();
            assert!(
                read > 0,
                "{}: the shell ended in `{command}`: {printed}",
                self.file
            );
            if let Some(status) = printed[start..].strip_prefix(END) {
                self.status = status.trim_end().to_owned();
                printed.truncate(start - 1);
            }
        }
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        for (written, free) in &self.ports {
            printed = printed.replace(free, written);
        }
        printed
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = writeln!(self.commands, "exit");
        let _ = self.shell.wait();
        assert!(
            thread::panicking() || self.status == "0",
            "{}: the last command failed with exit code {}; `echo $?` must follow it",
            self.file,
            self.status
        );
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else if !entry.file_name().to_string_lossy().starts_with('.') {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
