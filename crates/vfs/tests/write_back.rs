//! What a mount asks of a filesystem that reserves flash for what is dirty in memory, and in which
//! order: reservations, write-back of pages and inodes, truncation, deletion, and second attempts.
use boardlab_sim::{Bytes, Clock, Duration, Instant};
use boardlab_vfs::{
    Attributes, Caching, Errno, Error, FileSystem, Host, Ino, MemoryFs, Mount, NewInode, OpenFlags,
    Options, PAGE_SIZE, PageWrite, SetAttr, Truncation, pass_on,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const PAGE: u64 = 4_096;

/// A filesystem that keeps sizes and modes in memory until `write_inode`, and a log of what it was
/// asked, with the inode first. It insists that each dirty page was reserved and is then written or
/// released.
struct Toy {
    fs: MemoryFs,
    log: Vec<String>,
    sizes: BTreeMap<Ino, u64>,
    dirty: BTreeSet<Ino>,
    dirtied: Vec<Ino>,
    reserved: BTreeSet<(Ino, u64)>,
    /// How often it needs write-back of two pages before it reserves or creates something.
    refusals: u32,
    full: bool,
    refuse_page: Option<Error>,
    /// How many pages a read fetches besides.
    bulk: u64,
    ahead: Vec<(u64, Box<[u8]>)>,
    nameless: BTreeSet<Ino>,
}

impl Toy {
    fn new() -> Self {
        Self {
            fs: MemoryFs::new().with_caching(Caching::WriteBack),
            log: Vec::new(),
            sizes: BTreeMap::new(),
            dirty: BTreeSet::new(),
            dirtied: Vec::new(),
            reserved: BTreeSet::new(),
            refusals: 0,
            full: false,
            refuse_page: None,
            bulk: 0,
            ahead: Vec::new(),
            nameless: BTreeSet::new(),
        }
    }

    fn note(&mut self, ino: Ino, what: impl AsRef<str>) {
        self.log.push(format!("{} {}", ino.0, what.as_ref()));
    }

    fn taken(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn mark_dirty(&mut self, ino: Ino) {
        self.dirty.insert(ino);
        self.dirtied.push(ino);
    }

    fn budget(&mut self) -> Result<(), Error> {
        if self.full {
            return Err(Errno::NoSpc.into());
        }
        if self.refusals > 0 {
            self.refusals -= 1;
            self.log.push("needs write-back".to_owned());
            return Err(Error::NeedsWriteBack { pages: 2 });
        }
        Ok(())
    }
}

/// Passes operations on to the filesystem in memory.
macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl FileSystem for Toy {
    fn caching(&self) -> Caching {
        Caching::WriteBack
    }
    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let attributes = self.fs.getattr(clock, ino)?;
        let size = self.sizes.get(&ino).copied().unwrap_or(attributes.size);
        let links = if self.nameless.contains(&ino) { 0 } else { attributes.links };
        Ok(Attributes { size, links, ..attributes })
    }
    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        match change.size {
            Some(size) => {
                self.note(ino, format!("truncated to {size}"));
                self.sizes.remove(&ino);
            }
            None => self.mark_dirty(ino),
        }
        self.fs.setattr(clock, ino, change)
    }
    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        self.budget()?;
        self.fs.create(clock, dir, name, new)
    }
    fn tmpfile(&mut self, clock: &mut Clock, new: &NewInode<'_>) -> Result<Ino, Error> {
        self.budget()?;
        let ino = self.fs.create(clock, self.fs.root(), b"hidden", new)?;
        self.nameless.insert(ino);
        Ok(ino)
    }
    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        if self.nameless.remove(&ino) {
            return self.fs.rename(clock, self.fs.root(), b"hidden", dir, name);
        }
        self.fs.link(clock, ino, dir, name)
    }
    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.note(ino, format!("read {page}"));
        for further in page + 1..=page + self.bulk {
            let mut content = vec![0; PAGE_SIZE].into_boxed_slice();
            self.fs.read_page(clock, ino, further, &mut content)?;
            self.ahead.push((further, content));
        }
        self.fs.read_page(clock, ino, page, buffer)
    }
    fn read_page_to_change(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.note(ino, format!("read {page} to change"));
        self.fs.read_page(clock, ino, page, buffer)
    }
    fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
        std::mem::take(&mut self.ahead)
    }
    fn begin_write(&mut self, _clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.note(ino, "begin");
        Ok(())
    }
    fn reserve_page(
        &mut self,
        _clock: &mut Clock,
        ino: Ino,
        write: &PageWrite,
    ) -> Result<(), Error> {
        let flag = |set, name| if set { name } else { "" };
        let (uptodate, dirty) = (flag(write.uptodate, " uptodate"), flag(write.dirty, " dirty"));
        let whole = flag(write.whole, " whole");
        let sizes = format!("{}..{}", write.size_before, write.size_after);
        self.note(ino, format!("reserve {} {sizes}{uptodate}{dirty}{whole}", write.page));
        assert_eq!(write.dirty, self.reserved.contains(&(ino, write.page)));
        self.budget()
    }
    fn page_dirtied(&mut self, _clock: &mut Clock, ino: Ino, write: &PageWrite) {
        self.note(ino, format!("dirtied {}", write.page));
        self.reserved.insert((ino, write.page));
        if write.size_after > write.size_before {
            self.sizes.insert(ino, write.size_after);
            self.mark_dirty(ino);
        }
    }
    fn release_page(&mut self, ino: Ino, page: u64) {
        self.note(ino, format!("release {page}"));
        assert!(self.reserved.remove(&(ino, page)));
    }
    fn begin_truncation(
        &mut self,
        _clock: &mut Clock,
        ino: Ino,
        size: u64,
    ) -> Result<Truncation, Error> {
        self.note(ino, format!("truncate to {size}"));
        self.budget()?;
        Ok(Truncation::CacheFirst)
    }
    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        self.note(ino, format!("page {page} {changed:?}"));
        assert!(self.reserved.remove(&(ino, page)));
        self.refuse_page.clone().map_or(Ok(()), Err)?;
        self.fs.write_page(clock, ino, page, content, changed)
    }
    fn write_inode(&mut self, _clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.note(ino, "inode");
        assert!(self.dirty.remove(&ino));
        self.refuse_page.clone().map_or(Ok(()), Err)
    }
    fn take_dirtied(&mut self) -> Vec<Ino> {
        std::mem::take(&mut self.dirtied)
    }
    fn fsync(&mut self, _clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.note(ino, "fsync");
        Ok(())
    }
    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        self.log.push("sync".to_owned());
        Ok(())
    }
    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.note(ino, "evict");
        let named = self.fs.unlink(clock, self.fs.root(), b"hidden");
        assert_eq!(named.is_ok(), self.nameless.remove(&ino));
        self.fs.evict_inode(clock, ino)
    }
    fn unmount(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        self.log.push("unmount".to_owned());
        Ok(())
    }

    pass_on! { inner:
        root lookup unlink rmdir rename readdir readlink getxattr setxattr listxattr background statfs
    }
}

