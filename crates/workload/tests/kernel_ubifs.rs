//! Flashes that Linux wrote with UBIFS, held against what Linux says is in them.
//!
//! Three flashes are kept beside the tests of UBIFS, in `images/`, which explains their files.
//! `BOARDLAB_UBIFS_SAMPLES` names a folder of more: `NAME.bin`, the pages of a NAND without their OOB
//! bytes, `NAME.manifest`, and `NAME.shape` with the bytes of a page and of an erase block. `NAME.after`
//! is the flash after Linux has mounted and unmounted it.
use boardlab_codec::zlib::Inflate;
use boardlab_sim::Clock;
use boardlab_ubi::lebs::Shape;
use boardlab_ubi::{LebIndex, Lebs, RamLebs};
use boardlab_ubifs::{Checks, Options, Ubifs};
use boardlab_vfs::{FileSystem, Mount};
use boardlab_workload::tree::manifest;
use std::collections::BTreeMap;
use std::path::Path;

/// All checks on.
fn checked() -> Options {
    Options { checks: Checks::ALL, ..Options::default() }
}

fn mount(clock: &mut Clock, lebs: RamLebs, options: Options) -> Ubifs<RamLebs> {
    Ubifs::mount(clock, lebs, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks everything that can be checked.
fn check(clock: &mut Clock, fs: &mut Ubifs<RamLebs>) {
    fs.check_tables().unwrap();
    fs.check_all(clock).unwrap_or_else(|error| panic!("{error}"));
}

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

/// A flash that Linux wrote until its power failed.
struct Sample {
    name: String,
    /// Bytes of a page.
    page: usize,
    /// Bytes of an erase block.
    block: usize,
    /// The pages.
    flash: Vec<u8>,
    /// What Linux found in it.
    manifest: String,
    /// The flash after Linux had mounted and unmounted it.
    after: Option<Vec<u8>>,
}

impl Sample {
    /// Reads a sample of a folder.
    fn load(folder: &Path, name: &str) -> Self {
        let read = |ending: &str| std::fs::read(folder.join(format!("{name}.{ending}")));
        let text = |ending: &str| String::from_utf8(read(ending).unwrap()).unwrap();
        let shape = text("shape");
        let numbers: Vec<usize> =
            shape.split_whitespace().map(|word| word.parse().unwrap()).collect();
        Self {
            name: name.to_owned(),
            page: numbers[0],
            block: numbers[1],
            flash: read("bin").unwrap(),
            manifest: text("manifest"),
            after: read("after").ok(),
        }
    }

    /// Unpacks a sample of `images/`, of a flash of 16 MiB.
    fn unpack(name: &str, page: usize, block: usize, packed: &[u8], manifest: &str) -> Self {
        let mut unpacked = vec![0; 1 << 20];
        let length = Inflate::new().raw(packed, &mut unpacked).unwrap();
        let pages = (16 << 20) / page;
        let (maps, contents) = unpacked[..length].split_at(2 * 2 * pages);
        let flash = |map: &[u8]| {
            let mut flash = vec![0xFF; 16 << 20];
            for (place, number) in flash.chunks_exact_mut(page).zip(map.chunks_exact(2)) {
                let number = usize::from(u16::from_be_bytes(number.try_into().unwrap()));
                if let Some(before) = number.checked_sub(1) {
                    place.copy_from_slice(&contents[before * page..number * page]);
                }
            }
            flash
        };
        let (before, after) = maps.split_at(2 * pages);
        Self {
            name: name.to_owned(),
            page,
            block,
            flash: flash(before),
            manifest: manifest.to_owned(),
            after: Some(flash(after)),
        }
    }

    fn lebs(&self) -> RamLebs {
        lebs_of(&self.flash, self.page, self.block)
    }
}

/// The samples of `images/`.
fn kept() -> [Sample; 3] {
    macro_rules! kept {
        ($name:literal, $page:literal, $block:literal) => {
            Sample::unpack(
                $name,
                $page,
                $block,
                include_bytes!(concat!("../../ubifs/tests/images/", $name, ".deflate")),
                include_str!(concat!("../../ubifs/tests/images/", $name, ".manifest")),
            )
        };
    }
    [
        kept!("cut-2048-427", 2_048, 131_072),
        kept!("cut-2048-no-sub-pages-450", 2_048, 131_072),
        kept!("cut-512-2392", 512, 16_384),
    ]
}

/// Mounts one sample read-only and writable; what differs.
fn differs(sample: &Sample) -> Option<String> {
    let (name, expected, lebs) = (&sample.name, &sample.manifest, sample.lebs());
    let mut clock = Clock::new();
    let options = Options { read_only: true, ..checked() };
    let checks = Checks { lprops: false, ..Checks::ALL };
    for options in [Options { checks, ..options }, checked()] {
        let mut fs = mount(&mut clock, lebs.clone(), options);
        let found = manifest(&mut Mount::new(&mut fs), &mut clock).unwrap();
        for (found, line) in found.lines().zip(expected.lines()) {
            if found != line {
                return Some(format!("{name}:\n  {found:.300}\n  {line:.300}"));
            }
        }
        if found.lines().count() != expected.lines().count() {
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
fn differs_after(sample: &Sample) -> Option<String> {
    let Sample { name, page, block, after, .. } = sample;
    let (lebs, mut clock) = (sample.lebs(), Clock::new());
    let mut mounted = Mount::new(mount(&mut clock, lebs, Options::default()));
    mounted.unmount(&mut clock).unwrap();
    let (ours, theirs) = (mounted.into_fs().into_lebs(), lebs_of(after.as_ref()?, *page, *block));
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

/// What differs from Linux in samples.
fn problems(samples: impl IntoIterator<Item = Sample>) -> Vec<String> {
    let mut problems = Vec::new();
    for sample in samples {
        for look in [differs, differs_after] {
            let found = std::panic::catch_unwind(|| look(&sample));
            problems.extend(found.unwrap_or_else(|_| Some(format!("{}: panicked", sample.name))));
        }
    }
    problems
}

#[test]
fn three_flashes_whose_power_failed_hold_what_linux_found_and_become_what_linux_made_of_them() {
    let found = problems(kept());
    assert!(found.is_empty(), "{}", found.join("\n"));
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
    let found = problems(names.iter().map(|name| Sample::load(folder, name)));
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), names.len(), found.join("\n"));
}
