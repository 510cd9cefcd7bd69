//! Every command and every option, defined once.
//!
//! Layer: rank 12. Main types: [`Cli`], [`Command`] and [`Options`], which all commands take. The
//! comments on the fields are the help; the man pages and the shell completions are made from the
//! same definitions. Left out: the contents of scenarios, which `boardlab_lab` defines.

mod advise;
mod candidates;
mod create;
mod device;
mod guide;
mod hints;
mod images;
pub(crate) mod line;
mod measure;
mod mount;
mod os;
pub(crate) mod over;
mod unused;

pub(crate) use advise::Advise;
pub(crate) use create::{Create, NewImage};
pub(crate) use device::{OnDevice, Run};
pub(crate) use guide::{ListTopic, PartKind, command_names};
pub(crate) use images::{Cat, Convert, Diff, Extract, Ls, Stat};
pub(crate) use measure::{MeasureAction, MeasurePlan, MeasureRun};
pub(crate) use mount::{Apply, Mount};
pub(crate) use os::{EngineName, OsAction, OsDebug, OsMachine, OsRun, OsTrace};

use crate::{exit, output, terminal};
use boardlab_cards::fio::OUTPUTS;
use boardlab_document::quantity;
use boardlab_experiment::{Action, Experiment};
use boardlab_image::controller::CodePattern;
use boardlab_image::date::state;
use boardlab_image::{ByteOrder, Hints};
use boardlab_lab::registry;
use boardlab_lab::sata::console::bench::DRIVE;
use boardlab_report::Format;
use boardlab_result::foreign::{is_harmless, shown_bytes};
use boardlab_sim::{Bytes, Seed};
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::{ArgValueCompleter, Shell};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict how fast flash, drivers and boards are, and compare with published figures
#[derive(Debug, Parser)]
#[command(name = "boardlab", version, max_term_width = 100, after_help = TOP)]
pub(crate) struct Cli {
    /// What to do; without it, boardlab says what to try.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How to do it.
    #[command(flatten)]
    pub(crate) options: Options,
}

const TOP: &str = "\
Examples:
  boardlab reproduce --out report
  boardlab run nor-write --set linux.wait=\"170 us\"
  boardlab tune nor-write --json
  boardlab list keys nor-write
  boardlab explain over-provisioning

Environment:
  BOARDLAB_CONFIG  file of defaults, in place of ~/.config/boardlab/config.toml; empty for none
  BOARDLAB_PAGER   pager for long tables on a terminal, in place of PAGER; empty for none
  NO_COLOR         no colours, if not empty

Exit status:
  0  done
  1  the run failed, a figure has the verdict `fail`, or the result could not be written to the end
  2  wrong usage or input
  3  refused for safety: nothing was written to a board";

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Options {
    /// Form of the result on standard output
    #[arg(long, global = true, value_name = "FORM", default_value = "table")]
    format: Form,
    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    json: bool,
    /// Folder for the result as JSON, CSV and HTML report, and its attachments
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Seed of all random streams, a whole number
    #[arg(long, global = true, value_name = "N", default_value = "1")]
    #[arg(value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Seed,
    /// Print results only: no progress, no list of files, no notes, no pager
    #[arg(long, global = true, overrides_with = "no_quiet")]
    pub(crate) quiet: bool,
    /// Print all of that, also where the user's defaults say `quiet`
    #[arg(long, global = true, overrides_with = "quiet")]
    pub(crate) no_quiet: bool,
    /// Leave out the wall time, so that equal runs print equal results
    #[arg(long, global = true)]
    pub(crate) no_wall_time: bool,
    /// When to use colours; auto, the default, means on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) color: Option<Color>,
    /// Print long tables on a terminal as they are, without a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// The pager of the user's defaults.
    #[arg(skip)]
    pub(crate) pager: Option<String>,
}

