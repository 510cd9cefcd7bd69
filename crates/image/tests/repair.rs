//! Images that are damaged and repaired: the new one has no fault and everything that could be read, and what is
//! lost is told.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod planted;
#[allow(dead_code, reason = "no file is planted alone")]
mod scratch;
mod ubi_images;

use boardlab_image::check::check;
use boardlab_image::controller::{CodePattern, Constant, PageCode, named};
use boardlab_image::diff::diff;
use boardlab_image::files::Taking;
use boardlab_image::finding::Severity;
use boardlab_image::gather::{Gathered, gather};
use boardlab_image::make::{
    Compression, FileOptions, Flash, Jffs2Options, MakeError, Pad, Placing, of_folder,
};
use boardlab_image::names::shown;
use boardlab_image::repair::report::report;
use boardlab_image::repair::{NewImage, Part, Repaired, repair};
use boardlab_image::{Contents, Error, Hints, open};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Seed, Stream};
use scratch::Scratch;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

const OOB: usize = 128;
const FLASH: Flash = Flash {
    erase_counter: 3,
    image_seq: Some(7),
    oob: Some(Bytes::new(OOB as u64)),
    // A weaker one takes many a wrong page for a right one.
    ecc: Some((8, Bytes::new(512))),
    ..Flash::of(Bytes::kib(2), Bytes::kib(128))
};
const BOARD: &[u8] = include_bytes!("data/board.jffs2");
const BAD: [u32; 2] = [0, 5];

/// A dump with spare bytes, and where the filesystem allows that with bad blocks.
fn made(fs: &str) -> Vec<u8> {
    let scratch = Scratch::new(fs);
    planted::plant(&scratch.0, 11);
    let placing = match fs {
        "logfs" => Placing { pad: None, bad_blocks: vec![5, 9] },
        _ => Placing { pad: Some(Pad::Blocks(80)), bad_blocks: BAD.to_vec() },
    };
    let max_lebs = if matches!(fs, "ubifs" | "logfs") { 80 } else { 0 };
    let flash =
        if fs == "ubifs" { Flash { sub_page: Some(Bytes::new(512)), ..FLASH } } else { FLASH };
    let options = FileOptions { fs: fs.into(), max_lebs, placing, ..FileOptions::default() };
    of_folder(&scratch.0, &flash, &options, Seed::new(1)).unwrap().bytes
}

/// Images with the volume to look at, and with the bytes of a block in the file.
fn images() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    vec![
        ("jffs2 on NOR", [BOARD, &[0xFF; 24_576]].concat(), None),
        ("jffs2 on NAND", made("jffs2"), None),
        ("yaffs2", made("yaffs2"), None),
        ("logfs", made("logfs"), None),
        ("ubi", made("ubifs"), Some("rootfs")),
        ("volume", ubi_images::single(), None),
        ("volumes", ubi_images::two(), Some("rootfs")),
    ]
}

fn files(bytes: &[u8], volume: Option<&str>) -> Gathered {
    let hints = Hints { volume: volume.map(Into::into), partial: true, ..Hints::default() };
    let image = open(&Contents::of(bytes.to_vec()), &hints).unwrap();
    gather(image, b"/", u64::MAX, &Taking::default()).unwrap()
}

fn repaired(bytes: &[u8]) -> Result<Repaired, MakeError> {
    repair(&Contents::of(bytes.to_vec()), &Hints::default(), Seed::new(1))
}

fn errors(bytes: &[u8]) -> usize {
    let findings = check(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap();
    findings.iter().filter(|one| one.severity != Severity::Note).count()
}

/// Inverts bytes all over the image, but in what is erased.
fn damage(bytes: &mut [u8], stream: &mut Stream, count: usize) {
    let places = u64::try_from(bytes.len()).unwrap();
    let mut done = 0;
    while done < count {
        let at = usize::try_from(stream.below(places)).unwrap();
        if bytes[at] != 0xFF {
            let end = bytes.len().min(at + 12);
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x5A);
            done += 1;
        }
    }
}

#[test]
fn whole_images_are_left_alone() {
    for (name, bytes, _) in images() {
        let done = repaired(&bytes).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert!(done.new.is_none() && done.is_whole(), "{name}: {:?}", done.before);
        let told = report("image", "new", done);
        assert!(told.whole && told.run.findings[0].starts_with("Nothing is to be repaired"));
    }
}

