//! Images made node by node, mounted and checked.

use super::*;
use crate::{Options, Ubifs};
use boardlab_vfs::script::content;
use boardlab_vfs::{FileSystem, Mount};

const FORMAT: Format = Format {
    leb_size: 126_976,
    min_io: 2_048,
    max_lebs: 200,
    compression: Compression::Only(Compressor::Lzo),
    fix_up: false,
    seed: Seed::new(1),
};

const PLAIN: Inode<'_> = Inode {
    kind: Kind::File,
    mode: 0o644,
    uid: 1_000,
    gid: 100,
    links: 1,
    size: 0,
    accessed: Timestamp::seconds(1),
    modified: Timestamp::seconds(2),
    changed: Timestamp::seconds(3),
    target: &[],
    attributes: &[],
};

fn file(builder: &mut Builder, dir: u32, name: &[u8], content: &[u8]) -> u32 {
    let ino = builder.next_ino().unwrap();
    for (block, piece) in (0..).zip(content.chunks(BLOCK_SIZE)) {
        builder.block(ino, block, piece).unwrap();
    }
    builder.inode(ino, &Inode { size: length(content), ..PLAIN }).unwrap();
    builder.entry(dir, name, (ino, Kind::File)).unwrap();
    ino
}

fn directory(builder: &mut Builder, ino: u32) {
    builder.inode(ino, &Inode { kind: Kind::Directory, mode: 0o755, ..PLAIN }).unwrap();
}

/// An image with `count` files of rising length in a folder.
fn with_files(format: Format, count: u64) -> Result<Image, MkfsError> {
    let mut builder = Builder::new(format)?;
    let (root, dir) = (builder.root(), builder.next_ino()?);
    for number in 0..count {
        let bytes = content(usize::try_from(number * 211 % 40_000).unwrap(), number);
        file(&mut builder, dir, format!("file{number}").as_bytes(), &bytes);
    }
    directory(&mut builder, dir);
    builder.entry(root, b"dir", (dir, Kind::Directory)).unwrap();
    directory(&mut builder, root);
    builder.finish()
}

fn shape(format: &Format, lebs: u32) -> Shape {
    let Format { leb_size, min_io, .. } = *format;
    Shape {
        leb_count: lebs,
        leb_size,
        leb_start: 0,
        min_io: min_io.max(8),
        max_write: min_io.max(8),
    }
}

/// Mounts an image on a volume of `lebs` LEBs for reading and for writing, with all checks.
fn check(format: &Format, image: &Image, lebs: u32) -> Mount<Ubifs<RamLebs>> {
    let mut clock = Clock::new();
    let fresh = || RamLebs::with_image(shape(format, lebs), &image.bytes);
    let read_only = Options { read_only: true, ..Options::default() };
    let mut fs = Ubifs::mount(&mut clock, fresh(), read_only).unwrap_or_else(|e| panic!("{e}"));
    fs.check_all(&mut clock).unwrap_or_else(|error| panic!("{error}"));
    let checked = Options { checks: crate::Checks::ALL, ..Options::default() };
    let mut fs = Ubifs::mount(&mut clock, fresh(), checked).unwrap_or_else(|e| panic!("{e}"));
    fs.check_all(&mut clock).unwrap_or_else(|error| panic!("{error}"));
    Mount::new(fs)
}

fn read(mount: &mut Mount<Ubifs<RamLebs>>, path: &str) -> Vec<u8> {
    let clock = &mut Clock::new();
    let fd = mount.open(clock, path).unwrap();
    let mut bytes = vec![0; 1 << 20];
    let length = mount.read(clock, fd, 0, &mut bytes).unwrap();
    bytes.truncate(length);
    mount.close(clock, fd).unwrap();
    bytes
}

