//! The bytes of a card that keeps its data.
//!
//! Layer: below the card. Main type: [`Store`]. The translation layer identifies page contents by
//! version; the store has the bytes of each version that may still be read. After a flush the older
//! ones are dropped; a power cut may bring them back until then.

use boardlab_ftl::Version;
use boardlab_sim::Bytes;
use std::collections::BTreeMap;

/// The bytes of one page in one version; they have no version while they are only in the card's cache.
#[derive(Debug, Clone)]
struct StoredPage {
    version: Option<Version>,
    bytes: Box<[u8]>,
}

/// Bytes by page, sparse.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    page: usize,
    /// The byte that a page without data reads as.
    erased: u8,
    /// Whether the layer below says which version it holds.
    versions: bool,
    pages: BTreeMap<u32, Vec<StoredPage>>,
    /// Pages with more than one version.
    several: Vec<u32>,
}

impl Store {
    pub(crate) fn new(page: Bytes, erased: u8, versions: bool) -> Self {
        let (pages, several) = (BTreeMap::new(), Vec::new());
        Self { page: page.to_usize(), erased, versions, pages, several }
    }

    /// Whether the layer below says which version it holds.
    pub(crate) const fn has_versions(&self) -> bool {
        self.versions
    }

    /// Reads `page` in `version`, from the byte `within` on.
    pub(crate) fn read(&self, page: u32, version: Version, within: usize, buffer: &mut [u8]) {
        if !self.versions {
            return self.newest(page, within, buffer);
        }
        let copies = self.pages.get(&page).map_or(&[][..], Vec::as_slice);
        let copy = copies.iter().rev().find(|copy| copy.version == Some(version));
        self.give(copy, within, buffer);
    }

    /// Reads the newest bytes of `page`, from the byte `within` on.
    pub(crate) fn newest(&self, page: u32, within: usize, buffer: &mut [u8]) {
        self.give(self.pages.get(&page).and_then(|copies| copies.last()), within, buffer);
    }

    fn give(&self, copy: Option<&StoredPage>, within: usize, buffer: &mut [u8]) {
        match copy {
            Some(copy) => buffer.copy_from_slice(&copy.bytes[within..within + buffer.len()]),
            None => buffer.fill(self.erased),
        }
    }

    /// Writes bytes of `page` from the byte `within` on; the layer below has not yet given them a
    /// version.
    pub(crate) fn write(&mut self, page: u32, within: usize, bytes: &[u8]) {
        let copies = self.pages.entry(page).or_default();
        match copies.last_mut() {
            Some(newest) if newest.version.is_none() || !self.versions => newest.version = None,
            newest => {
                let erased = || vec![self.erased; self.page].into_boxed_slice();
                let bytes = newest.map_or_else(erased, |newest| newest.bytes.clone());
                copies.push(StoredPage { version: None, bytes });
                if copies.len() == 2 {
                    self.several.push(page);
                }
            }
        }
        if let Some(newest) = copies.last_mut() {
            newest.bytes[within..within + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Records that the layer below gave `version` to the newest bytes of `page`.
    pub(crate) fn name(&mut self, page: u32, version: Version) {
        if let Some(newest) = self.pages.get_mut(&page).and_then(|copies| copies.last_mut()) {
            newest.version = Some(version);
        }
    }

    /// Drops a page that the host discarded.
    pub(crate) fn forget(&mut self, page: u32) {
        self.pages.remove(&page);
    }

    /// After a power cut, keeps of each page only the version that the layer below still holds, if it
    /// has versions. The other versions must not reappear when a part of the page is written next.
    pub(crate) fn keep_held(&mut self, mut held: impl FnMut(u32) -> Version) {
        if !self.versions {
            return;
        }
        for (&page, copies) in &mut self.pages {
            let version = Some(held(page));
            copies.retain(|copy| copy.version == version);
        }
        self.pages.retain(|_, copies| !copies.is_empty());
    }

    /// Drops older versions, which will not be read again since all writes are durable.
    pub(crate) fn settle(&mut self) {
        for page in self.several.drain(..) {
            if let Some(copies) = self.pages.get_mut(&page) {
                copies.drain(..copies.len().saturating_sub(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Store;
    use boardlab_ftl::Version;
    use boardlab_sim::Bytes;

    fn read(store: &Store, version: u64) -> [u8; 4] {
        let mut bytes = [0; 4];
        store.read(7, Version(version), 0, &mut bytes);
        bytes
    }

    #[test]
    fn older_versions_are_there_until_all_is_durable() {
        let mut store = Store::new(Bytes::new(4), 0xFF, true);
        store.write(7, 0, b"old!");
        store.name(7, Version(1));
        store.write(7, 0, b"new");
        let mut newest = [0; 4];
        store.newest(7, 0, &mut newest);
        assert_eq!(&newest, b"new!", "a part of a page is written over what the page held");
        store.name(7, Version(2));
        assert_eq!((&read(&store, 1), &read(&store, 2)), (b"old!", b"new!"));
        store.settle();
        assert_eq!(&read(&store, 2), b"new!");
        assert_eq!(read(&store, 1), [0xFF; 4]);
    }

    #[test]
    fn what_is_not_on_flash_is_gone_with_the_power() {
        let mut store = Store::new(Bytes::new(4), 0, true);
        store.write(7, 0, b"kept");
        store.name(7, Version(1));
        store.write(7, 0, b"lost");
        store.write(8, 0, b"lost");
        store.name(8, Version(2));
        store.keep_held(|page| Version(u64::from(page == 7)));
        assert_eq!(&read(&store, 1), b"kept");
        let mut bytes = [0xFF; 4];
        store.newest(8, 0, &mut bytes);
        assert_eq!(bytes, [0; 4], "what the layer below lost is no longer the newest");
    }

    #[test]
    fn without_versions_the_newest_bytes_are_those_that_are_read() {
        let mut store = Store::new(Bytes::new(4), 0, false);
        store.write(7, 0, b"old!");
        store.name(7, Version(1));
        store.write(7, 2, b"!!");
        assert_eq!(&read(&store, 0), b"ol!!");
    }
}
