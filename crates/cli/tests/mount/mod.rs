//! `image mount` and `image apply`: every filesystem, read and written; kills; what is refused. Without FUSE the same is
//! tried by requests, and all of it runs in the guest again.

mod files;
mod guest;
mod programs;

use crate::bench::{Scratch, run_in};
use boardlab_sim::{Seed, Stream};
use boardlab_vfs::script::content;
use files::{Files, Folder, Look, Mounted, Tried, all, is_usable};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An image of mkfs.jffs2 without spare bytes, with erase blocks of 8 KiB.
const BOARD: &[u8] = include_bytes!("../../../image/tests/data/board.jffs2");

/// The images that are written to, each with room.
const IMAGES: [&str; 5] = ["jffs2", "ubi", "ubifs", "yaffs2", "logfs"];

/// Makes an image of some files, with erased blocks up to so many.
fn image(scratch: &Scratch, kind: &str) {
    let root = scratch.path().join("root");
    if kind == "jffs2" {
        let mut bytes = BOARD.to_vec();
        bytes.resize(8_192 * 160, 0xFF);
        return scratch.write(kind, bytes);
    }
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/motd"), "welcome\n").unwrap();
    fs::write(root.join("big"), content(300_000, 7)).unwrap();
    let small = ["--page", "2KiB", "--block", "32KiB"];
    let oob = ["--page", "2KiB", "--oob", "64", "--block", "32KiB"];
    let blocks = ["--max-blocks", "200"];
    let fixed = ["image", "create", "root", kind];
    let rest = match kind {
        "ubi" => [&small[..], &blocks].concat(),
        "ubifs" => [&small[..], &blocks, &["--volume-only"]].concat(),
        "yaffs2" => [&oob[..], &["--fs", "yaffs2"]].concat(),
        _ => [&oob[..], &blocks, &["--fs", "logfs"]].concat(),
    };
    run_in(scratch.path(), &[&fixed[..], &rest].concat()).success();
    // LogFS has all of its flash in the image; the others grow into what is erased behind them.
    let raw = match kind {
        "ubi" => 32 << 10,
        "ubifs" => 28 << 10,
        "yaffs2" => 16 * (2_048 + 64),
        _ => return,
    };
    let mut bytes = fs::read(scratch.path().join(kind)).unwrap();
    bytes.resize(raw * 200, 0xFF);
    scratch.write(kind, bytes);
}

#[test]
fn every_filesystem_is_mounted_with_what_was_put_into_it() {
    for kind in IMAGES {
        let scratch = Scratch::new();
        image(&scratch, kind);
        let before = fs::read(scratch.path().join(kind)).unwrap();
        let mut mounted = Mounted::of(&scratch, kind, false);
        let mut files = mounted.files();
        if kind == "jffs2" {
            assert_eq!(files.read("/bin/busybox").unwrap().len(), 9_000);
            let console = files.look("/dev/console").unwrap();
            assert_eq!(console.mode & 0o170_000, 0o020_000);
        } else {
            let mut root = Folder(scratch.path().join("root"));
            let mut found = all(&mut *files, "/");
            found.remove("/lost+found");
            assert_eq!(found, all(&mut root, "/"), "{kind}");
        }
        assert_eq!(files.write("/new", 0, b"a"), Err(30), "{kind}");
        assert_eq!(files.look("/missing"), Err(2), "{kind}");
        drop(files);
        assert_eq!(mounted.end(), 0, "{kind}");
        assert_eq!(fs::read(scratch.path().join(kind)).unwrap(), before);
        assert!(!scratch.path().join(format!("{kind}.overlay")).exists());
    }
}

/// Asserts that both have the same below `/tree`.
#[track_caller]
fn same(files: &mut dyn Files, shadow: &mut dyn Files, kind: &str) {
    let (found, expected) = (all(files, "/tree"), all(shadow, "/tree"));
    let paths: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    for path in paths {
        let told = |look: Option<&Look>| match look {
            None => "missing".to_owned(),
            Some(look) => {
                format!("{:o}, {} links, {} bytes", look.mode, look.links, look.content.len())
            }
        };
        let (one, other) = (found.get(path), expected.get(path));
        assert_eq!(told(one), told(other), "{kind}: {path}");
        let (Some(one), Some(other)) = (one, other) else { continue };
        let pairs = one.content.iter().zip(&other.content);
        let differs = pairs.enumerate().find(|(_, (one, other))| one != other);
        assert_eq!(differs, None, "{kind}: {path} differs at this byte");
    }
}

