//! Mounting: the superblock, the last commit, and what a power cut has interrupted.
//!
//! Layer: rank 5. Main type: [`Findings`]. It reads both superblocks, the header of each segment of the journal,
//! one segment of the journal, and a few blocks of the segment file: as much on a large flash as on a small one.
//!
//! Source: Linux 3.12, `fs/logfs/super.c`; `logfs_init_journal` in `journal.c`.

use crate::error::{Damage, Error, MountError, What};
use crate::format::journal::Alias;
use crate::format::superblock::{self, LAST_COPY};
use crate::format::{
    AREAS, DiskInode, HEIGHT_MAX, MASTER, ROOT, SEGMENT_FILE, SegmentEntry, Superblock,
};
use crate::inode::{Inode, Numbers};
use crate::journal::{Commit, Journal};
use crate::layout::{Layout, erase_size};
use crate::media::Media;
use crate::store::{Area, JOURNAL, to_usize};
use crate::transaction::Pending;
use crate::{Logfs, Options, block, gc, space};
use boardlab_codec::zlib::{Inflate, ZlibDeflate};
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use std::collections::{BTreeMap, BTreeSet};

/// The level of compression (`COMPR_LEVEL`).
const ZLIB_LEVEL: u32 = 3;

/// What a mount found, and garbage collection after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Which copy of the superblock is not valid, and why.
    pub bad_superblocks: [Option<crate::format::Malformed>; 2],
    /// Whether the copies of the superblock say different things.
    pub superblocks_differ: bool,
    /// The offset of the last commit.
    pub commit: u64,
    /// Newer segments of the journal that have no commit: the power failed before the first.
    pub journal_segments_without_commit: usize,
    /// The offset of a newer commit of which a power cut has torn the last page.
    pub torn_commit: Option<u64>,
    /// Words that differ from those on flash.
    pub aliases: usize,
    /// Open segments that were written to after the last commit.
    pub interrupted_segments: Vec<u32>,
    /// An inode from which a name was taken, for an operation that was interrupted.
    pub victim: Option<u64>,
    /// A directory and the block of an entry that was removed, for a rename that was interrupted.
    pub renamed: Option<(u64, u64)>,
    /// Segments that cannot be collected, since their objects cannot be told apart.
    pub damaged_segments: Vec<u32>,
}

/// Where the copies of the superblock lie: in the first good erase block, and at the end of the last.
pub(crate) fn superblock_places<M: Mtd>(
    clock: &mut Clock,
    device: &mut M,
) -> Result<[u64; 2], MountError> {
    let erase = u64::from(erase_size(device.geometry())?);
    let count = device.geometry().block_count();
    let mut good = |block: u32| Ok::<bool, MountError>(!device.is_bad(clock, BlockIndex(block))?);
    let mut first = 0;
    while first < count && !good(first)? {
        first += 1;
    }
    if first == count {
        return Err(MountError::AllBad);
    }
    let mut last = count - 1;
    while !good(last)? {
        last -= 1;
    }
    let end = (u64::from(last) + 1) * erase;
    Ok([u64::from(first) * erase, end.saturating_sub(LAST_COPY)])
}

/// Both copies of the superblock.
fn read_superblocks<M: Mtd>(
    clock: &mut Clock,
    media: &mut Media<M>,
    places: &mut [u64; 2],
    findings: &mut Findings,
) -> Result<Superblock, MountError> {
    let mut copies = Vec::new();
    for (copy, place) in places.iter().copied().enumerate() {
        let mut bytes = [0; superblock::SIZE];
        media.read(clock, place, &mut bytes)?;
        match Superblock::parse(&bytes) {
            Ok(found) => copies.push(found),
            Err(malformed) => findings.bad_superblocks[copy] = Some(malformed),
        }
    }
    // A filesystem smaller than the device has its last copy elsewhere, and says where.
    if let ([first], [None, Some(_)]) = (&copies[..], findings.bad_superblocks) {
        let mut bytes = [0; superblock::SIZE];
        let inside = media.device.geometry().size().get() - superblock::SIZE as u64;
        media.read(clock, first.places[1].min(inside), &mut bytes)?;
        if let Ok(last) = Superblock::parse(&bytes) {
            findings.bad_superblocks[1] = None;
            places[1] = first.places[1];
            copies.push(last);
        }
    }
    if let [Some(first), Some(last)] = findings.bad_superblocks {
        return Err(MountError::NotLogfs { first, last });
    }
    findings.superblocks_differ = matches!(&copies[..], [first, last] if !first.agrees_with(last));
    Ok(copies.swap_remove(0))
}

