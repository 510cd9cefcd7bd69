//! Erase, write, read and verify a raw flash as mtd-utils' `mtd_debug` and `flashcp` do.
//!
//! Layer: rank 6. Main types: [`Job`], [`Report`], [`WriteReport`]. What the tools do (mtd-utils,
//! commits a2d188795599 and 475bf707b958, around 2.1.5, the same in both):
//!
//! - `mtd_debug write` allocates the whole length and passes it to one write(2); only without
//!   memory it writes 64 KiB at a time. The same holds for read. The kernel splits the call into
//!   pieces of at most [`KERNEL_BUFFER`]. So a [`Job`]'s chunk, the bytes of one program, is the
//!   kernel's piece.
//! - `mtd_debug write` does not erase and does not read back; a short write goes unnoticed.
//! - `flashcp` erases the blocks that the file touches in one call, writes 10 KiB at a time and
//!   reads back: [`Job::erase_first`], [`Job::chunk`] and then [`verify`].
//!
//! Deliberate deviation: a last chunk that is not a whole write unit is padded with FFh, which does
//! not change the flash; the tools get EINVAL from a NAND.

use crate::error::{Error, Step};
use crate::mtd_info::Info;
use crate::source::Source;
use boardlab_mtd::{Geometry, Mtd, ReadHealth};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Rate};

/// The largest piece that Linux passes to a driver: KMALLOC_MAX_SIZE with pages of 4 KiB (Linux 3.4
/// and 6.1, `mtdchar_write` in `drivers/mtd/mtdchar.c`, `mtd_kmalloc_up_to`). With less free memory
/// the kernel halves it until the allocation succeeds.
pub const KERNEL_BUFFER: Bytes = Bytes::mib(4);

/// A range of flash, and how to process it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// First byte.
    pub offset: Bytes,
    /// How many.
    pub length: Bytes,
    /// Bytes of each program or read; the last may be shorter.
    pub chunk: Bytes,
    /// Whether a write first erases every block that it touches.
    pub erase_first: bool,
}

impl Job {
    /// `length` bytes from `offset` on in chunks of [`KERNEL_BUFFER`], without an erase.
    #[must_use]
    pub const fn new(offset: Bytes, length: Bytes) -> Self {
        Self { offset, length, chunk: KERNEL_BUFFER, erase_first: false }
    }

    /// This job in other chunks: whole write units of the device.
    #[must_use]
    pub const fn chunk(mut self, chunk: Bytes) -> Self {
        self.chunk = chunk;
        self
    }

    /// This job with an erase before the write.
    #[must_use]
    pub const fn erase_first(mut self) -> Self {
        self.erase_first = true;
        self
    }

    /// Offset and length of each chunk.
    fn chunks(self) -> impl Iterator<Item = (Bytes, Bytes)> {
        let starts = (0..self.length.div_ceil(self.chunk)).map(move |index| self.chunk * index);
        starts.map(move |done| (self.offset + done, self.chunk.min(self.length - done)))
    }

    /// Checks everything that can be refused before the flash is touched.
    fn check(&self, geometry: &Geometry, step: Step) -> Result<(), Error> {
        let (unit, offset) = (geometry.write_size, self.offset);
        if self.chunk.is_zero() || !self.chunk.is_multiple_of(unit) {
            return Err(Error::Chunk { chunk: self.chunk, unit });
        }
        let refused = |cause| Error::Device { step, offset, cause };
        geometry.range(offset, self.length).map_err(refused)?;
        if step == Step::Write {
            geometry.program_range(offset, padded(self.length, unit)).map_err(refused)?;
        }
        Ok(())
    }
}

/// The result of a pass over the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The requested bytes, without padding.
    pub bytes: Bytes,
    /// Calls of the device.
    pub operations: u64,
    /// Virtual time from the first call to the end of the last.
    pub elapsed: Duration,
    /// Bits that the device's ECC corrected in reads.
    pub corrected: u64,
}

