//! What a check of YAFFS finds besides the audit: contradictions between headers, tags, summaries and names.
//!
//! Layer: rank 7. Main function: [`findings`].

use super::flash::ImageFlash;
use super::pages::object_header;
use crate::finding::{Finding, Place, Severity};
use crate::names::shown;
use crate::places::Places;
use crate::walk::Walk;
use boardlab_mtd::PageIndex;
use boardlab_sim::Clock;
use boardlab_vfs::FileSystem;
use boardlab_yaffs2::Yaffs;
use boardlab_yaffs2::block::State;
use boardlab_yaffs2::format::summary::{self, ENTRY, HEADER};
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::{ObjectHeader, ObjectType, SUMMARY, Tags};
use std::collections::{BTreeMap, BTreeSet};

/// The findings that are collected.
const FINDINGS: usize = 10_000;

/// A check that goes on.
struct Checker<'a> {
    fs: &'a mut Yaffs<ImageFlash>,
    clock: &'a mut Clock,
    places: &'a Places,
    page: Vec<u8>,
    findings: Vec<Finding>,
    /// Of each file the end of its last chunk, and its size with the page that says so.
    ends: BTreeMap<u32, u64>,
    sizes: BTreeMap<u32, (u64, PageIndex)>,
}

/// Runs all checks but those of the audit, which has run.
pub(super) fn findings(
    fs: &mut Yaffs<ImageFlash>,
    clock: &mut Clock,
    places: &Places,
) -> Vec<Finding> {
    let page = vec![0; fs.layout().page];
    let (ends, sizes) = (BTreeMap::new(), BTreeMap::new());
    let mut checker = Checker { fs, clock, places, page, findings: Vec::new(), ends, sizes };
    checker.check_links();
    checker.check_chunks();
    checker.check_sizes();
    // YAFFS counts the chunks of a wrong summary twice.
    if checker.check_summaries() {
        checker.check_tables();
    }
    checker.check_names();
    checker.findings
}

