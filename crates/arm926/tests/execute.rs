//! Programs in words, executed on plain memory.
#![allow(clippy::unwrap_used, reason = "tests")]

use boardlab_arm926::{Config, Limit, Processor, Ram, Waits};

fn processor(words: &[u32]) -> Processor<Ram> {
    let mut ram = Ram::new(1 << 16, Waits::default());
    ram.put(0x1000, words);
    let mut processor = Processor::new(&Config::default(), ram);
    processor.registers.pc = 0x1000;
    processor
}

#[test]
fn a_loop_sums_ten_numbers_from_memory() {
    // mov r0,#0; mov r1,#10; mov r2,#0x2000; str r1,[r2],#4; subs r1,#1; bne; ldmdb r2!,{r3}; add r0,r3; cmp r2,#0x2000; bne
    let program = [
        0xE3A0_0000,
        0xE3A0_100A,
        0xE3A0_2A02,
        0xE482_1004,
        0xE251_1001,
        0x1AFF_FFFC,
        0xE932_0008,
        0xE080_0003,
        0xE352_0A02,
        0x1AFF_FFFB,
        0xEAFF_FFFE,
    ];
    let mut processor = processor(&program);
    processor.run(Limit::instructions(3 + 30 + 40 + 1));
    assert_eq!(processor.registers.r[0], 55);
    assert_eq!(processor.registers.pc, 0x1028);
}
