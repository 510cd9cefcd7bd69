//! Fills a filesystem to a level or to the last byte, and keeps it at that level.
//!
//! Layer: rank 6. Main types: [`Fill`], [`FillReport`], [`fill`], [`churn`]. Files are created in
//! directories of a hundred, written in order and closed. The filesystem itself reports how full it is
//! (`statfs`), and the amount of data is counted here: for a compressing filesystem the two differ.

use crate::data::Data;
use crate::error::Error;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Errno, Error as FsError, FileSystem, Mount, StatFs};

/// Files in a directory.
const GROUP: u64 = 100;

/// Bytes of one write call.
const CHUNK: u64 = 32_768;

/// The end of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillLimit {
    /// At this percentage of used blocks; at most 100.
    Percent(u8),
    /// After this amount of data.
    Written(Bytes),
    /// When the filesystem is full: the last file is kept as far as it was written.
    Full,
}

/// The parameters of a fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// The directory, which is created if missing.
    pub directory: String,
    /// Bytes of a file.
    pub size: Bytes,
    /// Their content.
    pub data: Data,
    /// The seed of the data, and in [`churn`] of the choice of files.
    pub seed: Seed,
    /// The end; a full filesystem always ends the fill.
    pub until: FillLimit,
}

/// The result of a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FillReport {
    /// The number of files; the last one may be shorter than the others.
    pub files: u64,
    /// Bytes of data in them.
    pub bytes: Bytes,
    /// Whether there was no space left.
    pub full: bool,
}

/// The percentage of used blocks, rounded down.
#[must_use]
pub fn used_percent(space: &StatFs) -> u64 {
    let used = u128::from(space.blocks - space.free.min(space.blocks));
    let percent = (used * 100).checked_div(u128::from(space.blocks)).unwrap_or(0);
    u64::try_from(percent).expect("at most 100")
}

fn path(fill: &Fill, file: u64) -> String {
    let directory = fill.directory.trim_end_matches('/');
    format!("{directory}/{}/{file}", file / GROUP)
}

/// Fills to the limit. The data are not synced.
///
/// # Errors
/// [`Error::File`] for anything but ENOSPC.
pub fn fill<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    fill: &Fill,
) -> Result<FillReport, Error> {
    let mut filled = FillReport::default();
    make_dir(mount, clock, &fill.directory, &mut filled)?;
    while !filled.full && !enough(mount, clock, fill, &filled)? {
        let file = filled.files;
        let path = path(fill, file);
        if file.is_multiple_of(GROUP)
            && let Some((dir, _)) = path.rsplit_once('/')
        {
            make_dir(mount, clock, dir, &mut filled)?;
        }
        if !filled.full {
            write_file(mount, clock, fill, &path, file, &mut filled)?;
        }
    }
    Ok(filled)
}

/// Creates a directory unless it exists.
fn make_dir<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    path: &str,
    filled: &mut FillReport,
) -> Result<(), Error> {
    match mount.mkdir(clock, path, 0o755) {
        Ok(()) | Err(FsError::Refused(Errno::Exist)) => {}
        Err(FsError::Refused(Errno::NoSpc)) => filled.full = true,
        Err(cause) => return Err(Error::file("mkdir", path.as_bytes(), cause)),
    }
    Ok(())
}

fn enough<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    fill: &Fill,
    filled: &FillReport,
) -> Result<bool, Error> {
    match fill.until {
        FillLimit::Percent(percent) => {
            let space = mount.statfs(clock);
            let space = space.map_err(|cause| Error::file("statfs", b"/", cause))?;
            Ok(used_percent(&space) >= u64::from(percent))
        }
        FillLimit::Written(bytes) => Ok(filled.bytes >= bytes),
        FillLimit::Full => Ok(false),
    }
}

