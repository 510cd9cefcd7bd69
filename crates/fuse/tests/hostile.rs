//! A filesystem of an image that somebody made to harm: its names, numbers and sizes reach no kernel.

use crate::script::server;
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Entry, Errno, Error, FileSystem, Ino, Kind, MemoryFs, NewInode, pass_on,
};

/// A filesystem that lies.
#[derive(Debug)]
struct Liar {
    fs: MemoryFs,
}

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

const NAMES: [&[u8]; 8] =
    [b"", b".", b"..", b"a/b", b"/", b"../../etc/passwd", b"a\0b", &[b'x'; 256]];

impl FileSystem for Liar {
    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        let mut entries = self.fs.readdir(clock, dir)?;
        entries.extend(NAMES.map(|name| Entry { name: name.to_vec(), ino: dir, kind: 8 }));
        Ok(entries)
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        match name {
            // A directory in itself, and the root in a directory.
            b"self" => Ok(dir),
            b"top" => Ok(self.fs.root()),
            _ => self.fs.lookup(clock, dir, name),
        }
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let attributes = self.fs.getattr(clock, ino)?;
        let size = if attributes.kind == Kind::File { u64::MAX } else { attributes.size };
        Ok(Attributes { size, ..attributes })
    }

    fn readlink(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<Vec<u8>, Error> {
        Ok(b"a\0b".to_vec())
    }

    fn listxattr(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![b"user.a".to_vec(), b"user.b\0c".to_vec(), Vec::new(), vec![b'x'; 256]])
    }

    pass_on! { inner:
        caching root setattr create link unlink rmdir rename read_page write_page getxattr setxattr fsync sync
        evict_inode background statfs unmount
    }
}

#[test]
fn names_that_no_file_can_have_are_left_out_and_told() {
    let mut server = server(Liar { fs: MemoryFs::new() });
    server.create(1, b"good", &NewInode::of(Kind::Directory, 0o755)).unwrap();
    let handle = server.opendir(1).unwrap();
    let names: Vec<_> =
        server.readdir(handle, 0).unwrap().iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, [b"good".to_vec()]);
    assert_eq!(server.take_notes(), ["8 names are left out of /"]);
    let dir = server.lookup(1, b"good").unwrap().node;
    let handle = server.opendir(dir).unwrap();
    assert_eq!(server.readdir(handle, 0), Ok(&[][..]));
    assert_eq!(server.take_notes(), ["8 names are left out of /good"]);
    server.readdir(handle, 0).unwrap();
    assert_eq!((server.take_notes().len(), server.left_out()), (0, 2));
    for name in NAMES {
        assert!(server.lookup(1, name).is_err(), "{name:?}");
    }
}

#[test]
fn sizes_links_and_directories_in_themselves_are_errors() {
    let mut server = server(Liar { fs: MemoryFs::new() });
    let file = NewInode::of(Kind::File, 0o644);
    assert_eq!(server.create(1, b"f", &file), Err(Errno::Overflow));
    assert_eq!(server.lookup(1, b"f"), Err(Errno::Overflow));
    let dir = server.create(1, b"d", &NewInode::of(Kind::Directory, 0o755)).unwrap().node;
    assert_eq!(server.lookup(dir, b"self"), Err(Errno::Loop));
    assert_eq!(server.lookup(dir, b"top"), Err(Errno::Loop));
    assert_eq!(server.lookup(1, b"self"), Err(Errno::Loop));
    assert_eq!(server.readlink(dir), Err(Errno::Inval));
    let link = NewInode { target: b"t", ..NewInode::of(Kind::Symlink, 0o777) };
    let link = server.create(1, b"l", &link).unwrap().node;
    assert_eq!(server.readlink(link), Err(Errno::Io));
    assert_eq!(server.listxattr(dir), Ok(vec![b"user.a".to_vec()]));
}
