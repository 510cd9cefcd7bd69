//! Programs that cannot be run, and boards that cannot be.

use crate::case::Case;

/// Files, addresses and options that do not fit.
pub(crate) const CASES: &[Case] = &[
    Case::arguments("unknown os action", &["os", "runn"], &["'runn'", "'run'"]),
    Case::arguments("run of nothing", &["os", "run"], &["<ELF>", "os run"]),
    Case::arguments(
        "run of a missing program",
        &["os", "run", "a.elf"],
        &["cannot read `a.elf`: no such file", "name a regular file"],
    )
    .at("a.elf"),
    Case::arguments("run of a folder", &["os", "run", "."], &["it is not a regular file"]).at("."),
    Case::arguments("run of a device", &["os", "run", "/dev/zero"], &["it is not a regular file"])
        .at("/dev/zero"),
    run("run of an empty file", b"", &["not an ELF file"]),
    run(
        "run of text",
        b"#!/bin/sh\necho no program\n",
        &["not an ELF file: it begins with", "arm-none-eabi-gcc", "--load FILE@ADDRESS"],
    ),
    run("run of a file that is cut off", b"\x7fELF\x01\x01\x01\0", &["the ELF file"]),
    run(
        "run of a program for x86",
        &elf(3, 0x8000, [SMALL, NONE]),
        &["machine 3: expected 40, ARM"],
    ),
    run(
        "run of a program of 64 bits",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0",
        &["class 2"],
    ),
    run(
        "run of a big-endian program",
        b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x28",
        &["byte order 2"],
    ),
    run(
        "run from an entry outside memory",
        &elf(40, 0x0900_0000, [SMALL, NONE]),
        &["the entry point 0x09000000 is not in the 128 MiB of SDRAM", "--memory 256MiB"],
    ),
    run(
        "run of overlapping segments",
        &elf(40, 0x8000, [SMALL, Segment { at: 0x8008, size: 16 }]),
        &["segments 0 and 1 overlap at 0x00008008", "linker script"],
    ),
    run(
        "run of a program of 200 MB",
        &elf(40, 0x8000, [Segment { at: 0x8000, size: 200_000_000 }, NONE]),
        &["200000000 bytes at 0x00008000 do not fit into 128 MiB of SDRAM", "--memory 256MiB"],
    ),
    with(
        "run with memory that the board cannot have",
        &["os", "run", "a.elf", "--memory", "200MB"],
        &["200000000 B of SDRAM: expected a power of two from 1 to 256 MiB"],
    )
    .nowhere(),
    with(
        "run with memory that the board cannot have by its key",
        &["os", "run", "a.elf", "--set", "board.memory.size=200MB"],
        &["`board.memory.size`", "a power of two from 1 MiB to 256 MiB"],
    )
    .at("--set:1:19"),
    with(
        "run with a cache that no core has",
        &["os", "run", "a.elf", "--set", "board.core.data_cache=12 KiB"],
        &["4, 8, 16, 32, 64 or 128 KiB"],
    )
    .at("--set:1:23"),
    with(
        "run on a board without a core",
        &["os", "run", "a.elf", "--set", "board=ml505"],
        &["describes no core that runs programs", "use --set board=realview-eb"],
    )
    .at("--set:1:7"),
    with(
        "run with a limit without a unit that is known",
        &["os", "run", "a.elf", "--limit", "10 parsecs"],
        &["'10 parsecs'", "virtual time such as \"20 ms\", or a count of instructions"],
    )
    .nowhere(),
    with(
        "run with an image without an address",
        &["os", "run", "a.elf", "--load", "image.bin"],
        &["expected FILE@ADDRESS"],
    )
    .nowhere(),
    with(
        "run with a missing image",
        &["os", "run", "a.elf", "--load", "image.bin@0x1000"],
        &["cannot read `image.bin`: no such file"],
    )
    .at("image.bin"),
    with(
        "run from what is no snapshot",
        &["os", "run", "a.elf", "--restore", "part.toml"],
        &["not a snapshot", "--save FILE"],
    )
    .at("part.toml"),
    with(
        "run with a card of a part of a block",
        &["os", "run", "a.elf", "--card", "part.toml"],
        &["whole blocks of 512 bytes"],
    )
    .at("part.toml"),
    with(
        "card written that is not there",
        &["os", "run", "a.elf", "--card-write"],
        &["--card <FILE>"],
    )
    .nowhere(),
    with(
        "state saved where nothing can be",
        &["os", "run", "a.elf", "--save", "none/state"],
        &["cannot write `none/state`: no such file", "in a folder that can be written"],
    )
    .at("none/state"),
    with(
        "timeline written to a folder",
        &["os", "run", "a.elf", "--timeline", "."],
        &["cannot write `.`: is a directory", "name another file"],
    )
    .at("."),
    with(
        "trace into a folder that is not there",
        &["os", "trace", "a.elf", "--file", "none/lines"],
        &["cannot write `none/lines`: no such file", "in a folder that can be written"],
    )
    .at("none/lines"),
    with(
        "trace with a result",
        &["os", "trace", "a.elf", "--format", "json"],
        &["this command has no result for --format or --out", "the file of --file"],
    )
    .nowhere(),
    with(
        "trace from an unknown function",
        &["os", "trace", "a.elf", "--from", "main"],
        &["`main` is no address and no symbol of a.elf"],
    )
    .nowhere(),
    with(
        "debug at no address",
        &["os", "debug", "a.elf", "--listen", "nowhere"],
        &["cannot listen at `nowhere`", "--listen 127.0.0.1:0"],
    )
    .nowhere(),
];

/// A part of a program: its address, and its bytes, which are not in the file.
#[derive(Clone, Copy)]
struct Segment {
    at: u32,
    size: u32,
}

const SMALL: Segment = Segment { at: 0x8000, size: 16 };
const NONE: Segment = Segment { at: 0, size: 0 };

/// A program of two segments of zeros, for a machine by its number.
const fn elf(machine: u8, entry: u32, segments: [Segment; 2]) -> [u8; 116] {
    let mut file = [0; 116];
    let head = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0";
    let mut at = 0;
    while at < head.len() {
        file[at] = head[at];
        at += 1;
    }
    file[18] = machine;
    file = put(file, 20, 1);
    file = put(file, 24, entry);
    file = put(file, 28, 52);
    file = put(file, 40, 52 | 32 << 16);
    file = put(file, 44, if segments[1].size > 0 { 2 } else { 1 });
    let mut number = 0;
    while number < 2 {
        let (start, segment) = (52 + 32 * number, segments[number]);
        file = put(file, start, 1);
        file = put(file, start + 8, segment.at);
        file = put(file, start + 12, segment.at);
        file = put(file, start + 20, segment.size);
        file = put(file, start + 24, 7);
        number += 1;
    }
    file
}

/// Puts a word, lowest byte first.
const fn put(mut file: [u8; 116], at: usize, value: u32) -> [u8; 116] {
    let bytes = value.to_le_bytes();
    let mut index = 0;
    while index < 4 {
        file[at + index] = bytes[index];
        index += 1;
    }
    file
}

/// A program that is fine, as far as anybody looks here.
const FINE: [u8; 116] = elf(40, 0x8000, [SMALL, NONE]);

const fn run(name: &'static str, content: &'static [u8], says: &'static [&'static str]) -> Case {
    Case::whole("a.elf", content, "a.elf", says).with(&["os", "run", "a.elf"]).called(name)
}

const fn with(
    name: &'static str,
    arguments: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case::whole("a.elf", &FINE, "a.elf", says).with(arguments).called(name)
}
