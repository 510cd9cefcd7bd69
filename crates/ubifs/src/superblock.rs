//! The superblock: reading it, writing it, making a filesystem on an empty volume, and the fix-up of
//! free space at the first mount of an image.
//!
//! Layer: rank 5. [`read_superblock`] is for tools that have a volume and no mount. Source: Linux 6.1,
//! `fs/ubifs/sb.c`.

pub(crate) mod create;
mod fix_up;

use crate::error::MountError;
use crate::format::superblock::{SIZE, Superblock};
use crate::format::{self, Header, Malformed, usize_of};
use crate::io::is_uncorrectable;
use crate::layout::{FORMAT_VERSION, SB_LEB};
use crate::{Error, Lebs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

/// Reads the superblock of a volume and checks its checksum, but none of its fields.
///
/// # Errors
/// [`MountError::NotUbifs`] when LEB 0 begins with something else; [`MountError::Failed`] when the
/// node is damaged or the volume returned an error.
pub fn read_superblock<L: Lebs>(clock: &mut Clock, lebs: &mut L) -> Result<Superblock, MountError> {
    let mut bytes = vec![0; SIZE];
    match lebs.read(clock, SB_LEB, 0, &mut bytes).map_err(Error::from) {
        Err(error) if !is_uncorrectable(&error) => return Err(error.into()),
        _ => {}
    }
    parse(&bytes).map_err(|cause| match cause {
        Malformed::Magic(found) => MountError::NotUbifs { found },
        cause => Error::Node { leb: SB_LEB, offs: 0, cause }.into(),
    })
}

fn parse(bytes: &[u8]) -> Result<Superblock, Malformed> {
    let header = Header::parse(bytes)?;
    format::check_checksum(bytes, &header)?;
    Superblock::parse(bytes)
}

impl<L: Lebs> Volume<L> {
    /// Reads and validates the superblock, and fills in the areas of the layout. An empty volume gets
    /// a default filesystem first; a volume that has grown gets its new size
    /// (`ubifs_read_superblock`).
    ///
    /// # Errors
    /// [`MountError`] says which field is wrong.
    pub(crate) fn read_superblock(&mut self, clock: &mut Clock) -> Result<(), MountError> {
        if self.mode.empty {
            self.create_default_fs(clock)?;
        }
        let mut sb = read_superblock(clock, &mut self.lebs)?;
        self.host.spend(clock, Work::Crc, SIZE - 8);
        let (write, read) = (sb.fmt_version, sb.ro_compat_version);
        if write > FORMAT_VERSION && (!self.mode.read_only || read > 0) {
            return Err(MountError::Version { write, read });
        }
        let volume_lebs = self.lebs.shape().leb_count;
        if sb.leb_count < volume_lebs && sb.leb_count < sb.max_leb_count {
            sb.leb_count = sb.max_leb_count.min(volume_lebs);
            self.mode.superblock_changed = true;
        }
        self.layout = self.layout.with_areas(&sb, volume_lebs)?;
        self.sb = sb;
        Ok(())
    }

    /// Fills in what depends on the superblock (`init_constants_sb`).
    ///
    /// # Errors
    /// [`MountError::Superblock`] when an area is too small.
    pub(crate) fn init_constants_sb(&mut self) -> Result<(), MountError> {
        self.layout.add_constants()?;
        self.calc_lpt_geom()
    }

    /// Writes the superblock (`ubifs_write_sb_node`).
    pub(crate) fn write_superblock(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut node = self.sb.emit();
        let whole = SIZE.next_multiple_of(usize_of(self.layout.min_io));
        self.prepare_node(clock, &mut node, true);
        self.leb_change(clock, SB_LEB, &node[..whole])
    }
}

#[cfg(test)]
mod tests;