/// One random operation on both.
fn step(
    stream: &mut Stream,
    files: &mut dyn Files,
    shadow: &mut Folder,
    kind: &str,
) -> [Tried<()>; 2] {
    let dir = ["", "/d0", "/d1", "/d0/d0"][pick(stream, 4)];
    let path = format!("/tree{dir}/f{}", stream.below(5));
    let other = format!("/tree{}/f{}", ["", "/d0"][pick(stream, 2)], stream.below(5));
    let folder = format!("/tree{}", ["/d0", "/d1", "/d0/d0"][pick(stream, 3)]);
    let (size, tag) = (stream.below(30_000), stream.next_u64());
    let data = content(pick(stream, 9_000) + 1, tag);
    let mode = 0o600 | u32::try_from(stream.below(0o200)).unwrap();
    let chosen = stream.below(100);
    // A scan of YAFFS2 may forget that a truncation made a file longer: see docs/models/yaffs2.md.
    let longest = shadow.look(&path).map_or(size, |look| look.content.len() as u64);
    let cut = if kind == "yaffs2" { size.min(longest) } else { size };
    let one = |files: &mut dyn Files| match chosen {
        0..35 => files.write(&path, size, &data),
        35..45 => files.truncate(&path, cut),
        45..55 => files.unlink(&path),
        55..65 => files.rename(&path, &other),
        65..72 => files.link(&path, &other),
        72..77 => files.symlink(&other, &path),
        77..85 => files.mkdir(&folder),
        85..89 => files.rmdir(&folder),
        89..92 => files.rename(&folder, "/tree/d1"),
        92..96 => match files.look(&path) {
            // A mode belongs to files; that of a link is what its target has.
            Ok(look) if look.links > 0 => files.chmod(&path, mode),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        },
        _ => files.fsync(&folder),
    };
    [one(files), one(shadow)]
}

fn pick(stream: &mut Stream, bound: u64) -> usize {
    usize::try_from(stream.below(bound)).unwrap()
}

#[test]
fn random_changes_are_those_of_a_folder_and_stay() {
    for (kind, seed) in IMAGES.into_iter().zip(1..) {
        let scratch = Scratch::new();
        image(&scratch, kind);
        let before = fs::read(scratch.path().join(kind)).unwrap();
        let mut shadow = Folder(scratch.path().join("shadow"));
        fs::create_dir_all(shadow.0.join("tree")).unwrap();
        let mut stream = Seed::new(seed).stream("cli.mount");
        let mut done = 0;
        for round in 0..3 {
            let mut mounted = Mounted::of(&scratch, kind, true);
            let mut files = mounted.files();
            if round == 0 {
                files.mkdir("/tree").unwrap();
            }
            for number in 0..250 {
                let [found, expected] = step(&mut stream, &mut *files, &mut shadow, kind);
                assert_eq!(found, expected, "{kind}, round {round}, step {number}");
                done += usize::from(found.is_ok());
            }
            same(&mut *files, &mut shadow, kind);
            drop(files);
            assert_eq!(mounted.end(), 0, "{kind}");
            let mut mounted = Mounted::of(&scratch, kind, true);
            same(&mut *mounted.files(), &mut shadow, kind);
            assert_eq!(mounted.end(), 0, "{kind}");
        }
        assert!(done > 200, "{kind}: {done} of 750 changed something");
        assert_eq!(fs::read(scratch.path().join(kind)).unwrap(), before, "{kind}");
        // All of it goes into the image, which is then read without the overlay.
        let applied = run_in(scratch.path(), &["image", "apply", kind]);
        assert_eq!(applied.status, 0, "{kind}: {}{}", applied.stdout, applied.stderr);
        assert!(!scratch.path().join(format!("{kind}.overlay")).exists());
        let mut mounted = Mounted::of(&scratch, kind, false);
        same(&mut *mounted.files(), &mut shadow, kind);
        assert_eq!(mounted.end(), 0, "{kind}");
    }
}