impl<M: Mtd> Logfs<M> {
    /// Mounts the flash.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn mount(clock: &mut Clock, device: M, options: Options) -> Result<Self, MountError> {
        let mut media = Media::new(device, options.cache);
        let mut findings = Findings::default();
        let mut places = superblock_places(clock, &mut media.device)?;
        let superblock = read_superblocks(clock, &mut media, &mut places, &mut findings)?;
        let [incompatible, read_only, ..] = superblock.features;
        if incompatible > 0 || (read_only > 0 && !options.read_only) {
            let bits = if incompatible > 0 { incompatible } else { read_only };
            return Err(MountError::Features { bits, readable: incompatible == 0 });
        }
        let layout = Layout::new(&superblock, media.device.geometry())?;
        let mut fs = Self::unmounted(media, options, layout, superblock, findings);
        let segment = |place: u64| u32::try_from(fs.layout.segment_of(place)).unwrap_or(u32::MAX);
        fs.superblock_segments = places.map(segment);
        let (segment, commit) = fs.find_commit(clock)?;
        fs.areas[JOURNAL].segment = segment;
        fs.take_commit(clock, commit)?;
        fs.reserve_segments();
        fs.calculate_free();
        fs.get(clock, ROOT)?;
        fs.open_segment_file(clock)?;
        if !fs.options.read_only || fs.options.faithful {
            fs.make_writable(clock)?;
        }
        Ok(fs)
    }

    fn unmounted(
        media: Media<M>,
        options: Options,
        layout: Layout,
        superblock: Superblock,
        findings: Findings,
    ) -> Self {
        let collector = gc::Collector::new(superblock.bad_segment_reserve);
        let host = options.host.clone();
        let journal = Journal::new(superblock.journal);
        Self {
            media,
            host,
            options,
            layout,
            superblock,
            superblock_segments: [0; 2],
            inodes: BTreeMap::new(),
            nodes: block::Nodes::default(),
            aliases: block::Aliases::default(),
            space: space::Space::default(),
            areas: [Area::default(); AREAS + 1],
            journal,
            collector,
            numbers: Numbers::default(),
            pending: Pending::default(),
            failing: Vec::new(),
            worn_out: BTreeSet::new(),
            dirtied: Vec::new(),
            orphans: Vec::new(),
            findings,
            counts: crate::Counts::default(),
            deflate: ZlibDeflate::new(ZLIB_LEVEL),
            inflate: Inflate::new(),
            changed: false,
            failed: false,
        }
    }

    /// Takes the state of a commit over (`read_je`).
    fn take_commit(&mut self, clock: &mut Clock, commit: Commit) -> Result<(), MountError> {
        let unfit = |field, found, expected| MountError::Unfit { field, found, expected };
        let Commit { areas, aliases, erase_counts, anchor, dynamic, .. } = commit;
        if anchor.height > HEIGHT_MAX {
            return Err(unfit("da_height", anchor.height.into(), HEIGHT_MAX.into()));
        }
        self.journal.erase_counts = erase_counts;
        self.collector.gec = dynamic.gec;
        let sweeper = u32::try_from(dynamic.sweeper).unwrap_or_default();
        self.collector.sweeper = sweeper.min(self.layout.segments - 1);
        self.pending = Pending {
            victim: dynamic.victim,
            rename_dir: dynamic.rename_dir,
            rename_pos: dynamic.rename_pos,
        };
        let size = self.superblock.size;
        if dynamic.used > size {
            return Err(unfit("ds_used_bytes", dynamic.used, size));
        }
        self.space.used = dynamic.used;
        self.numbers =
            Numbers { last: anchor.last_ino, until_wrap: 0, generation: dynamic.generation };
        if anchor.last_ino > u64::from(u32::MAX) {
            return Err(unfit("da_last_ino", anchor.last_ino, u32::MAX.into()));
        }
        let disk = DiskInode {
            mode: 0o100_000,
            height: anchor.height,
            links: 1,
            used: anchor.used,
            size: anchor.size,
            pointers: anchor.pointers,
            ..DiskInode::default()
        };
        self.inodes.insert(MASTER, Inode { held: true, ..Inode::new(disk) });
        for (area, buffer) in areas {
            self.take_area(clock, area, &buffer)?;
        }
        self.take_aliases(&aliases)?;
        Ok(())
    }

    fn take_area(
        &mut self,
        clock: &mut Clock,
        area: crate::format::journal::AreaEntry,
        buffer: &[u8],
    ) -> Result<(), MountError> {
        let unfit = |field, found, expected| MountError::Unfit { field, found, expected };
        if area.age != 0 {
            return Err(unfit("vim", area.age.into(), 0));
        }
        if area.segment >= self.layout.segments {
            return Err(unfit("segno", area.segment.into(), u64::from(self.layout.segments) - 1));
        }
        if area.used > self.layout.segment_size {
            return Err(unfit("used_bytes", area.used.into(), self.layout.segment_size.into()));
        }
        if area.segment == 0 {
            return Ok(());
        }
        let unit = self.layout.write_size;
        let written = area.used / unit * unit;
        let tail = to_usize(area.used - written);
        let Some(tail) = buffer.get(..tail) else {
            return Err(unfit("length of a write buffer", buffer.len() as u64, unit.into()));
        };
        let which = usize::from(area.level);
        self.areas[which] = Area { open: true, segment: area.segment, written, used: area.used };
        if written == self.layout.segment_size {
            return Ok(());
        }
        let at = self.layout.at(area.segment, written);
        self.media.recover(clock, at, tail).map_err(Error::from)?;
        let end = at + u64::from(unit);
        self.media.pad(at + tail.len() as u64..end);
        Ok(())
    }

    fn take_aliases(&mut self, aliases: &[Alias]) -> Result<(), MountError> {
        for alias in aliases {
            if !self.aliases.load(alias.block, alias.word, alias.value) {
                let what = What::Block(alias.block);
                let error = Error::damaged(self.findings.commit, what, Damage::Collision);
                return Err(error.into());
            }
        }
        self.findings.aliases = aliases.len();
        Ok(())
    }

    /// Keeps superblocks and journal out of garbage collection (`reserve_sb_and_journal`).
    fn reserve_segments(&mut self) {
        let journal = self.journal.segments.into_iter().filter(|&segment| segment > 0);
        self.collector.reserved.extend(journal.chain(self.superblock_segments));
    }

    fn open_segment_file(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        let inode = self.hold(clock, SEGMENT_FILE)?;
        if inode.is_file() {
            return Ok(());
        }
        let found = u64::from(inode.disk.mode);
        Err(MountError::Unfit { field: "mode of the segment file", found, expected: 0o100_000 })
    }

    /// Repairs what a power cut has left (`logfs_make_writeable`).
    fn make_writable(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        let bad = self.findings.bad_superblocks.map(|bad| bad.is_some());
        for (copy, bad) in bad.into_iter().enumerate() {
            if bad || self.findings.superblocks_differ {
                self.write_superblock(clock, copy)?;
            }
        }
        if !self.options.faithful {
            // The kernel looks for free segments afterwards, and stops when it needs one before.
            self.find_free(clock)?;
        }
        self.check_areas(clock)?;
        self.collect(clock)?;
        self.finish_pending(clock)?;
        Ok(())
    }

    /// Writes both copies of the superblock, one after the other, so that one is always valid.
    pub(crate) fn write_superblocks(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_superblock(clock, 0)?;
        self.write_superblock(clock, 1)
    }

    /// Erases and writes a copy of the superblock (`write_one_sb`). On MTD the kernel calls a function there
    /// that does not exist.
    fn write_superblock(&mut self, clock: &mut Clock, copy: usize) -> Result<(), Error> {
        let segment = self.superblock_segments[copy];
        if segment >= self.layout.segments {
            // It lies behind the filesystem, on a device that is larger.
            return Ok(());
        }
        let entry = self.segment_entry(clock, segment)?;
        let erase_count = if entry.is_bad() { 1 } else { entry.erase_count() + 1 };
        let entry =
            SegmentEntry { valid: SegmentEntry::RESERVED, ..SegmentEntry::new(erase_count, 0, 0) };
        self.set_segment_entry(clock, segment, entry)?;
        self.erase_segment(clock, segment)?;
        self.superblock.header = Superblock::header_of(segment, erase_count);
        let place = match copy {
            0 => self.layout.at(segment, 0),
            _ => self.layout.at(segment + 1, 0) - LAST_COPY,
        };
        let bytes = superblock_bytes(&self.superblock, self.layout.write_size);
        self.media.program_directly(clock, place, &bytes)?;
        self.changed = true;
        Ok(())
    }
}

/// A superblock, filled up to a write unit, but not beyond the place of the last copy.
pub(crate) fn superblock_bytes(superblock: &Superblock, write_size: u32) -> Vec<u8> {
    let mut bytes = superblock.emit().to_vec();
    let length = bytes.len().next_multiple_of(to_usize(write_size));
    bytes.resize(length.min(to_usize(u32::try_from(LAST_COPY).expect("4,096"))), 0);
    bytes
}
