//! The permitted states after a power cut: everything that was true since the last sync.
//!
//! Layer: rank 6. Main type: [`Shadow`]. Each fact (the target of a name, the size of a file, each of
//! its pages, its attributes) is kept as the list of its values since it last became durable; the last
//! one is the present value. A sync keeps only the present values, an fsync those of one file.

use boardlab_sim::Stream;
use boardlab_vfs::{Attributes, Ino, PAGE_SIZE};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A file, directory or link of the run, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) u32);

/// The root directory.
pub(super) const ROOT: Id = Id(0);

/// The values of a fact since it was last durable; the last is the present one.
#[derive(Debug, Clone)]
pub(super) struct History<T>(Vec<T>);

impl<T: Clone + PartialEq> History<T> {
    pub(super) fn new(value: T) -> Self {
        Self(vec![value])
    }

    pub(super) fn now(&self) -> &T {
        self.0.last().expect("a history has a value")
    }

    pub(super) fn push(&mut self, value: T) {
        if *self.now() != value {
            self.0.push(value);
        }
    }

    pub(super) fn settle(&mut self) {
        self.0.drain(..self.0.len() - 1);
    }

    pub(super) fn values(&self) -> &[T] {
        &self.0
    }
}

/// The content of a page; `None` is zeros.
pub(super) type Page = Option<Arc<[u8]>>;

/// Mode, uid and gid of an inode.
pub(super) type Owner = (u32, u32, u32);

/// The kind of an object, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    File,
    Directory,
    Symlink(Vec<u8>),
}

/// An object of the run.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) ino: Ino,
    pub(super) body: Body,
    pub(super) owner: History<Owner>,
    pub(super) size: History<u64>,
    pub(super) pages: BTreeMap<u64, History<Page>>,
    pub(super) xattrs: BTreeMap<Vec<u8>, History<Option<Vec<u8>>>>,
    /// For a directory, where it is now.
    pub(super) parent: Id,
}

impl Object {
    pub(super) fn new(ino: Ino, body: Body, parent: Id, owner: Owner) -> Self {
        let (pages, xattrs) = (BTreeMap::new(), BTreeMap::new());
        let (owner, size) = (History::new(owner), History::new(0));
        Self { ino, body, owner, size, pages, xattrs, parent }
    }

    /// Records the known content of a page.
    pub(super) fn found_page(&mut self, number: u64, content: &[u8]) {
        if content.iter().any(|&byte| byte != 0) {
            self.pages.insert(number, History::new(Some(Arc::from(content))));
        }
    }

    /// Records the known size of a file.
    pub(super) fn found_size(&mut self, size: u64) {
        self.size = History::new(size);
    }

    /// Records a known extended attribute.
    pub(super) fn found_xattr(&mut self, name: Vec<u8>, value: Vec<u8>) {
        self.xattrs.insert(name, History::new(Some(value)));
    }

    fn settle(&mut self) {
        self.owner.settle();
        self.size.settle();
        self.pages.values_mut().for_each(History::settle);
        self.pages.retain(|_, page| page.now().is_some());
        self.xattrs.values_mut().for_each(History::settle);
        self.xattrs.retain(|_, value| value.now().is_some());
    }

    /// The present content of a page.
    pub(super) fn page(&self, number: u64) -> Vec<u8> {
        let now = self.pages.get(&number).and_then(|page| page.now().clone());
        now.map_or_else(|| vec![0; PAGE_SIZE], |page| page.to_vec())
    }

    /// Adds a possible content of a page, which becomes the present one.
    pub(super) fn put_page(&mut self, number: u64, content: &[u8]) {
        let content = content.iter().any(|&byte| byte != 0).then(|| Arc::from(content));
        let zeros = || History::new(None);
        self.pages.entry(number).or_insert_with(zeros).push(content);
    }

    /// Adds a possible size of a file; truncated data become zeros.
    pub(super) fn put_size(&mut self, size: u64) {
        let shorter = size < *self.size.now();
        self.size.push(size);
        if !shorter {
            return;
        }
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let (first, kept) = (size / page_size, size % page_size);
        let beyond: Vec<u64> = self.pages.range(first..).map(|(&number, _)| number).collect();
        for number in beyond {
            let mut content = self.page(number);
            let kept = if number == first { kept } else { 0 };
            content[usize::try_from(kept).expect("below a page")..].fill(0);
            self.put_page(number, &content);
        }
    }
}

