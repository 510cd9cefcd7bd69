//! What a mount does with a filesystem: which pages it reads and writes and when, what it pays, and
//! how paths, links and open files behave at their limits.
use boardlab_sim::{Bytes, Clock, Duration, Hertz, Instant};
use boardlab_vfs::{
    Attributes, Caching, Cost, Errno, Error, FileSystem, Host, Ino, Kind, MemoryFs, Mount, Options,
    PAGE_SIZE, Work, pass_on,
};
use std::ops::Range;

/// What a filesystem was asked concerning pages and inodes.
#[derive(Debug, Clone, PartialEq)]
enum Asked {
    Read(u64),
    Write(u64, Range<usize>),
    Sync,
    Fsync,
    Forget,
}
use Asked::{Forget, Fsync, Read, Sync, Write};

/// A filesystem that keeps a log.
struct Recorder {
    fs: MemoryFs,
    log: Vec<Asked>,
    reads_all: bool,
    refuse_write: Option<Error>,
    steps: u32,
}

fn recorder(caching: Caching) -> Recorder {
    let fs = MemoryFs::new().with_caching(caching);
    Recorder { fs, log: Vec::new(), reads_all: false, refuse_write: None, steps: 0 }
}

impl Recorder {
    fn taken(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.log)
    }
}

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl FileSystem for Recorder {
    fn reads_pages_to_overwrite(&self) -> bool {
        self.reads_all
    }
    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.log.push(Read(page));
        self.fs.read_page(clock, ino, page, buffer)
    }
    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        self.log.push(Write(page, changed.clone()));
        if let Some(error) = self.refuse_write.clone() {
            return Err(error);
        }
        let size = self.fs.getattr(clock, ino)?.size;
        let end = usize::try_from(size.saturating_sub(page * 4_096)).unwrap().max(changed.end);
        assert!(
            content[end.min(PAGE_SIZE)..].iter().all(|&byte| byte == 0),
            "bytes beyond the end"
        );
        self.fs.write_page(clock, ino, page, content, changed)
    }
    fn fsync(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        self.log.push(Fsync);
        Ok(())
    }
    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        self.log.push(Sync);
        Ok(())
    }
    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.log.push(Forget);
        self.fs.evict_inode(clock, ino)
    }
    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        clock.advance(Duration::from_millis(10));
        self.steps = self.steps.saturating_sub(1);
        Ok(self.steps > 0)
    }
    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.fs.unmount(clock)
    }

    pass_on! { inner:
        caching root lookup getattr setattr create link unlink rmdir rename readdir readlink
        getxattr setxattr listxattr statfs
    }
}

fn mounted(caching: Caching, options: Options) -> (Mount<Recorder>, Clock) {
    (Mount::with_host(recorder(caching), Host::free(), options), Clock::new())
}

const PAGE: u64 = 4_096;

#[test]
fn a_page_changed_in_part_is_read_first_and_a_whole_one_is_not() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 3 * PAGE_SIZE - 96]).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    let three = [Write(0, 0..4_096), Write(1, 0..4_096), Write(2, 0..4_000)];
    assert_eq!(mount.fs_mut().taken(), three);
    mount.write(&mut clock, fd, PAGE - 1, &[2; PAGE_SIZE + 2]).unwrap();
    let parts = [Read(0), Write(0, 4_095..4_096), Write(1, 0..4_096), Read(2), Write(2, 0..1)];
    assert_eq!(mount.fs_mut().taken(), parts);
    mount.write(&mut clock, fd, 5 * PAGE + 7, &[3; 5]).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(5, 7..12)]);
    mount.drop_caches(&mut clock).unwrap();
    mount.fs_mut().reads_all = true;
    mount.write(&mut clock, fd, PAGE, &[2; PAGE_SIZE]).unwrap();
    mount.write(&mut clock, fd, 6 * PAGE, &[2; PAGE_SIZE]).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Read(1), Write(1, 0..4_096), Write(6, 0..4_096)]);
}

