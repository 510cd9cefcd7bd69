//! Mounting: the checkpoint, or a scan, and what an interrupted operation left.
//!
//! Layer: rank 5. [`Yaffs::mount`]; [`Findings`], what the scan saw besides valid chunks. Source:
//! `yaffs_guts_initialise` and `yaffs_guts_cleanup` in `core/yaffs_guts.c`.

use crate::alloc::Space;
use crate::block::Blocks;
use crate::cache::ShortOps;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, MountError};
use crate::file::{FileChunk, chunk_number};
use crate::format::{DELETED, LOST_AND_FOUND, ROOT, UNLINKED, to_u32};
use crate::gc::Collector;
use crate::layout::{Chunk, Layout};
use crate::object::{Object, Objects, Slot, Variant};
use crate::options::Options;
use crate::tree::NodeCount;
use crate::{Counts, Yaffs};
use boardlab_mtd::Mtd;
use boardlab_sim::{Clock, Instant};

/// How many directories up from an object are followed to see whether the root is above it.
const DEPTH_MAX: u32 = 100;

/// What a mount found besides valid chunks, in the numbers of [`Layout`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Chunks whose tags have more wrong bits than can be corrected.
    pub uncorrectable_tags: Vec<Chunk>,
    /// With `Options::repaired`, chunks that were being programmed when the power failed: an older one counts.
    pub torn: Vec<Chunk>,
    /// Chunks whose tags cannot be.
    pub bad_tags: Vec<Chunk>,
    /// Blocks whose sequence number cannot be: YAFFS never uses them again.
    pub bad_sequences: Vec<u32>,
    /// Headers that had to be read and could not be.
    pub unreadable_headers: Vec<Chunk>,
    /// Hard links that lead to nothing that can have one.
    pub dangling_links: Vec<u32>,
    /// Objects that no directory leads to; they are in lost+found.
    pub hanging: Vec<u32>,
}

/// The directories that are always there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directories {
    pub(crate) root: Slot,
    pub(crate) unlinked: Slot,
    pub(crate) deleted: Slot,
    pub(crate) lost_and_found: Slot,
}

impl Directories {
    fn make(objects: &mut Objects, now: i64, hide_lost_and_found: bool) -> Self {
        let mut make = |id, mode: u32| {
            let mut object = Object::new(id, Variant::Directory { first: None, waiting: false });
            object.mode = 0o040_000 | mode;
            object.fake = true;
            (object.rename_allowed, object.unlink_allowed) = (false, false);
            object.times.accessed = now;
            object.times.modified = now;
            object.times.changed = now;
            objects.insert(object)
        };
        let (unlinked, deleted) = (make(UNLINKED, 0), make(DELETED, 0));
        let (root, lost_and_found) = (make(ROOT, 0o755), make(LOST_AND_FOUND, 0o700));
        if !hide_lost_and_found {
            objects.enter_directory(root, lost_and_found);
        }
        Self { root, unlinked, deleted, lost_and_found }
    }
}

impl<M: Mtd> Yaffs<M> {
    /// Mounts a flash; an erased one is an empty filesystem.
    ///
    /// # Errors
    /// What [`MountError`] says of the geometry, and [`MountError::Flash`] after a power cut. Damage is no
    /// error: [`Yaffs::findings`] has it.
    pub fn mount(clock: &mut Clock, device: M, options: Options) -> Result<Self, MountError> {
        let layout = Layout::new(device.geometry(), &options)?;
        let mut objects = Objects::new();
        let now = options.wall.at(clock.now()).seconds;
        let dirs = Directories::make(&mut objects, now, options.hide_lost_and_found);
        let mut fs = Self {
            device,
            host: options.host.clone(),
            layout,
            blocks: Blocks::new(&layout),
            objects,
            nodes: NodeCount::default(),
            cache: ShortOps::new(options.caches, layout.chunk),
            space: Space::default(),
            collector: Collector::new(),
            checkpoint: Checkpoint::default(),
            summary: vec![0; layout.summary.map_or(0, |shape| shape.bytes())],
            dirs,
            waiting: Vec::new(),
            inodes: Vec::new(),
            shadows: Vec::new(),
            extended: Vec::new(),
            findings: Findings::default(),
            counts: Counts::default(),
            page: vec![0xFF; layout.page],
            buffers: Vec::new(),
            changed: false,
            next_directories: Instant::ZERO,
            next_collection: Instant::ZERO,
            options,
        };
        fs.read_everything(clock)?;
        fs.changed = !fs.checkpoint.valid;
        let root = fs.dirs.root;
        fs.hold(root);
        Ok(fs)
    }

    fn read_everything(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.options.tags.is_yaffs2() {
            self.scan_forwards(clock)?;
        } else if self.restore_checkpoint(clock)? {
            let root = self.dirs.root;
            self.load_details(clock, root)?;
        } else {
            self.forget_everything(clock);
            self.scan_backwards(clock)?;
        }
        self.clean_up_mount(clock)?;
        if !self.checkpoint.valid && self.checkpoint.blocks > 0 && !self.options.read_only {
            self.invalidate_checkpoint(clock)?;
        }
        Ok(())
    }

    /// Forgets what a checkpoint said that turned out to be wrong.
    fn forget_everything(&mut self, clock: &Clock) {
        self.objects.reset();
        let now = self.now(clock);
        let hide = self.options.hide_lost_and_found;
        self.dirs = Directories::make(&mut self.objects, now, hide);
        self.blocks = Blocks::new(&self.layout);
        self.nodes = NodeCount::default();
        self.space = Space::default();
        self.checkpoint = Checkpoint::default();
    }

