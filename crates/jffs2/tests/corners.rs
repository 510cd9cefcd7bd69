//! Single requests at the border of what is allowed, each as a kernel answers it.
use boardlab_jffs2::block::List;
use boardlab_jffs2::format::{ByteOrder, SummaryView, Trailer};
use boardlab_jffs2::volume::Reserves;
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{BlockIndex, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Device, Errno, Error, FileSystem, Kind, Mount};

fn nand() -> RamMtd {
    RamMtd::nand(32, 16, Bytes::new(2048), Bytes::new(64))
}

fn plain() -> Options {
    Options { summary: false, ..Options::default() }
}

fn mount<M: Mtd>(clock: &mut Clock, device: M) -> Mount<Jffs2<M>> {
    Mount::new(Jffs2::mount(clock, device, plain()).unwrap())
}

fn unmount<M: Mtd>(clock: &mut Clock, mut fs: Mount<Jffs2<M>>) -> M {
    fs.unmount(clock).unwrap();
    fs.into_fs().into_device()
}

fn refused<T>(errno: Errno) -> Result<T, Error> {
    Err(errno.into())
}

#[test]
fn a_name_of_254_bytes_is_the_longest_for_every_operation() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    let (fits, long) = (format!("/{}", "n".repeat(254)), format!("/{}", "n".repeat(255)));
    fs.mkdir(&mut clock, &fits, 0o755).unwrap();
    assert_eq!(fs.stat(&mut clock, &fits).unwrap().kind, Kind::Directory);
    assert_eq!(fs.stat(&mut clock, &long), refused(Errno::NameTooLong));
    assert_eq!(fs.create(&mut clock, &long, 0o644), refused(Errno::NameTooLong));
    assert_eq!(fs.unlink(&mut clock, &long), refused(Errno::NameTooLong));
    assert_eq!(fs.rmdir(&mut clock, &long), refused(Errno::NameTooLong));
    assert_eq!(fs.rename(&mut clock, &fits, &long), refused(Errno::NameTooLong));
    assert_eq!(fs.rename(&mut clock, &long, &fits), refused(Errno::NameTooLong));
    assert_eq!(fs.statfs(&mut clock).unwrap().name_max, 254);
}

#[test]
fn a_write_of_nothing_behind_the_end_changes_neither_size_nor_flash() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, RamMtd::nor(16, Bytes::kib(16)));
    let fd = fs.create(&mut clock, "/f", 0o644).unwrap();
    let before = fs.fs().device().image();
    assert_eq!(fs.write(&mut clock, fd, 5_000, b""), Ok(0));
    assert_eq!(fs.write(&mut clock, fd, u64::MAX, b""), Ok(0));
    assert_eq!(fs.fstat(&mut clock, fd).unwrap().size, 0);
    assert!(fs.fs().device().image() == before, "the flash was written");
}

#[test]
fn the_largest_file_has_one_byte_less_than_4_gib() {
    let (mut clock, end) = (Clock::new(), (1 << 32) - 1);
    let mut fs = mount(&mut clock, nand());
    let fd = fs.create(&mut clock, "/f", 0o644).unwrap();
    assert_eq!(fs.write(&mut clock, fd, end, b"x"), refused(Errno::FBig));
    assert_eq!(fs.write(&mut clock, fd, end - 2, b"end"), Ok(2));
    assert_eq!(fs.fstat(&mut clock, fd).unwrap().size, end);
    assert_eq!(fs.truncate(&mut clock, "/f", end + 1), refused(Errno::FBig));
    fs.close(&mut clock, fd).unwrap();
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    let fd = fs.open(&mut clock, "/f").unwrap();
    let mut tail = [7; 8];
    assert_eq!(fs.read(&mut clock, fd, end - 4, &mut tail), Ok(4));
    assert_eq!(&tail[..4], b"\0\0en");
}