#[test]
fn what_was_refused_is_read_again_and_a_write_cut_short_says_how_short() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 10]).unwrap();
    mount.fs_mut().refuse_write = Some(Errno::NoSpc.into());
    assert_eq!(mount.write(&mut clock, fd, 0, &[2; 10]), Err(Errno::NoSpc.into()));
    let mut bytes = [9; 12];
    assert_eq!(mount.read(&mut clock, fd, 0, &mut bytes), Ok(10));
    assert_eq!(bytes, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9]);
    let cut = Error::PowerCut { at: Instant::ZERO };
    mount.fs_mut().refuse_write = Some(cut.clone());
    assert_eq!(mount.write(&mut clock, fd, 0, &[2; 10]), Err(cut));

    let small = Mount::new(MemoryFs::new().with_capacity(2));
    let (mut mount, mut clock) = (small, Clock::new());
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    assert_eq!(mount.write(&mut clock, fd, 100, &[1; 3 * PAGE_SIZE]), Ok(2 * PAGE_SIZE - 100));
    assert_eq!(mount.fstat(&mut clock, fd).unwrap().size, 2 * PAGE);
    assert_eq!(mount.write(&mut clock, fd, 2 * PAGE, &[1]), Err(Errno::NoSpc.into()));
}

#[test]
fn the_cache_keeps_to_its_size_and_lets_the_oldest_page_go() {
    let (mut mount, mut clock) =
        mounted(Caching::WriteThrough, Options::with_cache(Bytes::kib(12)));
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 4 * PAGE_SIZE]).unwrap();
    mount.fs_mut().taken();
    let mut buffer = [0; PAGE_SIZE];
    for page in [1, 2, 3, 1, 0, 1, 2] {
        mount.read(&mut clock, fd, page * PAGE, &mut buffer).unwrap();
    }
    assert_eq!(mount.fs_mut().taken(), [Read(0), Read(2)]);
    assert_eq!(mount.cached_bytes(), Bytes::kib(12));
    let counts = mount.cache_counts();
    assert_eq!((counts.hits, counts.read, counts.written, counts.evicted), (5, 2, 4, 3));
}

#[test]
fn readahead_follows_a_sequential_reader_only() {
    let options = Options { readahead: 3, ..Options::default() };
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, options);
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 10 * PAGE_SIZE]).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    mount.fs_mut().taken();
    let mut read = |page| {
        mount.read(&mut clock, fd, page * PAGE, &mut [0; 100]).unwrap();
        mount.fs_mut().taken()
    };
    assert_eq!(read(0), [Read(0), Read(1), Read(2)]);
    assert_eq!(read(1), []);
    assert_eq!(read(7), [Read(7)]);
    assert_eq!(read(8), [Read(8), Read(9)]);
    assert_eq!(read(2), []);
    assert_eq!(read(3), [Read(3), Read(4), Read(5)]);
}

#[test]
fn write_back_waits_for_fsync_and_then_writes_in_ascending_order() {
    let (mut mount, mut clock) = mounted(Caching::WriteBack, Options::default());
    let (one, two) = (
        mount.create(&mut clock, "/one", 0o644).unwrap(),
        mount.create(&mut clock, "/two", 0o644).unwrap(),
    );
    mount.write(&mut clock, two, PAGE, &[1; 9]).unwrap();
    mount.write(&mut clock, one, 2 * PAGE, &[1; 9]).unwrap();
    mount.write(&mut clock, one, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, one, 20, &[1; 9]).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Read(0)]);
    assert_eq!(
        (mount.dirty_bytes(), mount.fstat(&mut clock, one).unwrap().size),
        (Bytes::kib(12), 2 * PAGE + 9)
    );
    mount.fsync(&mut clock, one).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(0, 0..29), Write(2, 0..9), Fsync]);
    mount.sync(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(1, 0..9), Sync]);
    mount.sync(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Sync]);
}