impl Options {
    /// The form of the result on standard output.
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { self.format }
    }

    /// When to use colours.
    pub(crate) fn color(&self) -> Color {
        self.color.unwrap_or(Color::Auto)
    }
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the built-in parts, boards and scenarios, or the keys of a scenario
    #[command(after_help = guide::LIST)]
    List {
        /// What to show; parts, boards and scenarios if left out.
        #[command(subcommand)]
        topic: Option<ListTopic>,
    },
    /// Say what a key, a value, a term, a command, a table or a name means
    #[command(after_help = guide::EXPLAIN)]
    Explain {
        /// The word or words, such as a key of a scenario
        #[arg(value_name = "WORD", required = true, add = ArgValueCompleter::new(candidates::words))]
        words: Vec<String>,
    },
    /// Check what is installed beside boardlab, and what for
    #[command(after_help = guide::DOCTOR)]
    Doctor,
    /// Run one scenario
    #[command(after_help = RUN)]
    Run(Run),
    /// Reproduce published evaluations, and compare with the published figures
    #[command(after_help = REPRODUCE)]
    Reproduce {
        /// Evaluations; all of them if left out
        #[arg(value_name = "NAME", value_parser = Evaluation)]
        names: Vec<String>,
        /// How much is printed.
        #[command(flatten)]
        extent: Extent,
    },
    /// Find the best settings for a scenario
    #[command(after_help = TUNE)]
    #[command(mut_arg(SCENARIO, |one| one.add(candidates::scenarios(Action::Tune))))]
    Tune(Scenario),
    /// Predict the life of a card under a load, and show what shortens it
    #[command(after_help = LIFE)]
    #[command(mut_arg(SCENARIO, |one| one.add(candidates::scenarios(Action::Life))))]
    Life(Scenario),
    /// Cut the power at every flash operation, and show what survives
    #[command(after_help = POWERCUT)]
    #[command(mut_arg(SCENARIO, |one| one.add(candidates::scenarios(Action::PowerCut))))]
    Powercut(Scenario),
    /// Rank the filesystems for a product, by the limits that it names
    #[command(after_help = advise::ADVISE)]
    Advise(Advise),
    /// Run a scenario at every point of a grid of values
    #[command(after_help = SWEEP)]
    Sweep(Sweep),
    /// Write the HTML report of saved results
    #[command(after_help = REPORT)]
    Report {
        /// Saved results: JSON files, or folders of an earlier --out
        #[arg(value_name = "RUN", required = true, value_hint = ValueHint::AnyPath)]
        runs: Vec<PathBuf>,
        /// How much is printed.
        #[command(flatten)]
        extent: Extent,
    },
    /// Show two saved results side by side
    #[command(after_help = COMPARE)]
    Compare {
        /// One saved result: a JSON file, or the folder of an earlier --out
        #[arg(value_hint = ValueHint::AnyPath)]
        a: PathBuf,
        /// The other one
        #[arg(value_hint = ValueHint::AnyPath)]
        b: PathBuf,
    },
    /// Inspect, mount, convert, make and check flash images and dumps
    #[command(after_help = IMAGE)]
    Image {
        /// What to do with it.
        #[command(subcommand)]
        action: ImageAction,
    },
    /// Measure on a real board what the scenarios predict
    #[command(after_help = measure::MEASURE)]
    Measure {
        /// What to do.
        #[command(subcommand)]
        action: MeasureAction,
    },
    /// Work with a SATA drive as the host of the SATA evaluation does
    #[command(after_help = SATA)]
    Sata {
        /// What to do with it.
        #[command(subcommand)]
        action: SataAction,
    },
    /// Run, trace or debug a program for an ARM926 on a simulated board
    #[command(after_help = os::OS)]
    Os {
        /// What to do with it.
        #[command(subcommand)]
        action: OsAction,
    },
    /// Print the completions for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Shell to complete in
        shell: Shell,
    },
    /// Print the man page; with --out, write one page a command
    #[command(after_help = MAN)]
    Man,
}

