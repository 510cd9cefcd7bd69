//! Which nodes an operation writes, in which order, and what it makes dirty.
use super::*;
use crate::format::dirent::Dirent;
use crate::format::inode::InodeNode;
use crate::format::{Group, NodeType};
use crate::scan::ScannedNode;
use crate::test_volume::shape;
use crate::wbuf::DATA_HEAD;
use crate::{Options, Ubifs};
use boardlab_ubi::RamLebs;
use boardlab_vfs::{FileSystem, Kind, Mount};

type Mounted = Mount<Ubifs<RamLebs>>;

fn mounted() -> (Clock, Mounted) {
    let mut clock = Clock::new();
    let lebs = RamLebs::new(shape(200, 15_872));
    let fs = Ubifs::mount(&mut clock, lebs, Options::default()).unwrap();
    (clock, Mount::new(fs))
}

/// A node in one line: kind, place in the group, key, length, and what else matters.
fn line(node: &ScannedNode, bytes: &[u8]) -> String {
    let group = match node.group {
        Group::None => "alone",
        Group::In => "in",
        Group::Last => "last",
    };
    let more = match node.kind {
        NodeType::Inode => {
            let inode = InodeNode::parse(bytes).unwrap();
            format!(" links {} size {}", inode.nlink, inode.size)
        }
        NodeType::Dirent | NodeType::Xattr => {
            let entry = Dirent::parse(bytes).unwrap();
            format!(" {} -> {}", String::from_utf8_lossy(&entry.name), entry.inum)
        }
        NodeType::Data => format!(" block {}", node.key.low()),
        _ => String::new(),
    };
    format!("{:?} {} {} {}{more}", node.kind, node.key.ino(), node.len, group)
}

/// The nodes that an operation writes, in the order of their sequence numbers.
fn written(
    clock: &mut Clock,
    mount: &mut Mounted,
    operation: impl FnOnce(&mut Mounted, &mut Clock),
) -> Vec<String> {
    let before = mount.fs().volume.max_sqnum;
    operation(mount, clock);
    let volume = &mut mount.fs_mut().volume;
    let mut found = Vec::new();
    for head in [BASE_HEAD, DATA_HEAD] {
        volume.wbuf_sync(clock, head).unwrap();
        for leb in volume.heads[head].buds.clone() {
            let scanned = volume.scan(clock, leb, 0).unwrap();
            for node in scanned.nodes.iter().filter(|node| node.sqnum > before) {
                found.push((node.sqnum, line(node, scanned.node_bytes(node))));
            }
        }
    }
    found.sort();
    volume.compare_tables().unwrap();
    found.into_iter().map(|(_, line)| line).collect()
}

fn create(path: &'static str) -> impl FnOnce(&mut Mounted, &mut Clock) {
    move |mount, clock| {
        let fd = mount.create(clock, path, 0o644).unwrap();
        mount.close(clock, fd).unwrap();
    }
}

#[test]
fn a_new_file_is_its_entry_its_inode_and_the_directory() {
    let (mut clock, mut mount) = mounted();
    let nodes = written(&mut clock, &mut mount, create("/a"));
    assert_eq!(
        nodes,
        [
            "Dirent 1 58 in a -> 65",
            "Inode 65 160 in links 1 size 0",
            "Inode 1 160 last links 2 size 224",
        ]
    );
}

#[test]
fn a_directory_a_link_and_a_device_have_their_links_and_data() {
    let (mut clock, mut mount) = mounted();
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.mkdir(clock, "/d", 0o755).unwrap();
        mount.symlink(clock, "to/where", "/d/link").unwrap();
        let device = boardlab_vfs::Device { major: 4, minor: 300 };
        mount.mknod(clock, "/d/tty", Kind::Character(device), 0o600).unwrap();
    });
    assert_eq!(
        nodes,
        [
            "Dirent 1 58 in d -> 65",
            "Inode 65 160 in links 2 size 160",
            "Inode 1 160 last links 3 size 224",
            "Dirent 65 61 in link -> 66",
            "Inode 66 168 in links 1 size 8",
            "Inode 65 160 last links 2 size 224",
            "Dirent 65 60 in tty -> 67",
            "Inode 67 164 in links 1 size 4",
            "Inode 65 160 last links 2 size 288",
        ]
    );
    mount.drop_caches(&mut clock).unwrap();
    let stat = mount.stat(&mut clock, "/d/tty").unwrap();
    assert_eq!(stat.kind, Kind::Character(boardlab_vfs::Device { major: 4, minor: 300 }));
}