#[test]
fn an_image_of_any_shape_passes_all_checks_and_can_be_written_on() {
    let nor = Format { leb_size: 65_408, min_io: 1, ..FORMAT };
    let small = Format { leb_size: 15_872, min_io: 512, max_lebs: 400, ..FORMAT };
    let large = Format { leb_size: 15_872, min_io: 512, max_lebs: 20_000, ..FORMAT };
    for format in [FORMAT, nor, small, large] {
        let image = with_files(format, 120).unwrap();
        for lebs in [image.volume_lebs, image.volume_lebs + 13, format.max_lebs] {
            let (mut mount, mut clock) = (check(&format, &image, lebs), Clock::new());
            assert_eq!(read(&mut mount, "/dir/file119"), content(119 * 211, 119));
            if lebs == image.leb_count {
                continue;
            }
            let fd = mount.create(&mut clock, "/more", 0o600).unwrap();
            mount.write(&mut clock, fd, 0, b"more").unwrap();
            mount.close(&mut clock, fd).unwrap();
            mount.unlink(&mut clock, "/dir/file7").unwrap();
            mount.unmount(&mut clock).unwrap();
            let again = mount.into_fs().into_lebs();
            let mut fs = Ubifs::mount(&mut clock, again, Options::default()).unwrap();
            fs.check_all(&mut clock).unwrap();
        }
    }
}

#[test]
fn inodes_have_what_they_were_given() {
    let attributes =
        vec![(b"user.a".to_vec(), b"1".to_vec()), (b"trusted.b".to_vec(), vec![7; 900])];
    let mut builder = Builder::new(FORMAT).unwrap();
    let root = builder.root();
    let holey = [vec![0; 9_000], b"end".to_vec()].concat();
    let ino = file(&mut builder, root, b"holes", &holey);
    let device = Kind::Block(boardlab_vfs::Device { major: 300, minor: 70_000 });
    let special = [
        (&b"link"[..], Inode { kind: Kind::Symlink, mode: 0o777, target: b"a/b", ..PLAIN }),
        (b"disk", Inode { kind: device, ..PLAIN }),
        (b"pipe", Inode { kind: Kind::Fifo, ..PLAIN }),
        (b"socket", Inode { kind: Kind::Socket, ..PLAIN }),
        (b"noted", Inode { attributes: &attributes, links: 2, ..PLAIN }),
    ];
    for (name, inode) in &special {
        let ino = builder.next_ino().unwrap();
        builder.inode(ino, inode).unwrap();
        builder.entry(root, name, (ino, inode.kind)).unwrap();
        if inode.links == 2 {
            builder.entry(root, b"again", (ino, inode.kind)).unwrap();
        }
    }
    directory(&mut builder, root);
    let image = builder.finish().unwrap();
    let (mut mount, mut clock) = (check(&FORMAT, &image, 200), Clock::new());
    assert_eq!(read(&mut mount, "/holes"), holey);
    let stat = mount.lstat(&mut clock, "/disk").unwrap();
    assert_eq!((stat.kind, stat.uid, stat.gid, stat.mode), (device, 1_000, 100, 0o644));
    let times = [stat.accessed, stat.modified, stat.changed].map(|time| time.seconds);
    assert_eq!(times, [1, 2, 3]);
    assert_eq!(mount.readlink(&mut clock, "/link").unwrap(), b"a/b");
    let noted = mount.lstat(&mut clock, "/again").unwrap();
    assert_eq!((noted.links, noted.ino.0 > u64::from(ino)), (2, true));
    let value = mount.into_fs().getxattr(&mut clock, noted.ino, b"trusted.b").unwrap();
    assert_eq!(value, [7; 900]);
}

#[test]
fn content_and_names_are_younger_than_their_inode() {
    let image = with_files(FORMAT, 120).unwrap().bytes;
    let (mut created, mut content) = (BTreeMap::new(), Vec::new());
    // Behind the superblock, whose padding is not a node of the index.
    for at in (126_976..image.len() - 160).step_by(8) {
        let Ok(header) = crate::format::Header::parse(&image[at..]) else { continue };
        let node = &image[at..];
        if let Ok(inode) = InodeNode::parse(node) {
            created.insert(inode.key.ino(), inode.creat_sqnum);
        } else if let Ok(data) = Data::parse(node) {
            content.push((data.key.ino(), header.sqnum));
        } else if let Ok(entry) = Dirent::parse(node) {
            content.push((entry.key.ino(), header.sqnum));
        }
    }
    assert!(content.len() > 100);
    assert!(content.iter().all(|(ino, sqnum)| created[ino] < *sqnum));
}

