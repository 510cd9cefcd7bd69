//! How much memory an image takes to be listed and read: at most 1.2 times its size.
#![allow(clippy::unwrap_used, reason = "tests")]

mod rootfs;

use boardlab_image::{Contents, Hints, Walk, open};
use boardlab_vfs::{FileSystem, Kind, PAGE_SIZE};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn listing_and_reading_an_image_takes_less_memory_than_it_has_bytes() {
    let Some(path) = rootfs::image() else {
        eprintln!("skipped: needs mkfs.jffs2");
        return;
    };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let contents = Contents::open(&path).unwrap();
    let mut image = open(&contents, &Hints::default()).unwrap();
    let mounted = MEMORY.peak_usage() - before;
    let (start, mut files, mut bytes) = (image.fs.root(), 0, 0);
    let (mut walk, mut page) = (Walk::new(b"/", start), vec![0; PAGE_SIZE]);
    while let Some(item) = walk.next(&mut image.fs, &mut image.clock) {
        let attributes = item.attributes.unwrap();
        if attributes.kind == Kind::File {
            files += 1;
            bytes += attributes.size;
            for number in 0..attributes.size.div_ceil(PAGE_SIZE as u64) {
                image.fs.read_page(&mut image.clock, item.ino, number, &mut page).unwrap();
            }
        }
        image.fs.evict_inode(&mut image.clock, item.ino).unwrap();
    }
    let (peak, length) = (MEMORY.peak_usage() - before, contents.length().to_usize());
    eprintln!(
        "{files} files, {bytes} bytes in an image of {length}: {mounted} to mount, {peak} in all"
    );
    assert!(files >= 3_000 && bytes > 1 << 24, "{files} files of {bytes} bytes");
    assert!(peak * 5 <= length * 6, "{peak} bytes of memory for an image of {length}");
}
