//! A menu for what is no SATA drive.

use crate::case::Case;

/// Parts that do not exist, and keys that they do not have.
pub(crate) const CASES: &[Case] = &[
    Case::arguments("unknown SATA action", &["sata", "consol"], &["'consol'", "'console'"]),
    Case::arguments(
        "menu of an unknown drive",
        &["sata", "console", "intel-x25-e"],
        &["unknown part `intel-x25-e`", "intel-x25-e-32gb"],
    ),
    Case::arguments(
        "menu of a missing file",
        &["sata", "console", "./drive.toml"],
        &["cannot read `./drive.toml`"],
    )
    .at("./drive.toml"),
    Case::arguments(
        "menu of a drive of a key that there is not",
        &["sata", "console", "--set", "part.sektors=8"],
        &["sektors", "sectors"],
    )
    .at("--set:1:6"),
];
