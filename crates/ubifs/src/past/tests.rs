//! Older commits: found, surveyed, and mounted, whole and with parts overwritten.
use super::*;
use crate::error::Problem;
use crate::format::{Header, NodeType, seal};
use crate::test_volume::{mkfs_lebs, shape};
use boardlab_ubi::RamLebs;
use boardlab_vfs::{FileSystem, Kind, Mount};

const LEB_SIZE: u32 = 15_872;

/// The names of a tree with their contents.
type Tree = BTreeMap<String, Vec<u8>>;

fn tree(fs: &mut Ubifs<RamLebs>, clock: &mut Clock) -> Tree {
    let (mut found, mut open) = (Tree::new(), vec![(String::new(), fs.root())]);
    while let Some((path, dir)) = open.pop() {
        for entry in fs.readdir(clock, dir).unwrap() {
            let path = format!("{path}/{}", String::from_utf8(entry.name).unwrap());
            let Ok(attributes) = fs.getattr(clock, entry.ino) else {
                found.insert(path, b"damaged".to_vec());
                continue;
            };
            let mut content = Vec::new();
            for page in 0..attributes.size.div_ceil(4_096) {
                let mut bytes = [0; 4_096];
                match fs.read_page(clock, entry.ino, page, &mut bytes) {
                    Ok(()) => content.extend(bytes),
                    Err(_) if attributes.kind == Kind::Directory => {}
                    Err(_) => content.extend([0xEE; 4_096]),
                }
            }
            if attributes.kind == Kind::Directory {
                open.push((path.clone(), entry.ino));
            } else {
                content.truncate(usize::try_from(attributes.size).unwrap());
            }
            found.insert(path, content);
        }
    }
    found
}

/// A volume after five rounds of changes with a commit behind each, and the tree after each commit.
fn rounds(lebs: u32) -> (RamLebs, Vec<(u64, Tree)>) {
    let mut clock = Clock::new();
    let options = Options::default();
    let fs = Ubifs::mount(&mut clock, RamLebs::new(shape(lebs, LEB_SIZE)), options).unwrap();
    let (mut mount, mut trees) = (Mount::new(fs), Vec::new());
    for round in 0..5_u8 {
        let dir = format!("/d{round}");
        mount.mkdir(&mut clock, &dir, 0o750).unwrap();
        for file in 0..20_u8 {
            let path = format!("{dir}/f{file}");
            let fd = mount.create(&mut clock, &path, 0o644).unwrap();
            let bytes: Vec<u8> = (0..5_000_u32).map(|n| (n * 7 % 251).to_le_bytes()[0]).collect();
            mount.write(&mut clock, fd, 0, &[&[round, file], &bytes[..]].concat()).unwrap();
            mount.close(&mut clock, fd).unwrap();
        }
        if round > 0 {
            mount.unlink(&mut clock, format!("/d{}/f3", round - 1)).unwrap();
        }
        mount.sync(&mut clock).unwrap();
        let mut fs = mount.into_fs();
        let now = tree(&mut fs, &mut clock);
        trees.push((fs.volume.cmt_no, now));
        mount = Mount::new(fs);
    }
    let fd = mount.create(&mut clock, "/late", 0o644).unwrap();
    mount.write(&mut clock, fd, 0, b"in the journal").unwrap();
    mount.fsync(&mut clock, fd).unwrap();
    (mount.into_fs().into_lebs(), trees)
}

fn history(lebs: &RamLebs) -> History<RamLebs> {
    History::read(&mut Clock::new(), lebs.clone(), Options::default()).unwrap()
}

fn past(lebs: &RamLebs, number: u64) -> Ubifs<RamLebs> {
    history(lebs).mount(&mut Clock::new(), number).unwrap()
}

/// Replaces a part of a LEB.
fn overwrite(lebs: &mut RamLebs, leb: LebIndex, offs: u32, bytes: &[u8]) {
    let mut content = lebs.content(leb).unwrap().to_vec();
    let start = usize::try_from(offs).unwrap();
    content[start..start + bytes.len()].copy_from_slice(bytes);
    lebs.change(&mut Clock::new(), leb, &content).unwrap();
}

fn branch_of(lebs: &RamLebs, number: u64, wanted: impl Fn(&Leaf) -> bool) -> Leaf {
    let audit = past(lebs, number).audit(&mut Clock::new());
    *audit.leaves.iter().find(|leaf| wanted(leaf)).unwrap()
}

