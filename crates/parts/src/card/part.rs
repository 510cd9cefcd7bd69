//! Card files: from TOML to [`CardPart`].
//!
//! Layer: rank 8. Main type: [`CardPart`]; function: [`read`]. It is plain data, so that a what-if
//! is a clone with a changed field; the reader records the sources of the values.

use super::limits;
use super::values::{self, Letters};
use crate::managed::{ManagedFlash, refuse_in};
use boardlab_document::{Read, Section, fields, keys, section};
use boardlab_ftl::Geometry;
use boardlab_sd::{
    AllocationUnit, Cid, Classes, Discard, EraseTime, Face, Gaps, HealthFormat, Kind, Mode,
};
use boardlab_sim::{Bytes, Duration};

const KINDS: [(&str, Kind); 2] = [("sd", Kind::Sd), ("emmc", Kind::Emmc)];
const DISCARDS: [(&str, Discard); 3] =
    [("none", Discard::None), ("discard", Discard::Discard), ("erase", Discard::Erase)];
const ERASED: [(&str, bool); 2] = [("zeros", false), ("ones", true)];
const HEALTHS: [(&str, Option<HealthFormat>); 3] = [
    ("none", None),
    ("apacer", Some(HealthFormat::Apacer)),
    ("sandisk", Some(HealthFormat::SanDisk)),
];

/// The contents of a card file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardPart {
    /// The title.
    pub name: String,
    /// The properties that a host sees.
    pub face: Face,
    /// The bus modes that it supports.
    pub modes: Vec<Mode>,
    /// The clocks between commands and blocks.
    pub gaps: Gaps,
    /// The flash behind it.
    pub managed: ManagedFlash,
}

impl CardPart {
    /// The geometry of the part for the translation layer.
    ///
    /// # Errors
    /// What the layer refuses.
    pub fn geometry(&self) -> Result<Geometry, boardlab_ftl::Error> {
        self.managed.geometry(self.face.capacity)
    }
}

/// Reads the section of a card.
pub fn read(section: Section<'_>) -> Read<CardPart> {
    // A part of another kind has none of these keys: one error says it better than thirty.
    let kind = section.one_of("kind", &KINDS).inspect_err(|_| section.leave_rest())?;
    let name = section.required::<String>("title");
    let face = face(&section, kind);
    let managed = ManagedFlash::read(&section);
    section.finish()?;
    let (managed, (face, modes, gaps)) = (managed?, face?);
    let part = CardPart { name: name?, face, modes, gaps, managed };
    check(&section, &part)?;
    Ok(part)
}

fn check(section: &Section<'_>, part: &CardPart) -> Read<()> {
    let unit = part.face.allocation_unit.size();
    if !part.face.capacity.is_multiple_of(unit) {
        let (units, rest) = (part.face.capacity / unit, part.face.capacity.get() % unit.get());
        return Err(section.refuse(
            "capacity",
            &format!(
                "is not a multiple of the allocation unit of {unit}: {units} units and {rest} bytes"
            ),
            &format!("{} bytes, or another multiple of {unit}", (unit * units).get()),
            "the block count that `blockdev --getsz` gives, times 512, is the exact size",
        ));
    }
    let page = part.managed.page;
    if part.face.cache.is_some_and(|cache| cache < page) {
        let problem = format!("does not hold one mapped page of {page}");
        let expected = format!("at least {page}");
        return Err(refuse_in(section, ["controller", "write_cache"], &problem, &expected));
    }
    part.managed.check(section, part.face.capacity)
}

/// The properties that a host sees, the bus modes and the gaps.
fn face(section: &Section<'_>, kind: Kind) -> Read<(Face, Vec<Mode>, Gaps)> {
    let capacity = section.key("capacity").within(Bytes::new(512), limits::CAPACITY).required();
    let unit = section.required::<Bytes>("allocation_unit");
    let unit = unit.and_then(|unit| {
        AllocationUnit::new(unit).ok_or_else(|| {
            let sizes: Vec<_> = AllocationUnit::sizes().map(|size| size.to_string()).collect();
            let expected = format!("one of {}", sizes.join(", "));
            let help = "the card's SD status has a code for each of these (AU_SIZE)";
            section.refuse(
                "allocation_unit",
                "is a size that SD status cannot represent",
                &expected,
                help,
            )
        })
    });
    let bus = section.section("bus", Bus::read);
    let controller = section.section("controller", Controller::read);
    let cid = section.section("identity", identity);
    let classes = section.section("classes", classes);
    let erase = section.section("erase_time", erase_time);
    let health = section.one_of("health", &HEALTHS);
    let (Bus { modes, gaps, set_block_count }, controller) = (bus?, controller?);
    let Controller { command, write_cache, write_back_after, discard, erased } = controller;
    let face = Face {
        kind,
        capacity: capacity?,
        allocation_unit: unit?,
        counts_blocks: set_block_count,
        command,
        cache: write_cache,
        write_back_after,
        discard,
        erased_ones: erased,
        cid: cid?,
        classes: classes?,
        erase: erase?,
        health: health?,
    };
    Ok((face, modes, gaps))
}

section! {
    /// The section `bus`.
    struct Bus(section) {
        modes: Vec<Mode> => with(values::modes),
        gaps: Gaps = keys!(section => Gaps {
            response: u64 => within(Gaps::LEAST.response, limits::GAP),
            next_command: u64 => within(Gaps::LEAST.next_command, limits::GAP),
            write: u64 => within(Gaps::LEAST.write, limits::GAP),
            read: u64 => within(Gaps::LEAST.read, limits::GAP),
        }),
        set_block_count: bool,
    }
}

section! {
    /// The section `controller`.
    struct Controller {
        command: Duration => up_to(limits::COMMAND),
        write_cache: Option<Bytes> => within(Bytes::new(512), limits::MEMORY),
        write_back_after: Duration => up_to(limits::AWAY).or(Duration::ZERO),
        discard: Discard => one_of(DISCARDS),
        erased: bool => one_of(ERASED),
    }
}

fn identity(section: Section<'_>) -> Read<Cid> {
    fields!(section => Cid {
        manufacturer: u8,
        revision: u8,
        brand: [u8; 2] = section.required::<Letters<2>>("brand").map(|letters| letters.0),
        product: [u8; 5] = section.required::<Letters<5>>("product").map(|letters| letters.0),
        serial: u32,
        year: u16 => within(2_000, 2_255),
        month: u8 => within(1, 12),
    })
}

fn classes(section: Section<'_>) -> Read<Classes> {
    fields!(section => Classes {
        speed: u8 => with(class, &[0, 2, 4, 6, 10]),
        uhs: u8 => with(class, &[0, 1, 3]),
        video: u8 => with(class, &[0, 6, 10, 30, 60, 90]),
        application: u8 => with(class, &[0, 1, 2]),
    })
}

fn class(section: &Section<'_>, key: &str, known: &[u8]) -> Read<u8> {
    let found = section.required::<u64>(key)?;
    known.iter().copied().find(|&class| u64::from(class) == found).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(u8::to_string).collect();
        let help = "it is what the card's logo says; 0 where there is none";
        section.refuse(key, "is not a class", &format!("one of {}", names.join(", ")), help)
    })
}

fn erase_time(section: Section<'_>) -> Read<EraseTime> {
    fields!(section => EraseTime {
        units: u16,
        timeout: u8 => up_to(63),
        offset: u8 => up_to(3),
    })
}
