//! Wall time of the reference interpreter: a mix of CRC, sorting and a matrix product on plain memory.
//!
//! The elements of a report are instructions: the goal is 30 M elem/s (30 MIPS) with MMU and caches
//! enabled.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_arm926::{Config, Cycles, Limit, Processor, Ram, Stop, Waits};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// The number of instructions per measurement.
const INSTRUCTIONS: u64 = 1_000_000;

/// The address of the program.
const PROGRAM: u32 = 0x8000;

/// The translation table: sections of a megabyte, all of the same physical megabyte, write-back.
const TABLE: u32 = 0x4000;

/// Enables the MMU and both caches: TTBR, DACR (client of domain 0), invalidation, SCTLR.
const ENABLE: [u32; 12] = [
    0xE3A0_0901, // mov r0, #0x4000
    0xEE02_0F10, // mcr p15, 0, r0, c2, c0, 0
    0xE3A0_0001, // mov r0, #1
    0xEE03_0F10, // mcr p15, 0, r0, c3, c0, 0
    0xE3A0_0000, // mov r0, #0
    0xEE07_0F17, // mcr p15, 0, r0, c7, c7, 0
    0xEE08_0F17, // mcr p15, 0, r0, c8, c7, 0
    0xEE11_0F10, // mrc p15, 0, r0, c1, c0, 0
    0xE380_0005, // orr r0, r0, #5
    0xE380_0A01, // orr r0, r0, #0x1000
    0xEE01_0F10, // mcr p15, 0, r0, c1, c0, 0
    0xE1A0_0000, // nop
];

/// An endless loop: a bitwise CRC-32 of 1 KiB, a selection sort of 64 words, a 12 by 12 matrix product,
/// a call.
const MIX: [u32; 64] = [
    0xE3A0_A801,
    0xE1A0_000A,
    0xE3A0_1C01,
    0xE3E0_2000,
    0xE59F_30E4,
    0xE4D0_4001,
    0xE022_2004,
    0xE3A0_5008,
    0xE1B0_20A2,
    0x2022_2003,
    0xE255_5001,
    0x1AFF_FFFB,
    0xE251_1001,
    0x1AFF_FFF6,
    0xE580_2000,
    0xE3A0_0040,
    0xE28A_1A01,
    0xE1A0_23E2,
    0xE082_2182,
    0xE481_2004,
    0xE250_0001,
    0x1AFF_FFFA,
    0xE28A_1A01,
    0xE281_80FC,
    0xE281_2004,
    0xE591_3000,
    0xE592_4000,
    0xE154_0003,
    0x3582_3000,
    0x31A0_3004,
    0xE282_2004,
    0xE152_0008,
    0x9AFF_FFF8,
    0xE481_3004,
    0xE151_0008,
    0x3AFF_FFF3,
    0xE28A_0A01,
    0xE28A_1A02,
    0xE28A_2A03,
    0xE3A0_3000,
    0xE3A0_4000,
    0xE3A0_5000,
    0xE3A0_6000,
    0xE080_7303,
    0xE081_8104,
    0xE497_9004,
    0xE498_B040,
    0xE026_6B99,
    0xE285_5001,
    0xE355_000C,
    0x1AFF_FFF9,
    0xE082_9303,
    0xE789_6104,
    0xE284_4001,
    0xE354_000C,
    0x1AFF_FFF0,
    0xE283_3001,
    0xE353_000C,
    0x1AFF_FFEC,
    0xEB00_0000,
    0xEAFF_FFC3,
    0xE92D_41F0,
    0xE8BD_81F0,
    0xEDB8_8320,
];

/// The core at the first instruction of the mix, with the MMU enabled if `mapped`.
fn machine(mapped: bool) -> Processor<Ram> {
    let mut ram = Ram::new(1 << 20, Waits { first: 4, next: 0 });
    for section in 0..4096 {
        ram.put((TABLE + 4 * section) as usize, &[0xC1E]);
    }
    let start = (PROGRAM - 48) as usize;
    ram.put(start, &ENABLE);
    ram.put(start + 48, &MIX);
    let mut core = Processor::new(&Config::default(), ram);
    core.registers.pc = if mapped { PROGRAM - 48 } else { PROGRAM };
    core.registers.r[13] = 0x2_0000;
    core
}

fn mix(c: &mut Criterion) {
    let mut group = c.benchmark_group("interpreter");
    group.throughput(Throughput::Elements(INSTRUCTIONS));
    for (name, mapped) in [("mix, MMU and caches on", true), ("mix, MMU and caches off", false)] {
        group.bench_function(name, |b| {
            let mut core = machine(mapped);
            assert_eq!(core.run(Limit::instructions(10_000)), Stop::Limit);
            b.iter(|| {
                let to = core.counts.instructions + INSTRUCTIONS;
                let stop = core.run(Limit { cycles: Cycles::NEVER, instructions: to });
                assert_eq!(stop, Stop::Limit);
                black_box(core.now)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = mix
}
criterion_main!(benches);
