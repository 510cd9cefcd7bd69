//! Finds object headers anywhere in a file, before anything is known of the flash.
//!
//! Layer: rank 7. Main type: [`Headers`], a [`Detector`]. YAFFS has no magic number. But some object is in the
//! root nearly always, and its header begins so:
//!
//! ```text
//!  little-endian   type 00 00 00   01 00 00 00   FF FF   name        the directory, 1, is the root
//!  big-endian      00 00 00 type   00 00 00 01   FF FF   name
//!  of the root     03 00 00 00     00 00 00 00   FF FF   00          it is in none, and has no name
//! ```
//! What is equal for all five types is searched for. An empty filesystem has the root alone, if that has a header. What else
//! a header must be is judged later, for the few places that have these bytes.

use super::pages::object_header;
use super::recognise;
use crate::contents::Contents;
use crate::detection::Detection;
use crate::fs::{DetectedFileSystem, Detector};
use boardlab_sim::Bytes;
use boardlab_yaffs2::format::{ByteOrder, ObjectHeader, ObjectType, header};
use memchr::memmem;

const LITTLE: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 0xFF, 0xFF];
const BIG: &[u8] = &[0, 0, 0, 1, 0xFF, 0xFF];
const LITTLE_ROOT: &[u8] = &[3, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0];
const BIG_ROOT: &[u8] = &[0, 0, 0, 3, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0];
/// Where they are in a header; those of a root at its beginning.
const LITTLE_AT: Bytes = Bytes::new(1);
const BIG_AT: Bytes = Bytes::new(4);
const MAGICS: &[&[u8]] = &[LITTLE, BIG, LITTLE_ROOT, BIG_ROOT];
/// The places that are remembered.
const PLACES: usize = 1 << 16;
/// The headers that suffice: so many, from everywhere in the file.
const HEADERS: usize = 96;
/// The beginning of a file in which the headers suffice if YAFFS covers all of it.
const BEGINNING: usize = 256 << 10;

/// The places in a file where an object header may begin.
#[derive(Debug, Default)]
pub(super) struct Headers {
    places: Vec<(Bytes, ByteOrder)>,
}

impl Headers {
    /// Those in the beginning of a file.
    fn at_the_beginning(contents: &Contents) -> Self {
        let bytes = contents.window(Bytes::ZERO, BEGINNING);
        let all = |magic| memmem::find_iter(&bytes, magic);
        let mut starts: Vec<usize> = MAGICS.iter().copied().flat_map(all).collect();
        starts.sort_unstable();
        let mut headers = Self::default();
        for start in starts {
            headers.look(Bytes::new(start as u64), &bytes[start..]);
        }
        headers
    }

    /// Some of the places that have a header, in order, and the byte order of most of them.
    pub(super) fn sound(&self, contents: &Contents) -> Option<(Vec<Bytes>, ByteOrder)> {
        let sound = |&(at, order): &(Bytes, ByteOrder)| {
            let header = object_header(&contents.window(at, header::SIZE), order, false);
            header.is_some_and(|header| is_likely(&header))
        };
        let sound_of = |distance: usize| -> Vec<_> {
            let tried = self.places.iter().step_by(distance);
            tried.filter(|place| sound(place)).copied().collect()
        };
        let distance = self.places.len().div_ceil(HEADERS * 8).max(1);
        let mut all = sound_of(distance);
        if distance > 1 && all.len() < HEADERS {
            // Few are headers: other fields of headers and tags have the same bytes.
            all = sound_of(1);
        }
        let little = all.iter().filter(|(_, order)| *order == ByteOrder::Little).count();
        let order = if little * 2 >= all.len() { ByteOrder::Little } else { ByteOrder::Big };
        let of: Vec<Bytes> =
            all.into_iter().filter(|place| place.1 == order).map(|place| place.0).collect();
        let distance = of.len().div_ceil(HEADERS).max(1);
        let some: Vec<Bytes> = of.into_iter().step_by(distance).collect();
        (!some.is_empty()).then_some((some, order))
    }
}

/// Whether a header looks like one of a program: `mkyaffs2image` leaves out all attributes of hard links.
fn is_likely(header: &ObjectHeader) -> bool {
    let mode = header.mode >> 16 == 0 || header.kind() == ObjectType::HardLink;
    // Tags of an object 3 begin as the header of a root does, but have no mode of a directory behind them.
    let in_none = header.parent > 0 || header.mode & 0o170_000 == 0o040_000;
    mode && in_none && header.name.first() != Some(&0xFF)
}

impl Detector for Headers {
    fn magics(&self) -> &'static [&'static [u8]] {
        MAGICS
    }

    fn look(&mut self, at: Bytes, head: &[u8]) {
        let (within, order, name) = match head {
            head if head.starts_with(LITTLE_ROOT) => (Bytes::ZERO, ByteOrder::Little, None),
            head if head.starts_with(BIG_ROOT) => (Bytes::ZERO, ByteOrder::Big, None),
            head if head.starts_with(LITTLE) => {
                (LITTLE_AT, ByteOrder::Little, head.get(LITTLE.len()))
            }
            _ => (BIG_AT, ByteOrder::Big, head.get(BIG.len())),
        };
        // Other fields of headers and tags have the same bytes, but often no name behind them.
        let named = name.is_none_or(|first| !matches!(first, 0xFF | b'/'));
        if named && self.places.len() < PLACES && at >= within {
            self.places.push((at - within, order));
        }
    }

    /// Other filesystems may come later.
    fn has_enough(&self) -> bool {
        false
    }

    fn look_at_end(&mut self, _at: Bytes, _head: &[u8]) {}

    fn covers(&self, contents: &Contents) -> Option<Box<dyn DetectedFileSystem>> {
        let (_, image) = recognise(&Self::at_the_beginning(contents), contents, &[])?;
        image.covers(contents).then(|| Box::new(image) as _)
    }

    fn conclude(
        self: Box<Self>,
        contents: &Contents,
        other: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        let (found, image) = recognise(&self, contents, other)?;
        Some((found, Box::new(image)))
    }
}
