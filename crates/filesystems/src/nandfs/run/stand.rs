//! The test stand of all runs: a flash on a board, and a filesystem in a kernel.
//!
//! Layer: rank 10. Main type: [`Stand`].

use crate::nandfs::flash::{Flash, FlashPart, Wired};
use crate::nandfs::fs::{Mounted, OnFlash, Setting, System};
use crate::nandfs::run::measure::TimedWork;
use crate::nandfs::scenario::KernelSettings;
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_parts::machine::Machine;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Errno, Error, FileSystem, Mount, Options as CacheOptions};
use boardlab_workload::Source;
use boardlab_workload::data::Data;
use std::sync::Arc;

/// A filesystem below a page cache.
pub(crate) type Cached = Mount<Box<dyn Mounted>>;

/// The files that fill a flash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) size: Sizes,
    pub(crate) data: Data,
}

/// How large they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Each the same.
    Each(Bytes),
    /// These in turn, again and again; at least one.
    InTurn(Arc<[Bytes]>),
}

impl Sizes {
    /// Those of a tree in an order that `seed` draws, so that each stretch is a fair sample. What is larger than `most`
    /// is as many files of that size as it has room for.
    ///
    /// # Panics
    /// When there are none.
    pub(crate) fn of_tree(files: &[Bytes], most: Bytes, seed: Seed) -> Self {
        let pieces = files.iter().flat_map(|&file| {
            let whole = usize::try_from(file / most).expect("a file of a tree");
            let rest = Bytes::new(file.get() % most.get());
            let rest = (whole == 0 || !rest.is_zero()).then_some(rest);
            std::iter::repeat_n(most, whole).chain(rest)
        });
        let mut pieces: Vec<_> = pieces.collect();
        assert!(!pieces.is_empty(), "a tree without files");
        let mut draws = seed.stream("tree");
        for last in (1..pieces.len()).rev() {
            let bound = u64::try_from(last).expect("a count") + 1;
            pieces.swap(last, usize::try_from(draws.below(bound)).expect("at most the last"));
        }
        Self::InTurn(pieces.into())
    }

    /// That of a file.
    fn of(&self, file: u64) -> Bytes {
        match self {
            Self::Each(size) => *size,
            Self::InTurn(all) => all[usize::try_from(file % (all.len() as u64)).expect("an index")],
        }
    }

    /// That of a file on average.
    pub(crate) fn mean(&self) -> Bytes {
        match self {
            Self::Each(size) => *size,
            Self::InTurn(all) => {
                let total: u64 = all.iter().map(|one| one.get()).sum();
                Bytes::new(total / all.len() as u64)
            }
        }
    }
}

/// The basis of all runs.
#[derive(Clone, Copy)]
pub(crate) struct Stand<'a> {
    pub(crate) wired: Wired<'a>,
    pub(crate) machine: &'a Machine,
    pub(crate) kernel: KernelSettings,
    pub(crate) system: &'a dyn System,
    pub(crate) seed: Seed,
    /// Whether it is mounted so that nothing may be written.
    pub(crate) read_only: bool,
}

/// Bytes of one write when the flash is filled.
const CHUNK: usize = 32 << 10;
/// The largest page cache while the flash is filled.
const FILL_CACHE: Bytes = Bytes::mib(1);
/// Files of one directory.
const DIRECTORY: u64 = 100;
/// The most background steps; more never end.
const BACKGROUND_MAX: u32 = 10_000_000;

