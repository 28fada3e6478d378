//! `bloomgrove serve` as a process: configuration, keys, signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The command, without what the environment of the tests may say.
fn bloomgrove(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bloomgrove"));
    command.args(args);
    for (name, _) in std::env::vars() {
        if name.starts_with("BLOOMGROVE_") {
            command.env_remove(name);
        }
    }
    command
}

/// One that ends by itself.
fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

struct Running {
    child: Child,
    /// Reads what it logs, so that it never waits for us.
    log: Option<JoinHandle<String>>,
    addr: String,
}

impl Running {
    /// Starts it, and reads in its log where it listens.
    fn start(command: &mut Command) -> Self {
        let command = command.args(["--log-format", "json", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        let addr = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended");
            all.push_str(&line);
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            if let Some(url) = event["url"].as_str() {
                break url.strip_prefix("http://").unwrap().to_owned();
            }
        };
        let log = std::thread::spawn(move || {
            // Whatever could be read.
            let _ = log.read_to_string(&mut all);
            all
        });
        let log = Some(log);
        let running = Self { child, log, addr };
        let start = Instant::now();
        while running.get("/readyz", "").0 != 200 {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
        running
    }

    fn get(&self, path: &str, key: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let addr = &self.addr;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {key}\r\n\
             connection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        (status, text)
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Its exit code and its log, after a polite request to end.
    fn stop(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let rest = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already, if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_key_that_was_made_opens_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let made = output(&mut bloomgrove(&[
        "serve", "key", "--role", "write", "--prefix", "site/", "--name", "galway",
    ]));
    assert!(made.status.success());
    let made = String::from_utf8(made.stdout).unwrap();
    let key = made
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("bg_"));
    let key = key.unwrap();
    let entry = &made[made.find("[[keys]]").unwrap()..];
    assert!(!entry.contains(key), "only its hash is kept");

    let config = folder.path().join("bloomgrove.toml");
    let data = folder.path().join("data");
    std::fs::write(&config, format!("data = '{}'\n{entry}", text(&data))).unwrap();
    let server = Running::start(&mut bloomgrove(&["serve", "--config", text(&config)]));
    assert_eq!(server.get("/v1/status", key).0, 200);
    assert_eq!(server.get("/v1/status", "bg_other").0, 401);
    let refused = server.get("/v1/snapshots", key).1;
    assert!(refused.contains("\"forbidden\""), "{refused}");
    // Certificates are looked for; there are none, and it goes on.
    server.signal("HUP");
    assert_eq!(server.get("/livez", "").0, 200);
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("SIGTERM") && log.contains("\"rejected\""),
        "{log}"
    );
    assert!(!log.contains(key), "keys are not logged");
    assert!(
        data.exists(),
        "the directory of the configuration file was used"
    );
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bloomgrove.toml");
    let place = |name: &str| folder.path().join(name);
    let file = format!(
        "data = '{}'\n[limits]\nmemory = '1GiB'",
        text(&place("file"))
    );
    std::fs::write(&config, file).unwrap();
    let mut command = bloomgrove(&["serve", "--data", text(&place("flag"))]);
    command
        .env("BLOOMGROVE_CONFIG", text(&config))
        .env("BLOOMGROVE_DATA", text(&place("environment")))
        .env("BLOOMGROVE_MEMORY", "123MB");
    let server = Running::start(&mut command);
    let status = server.get("/v1/status", "").1;
    assert!(status.contains("\"memory_limit\":123000000"), "{status}");
    assert_eq!(server.stop().0, Some(0));
    assert!(place("flag").exists());
    assert!(!place("environment").exists() && !place("file").exists());
}

#[test]
fn what_is_wrong_is_said_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bad.toml");
    std::fs::write(&config, "\n[limits]\nbodies = '1MiB'\n").unwrap();
    let data = folder.path().join("data");
    for (args, words) in [
        (
            &["--listen", "0.0.0.0:0"][..],
            &[
                "refusing to listen on 0.0.0.0:0 without access keys",
                "serve key",
            ][..],
        ),
        (
            &["--config", text(&config)],
            &["bad.toml, line 3", "bodies"],
        ),
        (&["--tls-cert", "no-such.pem"], &["key"]),
        (
            &["--tls-cert", "no-such.pem", "--tls-key", "k.pem"],
            &["no-such.pem"],
        ),
        (&["--log", "loud"], &["loud"]),
        (&["--max-body", "0"], &["`body`"]),
    ] {
        let mut command = bloomgrove(&["serve", "--data", text(&data)]);
        let ended = output(command.args(args));
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {error}");
        for word in words {
            assert!(error.contains(word), "{args:?}: {error}");
        }
        assert!(!data.exists(), "{args:?}");
    }
    let prefix = output(&mut bloomgrove(&[
        "serve", "key", "--role", "read", "--prefix", "x",
    ]));
    assert_eq!(prefix.status.code(), Some(2));
}

#[test]
fn a_server_that_fails_does_not_say_that_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::write(&data, "not a directory").unwrap();
    let ended = output(&mut bloomgrove(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        text(&data),
    ]));
    assert_eq!(ended.status.code(), Some(2));
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(
        error.contains("cannot create the data directory"),
        "{error}"
    );
    assert!(!error.contains("listening"), "{error}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "");

    // Nor does one that cannot say so.
    let mut command = bloomgrove(&["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(folder.path().join("other"));
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ended = command
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped());
    let ended = ended.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(error.contains("cannot write to standard output"), "{error}");
}

#[test]
fn a_demo_has_nothing_to_warn_of() {
    let server = Running::start(&mut bloomgrove(&["serve", "--demo"]));
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn a_key_can_be_made_where_the_environment_configures_the_server() {
    let mut command = bloomgrove(&["serve", "key", "--role", "admin"]);
    command
        .env("BLOOMGROVE_DATA", "somewhere")
        .env("BLOOMGROVE_DEMO", "true");
    let made = output(&mut command);
    assert!(made.status.success(), "{made:?}");
}
