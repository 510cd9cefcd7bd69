//! The parameters that distinguish one driver from another.
//!
//! Sources: u-boot 2013.04 `drivers/mtd/cfi_flash.c`; Linux 3.4 and Linux 6.1
//! `drivers/mtd/chips/cfi_cmdset_0002.c` (`do_write_buffer`, `do_erase_oneblock`).

use crate::driver::probe::CfiInfo;
use crate::host::{HostTiming, Pause};
use crate::wait::{FixedThenToggle, ToggleOnly, WaitPolicy, cfi_udelay};
use boardlab_sim::Bytes;

/// A driver's test for completion.
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

/// A driver's timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Expires when more than this number of whole milliseconds have passed.
    Millis(u64),
    /// Expires when more than this number of timer ticks have been counted.
    Jiffies(u64),
}

/// The commands that a driver sends to a chip that did not become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The reset command F0, which a chip in write-buffer abort ignores.
    Reset,
    /// The write-to-buffer-abort reset, AA, 55, F0 (Linux since 070c32223ae8).
    AbortReset,
    /// 71 clears the status register's error bits, then AA, 55, F0 (assumed: the data sheet's way).
    ClearStatus,
}

/// The parameters of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name for display: `Linux 3.4`.
    pub name: &'static str,
    /// Letter before the step numbers: `U` or `L`.
    pub prefix: char,
    /// Unit in which user memory is copied to the kernel; `None` if there is no such copy.
    pub copy_unit: Option<Bytes>,
    /// Whether a buffer's target is read and compared before it is programmed (u-boot).
    pub check_erased: bool,
    /// Whether protected sectors are refused without a command (u-boot keeps a table of them).
    pub refuses_protected: bool,
    /// The test for completion of a program.
    pub ready: Ready,
    /// The test for completion of an erase.
    pub erase_ready: Ready,
    /// Whether the first word of the sector is read twice after the erase and must be all ones (Linux
    /// 3.4).
    pub erase_verified: bool,
    /// The number of retries of a failed erase (Linux 6.1: `MAX_RETRIES`).
    pub erase_retries: u32,
    /// The commands sent after a failure.
    pub recovery: Recovery,
}

/// A modelled driver and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// u-boot 2013.04.
    UBoot2013,
    /// u-boot 2013.04 built with CONFIG_SYS_CFI_FLASH_STATUS_POLL: compares the word read with the
    /// datum.
    UBoot2013StatusPoll,
    /// Linux 3.4.
    Linux34,
    /// Linux 6.1.
    Linux61,
    /// Linux 6.1 with a part whose CFI table declares the status register.
    Linux61StatusRegister,
}

impl Kind {
    /// The builds of u-boot by their names in scenarios.
    pub const UBOOT: [(&'static str, Self); 2] = [
        ("u-boot-2013.04", Self::UBoot2013),
        ("u-boot-2013.04-status-poll", Self::UBoot2013StatusPoll),
    ];

    /// The versions of Linux by their names in scenarios.
    pub const LINUX: [(&'static str, Self); 3] = [
        ("linux-3.4", Self::Linux34),
        ("linux-6.1", Self::Linux61),
        ("linux-6.1-status-register", Self::Linux61StatusRegister),
    ];

    /// The driver's parameters.
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

    /// The released wait policy for programs.
    ///
    /// Linux waits for the typical time of a single *word* (1Fh), not of the buffer (20h).
    #[must_use]
    pub fn program_wait(self, cfi_info: &CfiInfo) -> Box<dyn WaitPolicy> {
        let gap = Pause::Spin(1);
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Box::new(ToggleOnly { gap }),
            _ => Box::new(FixedThenToggle { wait: cfi_udelay(cfi_info.word_typical_us), gap }),
        }
    }

    /// The released wait policy for erases.
    #[must_use]
    pub fn erase_wait(self, cfi_info: &CfiInfo, host: &HostTiming) -> Box<dyn WaitPolicy> {
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => {
                Box::new(ToggleOnly { gap: Pause::Spin(1) })
            }
            _ => Box::new(FixedThenToggle {
                wait: cfi_udelay(cfi_info.erase_typical_ms * 500),
                gap: cfi_udelay(1_000_000 / host.jiffies.get()),
            }),
        }
    }

    /// The timeout of a buffer program, or of a word program on a part without a buffer.
    #[must_use]
    pub fn program_timeout(self, cfi_info: &CfiInfo, host: &HostTiming) -> Timeout {
        let hz = host.jiffies.get();
        let max_us = cfi_info.program_max_us();
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Timeout::Millis(max_us.div_ceil(1_000)),
            Self::Linux34 => Timeout::Jiffies(hz / 1_000 + 1),
            Self::Linux61 | Self::Linux61StatusRegister => {
                Timeout::Jiffies((max_us.max(2_000) * hz).div_ceil(1_000_000))
            }
        }
    }

    /// The timeout of an erase.
    #[must_use]
    pub fn erase_timeout(self, cfi_info: &CfiInfo, host: &HostTiming) -> Timeout {
        match self {
            Self::UBoot2013 | Self::UBoot2013StatusPoll => Timeout::Millis(cfi_info.erase_max_ms),
            _ => Timeout::Jiffies(20 * host.jiffies.get()),
        }
    }
}