/// Whether all that differs from the whole image is told.
fn check_told(name: &str, new: &NewImage, (before, after): (&Gathered, &Gathered)) {
    let told: BTreeSet<String> = new
        .parts
        .iter()
        .flat_map(|part| {
            let lost = part.left_out.iter().map(|one| one.path.as_slice());
            lost.chain(part.changes.iter().map(|one| one.path.as_slice()))
        })
        .map(shown)
        .collect();
    let may_miss = new.parts.iter().any(|part| !part.damage.is_empty());
    for change in diff(&before.tree, &after.tree) {
        let path = shown(&change.path);
        // What is lost of a folder are names in it.
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_told = told.contains(&path) || above.any(|folder| told.contains(folder));
        // What has no header any more has another name in YAFFS or none, and a folder another place.
        let is_anonymous = |path: &String| path.contains("/obj") || path.starts_with("inode ");
        let is_renamed = told.iter().any(is_anonymous);
        let what = change.what.class();
        assert!(may_miss || is_told || is_renamed, "{name}: {path}, {what}, is not told");
    }
}

#[test]
fn what_can_be_read_of_damaged_images_is_in_the_new_one_and_the_rest_is_told() {
    let (mut stream, mut changed) = (Seed::new(5).stream("damage"), BTreeSet::new());
    for (name, bytes, volume) in images() {
        let before = files(&bytes, volume);
        // In the sample, little damage and much.
        let rounds = if std::env::var_os("BOARDLAB_FULL").is_some() { 24 } else { 2 };
        for round in 0..rounds {
            let mut hurt = bytes.clone();
            damage(&mut hurt, &mut stream, 1 + round * 9);
            let done = match repaired(&hurt) {
                Ok(done) => done,
                // It cannot be mounted, or is no image any more.
                Err(MakeError::Flash(Error::Mount(_) | Error::OtherContent { .. })) => continue,
                // So many codes are wrong that nobody knows which code it is.
                Err(MakeError::Flash(Error::NoRecipe { .. })) if round > 10 => continue,
                Err(problem) => panic!("{name}: {problem} {problem:?}"),
            };
            let Some(new) = &done.new else { continue };
            changed.insert(name);
            // mkfs.jffs2 does not fill the last block, and what is no dump of a flash may grow.
            let more = new.bytes.len() - hurt.len();
            assert!(name.starts_with("volume") || (0..8_192).contains(&more), "{name}: {more}");
            let is_kept = new.parts.iter().any(|part| part.names.is_none());
            if !is_kept || done.is_whole() {
                assert_eq!(errors(&new.bytes), 0, "{name} {round}: {:?}", new.after);
                assert!(repaired(&new.bytes).unwrap().new.is_none(), "{name}");
            }
            let is_anew = |part: &Part| part.names.is_some() && part.volume.as_deref() == volume;
            if new.parts.iter().any(is_anew) {
                check_told(name, new, (&before, &files(&new.bytes, volume)));
            }
            let told = report("image", "new", done);
            assert!(told.run.table("parts").is_some_and(|parts| !parts.rows.is_empty()));
        }
    }
    assert_eq!(changed.len(), images().len(), "{changed:?}");
}

/// Damaged blocks of a directory once ended the check of LogFS.
#[test]
fn damage_never_ends_a_check() {
    let (bytes, mut stream) = (made("logfs"), Seed::new(8).stream("damage"));
    for _ in 0..24 {
        let mut hurt = bytes.clone();
        damage(&mut hurt, &mut stream, 60);
        let found = check(&Contents::of(hurt), &Hints::default());
        let is_told = matches!(found, Ok(_) | Err(Error::OtherContent { .. }));
        assert!(is_told, "{:?}", found.err());
    }
}

#[test]
fn what_lies_around_an_image_stays() {
    let mut hurt = BOARD.to_vec();
    let magic = hurt.windows(2).rposition(|pair| pair == [0x19, 0x85] || pair == [0x85, 0x19]);
    hurt[magic.unwrap() + 14] ^= 0xFF;
    let mut code = vec![0; 60_000];
    Seed::new(3).stream("code").fill(&mut code);
    for front in [b"boot loader\n".repeat(5_400), b"boot loader ".repeat(5_400), code] {
        let front = [front.clone(), vec![0xFF; 65_536 - front.len()]].concat();
        let whole = [front.clone(), hurt.clone()].concat();
        let hints = Hints { block: Some(Bytes::kib(8)), ..Hints::default() };
        let done = repair(&Contents::of(whole.clone()), &hints, Seed::new(1)).unwrap();
        let new = done.new.unwrap();
        assert!(new.bytes.len() >= whole.len());
        assert!(new.bytes[..front.len()] == front, "{:?}", &front[..12]);
    }
}