#[test]
fn the_flusher_writes_what_is_old_and_what_is_too_much() {
    let mut options = Options::default();
    options.write_back.background = Bytes::kib(8);
    let (mut mount, mut clock) = mounted(Caching::WriteBack, options);
    let fd = mount.create(&mut clock, "/one", 0o644).unwrap();
    mount.write(&mut clock, fd, 3 * PAGE, &[1; 5]).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 2 * PAGE_SIZE]).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(0, 0..4_096)]);
    mount.idle(&mut clock, Instant::ZERO + Duration::from_secs(29)).unwrap();
    assert_eq!(mount.fs_mut().taken(), []);
    mount.idle(&mut clock, Instant::ZERO + Duration::from_secs(40)).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(1, 0..4_096), Write(3, 0..5)]);
    assert_eq!((mount.dirty_bytes(), clock.now().as_nanos()), (Bytes::ZERO, 40_000_000_000));
}

#[test]
fn what_could_not_be_written_in_the_background_is_told_by_the_next_fsync_once() {
    let (mut mount, mut clock) = mounted(Caching::WriteBack, Options::default());
    let fd = mount.create(&mut clock, "/one", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 5]).unwrap();
    mount.fs_mut().refuse_write = Some(Errno::NoSpc.into());
    mount.sync(&mut clock).unwrap();
    mount.fs_mut().refuse_write = None;
    assert_eq!(mount.fsync(&mut clock, fd), Err(Errno::NoSpc.into()));
    assert_eq!(mount.fsync(&mut clock, fd), Ok(()));
}

#[test]
fn what_was_cut_off_is_not_written_later() {
    let (mut mount, mut clock) = mounted(Caching::WriteBack, Options::default());
    let fd = mount.create(&mut clock, "/one", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 3 * PAGE_SIZE]).unwrap();
    mount.ftruncate(&mut clock, fd, PAGE + 10).unwrap();
    mount.ftruncate(&mut clock, fd, PAGE + 20).unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    assert_eq!(mount.fs_mut().taken(), [Write(0, 0..4_096), Write(1, 0..10), Fsync]);
    let mut bytes = [9; 20];
    assert_eq!(mount.read(&mut clock, fd, PAGE, &mut bytes), Ok(20));
    assert_eq!((bytes[..10].to_vec(), bytes[10..].to_vec()), (vec![1; 10], vec![0; 10]));
    assert_eq!(mount.fstat(&mut clock, fd).unwrap().size, PAGE + 20);
}

#[test]
fn an_open_file_outlives_its_name() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    let again = mount.open(&mut clock, "/file").unwrap();
    mount.write(&mut clock, fd, 0, b"still here").unwrap();
    mount.unlink(&mut clock, "/file").unwrap();
    assert_eq!(mount.unmount(&mut clock), Err(Errno::Busy.into()));
    mount.close(&mut clock, fd).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    let mut bytes = [0; 10];
    mount.read(&mut clock, again, 0, &mut bytes).unwrap();
    assert_eq!((&bytes, mount.fstat(&mut clock, again).unwrap().links), (b"still here", 0));
    assert!(!mount.fs_mut().taken().contains(&Forget));
    mount.close(&mut clock, again).unwrap();
    assert_eq!((mount.fs_mut().taken(), mount.fs().fs.inodes()), (vec![Forget], 1));
    assert_eq!(mount.close(&mut clock, again), Err(Errno::BadF.into()));
    mount.unmount(&mut clock).unwrap();
}

#[test]
fn what_a_rename_replaces_goes_unless_it_is_open() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    for name in ["/one", "/two", "/three"] {
        let fd = mount.create(&mut clock, name, 0o644).unwrap();
        mount.close(&mut clock, fd).unwrap();
    }
    mount.rename(&mut clock, "/one", "/two").unwrap();
    assert_eq!((mount.fs_mut().taken(), mount.fs().fs.inodes()), (vec![Forget], 3));
    let fd = mount.open(&mut clock, "/two").unwrap();
    mount.rename(&mut clock, "/three", "/two").unwrap();
    assert_eq!((mount.fs_mut().taken(), mount.fs().fs.inodes()), (vec![], 3));
    mount.close(&mut clock, fd).unwrap();
    assert_eq!(mount.fs().fs.inodes(), 2);
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.mkdir(&mut clock, "/0", 0o755).unwrap();
    for number in 1..=41 {
        mount.symlink(&mut clock, format!("{}", number - 1), format!("/{number}")).unwrap();
    }
    assert_eq!(mount.stat(&mut clock, "/40").unwrap().kind, Kind::Directory);
    assert_eq!(mount.stat(&mut clock, "/41"), Err(Errno::Loop.into()));
    assert_eq!(mount.lstat(&mut clock, "/41").unwrap().kind, Kind::Symlink);
    mount.symlink(&mut clock, "/me/too", "/me").unwrap();
    assert_eq!(mount.open(&mut clock, "/me").err(), Some(Errno::Loop.into()));
}

