//! The damage on the flash of a YAFFS image, in words.
//!
//! Layer: rank 7. Main function: [`audit`]. All chunks in use are read with their tags. What a mount found that
//! can be no chunk is told too: YAFFS ignores it, and something may be missing because of it.

use super::flash::{ImageFlash, PageLook};
use super::pages::{Verdict, object_header};
use super::past;
use crate::audit::{Audit, FLIPPED, Place};
use crate::error::Error;
use crate::names::shown;
use boardlab_mtd::{BlockIndex, PageIndex};
use boardlab_result::prose::counted;
use boardlab_sim::{Bytes, Clock};
use boardlab_yaffs2::block::State;
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::{DELETED, SEQUENCE_FIRST, SUMMARY, Tags};
use boardlab_yaffs2::{Layout, Yaffs};
use std::collections::{BTreeMap, BTreeSet};

/// The places that are listed; more are counted.
const PLACES: usize = 10_000;
/// The pieces of a file that are listed.
const PIECES: usize = 6;

/// The kinds of chunks.
pub(super) const HEADERS: &str = "object headers";
pub(super) const DATA: &str = "data";
pub(super) const SUMMARIES: &str = "block summaries";

/// An audit that goes on.
struct Auditor<'a> {
    fs: &'a mut Yaffs<ImageFlash>,
    clock: &'a mut Clock,
    audit: Audit,
    page: Vec<u8>,
    holders: Vec<(u32, u32)>,
    /// What each object lost.
    hurt: BTreeMap<u32, Vec<String>>,
    /// Objects with a header, and those that others mention.
    with_header: BTreeSet<u32>,
    mentioned: BTreeSet<u32>,
}

/// Reads all chunks in use and reports the damage.
pub(super) fn audit(fs: &mut Yaffs<ImageFlash>, clock: &mut Clock) -> Result<Audit, Error> {
    let page = vec![0; fs.layout().page];
    let mut auditor = Auditor {
        fs,
        clock,
        audit: Audit::default(),
        page,
        holders: Vec::new(),
        hurt: BTreeMap::new(),
        with_header: BTreeSet::new(),
        mentioned: BTreeSet::new(),
    };
    auditor.read_chunks()?;
    auditor.tell_findings()?;
    auditor.tell_missing_headers();
    auditor.tell_bad_blocks()?;
    auditor.tell_shared_sequences();
    auditor.tell_past();
    let Auditor { fs, mut audit, holders, hurt, .. } = auditor;
    audit.inode_damage =
        hurt.into_iter().map(|(object, words)| (object, words.join("; "))).collect();
    fs.device_mut().holders = holders;
    audit.places.sort_by_key(|place| place.at);
    Ok(audit)
}