impl Checker<'_> {
    fn add(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }

    fn place(&self, page: PageIndex) -> Place {
        Place::of(self.places, self.fs.device().pages.page * u64::from(page.0))
    }

    fn check_tables(&mut self) {
        if let Err(contradiction) = self.fs.check_tables() {
            let found = contradiction.to_string();
            let expected = "no contradiction";
            let finding =
                Finding::new(Severity::Error, "the tables after the scan", found, expected);
            self.add(finding);
        }
    }

    fn check_links(&mut self) {
        for object in self.fs.findings().dangling_links.clone() {
            let finding = Finding::new(
                Severity::Warning,
                format!("object {object}, a hard link"),
                "leads to nothing that can have one",
                "another object, neither directory nor link",
            );
            self.add(finding);
        }
    }

    /// Reads a page, and its tags if they are right.
    fn look(&mut self, page: PageIndex) -> Option<(bool, Tags)> {
        let look = self.fs.device_mut().look(self.clock, page, &mut self.page).ok()?;
        let tags = look.tags.filter(|_| look.checked != Checked::Wrong)?;
        Some((look.whole, tags))
    }

    fn check_chunks(&mut self) {
        let pages: Vec<u32> = self.fs.device().holders.iter().map(|(page, _)| *page).collect();
        for page in pages.into_iter().map(PageIndex) {
            let Some((whole, tags)) = self.look(page) else { continue };
            if tags.chunk > 0 {
                let chunk = self.fs.layout().chunk_bytes();
                let end = u64::from(tags.chunk - 1) * chunk + u64::from(tags.bytes);
                let known = self.ends.entry(tags.object).or_default();
                *known = end.max(*known);
            } else if whole {
                let order = self.fs.device().pages.order;
                let header = object_header(&self.page, order, false);
                self.check_header(page, &tags, header.as_ref());
            }
        }
    }

    fn check_header(&mut self, page: PageIndex, tags: &Tags, header: Option<&ObjectHeader>) {
        let what = format!("the header of object {}", tags.object);
        let Some(header) = header else {
            let finding =
                Finding::new(Severity::Error, what, "no header of any type", "an object header");
            let place = self.place(page);
            return self.add(finding.at(place));
        };
        if let Some(size) = header.size {
            self.sizes.insert(tags.object, (size, page));
        }
        let Some(extra) = &tags.extra else { return };
        let file = header.kind() == ObjectType::File;
        let link = header.kind() == ObjectType::HardLink;
        let pairs = [
            ("type", u64::from(header.kind), u64::from(extra.kind), true),
            ("directory", header.parent.into(), extra.parent.into(), true),
            ("size", header.size.unwrap_or(0), extra.size, file),
            ("target", header.equivalent.unwrap_or(0).into(), extra.equivalent.into(), link),
        ];
        for (name, of_header, of_tags, applies) in pairs {
            if applies && of_header != of_tags {
                let finding = Finding::new(
                    Severity::Error,
                    format!("{what}: {name}"),
                    of_header.to_string(),
                    format!("{of_tags}, as its tags say"),
                );
                let place = self.place(page);
                self.add(finding.at(place));
            }
        }
    }

    /// A file may end with a hole, but rarely does.
    fn check_sizes(&mut self) {
        let chunk = self.fs.layout().chunk_bytes();
        for (object, (size, page)) in std::mem::take(&mut self.sizes) {
            let end = self.ends.get(&object).copied().unwrap_or(0);
            if size < end.saturating_add(chunk) {
                continue;
            }
            let finding = Finding::new(
                Severity::Note,
                format!("object {object}, a file"),
                format!("has {size} bytes, and its data end at {end}"),
                "data up to its end, unless a truncation made it longer",
            );
            let place = self.place(page);
            self.add(finding.at(place));
        }
    }

    /// Whether all summaries are right, or there are none.
    fn check_summaries(&mut self) -> bool {
        let Some(shape) = self.fs.layout().summary else { return true };
        let mut right = true;
        let blocks = self.fs.blocks().iter();
        let full = blocks.filter(|(_, info)| info.state == State::Full);
        let full: Vec<_> = full.map(|(block, info)| (block, *info)).collect();
        for (block, info) in full {
            let mut entries = Vec::new();
            let mut there = false;
            for page in shape.described..self.fs.layout().chunks_per_block {
                let at = self.fs.layout().page_of(self.fs.layout().chunk_of(block, page));
                there |= self.look(at).is_some_and(|(_, tags)| tags.object == SUMMARY);
                let end = (HEADER + shape.payload).min(self.page.len());
                entries.extend_from_slice(&self.page[HEADER..end]);
            }
            if there && !info.has_summary {
                right = false;
                let first = self.fs.layout().chunk_of(block, shape.described);
                let place = self.place(self.fs.layout().page_of(first));
                let finding = Finding::new(
                    Severity::Warning,
                    "a block summary",
                    "is not right, so all tags of the block are read",
                    "version, sequence number and sum of the block",
                );
                self.add(finding.at(place));
            } else if there {
                self.compare_summary(block, info.sequence, &entries);
            }
        }
        right
    }

    fn compare_summary(&mut self, block: u32, sequence: u32, entries: &[u8]) {
        let order = self.fs.device().pages.order;
        let described = self.fs.layout().summary.map_or(0, |shape| shape.described);
        for (page, entry) in (0..described).zip(entries.chunks_exact(ENTRY)) {
            let Some(said) = summary::tags(entry, sequence, order) else { continue };
            let at = self.fs.layout().page_of(self.fs.layout().chunk_of(block, page));
            let Some((_, tags)) = self.look(at) else { continue };
            if said != tags {
                let finding = Finding::new(
                    Severity::Error,
                    "a block summary",
                    format!("says object {}, chunk {}", said.object, said.chunk),
                    format!("object {}, chunk {}, as the tags say", tags.object, tags.chunk),
                );
                let place = self.place(at);
                self.add(finding.at(place));
            }
        }
    }

    /// Two objects of one name: only one of them can be reached.
    fn check_names(&mut self) {
        let mut walk = Walk::new(b"/", self.fs.root());
        let mut last: BTreeMap<u64, BTreeSet<Vec<u8>>> = BTreeMap::new();
        while let Some(item) = walk.next(self.fs, self.clock) {
            let Some(parent) = item.parent else { continue };
            if !last.entry(parent.0).or_default().insert(item.name().to_vec()) {
                let finding = Finding::new(
                    Severity::Error,
                    format!("the name `{}`", shown(&item.path)),
                    "belongs to several objects",
                    "one object of a name",
                );
                self.add(finding);
            }
        }
    }
}
