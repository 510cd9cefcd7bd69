//! Drive files: from TOML to [`DrivePart`].
//!
//! Layer: rank 8. Main types: [`DrivePart`], [`Identity`]; function: [`read`]. It is plain data, so
//! that a what-if is a clone with a changed field; the reader records the sources of the values.

use super::board::Port;
use super::housekeeping::Pause;
use super::limits;
use crate::managed::limits::{AWAY, MEMORY};
use crate::managed::{ManagedFlash, refuse_in};
use boardlab_document::{Read, Section, fields, section};
use boardlab_ftl::{Geometry, Stripe};
use boardlab_sata::device::{Drive, WriteCache};
use boardlab_sata::link::End;
use boardlab_sata::{SECTOR, Speed};
use boardlab_sim::{Bytes, Duration};

/// The contents of a drive file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrivePart {
    /// The title.
    pub name: String,
    /// Texts of its IDENTIFY data.
    pub identity: Identity,
    /// The fastest speed that it supports.
    pub speed: Speed,
    /// Its end of the link.
    pub end: End,
    /// The properties that a host sees, and the controller. How pages are striped over dies follows
    /// from the flash, whatever this field says.
    pub drive: Drive,
    /// The pause for housekeeping, if there is one.
    pub housekeeping: Option<Pause>,
    /// The flash behind it.
    pub managed: ManagedFlash,
}

section! {
    /// Texts of IDENTIFY data.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Identity {
        /// Model, up to 40 characters.
        pub model: String => with(ascii, 40),
        /// Serial number, up to 20.
        pub serial: String => with(ascii, 20),
        /// Firmware, up to 8.
        pub firmware: String => with(ascii, 8),
    }
}

impl DrivePart {
    /// Bytes that the host can address.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        SECTOR * self.drive.sectors
    }

    /// The geometry of the part for the translation layer.
    ///
    /// # Errors
    /// What the layer refuses.
    pub fn geometry(&self) -> Result<Geometry, boardlab_ftl::Error> {
        self.managed.geometry(self.capacity())
    }
}

/// Reads the section of a drive.
pub fn read(section: Section<'_>) -> Read<DrivePart> {
    // A part of another kind has none of these keys: one error says it better than thirty.
    section.one_of("kind", &[("sata", ())]).inspect_err(|_| section.leave_rest())?;
    let name = section.required::<String>("title");
    let sectors = section.key::<u64>("sectors").within(1, limits::SECTORS).required();
    let identity = section.section("identity", Identity::read);
    let link = section.section("link", Port::read);
    let commands = section.section("commands", Commands::read);
    let controller = section.section("controller", controller);
    let housekeeping = section.optional_section("housekeeping", Pause::read);
    let managed = ManagedFlash::read(&section);
    section.finish()?;
    let (managed, Port { speed, end }, commands) = (managed?, link?, commands?);
    let drive = Drive {
        sectors: sectors?,
        lba48: commands.lba48,
        queue: commands.queue,
        trims: commands.trim,
        stripe: managed.flash.stripe(managed.page),
        ..controller?
    };
    let (name, identity, housekeeping) = (name?, identity?, housekeeping?);
    let part = DrivePart { name, identity, speed, end, drive, housekeeping, managed };
    check(&section, &part)?;
    Ok(part)
}

fn check(section: &Section<'_>, part: &DrivePart) -> Read<()> {
    const ADDRESSED: u64 = boardlab_sata::wire::identify::SECTORS_28;
    if !part.drive.lba48 && part.drive.sectors > ADDRESSED {
        let problem = "are more than 28-bit commands can address, and the drive has no others";
        let expected = format!("at most {ADDRESSED}, or lba48 = true in [commands]");
        return Err(section.refuse(
            "sectors",
            problem,
            &expected,
            "what the key means: boardlab explain sectors",
        ));
    }
    part.managed.check(section, part.capacity())?;
    let group = part.managed.page * u64::from(part.drive.stripe.program_pages());
    if part.drive.read_buffer < group {
        let problem = format!("does not hold the {group} that a die reads at once");
        let expected = format!("at least {group}");
        return Err(refuse_in(section, ["controller", "read_buffer"], &problem, &expected));
    }
    let pages = u32::try_from(part.managed.pages(part.capacity())).unwrap_or(u32::MAX);
    part.drive.check(part.managed.page, pages).map_err(|problem| {
        let help = "compare it with a built-in drive: boardlab list keys drive-fio";
        let problem = format!("or another key cannot be: {problem}");
        section.refuse("sectors", &problem, "a drive that can exist", help)
    })
}

fn ascii(section: &Section<'_>, key: &str, most: usize) -> Read<String> {
    let text = section.required::<String>(key)?;
    let printable = |letter: char| letter == ' ' || letter.is_ascii_graphic();
    if text.len() <= most && text.chars().all(printable) {
        return Ok(text);
    }
    let expected = format!("at most {most} characters of ASCII");
    Err(section.refuse(key, "does not fit into IDENTIFY data", &expected, "shorten it"))
}

section! {
    /// The section `commands`.
    struct Commands {
        lba48: bool,
        queue: Option<u32> => within(1, 32),
        trim: bool => or(false),
    }
}

/// The properties in this section; the caller sets the others.
fn controller(section: Section<'_>) -> Read<Drive> {
    fields!(section => Drive {
        command: Duration => up_to(limits::COMMAND),
        read_buffer: Bytes => within(SECTOR, MEMORY),
        look_ahead: bool,
        write_cache: WriteCache => with(write_cache),
        idle_after: Duration => up_to(AWAY),
        activates_early: bool,
        frame: u32 => with(dwords, SECTOR, Bytes::kib(8)),
        identify_frame: u32 => with(dwords, Bytes::new(4), SECTOR),
        sectors: u64 = Ok(0),
        lba48: bool = Ok(false),
        queue: Option<u32> = Ok(None),
        trims: bool = Ok(false),
        stripe: Stripe = Ok(Stripe::SINGLE),
    })
}

fn dwords(section: &Section<'_>, key: &str, least: Bytes, most: Bytes) -> Read<u32> {
    let size = section.key::<Bytes>(key).within(least, most).required()?;
    if !size.is_multiple_of(Bytes::new(4)) {
        let help = "SATA moves dwords, so frames are counted in them";
        return Err(section.refuse(key, "is not a whole number of dwords", "dwords of 4 B", help));
    }
    Ok(u32::try_from(size.get() / 4).expect("at most 8 KiB"))
}

fn write_cache(section: &Section<'_>, key: &str) -> Read<WriteCache> {
    #[derive(Clone, Copy)]
    enum Kind {
        Through,
        Of(fn(Bytes) -> WriteCache),
    }
    let kinds = [
        ("through", Kind::Through),
        ("back", Kind::Of(WriteCache::Back)),
        ("protected", Kind::Of(WriteCache::Protected)),
    ];
    let kind = section.one_of(key, &kinds);
    let size = section.key::<Bytes>("write_cache_size").within(Bytes::ZERO, MEMORY);
    match kind? {
        Kind::Through => size.optional().map(|_| WriteCache::Through),
        Kind::Of(cache) => size.required().map(cache),
    }
}
