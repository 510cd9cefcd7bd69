//! The pages of a YAFFS in a file: their sizes, and where the tags of each one lie.
//!
//! Layer: rank 7. Main types: [`Pages`]; [`Place`], the place of the tags. Tags are in spare bytes that the
//! driver of the flash left free, and every driver leaves others free; or they are in band.

use boardlab_sim::Bytes;
use boardlab_yaffs2::TagsPlace;
use boardlab_yaffs2::format::tags::Checked;
use boardlab_yaffs2::format::tags1::{self, Layout1};
use boardlab_yaffs2::format::{
    ByteOrder, CHUNK_MAX, OBJECT_MAX, ObjectHeader, ObjectType, SEQUENCE_CHECKPOINT, SEQUENCE_END,
    SEQUENCE_FIRST, Tags, header, tags,
};
use std::fmt;

/// The pages of a YAFFS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pages {
    /// Data bytes of a page.
    pub(super) page: Bytes,
    /// Spare bytes that follow them in the file.
    pub(super) oob: Bytes,
    /// The byte order.
    pub(super) order: ByteOrder,
    /// Where the tags lie.
    pub(super) place: Place,
}

/// Where the tags of a page lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the last 16 bytes of the page.
    InBand,
    /// YAFFS2: in these spare bytes, one after the other; with their code if there are 28.
    Spare(Vec<usize>),
    /// YAFFS1: in these spare bytes.
    Yaffs1(Layout1, Vec<usize>),
}

/// What the tags of a page say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is not programmed, or says nothing.
    Nothing,
    /// The tags fit what is in the page.
    Right {
        /// Whether a code of the tags says so too, perhaps after a correction.
        by_code: bool,
    },
    /// They cannot be tags.
    Wrong,
}

impl Place {
    /// Consecutive spare bytes from `start` on.
    pub(super) fn spare(start: usize, ecc: bool) -> Self {
        let length = if ecc { tags::PROTECTED } else { tags::SIZE };
        Self::Spare((start..start + length).collect())
    }

    /// The same for the filesystem.
    pub(super) fn tags_place(&self) -> TagsPlace {
        match self {
            Self::InBand => TagsPlace::InBand,
            Self::Spare(bytes) => TagsPlace::Oob { ecc: bytes.len() == tags::PROTECTED },
            Self::Yaffs1(layout, _) => TagsPlace::Yaffs1(*layout),
        }
    }

    /// The spare bytes, in the order of the tags; none for tags in band.
    pub(super) fn bytes(&self) -> &[usize] {
        match self {
            Self::InBand => &[],
            Self::Spare(bytes) | Self::Yaffs1(_, bytes) => bytes,
        }
    }

    /// The spare bytes that can have no ECC of the data.
    pub(super) fn taken(&self) -> Vec<usize> {
        match self {
            Self::Yaffs1(Layout1::Around, _) => [0..8, 11..13].into_iter().flatten().collect(),
            _ => self.bytes().to_vec(),
        }
    }

    pub(super) const fn is_yaffs2(&self) -> bool {
        !matches!(self, Self::Yaffs1(..))
    }

    /// The tags of a page with these data and spare bytes; `None` on one that is not programmed.
    ///
    /// # Panics
    /// When there are fewer bytes than the place names.
    pub(super) fn tags(
        &self,
        data: &[u8],
        spare: &[u8],
        order: ByteOrder,
    ) -> (Option<Tags>, Checked) {
        if *self == Self::InBand {
            let start = data.len() - tags::SIZE;
            return (Tags::parse(&data[start..], order), Checked::Right);
        }
        let mut gathered = [0xFF; tags::PROTECTED];
        let bytes = self.bytes();
        gathered.iter_mut().zip(bytes).for_each(|(byte, &at)| *byte = spare[at]);
        self.parse(&gathered[..bytes.len()], order)
    }

    /// The tags in these spare bytes; `None` if they are erased, and for tags in band.
    pub(super) fn parse(&self, gathered: &[u8], order: ByteOrder) -> (Option<Tags>, Checked) {
        match self {
            Self::InBand => (None, Checked::Right),
            Self::Spare(_) => tags::parse(gathered, order),
            Self::Yaffs1(layout, _) => tags1::parse(gathered, order, *layout),
        }
    }
}

