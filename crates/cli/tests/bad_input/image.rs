//! Flash images that cannot be read, or not so.

use crate::case::Case;

/// Images and options that do not fit.
pub(crate) const CASES: &[Case] = &[
    Case::arguments("unknown image action", &["image", "inof"], &["'inof'", "'info'"]),
    Case::arguments("info of nothing", &["image", "info"], &["<FILE>", "image info"]),
    Case::arguments(
        "info of a missing file",
        &["image", "info", "dump.bin"],
        &["cannot read `dump.bin`: no such file", "name an image file that can be read"],
    )
    .at("dump.bin"),
    Case::arguments(
        "info of a folder",
        &["image", "info", "."],
        &["cannot read `.`: it is not a regular file", "dump the flash into a file first"],
    )
    .at("."),
    Case::arguments(
        "info of a device",
        &["image", "info", "/dev/zero"],
        &["cannot read `/dev/zero`: it is not a regular file"],
    )
    .at("/dev/zero"),
];