#[test]
fn bad_blocks_and_erase_counters_stay() {
    let bytes = made("ubifs");
    let raw = 64 * (2_048 + OOB);
    let mut hurt = bytes.clone();
    // The header of a block, beyond what its ECC corrects.
    hurt[2 * raw..2 * raw + 40].iter_mut().for_each(|byte| *byte ^= 0x3C);
    let new = repaired(&hurt).unwrap().new.unwrap();
    for block in BAD.map(|block| usize::try_from(block).unwrap()) {
        let first = block * raw + 2_048;
        assert_eq!(new.bytes[first..first + 2], bytes[first..first + 2], "mark of block {block}");
    }
    // UBI#, version, padding, erase counter.
    let header = &new.bytes[raw..raw + 16];
    assert_eq!((&header[..4], header[15]), (&b"UBI#"[..], 3));
}

#[test]
fn a_controller_s_spare_bytes_are_refused_with_what_to_do() {
    let bytes = made("jffs2");
    let raw = 2_048 + OOB;
    // The code lies elsewhere: not where Linux puts it.
    let mut moved: Vec<u8> = Vec::new();
    for page in bytes.chunks(raw) {
        let (data, oob) = page.split_at(2_048);
        moved.extend(data);
        moved.extend(&oob[..2]);
        moved.extend(&oob[76..]);
        moved.extend(&oob[2..76]);
    }
    moved[70 * raw..70 * raw + 500].fill(0);
    let Err(problem) = repaired(&moved) else { panic!("it was repaired") };
    assert!(matches!(problem, MakeError::Flash(Error::NoRecipe { .. })), "{problem}");
}