#[test]
fn dots_go_up_where_a_link_led_and_never_above_the_root() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.mkdir(&mut clock, "/a", 0o755).unwrap();
    mount.mkdir(&mut clock, "/a/b", 0o700).unwrap();
    mount.symlink(&mut clock, "a/./b", "/short").unwrap();
    let a = mount.stat(&mut clock, "/a").unwrap().ino;
    assert_eq!(mount.stat(&mut clock, "/short/..").unwrap().ino, a);
    assert_eq!(mount.stat(&mut clock, "/../../a//").unwrap().ino, a);
    mount.symlink(&mut clock, "/a", "/a/b/up").unwrap();
    assert_eq!(mount.stat(&mut clock, "/short/up/b").unwrap().mode, 0o700);
}

#[test]
fn paths_and_names_have_limits() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    let refused = |errno: Errno| Err(Error::from(errno));
    let name = |length: usize| format!("/{}", "n".repeat(length));
    mount.mkdir(&mut clock, name(255), 0o755).unwrap();
    assert_eq!(mount.mkdir(&mut clock, name(256), 0o755), refused(Errno::NameTooLong));
    assert_eq!(mount.unlink(&mut clock, "/x".repeat(2_048)), refused(Errno::NameTooLong));
    assert_eq!(mount.unlink(&mut clock, "/x/".repeat(1_000)), refused(Errno::NoEnt));
    assert_eq!(mount.mkdir(&mut clock, "", 0o755), refused(Errno::NoEnt));
    assert_eq!(mount.mkdir(&mut clock, "relative", 0o755), refused(Errno::Inval));
    assert_eq!(mount.mkdir(&mut clock, b"/nul\0", 0o755), refused(Errno::Inval));
    assert_eq!(mount.mkdir(&mut clock, "/", 0o755), refused(Errno::Exist));
    assert_eq!(mount.rmdir(&mut clock, "/"), refused(Errno::Busy));
    assert_eq!(mount.rmdir(&mut clock, "/."), refused(Errno::Inval));
    assert_eq!(mount.rmdir(&mut clock, "/.."), refused(Errno::NotEmpty));
    assert_eq!(mount.symlink(&mut clock, "", "/empty"), refused(Errno::NoEnt));
    assert_eq!(mount.symlink(&mut clock, "t".repeat(4_096), "/long"), refused(Errno::NameTooLong));
}

#[test]
fn a_directory_cannot_come_to_lie_within_itself() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.mkdir(&mut clock, "/a", 0o755).unwrap();
    mount.mkdir(&mut clock, "/a/b", 0o755).unwrap();
    mount.symlink(&mut clock, "/a/b", "/link").unwrap();
    let inside = mount.rename(&mut clock, "/a", "/link/c");
    assert_eq!(inside, Err(Errno::Inval.into()));
    let above = mount.rename(&mut clock, "/a/b", "/a");
    assert_eq!(above, Err(Errno::NotEmpty.into()));
    mount.rename(&mut clock, "/link", "/a/b/link").unwrap();
}

#[test]
fn user_attributes_are_for_files_and_directories() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.symlink(&mut clock, "/", "/link").unwrap();
    let refused = |errno: Errno| Err(Error::from(errno));
    assert_eq!(mount.setxattr(&mut clock, "/link", "user.a", b"1"), refused(Errno::Perm));
    mount.setxattr(&mut clock, "/link", "trusted.a", b"1").unwrap();
    assert_eq!(mount.getxattr(&mut clock, "/", "trusted.a"), Err(Errno::NoData.into()));
    mount.setxattr(&mut clock, "/", "user.a", &[7; 65_536]).unwrap();
    assert_eq!(mount.setxattr(&mut clock, "/", "user.b", &[7; 65_537]), refused(Errno::TooBig));
    assert_eq!(mount.listxattr(&mut clock, "/link"), Ok(vec![b"trusted.a".to_vec()]));
}