#[test]
fn a_removed_link_is_written_without_its_target() {
    let (mut clock, mut mount) = mounted();
    mount.symlink(&mut clock, "to/where", "/link").unwrap();
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.unlink(clock, "/link").unwrap();
    });
    // No commit came in between, so the deletion of the inode itself writes nothing.
    assert_eq!(
        nodes,
        [
            "Dirent 1 61 in link -> 0",
            "Inode 65 160 in links 0 size 8",
            "Inode 1 160 last links 2 size 160",
        ]
    );
}

#[test]
fn an_inode_deleted_after_a_commit_is_written_with_all_its_attributes() {
    let (mut clock, mut mount) = mounted();
    let fd = mount.create(&mut clock, "/a", 0o644).unwrap();
    mount.setxattr(&mut clock, "/a", "user.one", b"1").unwrap();
    mount.setxattr(&mut clock, "/a", "user.two", b"22").unwrap();
    mount.unlink(&mut clock, "/a").unwrap();
    mount.sync(&mut clock).unwrap();
    assert_eq!(mount.fs().volume.orphans.len(), 3);
    let mut nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.close(clock, fd).unwrap();
    });
    // The attributes come in the order of their hashes.
    assert_eq!(nodes.pop().as_deref(), Some("Inode 65 160 last links 0 size 0"));
    nodes.sort();
    assert_eq!(nodes, ["Inode 66 160 in links 0 size 1", "Inode 67 160 in links 0 size 2"]);
    assert_eq!(mount.fs().volume.orphans.len(), 0);
    let left: Vec<u32> = mount.fs().volume.inodes.keys().copied().collect();
    assert_eq!(left, [1]);
}

#[test]
fn a_rename_writes_the_replaced_inode_between_the_entries_and_the_directories() {
    let (mut clock, mut mount) = mounted();
    mount.mkdir(&mut clock, "/d", 0o755).unwrap();
    for path in ["/a", "/d/bb"] {
        create(path)(&mut mount, &mut clock);
    }
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.rename(clock, "/a", "/d/bb").unwrap();
    });
    assert_eq!(
        nodes,
        [
            "Dirent 65 59 in bb -> 66",
            "Dirent 1 58 in a -> 0",
            "Inode 67 160 in links 0 size 0",
            "Inode 1 160 in links 3 size 224",
            "Inode 65 160 last links 2 size 224",
        ]
    );
}

#[test]
fn a_directory_that_moves_takes_its_link_along() {
    let (mut clock, mut mount) = mounted();
    for path in ["/d", "/e"] {
        mount.mkdir(&mut clock, path, 0o755).unwrap();
    }
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.rename(clock, "/d", "/e/d").unwrap();
    });
    assert_eq!(
        nodes,
        [
            "Dirent 66 58 in d -> 65",
            "Dirent 1 58 in d -> 0",
            "Inode 1 160 in links 3 size 224",
            "Inode 66 160 last links 3 size 224",
        ]
    );
}

#[test]
fn the_inode_is_written_before_pages_beyond_its_size_on_flash() {
    let (mut clock, mut mount) = mounted();
    let fd = mount.create(&mut clock, "/a", 0o644).unwrap();
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.write(clock, fd, 0, &[0; 9_000]).unwrap();
        mount.fsync(clock, fd).unwrap();
    });
    // The inode is clean when its turn comes.
    let short: Vec<_> = nodes.iter().map(|node| node.split(' ').next().unwrap()).collect();
    assert_eq!(short, ["Inode", "Data", "Data", "Data"]);
    assert_eq!(nodes[0], "Inode 65 160 last links 1 size 9000");
    assert!(nodes[3].ends_with("alone block 2"), "{}", nodes[3]);
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        clock.advance(boardlab_sim::Duration::from_secs(5));
        mount.write(clock, fd, 0, &[1; 9_000]).unwrap();
        mount.fsync(clock, fd).unwrap();
    });
    let short: Vec<_> = nodes.iter().map(|node| node.split(' ').next().unwrap()).collect();
    // Now the size is on flash, and the inode is dirty because of its times only.
    assert_eq!(short, ["Data", "Data", "Data", "Inode"]);
}