impl Auditor<'_> {
    fn start_of(&self, page: PageIndex) -> Bytes {
        self.fs.device().pages.page * u64::from(page.0)
    }

    fn look(&mut self, page: PageIndex) -> Result<PageLook, Error> {
        let look = self.fs.device_mut().look(self.clock, page, &mut self.page);
        look.map_err(Error::from)
    }

    /// Adds a place because of which something is missing, or may be.
    fn add(&mut self, at: Option<Bytes>, what: String, meaning: &'static str, ino: Option<u32>) {
        self.push(Place { at, what, meaning, is_loss: true, ino });
    }

    /// Adds a place that cost nothing.
    fn note(&mut self, at: Option<Bytes>, what: &str, meaning: &'static str, ino: Option<u32>) {
        self.push(Place { at, what: what.into(), meaning, is_loss: false, ino });
    }

    fn push(&mut self, place: Place) {
        if self.audit.places.len() < PLACES {
            self.audit.places.push(place);
        } else {
            self.audit.more += 1;
        }
    }

    fn hurt(&mut self, object: u32, words: String) {
        let pieces = self.hurt.entry(object).or_default();
        match pieces.len() {
            ..PIECES => pieces.push(words),
            PIECES => pieces.push("and more".into()),
            _ => {}
        }
    }

    fn read_chunks(&mut self) -> Result<(), Error> {
        let (blocks, pages) = (self.fs.layout().blocks, self.fs.layout().chunks_per_block);
        for block in Layout::FIRST..Layout::FIRST + blocks {
            for page in 0..pages {
                if self.fs.blocks().is_used(block, page) {
                    let chunk = self.fs.layout().chunk_of(block, page);
                    self.read_chunk(self.fs.layout().page_of(chunk))?;
                }
            }
        }
        Ok(())
    }

    /// As `look`. The data of a chunk that has no ECC need not be read again: the mount has read its tags.
    fn look_at_chunk(&mut self, page: PageIndex) -> Result<PageLook, Error> {
        match self.fs.device().known_tags(page) {
            Some((Some(tags), checked)) if tags.chunk > 0 && checked != Checked::Wrong => {
                Ok(PageLook { whole: true, tags: Some(tags), checked })
            }
            _ => self.look(page),
        }
    }

    fn read_chunk(&mut self, page: PageIndex) -> Result<(), Error> {
        let look = self.look_at_chunk(page)?;
        let at = Some(self.start_of(page));
        self.audit.nodes += 1;
        let damaged = !look.whole || look.checked == Checked::Wrong;
        self.audit.damaged += u64::from(damaged);
        if look.checked == Checked::Corrected {
            let object = look.tags.map(|tags| tags.object);
            self.note(at, "tags with a wrong bit", "nothing: it was corrected", object);
        }
        let Some(tags) = look.tags.filter(|_| look.checked != Checked::Wrong) else {
            // YAFFS knows this chunk by the summary of its block.
            let what = "tags with more wrong bits than can be corrected";
            if !look.whole {
                let what = format!("{what}, and data too");
                self.add(at, what, "a name or a piece of a file", None);
                self.audit.unknown_loss = true;
                return Ok(());
            }
            self.note(at, what, "nothing: the summary of the block says the same", None);
            return Ok(());
        };
        let kind = if tags.chunk == 0 { HEADERS } else { DATA };
        let kind = if tags.object == SUMMARY { SUMMARIES } else { kind };
        let count = self.audit.kinds.entry(kind).or_default();
        count.nodes += 1;
        count.bytes += Bytes::of(&self.page).get();
        count.damaged += u64::from(damaged);
        if kind == SUMMARIES {
            if !look.whole {
                let what = "a block summary that cannot be corrected";
                self.note(at, what, "nothing: the tags say the same", None);
            }
            return Ok(());
        }
        self.holders.push((page.0, tags.object));
        if tags.chunk == 0 {
            self.note_header(&tags, look.whole);
        } else {
            self.mentioned.insert(tags.object);
        }
        if !look.whole {
            self.tell_lost_chunk(at, &tags);
        }
        Ok(())
    }

    fn note_header(&mut self, tags: &Tags, whole: bool) {
        self.with_header.insert(tags.object);
        let order = self.fs.device().pages.order;
        let header = object_header(&self.page, order, false).filter(|_| whole);
        let parent = tags.extra.map(|extra| extra.parent).or(header.map(|header| header.parent));
        self.mentioned.extend(parent.filter(|&parent| parent > DELETED));
    }

    fn tell_lost_chunk(&mut self, at: Option<Bytes>, tags: &Tags) {
        let object = tags.object;
        if tags.chunk == 0 {
            let what = "an object header that cannot be corrected".to_owned();
            self.add(at, what, "the name and all attributes", Some(object));
            let words = "its header cannot be read: name, mode, owner and times are lost";
            self.hurt(object, words.into());
            return;
        }
        let first = u64::from(tags.chunk - 1) * self.fs.layout().chunk_bytes();
        let last = first + u64::from(tags.bytes.max(1)) - 1;
        let what = format!("data that cannot be corrected, bytes {first} to {last}");
        self.add(at, what, "a piece of a file", Some(object));
        self.hurt(object, format!("bytes {first} to {last} cannot be corrected"));
    }

    /// What the mount found besides valid chunks.
    fn tell_findings(&mut self) -> Result<(), Error> {
        let findings = self.fs.findings().clone();
        let unknown = "a name or a piece of a file may be missing or older";
        let lists = [
            (findings.uncorrectable_tags, "more wrong bits than can be corrected"),
            (findings.bad_tags, "a number that cannot be"),
        ];
        for (chunks, cause) in lists {
            for chunk in chunks {
                let page = self.fs.layout().page_of(chunk);
                self.look(page)?;
                let whose = self.whose_header();
                let what = format!("tags{whose} with {cause}");
                self.add(Some(self.start_of(page)), what, unknown, None);
                self.audit.nodes += 1;
                self.audit.damaged += 1;
                self.audit.unknown_loss = true;
            }
        }
        for chunk in findings.unreadable_headers {
            let page = self.fs.layout().page_of(chunk);
            let what = "an object header that cannot be corrected".into();
            self.add(Some(self.start_of(page)), what, unknown, None);
            self.audit.unknown_loss = true;
        }
        for object in findings.hanging {
            let what = format!("object {object}, which no directory leads to");
            let meaning = "its place: it is shown in lost+found";
            self.add(None, what, meaning, Some(object));
            self.audit.unknown_loss = true;
        }
        self.tell_bad_sequences(&findings.bad_sequences)
    }

    /// Of the page that was read last: ` of the header of NAME`, if it is one.
    fn whose_header(&self) -> String {
        let pages = &self.fs.device().pages;
        let header = object_header(&self.page, pages.order, false);
        header
            .map_or(String::new(), |header| format!(" of the header of `{}`", shown(&header.name)))
    }

    /// Blocks whose first chunk has no sequence number that can be: either something else is in them, or they
    /// are lost, for YAFFS does not read them either.
    fn tell_bad_sequences(&mut self, blocks: &[u32]) -> Result<(), Error> {
        let (mut foreign, mut first) = (0_u32, None);
        for &block in blocks {
            if !self.has_chunks(block)? {
                foreign += 1;
                first = first.or(Some(Layout::block_of(block).0));
                continue;
            }
            let page = self.fs.layout().page_of(self.fs.layout().chunk_of(block, 0));
            let what = "a block whose first tags have no possible sequence number".into();
            let meaning = "all of the block: YAFFS does not read it";
            self.add(Some(self.start_of(page)), what, meaning, None);
            self.audit.unknown_loss = true;
        }
        if let Some(first) = first {
            let blocks = counted(foreign, "block");
            self.audit.foreign = Some(format!(
                "Content other than YAFFS is in {blocks} and is not read; the first is block {first}."
            ));
        }
        Ok(())
    }

    /// Whether a page of a block has tags that fit it.
    fn has_chunks(&mut self, block: u32) -> Result<bool, Error> {
        for page in 0..self.fs.layout().chunks_per_block {
            let chunk = self.fs.layout().chunk_of(block, page);
            let look = self.look(self.fs.layout().page_of(chunk))?;
            let pages = &self.fs.device().pages;
            let verdict = pages.verdict(&self.page, look.tags, look.checked);
            if matches!(verdict, Verdict::Right { .. }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Objects of which something is there, and no header.
    fn tell_missing_headers(&mut self) {
        // The summary of a block may know a header whose tags are wrong.
        let missing = self.mentioned.difference(&self.with_header).copied();
        let missing: Vec<u32> =
            missing.filter(|&object| !self.fs.knows_header_of(object)).collect();
        for object in missing.into_iter().filter(|&object| object > DELETED) {
            let words = "its header is missing: name, mode, owner and times are made up";
            self.hurt(object, words.into());
            let meaning = "its name: it is shown in lost+found";
            self.add(None, format!("object {object} without a header"), meaning, Some(object));
            self.audit.unknown_loss = true;
        }
    }

    /// Blocks with chunks that are marked bad by a bit or two.
    fn tell_bad_blocks(&mut self) -> Result<(), Error> {
        let dead = self.fs.blocks().iter().filter(|(_, info)| info.state == State::Dead);
        let dead: Vec<u32> = dead.map(|(block, _)| block).collect();
        for block in dead {
            let index: BlockIndex = Layout::block_of(block);
            let zeros = self.fs.device_mut().mark_zeros(index)?;
            if (1..=FLIPPED).contains(&zeros) && self.has_chunks(block)? {
                self.audit.doubtful_blocks.push(index.0);
                self.audit.unknown_loss = true;
            }
        }
        Ok(())
    }

    /// Blocks of one sequence number, which a flash never has, but for the blocks of mkyaffs2image.
    fn tell_shared_sequences(&mut self) {
        if !self.fs.device().blocks_known {
            return;
        }
        let mut seen = BTreeSet::new();
        let sequences = past::sequences(self.fs).into_iter();
        let shared = sequences
            .filter(|&(_, sequence)| sequence > SEQUENCE_FIRST && !seen.insert(sequence))
            .map(|(block, _)| block);
        let shared: Vec<BlockIndex> = shared.collect();
        let Some(first) = shared.first() else { return };
        let size = self.fs.device().dump().shape().block;
        let count = counted(shared.len(), "block");
        let what = format!("{count} with the sequence number of another block");
        let meaning = "which of them is newer: a dump of several filesystems has such blocks";
        self.add(Some(size * u64::from(first.0)), what, meaning, None);
        self.audit.unknown_loss = true;
    }

    fn tell_past(&mut self) {
        let Some(past) = self.fs.device().past else { return };
        self.audit.foreign = Some(format!(
            "This is the state when the block with sequence number {} was the newest; the newest is {}. What \
             garbage collection has moved since is missing.",
            past.sequence, past.newest
        ));
        self.audit.unknown_loss |= past.sequence < past.newest;
    }
}
