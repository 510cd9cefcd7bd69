//! What no program writes: loops, links to nothing, enormous sizes, impossible names.

use crate::asked::{damage, faults, opened};
use crate::images::told;
use crate::maker::{Maker, directory, file, link, named};
use boardlab_image::walk::Item;
use boardlab_image::{Hints, MountedImage, Walk};
use boardlab_vfs::{FileSystem, PAGE_SIZE};
use boardlab_yaffs2::format::{ObjectType, Tags};

fn begun() -> Maker {
    let mut maker = Maker::usual();
    maker.header(1, &directory(1, b""));
    maker.header(257, &directory(1, b"etc"));
    maker.header(258, &file(257, b"motd", 0));
    maker
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let MountedImage { mut fs, mut clock, .. } = opened(bytes, &Hints::default()).unwrap();
    let mut walk = Walk::new(b"/", fs.root());
    std::iter::from_fn(|| walk.next(&mut fs, &mut clock)).collect()
}

fn paths(bytes: &[u8]) -> Vec<String> {
    items(bytes).iter().map(|item| String::from_utf8_lossy(&item.path).into_owned()).collect()
}

#[test]
fn directories_in_a_circle_are_shown_once_in_lost_and_found() {
    let mut maker = begun();
    maker.header(300, &directory(301, b"one"));
    maker.header(301, &directory(302, b"two"));
    maker.header(302, &directory(300, b"three"));
    maker.header(303, &directory(303, b"itself"));
    let paths = paths(&maker.bytes);
    for name in ["one", "two", "three", "itself"] {
        let count = paths.iter().filter(|path| path.ends_with(&format!("/{name}"))).count();
        assert_eq!(count, 1, "{name}: {paths:?}");
    }
    let damage = damage(&maker.bytes);
    assert!(damage.may_miss_names(), "{damage:?}");
}

#[test]
fn a_chain_of_directories_has_an_end() {
    let mut maker = begun();
    for object in 1_000..3_000 {
        let parent = if object == 1_000 { 1 } else { object - 1 };
        maker.header(object, &directory(parent, b"d"));
    }
    assert!(items(&maker.bytes).len() > 1_500);
}

#[test]
fn links_to_nothing_and_to_directories_are_told() {
    let mut maker = begun();
    for (object, to) in [(300, 999), (301, 257), (302, 302), (303, 0), (304, u32::MAX)] {
        maker.header(object, &link(1, format!("link{object}").as_bytes(), to));
    }
    let items = items(&maker.bytes);
    let broken = items.iter().filter(|item| item.problem.is_some()).count();
    assert_eq!((items.len(), broken), (4 + 5, 5), "{items:?}");
    assert_eq!(faults(&maker.bytes).len(), 5);
}

#[test]
fn an_enormous_file_is_a_hole() {
    let mut maker = begun();
    for (object, size) in [(300, 1 << 40), (301, u64::MAX), (302, 1 << 63)] {
        maker.header(object, &file(1, format!("file{object}").as_bytes(), size));
        maker.data(object, b"begin");
    }
    let MountedImage { mut fs, mut clock, .. } = opened(&maker.bytes, &Hints::default()).unwrap();
    for object in [300, 301, 302] {
        let name = format!("file{object}");
        let root = fs.root();
        let ino = fs.lookup(&mut clock, root, name.as_bytes()).unwrap();
        let size = fs.getattr(&mut clock, ino).unwrap().size;
        let mut page = [1; PAGE_SIZE];
        for number in [0, 1, (1 << 28) - 1, size / 4_096 / 2, size / 4_096] {
            let _ = fs.read_page(&mut clock, ino, number, &mut page);
        }
        fs.read_page(&mut clock, ino, 0, &mut page).unwrap();
        assert!(page.starts_with(b"begin"));
    }
    assert!(damage(&maker.bytes).is_whole());
}

#[test]
fn chunks_far_beyond_their_file_take_no_room() {
    let mut maker = begun();
    for chunk in [1, 1 << 20, (1 << 28) - 1, 1 << 28, u32::MAX >> 1] {
        maker.chunk(b"far", &Tags { object: 300, chunk, bytes: 3, ..Tags::default() });
    }
    maker.header(300, &file(1, b"far", 3));
    assert!(told(&maker.bytes).contains("far f 0644 0 0 1 3 "));
}

#[test]
fn names_that_no_file_can_have_are_told_and_lead_nowhere() {
    let long = [b'n'; 255];
    let names: [&[u8]; 6] = [b"..", b".", b"a/b", b"/etc/passwd", b"", &long];
    let mut maker = begun();
    for (object, name) in (300..).zip(names) {
        maker.header(object, &file(1, name, 0));
    }
    let items = items(&maker.bytes);
    let bad = items.iter().filter(|item| item.problem.is_some()).count();
    assert_eq!(bad, 4, "{items:?}");
    assert!(items.iter().any(|item| item.name() == long));
    // What has no name gets one.
    assert!(items.iter().any(|item| item.name() == b"obj304"));
}

#[test]
fn objects_of_impossible_numbers_and_types_are_left_out_and_told() {
    let mut maker = begun();
    for object in 400..420 {
        maker.header(object, &file(257, format!("{object}").as_bytes(), 0));
    }
    for object in [0, 3, 4, 0x4_0000, 0x0FFF_FFFF] {
        maker.header(object, &file(1, b"no", 0));
    }
    let mut strange = named(ObjectType::File, 1, b"strange");
    strange.kind = 77;
    maker.header(300, &strange);
    let damage = damage(&maker.bytes);
    assert!(damage.may_miss_names());
    assert_eq!(damage.audit.damaged, 5, "{:?}", damage.audit.places);
    assert!(paths(&maker.bytes).iter().any(|path| path == "/etc/motd"));
}

#[test]
fn root_and_lost_and_found_stay_directories() {
    let mut maker = begun();
    for object in [1, 2] {
        for kind in [ObjectType::File, ObjectType::HardLink, ObjectType::Symlink] {
            maker.header(object, &named(kind, 257, b"changed"));
        }
    }
    assert!(paths(&maker.bytes).iter().any(|path| path == "/etc/motd"));
}

#[test]
fn the_same_object_as_everything_in_turn() {
    let mut maker = begun();
    for round in 0..40 {
        let kind = ObjectType::of(1 + round % 5);
        let parent = [1, 257, 300, 301, 0][usize::try_from(round).unwrap() % 5];
        let header = named(kind, parent, format!("n{round}").as_bytes());
        maker.header(300 + round % 3, &header);
        maker.data(300 + round % 2, b"content");
    }
    assert!(items(&maker.bytes).len() >= 4);
    drop(faults(&maker.bytes));
}