#[test]
fn every_commit_is_found_and_has_its_tree() {
    let (lebs, trees) = rounds(200);
    let mut history = history(&lebs);
    let commits = history.commits().to_vec();
    let numbers: Vec<u64> = commits.iter().map(|commit| commit.number).collect();
    assert!(trees.iter().all(|(number, _)| numbers.contains(number)), "{numbers:?}");
    assert!(numbers.is_sorted());
    for commit in &commits {
        let survey = history.survey(&mut Clock::new(), commit);
        assert!(survey.is_whole() && survey.leaves > 0, "{commit:?}: {survey:?}");
    }
    for (number, expected) in trees {
        let (mut fs, mut clock) = (past(&lebs, number), Clock::new());
        assert_eq!(tree(&mut fs, &mut clock), expected, "commit {number}");
        let audit = fs.audit(&mut clock);
        assert!(audit.damaged.is_empty() && audit.gaps.is_empty());
        assert_eq!(audit.contradiction, None);
        assert!(fs.create(&mut clock, fs.root(), b"x", &new_file()).is_err());
    }
    let gone = History::mount(self::history(&lebs), &mut Clock::new(), 77).unwrap_err();
    assert_eq!(gone, Error::Refused(Errno::NoEnt).into());
}

fn new_file() -> boardlab_vfs::NewInode<'static> {
    boardlab_vfs::NewInode::of(Kind::File, 0o644)
}

#[test]
fn an_image_of_mkfs_has_one_commit() {
    let mut history = history(&mkfs_lebs());
    let commits = history.commits().to_vec();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].places.len(), 2);
    assert!(history.survey(&mut Clock::new(), &commits[0]).is_whole());
}

#[test]
fn surveys_count_the_same_with_and_without_what_others_have_read() {
    let (lebs, _) = rounds(200);
    let (mut shared, commits) = (history(&lebs), history(&lebs).commits().to_vec());
    for commit in commits.iter().rev() {
        let alone = history(&lebs).survey(&mut Clock::new(), commit);
        assert_eq!(shared.survey(&mut Clock::new(), commit), alone);
    }
}

#[test]
fn what_was_written_after_the_commit_is_not_what_its_index_meant() {
    let (mut lebs, trees) = rounds(200);
    let (number, expected) = &trees[1];
    let leaf = branch_of(&lebs, *number, |leaf| leaf.kind == Some(KeyType::Data));
    let start = usize::try_from(leaf.offs).unwrap();
    let length = usize::try_from(leaf.len).unwrap();
    let mut node = lebs.content(leaf.leb).unwrap()[start..start + length].to_vec();
    // The same key and length, and a later sequence number.
    let header = Header::parse(&node).unwrap();
    Header::fill(&mut node, header.sqnum + 100_000, header.group);
    seal(&mut node);
    overwrite(&mut lebs, leaf.leb, leaf.offs, &node);
    let mut fs = past(&lebs, *number);
    let audit = fs.audit(&mut Clock::new());
    let [(found, error)] = &audit.damaged[..] else { panic!("{:?}", audit.damaged) };
    assert_eq!(*found, leaf);
    assert_eq!(*error, Error::at(leaf.leb, leaf.offs, Problem::Newer));
    let now = tree(&mut fs, &mut Clock::new());
    let differ: Vec<_> = now.iter().filter(|(path, bytes)| expected[*path] != **bytes).collect();
    assert_eq!((differ.len(), now.len()), (1, expected.len()));
    assert!(differ[0].1.contains(&0xEE), "the content must not be read as a hole, nor be newer");
}

#[test]
fn a_node_of_another_key_is_not_what_the_index_meant() {
    let (mut lebs, trees) = rounds(200);
    let number = trees[1].0;
    let is_inode = |leaf: &Leaf| leaf.kind == Some(KeyType::Inode) && leaf.ino > 70;
    let leaf = branch_of(&lebs, number, is_inode);
    let other = branch_of(&lebs, number, |other| is_inode(other) && other.ino > leaf.ino + 5);
    let bytes = |leaf: &Leaf| {
        let start = usize::try_from(leaf.offs).unwrap();
        lebs.content(leaf.leb).unwrap()[start..start + 160].to_vec()
    };
    let node = bytes(&other);
    overwrite(&mut lebs, leaf.leb, leaf.offs, &node);
    let mut fs = past(&lebs, number);
    let audit = fs.audit(&mut Clock::new());
    assert_eq!(audit.damaged.len(), 1);
    assert_eq!(audit.damaged[0].1, Error::at(leaf.leb, leaf.offs, Problem::WrongKey));
    let damaged = tree(&mut fs, &mut Clock::new()).into_values().filter(|it| it == b"damaged");
    assert_eq!(damaged.count(), 1);
}

