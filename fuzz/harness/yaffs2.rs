//! A YAFFS of unknown content: mounted, walked, read, and in one of two variants written, unmounted and mounted again.
//!
//! The first byte of an input is the layout, the second has the options, and then there is one page after the other,
//! each with its spare bytes. What is missing is erased.

use boardlab_mtd::{Mtd, PageIndex, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Error, FileSystem, Ino, Kind, NewInode, PAGE_SIZE, SetAttr};
use boardlab_yaffs2::format::ByteOrder;
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};
use std::collections::BTreeSet;

const BLOCKS: u32 = 24;
const PAGES: u32 = 8;

/// Where the tags are, the bytes of a page, and its spare bytes.
const LAYOUTS: [(TagsPlace, u32, u32); 5] = [
    (TagsPlace::Oob { ecc: false }, 1_024, 16),
    (TagsPlace::Oob { ecc: true }, 1_024, 28),
    (TagsPlace::InBand, 1_024, 0),
    (TagsPlace::Yaffs1(Layout1::Around), 512, 16),
    (TagsPlace::Yaffs1(Layout1::Packed), 512, 8),
];

/// Everything that is done with an input.
pub(crate) fn run(input: &[u8]) {
    let [layout, options, pages @ ..] = input else { return };
    let (tags, page, spare) = LAYOUTS[usize::from(*layout) % LAYOUTS.len()];
    let on = |bit: u8| options >> bit & 1 == 1;
    let writes = on(0);
    let options = Options {
        tags,
        byte_order: if on(1) { ByteOrder::Big } else { ByteOrder::Little },
        summary: on(2),
        read_checkpoint: on(3),
        repaired: on(4),
        lazy_load: on(5),
        read_only: !writes,
        empty_lost_and_found: writes && on(6),
        caches: if on(7) { 10 } else { 0 },
        ..Options::default()
    };
    let (bytes, free) = (Bytes::new(page.into()), Bytes::new(spare.max(2).into()));
    let (mut flash, mut clock) = (RamMtd::nand(BLOCKS, PAGES, bytes, free), Clock::new());
    let (page, spare) = (page as usize, spare as usize);
    let pages = pages.chunks_exact(page + spare).take((BLOCKS * PAGES) as usize);
    for (number, bytes) in (0..).zip(pages) {
        let (data, spare) = bytes.split_at(page);
        flash.program_oob(&mut clock, PageIndex(number), data, spare).expect("an erased page");
    }
    let Ok(mut fs) = Yaffs::mount(&mut clock, flash, options.clone()) else { return };
    fs.check_tables().expect("whatever was on the flash, the tables agree");
    look_at_all(&mut fs, &mut clock);
    if !writes {
        return;
    }
    let _ = change(&mut fs, &mut clock);
    fs.check_tables().expect("the tables agree after changes");
    if fs.unmount(&mut clock).is_ok() {
        let flash = fs.into_device();
        let mut fs = Yaffs::mount(&mut clock, flash, options).expect("what was mounted once");
        fs.check_tables().expect("the tables agree after another mount");
        look_at_all(&mut fs, &mut clock);
    }
}

/// Every name, and the first and last pages of every file.
fn look_at_all(fs: &mut Yaffs<RamMtd>, clock: &mut Clock) {
    let (mut left, mut seen, mut names) = (vec![fs.root()], BTreeSet::new(), 0);
    while let Some(dir) = left.pop() {
        assert!(seen.insert(dir), "a directory is in two");
        for entry in fs.readdir(clock, dir).unwrap_or_default() {
            names += 1;
            let Ok(ino) = fs.lookup(clock, dir, &entry.name) else { continue };
            let Ok(attributes) = fs.getattr(clock, ino) else { continue };
            match attributes.kind {
                Kind::Directory => left.push(ino),
                Kind::File => read(fs, clock, ino, attributes.size),
                Kind::Symlink => _ = fs.readlink(clock, ino),
                _ => {}
            }
            for name in fs.listxattr(clock, ino).unwrap_or_default() {
                let _ = fs.getxattr(clock, ino, &name);
            }
        }
    }
    assert!(names <= 2 * BLOCKS * PAGES, "{names} names");
}

fn read(fs: &mut Yaffs<RamMtd>, clock: &mut Clock, ino: Ino, size: u64) {
    let mut buffer = vec![0; PAGE_SIZE];
    let last = size / PAGE_SIZE as u64;
    for page in (0..=last.min(8)).chain(last.saturating_sub(2)..=last) {
        let _ = fs.read_page(clock, ino, page, &mut buffer);
    }
}

fn change(fs: &mut Yaffs<RamMtd>, clock: &mut Clock) -> Result<(), Error> {
    let root = fs.root();
    let entries = fs.readdir(clock, root)?;
    let new = NewInode::of(Kind::File, 0o644);
    let ino = fs.create(clock, root, b"new", &new)?;
    let content = [0x5A; PAGE_SIZE];
    fs.write_page(clock, ino, 3, &content, 100..PAGE_SIZE)?;
    fs.setxattr(clock, ino, b"user.new", Some(b"value"))?;
    for (at, entry) in entries.iter().enumerate() {
        let Ok(found) = fs.lookup(clock, root, &entry.name) else { continue };
        let _ = match at % 4 {
            0 => fs.unlink(clock, root, &entry.name),
            1 => fs.rename(clock, root, &entry.name, root, b"renamed"),
            2 => fs.setattr(clock, found, &SetAttr { size: Some(700), ..SetAttr::default() }),
            _ => fs.link(clock, found, root, b"linked"),
        };
    }
    fs.sync(clock)?;
    for _ in 0..4 {
        fs.background(clock)?;
    }
    Ok(())
}
