//! Flashes that Linux wrote, held against what Linux says is in them.
//!
//! `BOARDLAB_UBIFS_SAMPLES` names a folder of samples: `NAME.bin`, the pages of a NAND without their OOB
//! bytes, `NAME.manifest`, and `NAME.shape` with the bytes of a page and of an erase block. `NAME.after`
//! is the flash after Linux has mounted and unmounted it.
use crate::manifest::manifest;
use crate::support::{check, checked, mount};
use boardlab_sim::Clock;
use boardlab_ubi::lebs::Shape;
use boardlab_ubi::{LebIndex, Lebs, RamLebs};
use boardlab_ubifs::{Checks, Options};
use boardlab_vfs::{FileSystem, Mount};
use std::collections::BTreeMap;
use std::path::Path;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The LEBs of the first volume, the newest copy of each.
fn lebs_of(flash: &[u8], page: usize, block: usize) -> RamLebs {
    let header = flash.chunks(block).find(|peb| peb.starts_with(b"UBI#")).unwrap();
    let (vid, data) = (word(header, 16), word(header, 20));
    let (vid, data) = (usize::try_from(vid).unwrap(), usize::try_from(data).unwrap());
    let mut table = None;
    let mut newest: BTreeMap<u32, (u64, &[u8])> = BTreeMap::new();
    for peb in flash.chunks(block) {
        let header = &peb[vid..vid + 64];
        let sound = boardlab_codec::crc32(u32::MAX, &header[..60]) == word(header, 60);
        if !header.starts_with(b"UBI!") || !sound {
            continue;
        }
        let (volume, lnum) = (word(header, 8), word(header, 12));
        if volume == 0x7FFF_EFFF {
            table = Some(&peb[data..]);
        }
        if volume != 0 {
            continue;
        }
        let sqnum = u64::from_be_bytes(header[40..48].try_into().unwrap());
        let size = usize::try_from(word(header, 20)).unwrap();
        let whole = header[6] == 0
            || boardlab_codec::crc32(u32::MAX, &peb[data..data + size]) == word(header, 32);
        let found = newest.get(&lnum);
        if whole && found.is_none_or(|&(other, _)| other < sqnum) {
            newest.insert(lnum, (sqnum, &peb[data..]));
        }
    }
    let shape = Shape {
        leb_count: word(table.unwrap(), 0),
        leb_size: u32::try_from(block - data).unwrap(),
        leb_start: u32::try_from(data).unwrap(),
        min_io: u32::try_from(page).unwrap(),
        max_write: u32::try_from(page).unwrap(),
    };
    let (mut lebs, mut clock) = (RamLebs::new(shape), Clock::new());
    for (lnum, (_, content)) in newest {
        let used = content.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
        let length = used.next_multiple_of(page);
        lebs.change(&mut clock, LebIndex(lnum), &content[..length]).unwrap();
    }
    lebs
}

/// Mounts one sample read-only and writable; what differs.
fn differs(folder: &Path, name: &str) -> Option<String> {
    let read = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}")));
    let shape = String::from_utf8(read("shape").unwrap()).unwrap();
    let numbers: Vec<usize> = shape.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let lebs = lebs_of(&read("bin").unwrap(), numbers[0], numbers[1]);
    let expected = String::from_utf8(read("manifest").unwrap()).unwrap();
    let mut clock = Clock::new();
    let options = Options { read_only: true, ..checked() };
    let checks = Checks { lprops: false, ..Checks::ALL };
    for options in [Options { checks, ..options }, checked()] {
        let mut fs = mount(&mut clock, lebs.clone(), options);
        for (found, line) in manifest(&mut fs).iter().zip(expected.lines()) {
            if found != line {
                return Some(format!("{name}:\n  {found:.300}\n  {line:.300}"));
            }
        }
        if manifest(&mut fs).len() != expected.lines().count() {
            return Some(format!("{name}: another number of names"));
        }
        check(&mut clock, &mut fs);
        fs.unmount(&mut clock).unwrap();
        let mut fs = mount(&mut clock, fs.into_lebs(), checked());
        check(&mut clock, &mut fs);
    }
    None
}

/// Mounts and unmounts one sample; which LEBs are not as Linux leaves them.
fn differs_after(folder: &Path, name: &str) -> Option<String> {
    let read = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}")));
    let after = read("after").ok()?;
    let shape = String::from_utf8(read("shape").unwrap()).unwrap();
    let numbers: Vec<usize> = shape.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let mut clock = Clock::new();
    let lebs = lebs_of(&read("bin").unwrap(), numbers[0], numbers[1]);
    let mut mounted = Mount::new(mount(&mut clock, lebs, Options::default()));
    mounted.unmount(&mut clock).unwrap();
    let (ours, theirs) = (mounted.into_fs().into_lebs(), lebs_of(&after, numbers[0], numbers[1]));
    let written = |lebs: &RamLebs, leb| {
        let content = lebs.content(LebIndex(leb)).unwrap_or_default();
        let end = content.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
        content[..end].to_vec()
    };
    let differing: Vec<u32> = (0..ours.shape().leb_count)
        .filter(|&leb| written(&ours, leb) != written(&theirs, leb))
        .collect();
    (!differing.is_empty()).then(|| format!("{name}: LEBs {differing:?} differ after unmount"))
}

#[test]
fn flashes_of_linux_hold_what_linux_says() {
    let Some(folder) = std::env::var_os("BOARDLAB_UBIFS_SAMPLES") else {
        eprintln!("skipped: needs BOARDLAB_UBIFS_SAMPLES");
        return;
    };
    let only = std::env::var("BOARDLAB_UBIFS_ONLY").unwrap_or_default();
    let folder = Path::new(&folder);
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".bin").map(str::to_owned))
        .filter(|name| name.contains(&only))
        .collect();
    names.sort();
    let mut problems = Vec::new();
    for name in &names {
        let found = std::panic::catch_unwind(|| differs(folder, name));
        problems.extend(found.unwrap_or_else(|_| Some(format!("{name}: panicked"))));
        let found = std::panic::catch_unwind(|| differs_after(folder, name));
        problems.extend(found.unwrap_or_else(|_| Some(format!("{name}: panicked"))));
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), names.len(), problems.join("\n"));
}