#[test]
fn device_numbers_are_kept_in_both_widths_and_others_are_refused() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    let numbers = [(255, 255), (256, 0), (0, 256), (4_095, 0xF_FFFF)];
    for (number, (major, minor)) in numbers.into_iter().enumerate() {
        let kind = Kind::Character(Device { major, minor });
        fs.mknod(&mut clock, format!("/{number}"), kind, 0o600).unwrap();
    }
    for (major, minor) in [(4_096, 0), (0, 0x10_0000)] {
        let kind = Kind::Block(Device { major, minor });
        assert_eq!(fs.mknod(&mut clock, "/no", kind, 0o600), refused(Errno::Inval));
    }
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    for (number, (major, minor)) in numbers.into_iter().enumerate() {
        let kind = fs.stat(&mut clock, format!("/{number}")).unwrap().kind;
        assert_eq!(kind, Kind::Character(Device { major, minor }));
    }
}

#[test]
fn an_attribute_that_no_block_can_hold_is_refused_and_costs_no_space() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, RamMtd::nor(16, Bytes::kib(8)));
    let fd = fs.create(&mut clock, "/f", 0o644).unwrap();
    fs.close(&mut clock, fd).unwrap();
    let before = fs.statfs(&mut clock).unwrap();
    let image = fs.fs().device().image();
    for _ in 0..100 {
        let answer = fs.setxattr(&mut clock, "/f", "user.large", &[7; 9_000]);
        assert_eq!(answer, refused(Errno::NoSpc));
    }
    assert_eq!(fs.statfs(&mut clock).unwrap(), before);
    assert!(fs.fs().device().image() == image, "the flash was written");
    fs.fs().check_tables().unwrap();
}

/// A file and another with the same attribute, and the attributes of the first after `change` and a
/// mount.
fn attributes_after(change: impl Fn(&mut Mount<Jffs2<RamMtd>>, &mut Clock)) -> Vec<Vec<u8>> {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    for path in ["/f", "/g"] {
        let fd = fs.create(&mut clock, path, 0o644).unwrap();
        fs.close(&mut clock, fd).unwrap();
        fs.setxattr(&mut clock, path, "user.kept", b"first").unwrap();
    }
    fs.setxattr(&mut clock, "/f", "user.other", b"value").unwrap();
    change(&mut fs, &mut clock);
    let before = fs.listxattr(&mut clock, "/f").unwrap();
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    fs.fs_mut().check_all(&mut clock).unwrap();
    let after = fs.listxattr(&mut clock, "/f").unwrap();
    assert_eq!(after.len(), before.len(), "before {before:?}, after a mount {after:?}");
    after
}

#[test]
fn an_attribute_set_twice_to_one_value_stays_when_another_is_removed() {
    let names = attributes_after(|fs, clock| {
        fs.setxattr(clock, "/f", "user.kept", b"first").unwrap();
        fs.removexattr(clock, "/f", "user.other").unwrap();
    });
    assert_eq!(names, [b"user.kept"]);
}

#[test]
fn an_attribute_that_got_its_former_value_again_stays_when_another_is_removed() {
    let names = attributes_after(|fs, clock| {
        fs.setxattr(clock, "/f", "user.kept", b"second").unwrap();
        fs.setxattr(clock, "/f", "user.kept", b"first").unwrap();
        fs.removexattr(clock, "/f", "user.other").unwrap();
    });
    assert_eq!(names, [b"user.kept"]);
}

#[test]
fn an_attribute_that_got_its_former_value_again_is_gone_when_it_is_removed() {
    let names = attributes_after(|fs, clock| {
        for value in ["second", "first", "first", "second", "first"] {
            fs.setxattr(clock, "/f", "user.kept", value.as_bytes()).unwrap();
        }
        fs.removexattr(clock, "/f", "user.kept").unwrap();
    });
    assert_eq!(names, [b"user.other"]);
}

/// Makes the entry unreadable that removes `name`: the last entry of it on the flash.
fn tear_last_entry(device: &RamMtd, name: &[u8]) -> RamMtd {
    let mut image = device.image();
    let found = image.windows(name.len()).enumerate().filter(|(_, bytes)| *bytes == name);
    let last = found.map(|(at, _)| at).max().unwrap();
    image[last..last + name.len()].fill(0);
    with_image(&image)
}