#[test]
fn special_bits_are_inherited_from_a_directory_and_lost_with_the_owner() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.mkdir(&mut clock, "/a", 0o7755).unwrap();
    assert_eq!(mount.stat(&mut clock, "/a").unwrap().mode, 0o1755);
    mount.chmod(&mut clock, "/a", 0o2775).unwrap();
    mount.chown(&mut clock, "/a", 5, 6).unwrap();
    assert_eq!(mount.stat(&mut clock, "/a").unwrap().mode, 0o2775);
    mount.mkdir(&mut clock, "/a/b", 0o755).unwrap();
    mount.mknod(&mut clock, "/a/b/c", Kind::File, 0o6755).unwrap();
    let told = |told: Attributes| (told.mode, told.uid, told.gid);
    assert_eq!(told(mount.stat(&mut clock, "/a/b").unwrap()), (0o2755, 0, 6));
    assert_eq!(told(mount.stat(&mut clock, "/a/b/c").unwrap()), (0o6755, 0, 6));
    mount.chown(&mut clock, "/a/b/c", 7, 8).unwrap();
    assert_eq!(told(mount.stat(&mut clock, "/a/b/c").unwrap()), (0o755, 7, 8));
    mount.chmod(&mut clock, "/a/b/c", 0o2745).unwrap();
    mount.chown(&mut clock, "/a/b/c", 0, 0).unwrap();
    assert_eq!(mount.stat(&mut clock, "/a/b/c").unwrap().mode, 0o2745);
}

#[test]
fn the_host_pays_for_calls_components_pages_and_bytes() {
    let cost = |work| match work {
        Work::Call => Cost { each: 1_000_000, per_kib: 0 },
        Work::Lookup => Cost { each: 10_000, per_kib: 0 },
        Work::Page => Cost { each: 100, per_kib: 0 },
        Work::Copy => Cost { each: 0, per_kib: 1 },
        _ => Cost { each: 1_000_000_000, per_kib: 0 },
    };
    let host = Host::new(Hertz::from_hz(1_000_000_000), cost);
    let mut clock = Clock::new();
    let mut mount = Mount::with_host(MemoryFs::new(), host, Options::default());
    mount.mkdir(&mut clock, "/a", 0o755).unwrap();
    let fd = mount.create(&mut clock, "/a/b", 0o755).unwrap();
    let start = clock.now();
    mount.stat(&mut clock, "/a/./b").unwrap();
    mount.write(&mut clock, fd, 1_024, &[1; 3 * 1_024]).unwrap();
    mount.read(&mut clock, fd, 0, &mut [1; 4 * 1_024]).unwrap();
    assert_eq!(clock.now().since(start), Duration::from_nanos(3_000_000 + 30_000 + 200 + 3 + 4));
    assert_eq!(
        (mount.host().work_total(Work::Call).count, mount.host().work_total(Work::Copy).bytes),
        (5, 7_168)
    );
}

#[test]
fn the_background_runs_to_its_end_or_to_an_instant() {
    let (mut mount, mut clock) = mounted(Caching::WriteThrough, Options::default());
    mount.fs_mut().steps = 10;
    let until = Instant::ZERO + Duration::from_millis(35);
    assert_eq!(mount.background(&mut clock, Some(until)), Ok(true));
    assert_eq!((mount.fs().steps, clock.now().as_nanos()), (6, 40_000_000));
    assert_eq!(mount.background(&mut clock, None), Ok(false));
    assert_eq!(clock.now().as_nanos(), 100_000_000);
}

#[test]
fn a_boxed_filesystem_mounts_too() {
    let boxed: Box<dyn FileSystem> = Box::new(MemoryFs::new());
    let (mut mount, mut clock) = (Mount::new(boxed), Clock::new());
    mount.mkdir(&mut clock, "/a", 0o755).unwrap();
    assert_eq!(mount.stat(&mut clock, "/").unwrap().links, 3);
}
