//! Flashes that somebody forged: a mount that may write does what it can, and refuses nothing.

use boardlab_mtd::{Mtd, PageIndex, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, Kind, NewInode};
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::format::{ByteOrder, Extra, ObjectHeader, Tags, tags1};
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};

const ORDER: ByteOrder = ByteOrder::Little;
const TAGS1: TagsPlace = TagsPlace::Yaffs1(Layout1::Packed);
const TAGS2: TagsPlace = TagsPlace::Oob { ecc: false };

fn nand(tags: TagsPlace) -> (RamMtd, usize, usize) {
    let (page, spare) = if tags == TAGS1 { (512, 8) } else { (2_048, 16) };
    let flash = RamMtd::nand(40, 16, Bytes::new(page), Bytes::new(spare));
    (flash, usize::try_from(page).unwrap(), usize::try_from(spare).unwrap())
}

/// A flash with a directory that is not empty and a file; and then a header by which the file takes the place of
/// the object that `shadowed` names: the directory, or the root.
fn forged(options: &Options, root: bool) -> RamMtd {
    let (flash, page, spare) = nand(options.tags);
    let mut clock = Clock::new();
    let mut fs = Yaffs::mount(&mut clock, flash, options.clone()).unwrap();
    let (top, new) = (fs.root(), NewInode::of(Kind::File, 0o644));
    let dir = fs.create(&mut clock, top, b"dir", &NewInode::of(Kind::Directory, 0o755)).unwrap();
    fs.create(&mut clock, dir, b"inside", &new).unwrap();
    let file = fs.create(&mut clock, top, b"file", &new).unwrap();
    fs.sync(&mut clock).unwrap();
    let mut flash = fs.into_device();
    // Of the file, its newest header; behind the newest page, the next.
    let (mut data, mut oob) = (vec![0; page], vec![0; spare]);
    let (mut found, mut last) = (None, 0);
    for number in 0..40 * 16 {
        flash.read_page(&mut clock, PageIndex(number), &mut data, &mut oob).unwrap();
        let tags = match options.tags {
            TAGS1 => tags1::parse(&oob, ORDER, Layout1::Packed).0,
            _ => Tags::parse(&oob, ORDER),
        };
        let Some(tags) = tags else { continue };
        last = number;
        if u64::from(tags.object) == file.0 && tags.chunk == 0 {
            found = Some((tags, data.clone()));
        }
    }
    let (tags, mut data) = found.unwrap();
    let header = ObjectHeader::parse(&data, ORDER, false);
    // What is shadowed is in the same place under the same name.
    let shadows = if root { 1 } else { u32::try_from(dir.0).unwrap() };
    let header = ObjectHeader { shadows, name: b"dir".to_vec(), ..header };
    header.emit(&mut data, ORDER, true);
    let extra = tags.extra.map(|extra| Extra { shadows: true, ..extra });
    let tags = Tags { extra, serial: (tags.serial + 1) & 3, ..tags };
    let oob = match options.tags {
        TAGS1 => tags1::emit(&tags, ORDER, Layout1::Packed),
        _ => tags.emit(ORDER).to_vec(),
    };
    flash.program_oob(&mut clock, PageIndex(last + 1), &data, &oob).unwrap();
    flash
}

#[test]
fn a_header_that_shadows_what_cannot_be_removed_leaves_it() {
    for tags in [TAGS1, TAGS2] {
        for repaired in [false, true] {
            for root in [false, true] {
                let options = Options {
                    tags,
                    repaired,
                    write_checkpoint: false,
                    summary: false,
                    ..Options::default()
                };
                let flash = forged(&options, root);
                let mut clock = Clock::new();
                let mut fs = Yaffs::mount(&mut clock, flash, options)
                    .unwrap_or_else(|error| panic!("{tags:?} {repaired} {root}: {error}"));
                fs.check_tables().unwrap();
                let top = fs.root();
                assert!(fs.readdir(&mut clock, top).is_ok());
            }
        }
    }
}