#[test]
fn names_with_the_same_hash_are_all_found() {
    // r5 is linear in its bytes: a letter up and eleven times that down in the next one.
    let pairs = (0..6_u8).map(|step| [b'z' - step, b'!' + 11 * step]);
    let names: Vec<Vec<u8>> = pairs.map(|pair| pair.to_vec()).collect();
    let hashes: std::collections::BTreeSet<u32> = names.iter().map(|name| r5(name)).collect();
    let mut builder = Builder::new(FORMAT).unwrap();
    let root = builder.root();
    for name in &names {
        file(&mut builder, root, name, name);
    }
    directory(&mut builder, root);
    let image = builder.finish().unwrap();
    let mut mount = check(&FORMAT, &image, 200);
    for name in &names {
        let path = format!("/{}", std::str::from_utf8(name).unwrap());
        assert_eq!(read(&mut mount, &path), *name);
    }
    assert!(hashes.len() < names.len(), "{hashes:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_what_it_needs() {
    let small = Format { max_lebs: 17, ..FORMAT };
    let Err(MkfsError::NoSpace { needed, max: 17 }) = with_files(small, 400) else { panic!() };
    let enough = Format { max_lebs: needed, ..FORMAT };
    assert_eq!(with_files(enough, 400).unwrap().leb_count, needed);
    for wrong in [
        Format { max_lebs: 16, ..FORMAT },
        Format { max_lebs: u32::MAX, ..FORMAT },
        Format { leb_size: 8_192, ..FORMAT },
        Format { leb_size: 126_977, ..FORMAT },
        Format { min_io: 3_000, ..FORMAT },
        Format { leb_size: 0, min_io: 0, max_lebs: 0, ..FORMAT },
    ] {
        let refused = Builder::new(wrong).unwrap_err();
        assert!(matches!(refused, MkfsError::Volume(MountError::Shape { .. })), "{refused:?}");
    }
}

#[test]
fn the_same_files_have_the_same_bytes_and_the_seed_decides_the_identity() {
    let image = with_files(FORMAT, 30).unwrap();
    assert_eq!(with_files(FORMAT, 30).unwrap(), image);
    let other = with_files(Format { seed: Seed::new(2), ..FORMAT }, 30).unwrap();
    let differ = image.bytes.iter().zip(&other.bytes).filter(|(one, other)| one != other).count();
    assert!((1..=20).contains(&differ), "16 bytes and a checksum, not {differ}");
}

#[test]
fn every_compression_is_read_again_and_zlib_is_favoured_where_it_is_much_better() {
    let size = |compression| {
        let format = Format { compression, fix_up: true, ..FORMAT };
        let image = with_files(format, 200).unwrap();
        let mut mount = check(&format, &image, 200);
        assert_eq!(read(&mut mount, "/dir/file150"), content(150 * 211, 150));
        image.bytes.len()
    };
    let [none, lzo, zlib, _] =
        [Compressor::None, Compressor::Lzo, Compressor::Zlib, Compressor::Zstd]
            .map(|one| size(Compression::Only(one)));
    assert!(zlib <= lzo && lzo <= none, "{none} {lzo} {zlib}");
    let favoured = size(Compression::FavorLzo);
    assert!((zlib..=lzo).contains(&favoured), "{favoured}");
}

#[test]
fn attributes_beyond_the_limits_are_not_taken() {
    let builder = Builder::new(FORMAT).unwrap();
    let some = vec![(b"user.a".to_vec(), Vec::new())];
    assert!(builder.takes_attribute(&some, b"user.b", &[0; 4_096]));
    assert!(!builder.takes_attribute(&some, b"user.b", &[0; 4_097]));
    assert!(!builder.takes_attribute(&some, b"system.posix_acl_access", b"x"));
    assert!(!builder.takes_attribute(&vec![some[0].clone(); 396], b"user.b", b"x"));
}
