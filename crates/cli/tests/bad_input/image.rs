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
    ls(
        "ls of SquashFS",
        b"hsqs12345678901234567890\0\0\0\0\x04\0\0\0",
        &[
            "found a SquashFS filesystem instead of JFFS2 or UBIFS (version 4.0, little-endian): superblock `hsqs` \
             at 0x0",
            "expected JFFS2 or UBIFS; unsquashfs reads it: unsquashfs -o 0 FILE",
        ],
    ),
    ls(
        "ls of a UBI image",
        b"UBI#\x01\0\0\0 and no more",
        &["found a UBI image instead of JFFS2 or UBIFS"],
    ),
    ls("ls of an empty file", b"", &["the image is empty", "take it again"]),
    ls("ls of erased flash", &[0xFF; 8_192], &["found erased flash", "the right partition"]),
    ls(
        "ls of a scenario",
        b"[scenario]\ntitle = \"nothing\"\n",
        &["found text instead of JFFS2 or UBIFS"],
    ),
    ls(
        "ls of a truncated image",
        truncated(),
        &[
            "the image is truncated: it ends after 11290 bytes, within a node that needs 11294",
            "--partial",
        ],
    ),
    with(
        "ls with wrong pages",
        &["image", "ls", "dump.bin", "--page", "2KiB", "--oob", "64"],
        &[
            "found pages without spare bytes, not pages of 2 KiB with 64 spare bytes: the node at 0x",
            "leave out --page and --oob: there are no spare bytes in this file",
        ],
    ),
    with(
        "ls with a wrong erase block",
        &["image", "ls", "dump.bin", "--block", "16 KiB"],
        &["found erase blocks of 8 KiB, not 16 KiB", "leave out --block, or give --block 8KiB"],
    ),
    with(
        "ls in the wrong byte order",
        &["image", "ls", "dump.bin", "--endian", "little"],
        &["the node at 0x0 is big-endian, not little-endian", "give --endian big"],
    ),
    with(
        "ls with pages that no flash has",
        &["image", "ls", "dump.bin", "--page", "1 MiB"],
        &["no flash has pages of 1 MiB", "expected 1 B (NOR) to 64 KiB"],
    ),
    with(
        "ls of a path that is not there",
        &["image", "ls", "dump.bin", "/etc/shadow"],
        &["`/etc/shadow`: no such file or directory (ENOENT)", "`boardlab image ls FILE` lists"],
    ),
    with(
        "extract into a folder that is not empty",
        &["image", "extract", "dump.bin", "."],
        &["the folder is not empty", "name a new folder"],
    )
    .at("."),
    with(
        "extract into a file",
        &["image", "extract", "dump.bin", "part.toml"],
        &["cannot write `part.toml`: file exists", "name another"],
    )
    .at("part.toml"),
    Case::arguments(
        "ls with a size without a known unit",
        &["image", "ls", "dump.bin", "--page", "2 kib"],
        &["invalid value '2 kib' for '--page <SIZE>'"],
    ),
    Case::arguments(
        "ls in an unknown byte order",
        &["image", "ls", "dump.bin", "--endian", "middle"],
        &["'middle'", "little, big"],
    ),
];

/// An image of mkfs.jffs2.
const BOARD: &[u8] = include_bytes!("../../../image/tests/data/board.jffs2");

/// The same, cut off in its last node.
const fn truncated() -> &'static [u8] {
    BOARD.split_at(BOARD.len() - 6).0
}

const fn ls(name: &'static str, content: &'static [u8], says: &'static [&'static str]) -> Case {
    Case::whole("dump.bin", content, "dump.bin", says)
        .with(&["image", "ls", "dump.bin"])
        .called(name)
}

const fn with(
    name: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case::whole("dump.bin", BOARD, "dump.bin", says).with(arguments).called(name)
}
