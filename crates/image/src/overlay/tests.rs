//! Overlays that end anywhere, with any bit wrong, of other dumps, and read twice.

use super::{HEADER_SIZE, Header, Identity, Log, OverlayError, Replayed, State, replay};
use crate::contents::Contents;
use crate::dump::{Dump, Journal};
use crate::shape::Shape;
use boardlab_mtd::{BlockIndex, Mtd, PageIndex};
use boardlab_sim::{Bytes, Clock};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const PAGE: Bytes = Bytes::new(512);
const SHAPE: Shape = Shape::nand(PAGE, Bytes::new(16), Bytes::kib(4));
/// Bytes in front of the flash.
const BEFORE: usize = 64;

/// A file that is removed with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("boardlab-overlay-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn create(&self) -> File {
        File::options().read(true).write(true).create(true).truncate(true).open(&self.0).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Something, and four blocks of eight pages; data are the number of the page, spare bytes 0xFF.
fn dump() -> Contents {
    let page = |number| [vec![number; 512], vec![0xFF; 16]].concat();
    Contents::of([vec![0xEE; BEFORE], (0..32).flat_map(page).collect()].concat())
}

fn flash(contents: &Contents) -> Dump {
    Dump::new(contents.from(Bytes::new(BEFORE as u64)), SHAPE).unwrap()
}

fn all(contents: &Contents) -> Vec<u8> {
    contents.window(Bytes::ZERO, 1 << 20)
}

/// Changes a flash step by step, with a log. Returns the state of the image after each record, and the length
/// of the log by then.
fn history(scratch: &Scratch) -> Vec<(usize, Vec<u8>)> {
    let (dump, mut clock) = (dump(), Clock::new());
    let mut flash = flash(&dump);
    let header = Header::of(Identity::of(&dump).unwrap(), Bytes::new(BEFORE as u64), &flash);
    let log = State::new(Log::begin(scratch.create(), &header, &flash, None).unwrap());
    flash.set_journal(Box::new(log.clone()));
    let mut states = Vec::new();
    let mut note = |flash: &Dump| {
        let mut bytes = all(&dump);
        for block in 0..4 {
            let start = BEFORE + block * 528 * 8;
            match flash.changed_block(BlockIndex(u32::try_from(block).unwrap())) {
                Some([]) => bytes[start..start + 528 * 8].fill(0xFF),
                Some(changed) => bytes[start..start + 528 * 8].copy_from_slice(changed),
                None => {}
            }
        }
        let length = log.with(|log| log.length());
        states.push((length.to_usize(), bytes));
    };
    note(&flash);
    flash.program_oob(&mut clock, PageIndex(0), &[0; 512], &[1, 2, 3]).unwrap();
    note(&flash);
    flash.erase(&mut clock, BlockIndex(1)).unwrap();
    note(&flash);
    flash.program(&mut clock, PAGE * 8, &[0x55; 512]).unwrap();
    note(&flash);
    log.with(Log::sync).unwrap();
    note(&flash);
    flash.replace(&mut clock, BlockIndex(2), &[0x33; 1_024]).unwrap();
    note(&flash);
    flash.mark_bad(&mut clock, BlockIndex(3)).unwrap();
    note(&flash);
    flash.program(&mut clock, PAGE * 8, &[0x0F; 512]).unwrap();
    note(&flash);
    states
}

fn read(overlay: Vec<u8>) -> Result<Replayed, OverlayError> {
    let dump = dump();
    replay(&dump, Identity::of(&dump).unwrap(), &Contents::of(overlay))
}

#[test]
fn a_log_that_ends_anywhere_is_the_flash_after_its_last_whole_record() {
    let scratch = Scratch::new();
    let states = history(&scratch);
    let bytes = scratch.bytes();
    assert_eq!(bytes.len(), states.last().unwrap().0);
    for length in 0..=bytes.len() {
        let found = read(bytes[..length].to_vec());
        if length < HEADER_SIZE {
            assert!(matches!(found, Err(OverlayError::Other(_))), "{length}");
            continue;
        }
        let found = found.unwrap();
        let (whole, expected) = states.iter().rfind(|(end, _)| *end <= length).unwrap();
        assert_eq!(all(&found.contents), *expected, "{length} bytes");
        // A record of a sync changes nothing of the flash.
        assert!(found.length.to_usize() >= *whole, "{length} bytes");
        assert_eq!(found.length + found.torn, Bytes::new(length as u64));
    }
}

#[test]
fn a_wrong_bit_is_never_believed_and_told_where_the_record_was_on_the_disk() {
    let scratch = Scratch::new();
    let states = history(&scratch);
    let bytes = scratch.bytes();
    let synced = states[4].0;
    let (mut damaged, mut cut) = (0, 0);
    for bit in 0..bytes.len() * 8 {
        let mut wrong = bytes.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        let at = bit / 8;
        match read(wrong) {
            Err(OverlayError::Other(_)) => assert!(at < HEADER_SIZE, "bit {bit}"),
            Err(OverlayError::Damaged { at: told }) => {
                damaged += 1;
                assert!(at < synced && told.to_usize() <= at, "bit {bit}");
            }
            Err(other) => panic!("bit {bit}: {other}"),
            Ok(found) => {
                cut += 1;
                assert!(at >= synced - super::format::RECORD_SIZE, "bit {bit} was not noticed");
                let (_, expected) = states.iter().rfind(|(end, _)| *end <= at).unwrap();
                assert_eq!(all(&found.contents), *expected, "bit {bit}");
                assert!(!found.torn.is_zero());
            }
        }
    }
    assert!(damaged > 1_000 && cut > 1_000, "{damaged} damaged, {cut} cut off");
}

