//! NAND part files: from TOML to [`boardlab_nand::Part`].
//!
//! Layer: rank 8. Main type: [`PartFile`]; function: [`read`].

use super::{error_rates, limits};
use boardlab_document::{Read, Section, fields, section};
use boardlab_media::{CellKind, ErrorRates, NandGeometry};
use boardlab_nand::part::{BadMarks, BusWidth, EccNeed, Interface, Onfi, Part, TimeLimit, Timing};
use boardlab_sim::{Bytes, Duration, Hertz, QuantileTable};

/// The bus interface, before the details of a serial bus are read.
#[derive(Clone, Copy)]
enum Wiring {
    Parallel(BusWidth),
    Serial,
}

const WIRINGS: [(&str, Wiring); 3] = [
    ("x8", Wiring::Parallel(BusWidth::X8)),
    ("x16", Wiring::Parallel(BusWidth::X16)),
    ("spi", Wiring::Serial),
];
pub(crate) const CELLS: [(&str, CellKind); 4] = [
    ("slc", CellKind::Slc),
    ("mlc", CellKind::Mlc),
    ("tlc", CellKind::Tlc),
    ("qlc", CellKind::Qlc),
];

/// The contents of a part file.
#[derive(Debug, Clone)]
pub struct PartFile {
    /// The part.
    pub part: Part,
    /// Its bit error rates, if the file has them.
    pub errors: Option<ErrorRates>,
}

/// Reads the section of a part.
pub fn read(section: Section<'_>) -> Read<PartFile> {
    // A part of another kind has none of these keys: one error says it better than thirty.
    let kind = section.one_of("kind", &[("nand", ())]).inspect_err(|_| section.leave_rest());
    let ((), name) = (kind?, section.required::<String>("title"));
    let interface = interface(&section);
    let cell = section.one_of("cell", &CELLS);
    let geometry = section.section("geometry", geometry);
    let identity = identity(&section);
    let onfi = section.optional_section("onfi", onfi);
    let serial = matches!(interface, Ok(Interface::Spi { .. }));
    let timing = section.section("timing", |timing| self::timing(timing, serial));
    let limits = section.section("limits", Limits::read);
    let ecc = section.section("ecc", ecc);
    let on_die_ecc = section.optional_section("on_die_ecc", self::ecc);
    let errors = section.optional_section("errors", error_rates::rates);
    section.finish()?;
    let Limits { endurance, bad_marks, bad_blocks, programs_per_page } = limits?;
    let (interface, geometry, cell, identity) = (interface?, geometry?, cell?, identity?);
    let bad_marks =
        bad_marks.unwrap_or_else(|| BadMarks::of_linux(&identity, cell, geometry.page, interface));
    let part = Part {
        name: name?,
        interface,
        geometry,
        cell,
        programs_per_page,
        identity,
        onfi: onfi?,
        timing: timing?,
        endurance,
        bad_blocks_max: bad_blocks,
        bad_marks,
        ecc: ecc?,
        on_die_ecc: on_die_ecc?,
    };
    Ok(PartFile { part: check(&section, part)?, errors: errors? })
}

fn check(section: &Section<'_>, part: Part) -> Read<Part> {
    let Err(problem) = part.check() else { return Ok(part) };
    Err(section.refuse(
        "geometry",
        &format!("or another section cannot be: {problem}"),
        "a part that can exist",
        "compare it with a built-in part: boardlab list parts",
    ))
}

fn interface(section: &Section<'_>) -> Read<Interface> {
    let wiring = section.one_of("interface", &WIRINGS);
    if let Ok(Wiring::Parallel(width)) = wiring {
        return Ok(Interface::Parallel(width));
    }
    let bus = section.section("spi", Spi::read);
    wiring?;
    bus.map(|Spi { clock, lanes }| Interface::Spi { clock, lanes })
}

