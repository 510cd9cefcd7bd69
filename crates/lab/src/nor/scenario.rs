//! The scenario of the NOR experiment: what is written, by which drivers, with which waits.

mod unused;

use boardlab_document::misfit::Misfit;
use boardlab_document::quantity::{self, Ratio};
use boardlab_document::{
    AlreadyReported, Content, Description, Node, OWN, PlacedMisfit, Read, Section, Value, section,
};
use boardlab_experiment::data_file;
use boardlab_nor::driver::{CfiInfo, Kind};
use boardlab_nor::wait::{
    Adaptive, FixedThenToggle, HalfTypical, Own, Staircase, ToggleOnly, WaitPolicy, cfi_udelay,
};
use boardlab_nor::{Part, Pause};
use boardlab_parts::nor::board::{self, BoardSpec};
use boardlab_parts::nor::{limits, part};
use boardlab_sim::{Bytes, Duration, OwnPolicy, Seed};
use std::sync::Arc;

section! {
    /// A scenario of the NOR experiment, checked.
    #[derive(Debug, Clone)]
    pub struct Scenario(section, seed: Seed) {
        /// What it is, one line.
        pub title: String,
        /// The experiment that reads it.
        pub experiment: String,
        /// The part.
        pub part: Arc<Part> = section.section("part", with_cfi).map(Arc::new),
        /// The board.
        pub board: BoardSpec => section(board::read),
        /// Table 4.
        pub uboot: System => with(system, &Kind::UBOOT, part.as_deref()),
        /// Table 5.
        pub linux: System => with(system, &Kind::LINUX, part.as_deref()),
        /// Table 6.
        pub improved: System => with(system, &Kind::LINUX, part.as_deref()),
        /// How waits are compared.
        pub tune: Tune,
        /// A faster bus, for the table of what-ifs.
        pub fast_cycle as "what_if": Duration =>
            only("bus_cycle", |cycle| cycle.within(limits::SHORTEST, limits::BUS_CYCLE)),
        /// What is written.
        pub data: Arc<[u8]> = section.section("workload", |workload| {
            let room = part.as_ref().ok().zip(board.as_ref().ok());
            let room = room.map(|(part, board)| part.size() * board.chips as u64);
            data(&workload, room, seed)
        }),
    }
}

fn system(
    section: &Section<'_>,
    key: &str,
    kinds: &[(&str, Kind)],
    part: Result<&Part, &AlreadyReported>,
) -> Read<System> {
    let register = part.is_ok_and(|part| part.features.status_register);
    section.section(key, |system| System::read(system, kinds, register))
}

section! {
    /// A driver with its wait.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct System(section, kinds: &[(&str, Kind)], register: bool) {
        /// The driver.
        pub kind: Kind = section.one_of("driver", kinds),
        /// What it does before the first poll.
        pub wait: Wait,
        /// The policy of [`Wait::Own`].
        pub own: Option<OwnPolicy> = section.own_policy("wait"),
        /// Microseconds of `udelay` between two polls.
        pub poll_gap_us: u64 = section.required("poll_gap") => udelay,
        /// Whether the target is read before it is programmed.
        pub check_erased: bool => or(false),
    }
    check(kind) {
        if *kind == Kind::Linux61StatusRegister && !register {
            let problem = "asks for a status register, and the part has none";
            let expected = "a part with features.status_register = true, or another driver";
            let help = "take driver = \"linux-6.1\", or --set part=s29gl01gs";
            return Err(section.refuse("driver", problem, expected, help));
        }
    }
}

fn udelay(section: &Section<'_>, gap: Duration) -> Read<u64> {
    whole_micros(gap).ok_or_else(|| {
        let (expected, help) = ("whole microseconds up to 1 s", "write poll_gap = \"1 us\"");
        section.refuse("poll_gap", "cannot be waited with udelay", expected, help)
    })
}

/// What a driver does before it first asks, as scenarios write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// `none`: asks at once.
    None,
    /// `word-time`: CFI 1Fh, as Linux does.
    WordTime,
    /// `buffer-time`: CFI 20h, the obvious repair.
    BufferTime,
    /// `tuned`: the best wait for the scenario's cost of a poll.
    Tuned,
    /// `adaptive`: follows a quantile with one bit an operation.
    Adaptive,
    /// `half-typical`: as Linux waits with Intel's command set.
    HalfTypical,
    /// `staircase`: as Linux waits with ST's command set.
    Staircase,
    /// `own`: what the caller's policy says; at first as [`Wait::WordTime`].
    Own,
    /// `sleep 150 us`: a high-resolution sleep.
    Sleep(Duration),
    /// `170 us`: `udelay`.
    Fixed(u64),
}