fn mounted(options: Options) -> (Mount<Toy>, Clock) {
    (Mount::with_host(Toy::new(), Host::free(), options), Clock::new())
}

/// Two empty files, inodes 2 and 3, open.
fn with_files() -> (Mount<Toy>, Clock, [boardlab_vfs::Fd; 2]) {
    let (mut mount, mut clock) = mounted(Options::default());
    let files = ["/two", "/three"].map(|name| mount.create(&mut clock, name, 0o644).unwrap());
    (mount, clock, files)
}

#[test]
fn a_page_is_reserved_before_it_changes_and_read_before_that() {
    let (mut mount, mut clock, [fd, _]) = with_files();
    mount.write(&mut clock, fd, 0, &[1; PAGE_SIZE + 10]).unwrap();
    assert_eq!(
        mount.fs_mut().taken(),
        [
            "2 begin",
            "2 reserve 0 0..4096 whole",
            "2 dirtied 0",
            "2 reserve 1 4096..4106",
            "2 dirtied 1",
        ]
    );
    mount.sync(&mut clock).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    mount.fs_mut().taken();
    mount.write(&mut clock, fd, 7, &[2; PAGE_SIZE]).unwrap();
    mount.write(&mut clock, fd, PAGE + 5, &[3; 20]).unwrap();
    mount.write(&mut clock, fd, 0, &[]).unwrap();
    assert_eq!(
        mount.fs_mut().taken(),
        [
            "2 begin",
            "2 read 0 to change",
            "2 reserve 0 4106..4106 uptodate",
            "2 dirtied 0",
            "2 read 1 to change",
            "2 reserve 1 4106..4106 uptodate",
            "2 dirtied 1",
            "2 begin",
            "2 reserve 1 4106..4121 uptodate dirty",
            "2 dirtied 1",
        ]
    );
    assert_eq!(mount.fstat(&mut clock, fd).unwrap().size, 4_121);
}

