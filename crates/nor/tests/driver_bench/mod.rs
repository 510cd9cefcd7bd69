//! The bench that the driver and tuner tests share: a part, a board, a driver.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses its own share"
)]

use boardlab_nor::chip::Chip;
use boardlab_nor::driver::{Board, Kind};
use boardlab_nor::part::{
    Boot, BusWidth, Cfi, CfiTimes, Features, Identity, OperationTime, Part, Region, Timing,
};
use boardlab_nor::{Bus, BusTiming, Host, HostTiming, NorMtd};
use boardlab_sim::{Bytes, Clock, Duration, Hertz, QuantileTable, Rate, Seed};
use std::sync::Arc;

pub fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// A quantile table through `points`, in microseconds.
pub fn table(points: &[u64]) -> QuantileTable {
    let points: Vec<_> = points.iter().copied().map(micros).collect();
    QuantileTable::new(&points).unwrap()
}

/// 16 sectors of 64 KiB, 512-byte write buffer, x16: fast enough for exhaustive tests.
pub fn part() -> Part {
    let timed = |points: &[u64], max| OperationTime { time: table(points), max: micros(max) };
    Part {
        name: "bench".into(),
        width: BusWidth::X16,
        regions: vec![Region { count: 16, size: Bytes::kib(64) }],
        boot: Boot::Uniform,
        write_buffer: Some(Bytes::new(512)),
        identity: Identity { manufacturer: 1, device: 0x227E, device_extended: Some([0x21, 1]) },
        cfi: Some(Cfi {
            times: CfiTimes {
                word_typical: 8,
                buffer_typical: 9,
                erase_typical: 8,
                chip_typical: 12,
                word_max: 1,
                buffer_max: 2,
                erase_max: 3,
                chip_max: 3,
            },
            vcc: [0x27, 0x36],
            vpp: [0, 0],
            interface: 2,
            primary_minor: b'3',
            silicon_revision: 0,
            protection_group: 1,
            protection_scheme: 8,
            page_mode: 0,
        }),
        timing: Timing {
            word_program: timed(&[60, 80], 400),
            buffer_program: timed(&[170, 190, 200, 205, 226], 750),
            buffer_overhead: micros(90),
            sector_erase: timed(&[230_000, 265_000, 330_000], 1_100_000),
            erase_window: micros(50),
            suspend_latency: micros(30),
            protected_latency: micros(1),
            reset_latency: micros(35),
        },
        features: Features {
            unlock_bypass: true,
            erase_suspend: true,
            program_suspend: true,
            status_register: false,
            ppb: true,
            masks_ones: false,
        },
        endurance: 100_000,
    }
}

pub fn bus_timing() -> BusTiming {
    BusTiming { read_cycle: Duration::from_nanos(284), write_cycle: Duration::from_nanos(284) }
}

pub fn host() -> Host {
    let timing = HostTiming {
        time_base: Hertz::from_hz(33_300_000),
        jiffies: Hertz::from_hz(250),
        wake_latency: table(&[2, 5, 30]),
        context_switch: micros(5),
        copy_rate: Rate::new(Bytes::mib(4), Duration::from_millis(11)).unwrap(),
        call: Duration::ZERO,
        split: Duration::ZERO,
    };
    Host::new(timing, Seed::new(1).stream("nor.host"))
}

pub fn board(part: &Part, chips: u64) -> Board {
    let part = Arc::new(part.clone());
    let chip = |seed| Chip::new(Arc::clone(&part), Seed::new(seed)).unwrap();
    Board::new(Bus::new((1..=chips).map(chip).collect(), bus_timing()), host())
}

pub fn attach(kind: Kind, part: &Part, chips: u64) -> (NorMtd, Clock) {
    let mut clock = Clock::new();
    let mtd = NorMtd::attach(kind, board(part, chips), &mut clock).unwrap();
    (mtd, clock)
}

/// Bytes that differ from their neighbours and between pages.
pub fn data(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Seed::new(9).stream("data").fill(&mut bytes);
    bytes
}
