//! Card files: from TOML to [`CardPart`].
//!
//! Layer: rank 8. Main type: [`CardPart`]; function: [`read`]. All is
//! plain data, so that a what-if is a clone with a field changed; what it rests on is recorded by the reader.

use super::limits;
use super::values::{self, Letters};
use crate::managed::values::count;
use crate::managed::{Managed, refuse_in};
use boardlab_document::{Read, Section};
use boardlab_ftl::Geometry;
use boardlab_sd::{
    AllocationUnit, Cid, Classes, Discard, EraseTime, Face, Gaps, HealthFormat, Kind, Mode,
};
use boardlab_sim::{Bytes, Duration};

const KINDS: [(&str, Kind); 2] = [("sd", Kind::Sd), ("emmc", Kind::Emmc)];
const DISCARDS: [(&str, Discard); 3] =
    [("none", Discard::None), ("discard", Discard::Discard), ("erase", Discard::Erase)];

/// A card, as its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardPart {
    /// What it is, one line.
    pub name: String,
    /// What a host sees.
    pub face: Face,
    /// Modes of the bus that it can do.
    pub modes: Vec<Mode>,
    /// Clocks between commands and blocks.
    pub gaps: Gaps,
    /// The flash behind it.
    pub managed: Managed,
}

impl CardPart {
    /// Shape of the part as the translation layer sees it.
    ///
    /// # Errors
    /// What the layer refuses.
    pub fn geometry(&self) -> Result<Geometry, boardlab_ftl::Error> {
        self.managed.geometry(self.face.capacity)
    }
}

/// Reads the section of a card.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: Section<'_>) -> Read<CardPart> {
    // A part of another kind has other keys throughout: one message says it better than thirty.
    let kind = section.one_of("kind", &KINDS).inspect_err(|_| section.leave_rest())?;
    let name = section.required::<String>("title");
    let face = face(&section, kind);
    let managed = Managed::read(&section);
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

/// The face, and what of the bus the card decides.
fn face(section: &Section<'_>, kind: Kind) -> Read<(Face, Vec<Mode>, Gaps)> {
    let capacity =
        section.key::<Bytes>("capacity").within(Bytes::new(512), limits::CAPACITY).required();
    let unit = section.required::<Bytes>("allocation_unit");
    let unit = unit.and_then(|unit| {
        AllocationUnit::new(unit).ok_or_else(|| {
            let sizes: Vec<_> = AllocationUnit::sizes().map(|size| size.to_string()).collect();
            let expected = format!("one of {}", sizes.join(", "));
            let help = "the card's SD status has a code for each of these (AU_SIZE)";
            section.refuse("allocation_unit", "is no size that a card can tell", &expected, help)
        })
    });
    let bus = section.section("bus", bus);
    let controller = section.section("controller", controller);
    let cid = section.section("identity", identity);
    let classes = section.section("classes", classes);
    let erase = section.section("erase_time", erase_time);
    let healths = [
        ("none", None),
        ("apacer", Some(HealthFormat::Apacer)),
        ("sandisk", Some(HealthFormat::SanDisk)),
    ];
    let health = section.one_of("health", &healths);
    let ((modes, gaps, counts_blocks), controller) = (bus?, controller?);
    let Controller { command, cache, write_back_after, discard, erased_ones } = controller;
    let face = Face {
        kind,
        capacity: capacity?,
        allocation_unit: unit?,
        counts_blocks,
        command,
        cache,
        write_back_after,
        discard,
        erased_ones,
        cid: cid?,
        classes: classes?,
        erase: erase?,
        health: health?,
    };
    Ok((face, modes, gaps))
}

fn bus(section: Section<'_>) -> Read<(Vec<Mode>, Gaps, bool)> {
    let modes = values::modes(&section);
    let gap = |key, least| section.key::<u64>(key).within(least, limits::GAP).required();
    let gaps = [
        gap("response", Gaps::LEAST.response),
        gap("next_command", Gaps::LEAST.next_command),
        gap("write", Gaps::LEAST.write),
        gap("read", Gaps::LEAST.read),
    ];
    let counts_blocks = section.required::<bool>("set_block_count");
    section.finish()?;
    let [response, next_command, write, read] = gaps;
    let gaps =
        Gaps { response: response?, next_command: next_command?, write: write?, read: read? };
    Ok((modes?, gaps, counts_blocks?))
}

/// What a section `controller` says.
struct Controller {
    command: Duration,
    cache: Option<Bytes>,
    write_back_after: Duration,
    discard: Discard,
    erased_ones: bool,
}

fn controller(section: Section<'_>) -> Read<Controller> {
    let command =
        section.key::<Duration>("command").within(Duration::ZERO, limits::COMMAND).required();
    let cache =
        section.key::<Bytes>("write_cache").within(Bytes::new(512), limits::MEMORY).optional();
    let after = section.key::<Duration>("write_back_after").within(Duration::ZERO, limits::AWAY);
    let after = after.or(Duration::ZERO);
    let discard = section.one_of("discard", &DISCARDS);
    let erased = section.one_of("erased", &[("zeros", false), ("ones", true)]);
    section.finish()?;
    Ok(Controller {
        command: command?,
        cache: cache?,
        write_back_after: after?,
        discard: discard?,
        erased_ones: erased?,
    })
}

fn identity(section: Section<'_>) -> Read<Cid> {
    let byte = |key| count(&section, key, 0, 255).map(|byte| u8::try_from(byte).expect("a byte"));
    let (manufacturer, revision) = (byte("manufacturer"), byte("revision"));
    let brand = section.required::<Letters<2>>("brand");
    let product = section.required::<Letters<5>>("product");
    let serial = count(&section, "serial", 0, u32::MAX.into());
    let (year, month) = (count(&section, "year", 2_000, 2_255), count(&section, "month", 1, 12));
    section.finish()?;
    Ok(Cid {
        manufacturer: manufacturer?,
        brand: brand?.0,
        product: product?.0,
        revision: revision?,
        serial: serial?,
        year: u16::try_from(year?).expect("at most 2,255"),
        month: u8::try_from(month?).expect("at most 12"),
    })
}

fn classes(section: Section<'_>) -> Read<Classes> {
    let class = |key: &str, known: &[u8]| {
        let found = section.required::<u64>(key)?;
        known.iter().copied().find(|&class| u64::from(class) == found).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(u8::to_string).collect();
            let help = "it is what the card's logo says; 0 where there is none";
            section.refuse(key, "is no class", &format!("one of {}", names.join(", ")), help)
        })
    };
    let speed = class("speed", &[0, 2, 4, 6, 10]);
    let uhs = class("uhs", &[0, 1, 3]);
    let video = class("video", &[0, 6, 10, 30, 60, 90]);
    let application = class("application", &[0, 1, 2]);
    section.finish()?;
    Ok(Classes { speed: speed?, uhs: uhs?, video: video?, application: application? })
}

fn erase_time(section: Section<'_>) -> Read<EraseTime> {
    let units = count(&section, "units", 0, u16::MAX.into());
    let (timeout, offset) = (count(&section, "timeout", 0, 63), count(&section, "offset", 0, 3));
    section.finish()?;
    Ok(EraseTime {
        units: u16::try_from(units?).expect("at most 65,535"),
        timeout: u8::try_from(timeout?).expect("at most 63"),
        offset: u8::try_from(offset?).expect("at most 3"),
    })
}