#[test]
fn fsync_writes_the_pages_then_the_inode_and_only_what_is_dirty() {
    let (mut mount, mut clock, [two, three]) = with_files();
    mount.write(&mut clock, three, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, two, PAGE, &[1; 9]).unwrap();
    mount.write(&mut clock, two, 0, &[1; 9]).unwrap();
    mount.fs_mut().taken();
    mount.fsync(&mut clock, two).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 page 0 0..9", "2 page 1 0..9", "2 inode", "2 fsync"]);
    mount.write(&mut clock, two, 3, &[1; 2]).unwrap();
    mount.fs_mut().taken();
    mount.fsync(&mut clock, two).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 page 0 3..5", "2 fsync"]);
    mount.fsync(&mut clock, two).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 fsync"]);
    assert_eq!(mount.dirty_bytes(), Bytes::kib(4));
}

#[test]
fn fsync_reports_an_inode_that_could_not_be_written_and_the_flusher_does_not() {
    let (mut mount, mut clock, [fd, _]) = with_files();
    mount.chmod(&mut clock, "/two", 0o600).unwrap();
    mount.fs_mut().refuse_page = Some(Errno::RoFs.into());
    assert_eq!(mount.fsync(&mut clock, fd), Err(Errno::RoFs.into()));
    mount.chmod(&mut clock, "/two", 0o600).unwrap();
    assert_eq!(mount.sync(&mut clock), Ok(()));
    assert_eq!(mount.fs_mut().taken(), ["2 inode", "2 inode", "sync"]);
    let cut = Error::PowerCut { at: Instant::ZERO };
    mount.fs_mut().refuse_page = Some(cut.clone());
    mount.chmod(&mut clock, "/two", 0o600).unwrap();
    assert_eq!(mount.sync(&mut clock), Err(cut));
}

#[test]
fn sync_and_unmount_write_the_inode_first_that_became_dirty_first() {
    let (mut mount, mut clock, [two, three]) = with_files();
    mount.write(&mut clock, three, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, two, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, three, PAGE, &[1; 9]).unwrap();
    mount.fs_mut().taken();
    mount.sync(&mut clock).unwrap();
    let pages = ["3 page 0 0..9", "3 page 1 0..9", "3 inode", "2 page 0 0..9", "2 inode", "sync"];
    assert_eq!(mount.fs_mut().taken(), pages);
    mount.chmod(&mut clock, "/three", 0o600).unwrap();
    mount.chmod(&mut clock, "/two", 0o600).unwrap();
    [two, three].iter().for_each(|&fd| mount.close(&mut clock, fd).unwrap());
    mount.unmount(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["3 inode", "2 inode", "unmount"]);
}

#[test]
fn an_inode_expires_thirty_seconds_after_it_or_a_page_became_dirty() {
    let (mut mount, mut clock, [two, three]) = with_files();
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    mount.chmod(&mut clock, "/three", 0o600).unwrap();
    mount.idle(&mut clock, at(7)).unwrap();
    mount.write(&mut clock, two, 0, &[1; 9]).unwrap();
    mount.idle(&mut clock, at(29)).unwrap();
    mount.write(&mut clock, three, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, two, PAGE, &[1; 9]).unwrap();
    mount.fs_mut().taken();
    mount.idle(&mut clock, at(34)).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["3 page 0 0..9", "3 inode"]);
    mount.idle(&mut clock, at(50)).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 page 0 0..9", "2 page 1 0..9", "2 inode"]);
    mount.chmod(&mut clock, "/two", 0o600).unwrap();
    mount.idle(&mut clock, at(79)).unwrap();
    assert_eq!(mount.fs_mut().taken(), [""; 0]);
    mount.idle(&mut clock, at(85)).unwrap();
    assert_eq!((mount.fs_mut().taken(), clock.now()), (vec!["2 inode".to_owned()], at(85)));
}

#[test]
fn too_many_dirty_pages_take_the_oldest_inode_with_them() {
    let mut options = Options::default();
    options.write_back.background = Bytes::kib(8);
    let (mut mount, mut clock) = mounted(options);
    let fd = mount.create(&mut clock, "/two", 0o644).unwrap();
    let other = mount.create(&mut clock, "/three", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 2 * PAGE_SIZE]).unwrap();
    mount.fs_mut().taken();
    mount.write(&mut clock, other, 0, &[1; 9]).unwrap();
    let first = ["3 begin", "3 reserve 0 0..9", "3 dirtied 0", "2 page 0 0..4096"];
    assert_eq!(mount.fs_mut().taken(), first);
    mount.write(&mut clock, other, PAGE, &[1; 9]).unwrap();
    assert_eq!(mount.fs_mut().taken()[3..], ["2 page 1 0..4096", "2 inode"]);
}

