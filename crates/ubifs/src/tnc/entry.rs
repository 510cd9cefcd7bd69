//! Looking entries up by name, and listing them.
//!
//! Layer: rank 5.
//!
//! Source: Linux 6.1, `fs/ubifs/tnc.c` (`ubifs_tnc_lookup_nm`, `do_lookup_nm`, `ubifs_tnc_next_ent`).
//! Left out: looking up by the second hash, which only encrypted names need.

use super::broken;
use super::load::name_of;
use super::lookup::{Access, Lookup};
use super::znode::Cursor;
use crate::format::dirent::Dirent;
use crate::format::key::Key;
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

impl<L: Lebs> Volume<L> {
    /// A copy of the entry under a cursor; `None` if the replay finds it missing.
    fn copy_entry(&mut self, clock: &mut Clock, at: Cursor) -> Result<Option<Dirent>, Error> {
        if !self.cache_entry(clock, at, self.mode.replaying)? {
            return Ok(None);
        }
        self.copy_cached(clock, at).map(Some)
    }

    fn copy_cached(&mut self, clock: &mut Clock, at: Cursor) -> Result<Dirent, Error> {
        let branch = self.tnc.arena.under(at).branch();
        let node = self.tnc.arena.leaf(at).expect("the entry was cached");
        self.host.spend(clock, Work::Copy, node.len());
        Dirent::parse(node).map_err(|cause| Error::Node {
            leb: branch.lnum,
            offs: branch.offs,
            cause,
        })
    }

    /// The entry with this name (`ubifs_tnc_lookup_nm`).
    pub(crate) fn tnc_lookup_name(
        &mut self,
        clock: &mut Clock,
        key: Key,
        name: &[u8],
    ) -> Result<Option<Dirent>, Error> {
        // Collisions are rare: any entry with this key is probably the right one.
        let Lookup { at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if !exact || !self.cache_entry(clock, at, self.mode.replaying)? {
            return Ok(None);
        }
        if name_of(self.cached(at)) == name {
            return self.copy_cached(clock, at).map(Some);
        }
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if !exact || !self.resolve_collision(clock, key, &mut at, name)? {
            return Ok(None);
        }
        self.copy_entry(clock, at)
    }

    /// The entry behind `name`, or the first one with a key from `key` on if there is no name, of the
    /// same inode and kind (`ubifs_tnc_next_ent`).
    ///
    /// # Errors
    /// [`Problem::Index`](crate::error::Problem::Index) if colliding entries are not in the order of
    /// their names, since a listing would not end.
    pub(crate) fn tnc_next_entry(
        &mut self,
        clock: &mut Clock,
        key: Key,
        name: Option<&[u8]>,
    ) -> Result<Option<Dirent>, Error> {
        assert!(key.is_hashed(), "{key} is not the key of an entry");
        let name = name.filter(|name| !name.is_empty());
        let Lookup { mut at, exact } = self.lookup_level0(clock, key, Access::Read)?;
        if let (true, Some(name)) = (exact, name) {
            self.resolve(clock, key, &mut at, name, false)?;
        }
        if (name.is_some() || !exact) && !self.tnc_next(clock, &mut at)? {
            return Ok(None);
        }
        let branch = self.tnc.arena.under(at).branch();
        if branch.key.ino() != key.ino() || branch.key.kind() != key.kind() {
            return Ok(None);
        }
        let entry = self.copy_entry(clock, at)?;
        if let (Some(entry), Some(name), false) = (&entry, name, self.mode.replaying) {
            let ascends = branch.key > key || (branch.key == key && *entry.name > *name);
            if !ascends {
                return Err(broken(&branch));
            }
        }
        Ok(entry)
    }
}
