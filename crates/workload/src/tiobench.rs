//! tiobench's measuring program, tiotest, on a mounted filesystem.
//!
//! Layer: rank 6. Main types: [`Tiobench`], the parameters; [`Results`]. Four tests run in this
//! order, except skipped ones: write, random write, read, random read. What tiotest does
//! (`tiotest.c`, versions 0.3.5 and 0.4.2, GPL; read, not copied):
//!
//! - Each thread has its own file. The write test creates it; version 0.4.2 makes it full size
//!   first, so that it is one hole ([`Tiobench::presize`]), 0.3.5 lets it grow.
//! - The threads of a test start together, and the time of the test runs until the last has closed
//!   its file. It includes opening and extending the file, and the one fsync after the last write.
//! - A random offset is that of a block drawn from all but the last.
//! - MB are 2^20 bytes. The latency of an operation runs from call to return.
//! - The files stay in the page cache from test to test ([`Tiobench::drop_caches`] empties it, as the
//!   option `-X` of 0.4.2 does) and are removed at the end.
//!
//! Here the threads take turns in virtual time, one operation each, as on one CPU. With several
//! threads, a thread waits for the others between its operations, and that is part of its latency.
//! Unlike tiotest's constant buffer, data that are not zero differ from block to block, so each
//! block can be verified. Left out: mmap, raw devices, O_SYNC.

mod report;

use crate::data::Data;
use crate::error::Error;
use boardlab_sim::{Bytes, Clock, Duration, Instant, MIX_STEP, Phase, Seed, mix};
use boardlab_vfs::{Errno, Error as FsError, Fd, FileSystem, Mount};
use std::iter;

/// One of the four tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// Every block in ascending order is written.
    Write,
    /// Blocks drawn at random are written.
    RandomWrite,
    /// Every block in ascending order is read.
    Read,
    /// Blocks drawn at random are read.
    RandomRead,
}

impl Test {
    /// All tests in their order.
    pub const ALL: [Self; 4] = [Self::Write, Self::RandomWrite, Self::Read, Self::RandomRead];

    /// The name in tables: `sequential_write`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "sequential_write",
            Self::RandomWrite => "random_write",
            Self::Read => "sequential_read",
            Self::RandomRead => "random_read",
        }
    }

    const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RandomWrite)
    }

    const fn is_random(self) -> bool {
        matches!(self, Self::RandomWrite | Self::RandomRead)
    }
}

/// How the blocks of a random test are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// From streams of the seed.
    Streams,
    /// By splitmix64, whose state is this number and that of the thread at first: as the agent on a board does.
    SplitMix(u64),
}

impl Draw {
    /// The blocks of a thread in a test, each one of `blocks`.
    fn blocks(self, job: &Tiobench, test: Test, thread: u32, blocks: u64) -> Blocks {
        match self {
            Self::Streams => {
                let name = format!("tiobench.{}.{thread}", test.name());
                let mut stream = job.seed.stream(&name);
                Box::new(iter::repeat_with(move || stream.below(blocks)))
            }
            Self::SplitMix(seed) => {
                let mut state = seed.wrapping_add(u64::from(thread));
                Box::new(iter::repeat_with(move || {
                    state = state.wrapping_add(MIX_STEP);
                    mix(state) % blocks
                }))
            }
        }
    }
}

/// Blocks without an end.
type Blocks = Box<dyn Iterator<Item = u64>>;

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiobench {
    /// The directory of the files, which must exist.
    pub directory: String,
    /// What the names of the files begin with; the number of the thread follows.
    pub prefix: &'static str,
    /// Threads, each with a file of its own.
    pub threads: u32,
    /// Bytes of a file, rounded down to whole blocks.
    pub size: Bytes,
    /// Bytes of a block, at least one and at most half of the file.
    pub block: Bytes,
    /// Operations of each thread in a random test.
    pub random_operations: u64,
    /// How their blocks are drawn.
    pub draw: Draw,
    /// The data to write.
    pub data: Data,
    /// The seed of the data and of the random blocks.
    pub seed: Seed,
    /// The tests to run.
    pub tests: Vec<Test>,
    /// Whether a file is extended to its full size, as a hole, before it is written.
    pub presize: bool,
    /// Whether the caches are emptied before each test.
    pub drop_caches: bool,
    /// Whether the data read are compared with the data written.
    pub verify: bool,
    /// Whether the files are kept at the end.
    pub keep: bool,
}

