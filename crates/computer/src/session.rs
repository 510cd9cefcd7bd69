//! A machine with a program, as the user ordered it.
//!
//! Layer: rank 9. Main types: [`Order`], what the user asked for; [`Session`], the machine made of it. Files are untrusted: kind and size are
//! looked at before they are read.

use super::board::{self, Computer};
use super::built_in;
use super::calls::CallNames;
use super::card::{self, CardFile, CardUpdate, Image};
use super::failure::Failure;
use super::regular_file::read;
use super::symbols::Symbols;
use boardlab_arm926::Physical;
use boardlab_realview::{EngineKind, Machine, Program};
use boardlab_result::{Origin, Parameter};
use boardlab_sim::Bytes;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest program file: debug information may be much larger than memory.
const PROGRAM: Bytes = Bytes::mib(1024);
/// The largest raw image: all of the memory that a board can have.
const IMAGE: Bytes = Bytes::mib(256);
/// The largest snapshot: all memory and a card.
const SNAPSHOT: Bytes = Bytes::mib(4096 + 512);

/// A raw image to be put in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The file.
    pub path: PathBuf,
    /// The physical address.
    pub at: u32,
}

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// The program, an ELF file, or [`built_in::NAME`].
    pub program: PathBuf,
    /// What it is told as its command line.
    pub command_line: Option<String>,
    /// Arguments of all `--set`.
    pub set: Vec<String>,
    /// Memory in place of the board's.
    pub memory: Option<Bytes>,
    /// Images to be put in memory after the program.
    pub loads: Vec<Load>,
    /// The card in the reader.
    pub card: Option<CardFile>,
    /// A snapshot to go on from, in place of a start: the program then gives names only.
    pub restore: Option<PathBuf>,
    /// The engine, if the user chose one; otherwise that of [`EngineKind::default`].
    pub engine: Option<EngineKind>,
    /// Look for violations of coherence.
    pub check: bool,
}

/// A machine with a program.
#[derive(Debug)]
pub struct Session {
    /// The machine.
    pub(super) machine: Machine,
    /// What it is.
    pub(super) computer: Computer,
    /// Its numbers with their sources.
    pub(super) parameters: Vec<Parameter>,
    /// The names in the program.
    pub(super) symbols: Arc<Symbols>,
    /// The names of its system calls.
    pub(super) calls: CallNames,
    /// The file name of the program.
    pub(super) name: String,
    /// How the core is run, if the user chose.
    pub(super) engine: Option<EngineKind>,
    /// The card's image, if what the guest writes goes back to it.
    image: Option<Image>,
}

impl Session {
    /// Makes the machine and loads it.
    ///
    /// # Errors
    /// What is wrong with a file or an argument.
    pub fn open(order: &Order) -> Result<Self, Failure> {
        let (computer, parameters) = computer(order)?;
        let built_in = order.program == Path::new(built_in::NAME);
        let (file, name) = match built_in {
            true => (Cow::Borrowed(built_in::KERNEL), built_in::FILE_NAME.as_ref()),
            false => (
                read(&order.program, PROGRAM)?.into(),
                order.program.file_name().unwrap_or_default(),
            ),
        };
        let refused = |problem| Failure::Program(order.program.clone(), problem);
        let program = Program::parse(&file).map_err(refused)?;
        let name = name.to_string_lossy().into_owned();
        let mut machine = match &order.restore {
            Some(path) => {
                let refused = |problem| Failure::Program(path.clone(), problem);
                let machine = Machine::restore(&read(path, SNAPSHOT)?).map_err(refused)?;
                same_board(&machine, &computer)?;
                machine
            }
            None => {
                let mut machine = Machine::new(&computer.settings).map_err(Failure::Machine)?;
                machine.load(&program).map_err(refused)?;
                machine.set_command_line(&name);
                machine
            }
        };
        for load in &order.loads {
            let image = read(&load.path, IMAGE)?;
            let refused = |problem| Failure::Program(load.path.clone(), problem);
            machine.load_raw(Physical(load.at), &image).map_err(refused)?;
        }
        let image = match &order.card {
            Some(card) => card::insert(&mut machine, card)?,
            None => None,
        };
        if let Some(line) = &order.command_line {
            machine.set_command_line(line);
        }
        let symbols = Arc::new(Symbols::of_program(&program.symbols));
        let calls = CallNames::of_kernel(&symbols, |at| word(&program, at));
        let mut session = Self {
            machine,
            computer,
            parameters,
            symbols,
            calls,
            name,
            engine: order.engine,
            image,
        };
        session.usual_engine();
        Ok(session)
    }

