//! The scenario: a NAND part at a port, a driver, and steps.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Port`].

mod unused;

use crate::steps::{self, Names, Room, Step};
use boardlab_document::{Read, Section, section};
use boardlab_nand::driver::ProfileError;
use boardlab_nand::{Part, Profile};
use boardlab_parts::nand::part;
use boardlab_sim::{Bytes, Duration};

/// What can be done with a raw flash.
const OPERATIONS: Names = &[(READ, READ), (PROGRAM, PROGRAM), (ERASE, ERASE), (READ_OOB, READ_OOB)];
pub(super) const READ: &str = "mtd.read";
pub(super) const PROGRAM: &str = "mtd.program";
pub(super) const ERASE: &str = "mtd.erase";
pub(super) const READ_OOB: &str = "mtd.read_oob";
/// The most that the port adds to a command.
const PER_COMMAND: Duration = Duration::from_secs(1);
/// The most that it adds to a byte.
const PER_BYTE: Duration = Duration::from_millis(1);

section! {
    /// A scenario of this bench, checked.
    #[derive(Debug, Clone)]
    pub(super) struct Scenario(section) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The part.
        pub part: Part = section.section("part", part::read).map(|file| file.part),
        /// The port.
        pub port: Port,
        /// The kernel whose driver it is.
        pub kernel: Kernel = kernel(&section),
        /// What is done with it.
        pub steps as "step": Vec<Step> = section.sections("step", |step| Step::read(step, OPERATIONS)),
    }
    check(part, kernel, steps) {
        fits(&section, part, *kernel)?;
        steps::fit(&section, steps, |step| room(part, step))?;
        unused::refuse(&section)?;
    }
}

section! {
    /// What the way from the CPU to the flash adds to the bus cycles of the part.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Port {
        /// Added to each command.
        pub per_command: Duration => up_to(PER_COMMAND),
        /// Added to each byte.
        pub per_byte: Duration => up_to(PER_BYTE),
    }
}

/// The kernel whose driver it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// 2.6.26: whole pages.
    Linux26,
    /// 6.1: sub-pages.
    Linux61,
}

const KERNELS: [(&str, Kernel); 2] =
    [("linux-2.6", Kernel::Linux26), ("linux-6.1", Kernel::Linux61)];

fn kernel(section: &Section<'_>) -> Read<Kernel> {
    section.section("driver", |driver| {
        let profile = driver.one_of("profile", &KERNELS);
        driver.finish().and(profile)
    })
}

impl Kernel {
    /// The behaviour of the kernel's driver with `part`.
    pub(super) fn profile(self, part: &Part) -> Result<Profile, ProfileError> {
        match self {
            Self::Linux26 => Profile::linux_2_6(part),
            Self::Linux61 => Profile::linux_6_1(part),
        }
    }
}

/// Refuses a kernel without a driver for the part.
fn fits(section: &Section<'_>, part: &Part, kernel: Kernel) -> Read<()> {
    let Err(error) = kernel.profile(part) else { return Ok(()) };
    let problem = format!("has no driver for this part: {error}");
    let help = "--set driver.profile=linux-6.1";
    Err(section.refuse("driver", &problem, "a kernel that knows the part", help))
}

/// Where `step` may be done on `part`.
pub(super) fn room(part: &Part, step: &Step) -> Room {
    let (capacity, page) = (part.size(), part.geometry.page);
    let (unit, size) = match step.operation {
        ERASE => (part.geometry.block_size(), part.geometry.block_size()),
        READ => (Bytes::new(1), page),
        _ => (page, page),
    };
    Room { capacity, unit, size }
}