impl Default for Tiobench {
    /// tiotest's defaults except the number of threads (4 there) and of random operations (100,000
    /// there since 0.4.2, 1,000 before): 10 MB of zeros in blocks of 4 KiB.
    fn default() -> Self {
        Self {
            directory: "/".to_owned(),
            prefix: "_tiotest_pid1.thr",
            threads: 1,
            size: Bytes::mib(10),
            block: Bytes::kib(4),
            random_operations: 1_000,
            draw: Draw::Streams,
            data: Data::Zero,
            seed: Seed::new(1),
            tests: Test::ALL.to_vec(),
            presize: true,
            drop_caches: false,
            verify: false,
            keep: false,
        }
    }
}

/// The result of one test.
#[derive(Debug, Clone)]
pub struct TestResult {
    /// Which test.
    pub test: Test,
    /// Bytes of all threads.
    pub bytes: Bytes,
    /// From the start of the threads to the end of the last.
    pub elapsed: Duration,
    /// Latencies of the operations.
    pub latency: Phase,
    /// Operations that took more than 2 s.
    pub over_2_s: u64,
    /// Operations that took more than 10 s.
    pub over_10_s: u64,
    /// The CPU time, if the caller fills it in; the texts show it as system time.
    pub cpu: Duration,
}

/// The results of all tests. Their text forms are those of tiotest.
#[derive(Debug, Clone)]
pub struct Results {
    /// Threads.
    pub threads: u32,
    /// The results of the tests, in the order of their runs.
    pub measured: Vec<TestResult>,
}

/// When an observer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Just before a test.
    Before,
    /// Just after it.
    After,
}

/// A callback before and after each test, to read counters.
pub type Observer<'a, F> = &'a mut dyn FnMut(Test, Moment, &mut Mount<F>, &mut Clock);

/// Runs the tests. `observe` is called before and after each.
///
/// # Errors
/// [`Error::File`], also for a short write or read; [`Error::Differs`] when the data read differ
/// from the data written.
///
/// # Panics
/// When the block is empty or there are fewer than two in a file.
pub fn run<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    job: &Tiobench,
    observe: Observer<'_, F>,
) -> Result<Results, Error> {
    let blocks = job.size.get().checked_div(job.block.get()).unwrap_or(0);
    assert!(blocks >= 2, "tiobench: fewer than two blocks of {} in {}", job.block, job.size);
    let mut measured = Vec::new();
    for &test in &job.tests {
        if job.drop_caches {
            mount.drop_caches(clock).map_err(|cause| Error::file("drop caches", b"/", cause))?;
        }
        observe(test, Moment::Before, mount, clock);
        measured.push(Turn { mount, clock, job, test, blocks }.run()?);
        observe(test, Moment::After, mount, clock);
    }
    if !job.keep {
        for thread in 0..job.threads {
            let path = path(job, thread);
            match mount.unlink(clock, &path) {
                Ok(()) | Err(FsError::Refused(Errno::NoEnt)) => {}
                Err(cause) => return Err(Error::file("unlink", path.as_bytes(), cause)),
            }
        }
    }
    Ok(Results { threads: job.threads, measured })
}

fn path(job: &Tiobench, thread: u32) -> String {
    format!("{}/{}{thread}", job.directory.trim_end_matches('/'), job.prefix)
}

/// A test in progress.
struct Turn<'a, F> {
    mount: &'a mut Mount<F>,
    clock: &'a mut Clock,
    job: &'a Tiobench,
    test: Test,
    blocks: u64,
}

/// A thread of a test.
struct Thread {
    number: u32,
    path: String,
    fd: Fd,
    /// Where it goes on.
    next: Blocks,
    done: u64,
    /// When its last operation ended.
    ready: Instant,
}