#[test]
fn times_are_those_of_the_calendar_and_attributes_stay() {
    for kind in IMAGES {
        let scratch = Scratch::new();
        image(&scratch, kind);
        let mut mounted = Mounted::of(&scratch, kind, true);
        let mut files = mounted.files();
        files.write("/new", 0, b"text").unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let modified = u64::try_from(files.look("/new").unwrap().modified).unwrap();
        assert!(now.abs_diff(modified) < 60, "{kind}: {modified} at {now}");
        let set = files.attribute("/new", b"red");
        // LogFS never had any.
        assert_eq!(set, if kind == "logfs" { Err(95) } else { Ok(()) }, "{kind}");
        drop(files);
        assert_eq!(mounted.end(), 0);
        let mut mounted = Mounted::of(&scratch, kind, true);
        let found = mounted.files().attribute_of("/new");
        assert_eq!(found, if kind == "logfs" { Err(95) } else { Ok(b"red".to_vec()) }, "{kind}");
        assert_eq!(mounted.end(), 0);
    }
}

/// Takes an error for success.
fn unless(error: i32, tried: Tried<()>) -> Tried<()> {
    if tried == Err(error) { Ok(()) } else { tried }
}

/// Changes files one after another until that fails, and makes them durable. Returns the file that was being
/// changed, if any, with its old content and with its new one.
fn until_killed(
    files: &mut dyn Files,
    stream: &mut Stream,
    durable: &mut BTreeMap<String, Vec<u8>>,
    most: u32,
) -> Option<(String, Vec<u8>)> {
    for _ in 0..most {
        let path = format!("/kept/f{}", stream.below(8));
        let data = content(pick(stream, 20_000) + 1, stream.next_u64());
        let part = "/kept/part";
        // A rename of JFFS2 that was killed leaves both names of the file.
        let written = unless(2, files.unlink(part))
            .and_then(|()| files.write(part, 0, &data))
            .and_then(|()| files.fsync(part))
            .and_then(|()| files.rename(part, &path))
            .and_then(|()| files.fsync("/kept"));
        match written {
            Ok(()) => durable.insert(path, data),
            Err(_) => return Some((path, data)),
        };
    }
    None
}

#[test]
fn a_kill_at_any_moment_leaves_the_image_and_all_that_was_synced() {
    for (kind, seed) in IMAGES.into_iter().zip(1..) {
        let scratch = Scratch::new();
        image(&scratch, kind);
        let before = fs::read(scratch.path().join(kind)).unwrap();
        let mut stream = Seed::new(seed).stream("cli.mount.kill");
        let mut durable: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut pending: Option<(String, Vec<u8>)> = None;
        for round in 0..20 {
            let mut mounted = Mounted::of(&scratch, kind, true);
            let killer = match &mounted {
                Mounted::Kernel { child, .. } => Some(kill_later(child.id(), &mut stream)),
                Mounted::Requests(_) => None,
            };
            let most = if killer.is_some() {
                100_000
            } else {
                1 + u32::try_from(stream.below(30)).unwrap()
            };
            let mut files = mounted.files();
            // The kill may come as soon as this.
            let made = unless(17, files.mkdir("/kept")).and_then(|()| files.fsync("/kept"));
            assert!(made.is_ok() || killer.is_some());
            let is_there =
                |found: &Tried<Vec<u8>>| found.as_ref().err().is_none_or(|error| *error == 2);
            let found: Vec<_> =
                durable.keys().map(|path| (path.clone(), files.read(path))).collect();
            let new = pending.as_ref().map(|(path, _)| files.read(path));
            if found.iter().all(|(_, found)| is_there(found)) && new.as_ref().is_none_or(is_there) {
                if let Some((path, data)) = pending.take()
                    && new.as_ref().is_some_and(|new| new.as_ref() == Ok(&data))
                {
                    durable.insert(path, data);
                }
                for (path, found) in found {
                    let length = found.as_ref().map(Vec::len);
                    let what = format!("{kind}, round {round}: {path} is {length:?}");
                    assert!(found.as_ref() == Ok(&durable[&path]), "{what}");
                }
                pending = until_killed(&mut *files, &mut stream, &mut durable, most);
            } else {
                assert!(killer.is_some());
            }
            drop(files);
            if let Some(killer) = killer {
                killer.join().unwrap();
            }
            mounted.kill();
        }
        assert!(durable.len() > 4, "{kind}: {}", durable.len());
        assert_eq!(fs::read(scratch.path().join(kind)).unwrap(), before, "{kind}");
        let mounted = Mounted::of(&scratch, kind, true);
        assert_eq!(mounted.end(), 0, "{kind}");
    }
}

/// Kills a process in less than a fifth of a second.
fn kill_later(process: u32, stream: &mut Stream) -> std::thread::JoinHandle<()> {
    let delay = Duration::from_millis(20 + stream.below(150));
    std::thread::spawn(move || {
        std::thread::sleep(delay);
        let process = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    })
}