#[test]
fn an_operation_is_tried_again_after_the_oldest_inode_was_written_as_a_whole() {
    let (mut mount, mut clock, [two, three]) = with_files();
    mount.write(&mut clock, three, 0, &[1; 3 * PAGE_SIZE]).unwrap();
    mount.write(&mut clock, two, 0, &[1; 9]).unwrap();
    mount.fs_mut().taken();
    mount.fs_mut().refusals = 1;
    mount.mkdir(&mut clock, "/dir", 0o755).unwrap();
    let pages = ["3 page 0 0..4096", "3 page 1 0..4096", "3 page 2 0..4096", "3 inode"];
    assert_eq!(mount.fs_mut().taken(), [&["needs write-back"][..], &pages].concat());
    mount.fs_mut().refusals = 3;
    mount.write(&mut clock, two, 5, &[1; 9]).unwrap();
    let again = [
        "2 begin",
        "2 reserve 0 9..14 uptodate dirty",
        "needs write-back",
        "2 page 0 0..9",
        "2 inode",
        "2 reserve 0 9..14 uptodate",
        "needs write-back",
        "2 reserve 0 9..14 uptodate",
        "needs write-back",
        "2 reserve 0 9..14 uptodate",
        "2 dirtied 0",
    ];
    assert_eq!(mount.fs_mut().taken(), again);
}

#[test]
fn an_inode_is_written_as_a_whole_however_many_pages_it_has() {
    let mut options = Options::default();
    options.write_back.background = Bytes::mib(32);
    let (mut mount, mut clock) = mounted(options);
    let file = mount.create(&mut clock, "/two", 0o644).unwrap();
    mount.write(&mut clock, file, 0, &vec![1; 1_500 * PAGE_SIZE]).unwrap();
    mount.fs_mut().taken();
    mount.fs_mut().refusals = 1;
    mount.mkdir(&mut clock, "/dir", 0o755).unwrap();
    let written = mount.fs_mut().taken();
    assert_eq!((written.len(), written.last().unwrap().as_str()), (1_502, "2 inode"));
}

#[test]
fn inodes_without_dirty_pages_are_written_on_the_way_to_the_pages_that_were_asked_for() {
    let (mut mount, mut clock, [two, three]) = with_files();
    mount.chmod(&mut clock, "/three", 0o600).unwrap();
    mount.write(&mut clock, two, 0, &[1; 9]).unwrap();
    mount.write(&mut clock, three, 0, &[1; 9]).unwrap();
    mount.chmod(&mut clock, "/", 0o700).unwrap();
    mount.fs_mut().taken();
    mount.fs_mut().refusals = 1;
    mount.mkdir(&mut clock, "/dir", 0o755).unwrap();
    let written = ["needs write-back", "3 page 0 0..9", "3 inode", "2 page 0 0..9", "2 inode"];
    assert_eq!(mount.fs_mut().taken(), written);
    assert_eq!(mount.fs().dirty.len(), 1);
}

#[test]
fn a_page_that_was_not_reserved_stays_as_it_was() {
    let (mut mount, mut clock, [fd, _]) = with_files();
    mount.write(&mut clock, fd, 0, &[1; PAGE_SIZE]).unwrap();
    mount.sync(&mut clock).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    mount.fs_mut().full = true;
    let refused = mount.write(&mut clock, fd, 0, &[2; PAGE_SIZE]);
    assert_eq!(refused, Err(Errno::NoSpc.into()));
    assert_eq!(mount.write(&mut clock, fd, PAGE, &[2; 5]), Err(Errno::NoSpc.into()));
    assert_eq!(mount.dirty_bytes(), Bytes::ZERO);
    let mut bytes = [0; 2];
    mount.read(&mut clock, fd, 0, &mut bytes).unwrap();
    assert_eq!((bytes, mount.fstat(&mut clock, fd).unwrap().size), ([1; 2], PAGE));
}