/// An image of a folder, without spare bytes.
fn plain(options: &FileOptions) -> Vec<u8> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let scratch = Scratch::new(&format!("plain-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    planted::plant(&scratch.0, 12);
    let text: String = (0..3_000).map(|line| format!("line {line} of a text\n")).collect();
    std::fs::write(scratch.0.join("text"), text).unwrap();
    let page = if options.fs == "jffs2" { Bytes::new(1) } else { Bytes::kib(2) };
    let flash = Flash { image_seq: Some(7), ..Flash::of(page, Bytes::kib(128)) };
    of_folder(&scratch.0, &flash, options, Seed::new(1)).unwrap().bytes
}

/// What the nodes of a JFFS2 on NOR show.
fn usage(bytes: &[u8]) -> boardlab_jffs2::usage::Usage {
    let blocks = u32::try_from(bytes.len().div_ceil(131_072)).unwrap();
    let mut flash = boardlab_mtd::RamMtd::nor(blocks, Bytes::kib(128));
    let mut clock = boardlab_sim::Clock::new();
    for (number, block) in (0..).zip(bytes.chunks(131_072)) {
        flash.program(&mut clock, Bytes::kib(128 * number), block).unwrap();
    }
    let options = boardlab_jffs2::Options { read_only: true, ..Default::default() };
    let mut fs = boardlab_jffs2::Jffs2::mount(&mut clock, flash, options).unwrap();
    fs.usage(&mut clock).unwrap()
}

#[test]
fn a_repaired_jffs2_has_the_compression_and_the_summaries_of_before() {
    for (compression, summary) in [
        (Compression::Priority, true),
        (Compression::None, false),
        (Compression::Zlib, true),
        (Compression::Rtime, false),
        (Compression::Lzo, true),
        (Compression::FavorLzo, false),
    ] {
        let jffs2 = Jffs2Options { summary, ..Jffs2Options::default() };
        let (fs, compression) = ("jffs2".into(), Some(compression));
        let bytes = plain(&FileOptions { fs, compression, jffs2, ..FileOptions::default() });
        let mut hurt = bytes.clone();
        // A node of the first block.
        let at = 40_000 + hurt[40_000..].iter().position(|&byte| byte == 0x85).unwrap();
        hurt[at..at + 40].fill(0);
        let new = repaired(&hurt).unwrap().new.unwrap().bytes;
        let [before, after] = [usage(&bytes), usage(&new)];
        assert_eq!((before.summaries > 0, after.summaries > 0), (summary, summary));
        let kinds = |usage: boardlab_jffs2::usage::Usage| usage.compressors.into_keys().collect();
        let [before, after]: [BTreeSet<_>; 2] = [kinds(before), kinds(after)];
        assert_eq!(before, after, "{compression:?}");
    }
}

/// Objects of a LogFS without spare bytes: those that are compressed, and the others.
fn packed(bytes: &[u8]) -> (usize, usize) {
    let at = |at: usize| boardlab_logfs::format::ObjectHeader::parse(&bytes[at..at + 28]).ok();
    let all: Vec<_> = (0..bytes.len() - 28).filter_map(at).collect();
    let packed = all.iter().filter(|header| header.compressed).count();
    (packed, all.len() - packed)
}

#[test]
fn a_repaired_logfs_has_the_compression_of_before() {
    for compression in [Compression::None, Compression::Zlib] {
        let is_packed = compression == Compression::Zlib;
        let (fs, compression, max_lebs) = ("logfs".into(), Some(compression), 80);
        let mut bytes = plain(&FileOptions { fs, compression, max_lebs, ..FileOptions::default() });
        assert_eq!(packed(&bytes).0 > 10, is_packed);
        let at = bytes.windows(8).position(|part| part == b"line 7 o");
        let damaged = at.unwrap_or(131_072 * 6 + 90_000);
        bytes[damaged..damaged + 3_000].fill(0x55);
        let mut stream = Seed::new(3).stream("damage");
        damage(&mut bytes, &mut stream, 3);
        let Some(new) = repaired(&bytes).unwrap().new else { panic!("nothing was wrong") };
        assert_eq!(packed(&new.bytes).0 > 10, is_packed);
    }
}

/// The pages of an image as a controller stores them, with a bad block at the end.
fn stored(image: &[u8], code: &PageCode) -> Vec<u8> {
    let map = &code.map;
    let of = |data: &[u8]| {
        let mut page = [data, &vec![0xFF; map.oob]].concat();
        if data.iter().any(|&byte| byte != 0xFF) {
            code.protect(&mut page);
        }
        map.store(&page)
    };
    let pages = image.chunks(map.page).flat_map(of);
    let mut bad = vec![0xFF; (map.page + map.oob) * 64];
    let mut first = vec![0xFF; map.page + map.oob];
    first[map.page..].fill(0);
    let length = first.len();
    bad[..length].copy_from_slice(&map.store(&first));
    pages.chain(bad).collect()
}

#[test]
fn the_layout_and_the_code_of_a_controller_stay() {
    for (fs, name, oob, text) in [
        ("ubifs", "gpmi", 64, "8/512"),
        ("ubifs", "qcom", 64, "4/512:msb"),
        ("ubifs", "brcm", 64, "4/512:0x201b"),
        ("logfs", "omap", 64, "8/512"),
        ("logfs", "gpmi", 128, "18/512"),
    ] {
        let pattern: CodePattern = text.parse().unwrap();
        let layout = named(name).unwrap();
        let mut codes = (layout.codes)(2_048, oob).into_iter();
        let code = codes.find(|code| pattern.means(code)).unwrap();
        let code = PageCode::new(layout, 2_048, oob, code, Constant::Zero).unwrap();
        let volume = (fs == "ubifs").then(|| "rootfs".into());
        let max_lebs = 80;
        let image = plain(&FileOptions { fs: fs.into(), max_lebs, volume, ..Default::default() });
        let mut bytes = stored(&image, &code);
        let raw = 2_048 + oob;
        let bad = u32::try_from(bytes.len() / (64 * raw) - 1).unwrap();
        // In half of the pages of a block of content, more than can be corrected.
        let is_used = |page: &usize| bytes[page * raw..][..512] != [0xFF; 512];
        let used: Vec<usize> = (64 * 6..bytes.len() / raw - 64).filter(is_used).collect();
        for page in used[used.len() / 2..].iter().take(3) {
            bytes[page * raw..][..700].iter_mut().step_by(3).for_each(|byte| *byte ^= 0x5A);
        }
        let done = repaired(&bytes).unwrap_or_else(|problem| panic!("{fs} {name}: {problem}"));
        let new = done.new.unwrap_or_else(|| panic!("{fs} {name}: nothing was wrong"));
        assert_eq!(errors(&new.bytes), 0, "{fs} {name}: {:?}", new.after);
        let mut again = open(&Contents::of(new.bytes), &Hints::default()).unwrap();
        let found = again.fs.dump().spare().and_then(|spare| spare.controller());
        assert_eq!(found.map(PageCode::options), Some(code.options()), "{fs}");
        let mut is_bad = |block| again.fs.dump_mut().is_bad(&mut again.clock, block).unwrap();
        let marked: Vec<u32> = (0..=bad).filter(|&block| is_bad(BlockIndex(block))).collect();
        assert_eq!(marked, [bad], "{fs} {name}: the mark");
    }
}