const RUN: &str = "\
Examples:
  boardlab run nor-write
  boardlab run nor-write --set linux.wait=buffer-time --set board.bus.write_cycle=\"100 ns\"
  boardlab run nor-write --set workload.file=firmware.bin --out firmware
  boardlab run jobs.fio --set part=swissbit-s46u-8gb --format fio-terse
  boardlab run jobs.fio --on /dev/mmcblk0 --destroy /dev/mmcblk0
  boardlab run my/scenario.toml --format json --no-wall-time";

const REPRODUCE: &str = "\
Examples:
  boardlab reproduce --out report
  boardlab reproduce nor --format json";

const TUNE: &str = "\
Examples:
  boardlab tune nor-write
  boardlab tune nor-write --set tune.poll_cost=\"2 us\" --out tuned";

const LIFE: &str = "\
The load is a pattern with so many bytes a day, jobs of fio, or a block trace. Lives are quantiles over \
drawn cards: 5, 50 and 95 %, until a card is read-only or loses data.

Examples:
  boardlab life sd-life
  boardlab life sd-life --set pattern.bytes_a_day=\"5 GB\" --set life.cards=100 --out promise
  boardlab life sd-life --set workload.kind=trace --set trace.file=week.txt --set what_if.cards=0";

const POWERCUT: &str = "\
The power of a small flash is cut, in every way in which an operation can be torn; then it is mounted again, with \
each filesystem that the scenario's section [powercut] names. The exit status is 1 if anything is lost, as \
by YAFFS2 unless yaffs2.repaired is set.

Examples:
  boardlab powercut nand-filesystems
  boardlab powercut nand-filesystems --set powercut.operations=2000 --seed 7";

const SWEEP: &str = "\
The last key varies fastest; FROM..TO are whole numbers, both ends taken; the key `seed` is the seed. \
With --out the same command goes on after a kill, and the result is the same. Exit status 1 if a point fails.

Examples:
  boardlab sweep nor-write --grid linux.wait=170us,194us,256us --out waits
  boardlab sweep nor-write --grid board.bus.chips=1..4 --grid seed=1..3 --cell table5/total/total_ns
  boardlab sweep my/scenario.toml --set part=s29gl01gs --grid workload.bytes=64KiB,1MiB --threads 2";

const REPORT: &str = "\
The report goes to the folder of --out, or to `boardlab-report` without it.

Examples:
  boardlab report monday.json tuesday.json --out week
  boardlab report firmware";

const COMPARE: &str = "\
Examples:
  boardlab compare before.json after.json
  boardlab compare before after --format csv";

const IMAGE: &str = "\
All of a filesystem is verified. The exit status is 1 when anything that was asked for is damaged or \
missing; the tables say where and what.

Examples:
  boardlab image info dump.bin
  boardlab image ls dump.bin /etc
  boardlab image cat dump.bin /etc/hostname
  boardlab image extract dump.bin files
  boardlab image check dump.bin
  boardlab image diff before.bin after.bin
  boardlab image create rootfs board.ubi --page 2KiB --block 128KiB --max-blocks 1000";

const IMAGE_INFO: &str = "\
Examples:
  boardlab image info dump.bin
  boardlab image info dump.bin --volume rootfs
  boardlab image info dump.bin --blocks --out evidence
  boardlab image info dump.bin --page 4KiB --oob 224 --spare gpmi
  boardlab image info dump.bin --out evidence";

const IMAGE_CHECK: &str = "\
Of UBI: headers, erase counters, both copies of the volume table, copies of LEBs, static volumes. Of UBIFS: every \
node, the index, inodes, orphans, the space of LEBs. Of JFFS2: every node. Of YAFFS: every chunk with its tags, headers, \
summaries, names. Exit status 1: an error was found.

With --repair, files go into a new filesystem for the same flash, and everything else in FILE stays. The new image is \
checked and compared with what could be read. Exit status 1: something is lost, or still wrong; the tables say what.