#[test]
fn a_truncation_writes_the_block_in_which_the_file_ends() {
    let (mut clock, mut mount) = mounted();
    let fd = mount.create(&mut clock, "/a", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[7; 9_000]).unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.ftruncate(clock, fd, 4_196).unwrap();
    });
    assert_eq!(
        nodes,
        [
            "Inode 65 160 in links 1 size 4196",
            "Truncation 0 56 in",
            // 100 bytes are too few to be compressed.
            "Data 65 148 last block 1",
        ]
    );
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.ftruncate(clock, fd, 4_096).unwrap();
        mount.ftruncate(clock, fd, 0).unwrap();
    });
    assert_eq!(
        nodes,
        [
            "Inode 65 160 in links 1 size 4096",
            "Truncation 0 56 last",
            "Inode 65 160 in links 1 size 0",
            "Truncation 0 56 last",
        ]
    );
    let key = Key::data(65, 0);
    assert!(mount.fs_mut().volume.tnc_lookup(&mut clock, key).unwrap().is_none());
}

#[test]
fn a_truncation_of_a_dirty_page_writes_it_first() {
    let (mut clock, mut mount) = mounted();
    let fd = mount.create(&mut clock, "/a", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, &[7; 4_000]).unwrap();
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.ftruncate(clock, fd, 50).unwrap();
    });
    assert_eq!(
        nodes,
        ["Data 65 98 alone block 0", "Inode 65 160 in links 1 size 50", "Truncation 0 56 last",]
    );
}

#[test]
fn attributes_are_written_with_their_host() {
    let (mut clock, mut mount) = mounted();
    create("/a")(&mut mount, &mut clock);
    let mut set = |value: Option<&'static [u8]>| {
        written(&mut clock, &mut mount, |mount, clock| match value {
            Some(value) => mount.setxattr(clock, "/a", "user.name", value).unwrap(),
            None => mount.removexattr(clock, "/a", "user.name").unwrap(),
        })
    };
    assert_eq!(
        set(Some(b"12345")),
        [
            "Xattr 65 66 in user.name -> 66",
            "Inode 66 165 in links 1 size 5",
            "Inode 65 160 last links 1 size 0",
        ]
    );
    assert_eq!(
        set(Some(b"1")),
        ["Inode 65 160 in links 1 size 0", "Inode 66 161 last links 1 size 1"]
    );
    assert_eq!(
        set(None),
        [
            "Xattr 65 66 in user.name -> 0",
            "Inode 66 160 in links 0 size 1",
            "Inode 65 160 last links 1 size 0",
        ]
    );
    let inode = mount.fs().volume.inode(65);
    assert_eq!((inode.xattr_cnt, inode.xattr_size, inode.xattr_names), (0, 0, 0));
}

#[test]
fn only_a_new_attribute_is_written_out_at_once() {
    let (mut clock, mut mount) = mounted();
    create("/a")(&mut mount, &mut clock);
    let used = |mount: &Mounted| mount.fs().volume.heads[BASE_HEAD].wbuf.used;
    assert!(used(&mount) > 0);
    mount.setxattr(&mut clock, "/a", "user.name", b"1").unwrap();
    assert_eq!(used(&mount), 0);
    mount.setxattr(&mut clock, "/a", "user.name", b"2").unwrap();
    assert!(used(&mount) > 0);
}

#[test]
fn a_file_without_a_name_is_an_orphan_until_it_is_linked() {
    let (mut clock, mut mount) = mounted();
    let fd = mount.tmpfile(&mut clock, "/", 0o600).unwrap();
    assert_eq!(mount.fs().volume.orphans.len(), 1);
    let nodes = written(&mut clock, &mut mount, |mount, clock| {
        mount.link_open(clock, fd, "/named").unwrap();
    });
    assert_eq!(nodes[0], "Dirent 1 62 in named -> 65");
    assert_eq!(mount.fs().volume.orphans.len(), 0);
    mount.close(&mut clock, fd).unwrap();
    let fd = mount.tmpfile(&mut clock, "/", 0o600).unwrap();
    mount.close(&mut clock, fd).unwrap();
    assert_eq!(mount.fs().volume.orphans.len(), 0);
    assert_eq!(mount.readdir(&mut clock, "/").unwrap().len(), 1);
    mount.fs().check_tables().unwrap();
}