#[test]
fn a_lost_name_leaves_its_neighbours_and_a_lost_directory_its_names() {
    let (mut lebs, trees) = rounds(200);
    let (number, expected) = &trees[2];
    let name = branch_of(&lebs, *number, |leaf| {
        leaf.kind == Some(KeyType::Dirent) && leaf.ino != ROOT_INO
    });
    let inode =
        branch_of(&lebs, *number, |leaf| leaf.kind == Some(KeyType::Inode) && leaf.ino == name.ino);
    for leaf in [name, inode] {
        overwrite(&mut lebs, leaf.leb, leaf.offs, &[0xFF; 56]);
    }
    let mut fs = past(&lebs, *number);
    let audit = fs.audit(&mut Clock::new());
    let errors: Vec<_> = audit.damaged.iter().map(|(_, error)| error.clone()).collect();
    let erased = |leaf: Leaf| Error::at(leaf.leb, leaf.offs, Problem::Erased);
    assert_eq!(errors, [erased(inode), erased(name)]);
    let now = tree(&mut fs, &mut Clock::new());
    assert_eq!(now.len(), expected.len() - 1);
}

/// The indexing nodes of a commit on level 0.
fn index_nodes(lebs: &RamLebs, number: u64) -> Vec<(LebIndex, u32)> {
    let history = history(lebs);
    let main = history.volume.layout.main_first.0..history.volume.layout.leb_count;
    let below = history.commit(number).unwrap().index_below;
    let mut found = Vec::new();
    for leb in main.map(LebIndex) {
        let content = lebs.content(leb).unwrap_or_default();
        for offs in (0..content.len().saturating_sub(48)).step_by(8) {
            let Ok(header) = Header::parse(&content[offs..]) else { continue };
            let level = content[offs + 26];
            if header.node_type == NodeType::Index && level == 0 && header.sqnum < below {
                found.push((leb, u32::try_from(offs).unwrap()));
            }
        }
    }
    found
}

#[test]
fn where_a_part_of_the_index_is_gone_the_rest_is_shown() {
    let (lebs, trees) = rounds(200);
    let (number, expected) = &trees[2];
    let (mut gaps, mut shown) = (0, 0);
    for (leb, offs) in index_nodes(&lebs, *number) {
        let mut lebs = lebs.clone();
        overwrite(&mut lebs, leb, offs, &[0xFF; 48]);
        let mut history = history(&lebs);
        let commit = history.commit(*number).unwrap().clone();
        let survey = history.survey(&mut Clock::new(), &commit);
        let mut fs = history.mount(&mut Clock::new(), *number).unwrap();
        let audit = fs.audit(&mut Clock::new());
        assert_eq!(audit.gaps.len() as u64, survey.index_missing);
        if let [gap] = &audit.gaps[..] {
            assert_eq!(gap.error, Error::at(leb, offs, Problem::Erased));
            assert!(gap.first < gap.end);
            gaps += 1;
            let now = tree(&mut fs, &mut Clock::new());
            assert!(now.len() <= expected.len());
            assert!(now.keys().all(|path| expected.contains_key(path)));
            shown += now.len();
        }
    }
    assert!(gaps > 3 && shown > gaps * expected.len() / 2, "{gaps} gaps, {shown} names");
}

#[test]
fn a_commit_whose_root_is_gone_is_refused() {
    let (lebs, trees) = rounds(200);
    let mut history = history(&lebs);
    let first = history.commit(trees[0].0).unwrap().clone();
    let root = (first.master.root_lnum, first.master.root_offs);
    let mut lebs = lebs;
    overwrite(&mut lebs, root.0, root.1, &[0xFF; 48]);
    history = self::history(&lebs);
    let survey = history.survey(&mut Clock::new(), &first);
    assert_eq!((survey.index_nodes, survey.index_missing), (0, 1));
    let refused = history.mount(&mut Clock::new(), first.number).unwrap_err();
    assert_eq!(refused, Error::at(root.0, root.1, Problem::Erased).into());
}

/// The same node with a later sequence number.
fn later(lebs: &RamLebs, leb: LebIndex, offs: u32, len: u32) -> Vec<u8> {
    let start = usize::try_from(offs).unwrap();
    let length = usize::try_from(len).unwrap();
    let mut node = lebs.content(leb).unwrap()[start..start + length].to_vec();
    let header = Header::parse(&node).unwrap();
    Header::fill(&mut node, header.sqnum + 100_000, header.group);
    seal(&mut node);
    node
}