Examples:
  boardlab image check dump.bin
  boardlab image check dump.bin --repair mended.bin
  boardlab image check dump.bin --volume rootfs --format json";

const SATA: &str = "\
Examples:
  boardlab sata console
  boardlab sata console photofast-g-monster-v2-128gb";

const SATA_CONSOLE: &str = "\
The menu asks on standard output and takes its answers, one a line, from standard input: a terminal, a \
file or a pipe. It ends with the input, or with q. Each command really goes over the link, dword by dword.
Keys for --set: boardlab list keys sata-console

Examples:
  boardlab sata console
  boardlab sata console transcend-ts32gssd25s-m
  boardlab sata console --set board.sata_host.latency=30";

const COMPLETIONS: &str = "\
Examples:
  boardlab completions bash > ~/.local/share/bash-completion/completions/boardlab
  boardlab completions zsh > ~/.zfunc/_boardlab
  boardlab completions fish --out ~/.config/fish/completions";

const MAN: &str = "\
Examples:
  boardlab man > boardlab.1
  boardlab man --out ~/.local/share/man/man1";

/// How much of an evaluation is printed as tables.
#[derive(Debug, Args)]
pub(crate) struct Extent {
    /// Print the tables without published figures and the evidence of findings as well
    #[arg(long, overrides_with = "no_full")]
    pub(crate) full: bool,
    /// Print neither, also where the user's defaults say `full`
    #[arg(long, overrides_with = "full")]
    pub(crate) no_full: bool,
}

/// What `image` does.
#[derive(Debug, Subcommand)]
pub(crate) enum ImageAction {
    /// Show the contents of a file, its flash, and the evidence for both
    #[command(after_help = IMAGE_INFO)]
    Info {
        /// Image file; it stays as it is
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Name or number of a UBI volume: show this one only, in detail
        #[arg(long, value_name = "NAME", conflicts_with = "blocks")]
        volume: Option<String>,
        /// Show entropy and erased pages of the blocks too, with a picture in the HTML of --out
        #[arg(long)]
        blocks: bool,
        /// The pages.
        #[command(flatten)]
        pages: Pages,
    },
    /// List the files of a JFFS2, UBIFS, YAFFS or LogFS image
    #[command(after_help = images::LS)]
    Ls(Ls),
    /// Write the content of a file in an image to standard output
    #[command(after_help = images::CAT)]
    Cat(Cat),
    /// Show all attributes of files in an image
    #[command(after_help = images::STAT)]
    Stat(Stat),
    /// Write the files of an image into a new folder, or into a tar archive
    #[command(after_help = images::EXTRACT)]
    Extract(Extract),
    /// Check a JFFS2, UBI, UBIFS, YAFFS or LogFS image, and list every fault
    #[command(after_help = IMAGE_CHECK)]
    Check {
        /// Image file; it stays as it is
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Make a new image of all that can be read, in this new file, if anything is wrong
        #[arg(long, value_name = "NEW", value_hint = ValueHint::FilePath, conflicts_with = "volume")]
        repair: Option<PathBuf>,
        /// The user's knowledge of the flash.
        #[command(flatten)]
        flash: Flash,
    },
    /// Show what differs between two images: files and erase blocks
    #[command(after_help = images::DIFF)]
    Diff(Diff),
    /// Make an image of a folder, an archive, or volumes as ubinize takes them
    #[command(after_help = create::HELP)]
    Create(Box<Create>),
    /// Make an image of another one: another filesystem, another flash
    #[command(after_help = images::CONVERT)]
    Convert(Box<Convert>),
    /// Mount the files of an image on a folder, to read or to change them
    #[command(after_help = mount::MOUNT)]
    Mount(Box<Mount>),
    /// Put the changes of `image mount --rw` into the image, or into a new one
    #[command(after_help = mount::APPLY)]
    Apply(Box<Apply>),
}