const NAMES: [(&str, Wait); 7] = [
    ("none", Wait::None),
    ("word-time", Wait::WordTime),
    ("buffer-time", Wait::BufferTime),
    ("tuned", Wait::Tuned),
    ("adaptive", Wait::Adaptive),
    ("half-typical", Wait::HalfTypical),
    ("staircase", Wait::Staircase),
];

section! {
    /// How waits are compared and learned.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Tune(section) {
        /// What a poll is worth.
        pub poll_cost: Duration => up_to(limits::SPAN),
        /// The quantile that the adaptive policy follows.
        pub quantile: Ratio,
        /// How far one bit moves it.
        pub step: Duration => with(limits::some_span, limits::PROGRAM),
    }
    check(quantile) {
        if !(1..1_000_000).contains(&quantile.millionths()) {
            let (expected, help) = ("a share between 0 % and 100 %", "write it like \"5 %\"");
            return Err(section.refuse("quantile", "is none or all of the operations", expected, help));
        }
    }
}

impl Value for Wait {
    const NUMBER: bool = false;

    fn description() -> Description {
        let names = NAMES.map(|(name, _)| name).join(", ");
        let expected =
            format!("{names}, a duration in whole microseconds, or \"sleep\" and a duration");
        Description::new(expected, "\"170 us\" or \"sleep 150 us\"")
            .names(NAMES.map(|(name, _)| name))
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = match node.content() {
            Content::Text(text) => text.as_str(),
            Content::Integer(_) | Content::Float(_) => {
                return Err(PlacedMisfit::new(node, Misfit::NoUnit));
            }
            _ => return Err(PlacedMisfit::of_type(node)),
        };
        if let Some(&(_, wait)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(wait);
        }
        if text == OWN {
            return Ok(Self::Own);
        }
        if text.trim().is_empty() {
            return Err(PlacedMisfit::new(node, Misfit::Empty));
        }
        let sleep = text.strip_prefix("sleep ");
        let (sleeps, span) = (sleep.is_some(), sleep.unwrap_or(text));
        let starts_with_digit = span.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if !starts_with_digit && !span.trim_start().starts_with(['-', '+', '.']) {
            let names = NAMES.map(|(name, _)| name.into()).to_vec();
            return Err(PlacedMisfit::new(node, Misfit::UnknownName(names)));
        }
        let span = quantity::duration(span).map_err(|misfit| PlacedMisfit::new(node, misfit))?;
        if sleeps && span > limits::SPAN {
            let problem = format!("is longer than {}", limits::SPAN);
            return Err(PlacedMisfit::new(node, Misfit::Rule(problem)));
        }
        if sleeps {
            return Ok(Self::Sleep(span));
        }
        let problem = "cannot be waited with udelay, which takes whole microseconds up to 1 s";
        match whole_micros(span) {
            Some(0) => Ok(Self::None),
            Some(micros) => Ok(Self::Fixed(micros)),
            None => Err(PlacedMisfit::new(node, Misfit::Rule(problem.into()))),
        }
    }
}

/// What Linux calls to wait so many microseconds before it asks; it sleeps from a millisecond on.
pub(super) fn wait_call(micros: u64) -> String {
    match cfi_udelay(micros) {
        Pause::Spin(micros) => format!("udelay({micros})"),
        Pause::Jiffies(millis) => format!("msleep({millis})"),
        Pause::None | Pause::Sleep(_) => "no wait".into(),
    }
}

impl Scenario {
    /// What is programmed at once: a write buffer, or a word of a part without one.
    pub(super) fn program_unit(&self) -> &'static str {
        self.part.write_buffer.map_or("word", |_| "buffer")
    }
}

/// `span` as whole microseconds of at most a second.
fn whole_micros(span: Duration) -> Option<u64> {
    let whole = span.as_nanos().is_multiple_of(1_000) && span <= Duration::from_secs(1);
    whole.then_some(span.as_micros())
}

