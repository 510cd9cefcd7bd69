//! The trees of older commits.

use crate::made::{self, BLOCK, DATA, Tree, blocks_of, committed};
use crate::named;
use boardlab_image::tables::ImageReport;
use boardlab_image::{
    Contents, Damage, Error, Hints, Limits, MountedImage, Walk, identify, open, tables,
};
use boardlab_result::{Table, Value};
use boardlab_vfs::{FileSystem, Kind};

fn at(commit: u64) -> Hints {
    Hints { commit: Some(commit), ..Hints::default() }
}

/// Everything that can be read.
fn tree(file: &[u8], hints: &Hints) -> Result<Tree, Error> {
    let mut image = open(&Contents::of(file.to_vec()), hints)?;
    let (mut walk, mut tree) = (Walk::new(b"/", image.fs.root()), Tree::new());
    while let Some(item) = walk.next(&mut image.fs, &mut image.clock) {
        let mut content = Vec::new();
        if let Some(attributes) = item.attributes.filter(|it| it.kind == Kind::File) {
            for page in 0..attributes.size.div_ceil(4_096) {
                let mut bytes = vec![0; 4_096];
                if image.fs.read_page(&mut image.clock, item.ino, page, &mut bytes).is_err() {
                    bytes = b"unreadable".to_vec();
                }
                content.extend(bytes);
            }
            content.truncate(usize::try_from(attributes.size).unwrap());
        }
        tree.insert(String::from_utf8(item.path).unwrap(), content);
    }
    tree.remove("/");
    Ok(tree)
}

fn listing(file: &[u8], hints: &Hints) -> ImageReport {
    let mut image = open(&Contents::of(file.to_vec()), hints).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    let MountedImage { fs, clock, .. } = &mut image;
    tables::listing("x", fs, clock, b"/", &damage, Limits::default()).unwrap()
}

fn info(file: &[u8], hints: &Hints) -> ImageReport {
    let contents = Contents::of(file.to_vec());
    let identity = identify(&contents);
    let hints = Hints { partial: true, ..hints.clone() };
    let damage = open(&contents, &hints).and_then(|mut image| Damage::of(&mut image));
    tables::info("x", &contents, &identity, &hints, Some(&damage))
}

fn column(table: &Table, column: &str) -> Vec<Value> {
    let rows = table.rows.iter();
    rows.map(|row| table.cell(&row.id, column).unwrap().value.clone()).collect()
}

/// Replaces the content of every block of the volume in which `wanted` says so.
fn erase(file: &mut [u8], volume: u32, wanted: impl Fn(u32) -> bool) {
    for (leb, block) in blocks_of(file, volume) {
        if wanted(leb) {
            file[block * BLOCK..(block + 1) * BLOCK].fill(0xFF);
        }
    }
}

#[test]
fn every_commit_is_listed_and_shows_its_own_tree() {
    let (file, trees) = committed();
    assert_eq!(trees.len(), 3);
    for (number, expected) in &trees {
        assert_eq!(&tree(&file, &at(*number)).unwrap(), expected, "commit {number}");
        let listed = listing(&file, &at(*number));
        assert!(listed.whole, "{:?}", listed.run.warnings);
        let text = format!("This is the tree of commit {number}, without what the journal has");
        assert!(listed.run.warnings[0].starts_with(&text), "{:?}", listed.run.warnings);
    }
    // Without the option, the journal counts.
    assert!(tree(&file, &Hints::default()).unwrap().contains_key("/round-3/5"));
    let report = info(&file, &Hints::default());
    let commits = report.run.table("commits").unwrap();
    let numbers: Vec<&str> = commits.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(numbers, ["3", "2", "1", "0"]);
    assert_eq!(column(commits, "missing_count"), vec![Value::Int(0); 4]);
    assert_eq!(column(commits, "stands"), vec![Value::Text("yes".into()); 4]);
    // The first commit wrote two copies, and so did the mount before.
    assert_eq!(column(commits, "master_count")[2], Value::Int(2));
}

#[test]
fn a_commit_that_is_not_there_is_refused_with_those_that_are() {
    let (file, _) = committed();
    let refused = tree(&file, &at(9)).unwrap_err();
    assert_eq!(refused.to_string(), "no master node names commit 9, but these: 0 to 3");
    let refused = tree(&std::fs::read(crate::BOARD).unwrap(), &at(1)).unwrap_err();
    assert_eq!(refused.to_string(), "--commit is not for JFFS2, which has no commits");
}

/// The LEB and the offset of the root of a commit, as `info` shows it.
fn root_of(file: &[u8], commit: &str) -> (u32, usize) {
    let report = info(file, &Hints::default());
    let cell = report.run.table("commits").unwrap().cell(commit, "root").unwrap().value.clone();
    let Value::Text(text) = cell else { panic!("{cell:?}") };
    let (leb, offset) = text.split_once(':').unwrap();
    (leb.parse().unwrap(), offset.parse().unwrap())
}