/// A flash with these bytes.
fn with_image(image: &[u8]) -> RamMtd {
    let mut torn = nand();
    let page = 2_048;
    for (index, bytes) in image.chunks(page).enumerate() {
        if bytes.iter().any(|&byte| byte != 0xFF) {
            let at = Bytes::new(u64::try_from(index * page).unwrap());
            torn.program(&mut Clock::new(), at, bytes).unwrap();
        }
    }
    torn
}

/// A directory of which the power went when it had its new name and still the old one.
fn half_renamed(clock: &mut Clock) -> Mount<Jffs2<RamMtd>> {
    let mut fs = mount(clock, nand());
    for dir in ["/from", "/to", "/from/the-one-that-moves"] {
        fs.mkdir(clock, dir, 0o755).unwrap();
    }
    let fd = fs.create(clock, "/from/the-one-that-moves/file", 0o644).unwrap();
    fs.write(clock, fd, 0, b"content").unwrap();
    fs.close(clock, fd).unwrap();
    fs.sync(clock).unwrap();
    fs.rename(clock, "/from/the-one-that-moves", "/to/moved").unwrap();
    let device = tear_last_entry(&unmount(clock, fs), b"the-one-that-moves");
    let fs = mount(clock, device);
    assert!(fs.fs().findings().damaged_nodes > 0, "nothing was torn");
    fs
}

#[test]
fn what_a_cut_in_the_rename_of_a_directory_leaves_can_be_used_and_removed() {
    let mut clock = Clock::new();
    let mut fs = half_renamed(&mut clock);
    let old = "/from/the-one-that-moves";
    let there = fs.stat(&mut clock, old).is_ok();
    let other = fs.stat(&mut clock, "/to/moved").is_ok();
    assert!(there != other, "one of both names, and not none");
    let (lost, kept) = if there { ("/to/moved", old) } else { (old, "/to/moved") };
    assert_eq!(fs.stat(&mut clock, format!("{kept}/file")).unwrap().size, 7);
    fs.mkdir(&mut clock, lost, 0o700).unwrap();
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    assert_eq!(fs.stat(&mut clock, lost).unwrap().mode, 0o700);
    assert_eq!(fs.stat(&mut clock, format!("{kept}/file")).unwrap().size, 7);
}

#[test]
fn a_directory_that_lists_no_names_can_be_removed_after_a_cut() {
    let mut clock = Clock::new();
    let mut fs = half_renamed(&mut clock);
    let kept = if fs.stat(&mut clock, "/to/moved").is_ok() {
        "/to/moved"
    } else {
        "/from/the-one-that-moves"
    };
    let empty = if kept == "/to/moved" { "/from" } else { "/to" };
    assert_eq!(fs.readdir(&mut clock, empty).unwrap(), []);
    assert_eq!(fs.stat(&mut clock, empty).unwrap().links, 2);
    fs.rmdir(&mut clock, empty).unwrap();
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    assert_eq!(fs.stat(&mut clock, format!("{kept}/file")).unwrap().size, 7);
    let root = fs.fs().root();
    assert_eq!(fs.fs_mut().readdir(&mut clock, root).unwrap().len(), 1);
}

/// Makes all nodes of the inode unreadable that a name on the flash leads to; the last page is torn
/// so by a cut.
fn tear_inode(device: &RamMtd, ino: u64) -> RamMtd {
    let mut image = device.image();
    let number = u32::try_from(ino).unwrap().to_le_bytes();
    let is_node = |at: &usize| image[*at..*at + 4] == [0x85, 0x19, 0x02, 0xE0];
    let nodes = (0..image.len() - 16).step_by(4).filter(is_node);
    let torn: Vec<usize> = nodes.filter(|at| image[at + 12..at + 16] == number).collect();
    assert!(!torn.is_empty(), "the inode is on the flash");
    torn.into_iter().for_each(|at| image[at..at + 12].fill(0));
    with_image(&image)
}