impl System {
    /// The policy that this system waits with for a buffer program.
    ///
    /// `tuned_us` is the best wait in microseconds, for [`Wait::Tuned`].
    #[must_use]
    pub fn policy(
        &self,
        cfi_info: &CfiInfo,
        tune: &Tune,
        tuned_us: u64,
        board: &BoardSpec,
    ) -> Box<dyn WaitPolicy> {
        let gap = if self.poll_gap_us == 0 { Pause::None } else { cfi_udelay(self.poll_gap_us) };
        let fixed = |micros| Box::new(FixedThenToggle { wait: cfi_udelay(micros), gap });
        let typical = Duration::from_micros(cfi_info.word_typical_us);
        match self.wait {
            Wait::None => Box::new(ToggleOnly { gap }),
            Wait::WordTime => fixed(cfi_info.word_typical_us),
            Wait::BufferTime => fixed(cfi_info.program_typical_us()),
            Wait::Tuned => fixed(tuned_us),
            Wait::Fixed(micros) => fixed(micros),
            Wait::Sleep(span) => Box::new(FixedThenToggle { wait: Pause::Sleep(span), gap }),
            Wait::Staircase => Box::new(Staircase { micros: cfi_info.word_typical_us, gap }),
            Wait::HalfTypical => Box::new(HalfTypical {
                typical: Duration::from_micros(cfi_info.program_typical_us()),
                jiffy: board.host.jiffies.time_of(1),
            }),
            Wait::Own => match &self.own {
                Some(own) => Box::new(Own::start(own, cfi_info.word_typical_us, gap)),
                None => fixed(cfi_info.word_typical_us),
            },
            Wait::Adaptive => Box::new(Adaptive {
                wait: typical,
                step: tune.step,
                millionths: tune.quantile.millionths(),
                floor: typical / 4,
                // What CFI calls typical may be far below a buffer's time; its maximum is not.
                ceiling: Duration::from_micros(cfi_info.program_max_us()).max(typical),
                restart: typical / 2,
                gap,
            }),
        }
    }
}

/// Reads a whole scenario, its part and board mounted in place of their names.
///
/// A data file is looked for from the folder of the file that names it; one that `--set` names, from the current
/// folder.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be, the data file included.
pub fn read(section: &Section<'_>, seed: Seed) -> Read<Scenario> {
    let scenario = Scenario::read(*section, seed)?;
    unused::refuse(section, &scenario)?;
    Ok(scenario)
}

/// A part that the drivers can find out about.
fn with_cfi(section: Section<'_>) -> Read<Part> {
    let part = part::read(section)?;
    if part.cfi.is_some() {
        return Ok(part);
    }
    Err(section.refuse(
        "title",
        "gives no CFI answer, and all three drivers ask for it first",
        "a part with a [cfi] section",
        "take a part with CFI: boardlab list parts",
    ))
}

/// The bytes to write: those of a file, or a pattern.
fn data(section: &Section<'_>, room: Option<Bytes>, seed: Seed) -> Read<Arc<[u8]>> {
    const PATTERNS: [&str; 4] = ["zeros", "ones", "counter", "random"];
    let named = PATTERNS.map(|name| (name, name));
    let bytes = section.key::<Bytes>("bytes").positive().required();
    let pattern = section.one_of("pattern", &named);
    let file = section.key::<String>("file").optional_sourced();
    section.finish()?;
    let (bytes, pattern, room) = (bytes?, pattern?, room.unwrap_or(Bytes::mib(1_024)));
    if let Some(file) = file? {
        let (why, help) = ("with workload.file", "leave the file out, or this");
        section.idle_each(["bytes", "pattern"], why, help)?;
        let path = data_file::path(section, "file", &file.value);
        let what = format!("the flash of {room}");
        return data_file::read(section, "file", &path, room, &what).map(Into::into);
    }
    if bytes > room {
        return Err(section.refuse(
            "bytes",
            &format!("do not fit the flash of {room}"),
            &format!("a size up to {room}"),
            &format!("write less, --set workload.bytes=\"{room}\", or choose a larger part"),
        ));
    }
    Ok(fill(pattern, bytes.to_usize(), seed))
}

fn fill(pattern: &str, length: usize, seed: Seed) -> Arc<[u8]> {
    match pattern {
        "ones" => vec![0xFF; length].into(),
        "counter" => (0..=u8::MAX).cycle().take(length).collect(),
        "random" => {
            let mut bytes = vec![0; length];
            seed.stream("workload.data").fill(&mut bytes);
            bytes.into()
        }
        _ => vec![0; length].into(),
    }
}
