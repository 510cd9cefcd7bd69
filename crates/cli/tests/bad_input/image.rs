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
            "found a SquashFS filesystem instead of JFFS2 or UBIFS or YAFFS2 or LogFS (version 4.0, little-endian): superblock `hsqs` \
             at 0x0",
            "expected JFFS2 or UBIFS or YAFFS2 or LogFS; unsquashfs reads it: unsquashfs -o 0 FILE",
        ],
    ),
    ls(
        "ls of a UBI image",
        b"UBI#\x01\0\0\0 and no more",
        &["found a UBI image instead of JFFS2 or UBIFS or YAFFS2 or LogFS"],
    ),
    Case::arguments(
        "mount of a missing file",
        &["image", "mount", "dump.bin", "."],
        &["cannot read `dump.bin`: no such file", "name an image file that can be read"],
    )
    .at("dump.bin"),
    with(
        "mount on a missing folder",
        &["image", "mount", "dump.bin", "nowhere"],
        &["the folder to mount on cannot be read: No such file", "make a new folder to mount on"],
    )
    .at("nowhere"),
    with(
        "mount on a file",
        &["image", "mount", "dump.bin", "dump.bin"],
        &["the place to mount on is no folder", "make a new folder to mount on"],
    ),
    with(
        "mount on a folder with files",
        &["image", "mount", "dump.bin", "."],
        &["the folder to mount on is not empty", "mount on an empty folder"],
    )
    .at("."),
    with(
        "mount of an old state for writing",
        &["image", "mount", "dump.bin", "m", "--rw", "--commit", "3"],
        &["'--rw' cannot be used with '--commit <N>'"],
    )
    .nowhere(),
    with(
        "apply at the end of a mount for reading",
        &["image", "mount", "dump.bin", "m", "--apply"],
        &["--rw"],
    )
    .nowhere(),
    with(
        "apply without changes",
        &["image", "apply", "dump.bin"],
        &["the overlay `dump.bin.overlay` is not there", "boardlab image mount --rw"],
    )
    .at("dump.bin.overlay"),
    Case::arguments(
        "apply to a missing file",
        &["image", "apply", "dump.bin"],
        &["cannot read `dump.bin`: no such file"],
    )
    .at("dump.bin"),
    ls("ls of an empty file", b"", &["the image is empty", "take it again"]),
    ls("ls of erased flash", &[0xFF; 8_192], &["found erased flash", "the right partition"]),
    ls(
        "ls of a scenario",
        b"[scenario]\ntitle = \"nothing\"\n",
        &["found text instead of JFFS2 or UBIFS or YAFFS2 or LogFS"],
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
        "ls with a layout that the pages have not",
        &["image", "ls", "dump.bin", "--spare", "gpmi"],
        &["the pages have no code that --spare gpmi means", "leave out --spare and --ecc"],
    ),
    Case::arguments(
        "ls with an unknown layout",
        &["image", "ls", "dump.bin", "--spare", "gmpi"],
        &["'gmpi'", "'gpmi'"],
    ),
    Case::arguments(
        "check with a code that is none",
        &["image", "check", "dump.bin", "--ecc", "8"],
        &["'8'", "expected bits and bytes, such as 8/512"],
    ),
    Case::arguments(
        "info of one volume with all blocks",
        &["image", "info", "dump.bin", "--volume", "x", "--blocks"],
        &["'--volume <NAME>' cannot be used with '--blocks'"],
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
    Case::arguments(
        "create without a flash",
        &["image", "create", ".", "o.ubi"],
        &["--page <SIZE>", "such as --page 2KiB --block 128KiB"],
    ),
    Case::arguments("cat of no path", &["image", "cat", "dump.bin"], &["<PATH>"]),
    Case::arguments("stat of no path", &["image", "stat", "dump.bin"], &["<PATH>"]),
    Case::arguments("diff with nothing", &["image", "diff", "dump.bin"], &["<B>", "image diff"]),
    Case::arguments("convert into nothing", &["image", "convert", "dump.bin"], &["<OUTPUT>"]),
    with(
        "cat of a folder",
        &["image", "cat", "dump.bin", "/etc"],
        &["`/etc` is a directory", "name a regular file"],
    ),
    with(
        "stat of a missing file",
        &["image", "stat", "dump.bin", "/etc/shadow"],
        &["`/etc/shadow`: no such file or directory (ENOENT)"],
    ),
    with(
        "ls of a pattern that ends in a bracket",
        &["image", "ls", "dump.bin", "/[a"],
        &["the pattern is none: unclosed", "patterns have * ?"],
    ),
    with(
        "convert without a filesystem",
        &["image", "convert", "dump.bin", "o"],
        &["--fs NAME is missing", "give --fs NAME"],
    ),
    with(
        "convert with tags for UBIFS",
        &["image", "convert", "dump.bin", "o", "--fs=ubifs", "--tags=start", "--max-blocks=64"],
        &["--tags has no effect here"],
    ),
    with(
        "an image in place of an archive",
        &["image", "create", "--tar", "dump.bin", "o", "--page=2KiB", "--block=128KiB"],
        &["--max-blocks N is missing"],
    ),
    with(
        "an archive of an image",
        &[
            "image",
            "create",
            "--tar",
            "dump.bin",
            "o",
            "--fs=yaffs2",
            "--page=2KiB",
            "--block=128KiB",
        ],
        &["at byte 0: no header of an entry", "is this a whole tar archive?"],
    ),
    create(
        "a folder in place of an archive",
        &["image", "create", "--tar", "tree", "o", "--page=2KiB", "--block=128KiB"],
        &["--tar has no effect here: the input is a folder"],
    )
    .at("tree"),
    Case::arguments("create of nothing", &["image", "create"], &["<INPUT>", "such as --page 2KiB"]),
    create(
        "create of a missing folder",
        &["image", "create", "none", "o.ubi", "--page=2KiB", "--block=128KiB", "--max-blocks=64"],
        &["cannot read `none`: no such file", "name a folder, or an .ini"],
    )
    .at("none"),
    create(
        "create of a device",
        &["image", "create", "/dev/null", "o.ubi", "--page=2KiB", "--block=128KiB"],
        &["neither a folder nor a file"],
    )
    .at("/dev/null"),
    create(
        "create without the largest size",
        &["image", "create", "tree", "o.ubi", "--page=2KiB", "--block=128KiB"],
        &["--max-blocks N is missing", "give --max-blocks N"],
    )
    .at("tree"),
    create(
        "create within its own folder",
        &[
            "image",
            "create",
            "tree",
            "tree/o.ubi",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
        ],
        &["a file within the folder it is made of"],
    )
    .at("tree"),
    create(
        "create into a missing folder",
        &[
            "image",
            "create",
            "tree",
            "none/o.ubi",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
        ],
        &["cannot write `none/o.ubi`: no such file"],
    )
    .at("none/o.ubi"),
    create(
        "create of a filesystem that is not built",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=cramfs",
            "--page=1",
            "--block=64KiB",
            "--max-blocks=64",
        ],
        &["no image of `cramfs` can be made", "expected jffs2 or ubifs or yaffs2 or logfs"],
    )
    .at("tree"),
    create(
        "create with too few blocks",
        &["image", "create", "tree", "o", "--page=2KiB", "--block=128KiB", "--max-blocks=9"],
        &["the number of LEBs is 9, the limit is 17", "--max-blocks"],
    )
    .at("tree"),
    create(
        "create with pages that no flash has",
        &["image", "create", "tree", "o", "--page=3KiB", "--block=128KiB", "--max-blocks=64"],
        &["--page 3KiB does not fit", "a power of two from 256 B to 64 KiB"],
    )
    .at("tree"),
    create(
        "create of a volume with spare bytes",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
            "--volume-only",
            "--oob=64",
        ],
        &["--oob has no effect here: a volume alone has no such thing", "leave out --oob"],
    )
    .at("tree"),
    create(
        "create of UBIFS with a place of tags",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
            "--tags=start",
        ],
        &["--tags has no effect here: UBIFS has no tags", "leave out --tags"],
    )
    .at("tree"),
    create(
        "create of YAFFS1 for a big-endian board",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=yaffs2",
            "--page=512",
            "--block=16KiB",
            "--oob=16",
            "--big-endian",
        ],
        &["--big-endian has no effect here", "not built"],
    )
    .at("tree"),
    create(
        "create of YAFFS2 without spare bytes",
        &["image", "create", "tree", "o", "--fs=yaffs2", "--page=2KiB", "--block=128KiB"],
        &["the tags of each page lie in its spare bytes", "--tags in-band", "give --oob SIZE"],
    )
    .at("tree"),
    create(
        "create of UBIFS with a summary",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
            "--summary",
        ],
        &["--summary has no effect here: it is for JFFS2 only", "leave out --summary"],
    )
    .at("tree"),
    create(
        "create of JFFS2 with a name of a volume",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=jffs2",
            "--page=1",
            "--block=64KiB",
            "--volume-name=a",
        ],
        &["--volume-name has no effect here", "without UBI"],
    )
    .at("tree"),
    create(
        "create of JFFS2 with Zstandard",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=jffs2",
            "--page=1",
            "--block=64KiB",
            "--compression=zstd",
        ],
        &["--compression zstd does not fit", "expected none, lzo, zlib, rtime"],
    )
    .at("tree"),
    create(
        "create with a smaller size than that of the files",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--page=2KiB",
            "--block=128KiB",
            "--max-blocks=64",
            "--pad=2blocks",
        ],
        &["--pad 2blocks does not fit", "blocks or more, which the files take"],
    )
    .at("tree"),
    create(
        "create with a size of no blocks",
        &["image", "create", "tree", "o", "--page=1", "--block=64KiB", "--pad=xblocks"],
        &["'xblocks'", "expected a number of blocks, such as 64blocks"],
    ),
    create(
        "create around bad blocks that are none",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "--bad-blocks=3,x",
        ],
        &["--bad-blocks `3,x` does not fit", "such as 3,17,40-42"],
    )
    .at("tree"),
    create(
        "create around bad blocks without their marks",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=jffs2",
            "--page=2KiB",
            "--block=128KiB",
            "--bad-blocks=3",
        ],
        &["the mark of a bad block lies in its spare bytes", "give --oob SIZE"],
    )
    .at("tree"),
    create(
        "create around bad blocks of a missing list",
        &[
            "image",
            "create",
            "tree",
            "o",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "--bad-blocks=@none",
        ],
        &["cannot read `none`: no such file", "name a text file"],
    )
    .at("none"),
    table(
        "create around a wrong list of bad blocks",
        b"# known\n3\n4 \xc3\xa4\n",
        "a.txt:3:3",
        &[
            "image",
            "create",
            ".",
            "../none.jffs2",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "--bad-blocks=@a.txt",
        ],
        &["is no block", "such as 3,17,40-42"],
    ),
    table(
        "create with a table of something else",
        b"PNG\xff\xfe",
        "a.txt:1:4",
        &[
            "image",
            "create",
            ".",
            "../none.jffs2",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "-D",
            "a.txt",
        ],
        &["the file is not UTF-8 text", "is this the right file?"],
    ),
    table(
        "create with a device outside of the tree",
        b"/dev d 755 0 0\n/dev/../../x c 600 0 0 1 3\n",
        "a.txt:2:1",
        &[
            "image",
            "create",
            ".",
            "../none.jffs2",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "--devtable=a.txt",
        ],
        &["`/dev/../../x` is no name in the tree", "a path from / on"],
    ),
    table(
        "create with a hostile name in a table",
        b"/\x1b[2J/x c 600 0 0 1 3\n",
        "a.txt:1:1",
        &[
            "image",
            "create",
            ".",
            "../none.jffs2",
            "--fs=jffs2",
            "--page=2KiB",
            "--oob=64",
            "--block=128KiB",
            "-D",
            "a.txt",
        ],
        &["there is no folder `/\\u{1b}[2J`", "add a line before it"],
    ),
    ini(
        "create of an .ini with a table",
        b"[a]\n",
        &["image", "create", "a.ini", "o", "--page=2KiB", "--block=128KiB", "-D", "a.ini"],
        "a.ini",
        &["--devtable has no effect here", "leave out --devtable"],
    ),
    ini(
        "create of an .ini with an option for folders",
        b"[a]\n",
        &["image", "create", "a.ini", "o", "--page=2KiB", "--block=128KiB", "--fix-up"],
        "a.ini",
        &["--fix-up has no effect here", "leave out --fix-up"],
    ),
    ini(
        "create of an .ini with an unknown key",
        b"[a]\nmode=ubi\nvol_tpye=static\n",
        &["image", "create", "a.ini", "o", "--page=2KiB", "--block=128KiB"],
        "a.ini:3:1",
        &["unknown key `vol_tpye`", "did you mean `vol_type`?"],
    ),
    ini(
        "create of an .ini with a hostile name",
        b"[a]\nmode=ubi\nvol_id=\x1b[2J\n",
        &["image", "create", "a.ini", "o", "--page=2KiB", "--block=128KiB"],
        "a.ini:3:8",
        &["vol_id cannot be", "a whole number from 0 to 127"],
    ),
    Case::whole(
        "dump.bin",
        b"[scenario]\ntitle = \"nothing\"\n",
        "dump.bin",
        &["found text instead of JFFS2 or UBIFS or YAFFS2 or LogFS"],
    )
    .with(&["image", "check", "dump.bin"])
    .called("check of text"),
    with(
        "check with a wrong erase block",
        &["image", "check", "dump.bin", "--block", "16 KiB"],
        &["found erase blocks of 8 KiB, not 16 KiB"],
    ),
];

const fn create(
    name: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case::arguments(name, arguments, says).folder("tree")
}

/// The folder itself, with a table or a list in `a.txt`.
const fn table(
    name: &'static str,
    content: &'static [u8],
    at: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case::whole("a.txt", content, at, says).with(arguments).called(name)
}

const fn ini(
    name: &'static str,
    content: &'static [u8],
    arguments: &'static [&'static str],
    at: &'static str,
    says: &'static [&'static str],
) -> Case {
    Case::whole("a.ini", content, at, says).with(arguments).called(name)
}

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