#[test]
fn a_dirty_page_in_which_a_file_now_ends_is_written_before_the_truncation() {
    let (mut mount, mut clock, [fd, _]) = with_files();
    mount.write(&mut clock, fd, 0, &[1; 3 * PAGE_SIZE]).unwrap();
    mount.fs_mut().taken();
    mount.ftruncate(&mut clock, fd, PAGE + 10).unwrap();
    let cut = ["2 truncate to 4106", "2 release 2", "2 page 1 0..10", "2 truncated to 4106"];
    assert_eq!(mount.fs_mut().taken(), cut);
    // All dirty bytes of the page are cut off, and it is written nevertheless.
    mount.write(&mut clock, fd, PAGE + 8, &[2; 2]).unwrap();
    mount.fs_mut().taken();
    mount.ftruncate(&mut clock, fd, PAGE + 5).unwrap();
    let cut = ["2 truncate to 4101", "2 page 1 0..5", "2 truncated to 4101"];
    assert_eq!(mount.fs_mut().taken(), cut);
    mount.ftruncate(&mut clock, fd, PAGE + 3).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 truncate to 4099", "2 truncated to 4099"]);
    mount.ftruncate(&mut clock, fd, PAGE).unwrap();
    mount.ftruncate(&mut clock, fd, PAGE + 7).unwrap();
    let grown = ["2 truncate to 4096", "2 truncated to 4096", "2 truncated to 4103"];
    assert_eq!(mount.fs_mut().taken(), grown);
    mount.fsync(&mut clock, fd).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 page 0 0..4096", "2 inode", "2 fsync"]);
}

#[test]
fn a_truncation_fails_when_it_is_not_reserved_and_when_its_page_is_not_written() {
    let (mut mount, mut clock, [fd, _]) = with_files();
    mount.write(&mut clock, fd, 0, &[1; 2 * PAGE_SIZE]).unwrap();
    mount.fs_mut().taken();
    mount.fs_mut().full = true;
    assert_eq!(mount.ftruncate(&mut clock, fd, 10), Err(Errno::NoSpc.into()));
    assert_eq!(mount.fstat(&mut clock, fd).unwrap().size, 2 * PAGE);
    assert_eq!(mount.dirty_bytes(), Bytes::kib(8));
    mount.fs_mut().full = false;
    mount.fs_mut().refuse_page = Some(Errno::RoFs.into());
    assert_eq!(mount.ftruncate(&mut clock, fd, 10), Err(Errno::RoFs.into()));
    let cut = ["2 truncate to 10", "2 truncate to 10", "2 release 1", "2 page 0 0..10"];
    assert_eq!(mount.fs_mut().taken(), cut);
}

#[test]
fn a_deleted_file_releases_its_dirty_pages_and_is_not_written() {
    let (mut mount, mut clock, [two, three]) = with_files();
    mount.write(&mut clock, two, 0, &[1; 2 * PAGE_SIZE]).unwrap();
    mount.write(&mut clock, three, 0, &[1; 9]).unwrap();
    mount.unlink(&mut clock, "/two").unwrap();
    mount.fs_mut().taken();
    mount.close(&mut clock, two).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 release 0", "2 release 1", "2 evict"]);
    mount.sync(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["3 page 0 0..9", "3 inode", "sync"]);
    assert!(mount.fs().reserved.is_empty());
}

#[test]
fn a_dirty_inode_survives_dropped_caches() {
    let (mut mount, mut clock, files) = with_files();
    files.iter().for_each(|&fd| mount.close(&mut clock, fd).unwrap());
    mount.chmod(&mut clock, "/three", 0o600).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 evict"]);
    mount.sync(&mut clock).unwrap();
    mount.drop_caches(&mut clock).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["3 inode", "sync", "3 evict"]);
}

#[test]
fn a_synchronous_write_makes_its_own_pages_and_the_inode_durable() {
    let (mut mount, mut clock) = mounted(Options::default());
    let sync = OpenFlags { sync: true };
    let fd = mount.create(&mut clock, "/two", 0o644).unwrap();
    let synchronous = mount.open_with(&mut clock, "/two", sync).unwrap();
    mount.write(&mut clock, fd, 2 * PAGE, &[1; 2 * PAGE_SIZE]).unwrap();
    mount.write(&mut clock, fd, 0, &[1; 5]).unwrap();
    mount.fs_mut().taken();
    assert_eq!(mount.write(&mut clock, synchronous, PAGE, &[1; PAGE_SIZE + 1]), Ok(4_097));
    let durable = ["2 page 1 0..4096", "2 page 2 0..4096", "2 inode", "2 fsync"];
    assert_eq!(mount.fs_mut().taken()[5..], durable);
    assert_eq!(mount.dirty_bytes(), Bytes::kib(8));
    let other = mount.create_with(&mut clock, "/three", 0o644, sync).unwrap();
    mount.write(&mut clock, other, 0, &[1; 5]).unwrap();
    assert_eq!(mount.fs_mut().taken()[3..], ["3 page 0 0..5", "3 inode", "3 fsync"]);
    mount.fs_mut().refuse_page = Some(Errno::NoSpc.into());
    assert_eq!(mount.write(&mut clock, other, 0, &[1; 5]), Err(Errno::NoSpc.into()));
}