#[test]
fn a_commit_whose_root_is_overwritten_is_told_and_refused() {
    let (mut file, trees) = committed();
    let (leb, offset) = root_of(&file, "1");
    let start = blocks_of(&file, 0)[&leb] * BLOCK + DATA + offset;
    file[start..start + 100].fill(0xFF);
    let refused = tree(&file, &at(1)).unwrap_err();
    let expected = format!(
        "nothing stands any more of commit 1: LEB {leb}, offset {offset}: the place is erased"
    );
    assert_eq!(refused.to_string(), expected);
    assert!(refused.help().contains("which commits still stand"));
    let report = info(&file, &Hints::default());
    let commits = report.run.table("commits").unwrap();
    let stands = |commit| commits.cell(commit, "stands").unwrap().value.clone();
    assert_eq!((stands("1"), stands("2")), (Value::Text("no".into()), Value::Text("yes".into())));
    assert!(report.whole, "what is current is whole");
    assert_eq!(tree(&file, &at(2)).unwrap(), trees[&2]);
}

#[test]
fn where_blocks_of_an_older_commit_are_gone_the_rest_is_shown_and_the_loss_told() {
    let (file, trees) = committed();
    let (mut parts, mut refused) = (0, 0);
    // Neither the superblock nor the master nodes.
    let lebs: Vec<u32> = blocks_of(&file, 0).into_keys().filter(|&leb| leb > 2).collect();
    for gone in lebs {
        let mut file = file.clone();
        erase(&mut file, 0, |leb| leb == gone);
        let Ok(found) = tree(&file, &at(3)) else {
            refused += 1;
            continue;
        };
        let report = listing(&file, &at(3));
        let changed = trees[&3].iter().any(|(path, content)| found.get(path) != Some(content));
        assert_eq!(changed, !report.whole, "LEB {gone}: {:?}", report.run.warnings);
        assert!(found.keys().all(|path| trees[&3].contains_key(path)), "LEB {gone}");
        parts += usize::from(changed);
    }
    assert!(parts >= 3 && refused == 1, "{parts} parts, {refused} refused");
}

#[test]
fn a_volume_that_cannot_be_mounted_is_shown_in_part_when_that_is_wanted() {
    let (mut file, trees) = committed();
    // The log.
    erase(&mut file, 0, |leb| (3..6).contains(&leb));
    let refused = tree(&file, &Hints::default()).unwrap_err().to_string();
    assert!(refused.contains("the log does not begin as the master node says"), "{refused}");
    assert!(refused.contains("no block of the file holds LEB"), "{refused}");
    let partial = Hints { partial: true, ..Hints::default() };
    assert_eq!(tree(&file, &partial).unwrap(), trees[&3]);
    let report = listing(&file, &partial);
    assert!(!report.whole, "the journal may have had more");
    let warnings = report.run.warnings.join(" ");
    assert!(warnings.contains("The filesystem cannot be mounted: "), "{warnings}");
    assert!(warnings.contains("This is the tree of commit 3"), "{warnings}");
}

#[test]
fn one_volume_is_shown_in_detail() {
    let (file, _) = committed();
    let report = info(&file, &named("root"));
    let names: Vec<_> = report.run.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(names, ["volumes", "filesystem", "superblock", "nodes", "commits"]);
    let value = |row| report.run.table("superblock").unwrap().cell(row, "value").unwrap();
    assert_eq!(value("format version").value, Value::Text("5".into()));
    assert_eq!(value("LEBs").value, Value::Int(100));
    let Value::Text(uuid) = &value("UUID").value else { panic!() };
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    let count = |row| report.run.table("nodes").unwrap().cell(row, "node_count").unwrap();
    // 4 directories with 23 files of 3 blocks, and the root.
    assert_eq!(count("inodes").value, Value::Int(4 + 23 + 1));
    assert_eq!(count("names").value, Value::Int(4 + 23));
    assert_eq!(count("data").value, Value::Int(23 * 3));
    assert_eq!(made::LEB, 15_360);
}

#[test]
fn a_lost_part_of_the_index_may_hide_names_and_files_and_none_is_shown_as_whole_that_is_not() {
    let (whole, trees) = committed();
    let (leb, root) = root_of(&whole, "3");
    let start = blocks_of(&whole, 0)[&leb] * BLOCK + DATA;
    // The indexing nodes of the lowest level in the LEB of the root.
    let is_low = |at: &usize| {
        let node = &whole[start + at..start + at + 28];
        node.starts_with(&0x0610_1831_u32.to_le_bytes()) && node[20] == 9 && node[26] == 0
    };
    let (mut gaps, mut partial) = (0, 0);
    for node in (0..root).step_by(8).filter(is_low) {
        let mut file = whole.clone();
        file[start + node..start + node + 28].fill(0xFF);
        let mut image = open(&Contents::of(file.clone()), &at(3)).unwrap();
        let damage = Damage::of(&mut image).unwrap();
        let Some(place) = damage.audit.places.first() else { continue };
        gaps += 1;
        assert!(damage.audit.unknown_loss && damage.may_miss_names() && place.at.is_some());
        assert!(place.what.starts_with("an indexing node: LEB "), "{}", place.what);
        assert!(place.what.ends_with("the place is erased"), "{}", place.what);
        let report = listing(&file, &at(3));
        let files = report.run.table("files").unwrap();
        for (path, content) in tree(&file, &at(3)).unwrap() {
            if content != trees[&3][&path] {
                let detail = files.cell(&path, "detail").unwrap().value.clone();
                let Value::Text(detail) = detail else { panic!("{path} is shown as whole") };
                assert!(detail.starts_with("damaged: "), "{path}: {detail}");
                partial += usize::from(detail.contains("may be missing"));
            }
        }
    }
    assert!(gaps > 5 && partial > 5, "{gaps} gaps, {partial} files in part");
}
