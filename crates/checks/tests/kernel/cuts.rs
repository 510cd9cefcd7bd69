//! What a kernel left whose power failed in mid-write: it mounts here, looks as the kernel itself finds it at
//! its next mount, and nothing that was synced is lost.

use crate::flash::manifest_of_dump;
use crate::{assert_none, difference, full};
use boardlab_checks::guest::{Cut, Guest, Share};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{MemoryFs, Mount, survey};
use boardlab_workload::tree::{self, Line, Operation};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The flash that is used, in MiB.
const SIZE: usize = 16;

/// In the guest: a filesystem whose flash is a file of the host, and a log of what is synced.
fn writing(flash: Flash) -> String {
    let blocks = flash.blocks_of(SIZE);
    format!(
        "modprobe nandsim id_bytes={} parts={blocks} cache_file=/h/cache >/dev/null\n\
         flash_erase -q -j /dev/mtd0 0 0\n\
         mount -t jffs2 mtd0 /mnt\n\
         guest-files run /mnt </h/operations >/h/log\n",
        flash.id_bytes
    )
}

/// In the guest: what the kernel finds on each dump at its next mount.
const LOOK: &str = r#"
look() { # NAME
  flash_erase -q /dev/mtd0 0 0
  cp /h/$1.dump /tmp/dump
  nandwrite -q -n -o /dev/mtd0 /tmp/dump >/dev/null
  mount -t jffs2 mtd0 /mnt
  guest-files manifest /mnt >/tmp/manifest
  umount /mnt
  cp /tmp/manifest /h/$1.manifest; rm /tmp/dump
}
"#;

/// What must be there after a cut, and what may have changed since.
struct Synced {
    /// The lines of the manifest by path, without the time.
    lines: BTreeMap<String, String>,
    /// Paths that operations after the last sync could have changed.
    touched: BTreeSet<Vec<u8>>,
}

/// Carries out the operations up to `say LAST` on a filesystem in memory.
fn synced(operations: &str, last: &str) -> Synced {
    let lines = tree::parse(operations).unwrap();
    let said = |wanted: &str| {
        let is = |(_, line): &(usize, Line)| matches!(&line.operation, Operation::Say { text } if text == wanted.as_bytes());
        lines.iter().position(is)
    };
    let until = if last.is_empty() { 0 } else { said(last).unwrap() + 1 };
    let next: u64 = last.parse().unwrap_or(0) + 1;
    let end = said(&next.to_string()).map_or(lines.len(), |at| at + 1);
    let mut clock = Clock::default();
    let mut mount = Mount::new(MemoryFs::default());
    tree::run(&mut mount, &mut clock, &lines[..until], &mut |_| {}).unwrap();
    let manifest = tree::manifest(&mut mount, &mut clock).unwrap();
    let mut touched: BTreeSet<Vec<u8>> =
        lines[until..end].iter().flat_map(|(_, line)| paths(&line.operation)).collect();
    let found = survey(&mut mount, &mut clock).unwrap();
    let bare = |path: &[u8]| path.strip_prefix(b"/").unwrap_or(path).to_vec();
    let changed: BTreeSet<_> = found
        .iter()
        .filter(|found| touched.contains(&bare(&found.path)))
        .map(|found| found.attributes.ino)
        .collect();
    let others = found.iter().filter(|found| changed.contains(&found.attributes.ino));
    touched.extend(others.map(|found| bare(&found.path)));
    Synced { lines: by_path(&manifest), touched }
}

/// The paths that an operation changes.
fn paths(operation: &Operation) -> Vec<Vec<u8>> {
    let text = operation.to_string();
    let mut words = text.split(' ');
    let name = words.next().unwrap_or_default();
    let count = if matches!(name, "rename" | "link") { 2 } else { 1 };
    words.take(count).map(|word| word.as_bytes().to_vec()).collect()
}

/// Lines of a manifest by path, without the time of change, and without the root, whose count of links is one
/// more in JFFS2 than elsewhere.
fn by_path(manifest: &str) -> BTreeMap<String, String> {
    let parts = |line: &str| {
        let mut fields: Vec<_> = line.split(' ').collect();
        fields[7] = "";
        (fields[0].to_owned(), fields[1..].join(" "))
    };
    manifest.lines().skip(1).map(parts).collect()
}

