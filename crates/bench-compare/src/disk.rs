//! The fastest way to read pages from disk and write them back: threads that wait, or a ring of
//! requests that one thread serves (`io_uring`).
//!
//! ```text
//!   threads   N threads, each: read a page, change it, write it, continue with the next
//!   ring      one thread with D pages in flight; a page that has been read is changed and written
//! ```
//!
//! Pages are visited in random order, bypassing the system's cache. Between reading and writing, a
//! page gets as much work as in a buffered filter: a bit is set in each of some thousand lines.
//! Every method takes its turn in each round; the best round of each counts.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use bloomgrove::Error;
use io_uring::{IoUring, opcode, types};
use rustix::fs::OFlags;

use crate::rivals::scatter;

/// Direct I/O requires memory, offsets and lengths at multiples of this.
const ALIGN: usize = 4096;
/// One line is changed per this many bytes of a page: about as many as 32 MB of buffers change in
/// a filter of 256 MB.
const BYTES_PER_KEY: usize = 17;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The size of the file, in megabytes
    #[arg(long, default_value_t = 1024)]
    size: usize,
    /// The size of a page, in kilobytes
    #[arg(long, default_values_t = [4, 512, 2048])]
    page: Vec<usize>,
    /// The directory for the file
    #[arg(long, default_value = ".")]
    directory: PathBuf,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

#[derive(Clone, Copy)]
enum Way {
    Threads(usize),
    Ring(usize),
}

const WAYS: [Way; 8] = [
    Way::Threads(1),
    Way::Threads(2),
    Way::Threads(3),
    Way::Threads(4),
    Way::Threads(8),
    Way::Ring(4),
    Way::Ring(8),
    Way::Ring(32),
];

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = args.directory.join("bench-disk.bin");
    let result = measure(args, &path);
    let _ = std::fs::remove_file(&path);
    result.map_err(|source| Error::Io {
        doing: "measuring the disk",
        source,
    })
}

fn measure(args: &Args, path: &Path) -> io::Result<()> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(path)?;
    let block = Memory::new(1 << 20);
    for at in 0..args.size {
        file.write_all_at(block.bytes(), (at << 20) as u64)?;
    }
    println!(
        "\n### A file of {} MB ({}; best of {} interleaved rounds)\n",
        args.size,
        crate::machine(),
        args.rounds
    );
    println!("| page KB | method | read: pages / s | MB / s | changed: pages / s | MB / s |");
    println!("|---|---|---|---|---|---|");
    for &kilobytes in &args.page {
        let page = kilobytes << 10;
        let all = (args.size << 20) / page;
        let visits = all.min(4096);
        let mut rates = [[0f64; 2]; WAYS.len()];
        for _ in 0..args.rounds {
            for (way, rates) in WAYS.iter().zip(&mut rates) {
                for (write, rate) in [false, true].into_iter().zip(rates) {
                    let job = Job {
                        file: &file,
                        page,
                        visits,
                        all,
                        write,
                    };
                    let start = Instant::now();
                    match *way {
                        Way::Threads(count) => job.by_threads(count)?,
                        Way::Ring(depth) => job.by_ring(depth)?,
                    }
                    *rate = rate.max(visits as f64 / start.elapsed().as_secs_f64());
                }
            }
        }
        for (way, rates) in WAYS.iter().zip(rates) {
            let name = match way {
                Way::Threads(count) => format!("{count} threads"),
                Way::Ring(depth) => format!("ring, {depth} in flight"),
            };
            let megabytes = |rate: f64| rate * kilobytes as f64 / 1024.0;
            let [read, changed] = rates;
            println!(
                "| {kilobytes} | {name} | {read:.0} | {:.0} | {changed:.0} | {:.0} |",
                megabytes(read),
                megabytes(changed)
            );
        }
    }
    Ok(())
}

/// The pages to visit, each once, in random order.
struct Job<'f> {
    file: &'f File,
    page: usize,
    visits: usize,
    all: usize,
    write: bool,
}