impl Report {
    /// The throughput; `None` when no time passed or nothing was requested.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        Rate::new(self.bytes, self.elapsed)
    }
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteReport {
    /// The erase before it, if requested.
    pub erase: Option<Report>,
    /// The write alone.
    pub write: Report,
    /// FFh bytes programmed after the last byte to complete a write unit.
    pub padding: Bytes,
}

/// Counts the calls of one pass.
struct Meter {
    start: Instant,
    report: Report,
}

impl Meter {
    const fn start(clock: &Clock, bytes: Bytes) -> Self {
        let report = Report { bytes, operations: 0, elapsed: Duration::ZERO, corrected: 0 };
        Self { start: clock.now(), report }
    }

    fn count(&mut self, health: ReadHealth) {
        self.report.operations += 1;
        self.report.corrected += u64::from(health.corrected);
    }

    fn stop(mut self, clock: &Clock) -> Report {
        self.report.elapsed = clock.now().since(self.start);
        self.report
    }
}

/// `length`, rounded up to whole units. Beyond u64 nothing is added: no device has such a length.
fn padded(length: Bytes, unit: Bytes) -> Bytes {
    let used = length.get() % unit.get();
    let missing = if used == 0 { 0 } else { unit.get() - used };
    length.checked_add(Bytes::new(missing)).unwrap_or(length)
}

/// What `mtd_debug info` prints.
#[must_use]
pub fn info<M: Mtd + ?Sized>(mtd: &M) -> Info {
    Info::of(mtd.geometry())
}

/// Erases whole blocks, one call of the device for each.
///
/// # Errors
/// [`Error::NotWholeBlocks`] before anything is erased; [`Error::Device`].
pub fn erase<M: Mtd + ?Sized>(
    mtd: &mut M,
    clock: &mut Clock,
    offset: Bytes,
    length: Bytes,
) -> Result<Report, Error> {
    let refused = |offset, cause| Error::Device { step: Step::Erase, offset, cause };
    let geometry = mtd.geometry();
    let range = geometry.range(offset, length).map_err(|cause| refused(offset, cause))?;
    let pieces: Vec<_> = geometry.by_block(range).collect();
    for (index, piece) in &pieces {
        let block = geometry.block_range(*index).map_err(|cause| refused(offset, cause))?;
        if block != *piece {
            let (block, size) = (block.start, block.end - block.start);
            return Err(Error::NotWholeBlocks { offset, length, block, size });
        }
    }
    let mut meter = Meter::start(clock, length);
    for (block, piece) in pieces {
        mtd.erase(clock, block).map_err(|cause| refused(piece.start, cause))?;
        meter.count(ReadHealth::default());
    }
    Ok(meter.stop(clock))
}

/// From `job.offset` to the end of the block that holds the last byte of the job.
fn erase_length(geometry: &Geometry, job: &Job) -> Bytes {
    let range = job.offset..job.offset + job.length;
    let last = geometry.by_block(range).last().and_then(|(block, _)| geometry.block(block));
    last.map_or(Bytes::ZERO, |(start, size)| start + size - job.offset)
}

/// Writes the bytes of `source`, after an erase if the job requests one.
///
/// # Errors
/// [`Error::Chunk`], [`Error::NotWholeBlocks`] and a range beyond the device before the flash is
/// touched; [`Error::SourceEnded`]; [`Error::Device`].
pub fn write<M: Mtd + ?Sized>(
    mtd: &mut M,
    clock: &mut Clock,
    job: &Job,
    source: &mut dyn Source,
) -> Result<WriteReport, Error> {
    job.check(mtd.geometry(), Step::Write)?;
    let unit = mtd.geometry().write_size;
    let erase = if job.erase_first {
        let length = erase_length(mtd.geometry(), job);
        Some(erase(mtd, clock, job.offset, length)?)
    } else {
        None
    };
    let mut buffer = Vec::new();
    let mut meter = Meter::start(clock, job.length);
    for (offset, length) in job.chunks() {
        let whole = padded(length, unit).to_usize();
        let lent = if length.to_usize() == whole { source.lend(whole) } else { None };
        let chunk = match lent {
            Some(chunk) => chunk,
            None => {
                buffer.resize(whole, 0xFF);
                let (data, padding) = buffer.split_at_mut(length.to_usize());
                take(source, data, job, offset)?;
                padding.fill(0xFF);
                &buffer
            }
        };
        let refused = |cause| Error::Device { step: Step::Write, offset, cause };
        mtd.program(clock, offset, chunk).map_err(refused)?;
        meter.count(ReadHealth::default());
    }
    let padding = padded(job.length, unit) - job.length;
    Ok(WriteReport { erase, write: meter.stop(clock), padding })
}