/// What `sata` does.
#[derive(Debug, Subcommand)]
pub(crate) enum SataAction {
    /// Open the serial menu of the host: identify, write, read, dump
    #[command(after_help = SATA_CONSOLE)]
    Console {
        /// Drive: name of a built-in part, or path of a part file
        #[arg(value_name = "PART", default_value = DRIVE, value_hint = ValueHint::FilePath)]
        #[arg(add = ArgValueCompleter::new(candidates::drives))]
        part: String,
        /// Value in place of the one in the drive (part.*) or the board (board.*)
        #[arg(long, value_name = "KEY=VALUE")]
        #[arg(add = ArgValueCompleter::new(candidates::keys_of_console))]
        set: Vec<String>,
    },
}

/// The user's knowledge of the pages of an image; omitted values are detected.
#[derive(Debug, Args)]
#[command(next_help_heading = "The flash of the image, found out where left out")]
pub(crate) struct Pages {
    /// Data bytes of a page, such as 2KiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) page: Option<Bytes>,
    /// Spare bytes after each page in the file; 0 for none
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) oob: Option<Bytes>,
    /// Layout of the spare bytes: that of a driver or controller, as `image info` names it
    #[arg(long, value_name = "LAYOUT", value_parser = PossibleValuesParser::new(layouts()))]
    pub(crate) spare: Option<String>,
    /// Code: bits and bytes, such as 8/512, 8/512:lsb, 24/1024:0x4443, 1/256:smartmedia
    #[arg(long, value_name = "CODE")]
    pub(crate) ecc: Option<CodePattern>,
}

/// The names of the layouts.
pub(super) fn layouts() -> Vec<&'static str> {
    boardlab_image::controller::ALL.iter().map(|layout| layout.name).collect()
}

impl From<&Pages> for Hints {
    fn from(pages: &Pages) -> Self {
        let Pages { page, oob, ref spare, ref ecc } = *pages;
        Self { page, oob, spare: spare.clone(), ecc: ecc.clone(), ..Self::default() }
    }
}

/// The user's knowledge of the flash of an image; omitted values are detected.
#[derive(Debug, Args)]
#[command(next_help_heading = "The flash of the image, found out where left out")]
pub(crate) struct Flash {
    /// The pages.
    #[command(flatten)]
    pub(crate) pages: Pages,
    /// Data bytes of an erase block, such as 128KiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) block: Option<Bytes>,
    /// Byte order of the filesystem
    #[arg(long, value_name = "ORDER")]
    pub(crate) endian: Option<Endian>,
    /// Name or number of the UBI volume to read, where there are several with UBIFS
    #[arg(long, value_name = "NAME")]
    pub(crate) volume: Option<String>,
    /// Read what there is of a truncated image
    #[arg(long)]
    pub(crate) partial: bool,
}

/// Which state of a flash is shown.
#[derive(Debug, Args)]
pub(crate) struct State {
    /// The flash.
    #[command(flatten)]
    pub(crate) flash: Flash,
    /// Number of an older commit of UBIFS, as `image info` lists them: its tree, without the journal
    #[arg(long, value_name = "N")]
    pub(crate) commit: Option<u64>,
    /// Older state: of YAFFS2 by the number of its newest block, of JFFS2 by a time in UTC
    #[arg(long, value_name = "STATE", value_parser = state, conflicts_with = "commit")]
    pub(crate) as_of: Option<u64>,
}

/// Byte orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Endian {
    /// Lowest byte first: ARM, x86
    Little,
    /// Highest byte first: PowerPC, most MIPS
    Big,
}

impl From<Endian> for ByteOrder {
    fn from(endian: Endian) -> Self {
        match endian {
            Endian::Little => Self::Little,
            Endian::Big => Self::Big,
        }
    }
}