#[test]
fn a_file_without_a_name_goes_when_it_is_closed_unless_it_got_one() {
    let (mut mount, mut clock) = mounted(Options::default());
    mount.fs_mut().refusals = 1;
    let fd = mount.tmpfile(&mut clock, "/", 0o600).unwrap();
    assert_eq!(mount.fstat(&mut clock, fd).unwrap().links, 0);
    mount.write(&mut clock, fd, 0, &[1; 5]).unwrap();
    mount.fs_mut().taken();
    mount.close(&mut clock, fd).unwrap();
    assert_eq!(mount.fs_mut().taken(), ["2 release 0", "2 evict"]);

    let fd = mount.tmpfile(&mut clock, "/", 0o600).unwrap();
    mount.link_open(&mut clock, fd, "/named").unwrap();
    mount.close(&mut clock, fd).unwrap();
    assert_eq!(mount.stat(&mut clock, "/named").unwrap().links, 1);
    let fd = mount.open(&mut clock, "/named").unwrap();
    mount.unlink(&mut clock, "/named").unwrap();
    assert_eq!(mount.link_open(&mut clock, fd, "/again"), Err(Errno::NoEnt.into()));
    let file = mount.create(&mut clock, "/file", 0o644).unwrap();
    assert_eq!(mount.tmpfile(&mut clock, "/file", 0o600), Err(Errno::NotDir.into()));
    assert_eq!(mount.link_open(&mut clock, file, "/file"), Err(Errno::Exist.into()));
    let (mut plain, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
    assert_eq!(plain.tmpfile(&mut clock, "/", 0o600), Err(Errno::OpNotSupp.into()));
}

#[test]
fn pages_that_were_read_besides_are_kept_if_there_is_room() {
    let mut content = Vec::new();
    (1..=6).for_each(|page| content.extend([page; PAGE_SIZE]));
    for (room, reads) in [(8, vec!["2 read 0"]), (2, vec!["2 read 0", "2 read 2", "2 read 4"])] {
        let (mut mount, mut clock) = mounted(Options::with_cache(Bytes::kib(4 * room)));
        let fd = mount.create(&mut clock, "/two", 0o644).unwrap();
        mount.write(&mut clock, fd, 0, &content).unwrap();
        mount.sync(&mut clock).unwrap();
        mount.drop_caches(&mut clock).unwrap();
        mount.fs_mut().taken();
        mount.fs_mut().bulk = 5;
        let mut read = vec![0; content.len()];
        mount.read(&mut clock, fd, 0, &mut read).unwrap();
        assert_eq!(
            (mount.fs_mut().taken(), read == content),
            (reads.into_iter().map(String::from).collect(), true)
        );
    }
}

/// One of each call that only a write-back filesystem gets.
fn use_everything<F: FileSystem>(mount: &mut Mount<F>, clock: &mut Clock) {
    let fd = mount.create(clock, "/two", 0o644).unwrap();
    mount.write(clock, fd, 0, &[1; 3 * PAGE_SIZE]).unwrap();
    mount.ftruncate(clock, fd, PAGE + 10).unwrap();
    mount.sync(clock).unwrap();
    mount.drop_caches(clock).unwrap();
    mount.write(clock, fd, 5, &[1; 5]).unwrap();
    mount.sync(clock).unwrap();
    mount.drop_caches(clock).unwrap();
    mount.read(clock, fd, 0, &mut [0; 2 * PAGE_SIZE]).unwrap();
    let hidden = mount.tmpfile(clock, "/", 0o600).unwrap();
    mount.close(clock, hidden).unwrap();
}

#[test]
fn a_borrowed_filesystem_is_asked_the_same() {
    let (mut mount, mut clock) = mounted(Options::default());
    mount.fs_mut().bulk = 1;
    use_everything(&mut mount, &mut clock);
    let mut lent = Toy::new();
    lent.bulk = 1;
    use_everything(&mut Mount::new(&mut lent), &mut Clock::new());
    assert_eq!((lent.log.len(), lent.taken()), (22, mount.fs_mut().taken()));
}