/// Fills `data` for `offset` from a source that may return it in parts.
fn take(source: &mut dyn Source, data: &mut [u8], job: &Job, offset: Bytes) -> Result<(), Error> {
    let mut filled = 0;
    while filled < data.len() {
        match source.fill(&mut data[filled..]) {
            0 => {
                let found = offset - job.offset + Bytes::of(&data[..filled]);
                return Err(Error::SourceEnded { expected: job.length, found });
            }
            count => filled += count,
        }
    }
    Ok(())
}

/// Reads the range of the job and passes each chunk to `sink`.
///
/// # Errors
/// [`Error::Chunk`], [`Error::Device`].
pub fn read<M: Mtd + ?Sized>(
    mtd: &mut M,
    clock: &mut Clock,
    job: &Job,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<Report, Error> {
    read_chunks(mtd, clock, job, Step::Read, |_, chunk| {
        sink(chunk);
        Ok(())
    })
}

fn read_chunks<M: Mtd + ?Sized>(
    mtd: &mut M,
    clock: &mut Clock,
    job: &Job,
    step: Step,
    mut sink: impl FnMut(Bytes, &[u8]) -> Result<(), Error>,
) -> Result<Report, Error> {
    job.check(mtd.geometry(), step)?;
    let mut buffer = vec![0; job.chunk.min(job.length).to_usize()];
    let mut meter = Meter::start(clock, job.length);
    for (offset, length) in job.chunks() {
        let chunk = &mut buffer[..length.to_usize()];
        let refused = |cause| Error::Device { step, offset, cause };
        meter.count(mtd.read(clock, offset, chunk).map_err(refused)?);
        sink(offset, chunk)?;
    }
    Ok(meter.stop(clock))
}

/// Reads everything back and compares it with `source`, which starts again at its first byte.
///
/// # Errors
/// [`Error::Differs`] after all was read; [`Error::Chunk`], [`Error::SourceEnded`], [`Error::Device`].
pub fn verify<M: Mtd + ?Sized>(
    mtd: &mut M,
    clock: &mut Clock,
    job: &Job,
    source: &mut dyn Source,
) -> Result<Report, Error> {
    let mut wanted = Vec::new();
    let mut differences = Differences::default();
    let report = read_chunks(mtd, clock, job, Step::Verify, |offset, chunk| {
        wanted.resize(chunk.len(), 0);
        take(source, &mut wanted, job, offset)?;
        differences.compare(offset, &wanted, chunk);
        Ok(())
    })?;
    differences.result().map(|()| report)
}

/// The differences between the data read and the data expected.
#[derive(Default)]
struct Differences {
    /// Offset, expected and found byte of the first difference.
    first: Option<(Bytes, u8, u8)>,
    bytes: u64,
    bits: u64,
}

impl Differences {
    fn compare(&mut self, offset: Bytes, wanted: &[u8], found: &[u8]) {
        if wanted == found {
            return;
        }
        for (index, (&wanted, &found)) in (0..).zip(wanted.iter().zip(found)) {
            if wanted != found {
                self.first.get_or_insert((offset + Bytes::new(index), wanted, found));
                self.bytes += 1;
                self.bits += u64::from((wanted ^ found).count_ones());
            }
        }
    }

    fn result(self) -> Result<(), Error> {
        let Some((offset, expected, found)) = self.first else { return Ok(()) };
        let (wrong, bits) = (Bytes::new(self.bytes), self.bits);
        Err(Error::Differs { offset, expected, found, wrong, bits })
    }
}