impl From<&Flash> for Hints {
    fn from(flash: &Flash) -> Self {
        let order = flash.endian.map(ByteOrder::from);
        let Flash { block, partial, .. } = *flash;
        let volume = flash.volume.clone();
        Self { block, order, partial, volume, ..Self::from(&flash.pages) }
    }
}

impl From<&State> for Hints {
    fn from(state: &State) -> Self {
        Self { commit: state.commit, as_of: state.as_of, ..Self::from(&state.flash) }
    }
}

/// The argument [`Scenario::scenario`].
const SCENARIO: &str = "scenario";
/// The argument [`Scenario::set`].
const SET: &str = "set";

/// A scenario with changes.
#[derive(Debug, Args)]
pub(crate) struct Scenario {
    /// Name of a built-in scenario, or path of a scenario file or of a fio job file
    #[arg(value_hint = ValueHint::FilePath, add = candidates::scenarios(Action::Run))]
    pub(crate) scenario: String,
    /// Value in place of the one in the scenario, its part (part.*) or its board (board.*)
    #[arg(long, value_name = "KEY=VALUE", add = ArgValueCompleter::new(candidates::keys))]
    pub(crate) set: Vec<String>,
}

/// A scenario with a grid over it.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// What is the same at all points.
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Values of a key, one a point; several keys make every combination
    #[arg(long, value_name = "KEY=V,V...", required = true)]
    #[arg(add = ArgValueCompleter::new(candidates::keys))]
    pub(crate) grid: Vec<String>,
    /// Figure for the table and a chart; those that differ if left out
    #[arg(long, value_name = "TABLE/ROW/COLUMN")]
    pub(crate) cell: Vec<String>,
    /// Points that are run at once; as many as there are cores if left out
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Forget what the folder of --out has of an earlier sweep
    #[arg(long)]
    pub(crate) restart: bool,
}

/// Forms of `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Form {
    /// Tables for a terminal
    Table,
    /// JSON of schema 2, with every figure exact
    Json,
    /// One line a cell
    Csv,
    /// What fio prints for people, of jobs that were run
    Fio,
    /// What fio prints as JSON
    FioJson,
    /// What fio prints with --minimal: terse, version 3
    FioTerse,
}

impl Form {
    /// The form of a result, or the name of the attachment that is printed instead.
    pub(crate) const fn of_result(self) -> Result<Format, &'static str> {
        match self {
            Self::Table => Ok(Format::Table),
            Self::Json => Ok(Format::Json),
            Self::Csv => Ok(Format::Csv),
            Self::Fio => Err(OUTPUTS[0].0),
            Self::FioJson => Err(OUTPUTS[1].0),
            Self::FioTerse => Err(OUTPUTS[2].0),
        }
    }
}

/// Threads at most; a number beyond the cores of any machine is an error.
pub(crate) const THREADS_MAX: u64 = 1_024;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
}

impl Cli {
    /// The arguments of this process. After help, version or a usage error was printed: the exit
    /// status.
    pub(crate) fn parse_or_explain() -> Result<Self, ExitCode> {
        Self::parsed(env::args_os()).map_err(|error| {
            if error.use_stderr() && env::args_os().any(|argument| !is_plain(&argument)) {
                // The error repeats an argument that would reach the terminal unescaped, or be cut off
                // where clap takes it for a colour. So it is created again from escaped arguments.
                let shown = env::args_os().map(|argument| shown_bytes(argument.as_encoded_bytes()));
                let error = Self::parsed(shown).err().unwrap_or(error);
                terminal::tell(error.render().to_string().trim_end());
                return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
            }
            let printed = error.print();
            // If standard error is closed, nothing can be reported.
            if !error.use_stderr() {
                let printed = output::expect_stdout().and_then(|()| output::finished(printed));
                if let Err(error) = printed {
                    return exit::explain(&error, Color::Auto);
                }
            }
            u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        })
    }
}

/// Whether a terminal only draws `argument`.
fn is_plain(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| text.chars().all(is_harmless))
}