/// The flash with all nodes of one inode damaged: those with data there, the others in their header.
fn tear_data(device: &RamMtd, ino: u64) -> RamMtd {
    let mut image = device.image();
    let number = u32::try_from(ino).unwrap().to_le_bytes();
    let is_node = |at: &usize| image[*at..*at + 4] == [0x85, 0x19, 0x02, 0xE0];
    let nodes = (0..image.len() - 80).step_by(4).filter(is_node);
    let torn: Vec<usize> = nodes.filter(|at| image[at + 12..at + 16] == number).collect();
    assert!(torn.len() > 1, "the inode and its data are on the flash");
    for at in torn {
        let has_data = image[at + 48..at + 52] != [0; 4];
        let damaged = if has_data { at + 68..at + 69 } else { at..at + 12 };
        image[damaged].iter_mut().for_each(|byte| *byte ^= 0x55);
    }
    with_image(&image)
}

/// A file of this content that is on the flash.
fn durable(clock: &mut Clock, fs: &mut Mount<Jffs2<RamMtd>>, path: &str, content: &[u8]) {
    let fd = fs.create(clock, path, 0o644).unwrap();
    fs.write(clock, fd, 0, content).unwrap();
    fs.close(clock, fd).unwrap();
    fs.sync(clock).unwrap();
}

/// Makes an empty file, renames it over `path`, and tears it. Gives the flash.
fn replaced_by_a_torn_file(clock: &mut Clock, mut fs: Mount<Jffs2<RamMtd>>, path: &str) -> RamMtd {
    let fd = fs.create(clock, "/new", 0o600).unwrap();
    let ino = fs.stat(clock, "/new").unwrap().ino;
    fs.close(clock, fd).unwrap();
    fs.rename(clock, "/new", path).unwrap();
    tear_inode(&unmount(clock, fs), ino.0)
}

#[test]
fn a_file_that_a_torn_one_was_to_replace_is_there() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    durable(&mut clock, &mut fs, "/file", b"durable");
    let mut device = replaced_by_a_torn_file(&mut clock, fs, "/file");
    for _ in 0..3 {
        let mut fs = mount(&mut clock, device);
        fs.fs().check_tables().unwrap();
        let found = fs.stat(&mut clock, "/file").unwrap();
        assert_eq!((found.mode, found.size, found.links), (0o644, 7, 1));
        let root = fs.fs().root();
        assert_eq!(fs.fs_mut().readdir(&mut clock, root).unwrap().len(), 1);
        device = unmount(&mut clock, fs);
    }
    let mut fs = mount(&mut clock, device);
    fs.unlink(&mut clock, "/file").unwrap();
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    assert_eq!(fs.stat(&mut clock, "/file"), refused(Errno::NoEnt));
}

/// Makes a file with content, renames it over `path` if there is one, and damages its data.
fn torn_data_at(clock: &mut Clock, mut fs: Mount<Jffs2<RamMtd>>, path: &str) -> RamMtd {
    let fd = fs.create(clock, "/new", 0o600).unwrap();
    fs.write(clock, fd, 0, b"never there").unwrap();
    let ino = fs.stat(clock, "/new").unwrap().ino;
    fs.close(clock, fd).unwrap();
    fs.rename(clock, "/new", path).unwrap();
    tear_data(&unmount(clock, fs), ino.0)
}

#[test]
fn a_file_of_which_a_cut_left_only_a_header_is_not_there() {
    let mut clock = Clock::new();
    let fs = mount(&mut clock, nand());
    let mut device = torn_data_at(&mut clock, fs, "/file");
    for _ in 0..2 {
        let mut fs = mount(&mut clock, device);
        fs.fs().check_tables().unwrap();
        assert_eq!(fs.stat(&mut clock, "/file"), refused(Errno::NoEnt));
        durable(&mut clock, &mut fs, "/file", b"again");
        assert_eq!(fs.stat(&mut clock, "/file").unwrap().size, 5);
        fs.unlink(&mut clock, "/file").unwrap();
        device = unmount(&mut clock, fs);
    }
}

