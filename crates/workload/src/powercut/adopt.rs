//! Adopts the state of a recovered filesystem as the only permitted one from then on.
//!
//! Layer: rank 6. Main function: [`adopt`]. After a power cut many states are permitted. Once a mount
//! has shown one of them, it is final: it came from the flash, and no later mount may change it.

use super::shadow::{Body, Id, Name, Object, ROOT, Shadow, owner};
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Errno, Error, FileSystem, Ino, Kind, PAGE_SIZE};
use std::collections::BTreeMap;

/// Walks the whole tree and records each fact.
///
/// # Errors
/// What the filesystem says.
pub(super) fn adopt(fs: &mut dyn FileSystem, clock: &mut Clock) -> Result<Shadow, Error> {
    let root = fs.root();
    let attributes = fs.getattr(clock, root)?;
    let shadow = Shadow::new(root, owner(&attributes));
    let mut walk = Walk { fs, clock, shadow, known: BTreeMap::from([(root, ROOT)]) };
    let mut left = vec![ROOT];
    while let Some(dir) = left.pop() {
        left.extend(walk.directory(dir)?);
    }
    Ok(walk.shadow)
}

struct Walk<'a> {
    fs: &'a mut dyn FileSystem,
    clock: &'a mut Clock,
    shadow: Shadow,
    /// Inodes with several names are one object.
    known: BTreeMap<Ino, Id>,
}

impl Walk<'_> {
    /// Records the names of a directory; returns the new directories among them.
    fn directory(&mut self, dir: Id) -> Result<Vec<Id>, Error> {
        let parent = self.shadow.object(dir).ino;
        let mut below = Vec::new();
        for entry in self.fs.readdir(self.clock, parent)? {
            let name: Name = (dir, entry.name);
            let ino = self.fs.lookup(self.clock, parent, &name.1)?;
            let id = match self.known.get(&ino) {
                Some(&id) => id,
                None => {
                    let object = self.object(ino, dir)?;
                    let directory = object.body == Body::Directory;
                    let id = self.shadow.add(object);
                    self.known.insert(ino, id);
                    below.extend(directory.then_some(id));
                    id
                }
            };
            self.shadow.found_name(name, id);
        }
        Ok(below)
    }

    fn object(&mut self, ino: Ino, parent: Id) -> Result<Object, Error> {
        let attributes = self.fs.getattr(self.clock, ino)?;
        let body = match attributes.kind {
            Kind::Directory => Body::Directory,
            Kind::Symlink => Body::Symlink(self.fs.readlink(self.clock, ino)?),
            _ => Body::File,
        };
        let mut object = Object::new(ino, body, parent, owner(&attributes));
        if object.body == Body::File {
            self.content(&mut object, &attributes)?;
            self.xattrs(&mut object)?;
        }
        Ok(object)
    }

    fn content(&mut self, object: &mut Object, attributes: &Attributes) -> Result<(), Error> {
        let page_size = u64::try_from(PAGE_SIZE).expect("a page is small");
        let mut content = vec![0; PAGE_SIZE];
        for page in 0..attributes.size.div_ceil(page_size) {
            self.fs.read_page(self.clock, object.ino, page, &mut content)?;
            object.found_page(page, &content);
        }
        object.found_size(attributes.size);
        Ok(())
    }

    fn xattrs(&mut self, object: &mut Object) -> Result<(), Error> {
        let names = match self.fs.listxattr(self.clock, object.ino) {
            Err(Error::Refused(Errno::OpNotSupp)) => return Ok(()),
            names => names?,
        };
        for name in names {
            let value = self.fs.getxattr(self.clock, object.ino, &name)?;
            object.found_xattr(name, value);
        }
        Ok(())
    }
}
