//! Real sites: `bloomgrove site` in processes of their own.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::listening;
use crate::support::{Said, Shop, json};

/// What takes longer than this is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Site {
    name: String,
    child: Child,
    pub(crate) url: String,
}

impl Site {
    /// Starts one in the folder of a shop, which publishes every second.
    pub(crate) fn start(shop: &Shop, name: &str, coordinator: &str, options: &[&str]) -> Self {
        let data = format!("site-{name}");
        let mut args = vec!["site", "--name", name, "--data", &data];
        args.extend(["--listen", "127.0.0.1:0", "--period", "1s"]);
        args.extend(["--coordinator", coordinator]);
        args.extend(options);
        let mut child = shop
            .command(&args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let url = listening(BufReader::new(child.stderr.take().unwrap()));
        let name = name.to_owned();
        let site = Self { name, child, url };
        until("the site is ready", || {
            let said = site.run(shop, "info");
            said.code == Some(0) || said.err.contains("key")
        });
        site
    }

    /// `bloomgrove site` with the words of a line, against this one.
    pub(crate) fn run(&self, shop: &Shop, line: &str) -> Said {
        let mut args = vec!["site"];
        args.extend(line.split_whitespace());
        args.extend(["--site", &self.url]);
        shop.run_args(&args)
    }

    pub(crate) fn record(&self, shop: &Shop, line: &str) {
        self.run(shop, &format!("record {line}")).ends(0);
    }

    pub(crate) fn status(&self, shop: &Shop) -> Value {
        json(&self.run(shop, "info --json").ends(0))
    }

    /// Waits until the coordinator has all that was recorded here.
    pub(crate) fn published(&self, shop: &Shop) {
        until(&format!("{} has published", self.name), || {
            let status = self.status(shop);
            let sets = status["sets"].as_array().unwrap();
            status["coordinator"]["connected"] == true
                && !sets.is_empty()
                && sets.iter().all(|set| set["pending"] == 0)
        });
    }

    /// `kill -9`, or another signal.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.unwrap().success());
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until it is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "still not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
