//! Deleted files of YAFFS2.
//!
//! Layer: rank 7. Main function: [`remnants`]. Chunks are never overwritten, and the sequence number of their block with their page
//! is their age. A deletion writes a header in the directory of deleted objects, which ends a life of the object: its
//! number is given again. So each life is an inode of its own here; the newest one, or the living one, has the
//! number, and those before it have a million more each.
//!
//! ```text
//!  object 260:  header /a   data 1   data 2   header "deleted"   header /b   data 1
//!               |--------- 1,000,260 ---------------------------| |----- 260, living
//! ```
//! A header that shrinks its file says that all that was written before beyond its size is void. Nothing is written for a large
//! hole, so it looks like a chunk that is gone.

use super::flash::ImageFlash;
use super::pages::{Place, object_header};
use crate::deleted::{FormerName, Layer, PieceSource, Remnant, Remnants, Xattrs};
use crate::error::Error;
use boardlab_mtd::PageIndex;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Errno, Ino, Kind, Timestamp};
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::{
    CHUNK_MAX, DELETED, OBJECT_MAX, ObjectHeader, ObjectType, ROOT, SEQUENCE_END, SEQUENCE_FIRST,
    SUMMARY, Tags, UNLINKED, header, xattr,
};
use boardlab_yaffs2::{Yaffs, special_kind};
use std::collections::{BTreeMap, BTreeSet};

/// The distance of the numbers of lives of an object.
const LIFE: u64 = 1_000_000;

/// What is in a chunk.
#[derive(Debug)]
enum What {
    Header(Box<ObjectHeader>, Xattrs),
    /// Data from the chunk with this number on, so many bytes, and whether they are right.
    Data(u64, u64, bool),
}

/// A chunk of an object.
#[derive(Debug)]
struct Chunk {
    /// Its age.
    version: u64,
    page: usize,
    what: What,
}

impl Chunk {
    /// Whether it says that the object is deleted.
    fn is_end(&self) -> bool {
        self.header().is_some_and(|header| matches!(header.parent, UNLINKED | DELETED))
    }

    fn header(&self) -> Option<&ObjectHeader> {
        match &self.what {
            What::Header(header, _) => Some(header),
            What::Data(..) => None,
        }
    }
}

/// The pages of the flash.
#[derive(Debug)]
struct Source {
    fs: Yaffs<ImageFlash>,
    page: Vec<u8>,
}

impl PieceSource for Source {
    fn read(&mut self, clock: &mut Clock, index: usize) -> Result<Vec<u8>, boardlab_vfs::Error> {
        let page = PageIndex(u32::try_from(index).map_err(|_| Errno::Io)?);
        let look = self.fs.device_mut().look(clock, page, &mut self.page);
        let look = look.map_err(boardlab_vfs::Error::damaged)?;
        if !look.whole {
            return Err(Errno::Io.into());
        }
        Ok(self.page[..self.fs.layout().chunk].to_vec())
    }
}

/// Finds what is left of deleted files.
pub(super) fn remnants(fs: Yaffs<ImageFlash>, clock: &mut Clock) -> Result<Remnants, Error> {
    if !fs.device().pages.place.is_yaffs2() {
        let what = "YAFFS1, whose pages do not say which of them is newer";
        return Err(Error::NoDeleted { what, instead: "leave out --deleted" });
    }
    let page = vec![0; fs.layout().page];
    let mut source = Source { fs, page };
    let mut objects: BTreeMap<u32, Vec<Chunk>> = BTreeMap::new();
    let pages = source.fs.layout().blocks.saturating_mul(source.fs.layout().chunks_per_block);
    for page in (0..pages).map(PageIndex) {
        if let Some((object, found)) = look(&mut source, clock, page)? {
            objects.entry(object).or_default().push(found);
        }
    }
    let mut found = Remnants {
        root: ROOT.into(),
        names: Vec::new(),
        living: BTreeSet::from([ROOT.into()]),
        inodes: Vec::new(),
        is_cut: false,
        source: Box::new(source),
    };
    for (object, mut chunks) in objects {
        chunks.sort_by_key(|chunk| chunk.version);
        lives(&mut found, object, &chunks);
    }
    Ok(found)
}

/// The object of a page, and what it has of it.
fn look(
    source: &mut Source,
    clock: &mut Clock,
    page: PageIndex,
) -> Result<Option<(u32, Chunk)>, Error> {
    let look = source.fs.device_mut().look(clock, page, &mut source.page).map_err(Error::from)?;
    let Some(tags) = look.tags.filter(|_| look.checked != Checked::Wrong) else { return Ok(None) };
    let Tags { sequence, object, chunk, bytes, .. } = tags;
    let size = source.fs.layout().chunk;
    let is_sound = (SEQUENCE_FIRST..SEQUENCE_END).contains(&sequence)
        && (1..=OBJECT_MAX).contains(&object)
        && !matches!(object, UNLINKED | DELETED | SUMMARY)
        && chunk <= CHUNK_MAX
        && bytes as usize <= size;
    if !is_sound {
        return Ok(None);
    }
    let pages = &source.fs.device().pages;
    let what = if chunk > 0 {
        What::Data(u64::from(chunk - 1) * size as u64, bytes.into(), look.whole)
    } else {
        let in_band = pages.place == Place::InBand;
        let header = object_header(&source.page, pages.order, in_band).filter(|_| look.whole);
        let Some(header) = header else { return Ok(None) };
        let (area, order) = (source.page.get(header::SIZE..size).unwrap_or_default(), pages.order);
        let names = xattr::list(area, order).into_iter();
        let pair = |name: &[u8]| Some((name.to_vec(), xattr::get(area, order, name)?.to_vec()));
        let xattrs = Xattrs { all: names.filter_map(pair).collect(), gone: 0 };
        What::Header(Box::new(header), xattrs)
    };
    let version = u64::from(sequence) << 32 | u64::from(page.0);
    Ok(Some((object, Chunk { version, page: page.0 as usize, what })))
}