impl Synced {
    /// What is lost, foreign or changed in `manifest`.
    fn losses(&self, manifest: &str) -> Vec<String> {
        let found = by_path(manifest);
        let free = |path: &str| self.touched.contains(path.as_bytes());
        let mut losses = Vec::new();
        for (path, line) in self.lines.iter().filter(|(path, _)| !free(path)) {
            match found.get(path) {
                None => losses.push(format!("{path} is lost")),
                Some(now) if now != line => losses.push(format!("{path} was {line} and is {now}")),
                Some(_) => {}
            }
        }
        let known = |path: &str| self.lines.contains_key(path) || free(path);
        losses.extend(
            found.keys().filter(|path| !known(path)).map(|path| format!("{path} came back")),
        );
        losses
    }
}

fn cut_and_compare(flash: Flash, writes: &[u32]) {
    let Some(guest) = Guest::find() else { return };
    let operations = trees::until_power_fails(Seed::new(1), &format!("cuts {}", flash.page));
    let share = Share::new();
    share.write("operations", &operations);
    let cuts = guest.cut(&share, &writing(flash), writes);
    assert!(cuts.len() * 4 >= writes.len() * 3, "the list is too short for {writes:?}");
    let share = Share::new();
    let mut job = flash.load(&[SIZE]) + LOOK;
    for cut in &cuts {
        share.write(&format!("{}.dump", cut.writes), flash.rebuild(cut, SIZE));
        writeln!(job, "look {}", cut.writes).unwrap();
    }
    guest.run(&share, &job);
    let compare = |cut: &Cut| {
        let dump = share.read(&format!("{}.dump", cut.writes)).unwrap();
        let kernel = share.text_of(&format!("{}.manifest", cut.writes));
        let ours = manifest_of_dump(flash, dump).unwrap_or_else(|error| error);
        let last = cut.log.lines().last().unwrap_or_default();
        let told =
            format!("{} bytes a page, after {} writes, synced {last}", flash.page, cut.writes);
        if let Some(found) = difference(&kernel, &ours) {
            return Some(format!("{told}: {found}"));
        }
        let losses = synced(&operations, last).losses(&ours);
        (!losses.is_empty()).then(|| format!("{told}: {}", losses.join("\n")))
    };
    assert_none(&cuts.iter().filter_map(compare).collect::<Vec<_>>());
}

#[test]
fn a_kernel_killed_in_mid_write_leaves_what_is_read_here_as_the_kernel_reads_it() {
    cut_and_compare(nandsim::ALL[1], &[3000, 5500, 7000, 8500]);
}

#[test]
fn the_same_with_all_page_sizes_and_many_cuts() {
    if !full() {
        return;
    }
    for (flash, step) in nandsim::ALL.into_iter().zip([3500, 900, 450]) {
        let writes: Vec<u32> = (1..=12).map(|number| number * step + number * number).collect();
        cut_and_compare(flash, &writes);
    }
}

#[test]
fn a_loss_a_change_and_a_file_that_came_back_are_found() {
    let operations = "file a 0644\nwrite a 0 10 text 1 10\nfile b 0644\nfile c 0644\nunlink c\nsync\nsay 1\nunlink b\nsync\nsay 2\n";
    let synced = synced(operations, "1");
    let now = |text: &str| synced.losses(text);
    let root = ". d 0755 0 0 2 - 7 - - - -\n";
    let a = "a f 0644 0 0 1 10 5 - - - 6ee94413\n";
    let b = "b f 0644 0 0 1 0 5 - - - 00000000\n";
    assert_eq!(now(&format!("{root}{a}{b}")), [""; 0]);
    assert_eq!(now(&format!("{root}{a}")), [""; 0], "what was not synced may be gone");
    assert_eq!(now(&format!("{root}{b}")), ["a is lost"]);
    assert_eq!(now(&format!("{root}{}", a.replace("6ee9", "0000"))).len(), 1);
    assert_eq!(now(&format!("{root}{a}c f 0644 0 0 1 0 5 - - - 00000000\n")), ["c came back"]);
}