    /// Deletes what was being deleted, and gives a place to what has none.
    fn clean_up_mount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        // A collection before that would make headers newer than those that void them.
        self.collector.disabled = true;
        let completed = self.complete_renames(clock);
        self.collector.disabled = false;
        completed?;
        if !self.options.read_only {
            for dir in [self.dirs.unlinked, self.dirs.deleted] {
                let gone: Vec<Slot> = self.objects.children(dir).collect();
                for slot in gone {
                    if self.objects.try_get(slot).is_some() {
                        self.delete_object(clock, slot).or_else(Error::unless_flash)?;
                    }
                }
            }
        }
        self.move_hanging_objects();
        if self.options.repaired && !self.options.read_only && !self.checkpoint.valid {
            self.fill_holes(clock)?;
            self.delete_left_links(clock)?;
        }
        if self.options.empty_lost_and_found && !self.options.read_only {
            self.empty_directory(clock, self.dirs.lost_and_found, 0)?;
        }
        Ok(())
    }

    /// Moves to lost+found what the root is not above of.
    fn move_hanging_objects(&mut self) {
        let Directories { root, unlinked, deleted, lost_and_found } = self.dirs;
        for slot in self.objects.in_buckets() {
            if [root, unlinked, deleted].contains(&slot) {
                continue;
            }
            let parent = self.objects.get(slot).parent;
            let directly = parent.is_some_and(|parent| [root, unlinked, deleted].contains(&parent));
            let mut above = parent;
            for _ in 0..DEPTH_MAX {
                let next = above.filter(|&dir| dir != root).map(|dir| self.objects.get(dir).parent);
                match next {
                    Some(Some(next)) => above = Some(next),
                    _ => break,
                }
            }
            let rooted = directly || above == Some(root) || parent == Some(lost_and_found);
            if !rooted && slot != lost_and_found {
                self.findings.hanging.push(self.objects.get(slot).id);
                self.enter_directory(lost_and_found, slot);
            }
        }
    }

    /// Completes a rename over an object with hard links: it keeps the name of one of them.
    fn complete_renames(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for (slot, shadowed) in std::mem::take(&mut self.shadows) {
            let older = self.objects.find(shadowed).filter(|&other| {
                let age = |slot| {
                    let (block, page) = self.layout.place(self.objects.get(slot).header);
                    (self.blocks.get(block).sequence, page)
                };
                other != slot && self.objects.get(other).header > 0 && age(other) < age(slot)
            });
            if let Some(older) = older {
                self.load_details(clock, older)?;
                // No header of it may be newer until it has another name.
                self.objects.get_mut(older).shadowed = true;
                self.unlink_object(clock, older).map(drop).or_else(Error::unless_flash)?;
                if self.objects.try_get(older).is_some() {
                    self.objects.get_mut(older).shadowed = false;
                }
            }
        }
        Ok(())
    }

    /// Deletes hard links whose object took their name, and those that lead to nothing and would lead to the next
    /// object with that number.
    fn delete_left_links(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let links: Vec<(Slot, Option<Slot>)> = self
            .objects
            .iter()
            .filter_map(|(slot, object)| match object.variant {
                Variant::HardLink { target, .. } => Some((slot, target)),
                _ => None,
            })
            .collect();
        for (link, target) in links {
            let left = match target {
                None => true,
                Some(target) => {
                    let parent = |slot| self.objects.get(slot).parent;
                    parent(target) == parent(link)
                        && self.name_of(clock, target)? == self.name_of(clock, link)?
                }
            };
            if left && self.objects.try_get(link).is_some() {
                self.delete_object(clock, link)?;
            }
        }
        Ok(())
    }

    /// Writes the zeros between the size in a header and data behind it. They were in the cache when the power
    /// failed, and older data that had been truncated would show there with the next header.
    fn fill_holes(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let zeros = vec![0; self.layout.chunk];
        let chunk = self.layout.chunk_bytes();
        for (file, size) in std::mem::take(&mut self.extended) {
            let known = self.objects.try_get(file).is_some_and(|object| object.file().is_some());
            if !known || self.is_gone(file) {
                continue;
            }
            for index in size.div_ceil(chunk)..self.size_of(file) / chunk {
                let Some(number) = chunk_number(index) else { break };
                if self.find_chunk(file, number) == 0 {
                    let place = FileChunk { file, number, bytes: to_u32(self.layout.chunk) };
                    if self.write_data(clock, place, &zeros, true)?.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes everything in a directory.
    fn empty_directory(&mut self, clock: &mut Clock, dir: Slot, depth: u32) -> Result<(), Error> {
        let children: Vec<Slot> = self.objects.children(dir).collect();
        for child in children {
            // A hard link goes when its object takes its name.
            if self.objects.try_get(child).is_none() {
                continue;
            }
            if self.objects.is_directory(child) && depth < DEPTH_MAX {
                self.empty_directory(clock, child, depth + 1)?;
            }
            if self.objects.try_get(child).is_some() {
                self.unlink_object(clock, child).map(drop).or_else(Error::unless_flash)?;
            }
        }
        Ok(())
    }
}

impl Error {
    /// A refusal is none where a mount does what it can.
    pub(crate) fn unless_flash(self) -> Result<(), Self> {
        match self {
            Self::Refused(_) => Ok(()),
            other => Err(other),
        }
    }
}
