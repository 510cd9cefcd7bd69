//! What distinguishes one driver from another, as values.
//!
//! Sources: u-boot 2013.04 `drivers/mtd/cfi_flash.c`; Linux 3.4 and Linux 6.1
//! `drivers/mtd/chips/cfi_cmdset_0002.c` (`do_write_buffer`, `do_erase_oneblock`).

use crate::driver::probe::Probed;
use crate::host::{HostTiming, Pause};
use crate::wait::{FixedThenToggle, ToggleOnly, WaitPolicy, cfi_udelay};
use boardlab_sim::Bytes;

/// How a driver decides that the chip is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// Two successive reads agree (DQ6 no longer toggles).
    Toggle,
    /// Two successive reads agree and show the datum that was programmed.
    ToggleAndDatum,
    /// One read shows the datum (u-boot's CONFIG_SYS_CFI_FLASH_STATUS_POLL, DQ7 polling).
    Datum,
    /// Bit 7 of the status register.
    StatusRegister,
}

/// How long a driver waits before it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// More than so many whole milliseconds have passed.
    Millis(u64),
    /// More than so many timer ticks have been counted.
    Jiffies(u64),
}

/// What a driver sends to a chip that did not become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The reset command F0, which a chip in write-buffer abort ignores.
    Reset,
    /// AA, 55, F0: leaves the write-buffer abort too (Linux since 070c32223ae8).
    AbortReset,
    /// 71 clears the status register's error bits, then AA, 55, F0 (assumed: the data sheet's way).
    ClearStatus,
}

/// A driver as a set of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name for people: `Linux 3.4`.
    pub name: &'static str,
    /// Letter before the step numbers: `U` or `L`.
    pub prefix: char,
    /// Unit in which user memory is copied to the kernel; `None` where there is no such copy.
    pub copy_unit: Option<Bytes>,
    /// Whether a buffer's target is read and compared before it is programmed (u-boot).
    pub check_erased: bool,
    /// Whether protected sectors are refused before any command (u-boot knows them).
    pub refuses_protected: bool,
    /// How it decides that a program is done.
    pub ready: Ready,
    /// How it decides that an erase is done.
    pub erase_ready: Ready,
    /// Whether it reads the sector once more after the erase and expects ones (Linux 3.4).
    pub erase_verified: bool,
    /// How often it tries a failed erase again (Linux 6.1: `MAX_RETRIES`).
    pub erase_retries: u32,
    /// What it sends after a timeout.
    pub recovery: Recovery,
}

/// A driver and version that boardlab models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// u-boot 2013.04.
    UBoot2013,
    /// u-boot 2013.04 built with CONFIG_SYS_CFI_FLASH_STATUS_POLL: compares with the datum.
    UBoot2013StatusPoll,
    /// Linux 3.4.
    Linux34,
    /// Linux 6.1.
    Linux61,
    /// Linux 6.1 with a part whose CFI table asks for the status register.
    Linux61StatusRegister,
}

impl Kind {
    /// The builds of u-boot, as they are written in scenarios.
    pub const UBOOT: [(&'static str, Self); 2] = [
        ("u-boot-2013.04", Self::UBoot2013),
        ("u-boot-2013.04-status-poll", Self::UBoot2013StatusPoll),
    ];

    /// The versions of Linux, as they are written in scenarios.
    pub const LINUX: [(&'static str, Self); 3] = [
        ("linux-3.4", Self::Linux34),
        ("linux-6.1", Self::Linux61),
        ("linux-6.1-status-register", Self::Linux61StatusRegister),
    ];

    /// Its values.
    #[must_use]
    pub const fn profile(self) -> Profile {
        let linux = Profile {
            name: "Linux 3.4",
            prefix: 'L',
            // mtdchar copies through a buffer of mtd_kmalloc_up_to(4 MiB).
            copy_unit: Some(Bytes::mib(4)),
            check_erased: false,
            refuses_protected: false,
            ready: Ready::Toggle,
            erase_ready: Ready::Toggle,
            erase_verified: true,
            erase_retries: 0,
            recovery: Recovery::Reset,
        };
        let uboot = Profile {
            name: "u-boot 2013.04",
            prefix: 'U',
            copy_unit: None,
            check_erased: true,
            refuses_protected: true,
            erase_verified: false,
            ..linux
        };
        let linux_6_1 = Profile {
            name: "Linux 6.1",
            ready: Ready::ToggleAndDatum,
            erase_ready: Ready::ToggleAndDatum,
            erase_verified: false,
            erase_retries: 3,
            recovery: Recovery::AbortReset,
            ..linux
        };
        match self {
            Self::UBoot2013 => uboot,
            Self::UBoot2013StatusPoll => {
                Profile { name: "u-boot 2013.04, status poll", ready: Ready::Datum, ..uboot }
            }
            Self::Linux34 => linux,
            Self::Linux61 => linux_6_1,
            Self::Linux61StatusRegister => Profile {
                name: "Linux 6.1, status register",
                ready: Ready::StatusRegister,
                erase_ready: Ready::StatusRegister,
                recovery: Recovery::ClearStatus,
                ..linux_6_1
            },
        }
    }

    /// How it waits for a program as it was released.
    ///
    /// Linux waits for the typical time of a single *word* (1Fh), not of the buffer (20h).
    #[must_use]
    pub fn program_wait(self, probed: &Probed) -> Box<dyn WaitPolicy> {
        let gap = Pause::Spin(1);
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Box::new(ToggleOnly { gap }),
            _ => Box::new(FixedThenToggle { wait: cfi_udelay(probed.word_typical_us), gap }),
        }
    }

    /// How it waits for an erase as it was released.
    #[must_use]
    pub fn erase_wait(self, probed: &Probed, host: &HostTiming) -> Box<dyn WaitPolicy> {
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => {
                Box::new(ToggleOnly { gap: Pause::Spin(1) })
            }
            _ => Box::new(FixedThenToggle {
                wait: cfi_udelay(probed.erase_typical_ms * 500),
                gap: cfi_udelay(1_000_000 / host.jiffies.get()),
            }),
        }
    }

    /// When it gives up a buffer (or, on a part without one, word) program.
    #[must_use]
    pub fn program_timeout(self, probed: &Probed, host: &HostTiming) -> Timeout {
        let hz = host.jiffies.get();
        let max_us = probed.program_max_us();
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Timeout::Millis(max_us.div_ceil(1_000)),
            Self::Linux34 => Timeout::Jiffies(hz / 1_000 + 1),
            Self::Linux61 | Self::Linux61StatusRegister => {
                Timeout::Jiffies((max_us.max(2_000) * hz).div_ceil(1_000_000))
            }
        }
    }

    /// When it gives up an erase.
    #[must_use]
    pub fn erase_timeout(self, probed: &Probed, host: &HostTiming) -> Timeout {
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Timeout::Millis(probed.erase_max_ms),
            _ => Timeout::Jiffies(20 * host.jiffies.get()),
        }
    }
}
