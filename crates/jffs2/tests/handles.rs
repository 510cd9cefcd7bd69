//! Open files, long names, large holes, times and odd requests, against a tree in memory.
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock, Duration, Seed, Stream};
use boardlab_vfs::script::content;
use boardlab_vfs::{Device, Error, Fd, FileSystem, Kind, MemoryFs, Mount, Timestamp, compare};

/// How many operations a run has.
fn extent() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 100_000 } else { 4_000 }
}

fn seed() -> u64 {
    let given = std::env::var("BOARDLAB_MODEL_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// One operation, chosen beforehand, so that both sides do the same.
#[derive(Debug, Clone)]
enum Step {
    Open(String),
    Create(String),
    Close(usize),
    Write(usize, u64, usize, u64),
    Read(usize, u64, usize),
    Resize(usize, u64),
    Truncate(String, u64),
    Stat(String),
    Unlink(String),
    Mkdir(String),
    Rmdir(String),
    Rename(String, String),
    Link(String, String),
    Symlink(usize, String),
    Mknod(String, u32, u32),
    Times(String, u32, u32),
    Chown(String, u32, u32),
    Xattr(String, usize, Option<usize>),
    Fsync(usize),
    DropCaches,
}

fn index(stream: &mut Stream, below: u64) -> usize {
    usize::try_from(stream.below(below)).unwrap()
}

fn small(stream: &mut Stream, bits: u32) -> u32 {
    u32::try_from(stream.below(1 << bits)).unwrap()
}

/// A directory of few, as short or as odd a path as a program may give.
fn dir(stream: &mut Stream) -> String {
    let dirs = ["", "", "/a", "/b", "/a/c", "/a/..", "/b/.", "/a/c/../..", "//a//c", "/link"];
    dirs[index(stream, 10)].to_owned()
}

fn path(stream: &mut Stream) -> String {
    let dir = dir(stream);
    let names =
        ["f", "g", "h", "a", "b", "c", "link", "Ελ", " ", ".hidden", "...", "f.", ".", ".."];
    let name = match stream.below(18) {
        14 => "n".repeat(254),
        15 => format!("{}m", "n".repeat(253)),
        16 => "n".repeat(256),
        17 => "k".repeat(253),
        number => names[usize::try_from(number).unwrap()].to_owned(),
    };
    format!("{dir}/{name}")
}

fn offset(stream: &mut Stream) -> u64 {
    match stream.below(8) {
        0..5 => stream.below(30_000),
        5 => stream.below(8) * 4_096,
        6 => 0,
        _ => 1_000_000 + stream.below(3_000_000),
    }
}

fn device(stream: &mut Stream) -> (u32, u32) {
    let majors = [0, 1, 255, 256, 4_095];
    let minors = [0, 3, 255, 256, 0xF_FFFF];
    (majors[index(stream, 5)], minors[index(stream, 5)])
}

fn draw(stream: &mut Stream) -> Step {
    match stream.below(32) {
        0 | 1 => Step::Open(path(stream)),
        2..6 => Step::Create(path(stream)),
        6 => Step::Close(index(stream, 6)),
        7..12 => {
            let at = offset(stream);
            let length = if stream.chance(1, 8) { 0 } else { index(stream, 9_000) };
            Step::Write(index(stream, 6), at, length, stream.next_u64())
        }
        12..15 => Step::Read(index(stream, 6), offset(stream), index(stream, 9_000)),
        15 => Step::Resize(index(stream, 6), offset(stream)),
        16 => Step::Truncate(path(stream), offset(stream)),
        17 => Step::Stat(path(stream)),
        18..21 => Step::Unlink(path(stream)),
        21 => Step::Mkdir(path(stream)),
        22 => Step::Rmdir(path(stream)),
        23 | 24 => Step::Rename(path(stream), path(stream)),
        25 => Step::Link(path(stream), path(stream)),
        26 => Step::Symlink([0, 1, 30, 253, 254][index(stream, 5)], path(stream)),
        27 => {
            let (major, minor) = device(stream);
            Step::Mknod(path(stream), major, minor)
        }
        28 => Step::Times(path(stream), small(stream, 32), small(stream, 31)),
        29 => Step::Chown(path(stream), small(stream, 16), small(stream, 16)),
        30 => {
            let lengths = [0, 1, 100, 1_000, 1_500];
            let value = stream.chance(3, 4).then(|| lengths[index(stream, 5)]);
            Step::Xattr(path(stream), [1, 10, 249, 250][index(stream, 4)], value)
        }
        _ if stream.chance(1, 2) => Step::Fsync(index(stream, 6)),
        _ => Step::DropCaches,
    }
}

/// A mount with the files that a program holds open.
struct Side<F: FileSystem> {
    mount: Option<Mount<F>>,
    open: [Option<Fd>; 6],
}

impl<F: FileSystem> Side<F> {
    fn new(fs: F) -> Self {
        Self { mount: Some(Mount::new(fs)), open: [None; 6] }
    }

    fn mount(&mut self) -> &mut Mount<F> {
        self.mount.as_mut().unwrap()
    }

    fn close(&mut self, clock: &mut Clock, slot: usize) -> Result<(), Error> {
        let Some(fd) = self.open[slot].take() else { return Ok(()) };
        self.mount().close(clock, fd)
    }

    fn keep(&mut self, clock: &mut Clock, fd: Fd) -> Result<String, Error> {
        let free = self.open.iter().position(Option::is_none).unwrap_or(0);
        self.close(clock, free)?;
        self.open[free] = Some(fd);
        Ok(String::new())
    }

    fn apply(&mut self, clock: &mut Clock, step: &Step) -> Result<String, Error> {
        let slots = self.open;
        let mount = self.mount();
        match step {
            Step::Open(path) => {
                let fd = mount.open(clock, path)?;
                self.keep(clock, fd)
            }
            Step::Create(path) => {
                let fd = mount.create(clock, path, 0o644)?;
                self.keep(clock, fd)
            }
            Step::Close(slot) => self.close(clock, *slot).map(|()| String::new()),
            Step::Write(slot, ..)
            | Step::Read(slot, ..)
            | Step::Resize(slot, _)
            | Step::Fsync(slot) => {
                let Some(fd) = slots[*slot] else { return Ok(String::new()) };
                self.apply_to(clock, fd, step)
            }
            Step::Stat(path) => {
                let stat = mount.lstat(clock, path)?;
                // The time of a directory is that of its newest entry, which may have gone.
                let of_entries = stat.kind == Kind::Directory;
                let modified = if of_entries { 0 } else { stat.modified.seconds };
                Ok(format!("{:?} {:o} {modified}", stat.kind, stat.mode))
            }
            Step::Symlink(length, path) => {
                mount.symlink(clock, "t".repeat(*length), path).map(|()| String::new())
            }
            Step::Truncate(path, size) => {
                mount.truncate(clock, path, *size).map(|()| String::new())
            }
            Step::Unlink(path) => mount.unlink(clock, path).map(|()| String::new()),
            Step::Mkdir(path) => mount.mkdir(clock, path, 0o755).map(|()| String::new()),
            Step::Rmdir(path) => mount.rmdir(clock, path).map(|()| String::new()),
            Step::Rename(from, to) => mount.rename(clock, from, to).map(|()| String::new()),
            Step::Link(from, to) => mount.link(clock, from, to).map(|()| String::new()),
            Step::Mknod(path, major, minor) => {
                let device = Device { major: *major, minor: *minor };
                let kind =
                    if minor % 2 == 0 { Kind::Block(device) } else { Kind::Character(device) };
                mount.mknod(clock, path, kind, 0o600).map(|()| String::new())
            }
            Step::Times(path, accessed, modified) => {
                let [accessed, modified] =
                    [accessed, modified].map(|time| Timestamp::seconds(i64::from(*time)));
                mount.utimes(clock, path, accessed, modified).map(|()| String::new())
            }
            Step::Chown(path, uid, gid) => {
                mount.chown(clock, path, *uid, *gid).map(|()| String::new())
            }
            Step::Xattr(path, length, value) => {
                let name = format!("user.{}", "x".repeat(*length));
                match value {
                    Some(length) => mount.setxattr(clock, path, name, &content(*length, 7)),
                    None => mount.removexattr(clock, path, name),
                }
                .map(|()| String::new())
            }
            Step::DropCaches => mount.drop_caches(clock).map(|()| String::new()),
        }
    }

    fn apply_to(&mut self, clock: &mut Clock, fd: Fd, step: &Step) -> Result<String, Error> {
        let mount = self.mount();
        let told = match *step {
            Step::Write(_, offset, length, tag) => {
                format!("{}", mount.write(clock, fd, offset, &content(length, tag))?)
            }
            Step::Read(_, offset, length) => {
                let mut bytes = vec![0; length];
                let count = mount.read(clock, fd, offset, &mut bytes)?;
                format!("{:?}", &bytes[..count])
            }
            Step::Resize(_, size) => format!("{:?}", mount.ftruncate(clock, fd, size)?),
            _ => format!("{:?}", mount.fsync(clock, fd)?),
        };
        let stat = mount.fstat(clock, fd)?;
        // JFFS2 counts one link more for its root than there are names, and tells no sizes of
        // directories.
        let links = if stat.ino == mount.fs().root() { 0 } else { stat.links };
        Ok(format!("{told} {} {links}", if stat.kind == Kind::Directory { 0 } else { stat.size }))
    }

    fn close_all(&mut self, clock: &mut Clock) {
        (0..self.open.len()).for_each(|slot| self.close(clock, slot).unwrap());
    }
}

fn run<M: Mtd>(name: &str, device: M, options: &Options) {
    let mut clock = Clock::new();
    let mut real = Side::new(Jffs2::mount(&mut clock, device, options.clone()).unwrap());
    let mut model = Side::new(MemoryFs::new());
    let seed = seed();
    let mut stream = Seed::new(seed).stream(name);
    for number in 0..extent() {
        let step = draw(&mut stream);
        let (answer, expected) = (real.apply(&mut clock, &step), model.apply(&mut clock, &step));
        assert_eq!(answer, expected, "{name}, seed {seed}, operation {number}: {step:?}");
        clock.advance(Duration::from_millis(500));
        if number % 16 == 0 {
            let until = clock.now() + Duration::from_secs(1);
            real.mount().background(&mut clock, Some(until)).unwrap();
            real.mount().fs().check_tables().unwrap();
        }
        if number % 200 == 199 {
            real.close_all(&mut clock);
            model.close_all(&mut clock);
            let difference = compare(real.mount(), model.mount(), &mut clock).unwrap();
            assert_eq!(difference, None, "{name}, seed {seed}, operation {number}");
            real.mount().unmount(&mut clock).unwrap();
            let fs = real.mount.take().unwrap().into_fs();
            fs.check_tables().unwrap();
            let fs = Jffs2::mount(&mut clock, fs.into_device(), options.clone()).unwrap();
            real.mount = Some(Mount::new(fs));
            let difference = compare(real.mount(), model.mount(), &mut clock).unwrap();
            assert_eq!(difference, None, "{name}, seed {seed}, operation {number}, remounted");
        }
    }
}

#[test]
fn files_that_are_open_on_nand_of_large_pages_are_as_in_memory() {
    let device = RamMtd::nand(40, 32, Bytes::new(4_096), Bytes::new(128));
    run("handles.nand", device, &Options::default());
}

#[test]
fn files_that_are_open_on_nor_are_as_in_memory() {
    let options = Options { summary: false, ..Options::default() };
    run("handles.nor", RamMtd::nor(512, Bytes::kib(8)), &options);
}

#[test]
fn files_that_are_open_and_stored_as_they_are_are_as_in_memory() {
    let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { compression, ..Options::default() };
    run("handles.plain", RamMtd::nor(64, Bytes::kib(64)), &options);
}