    /// Continues with the engine that the user chose.
    pub(super) fn usual_engine(&mut self) {
        self.machine.select_engine(self.engine.unwrap_or_default());
    }

    /// The machine as it is now, to go on from later.
    ///
    /// # Errors
    /// [`Failure::Machine`] where it holds what cannot be saved.
    pub fn snapshot(&self) -> Result<Vec<u8>, Failure> {
        self.machine.snapshot().map_err(Failure::Machine)
    }

    /// Writes what the guest changed on the card back to its image, if that was ordered: whatever
    /// ended the run, for the guest was told that its blocks are on the card.
    ///
    /// # Errors
    /// [`Failure::CardChanged`] and [`Failure::CardUnwritten`].
    pub fn write_card(&mut self) -> Result<Option<CardUpdate>, Failure> {
        let (image, card) = (self.image.as_mut(), self.machine.processor().bus.card());
        image.zip(card).map(|(image, card)| image.write_back(card)).transpose()
    }

    /// The address of a symbol, or a number in decimal or hexadecimal.
    ///
    /// # Errors
    /// [`Failure::Argument`] where it is neither.
    pub fn address(&self, text: &str) -> Result<u32, Failure> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        number.or_else(|| self.symbols.address(text)).ok_or_else(|| {
            let names = self.symbols.code().iter().map(|symbol| symbol.name.as_str());
            let near = boardlab_document::nearest::nearest(text, names);
            Failure::Argument {
                problem: format!("`{text}` is no address and no symbol of {}", self.name),
                help: match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "give the name of a function, or an address such as 0x8000".into(),
                },
            }
        })
    }
}

/// The computer of an order, and its numbers with their sources.
fn computer(order: &Order) -> Result<(Computer, Vec<Parameter>), Failure> {
    let reading = board::open(&order.set)?;
    let (mut computer, mut parameters) = (reading.value, reading.parameters);
    computer.settings.core.check_coherence = order.check;
    if let Some(memory) = order.memory {
        computer.settings.memory = memory;
        for parameter in parameters.iter_mut().filter(|one| one.key == "board.memory.size") {
            parameter.value = memory.to_string();
            parameter.origin = Origin::Assumed;
            parameter.source = "--memory".into();
        }
    }
    Ok((computer, parameters))
}

/// A snapshot brings its board along: what the board file and the arguments say must be that.
fn same_board(machine: &Machine, computer: &Computer) -> Result<(), Failure> {
    let processor = machine.processor();
    let saved = (processor.memory.config(), processor.bus.clock().rate());
    let settings = &computer.settings;
    let memory = Bytes::new(processor.bus.memory_size().into());
    if saved == (&settings.core, settings.core_clock) && memory == settings.memory {
        return Ok(());
    }
    let problem = format!(
        "the snapshot is of another board: its core runs at {}, with {} KiB and {} KiB of caches and {memory} of memory",
        saved.1,
        saved.0.instruction_cache.kib(),
        saved.0.data_cache.kib()
    );
    let help = "give the --set, --memory and --check that the snapshot was made with";
    Err(Failure::Argument { problem, help: help.into() })
}

/// The aligned word at the virtual address `at` of a program that was not started yet.
fn word(program: &Program, at: u32) -> Option<u32> {
    program.segments.iter().find_map(|segment| {
        let offset = usize::try_from(at.checked_sub(segment.address)?).ok()?;
        let bytes = segment.contents.get(offset..offset.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    })
}
