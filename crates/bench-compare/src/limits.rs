//! What this machine can do at best: the time of a cache line, and of an echo over the loopback
//! interface. From these follow the limits on docs/bench/limits.md.
//!
//! * `waiting`: each read depends on the one before, so this is the latency.
//! * `independent`: the address of the next line is known; as many reads are under way as a core allows.
//! * `runs`: lines in runs of 20, as long as a row of 10,000 filters; the runs are at random places, and
//!   while one is read, the next is prefetched.
//! * `sequential`: all lines in order.

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use bloomgrove::raw::bits::{Words, prefetch};

use crate::rivals::scatter;

/// Words in a cache line, and lines in a run.
const LINE: usize = 8;
const RUN: usize = 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The sizes of the memory, in MiB
    #[arg(long, value_delimiter = ',', default_values_t = [0.5, 1.0, 4.0, 16.0, 128.0, 1024.0])]
    sizes: Vec<f64>,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    println!("| MiB | ns per line: waiting | independent | in runs | sequential | GB/s |");
    println!("|---|---|---|---|---|---|");
    for &size in &args.sizes {
        let lines = (size * (1 << 20) as f64) as usize / 64;
        let mut words = Words::zeroed(lines * LINE)?;
        // A cycle through all lines, in random order: the first word of each says where to go on.
        let mut order: Vec<usize> = (0..lines).collect();
        for i in (1..lines).rev() {
            order.swap(i, scatter(i as u64) as usize % (i + 1));
        }
        for (at, &line) in order.iter().enumerate() {
            words.as_mut()[line * LINE] = order[(at + 1) % lines] as u64;
        }
        let words = words.as_ref();
        let reads = lines.clamp(1 << 14, 1 << 18);
        let mut start = 0;
        let best = |work: &mut dyn FnMut() -> u64, count: usize| {
            let times = (0..args.rounds).map(|_| {
                let clock = Instant::now();
                black_box(work());
                clock.elapsed().as_nanos() as f64 / count as f64
            });
            times.fold(f64::INFINITY, f64::min)
        };
        let waiting = best(
            &mut || {
                (0..reads).for_each(|_| start = words[start as usize * LINE]);
                start
            },
            reads,
        );
        let mut counter = 0;
        let independent = best(
            &mut || {
                let line = |i: u64| words[(scatter(counter + i) % lines as u64) as usize * LINE];
                let sum = (0..reads as u64).map(line).fold(0, u64::wrapping_add);
                counter += reads as u64;
                sum
            },
            reads,
        );
        let runs = best(
            &mut || {
                let first = |i: u64| (scatter(counter + i) % (lines - RUN) as u64) as usize * LINE;
                let mut sum = 0;
                for i in 0..(reads / RUN) as u64 {
                    let (run, next) = (first(i), first(i + 1));
                    for line in (0..RUN * LINE).step_by(LINE) {
                        prefetch(words, next + line);
                        let line = &words[run + line..][..LINE];
                        sum = line.iter().fold(sum, |sum, word| sum ^ word);
                    }
                }
                counter += reads as u64;
                sum
            },
            reads / RUN * RUN,
        );
        let sequential = best(&mut || words.iter().fold(0, |sum, word| sum ^ word), lines);
        println!(
            "| {size} | {waiting:.1} | {independent:.1} | {runs:.1} | {sequential:.2} | {:.1} |",
            64.0 / sequential
        );
    }
    println!(
        "\nAn echo of 200 bytes over the loopback interface: {:.1} us of processor time for the server.",
        echo()?
    );
    Ok(())
}

/// The processor time of a thread that reads a short request and writes a short response, in
/// microseconds: what a server cannot avoid.
fn echo() -> Result<f64, Box<dyn Error>> {
    const REQUESTS: usize = 20_000;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = std::thread::spawn(move || -> std::io::Result<f64> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut buffer = [0; 4096];
        let before = processor_time();
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(processor_time() - before),
                read => stream.write_all(&buffer[..read])?,
            }
        }
    });
    let mut client = TcpStream::connect(address)?;
    client.set_nodelay(true)?;
    let (request, mut response) = ([b'x'; 200], [0; 200]);
    for _ in 0..REQUESTS {
        client.write_all(&request)?;
        client.read_exact(&mut response)?;
    }
    drop(client);
    let seconds = server.join().map_err(|_| "the server panicked")??;
    Ok(seconds * 1e6 / REQUESTS as f64)
}

/// The processor time of this thread in seconds.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
