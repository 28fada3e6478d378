//! `bloomgrove serve`, killed at random moments under load, and on a disk that takes no more: what it
//! acknowledged is there, and it starts again by itself.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::Shop;
use bloomgrove::{Filter, Params};
use bloomgrove_client::Client;
use bloomgrove_client::api::{Code, Key, WhichQuery};

const KILLS: u64 = 100;
/// Clients that write at a time, each to sets of its own.
const WRITERS: usize = 4;

/// A server in a process of its own, which is ended with the test.
struct Served {
    child: Child,
    client: Client,
}

impl Served {
    async fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ");
        let client = Client::new(url.unwrap_or_else(|| panic!("it said {line:?}"))).unwrap();
        let served = Self { child, client };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !served.client.is_ready().await.unwrap_or(false) {
            assert!(Instant::now() < deadline, "it does not become ready");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(shop: &Shop) -> Command {
    shop.command(&["serve", "--data", "data", "--listen", "127.0.0.1:0"])
}

fn params() -> Params {
    Params::builder(20_000, 5).build().unwrap()
}

/// What a writer was told is there, and what it has begun and does not know the end of.
#[derive(Default)]
struct Acknowledged {
    sets: BTreeMap<String, Vec<String>>,
    deleted: Vec<String>,
    next: u64,
}

impl Acknowledged {
    /// Writes until it is told to stop, or the server is gone.
    async fn write(&mut self, writer: usize, client: &Client, stop: &AtomicBool) {
        while !stop.load(Relaxed) {
            self.next += 1;
            let number = self.next;
            let key = format!("key-{writer}-{number}");
            let name = match number % 7 {
                0 => None,
                _ => self.sets.keys().nth(number as usize * 31 % 13).cloned(),
            };
            let done = match name {
                // Another set, whole.
                None => {
                    let name = format!("set-{writer}-{number}");
                    let mut filter = Filter::new(params()).unwrap();
                    filter.insert(key.as_str());
                    let done = client.put_filter(&name, &filter).await.is_ok();
                    if done {
                        self.sets.insert(name, vec![key]);
                    }
                    done
                }
                Some(name) if number.is_multiple_of(29) => {
                    // Whatever comes of it: it is no longer known to be there.
                    self.sets.remove(&name);
                    let done = client.remove(&name).await.is_ok();
                    if done {
                        self.deleted.push(name);
                    }
                    done
                }
                Some(name) if number.is_multiple_of(3) => {
                    let mut filter = Filter::new(params()).unwrap();
                    filter.insert(key.as_str());
                    let done = client.merge(&name, &filter, None).await.is_ok();
                    if done {
                        self.sets.entry(name).or_default().push(key);
                    }
                    done
                }
                Some(name) => {
                    let keys = vec![Key::from(key.as_str())];
                    let done = client.insert(&name, keys, None).await.is_ok();
                    if done {
                        self.sets.entry(name).or_default().push(key);
                    }
                    done
                }
            };
            if !done {
                return;
            }
        }
    }

    /// Everything acknowledged is there, and nothing that was deleted.
    async fn check(&self, client: &Client) -> usize {
        let all: Vec<(&String, &String)> = self
            .sets
            .iter()
            .flat_map(|(name, keys)| keys.iter().map(move |key| (name, key)))
            .collect();
        for some in all.chunks(10_000) {
            let request = WhichQuery {
                keys: some
                    .iter()
                    .map(|(_, key)| Key::from(key.as_str()))
                    .collect(),
                ..WhichQuery::default()
            };
            let which = client.which(&request).await.unwrap();
            for ((name, key), answer) in some.iter().zip(which.answers) {
                let found = answer.sets.unwrap().contains(name);
                assert!(found, "{key} was acknowledged for {name} and is not there");
            }
        }
        if let Some(name) = self.deleted.last() {
            let gone = client.set(name).await.unwrap_err();
            assert_eq!(gone.code(), Some(Code::NotFound), "{name} was deleted");
        }
        all.len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_missing_after_a_hundred_kills() {
    let shop = Shop::new();
    let mut writers: Vec<Acknowledged> = (0..WRITERS).map(|_| Acknowledged::default()).collect();
    let mut random = 1u64;
    let (mut keys, mut interrupted) = (0, 0);
    for _ in 0..KILLS {
        let mut served = Served::start(serve(&shop)).await;
        keys = 0;
        for writer in &writers {
            keys += writer.check(&served.client).await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let tasks: Vec<_> = writers
            .drain(..)
            .enumerate()
            .map(|(number, mut writer)| {
                let (client, stop) = (served.client.clone(), stop.clone());
                tokio::spawn(async move {
                    writer.write(number, &client, &stop).await;
                    (writer, stop.load(Relaxed))
                })
            })
            .collect();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        tokio::time::sleep(Duration::from_micros((random >> 40) % 120_000)).await;
        // The real thing: no handler, no warning.
        served.child.kill().unwrap();
        served.child.wait().unwrap();
        for task in tasks {
            let (writer, was_told) = task.await.unwrap();
            interrupted += u64::from(!was_told);
            writers.push(writer);
        }
    }
    let served = Served::start(serve(&shop)).await;
    for writer in &writers {
        writer.check(&served.client).await;
    }
    assert!(
        keys > 200,
        "only {keys} keys were acknowledged: that tests little"
    );
    assert!(
        interrupted > KILLS,
        "kills that nobody noticed test nothing"
    );
}

/// A file that may not grow any more stands for a full disk: the same error, at the same places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_changes_are_refused_questions_go_on_and_nothing_is_lost() {
    let shop = Shop::new();
    let program = env!("CARGO_BIN_EXE_bloomgrove");
    let mut command = Command::new("bash");
    // Without the trap the system ends who writes more.
    let script =
        "trap '' XFSZ; ulimit -S -f 8192; exec \"$0\" serve --data data --listen 127.0.0.1:0";
    command
        .args(["-c", script, program])
        .current_dir(shop.path(""));
    let served = Served::start(command).await;
    let client = &served.client;
    let held = |number: u64| {
        let mut filter = Filter::new(Params::builder(400_000, 1).build().unwrap()).unwrap();
        // Half full, so that it cannot be made smaller.
        filter.insert_batch(&(0..280_000).map(|i| number << 32 | i).collect::<Vec<u64>>());
        filter
    };
    let mut sets = 0;
    let problem = loop {
        match client
            .put_filter(&format!("set-{sets:04}"), &held(sets))
            .await
        {
            Ok(_) => sets += 1,
            Err(error) => break error.problem().expect("an answer of the server").clone(),
        }
        assert!(sets < 1000, "the disk never became full");
    };
    assert_eq!(problem.code, Code::Storage, "{problem:?}");
    assert_eq!(problem.status, 507);
    assert!(sets > 10, "only {sets} sets");
    // Again and again, also with what is small, and questions all the while.
    for _ in 0..5 {
        let _ = client.put_filter("one-too-many", &held(9999)).await;
        let answer = client.which_one(Key::from(3u64 << 32)).await.unwrap();
        assert!(answer.sets.unwrap().contains(&"set-0003".to_owned()));
    }
    let pid = served.child.id().to_string();
    let freed = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited"])
        .status();
    assert!(freed.unwrap().success());
    client.put_filter("after", &held(5000)).await.unwrap();
    drop(served);

    let again = Served::start(serve(&shop)).await;
    for number in (0..sets).chain([5000]) {
        let name = match number {
            5000 => "after".to_owned(),
            number => format!("set-{number:04}"),
        };
        let (filter, _) = again.client.filter(&name).await.unwrap();
        assert!(filter == held(number), "{name} has changed");
    }
}
