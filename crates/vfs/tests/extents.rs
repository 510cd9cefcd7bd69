//! The content of files as extents, where a filesystem reads page by page.

use boardlab_sim::Clock;
use boardlab_vfs::{
    Errno, Error, FileExtent, FileSystem, Ino, Kind, MemoryFs, NewInode, PAGE_SIZE, SetAttr,
};
use std::ops::ControlFlow;

/// A filesystem that cannot say where data are, and counts how often it was asked.
struct Lost {
    fs: MemoryFs,
    asked: u32,
}

macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl FileSystem for Lost {
    fn next_data(&mut self, _: &mut Clock, _: Ino, _: u64) -> Result<Option<u64>, Error> {
        self.asked += 1;
        Err(Errno::Io.into())
    }

    boardlab_vfs::pass_on! { inner:
        caching root lookup getattr setattr create link unlink rmdir rename readdir readlink read_page write_page
        getxattr setxattr listxattr fsync sync evict_inode background statfs unmount
    }
}

#[test]
fn a_terabyte_without_a_way_to_its_data_is_lost_as_a_whole() -> Result<(), Error> {
    let (mut fs, mut clock) = (Lost { fs: MemoryFs::new(), asked: 0 }, Clock::new());
    let clock = &mut clock;
    let root = fs.root();
    let file = fs.create(clock, root, b"f", &NewInode::of(Kind::File, 0o644))?;
    let content = [7; PAGE_SIZE];
    fs.write_page(clock, file, 5, &content, 0..PAGE_SIZE)?;
    let size = 1 << 40;
    fs.setattr(clock, file, &SetAttr { size: Some(size), ..SetAttr::default() })?;
    let mut extents = Vec::new();
    fs.read_extents(clock, file, &mut |extent: FileExtent<'_>| {
        extents.push((extent.offset, extent.length, extent.bytes.map(<[u8]>::to_vec).ok()));
        ControlFlow::Continue(())
    })?;
    // What is found before page by page is passed on.
    let page = PAGE_SIZE as u64;
    assert_eq!(extents[0], (5 * page, page, Some(content.to_vec())));
    let [(offset, length, None)] = extents[1..] else { panic!("{} extents", extents.len()) };
    assert_eq!(offset + length, size);
    assert!(offset >= 65_536 * page && fs.asked < 100_000, "{offset} after {}", fs.asked);
    Ok(())
}