impl<F: FileSystem> Turn<'_, F> {
    fn run(mut self) -> Result<TestResult, Error> {
        let start = self.clock.now();
        let mut measured = TestResult {
            test: self.test,
            bytes: Bytes::ZERO,
            elapsed: Duration::ZERO,
            latency: Phase::new(),
            over_2_s: 0,
            over_10_s: 0,
            cpu: Duration::ZERO,
        };
        let mut threads = Vec::new();
        for number in 0..self.job.threads {
            threads.push(self.start(number)?);
        }
        let mut buffer = vec![0; self.job.block.to_usize()];
        let mut expected = vec![0; if self.job.verify { buffer.len() } else { 0 }];
        let count = if self.test.is_random() { self.job.random_operations } else { self.blocks };
        while !threads.is_empty() {
            for thread in &mut threads {
                if thread.done == count {
                    continue;
                }
                let operation = self.operation(thread, &mut buffer, &mut expected)?;
                thread.done += 1;
                measured.bytes += self.job.block;
                measured.latency.record(operation);
                measured.over_2_s += u64::from(operation > Duration::from_secs(2));
                measured.over_10_s += u64::from(operation > Duration::from_secs(10));
            }
            let (ended, others): (Vec<_>, Vec<_>) =
                threads.into_iter().partition(|thread| thread.done == count);
            for thread in ended {
                self.finish(&thread)?;
            }
            threads = others;
        }
        measured.elapsed = self.clock.now().since(start);
        Ok(measured)
    }

    fn start(&mut self, number: u32) -> Result<Thread, Error> {
        let path = path(self.job, number);
        let fd = self.open(&path).map_err(|cause| Error::file("open", path.as_bytes(), cause))?;
        let next: Blocks = match self.test.is_random() {
            true => self.job.draw.blocks(self.job, self.test, number, self.blocks - 1),
            false => Box::new(0..self.blocks),
        };
        Ok(Thread { number, path, fd, next, done: 0, ready: self.clock.now() })
    }

    /// Opens a file as the test does; the write test creates it, or truncates an existing one.
    fn open(&mut self, path: &str) -> Result<Fd, FsError> {
        if self.test != Test::Write {
            return self.mount.open(self.clock, path);
        }
        let fd = match self.mount.create(self.clock, path, 0o600) {
            Err(FsError::Refused(Errno::Exist)) => {
                let fd = self.mount.open(self.clock, path)?;
                self.mount.ftruncate(self.clock, fd, 0)?;
                fd
            }
            created => created?,
        };
        if self.job.presize {
            let size = self.blocks * self.job.block.get();
            self.mount.ftruncate(self.clock, fd, size)?;
        }
        Ok(fd)
    }

    /// One operation of a thread, and its latency.
    fn operation(
        &mut self,
        thread: &mut Thread,
        buffer: &mut [u8],
        expected: &mut [u8],
    ) -> Result<Duration, Error> {
        let index = thread.next.next().expect("as many blocks as operations");
        let offset = index * self.job.block.get();
        let seed = self.job.seed.get() ^ u64::from(thread.number) << 32;
        let (what, count) = if self.test.writes() {
            self.job.data.block(seed, index, buffer);
            ("write", self.mount.write(self.clock, thread.fd, offset, buffer))
        } else {
            ("read", self.mount.read(self.clock, thread.fd, offset, buffer))
        };
        let failed = |cause| Error::file(what, thread.path.as_bytes(), cause);
        if count.map_err(failed)? < buffer.len() {
            let short = if self.test.writes() { Errno::NoSpc } else { Errno::Io };
            return Err(failed(short.into()));
        }
        let now = self.clock.now();
        let latency = now.since(thread.ready);
        thread.ready = now;
        if !self.test.writes() && self.job.verify {
            self.job.data.block(seed, index, expected);
            compare(Bytes::new(offset), expected, buffer)?;
        }
        Ok(latency)
    }

    fn finish(&mut self, thread: &Thread) -> Result<(), Error> {
        let failed = |cause| Error::file("close", thread.path.as_bytes(), cause);
        if self.test.writes() {
            self.mount.fsync(self.clock, thread.fd).map_err(failed)?;
        }
        self.mount.close(self.clock, thread.fd).map_err(failed)
    }
}

fn compare(offset: Bytes, expected: &[u8], found: &[u8]) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    let pairs = || expected.iter().zip(found).filter(|(expected, found)| expected != found);
    let Some(at) = expected.iter().zip(found).position(|(expected, found)| expected != found)
    else {
        return Ok(());
    };
    let bits = pairs().map(|(expected, found)| u64::from((expected ^ found).count_ones())).sum();
    Err(Error::Differs {
        offset: offset + Bytes::of(&expected[..at]),
        expected: expected[at],
        found: found[at],
        wrong: Bytes::new(pairs().map(|_| 1).sum()),
        bits,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of splitmix64 from the seed 3, as Vigna's splitmix64.c gives them: the first state is the
    /// seed and the number of the thread.
    #[test]
    fn blocks_drawn_by_splitmix64_are_those_of_the_agent() {
        let (job, draw) = (Tiobench::default(), Draw::SplitMix(2));
        let blocks = |thread| {
            let drawn = draw.blocks(&job, Test::RandomRead, thread, 1_000);
            drawn.take(3).collect::<Vec<_>>()
        };
        assert_eq!(blocks(1), [53, 561, 729]);
        assert_ne!(blocks(0), blocks(1));
    }
}