#[test]
fn a_log_goes_on_and_is_begun_anew_with_the_same_flash() {
    let scratch = Scratch::new();
    let states = history(&scratch);
    let expected = &states.last().unwrap().1;
    // Something torn is cut off, and more is written.
    let mut bytes = scratch.bytes();
    bytes.extend([7; 20]);
    std::fs::write(&scratch.0, &bytes).unwrap();
    let found = read(bytes).unwrap();
    assert_eq!(found.torn, Bytes::new(20));
    let file = File::options().read(true).write(true).open(&scratch.0).unwrap();
    let mut log = Log::go_on(file, found.length, found.sequence).unwrap();
    let mut on = flash(&found.contents);
    let change = crate::dump::Change::Program { at: Bytes::new(4), data: &[0] };
    log.note(change).unwrap();
    let later = read(scratch.bytes()).unwrap();
    let mut programmed = expected.clone();
    programmed[BEFORE + 4] = 0;
    assert_eq!(all(&later.contents), programmed);
    // The changes of both go into a new log, and those of the flash count.
    on.erase(&mut Clock::new(), BlockIndex(2)).unwrap();
    let header = later.header;
    let again = Scratch::new();
    Log::begin(again.create(), &header, &on, Some(&later.patches)).unwrap();
    let start = BEFORE + 2 * 528 * 8;
    programmed[start..start + 528 * 8].fill(0xFF);
    assert_eq!(all(&read(again.bytes()).unwrap().contents), programmed);
}

#[test]
fn an_overlay_read_twice_changes_nothing_more() {
    let scratch = Scratch::new();
    history(&scratch);
    let first = read(scratch.bytes()).unwrap();
    let overlay = Contents::of(scratch.bytes());
    // The records on top of their own result.
    let header = first.header;
    let mut twice = first.patches.clone();
    let again = read(scratch.bytes()).unwrap();
    for (number, bytes) in again.patches.iter() {
        twice.replace(number, bytes);
    }
    let twice = dump().patched(twice);
    assert_eq!(all(&twice), all(&first.contents));
    let identity = Identity::of(&first.contents).unwrap();
    let other = replay(&first.contents, identity, &overlay);
    assert!(
        matches!(other, Err(OverlayError::OfAnother { expected, .. }) if expected == header.dump)
    );
}

#[test]
fn an_applied_overlay_belongs_to_both_images() {
    let scratch = Scratch::new();
    history(&scratch);
    let found = read(scratch.bytes()).unwrap();
    let image = Identity::of(&found.contents).unwrap();
    let file = File::options().read(true).write(true).open(&scratch.0).unwrap();
    Log::go_on(file, found.length, found.sequence).unwrap().applied(image).unwrap();
    // The kill came before the renaming: nothing is lost.
    let before = read(scratch.bytes()).unwrap();
    assert!(!before.spent);
    assert_eq!(all(&before.contents), all(&found.contents));
    // It came after it: there is nothing left to do.
    let new = Contents::of(all(&found.contents));
    let after = replay(&new, image, &Contents::of(scratch.bytes())).unwrap();
    assert!(after.spent);
    assert_eq!(all(&after.contents), all(&new));
}

#[test]
fn a_log_that_cannot_be_written_prevents_the_change_and_all_later_ones() {
    let scratch = Scratch::new();
    history(&scratch);
    // A file that is open for reading cannot be written.
    let file = File::open(&scratch.0).unwrap();
    let (dump, mut clock) = (dump(), Clock::new());
    let mut flash = flash(&dump);
    let length = Bytes::new(scratch.bytes().len() as u64);
    assert!(Log::go_on(file, length, 9).is_err());
    let full = std::path::Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let file = File::options().write(true).open(full).unwrap();
    let log = State::new(Log::unwritable(file));
    flash.set_journal(Box::new(log.clone()));
    let mut before = [0; 4_096];
    flash.read(&mut clock, Bytes::ZERO, &mut before).unwrap();
    assert!(flash.erase(&mut clock, BlockIndex(0)).is_err());
    assert!(flash.program(&mut clock, Bytes::ZERO, &[0; 512]).is_err());
    assert!(flash.program_oob(&mut clock, PageIndex(0), &[0; 512], &[0]).is_err());
    assert!(flash.replace(&mut clock, BlockIndex(0), &[0; 512]).is_err());
    assert!(flash.mark_bad(&mut clock, BlockIndex(0)).is_err());
    let mut after = [0; 4_096];
    flash.read(&mut clock, Bytes::ZERO, &mut after).unwrap();
    assert_eq!(before, after);
    assert_eq!(flash.changed_blocks(), 0);
    assert!(log.failure().unwrap().contains("space"), "{:?}", log.failure());
    assert!(log.with(Log::sync).is_err());
}

#[test]
fn a_small_overlay_takes_little_memory_whatever_it_claims() {
    let (dump, huge) = (dump(), Shape::nor(Bytes::mib(64)));
    let identity = Identity::of(&dump).unwrap();
    let header = Header { dump: identity, at: Bytes::ZERO, shape: huge, blocks: 1 << 20 };
    let mut bytes = header.emit().to_vec();
    for sequence in 1..=200 {
        let at = Bytes::mib(64) * sequence;
        let change = crate::dump::Change::Program { at, data: &[0] };
        super::Record::Change(change).emit(sequence, &mut bytes);
    }
    let found = replay(&dump, identity, &Contents::of(bytes));
    assert!(matches!(found, Err(OverlayError::TooMuch { .. })), "{found:?}");
}
