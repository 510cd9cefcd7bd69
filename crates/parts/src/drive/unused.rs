//! Keys of drives that another key of the part makes useless.
//!
//! Layer: rank 8. Function: [`by_choice`].

use super::part::DrivePart;
use crate::managed::unused;
use boardlab_document::{Read, Section};
use boardlab_sata::device::WriteCache;

/// Refuses in `--set` the unused keys of the drive at the dotted path `drive`.
pub fn by_choice(section: &Section<'_>, drive: &str, part: &DrivePart) -> Read<()> {
    let chosen = unused::by_choice(section, drive, &part.managed, &|_| false);
    if part.drive.write_cache == WriteCache::Through {
        let (why, help) =
            ("with write_cache = \"through\"", "set write_cache to back or protected");
        section.idle(&format!("{drive}.controller.write_cache_size"), why, help)?;
    }
    chosen
}