#[test]
fn an_indexing_node_that_is_newer_than_the_commit_is_not_its_root() {
    let (mut lebs, trees) = rounds(200);
    let number = trees[1].0;
    let master = history(&lebs).commit(number).unwrap().master.clone();
    let (leb, offs) = (master.root_lnum, master.root_offs);
    let node = later(&lebs, leb, offs, master.root_len);
    overwrite(&mut lebs, leb, offs, &node);
    let refused = history(&lebs).mount(&mut Clock::new(), number).unwrap_err();
    assert_eq!(refused, Error::at(leb, offs, Problem::Newer).into());
}

#[test]
fn an_indexing_node_of_another_branch_is_a_gap() {
    let (lebs, trees) = rounds(200);
    let number = trees[4].0;
    let commit = history(&lebs).commit(number).unwrap().clone();
    let master = &commit.master;
    // One of two neighbours leads where the other one does.
    let root = |lebs: &RamLebs| {
        let start = usize::try_from(master.root_offs).unwrap();
        let length = usize::try_from(master.root_len).unwrap();
        lebs.content(master.root_lnum).unwrap()[start..start + length].to_vec()
    };
    let (first, second, place) = (28, 48, 12);
    for (from, to) in [(first, second), (second, first)] {
        let (mut lebs, mut node) = (lebs.clone(), root(&lebs));
        node.copy_within(from..from + place, to);
        seal(&mut node);
        overwrite(&mut lebs, master.root_lnum, master.root_offs, &node);
        let survey = self::history(&lebs).survey(&mut Clock::new(), &commit);
        assert_eq!(survey.index_missing, 1, "{survey:?}");
    }
    // One branch, which leads to the root itself.
    let (mut lebs, mut node) = (lebs.clone(), root(&lebs));
    node[24] = 1;
    node[first..first + 4].copy_from_slice(&master.root_lnum.0.to_le_bytes());
    node[first + 4..first + 8].copy_from_slice(&master.root_offs.to_le_bytes());
    node[first + 8..first + 12].copy_from_slice(&master.root_len.to_le_bytes());
    seal(&mut node);
    overwrite(&mut lebs, master.root_lnum, master.root_offs, &node);
    let survey = self::history(&lebs).survey(&mut Clock::new(), &commit);
    assert_eq!((survey.index_nodes, survey.index_missing, survey.ended), (1, 1, false));
}

#[test]
fn a_damaged_master_node_names_no_commit() {
    let (mut lebs, trees) = rounds(200);
    let commit = history(&lebs).commit(trees[1].0).unwrap().clone();
    for &(leb, offs, _) in &commit.places {
        let start = usize::try_from(offs).unwrap();
        let byte = lebs.content(leb).unwrap()[start + 500];
        overwrite(&mut lebs, leb, offs + 500, &[byte ^ 1]);
    }
    assert_eq!(history(&lebs).commit(commit.number), None);
    assert_eq!(history(&lebs).commits().len(), 5);
}

#[test]
fn leaves_of_a_commit_are_older_than_its_start_where_the_log_has_it() {
    let (lebs, trees) = rounds(200);
    let history = history(&lebs);
    let newest = history.commit(trees[4].0).unwrap();
    assert!(newest.leaves_below < newest.index_below);
    let audit = past(&lebs, newest.number).audit(&mut Clock::new());
    assert!(audit.damaged.is_empty());
}

#[test]
fn what_another_survey_has_read_does_not_count_where_it_is_too_new() {
    let (mut lebs, trees) = rounds(200);
    let (old, new) = (trees[0].0, trees[4].0);
    let wanted = |leaf: &Leaf| leaf.kind == Some(KeyType::Inode) && leaf.ino > 66;
    let leaf = branch_of(&lebs, old, wanted);
    let same = |other: &Leaf| *other == leaf;
    assert_eq!(branch_of(&lebs, new, same), leaf);
    // Newer than the old commit, and older than the new one.
    let first = history(&lebs).commit(old).unwrap().clone();
    let start = usize::try_from(leaf.offs).unwrap();
    let mut node = lebs.content(leaf.leb).unwrap()[start..start + 160].to_vec();
    let group = Header::parse(&node).unwrap().group;
    Header::fill(&mut node, first.leaves_below, group);
    seal(&mut node);
    overwrite(&mut lebs, leaf.leb, leaf.offs, &node);
    let mut history = history(&lebs);
    let commits = history.commits().to_vec();
    let missing = |history: &mut History<_>, number| {
        let commit = commits.iter().rfind(|commit| commit.number == number).unwrap();
        history.survey(&mut Clock::new(), commit).leaves_missing
    };
    assert_eq!((missing(&mut history, new), missing(&mut history, old)), (0, 1));
}
