//! NAND part files: from TOML to [`boardlab_nand::Part`].
//!
//! Layer: rank 8. Main type: [`PartFile`]; function: [`read`].

use super::{error_rates, limits};
use boardlab_document::{Read, Reported, Section};
use boardlab_media::{CellKind, ErrorRates, NandGeometry};
use boardlab_nand::part::{BadMarks, BusWidth, EccNeed, Interface, Onfi, Part, TimeLimit, Timing};
use boardlab_sim::{Bytes, Duration, Hertz};

/// How a part is wired, before the details of a serial bus are known.
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
const CELLS: [(&str, CellKind); 4] = [
    ("slc", CellKind::Slc),
    ("mlc", CellKind::Mlc),
    ("tlc", CellKind::Tlc),
    ("qlc", CellKind::Qlc),
];

/// What a part file says.
#[derive(Debug, Clone)]
pub struct PartFile {
    /// The part.
    pub part: Part,
    /// How likely its bits are wrong, where the file says so.
    pub errors: Option<ErrorRates>,
}

/// Reads the section of a part.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: Section<'_>) -> Read<PartFile> {
    // A part of another kind has other keys throughout: one message says it better than thirty.
    let kind = section.one_of("kind", &[("nand", ())]).inspect_err(|_| section.leave_rest());
    let ((), name) = (kind?, section.required::<String>("title"));
    let interface = interface(&section);
    let cell = section.one_of("cell", &CELLS);
    let geometry = section.section("geometry", geometry);
    let identity = identity(&section);
    let onfi = section.optional_section("onfi", onfi);
    let serial = matches!(interface, Ok(Interface::Spi { .. }));
    let timing = section.section("timing", |timing| self::timing(&timing, serial));
    let limits = section.section("limits", |limits| {
        let count = |key, most| count(&limits, key, most);
        let endurance = count("endurance", u32::MAX);
        let marks = bad_marks(&limits);
        let bad_blocks = limits.key::<u64>("bad_blocks").within(0, u64::from(u32::MAX)).required();
        let programs = count("programs_per_page", 16);
        limits.finish()?;
        let bad_blocks = u32::try_from(bad_blocks?).expect("within u32");
        Ok((endurance?, bad_blocks, programs?, marks?))
    });
    let ecc = section.section("ecc", ecc);
    let on_die_ecc = section.optional_section("on_die_ecc", self::ecc);
    let errors = section.optional_section("errors", error_rates::rates);
    section.finish()?;
    let (endurance, bad_blocks_max, programs_per_page, marks) = limits?;
    let (interface, geometry, cell, identity) = (interface?, geometry?, cell?, identity?);
    let marks =
        marks.unwrap_or_else(|| BadMarks::of_linux(&identity, cell, geometry.page, interface));
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
        bad_blocks_max,
        bad_marks: marks,
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
    let bus = section.section("spi", |spi| {
        let most = Hertz::from_hz(1_000_000_000);
        let clock = spi.key::<Hertz>("clock").within(Hertz::from_hz(1_000), most).required();
        let lanes = count(&spi, "lanes", 4);
        spi.finish()?;
        Ok(Interface::Spi { clock: clock?, lanes: lanes? })
    });
    wiring?;
    bus
}

/// A count from 1 to `most`.
fn count(section: &Section<'_>, key: &str, most: u32) -> Read<u32> {
    let count = section.key::<u64>(key).within(1, u64::from(most)).required()?;
    Ok(u32::try_from(count).expect("within u32"))
}

/// The pages on which bad blocks are marked; `None` where the file leaves them to Linux' rule.
fn bad_marks(section: &Section<'_>) -> Read<Option<BadMarks>> {
    let Some(names) = section.key::<Vec<String>>("bad_marks").optional_sourced()? else {
        return Ok(None);
    };
    let mut marks = BadMarks { first: false, second: false, last: false };
    for name in &names.value {
        match name.as_str() {
            "first" => marks.first = true,
            "second" => marks.second = true,
            "last" => marks.last = true,
            _ => return Err(refuse_marks(section)),
        }
    }
    Ok(Some(marks))
}

fn refuse_marks(section: &Section<'_>) -> Reported {
    section.refuse(
        "bad_marks",
        "names no pages of a block that may be marked",
        "one or more of \"first\", \"second\" and \"last\"",
        "see \"initial invalid blocks\" in the data sheet; without the key it is where Linux looks",
    )
}

fn geometry(section: Section<'_>) -> Read<NandGeometry> {
    let (blocks, pages) =
        (count(&section, "blocks", 1 << 24), count(&section, "pages_per_block", 1_024));
    let size = |key, most| section.key::<Bytes>(key).within(Bytes::new(1), most).required();
    let (page, oob) = (size("page", Bytes::kib(32)), size("oob", Bytes::kib(8)));
    section.finish()?;
    Ok(NandGeometry { blocks: blocks?, pages_per_block: pages?, page: page?, oob: oob? })
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
    let word = |key| {
        let value = section.key::<u64>(key).within(0, u64::from(u16::MAX)).required()?;
        Ok(u16::try_from(value).expect("within u16"))
    };
    let words = [word("revision"), word("features"), word("optional_commands")];
    let modes = word("timing_modes");
    let manufacturer = section.required::<String>("manufacturer");
    let model = section.required::<String>("model");
    section.finish()?;
    let [revision, features, optional_commands] = words;
    Ok(Onfi {
        revision: revision?,
        features: features?,
        optional_commands: optional_commands?,
        manufacturer: manufacturer?,
        model: model?,
        timing_modes: modes?,
    })
}

fn ecc(section: Section<'_>) -> Read<EccNeed> {
    let bits = count(&section, "bits", 64);
    let step = section.key::<Bytes>("step").within(Bytes::new(256), Bytes::kib(1)).required();
    section.finish()?;
    Ok(EccNeed { bits: bits?, step: step? })
}

fn timed(section: &Section<'_>, key: &str, max: &str, most: Duration) -> Read<TimeLimit> {
    let time = limits::times(section, key, most);
    let limit = limits::some_span(section, max, most);
    Ok(TimeLimit { time: time?, max: limit? })
}

/// Times; those of a parallel bus are left out on a serial one.
fn timing(section: &Section<'_>, serial: bool) -> Read<Timing> {
    let read = limits::times(section, "read", limits::READ);
    let program = timed(section, "program", "program_max", limits::PROGRAM);
    let erase = timed(section, "erase", "erase_max", limits::ERASE);
    let span = |key| match serial {
        true => Ok(Duration::ZERO),
        false => limits::span(section, key, limits::BUS_CYCLE),
    };
    let cycles = [span("write_cycle"), span("read_cycle")];
    let gaps = [
        span("write_to_busy"),
        span("ready_to_read"),
        span("write_to_read"),
        span("address_to_data"),
    ];
    let reset = limits::span(section, "reset", limits::READ);
    section.finish()?;
    let ([write_cycle, read_cycle], [to_busy, to_read, command_to_read, to_data]) = (cycles, gaps);
    Ok(Timing {
        read: read?,
        program: program?,
        erase: erase?,
        write_cycle: write_cycle?,
        read_cycle: read_cycle?,
        write_to_busy: to_busy?,
        ready_to_read: to_read?,
        write_to_read: command_to_read?,
        address_to_data: to_data?,
        reset: reset?,
    })
}
