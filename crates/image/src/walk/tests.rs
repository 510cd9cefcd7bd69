//! Walks over what is right and over what no program could have made.

use super::*;
use boardlab_vfs::{Caching, Errno, MemoryFs, NewInode, SetAttr, StatFs, Timestamp};
use std::collections::BTreeMap;
use std::ops::Range;

/// Directories with any entries; an inode without a directory is a file of five
/// bytes. The inode 99 is damaged, and so is the content of the file 98.
#[derive(Debug, Default)]
pub(crate) struct Hostile {
    directories: BTreeMap<u64, Vec<Name>>,
}

/// A name, and the inode that it leads to.
type Name = (&'static [u8], u64);

impl Hostile {
    pub(crate) fn with(directories: &[(u64, &[Name])]) -> Self {
        let directories = directories.iter().map(|(ino, entries)| (*ino, entries.to_vec()));
        Self { directories: directories.collect() }
    }
}

type Answer<T> = Result<T, FsError>;

const REFUSED: FsError = FsError::Refused(Errno::RoFs);

impl FileSystem for Hostile {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }
    fn root(&self) -> Ino {
        Ino(1)
    }
    fn lookup(&mut self, _: &mut Clock, dir: Ino, name: &[u8]) -> Answer<Ino> {
        let entries = self.directories.get(&dir.0).ok_or(FsError::Refused(Errno::NotDir))?;
        let found = entries.iter().find(|(found, _)| *found == name);
        found.map(|(_, ino)| Ino(*ino)).ok_or(FsError::Refused(Errno::NoEnt))
    }
    fn getattr(&mut self, _: &mut Clock, ino: Ino) -> Answer<Attributes> {
        if ino.0 == 99 {
            return Err(FsError::Refused(Errno::Io));
        }
        let directory = self.directories.contains_key(&ino.0);
        let kind = if directory { Kind::Directory } else { Kind::File };
        let time = Timestamp::default();
        Ok(Attributes {
            ino,
            kind,
            mode: 0o755,
            links: 1,
            uid: 0,
            gid: 0,
            size: 5,
            accessed: time,
            modified: time,
            changed: time,
        })
    }
    fn readdir(&mut self, _: &mut Clock, dir: Ino) -> Answer<Vec<Entry>> {
        let entries = self.directories.get(&dir.0).ok_or(FsError::Refused(Errno::NotDir))?;
        let entry = |(name, ino): &(&[u8], u64)| {
            let directory = self.directories.contains_key(ino);
            let kind = if directory { Kind::Directory } else { Kind::File }.dirent_type();
            Entry { name: name.to_vec(), ino: Ino(*ino), kind }
        };
        Ok(entries.iter().map(entry).collect())
    }
    fn setattr(&mut self, _: &mut Clock, _: Ino, _: &SetAttr) -> Answer<()> {
        Err(REFUSED)
    }
    fn create(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: &NewInode<'_>) -> Answer<Ino> {
        Err(REFUSED)
    }
    fn link(&mut self, _: &mut Clock, _: Ino, _: Ino, _: &[u8]) -> Answer<()> {
        Err(REFUSED)
    }
    fn unlink(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Answer<()> {
        Err(REFUSED)
    }
    fn rmdir(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Answer<()> {
        Err(REFUSED)
    }
    fn rename(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: Ino, _: &[u8]) -> Answer<()> {
        Err(REFUSED)
    }
    fn readlink(&mut self, _: &mut Clock, _: Ino) -> Answer<Vec<u8>> {
        Err(REFUSED)
    }
    fn read_page(&mut self, _: &mut Clock, ino: Ino, _: u64, page: &mut [u8]) -> Answer<()> {
        page.fill(b'x');
        if ino.0 == 98 { Err(FsError::Refused(Errno::Io)) } else { Ok(()) }
    }
    fn write_page(
        &mut self,
        _: &mut Clock,
        _: Ino,
        _: u64,
        _: &[u8],
        _: Range<usize>,
    ) -> Answer<()> {
        Err(REFUSED)
    }
    fn getxattr(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Answer<Vec<u8>> {
        Err(REFUSED)
    }
    fn setxattr(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: Option<&[u8]>) -> Answer<()> {
        Err(REFUSED)
    }
    fn listxattr(&mut self, _: &mut Clock, _: Ino) -> Answer<Vec<Vec<u8>>> {
        Err(REFUSED)
    }
    fn fsync(&mut self, _: &mut Clock, _: Ino) -> Answer<()> {
        Err(REFUSED)
    }
    fn sync(&mut self, _: &mut Clock) -> Answer<()> {
        Err(REFUSED)
    }
    fn evict_inode(&mut self, _: &mut Clock, _: Ino) -> Answer<()> {
        Ok(())
    }
    fn background(&mut self, _: &mut Clock) -> Answer<bool> {
        Ok(false)
    }
    fn statfs(&mut self, _: &mut Clock) -> Answer<StatFs> {
        Err(REFUSED)
    }
    fn unmount(&mut self, _: &mut Clock) -> Answer<()> {
        Ok(())
    }
}

fn walked(fs: &mut dyn FileSystem, path: &str) -> Vec<Item> {
    let mut clock = Clock::new();
    let (path, start) = resolve(fs, &mut clock, path.as_bytes()).unwrap();
    let mut walk = Walk::new(&path, start);
    std::iter::from_fn(|| walk.next(fs, &mut clock)).collect()
}

fn told(items: &[Item]) -> Vec<(String, Option<Problem>)> {
    let told = |item: &Item| (String::from_utf8(item.path.clone()).unwrap(), item.problem.clone());
    items.iter().map(told).collect()
}

#[test]
fn every_name_is_visited_in_order_with_where_links_lead() {
    let (mut fs, mut clock) = (MemoryFs::new(), Clock::new());
    let root = fs.root();
    let dir = fs.create(&mut clock, root, b"dir", &NewInode::of(Kind::Directory, 0o755)).unwrap();
    let file = fs.create(&mut clock, dir, b"b", &NewInode::of(Kind::File, 0o600)).unwrap();
    fs.link(&mut clock, file, dir, b"a").unwrap();
    fs.create(&mut clock, root, b"dir.d", &NewInode::of(Kind::Fifo, 0o600)).unwrap();
    let link = NewInode { target: b"../x", ..NewInode::of(Kind::Symlink, 0o777) };
    fs.create(&mut clock, root, b"link", &link).unwrap();
    let items = walked(&mut fs, "/");
    let paths: Vec<_> = told(&items).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/", "/dir", "/dir/a", "/dir/b", "/dir.d", "/link"]);
    assert_eq!((items[2].ino, &items[5].target[..]), (items[3].ino, &b"../x"[..]));
    for path in ["dir/b", "/dir/b", "./dir//b", "dir/../dir.d/../../dir/b"] {
        assert_eq!(told(&walked(&mut fs, path)), [("/dir/b".to_owned(), None)], "{path}");
    }
    let missing = resolve(&mut fs, &mut clock, b"dir/c/d").unwrap_err();
    assert_eq!(missing.to_string(), "`/dir/c`: no such file or directory (ENOENT)");
}

#[test]
fn a_directory_within_itself_is_entered_once() {
    let mut fs = Hostile::with(&[(1, &[(b"a", 2), (b"self", 1)]), (2, &[(b"up", 1), (b"b", 3)])]);
    let again = Some(Problem::Again);
    let expected =
        [("/", None), ("/a", None), ("/a/b", None), ("/a/up", again.clone()), ("/self", again)];
    assert_eq!(
        told(&walked(&mut fs, "/")),
        expected.map(|(path, problem)| (path.to_owned(), problem))
    );
}

#[test]
fn names_that_no_program_could_have_made_are_told() {
    let names: &[(&[u8], u64)] =
        &[(b"", 2), (b".", 3), (b"..", 4), (b"a/b", 5), (b"n\0l", 6), (b"good", 7), (b"...", 8)];
    let items = walked(&mut Hostile::with(&[(1, names)]), "/");
    let bad = items.iter().filter(|item| item.problem == Some(Problem::Name)).count();
    assert_eq!((items.len(), bad), (8, 5));
}

#[test]
fn what_is_damaged_is_told_and_the_rest_is_visited() {
    let mut fs = Hostile::with(&[(1, &[(b"a", 99), (b"b", 2)])]);
    let items = walked(&mut fs, "/");
    let damaged = Problem::Damaged(FsError::Refused(Errno::Io));
    assert_eq!((&items[1].problem, items[1].attributes), (&Some(damaged), None));
    assert_eq!(items[2].path, b"/b");
}

#[test]
fn a_directory_beyond_any_path_is_not_entered() {
    const NAME: &[u8] = &[b'x'; 250];
    let chain = (1..40).map(|ino| (ino, vec![(NAME, ino + 1)]));
    let mut fs = Hostile { directories: chain.collect() };
    let items = walked(&mut fs, "/");
    assert_eq!(items.len(), 18);
    assert_eq!(items[17].problem, Some(Problem::TooDeep { names: 22 }));
}
