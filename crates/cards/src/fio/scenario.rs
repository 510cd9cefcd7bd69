//! The scenario of a fio bench: the device and its host, how full the device is, and the jobs.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Composition`], [`Jobs`]. The jobs are a text in the
//! scenario, or a file of their own, which takes precedence. Variables of a job file come from the
//! scenario, never from the environment.

pub(crate) mod jobs;

use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_experiment::data_file;
use boardlab_parts::card::{board, part, unused};
use boardlab_parts::drive::DrivePart;
use boardlab_parts::drive::driver::{self, Ahci};
use boardlab_parts::drive::part as drive;
use boardlab_parts::drive::unused as drive_keys;
use boardlab_parts::kind_of_part;
use boardlab_parts::managed::unused::by_choice;
use boardlab_sim::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The largest job file.
const JOBS: Bytes = Bytes::mib(1);

section! {
    /// The scenario of a fio bench, checked.
    #[derive(Debug, Clone)]
    pub(crate) struct Scenario(section) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The device, and its host.
        pub composition: Composition = composition(&section),
        /// The share of it that is written, in sequence, before the jobs.
        pub fill: Ratio = section.section("device", |device| {
            let fill = device.key("fill").up_to(Ratio::WHOLE).required();
            device.finish().and(fill)
        }),
        /// The jobs.
        pub jobs: Jobs = section.section("fio", |fio| jobs(&fio)),
    }
    check(composition) {
        match composition {
            Composition::Card(part, _) => {
                unused::around(&section, part)?;
                by_choice(&section, "part", &part.managed, &|_| false)?;
            }
            Composition::Drive(part, _) => {
                drive_keys::by_choice(&section, "part", part)?;
                let why = "on jobs: no data is held up on the link, and nobody asks for IDENTIFY data";
                for key in UNUSED {
                    section.idle(key, why, "`boardlab run sata-ssd` follows a link dword by dword")?;
                }
            }
        }
    }
}

/// A device and its host.
#[derive(Debug, Clone)]
pub(crate) enum Composition {
    /// A card or an eMMC in its slot.
    Card(Box<part::CardPart>, Box<board::Host>),
    /// A SATA drive at its controller.
    Drive(Box<DrivePart>, Box<Ahci>),
}

impl Composition {
    /// Bytes that a host can address.
    pub(crate) fn capacity(&self) -> Bytes {
        match self {
            Self::Card(part, _) => part.face.capacity,
            Self::Drive(part, _) => part.capacity(),
        }
    }

    /// The name of the device.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Card(part, _) => &part.name,
            Self::Drive(part, _) => &part.name,
        }
    }
}

/// Kinds of parts that jobs can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Card,
    Drive,
}

const KINDS: [(&str, Kind); 3] = [("sd", Kind::Card), ("emmc", Kind::Card), ("sata", Kind::Drive)];

/// Keys that a link without single dwords does not use.
const UNUSED: [&str; 10] = [
    "part.link.holda_after",
    "part.link.fifo",
    "part.link.hold_to",
    "part.link.cont",
    "part.controller.identify_frame",
    "board.ahci.holda_after",
    "board.ahci.fifo",
    "board.ahci.hold_from",
    "board.ahci.hold_to",
    "board.ahci.cont",
];

/// Jobs of fio as text.
#[derive(Debug, Clone)]
pub(crate) struct Jobs {
    /// The name of the text in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// The folder of included files; `None` if the text is not from a file.
    pub folder: Option<PathBuf>,
    /// Variables of the job file.
    pub variables: BTreeMap<String, String>,
}

/// Part and board; the kind of the part determines the sections of the board.
fn composition(section: &Section<'_>) -> Read<Composition> {
    match kind_of_part(section, &KINDS)? {
        Kind::Card => {
            let part = section.section("part", part::read);
            let host = section.section("board", board::read);
            Ok(Composition::Card(Box::new(part?), Box::new(host?)))
        }
        Kind::Drive => {
            let part = section.section("part", drive::read);
            let host = section.section("board", driver::read);
            Ok(Composition::Drive(Box::new(part?), Box::new(host?)))
        }
    }
}

/// The jobs of the section `fio`.
pub(crate) fn jobs(section: &Section<'_>) -> Read<Jobs> {
    let inline = section.key::<String>("job").optional();
    let file = section.key::<String>("file").optional_sourced();
    let variables = section.optional_section("variables", |section| {
        let all = section.keys().map(|key| Ok((key.to_owned(), section.required(key)?)));
        let all = all.collect::<Read<BTreeMap<String, String>>>();
        section.finish()?;
        all
    });
    section.finish()?;
    let (inline, variables) = (inline?, variables?.unwrap_or_default());
    if let Some(file) = file? {
        let path = data_file::path(section, "file", &file.value);
        let bytes = data_file::read(section, "file", &path, JOBS, "a job file")?;
        let text = String::from_utf8(bytes).map_err(|_| {
            let help = "is it the right file?";
            section.refuse("file", "is not UTF-8 text", "a job file of fio", help)
        })?;
        let folder = Some(path.parent().map_or_else(PathBuf::new, Path::to_path_buf));
        return Ok(Jobs { name: path.display().to_string(), text, folder, variables });
    }
    let text = inline.ok_or_else(|| {
        let problem = "is missing, and `file` too";
        let expected = "the text of a job, or the path of a job file";
        section.refuse("job", problem, expected, "write --set fio.file=my.fio")
    })?;
    Ok(Jobs { name: "fio.job".into(), text, folder: None, variables })
}
