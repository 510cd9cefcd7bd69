//! Wrong part files.

use crate::case::Case;

const FILE: &str = "part.toml";

/// One wrong value.
pub(crate) const CASES: &[Case] = &[
    Case::line(
        "unknown key in a part",
        [FILE, "unlock_bypass", "unlock_bypas = true"],
        "unlock_bypas",
        &["unknown key `unlock_bypas` in `part.features`", "did you mean `unlock_bypass`?"],
    ),
    Case::line(
        "number without a source",
        [FILE, "erase_window", "erase_window = \"50 us\""],
        "\"50 us\"",
        &["`part.timing.erase_window`: `50 us` has no source", "every number needs a source"],
    ),
    Case::line(
        "origin without a source",
        [FILE, "erase_window", "erase_window = { value = \"50 us\", origin = \"assumed\" }"],
        "{",
        &["missing key `source` in `part.timing.erase_window`"],
    ),
    Case::line(
        "unknown origin",
        [FILE, "erase_window", "erase_window = { value = \"50 us\", origin = \"data sheet\", source = \"x\" }"],
        "\"data sheet\"",
        &["`part.timing.erase_window.origin`: `data sheet` is not known", "did you mean `datasheet`?"],
    ),
    Case::line(
        "empty source",
        [FILE, "erase_window", "erase_window = { value = \"50 us\", origin = \"assumed\", source = \"\" }"],
        "\"\"",
        &["`part.timing.erase_window.source`", "is empty"],
    ),
    Case::no_section(
        "part without CFI",
        [FILE, "[cfi]"],
        "",
        &["CFI", "[cfi]"],
    ),
    Case::line(
        "sectors that do not add up",
        [FILE, "count", "count = { value = 1000, origin = \"assumed\", source = \"x\" }"],
        "",
        &["the sectors add up to 125 MiB: expected a power of two"],
    )
    .at("part.toml:"),
    Case::line(
        "sectors of no size",
        [FILE, "size", "size = { value = \"0 B\", origin = \"assumed\", source = \"x\" }"],
        "\"0 B\"",
        &["`part.geometry.region.0.size`", "from 256 B to 16 MiB"],
    ),
    Case::line(
        "no sectors",
        [FILE, "count", "count = { value = 0, origin = \"assumed\", source = \"x\" }"],
        "0",
        &["`part.geometry.region.0.count`: `0` is not from 1 to 65536"],
    ),
    Case::line(
        "write buffer that is no power of two",
        [FILE, "write_buffer", "write_buffer = { value = \"1000 B\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["a write buffer of 1000 B: expected a power of two"],
    )
    .at("part.toml:"),
    Case::line(
        "unknown kind of part",
        [FILE, "kind", "kind = \"nand\""],
        "\"nand\"",
        &["`part.kind`: `nand` is not known", "boardlab list parts nor"],
    ),
    Case::line(
        "unknown width",
        [FILE, "width", "width = \"x32\""],
        "\"x32\"",
        &["`part.width`: `x32` is not known", "x8, x16"],
    ),
    Case::line(
        "CFI exponent that no part has",
        [FILE, "word_typical", "word_typical = { value = 31, origin = \"assumed\", source = \"x\" }"],
        "31",
        &["`part.cfi.word_typical`: `31` is not from 0 to 30"],
    ),
    Case::line(
        "identity of more than 16 bits",
        [FILE, "device ", "device = { value = 0x10000, origin = \"assumed\", source = \"x\" }"],
        "0x10000",
        &["`part.identity.device`: `0x10000` is not from 0 to 65535"],
    ),
    Case::line(
        "no endurance",
        [FILE, "endurance", "endurance = { value = 0, origin = \"assumed\", source = \"x\" }"],
        "0",
        &["`part.limits.endurance`: `0` is not from 1 to 4294967295"],
    ),
    Case::line(
        "endurance beyond u64",
        [FILE, "endurance", "endurance = { value = 18446744073709551616, origin = \"assumed\", source = \"x\" }"],
        "18446744073709551616",
        &["`part.limits.endurance`", "is larger than 18446744073709551615"],
    ),
    Case::line(
        "negative endurance",
        [FILE, "endurance", "endurance = { value = -1, origin = \"assumed\", source = \"x\" }"],
        "-1",
        &["`part.limits.endurance`: `-1` is negative"],
    ),
    Case::line(
        "distribution in the wrong order",
        [FILE, "word_program ", "word_program = { value = \"triangular(95 us, 80 us, 130 us)\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["`part.timing.word_program`", "breaks the order"],
    )
    .at("part.toml:"),
    Case::line(
        "distribution with too few arguments",
        [FILE, "word_program ", "word_program = { value = \"triangular(95 us)\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["`part.timing.word_program`", "has the wrong arguments", "triangular("],
    )
    .at("part.toml:"),
    Case::line(
        "unknown distribution",
        [FILE, "word_program ", "word_program = { value = \"triangle(80 us, 95 us, 130 us)\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["`part.timing.word_program`", "triangular"],
    )
    .at("part.toml:"),
    Case::line(
        "time longer than its maximum",
        [FILE, "word_program_max", "word_program_max = { value = \"100 us\", origin = \"assumed\", source = \"x\" }"],
        "",
        &["`100 us` is shorter than the longest `word_program`, 130 us"],
    )
    .at("part.toml:"),
    Case::line(
        "feature that is no boolean",
        [FILE, "ppb", "ppb = \"yes\""],
        "\"yes\"",
        &["`part.features.ppb`: `yes` is a string", "expected true or false"],
    ),
    Case::whole(FILE, b"[[[", "part.toml:1:", &["not TOML"]).called("broken part file"),
];