impl Stand<'_> {
    /// A new flash of `part` behind the driver of the kernel.
    pub(crate) fn attach(&self, part: FlashPart) -> Result<Flash, Cause> {
        self.wired.attach(part, self.kernel, self.seed)
    }

    /// The setting in which the filesystem is mounted.
    pub(crate) fn setting(&self) -> Setting {
        let (kernel, host, seed) = (self.kernel.profile, self.machine.host(), self.seed);
        Setting { kernel, host, seed, read_only: self.read_only }
    }

    /// A flash of the part with an empty filesystem, every block erased and marked.
    pub(crate) fn fresh(&self) -> Result<Flash, Cause> {
        self.made(self.attach(self.wired.whole())?, &mut Clock::new())
    }

    /// `flash` with an empty filesystem, every block erased and marked.
    pub(crate) fn made(&self, flash: Flash, clock: &mut Clock) -> Result<Flash, Cause> {
        let OnFlash { mut fs, .. } = self.system.mount(&self.setting(), flash, clock)?;
        for _ in 0..BACKGROUND_MAX {
            if !fs.background(clock)? {
                break;
            }
        }
        fs.unmount(clock)?;
        fs.into_flash(clock)
    }

    /// The page cache of the board.
    pub(crate) fn page_cache(&self) -> Bytes {
        self.machine.page_cache()
    }

    /// The page cache while the flash is filled: files that are written and never read again need none, and a whole
    /// one holds as much of this machine's memory as the flash itself.
    pub(crate) fn fill_cache(&self) -> Bytes {
        self.page_cache().min(FILL_CACHE)
    }

    pub(crate) fn mount(
        &self,
        flash: Flash,
        clock: &mut Clock,
        cache: Bytes,
    ) -> Result<Cached, Cause> {
        Ok(self.mount_with_attach(flash, clock, cache)?.0)
    }

    /// Mounts; also returns what the attach of a volume manager below took.
    pub(crate) fn mount_with_attach(
        &self,
        flash: Flash,
        clock: &mut Clock,
        cache: Bytes,
    ) -> Result<(Cached, Option<TimedWork>), Cause> {
        let OnFlash { fs, attach } = self.system.mount(&self.setting(), flash, clock)?;
        // Linux reads nothing ahead on MTD, and UBIFS switches it off.
        let cache = CacheOptions { readahead: 1, ..CacheOptions::with_cache(cache) };
        Ok((Mount::with_host(fs, self.machine.host(), cache), attach))
    }

    /// Writes file number `file`, a hundred to a directory; returns how much of it found room.
    pub(crate) fn write_file<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
        file: u64,
        Files { size, data }: &Files,
    ) -> Result<u64, Error> {
        if file.is_multiple_of(DIRECTORY) {
            mount.mkdir(clock, directory(file), 0o755)?;
        }
        let fd = mount.create(clock, path(file), 0o644)?;
        let size = size.of(file).get();
        let mut source = self.source(file, data);
        // Not from the heap: at its end it would be returned to the system and mapped again for each file.
        let (mut chunk, mut offset) = ([0; CHUNK], 0);
        while offset < size {
            let left = Bytes::new(size - offset).to_usize().min(CHUNK);
            source.fill(&mut chunk[..left]);
            let written = match mount.write(clock, fd, offset, &chunk[..left]) {
                Err(error) if error.errno() == Some(Errno::NoSpc) && offset > 0 => 0,
                written => written?,
            };
            offset += u64::try_from(written).expect("a length fits u64");
            if written < left {
                break;
            }
        }
        mount.close(clock, fd)?;
        Ok(offset)
    }

    /// As [`Stand::write_file`]; `None` if there is no room for a file.
    pub(crate) fn try_file<F: FileSystem>(
        &self,
        mount: &mut Mount<F>,
        clock: &mut Clock,
        file: u64,
        kind: &Files,
    ) -> Result<Option<u64>, Error> {
        match self.write_file(mount, clock, file, kind) {
            Err(error) if error.errno() == Some(Errno::NoSpc) => Ok(None),
            written => written.map(Some),
        }
    }

    /// The content of file number `file` from its start.
    fn source(&self, file: u64, data: &Data) -> impl Source + use<> {
        data.source(self.seed.child(&format!("file.{file}")).get())
    }

    /// Fills `content` with what [`Stand::write_file`] writes.
    pub(crate) fn fill_with(&self, file: u64, data: &Data, content: &mut [u8]) {
        let mut source = self.source(file, data);
        for chunk in content.chunks_mut(CHUNK) {
            source.fill(chunk);
        }
    }
}

fn directory(file: u64) -> String {
    format!("/d{:04}", file / DIRECTORY)
}

/// The path of file number `file`.
pub(crate) fn path(file: u64) -> String {
    format!("{}/f{file:07}", directory(file))
}

/// The fill level that the filesystem would report after a commit.
pub(crate) fn used(mount: &mut Cached, clock: &mut Clock) -> Result<Ratio, Error> {
    let space = mount.statfs(clock)?;
    let uncounted = mount.fs().uncounted().get() / u64::from(space.block_size.max(1));
    let used = u128::from(space.blocks - space.free.min(space.blocks) + uncounted) * 1_000_000;
    let share = used / u128::from(space.blocks.max(1));
    Ok(Ratio::from_millionths(u64::try_from(share).unwrap_or(u64::MAX)))
}

/// Unmounts, and returns the flash.
pub(crate) fn unmount(mut mount: Cached, clock: &mut Clock) -> Result<Flash, Cause> {
    mount.unmount(clock)?;
    mount.into_fs().into_flash(clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(files: &[u64], most: u64, seed: u64) -> Vec<u64> {
        let files: Vec<_> = files.iter().map(|&size| Bytes::new(size)).collect();
        let sizes = Sizes::of_tree(&files, Bytes::new(most), Seed::new(seed));
        let Sizes::InTurn(all) = &sizes else { panic!("{sizes:?}") };
        let turns = 0..2 * all.len() as u64;
        let taken: Vec<_> = turns.map(|file| sizes.of(file).get()).collect();
        let (first, second) = taken.split_at(all.len());
        assert_eq!(first, second, "again and again");
        first.to_vec()
    }

    #[test]
    fn a_tree_keeps_its_sizes_and_large_files_are_several() {
        let mut all = sizes(&[0, 5, 64, 150, 7], 64, 1);
        assert_ne!(all, sizes(&[0, 5, 64, 150, 7], 64, 2), "the seed draws the order");
        all.sort_unstable();
        assert_eq!(all, [0, 5, 7, 22, 64, 64, 64]);
    }

    #[test]
    fn files_have_a_mean() {
        let files = [Bytes::new(10), Bytes::new(20), Bytes::new(60)];
        assert_eq!(Sizes::of_tree(&files, Bytes::kib(1), Seed::new(1)).mean(), Bytes::new(30));
        assert_eq!(Sizes::Each(Bytes::new(9)).mean(), Bytes::new(9));
    }
}
