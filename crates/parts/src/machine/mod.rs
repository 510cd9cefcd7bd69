//! What a kernel runs on: the CPU and the memory of a board.
//!
//! Layer: rank 8. Main type: [`Machine`]. Left out: interrupts, other tasks, DMA.

mod cpu_core;

use boardlab_document::{Read, Section, fields, keys, section};
use boardlab_sim::{Bytes, Hertz};
use boardlab_vfs::{Cost, Host, Work};
use cpu_core::Core;

/// The most memory of a board.
pub const RAM: Bytes = Bytes::mib(65_536);
/// The most CPU cycles of one piece of work, or of a KiB of it.
const CYCLES: u64 = 1_000_000_000;

/// The CPU and the memory of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The size of the memory.
    pub ram: Bytes,
    /// The memory that the kernel takes.
    pub kernel: Bytes,
    /// The CPU's clock.
    pub clock: Hertz,
    /// Cycles of each kind of work, in the order of [`Work::ALL`].
    pub costs: [Cost; Work::ALL.len()],
}

section! {
    /// The section `memory`.
    pub(crate) struct Memory(section) {
        ram: Bytes => within(Bytes::mib(1), RAM),
        kernel: Bytes => within(Bytes::mib(1), RAM),
    }
    check(ram, kernel) {
        if kernel >= ram {
            let problem = format!("leaves nothing of the memory of {ram}");
            let expected = format!("a size below {ram}");
            let help = "compare `memory.ram` with `memory.kernel`";
            return Err(section.refuse("kernel", &problem, &expected, help));
        }
    }
}

/// The section `cpu`, as far as it is about the work of a kernel: the cycles of each kind, or the core from which they
/// follow.
pub(crate) struct Cpu {
    clock: Hertz,
    core: Option<Core>,
    work: Option<[Cost; Work::ALL.len()]>,
}

impl Cpu {
    /// Reads these keys of the section, and leaves the others.
    pub(crate) fn read(section: &Section<'_>) -> Read<Self> {
        let (least, most) = (Hertz::from_hz(1_000_000), Hertz::from_hz(100_000_000_000));
        let clock = section.key::<Hertz>("clock").within(least, most).required();
        let core = section.optional_section("core", Core::read);
        let work = match &core {
            Ok(None) => section.section("work", work).map(Some),
            _ if section.has("work") => {
                let problem = "stands beside `core`, from which all costs follow";
                let help = "leave one of them out; a board that extends another has its costs";
                Err(section.refuse("work", problem, "either `core` or `work`", help))
            }
            _ => Ok(None),
        };
        keys!(section => Self {
            clock: Hertz = clock,
            core: Option<Core> = core,
            work: Option<[Cost; Work::ALL.len()]> = work,
        })
    }

    /// The cost of each kind of work.
    fn costs(&self) -> [Cost; Work::ALL.len()] {
        let derived = |core: Core| Work::ALL.map(|kind| core.cost(self.clock, kind));
        self.work.or_else(|| self.core.map(derived)).expect("one of both was read")
    }
}

/// Whether the cost of a kind of work depends on `cpu.core.push`.
#[must_use]
pub fn pushes(work: Work) -> bool {
    cpu_core::pushes(work)
}

impl Machine {
    /// One of these sections.
    pub(crate) fn new(Memory { ram, kernel }: Memory, cpu: &Cpu) -> Self {
        Self { ram, kernel, clock: cpu.clock, costs: cpu.costs() }
    }

    /// The CPU.
    #[must_use]
    pub fn host(&self) -> Host {
        Host::new(self.clock, |work| self.costs[work as usize])
    }

    /// The memory of the page cache.
    #[must_use]
    pub fn page_cache(&self) -> Bytes {
        self.ram - self.kernel
    }
}

fn work(section: Section<'_>) -> Read<[Cost; Work::ALL.len()]> {
    // Every kind is read before the first error is returned, so that all errors are shown.
    let each = Work::ALL.map(|kind| section.section(kind.name(), cost));
    section.finish()?;
    let mut costs = [Cost::default(); Work::ALL.len()];
    for (place, cost) in costs.iter_mut().zip(each) {
        *place = cost?;
    }
    Ok(costs)
}

fn cost(section: Section<'_>) -> Read<Cost> {
    fields!(section => Cost {
        each: u64 => up_to(CYCLES),
        per_kib: u64 => up_to(CYCLES),
    })
}