#[test]
fn an_image_is_changed_by_one_and_applied_to_a_new_file() {
    let scratch = Scratch::new();
    image(&scratch, "ubi");
    let nothing = run_in(scratch.path(), &["image", "apply", "ubi"]);
    assert_eq!(nothing.status, 2);
    assert!(nothing.stderr.contains("there is nothing to apply"), "{}", nothing.stderr);
    let mut mounted = Mounted::of(&scratch, "ubi", true);
    mounted.files().write("/new", 0, b"text").unwrap();
    if is_usable() {
        for again in [&["image", "mount", "ubi", "n", "--rw"][..], &["image", "apply", "ubi"]] {
            fs::create_dir_all(scratch.path().join("n")).unwrap();
            let refused = run_in(scratch.path(), again);
            assert_eq!(refused.status, 2, "{}", refused.stderr);
            assert!(refused.stderr.contains("is in use by process"), "{}", refused.stderr);
        }
    }
    assert_eq!(mounted.end(), 0);
    let before = fs::read(scratch.path().join("ubi")).unwrap();
    run_in(scratch.path(), &["image", "apply", "ubi", "--output", "new.ubi"]).success();
    assert_eq!(fs::read(scratch.path().join("ubi")).unwrap(), before);
    assert!(scratch.path().join("ubi.overlay").exists());
    let exists = run_in(scratch.path(), &["image", "apply", "ubi", "-o", "new.ubi"]);
    assert!(exists.status == 2 && exists.stderr.contains("exists already"), "{}", exists.stderr);
    let listed = run_in(scratch.path(), &["image", "ls", "new.ubi", "/new"]).success();
    assert!(listed.contains("4 B"), "{listed}");
    run_in(scratch.path(), &["image", "apply", "ubi"]).success();
    assert_eq!(
        fs::read(scratch.path().join("ubi")).unwrap(),
        fs::read(scratch.path().join("new.ubi")).unwrap()
    );
    run_in(scratch.path(), &["image", "check", "ubi"]).success();
}

#[test]
fn an_overlay_of_another_image_and_a_damaged_one_are_refused() {
    let scratch = Scratch::new();
    image(&scratch, "jffs2");
    let mut mounted = Mounted::of(&scratch, "jffs2", true);
    mounted.files().write("/new", 0, &content(30_000, 1)).unwrap();
    mounted.files().fsync("/new").unwrap();
    assert_eq!(mounted.end(), 0);
    let overlay = fs::read(scratch.path().join("jffs2.overlay")).unwrap();
    let refused = |says: &str| {
        let outcome = run_in(scratch.path(), &["image", "apply", "jffs2"]);
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    };
    let mut damaged = overlay.clone();
    damaged[300] ^= 1;
    scratch.write("jffs2.overlay", damaged);
    refused("is damaged: the record at 0x");
    scratch.write("jffs2.overlay", b"something else, and long enough to be one".repeat(4));
    refused("is no overlay: its first bytes are others");
    scratch.write("jffs2.overlay", &overlay);
    let mut other = fs::read(scratch.path().join("jffs2")).unwrap();
    *other.last_mut().unwrap() = 0;
    scratch.write("jffs2", other);
    refused("is of a dump of 1310720 bytes");
    assert_eq!(fs::read(scratch.path().join("jffs2.overlay")).unwrap(), overlay);
}

#[test]
fn a_mount_applies_its_changes_at_the_end_if_it_is_told_to() {
    if !is_usable() {
        // Without a kernel there is no command that mounts: what it would do is tried above.
        let scratch = Scratch::new();
        image(&scratch, "jffs2");
        fs::create_dir(scratch.path().join("m")).unwrap();
        let outcome = run_in(scratch.path(), &["image", "mount", "jffs2", "m", "--rw", "--apply"]);
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("need"), "{}", outcome.stderr);
        return;
    }
    let scratch = Scratch::new();
    image(&scratch, "jffs2");
    fs::create_dir(scratch.path().join("m")).unwrap();
    let arguments = ["image", "mount", "jffs2", "m", "--rw", "--apply"];
    let mut child = crate::bench::spawn(scratch.path(), &arguments);
    let dir = scratch.path().join("m");
    wait_for(&dir.join("etc"));
    fs::write(dir.join("new"), "text").unwrap();
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!scratch.path().join("jffs2.overlay").exists());
    run_in(scratch.path(), &["image", "ls", "jffs2", "/new"]).success();
}

fn wait_for(path: &Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} does not appear", path.display());
}