impl Job<'_> {
    fn offset(&self, visit: usize) -> u64 {
        // Odd steps visit each page once if their number is a power of two, and nearly so if not.
        let page = (visit as u64).wrapping_mul(scatter(self.visits as u64) | 1) % self.all as u64;
        page * self.page as u64
    }

    fn change(&self, memory: &mut [u8], visit: usize) {
        let lines = (memory.len() / 64) as u64;
        for key in 0..(memory.len() / BYTES_PER_KEY) as u64 {
            let hash = scatter(key ^ (visit as u64) << 32);
            let line = ((u128::from(hash) * u128::from(lines)) >> 64) as usize * 64;
            memory[line + (hash & 63) as usize] |= 1 << (hash >> 8 & 7);
        }
    }

    fn by_threads(&self, count: usize) -> io::Result<()> {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = || -> io::Result<()> {
                let mut memory = Memory::new(self.page);
                loop {
                    let visit = next.fetch_add(1, Relaxed);
                    if visit >= self.visits {
                        return Ok(());
                    }
                    let at = self.offset(visit);
                    self.file.read_exact_at(memory.bytes_mut(), at)?;
                    self.change(memory.bytes_mut(), visit);
                    if self.write {
                        self.file.write_all_at(memory.bytes(), at)?;
                    }
                }
            };
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
            let mut ends = threads.into_iter().map(|thread| thread.join());
            ends.try_for_each(|end| end.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
        })
    }

    fn by_ring(&self, depth: usize) -> io::Result<()> {
        let mut ring = IoUring::new(depth as u32)?;
        let mut slots: Vec<(Memory, usize, bool)> = (0..depth)
            .map(|_| (Memory::new(self.page), 0, false))
            .collect();
        let result = self.tend(&mut ring, &mut slots);
        if result.is_err() {
            // The system may still be writing to them.
            std::mem::forget(slots);
        }
        result
    }

    fn tend(&self, ring: &mut IoUring, slots: &mut [(Memory, usize, bool)]) -> io::Result<()> {
        let (mut begun, mut done) = (0, 0);
        for slot in 0..slots.len().min(self.visits) {
            slots[slot].1 = begun;
            self.push(ring, &mut slots[slot], slot)?;
            begun += 1;
        }
        while done < self.visits {
            ring.submit_and_wait(1)?;
            let ends: Vec<_> = ring
                .completion()
                .map(|e| (e.user_data(), e.result()))
                .collect();
            for (slot, result) in ends {
                if result != self.page as i32 {
                    return Err(io::Error::other(format!("a request failed with {result}")));
                }
                let at = slot as usize;
                let (memory, visit, written) = &mut slots[at];
                if !*written {
                    self.change(memory.bytes_mut(), *visit);
                }
                if self.write && !*written {
                    *written = true;
                } else {
                    done += 1;
                    if begun == self.visits {
                        continue;
                    }
                    (*visit, *written) = (begun, false);
                    begun += 1;
                }
                self.push(ring, &mut slots[at], at)?;
            }
        }
        Ok(())
    }

    /// Submits the next step of a slot: reading its page, or writing it.
    #[allow(unsafe_code)]
    fn push(
        &self,
        ring: &mut IoUring,
        (memory, visit, write): &mut (Memory, usize, bool),
        slot: usize,
    ) -> io::Result<()> {
        let (fd, at) = (types::Fd(self.file.as_raw_fd()), self.offset(*visit));
        let (bytes, len) = (memory.bytes_mut().as_mut_ptr(), self.page as u32);
        let entry = match write {
            false => opcode::Read::new(fd, bytes, len).offset(at).build(),
            true => opcode::Write::new(fd, bytes, len).offset(at).build(),
        };
        let entry = entry.user_data(slot as u64);
        // SAFETY: the slot's memory stays alive, unmoved and untouched, until its completion has been
        // received: `tend` touches a slot only then, and returns with requests in flight only on an
        // error, after which `by_ring` never frees the slots.
        let pushed = unsafe { ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("more requests than the ring can take"))
    }
}

/// Aligned memory.
struct Memory {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Memory {
    fn new(len: usize) -> Self {
        let bytes = vec![0u8; len + ALIGN];
        let start = bytes.as_ptr().align_offset(ALIGN);
        Self { bytes, start, len }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}