/// Adds the lives of an object, whose chunks are in the order of their ages.
fn lives(found: &mut Remnants, object: u32, chunks: &[Chunk]) {
    let mut lives: Vec<&[Chunk]> = Vec::new();
    let mut start = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        let next_is_end = chunks.get(index + 1).is_some_and(Chunk::is_end);
        if chunk.is_end() && !next_is_end {
            lives.push(&chunks[start..=index]);
            start = index + 1;
        }
    }
    let is_living = start < chunks.len();
    if is_living {
        lives.push(&chunks[start..]);
    }
    for (number, life) in (0..).zip(lives.into_iter().rev()) {
        let ino = u64::from(object) + number * LIFE;
        for header in life.iter().filter(|chunk| !chunk.is_end()) {
            let version = header.version;
            let Some(header) = header.header() else { continue };
            found.names.push(FormerName {
                parent: header.parent.into(),
                name: header.name.clone(),
                version,
                ino: Some(ino),
                time: None,
                is_directory: header.kind() == ObjectType::Directory,
                is_obsolete: false,
            });
        }
        if is_living && number == 0 {
            found.living.insert(ino);
        } else {
            found.inodes.extend(remnant(ino, life));
        }
    }
}

/// What is left of a life of an object.
fn remnant(ino: u64, life: &[Chunk]) -> Option<Remnant> {
    let last = life.iter().rev().filter(|chunk| !chunk.is_end());
    let newest = last.clone().filter_map(|chunk| Some((chunk.version, chunk.header()?))).next();
    let xattrs = last.clone().find_map(|chunk| match &chunk.what {
        What::Header(_, xattrs) => Some(xattrs.clone()),
        What::Data(..) => None,
    });
    // Of a further name nothing is left that is not its file's, and of an object without a header not what it was.
    let (version, header) = match newest {
        Some((_, header)) if header.kind() == ObjectType::HardLink => return None,
        Some((version, header)) => (version, Some(header)),
        None => (0, None),
    };
    let mut size = header.and_then(|header| header.size).unwrap_or(0);
    let mut layers = Vec::new();
    // From the newest on, the size beyond which everything older is void.
    let mut limit = u64::MAX;
    for chunk in life.iter().rev().filter(|chunk| !chunk.is_end()) {
        match &chunk.what {
            What::Data(start, bytes, is_good) => {
                let (start, end) = (*start, (start + bytes).min(limit));
                if chunk.version > version {
                    size = size.max(end);
                }
                if start < end {
                    let (range, is_good, is_hole) = (start..end, *is_good, false);
                    let (version, index) = (chunk.version, chunk.page);
                    layers.push(Layer { version, range, is_good, is_hole, index });
                }
            }
            What::Header(header, _) if header.shrink => {
                limit = limit.min(header.size.unwrap_or(0));
            }
            What::Header(..) => {}
        }
    }
    if header.is_none() && layers.is_empty() {
        return None;
    }
    let kind = header.map_or(Some(Kind::File), kind_of).unwrap_or(Kind::File);
    let target = header.and_then(|header| header.alias.clone()).unwrap_or_default();
    let time = |of: fn(&ObjectHeader) -> i64| Timestamp::seconds(header.map_or(0, of));
    Some(Remnant {
        ino,
        attributes: Attributes {
            ino: Ino(ino),
            kind,
            mode: header.map_or(0o600, |header| header.mode & 0o7777),
            links: 1,
            uid: header.map_or(0, |header| header.uid),
            gid: header.map_or(0, |header| header.gid),
            size: if kind == Kind::Symlink { target.len() as u64 } else { size },
            accessed: time(|header| header.times.accessed),
            modified: time(|header| header.times.modified),
            changed: time(|header| header.times.changed),
        },
        target,
        xattrs: xattrs.unwrap_or_default(),
        layers,
        has_holes: false,
        doubt: None,
    })
}

fn kind_of(header: &ObjectHeader) -> Option<Kind> {
    match header.kind() {
        ObjectType::File => Some(Kind::File),
        ObjectType::Directory => Some(Kind::Directory),
        ObjectType::Symlink => Some(Kind::Symlink),
        ObjectType::Special => special_kind(header.mode, header.rdev),
        ObjectType::HardLink | ObjectType::Unknown => None,
    }
}
