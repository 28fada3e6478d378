//! The server as a separate process, on separate processors.
//!
//! The tool starts itself again with a hidden verb. The child prints the address that it listens on,
//! and exits when its standard input is closed: when the tool exits, for whatever reason.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bloomgrove_server::{Config, Server};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::wire::{Result, Wire, render};

/// The arguments of the hidden verb.
#[derive(clap::Args)]
pub(crate) struct Args {
    data: PathBuf,
    #[arg(long)]
    memory: Option<u64>,
    cores: Vec<usize>,
}

/// How often to check whether a server is ready.
const EVERY: Duration = Duration::from_millis(2);
/// A server that takes longer to start or to stop is broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// Restricts this process, and all threads that it starts from now on, to these processors.
pub(crate) fn pin(cores: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    Ok(sched_setaffinity(None, &set)?)
}

/// Serves until standard input ends.
pub(crate) fn serve(args: &Args) -> std::result::Result<(), Box<dyn Error>> {
    pin(&args.cores).map_err(|error| error.to_string())?;
    let mut config = Config {
        data: args.data.clone(),
        listen: vec!["127.0.0.1:0".parse()?],
        ..Config::default()
    };
    config.limits.memory = args.memory.unwrap_or(config.limits.memory);
    let runtime = bloomgrove_http::listen::runtime()?;
    runtime.block_on(async {
        let server = Server::bind(config).await?;
        println!("{}", server.addresses()[0]);
        let stop = server.stopper();
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stop.send_replace(true);
        });
        Ok(server.run().await?)
    })
}

/// A running server.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    /// Starts a server; returns how many seconds it took to be ready.
    pub(crate) fn start(data: &Path, memory: Option<u64>, cores: &[usize]) -> Result<(Self, f64)> {
        let started = Instant::now();
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve-for-load")
            .arg(data)
            .args(memory.map(|bytes| format!("--memory={bytes}")))
            .args(cores.iter().map(usize::to_string))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().parse()?;
        let process = Self { child, address };
        let ready = render("GET", "/readyz", "", b"");
        let mut wire = Wire::open(address)?;
        while wire.ask(&ready)?.status == 503 {
            if started.elapsed() > PATIENCE {
                return Err("the server is not ready".into());
            }
            std::thread::sleep(EVERY);
        }
        wire.expect(200, &ready)?;
        Ok((process, started.elapsed().as_secs_f64()))
    }

    /// Its peak resident memory, in bytes.
    pub(crate) fn peak(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.ok_or("no peak in the status")?.trim_end_matches("kB");
        Ok(kib.trim().parse::<u64>()? << 10)
    }

    /// Shuts it down; returns how many seconds that took.
    pub(crate) fn stop(mut self) -> Result<f64> {
        let started = Instant::now();
        drop(self.child.stdin.take());
        loop {
            if let Some(status) = self.child.try_wait()? {
                return match status.success() {
                    true => Ok(started.elapsed().as_secs_f64()),
                    false => Err(format!("the server ended with {status}").into()),
                };
            }
            if started.elapsed() > PATIENCE {
                return Err("the server does not stop".into());
            }
            std::thread::sleep(EVERY);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