#[test]
fn a_file_that_a_header_was_to_replace_is_there() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    durable(&mut clock, &mut fs, "/file", b"durable");
    let mut device = torn_data_at(&mut clock, fs, "/file");
    for _ in 0..3 {
        let mut fs = mount(&mut clock, device);
        fs.fs().check_tables().unwrap();
        assert_eq!(fs.stat(&mut clock, "/file").unwrap().size, 7);
        device = unmount(&mut clock, fs);
    }
}

#[test]
fn a_removed_name_stays_removed_when_a_torn_file_was_to_have_it() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    durable(&mut clock, &mut fs, "/file", b"durable");
    fs.link(&mut clock, "/file", "/other").unwrap();
    fs.unlink(&mut clock, "/file").unwrap();
    fs.sync(&mut clock).unwrap();
    let device = replaced_by_a_torn_file(&mut clock, fs, "/file");
    let mut fs = mount(&mut clock, device);
    fs.fs().check_tables().unwrap();
    assert_eq!(fs.stat(&mut clock, "/file"), refused(Errno::NoEnt));
    assert_eq!(fs.stat(&mut clock, "/other").unwrap().links, 1);
}

#[test]
fn a_number_that_only_a_name_leads_to_is_not_given_again() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    durable(&mut clock, &mut fs, "/file", b"durable");
    let device = replaced_by_a_torn_file(&mut clock, fs, "/file");
    let mut fs = mount(&mut clock, device);
    durable(&mut clock, &mut fs, "/other", b"something else");
    let device = unmount(&mut clock, fs);
    let mut fs = mount(&mut clock, device);
    assert_eq!(fs.stat(&mut clock, "/file").unwrap().size, 7);
    assert_eq!(fs.stat(&mut clock, "/other").unwrap().links, 1);
}

#[test]
fn a_block_is_written_on_after_a_mount_when_it_has_more_than_a_page_left() {
    for (pages, goes_on) in [(14, true), (15, false)] {
        let mut clock = Clock::new();
        let mut fs = mount(&mut clock, nand());
        for number in 0..pages {
            durable(&mut clock, &mut fs, &format!("/{number}"), b"");
        }
        let device = unmount(&mut clock, fs);
        let fs = mount(&mut clock, device);
        let blocks = fs.fs().volume().blocks();
        let used = |&block: &BlockIndex| blocks.block(block).space().used > 0;
        let written: Vec<BlockIndex> = (0..blocks.count()).map(BlockIndex).filter(used).collect();
        assert_eq!(written.len(), 1, "a page for each file");
        assert_eq!(blocks.block(written[0]).list() == List::None, goes_on, "{pages} pages");
    }
}

#[test]
fn the_reserves_are_those_of_a_flash_that_marks_nodes_or_not() {
    let nor = || RamMtd::nor(32, Bytes::kib(32));
    for (device, summary) in [(nand(), false), (nand(), true), (nor(), false), (nor(), true)] {
        let options = Options { summary, ..Options::default() };
        let fs = Jffs2::mount(&mut Clock::new(), device, options).unwrap();
        let volume = fs.volume();
        let expected = Reserves::of(volume.layout(), volume.marks_obsolete());
        assert_eq!(*volume.reserves(), expected, "summaries: {summary}");
    }
}

/// Bytes of the padding nodes in the first `length` bytes of a flash.
fn padding(image: &[u8], length: usize) -> u32 {
    let is_padding = |node: &&[u8]| node[..4] == [0x85, 0x19, 0x04, 0x20];
    let nodes = image[..length].windows(8).step_by(4).filter(is_padding);
    nodes.map(|node| u32::from_le_bytes(node[4..].try_into().unwrap())).sum()
}