impl Cli {
    /// Parses `arguments`, and refuses options that have no effect on the command.
    fn parsed<A: Into<OsString> + Clone>(
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let matches = command.try_get_matches_from_mut(&arguments).map_err(|error| {
            let words = arguments.iter().skip(1).map(|word| shown_bytes(word.as_encoded_bytes()));
            hints::add(error, &command, &words.collect::<Vec<_>>())
        })?;
        unused::refuse(&mut command, &matches)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Accepts any text, and offers the names of the published evaluations to help and completions.
///
/// clap's own list of possible values would refuse with less help than the registry does.
#[derive(Debug, Clone)]
struct Evaluation;

impl TypedValueParser for Evaluation {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |one: &Experiment| PossibleValue::new(one.name).help(one.title);
        Some(Box::new(registry::published().map(value)))
    }
}

/// The error of an invalid seed.
#[derive(Debug)]
struct NoSeed;

impl fmt::Display for NoSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a whole number from 0 to {}", u64::MAX)
    }
}

impl std::error::Error for NoSeed {}

/// A number of bytes: `2048`, `2KiB`, `2 KiB`.
fn size(text: &str) -> Result<Bytes, String> {
    match text.parse() {
        Ok(bytes) => Ok(Bytes::new(bytes)),
        Err(_) => quantity::bytes(text).map_err(|misfit| misfit.to_string()),
    }
}

/// `number` as a count of threads, if it is one.
pub(crate) fn thread_count(number: u64) -> Option<NonZeroUsize> {
    let number = Some(number).filter(|number| *number <= THREADS_MAX)?;
    NonZeroUsize::new(usize::try_from(number).ok()?)
}

/// Threads of a sweep; a number beyond the cores of any machine is an error.
fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse()
        .ok()
        .and_then(thread_count)
        .ok_or_else(|| format!("expected a whole number from 1 to {THREADS_MAX}"))
}

fn seed(text: &str) -> Result<Seed, NoSeed> {
    text.parse().map(Seed::new).map_err(|_| NoSeed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a line as a shell splits them, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quoted) = (vec![String::new()], false);
        let line =
            [" > ", " < "].iter().fold(line, |line, end| line.split(end).next().unwrap_or(line));
        for character in line.trim().chars() {
            match character {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    #[test]
    fn definitions_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_two_examples_or_more_and_all_of_them_parse() {
        let top = Cli::command();
        let actions = top.get_subcommands().flat_map(clap::Command::get_subcommands);
        for command in top.get_subcommands().chain(actions).chain([&top]) {
            let name = command.get_name();
            let help = command.get_after_help().unwrap_or_else(|| panic!("{name}")).to_string();
            let examples: Vec<_> =
                help.lines().filter(|line| line.starts_with("  boardlab ")).collect();
            assert!(examples.len() >= 2, "{name}: {examples:?}");
            for example in examples {
                let cli = Cli::try_parse_from(words(example));
                cli.unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }

    #[test]
    fn every_help_is_one_line_that_fits_a_terminal() {
        let top = Cli::command();
        let actions = top.get_subcommands().flat_map(clap::Command::get_subcommands);
        for command in top.get_subcommands().chain(actions) {
            let about = command.get_about().unwrap().to_string();
            assert!(about.len() <= 72, "{about}");
            for argument in command.get_arguments().chain(top.get_arguments()) {
                let help = argument.get_help().unwrap().to_string();
                assert!(help.len() <= 96 && !help.ends_with('.'), "{help}");
            }
        }
    }

    #[test]
    fn every_evaluation_is_offered() {
        let top = Cli::command();
        let reproduce = top.find_subcommand("reproduce").unwrap();
        let names = reproduce.get_positionals().next().unwrap().get_possible_values();
        let names: Vec<_> = names.iter().map(PossibleValue::get_name).collect();
        let published: Vec<_> = registry::published().map(|one| one.name).collect();
        assert_eq!(names, published);
    }
}