/// Creates one file and counts it; ENOSPC is recorded, not an error.
fn write_file<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    fill: &Fill,
    path: &str,
    tag: u64,
    filled: &mut FillReport,
) -> Result<(), Error> {
    let fd = match mount.create(clock, path, 0o644) {
        Err(FsError::Refused(Errno::NoSpc)) => {
            filled.full = true;
            return Ok(());
        }
        created => created.map_err(|cause| Error::file("create", path.as_bytes(), cause))?,
    };
    filled.files += 1;
    let failed = |cause| Error::file("write", path.as_bytes(), cause);
    let mut offset = 0;
    while offset < fill.size.get() && !filled.full {
        let length = CHUNK.min(fill.size.get() - offset);
        let mut chunk = vec![0; Bytes::new(length).to_usize()];
        fill.data.block(fill.seed.get() ^ tag << 32, offset / CHUNK, &mut chunk);
        let count = match mount.write(clock, fd, offset, &chunk) {
            Err(FsError::Refused(Errno::NoSpc)) => 0,
            count => count.map_err(failed)?,
        };
        filled.full = count < chunk.len();
        filled.bytes += Bytes::of(&chunk[..count]);
        offset += Bytes::of(&chunk[..count]).get();
    }
    mount.close(clock, fd).map_err(failed)
}

/// Replaces files of a fill, drawn at random, by new ones of the same size, `count` times: the old
/// file is removed first. A file that does not fit any more stays as short as it was written, and
/// is counted in the result.
///
/// # Errors
/// [`Error::File`] for anything but ENOSPC.
pub fn churn<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    fill: &Fill,
    filled: &FillReport,
    count: u64,
) -> Result<u64, Error> {
    let mut stream = fill.seed.stream("fill.churn");
    let mut short = 0;
    for round in 1..=count {
        let file = stream.below(filled.files.max(1));
        let path = path(fill, file);
        match mount.unlink(clock, &path) {
            Ok(()) | Err(FsError::Refused(Errno::NoEnt)) => {}
            Err(cause) => return Err(Error::file("unlink", path.as_bytes(), cause)),
        }
        let mut again = FillReport::default();
        let tag = round.wrapping_mul(filled.files.max(1)).wrapping_add(file);
        write_file(mount, clock, fill, &path, tag, &mut again)?;
        short += u64::from(again.full);
    }
    Ok(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_vfs::MemoryFs;

    fn of(until: FillLimit) -> Fill {
        let (size, seed) = (Bytes::new(10_000), Seed::new(4));
        Fill { directory: "/fill".to_owned(), size, data: Data::Text, seed, until }
    }

    fn filled(until: FillLimit) -> (Mount<MemoryFs>, FillReport) {
        let mut mount = Mount::new(MemoryFs::new().with_capacity(1_000));
        let filled = fill(&mut mount, &mut Clock::new(), &of(until)).unwrap();
        (mount, filled)
    }

    #[test]
    fn a_fill_ends_at_its_level() {
        let (mut mount, half) = filled(FillLimit::Percent(50));
        let space = mount.statfs(&mut Clock::new()).unwrap();
        assert_eq!((used_percent(&space), half.files, half.full), (50, 167, false));
        let (_, written) = filled(FillLimit::Written(Bytes::new(25_000)));
        assert_eq!((written.files, written.bytes), (3, Bytes::new(30_000)));
    }

    #[test]
    fn a_full_filesystem_keeps_what_fitted() {
        let (mut mount, full) = filled(FillLimit::Full);
        let mut clock = Clock::new();
        assert_eq!((full.files, full.full), (334, true));
        assert_eq!(full.bytes, Bytes::new(333 * 10_000 + 4_096));
        let last = mount.stat(&mut clock, "/fill/3/333").unwrap();
        assert_eq!((last.size, mount.statfs(&mut clock).unwrap().free), (4_096, 0));
    }

    #[test]
    fn a_churn_replaces_files_and_keeps_the_level() {
        let (mut mount, half) = filled(FillLimit::Percent(50));
        let mut clock = Clock::new();
        let content = |mount: &mut Mount<MemoryFs>, clock: &mut Clock, file: u64| {
            let fd = mount.open(clock, format!("/fill/{}/{file}", file / GROUP)).unwrap();
            let mut bytes = vec![0; 10_000];
            mount.read(clock, fd, 0, &mut bytes).unwrap();
            mount.close(clock, fd).unwrap();
            bytes
        };
        let before: Vec<_> =
            (0..half.files).map(|file| content(&mut mount, &mut clock, file)).collect();
        let short = churn(&mut mount, &mut clock, &of(FillLimit::Full), &half, 300).unwrap();
        let changed = (0..half.files).filter(|&file| {
            content(&mut mount, &mut clock, file) != before[usize::try_from(file).unwrap()]
        });
        assert_eq!(short, 0);
        assert!((125..150).contains(&changed.count()));
        assert_eq!(used_percent(&mount.statfs(&mut clock).unwrap()), 50);
    }
}