#[test]
fn the_summary_of_a_block_tells_of_what_a_mount_found_in_it_and_in_no_other() {
    let mut clock = Clock::new();
    let mut fs = mount(&mut clock, nand());
    for number in 10..30 {
        durable(&mut clock, &mut fs, &format!("/{number}"), b"one page");
    }
    let device = unmount(&mut clock, fs);
    let before = device.image();
    let block = device.geometry().regions[0].size.to_usize();
    let is_partly_written = |block: &&[u8]| block[0] != 0xFF && block[block.len() - 1] == 0xFF;
    let start = before.chunks(block).position(|block| is_partly_written(&block)).unwrap() * block;
    let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { compression, ..Options::default() };
    let mut fs = Mount::new(Jffs2::mount(&mut clock, device, options.clone()).unwrap());
    durable(&mut clock, &mut fs, "/30", &[7; 60_000]);
    let device = unmount(&mut clock, fs);
    let image = &device.image()[start..start + block];
    let trailer = Trailer::parse(image, ByteOrder::Little).unwrap();
    let node = &image[usize::try_from(trailer.offset).unwrap()..];
    let summary = SummaryView::new(node, ByteOrder::Little).unwrap();
    assert_eq!(summary.padded(), padding(&before[start..], block));
    let fs = Jffs2::mount(&mut clock, device, options).unwrap();
    assert_eq!((fs.findings().summaries, fs.findings().wrong_summaries), (2, 0));
}

#[test]
fn what_is_left_of_a_page_is_zeros_behind_the_header_of_a_padding_node_that_fits() {
    for left in [0, 4, 8, 12, 16, 400] {
        let mut clock = Clock::new();
        let compression = Compression { mode: CompressionMode::None, ..Compression::default() };
        let options = Options { compression, ..plain() };
        let mut fs = Mount::new(Jffs2::mount(&mut clock, nand(), options).unwrap());
        // The node of the inode, its entry, and the head of a node with data.
        let before = 68 + 44 + 68;
        durable(&mut clock, &mut fs, "/f", &vec![7; 2_048 - before - left]);
        let device = unmount(&mut clock, fs);
        let image = device.image();
        let start = image.iter().position(|&byte| byte != 0xFF).unwrap();
        let tail = &image[start + 2_048 - left..start + 2_048];
        let (header, padded) = if left > 12 { (12, left) } else { (0, 0) };
        assert!(tail[header..].iter().all(|&byte| byte == 0), "{left} bytes left: {tail:?}");
        assert_eq!(padding(&image[start..], 2_048), u32::try_from(padded).unwrap());
        let mut fs = mount(&mut clock, device);
        assert_eq!(fs.fs().findings().strange_words, 0);
        let audit = fs.fs_mut().audit(&mut clock, |_, _| false).unwrap();
        assert_eq!(audit.places, []);
    }
}

#[test]
fn the_rest_of_the_page_in_which_an_image_ended_is_no_damage_and_an_erased_page_among_nodes_is() {
    for lost in [0, 2_048] {
        let mut clock = Clock::new();
        let mut fs = mount(&mut clock, nand());
        durable(&mut clock, &mut fs, "/f", &[7; 100]);
        let image = unmount(&mut clock, fs).image();
        let start = image.iter().position(|&byte| byte != 0xFF).unwrap();
        // As mkfs.jffs2 ends: without the padding up to the end of the page.
        let node = image[start..].windows(4).position(|bytes| bytes == [0x85, 0x19, 4, 0x20]);
        let mut page = image[start..start + 2_048].to_vec();
        page[node.unwrap()..].fill(0xFF);
        let mut device = nand();
        device.program(&mut clock, Bytes::ZERO, &page).unwrap();
        let mut fs = mount(&mut clock, device);
        for name in ["/g", "/h"] {
            durable(&mut clock, &mut fs, name, b"on the next page");
        }
        let mut image = unmount(&mut clock, fs).image();
        assert_eq!(image[2_048..2_050], [0x85, 0x19], "Linux goes on in the next page");
        image[2_048..2_048 + lost].fill(0xFF);
        let mut device = nand();
        device.program(&mut clock, Bytes::ZERO, &image).unwrap();
        let mut fs = mount(&mut clock, device);
        let audit = fs.fs_mut().audit(&mut clock, |_, _| false).unwrap();
        assert_eq!(audit.unknown_loss, lost > 0, "{:#?}", audit.places);
    }
}