/// `in spare bytes 2 to 29`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InBand => f.write_str("in band"),
            Self::Spare(bytes) | Self::Yaffs1(Layout1::Packed, bytes) => {
                let (first, last) = (bytes.first().unwrap_or(&0), bytes.last().unwrap_or(&0));
                write!(f, "in spare bytes {first} to {last}")
            }
            Self::Yaffs1(Layout1::Around, _) => f.write_str("around the page status"),
        }
    }
}

impl Pages {
    /// Bytes of a page in the file.
    pub(super) fn raw(&self) -> Bytes {
        self.page + self.oob
    }

    /// Data bytes of a chunk.
    pub(super) fn chunk(&self) -> usize {
        let page = self.page.to_usize();
        if self.place == Place::InBand { page - tags::SIZE } else { page }
    }

    /// Whether the tags of a raw page fit its data, and say that it is an object header.
    pub(super) fn judge_header(&self, raw: &[u8]) -> Verdict {
        self.judge_page(raw, true)
    }

    /// Whether the tags of a raw page fit its data.
    pub(super) fn judge(&self, raw: &[u8]) -> Verdict {
        self.judge_page(raw, false)
    }

    fn judge_page(&self, raw: &[u8], header: bool) -> Verdict {
        let page = self.page.to_usize();
        if raw.len() < page + self.oob.to_usize() {
            return Verdict::Nothing;
        }
        let (data, spare) = raw.split_at(page);
        let (tags, checked) = self.place.tags(data, spare, self.order);
        if header && tags.is_some_and(|tags| tags.chunk > 0) {
            return Verdict::Wrong;
        }
        self.verdict(data, tags, checked)
    }

    /// Whether the tags of a page fit its data.
    pub(super) fn verdict(&self, data: &[u8], tags: Option<Tags>, checked: Checked) -> Verdict {
        let Some(tags) = tags else {
            let programmed = !boardlab_mtd::is_erased(data);
            return if programmed { Verdict::Wrong } else { Verdict::Nothing };
        };
        if checked == Checked::Wrong {
            return Verdict::Wrong;
        }
        if tags.deleted || (self.place.is_yaffs2() && tags.sequence == SEQUENCE_CHECKPOINT) {
            return Verdict::Nothing;
        }
        if !self.fits(&tags, data) {
            return Verdict::Wrong;
        }
        let protected = match &self.place {
            Place::InBand => false,
            Place::Spare(bytes) => bytes.len() == tags::PROTECTED,
            Place::Yaffs1(..) => true,
        };
        Verdict::Right { by_code: protected }
    }

    fn fits(&self, tags: &Tags, data: &[u8]) -> bool {
        let numbered =
            !self.place.is_yaffs2() || (SEQUENCE_FIRST..SEQUENCE_END).contains(&tags.sequence);
        if !numbered || !(1..=OBJECT_MAX).contains(&tags.object) || tags.chunk > CHUNK_MAX {
            return false;
        }
        if tags.chunk > 0 {
            return usize::try_from(tags.bytes).is_ok_and(|bytes| bytes <= self.chunk());
        }
        let Some(header) = object_header(data, self.order, self.place == Place::InBand) else {
            return false;
        };
        let Some(extra) = tags.extra else { return true };
        u32::from(extra.kind) == header.kind && extra.parent == header.parent
    }
}

/// The object header that a page begins with, if it can be one.
pub(super) fn object_header(data: &[u8], order: ByteOrder, in_band: bool) -> Option<ObjectHeader> {
    const NAME: std::ops::Range<usize> = 10..266;
    let head = data.get(..header::SIZE)?;
    let sound = head[8..10] == [0xFF, 0xFF] && head[NAME].contains(&0);
    let header = ObjectHeader::parse(head, order, in_band);
    // The root has no directory.
    (sound && header.kind() != ObjectType::Unknown && header.parent <= OBJECT_MAX).then_some(header)
}