/// A name: its directory, and its bytes.
pub(super) type Name = (Id, Vec<u8>);

/// All permitted states.
#[derive(Debug, Clone)]
pub(super) struct Shadow {
    pub(super) objects: BTreeMap<Id, Object>,
    pub(super) names: BTreeMap<Name, History<Option<Id>>>,
    next: u32,
}

impl Shadow {
    pub(super) fn new(root: Ino, owner: Owner) -> Self {
        let root = Object::new(root, Body::Directory, ROOT, owner);
        Self { objects: BTreeMap::from([(ROOT, root)]), names: BTreeMap::new(), next: 1 }
    }

    pub(super) fn object(&mut self, id: Id) -> &mut Object {
        self.objects.get_mut(&id).expect("an object of the run")
    }

    /// Adds an object without a name.
    pub(super) fn add(&mut self, object: Object) -> Id {
        let id = Id(self.next);
        self.next += 1;
        self.objects.insert(id, object);
        id
    }

    /// Adds a possible target of a name, which becomes the present one.
    pub(super) fn put_name(&mut self, name: Name, target: Option<Id>) {
        self.names.entry(name).or_insert_with(|| History::new(None)).push(target);
    }

    /// Records the known target of a name.
    pub(super) fn found_name(&mut self, name: Name, target: Id) {
        self.names.insert(name, History::new(Some(target)));
    }

    /// Whether a directory has two names, as a cut in its rename may leave it.
    pub(super) fn has_a_directory_twice(&self) -> bool {
        let mut seen = BTreeSet::new();
        let directory = |id: &Id| self.objects[id].body == Body::Directory;
        self.live().map(|(_, id)| id).filter(directory).any(|id| !seen.insert(id))
    }

    /// The present target of a name.
    pub(super) fn target(&self, name: &Name) -> Option<Id> {
        self.names.get(name).and_then(|history| *history.now())
    }

    /// All names with a present target.
    pub(super) fn live(&self) -> impl Iterator<Item = (&Name, Id)> {
        self.names.iter().filter_map(|(name, history)| history.now().map(|id| (name, id)))
    }

    /// The present number of names of an object.
    pub(super) fn links(&self, id: Id) -> usize {
        self.live().filter(|&(_, target)| target == id).count()
    }

    /// Draws one of the named objects that `wanted` accepts; the root is included.
    pub(super) fn pick(&self, stream: &mut Stream, wanted: impl Fn(&Object) -> bool) -> Option<Id> {
        let named = self.live().map(|(_, id)| id).chain([ROOT]);
        let ids: Vec<Id> = named.filter(|id| wanted(&self.objects[id])).collect();
        let count = u64::try_from(ids.len()).expect("few objects");
        let at = (count > 0).then(|| stream.below(count))?;
        usize::try_from(at).ok().map(|at| ids[at])
    }

    /// Draws one of the names with a present target.
    pub(super) fn pick_name(&self, stream: &mut Stream) -> Option<(Name, Id)> {
        let count = u64::try_from(self.live().count()).expect("few names");
        let at = (count > 0).then(|| stream.below(count))?;
        let at = usize::try_from(at).expect("few names");
        self.live().nth(at).map(|(name, id)| (name.clone(), id))
    }

    /// The present number of bytes in files.
    pub(super) fn bytes(&self) -> u64 {
        self.objects.values().map(|object| *object.size.now()).sum()
    }

    /// Whether `id` is the directory `above` or is below it.
    pub(super) fn is_within(&self, mut id: Id, above: Id) -> bool {
        while id != above {
            if id == ROOT {
                return false;
            }
            id = self.objects[&id].parent;
        }
        true
    }

    /// Makes the present state durable.
    pub(super) fn sync(&mut self) {
        self.names.values_mut().for_each(History::settle);
        self.names.retain(|_, target| target.now().is_some());
        let named: Vec<Id> = self.live().map(|(_, id)| id).collect();
        self.objects.retain(|id, _| *id == ROOT || named.contains(id));
        self.objects.values_mut().for_each(Object::settle);
    }

    /// Makes the present content of one file durable, but not its names.
    pub(super) fn fsync(&mut self, id: Id) {
        self.object(id).settle();
    }
}

/// The owner fields of `attributes`.
pub(super) fn owner(attributes: &Attributes) -> Owner {
    (attributes.mode, attributes.uid, attributes.gid)
}