section! {
    /// The section `spi`.
    struct Spi {
        clock: Hertz => within(Hertz::from_hz(1_000), Hertz::from_hz(1_000_000_000)),
        lanes: u32 => within(1, 4),
    }
}

section! {
    /// The section `limits`.
    struct Limits {
        endurance: u32 => within(1, u32::MAX.into()),
        bad_marks: Option<BadMarks> => with(bad_marks),
        bad_blocks: u32,
        programs_per_page: u32 => within(1, 16),
    }
}

/// The pages that carry the bad-block mark; `None` where the file leaves them to Linux' rule.
fn bad_marks(section: &Section<'_>, key: &str) -> Read<Option<BadMarks>> {
    const PAGES: [&str; 3] = ["first", "second", "last"];
    let Some(names) = section.key::<Vec<String>>(key).optional_sourced()? else {
        return Ok(None);
    };
    let is_named = |page: &str| names.value.iter().any(|name| name == page);
    let [first, second, last] = PAGES.map(is_named);
    if names.value.iter().all(|name| PAGES.contains(&name.as_str())) {
        return Ok(Some(BadMarks { first, second, last }));
    }
    Err(section.refuse(
        key,
        "names no pages of a block that may be marked",
        "one or more of \"first\", \"second\" and \"last\"",
        "see \"initial invalid blocks\" in the data sheet; without the key it is where Linux looks",
    ))
}

fn geometry(section: Section<'_>) -> Read<NandGeometry> {
    fields!(section => NandGeometry {
        blocks: u32 => within(1, 1 << 24),
        pages_per_block: u32 => within(1, 1_024),
        page: Bytes => within(Bytes::new(1), Bytes::kib(32)),
        oob: Bytes => within(Bytes::new(1), Bytes::kib(8)),
    })
}

fn identity(section: &Section<'_>) -> Read<Vec<u8>> {
    let bytes = section.required::<Vec<u64>>("identity")?;
    let bytes: Result<Vec<u8>, _> = bytes.into_iter().map(u8::try_from).collect();
    bytes.map_err(|_| {
        section.refuse(
            "identity",
            "holds more than bytes",
            "2 to 8 numbers from 0 to 255",
            "copy the bytes that command 90h gives, or 9Fh on a serial bus",
        )
    })
}

fn onfi(section: Section<'_>) -> Read<Onfi> {
    fields!(section => Onfi {
        revision: u16,
        features: u16,
        optional_commands: u16,
        timing_modes: u16,
        manufacturer: String,
        model: String,
    })
}

fn ecc(section: Section<'_>) -> Read<EccNeed> {
    fields!(section => EccNeed {
        bits: u32 => within(1, 64),
        step: Bytes => within(Bytes::new(256), Bytes::kib(1)),
    })
}

fn timed(section: &Section<'_>, key: &str, max: &str, most: Duration) -> Read<TimeLimit> {
    let time = limits::times(section, key, most);
    let limit = limits::some_span(section, max, most);
    Ok(TimeLimit { time: time?, max: limit? })
}

/// Reads the timing; the times of a parallel bus are zero on a serial one.
fn timing(section: Section<'_>, serial: bool) -> Read<Timing> {
    let span = |section: &Section<'_>, key: &str| match serial {
        true => Ok(Duration::ZERO),
        false => section.key(key).up_to(limits::BUS_CYCLE).required(),
    };
    fields!(section => Timing {
        read: QuantileTable => with(limits::times, limits::READ),
        program: TimeLimit => with(timed, "program_max", limits::PROGRAM),
        erase: TimeLimit => with(timed, "erase_max", limits::ERASE),
        write_cycle: Duration => with(span),
        read_cycle: Duration => with(span),
        write_to_busy: Duration => with(span),
        ready_to_read: Duration => with(span),
        write_to_read: Duration => with(span),
        address_to_data: Duration => with(span),
        reset: Duration => up_to(limits::READ),
    })
}
