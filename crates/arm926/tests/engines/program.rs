//! Random programs: loops, loads and stores of all kinds, calls between ARM and Thumb code, cache
//! maintenance, changes of the FCSE PID, self-modifying code.

use boardlab_sim::Stream;

use super::world::{ARM, BACK, DATA, HOLES, THROUGH, THUMB, UNCACHED, draw};

/// Words of ARM code.
pub(crate) const WORDS: usize = 1800;

/// Registers that hold addresses: r8 to r11.
fn base(stream: &mut Stream) -> u32 {
    8 + draw(stream, 4)
}

/// Registers that hold numbers: r0 to r7, and occasionally another one.
fn number(stream: &mut Stream) -> u32 {
    if stream.chance(1, 30) { draw(stream, 15) } else { draw(stream, 8) }
}

/// A condition: mostly none.
fn condition(stream: &mut Stream) -> u32 {
    if stream.chance(1, 3) { draw(stream, 14) << 28 } else { 0xE000_0000 }
}

/// Data processing with all kinds of second operand.
fn compute(stream: &mut Stream) -> u32 {
    let common = condition(stream)
        | draw(stream, 16) << 21
        | draw(stream, 2) << 20
        | number(stream) << 16
        | number(stream) << 12;
    let second = match draw(stream, 4) {
        0 | 1 => 1 << 25 | draw(stream, 0x1000),
        2 => draw(stream, 32) << 7 | draw(stream, 4) << 5 | number(stream),
        _ => number(stream) << 8 | draw(stream, 4) << 5 | 0x10 | number(stream),
    };
    let compares = common >> 23 & 3 == 2;
    (if compares { common | 1 << 20 } else { common }) | second
}

fn multiply(stream: &mut Stream) -> u32 {
    let fields = number(stream) << 16 | number(stream) << 12 | number(stream) << 8 | number(stream);
    let kind = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15][draw(stream, 12) as usize];
    match draw(stream, 4) {
        0 => 0xE16F_0F10 | number(stream) << 12 | number(stream),
        1 => {
            condition(stream) | 0x0100_0080 | draw(stream, 4) << 21 | draw(stream, 4) << 5 | fields
        }
        _ => condition(stream) | kind << 20 | 0x90 | fields,
    }
}

/// A load or store of one item, by r8 to r11.
fn single(stream: &mut Stream) -> u32 {
    let address = base(stream) << 16 | number(stream) << 12;
    // P, U, W: mostly offsets and post-increments.
    let how = [0b110, 0b110, 0b110, 0b010, 0b000, 0b111, 0b101, 0b100][draw(stream, 8) as usize];
    let common = condition(stream) | (how >> 1) << 23 | (how & 1) << 21 | address;
    match draw(stream, 4) {
        // Words and bytes with a constant, most of them aligned.
        0 | 1 => {
            let byte = draw(stream, 4) / 3;
            let aligned = if stream.chance(1, 20) { 0x3F } else { 0x3C };
            common | 0x0400_0000 | byte << 22 | draw(stream, 2) << 20 | draw(stream, 64) & aligned
        }
        // With a register: an offset of a few bits of a number.
        2 => {
            let shift = if stream.chance(1, 2) { 26 << 7 | 1 << 5 } else { 27 << 7 | 1 << 5 };
            common
                | 0x0600_0000
                | (draw(stream, 4) / 3) << 22
                | draw(stream, 2) << 20
                | shift
                | number(stream)
        }
        // Half-words, signed items, double words.
        _ => {
            let kind = 1 + draw(stream, 3);
            let aligned = if stream.chance(1, 20) { 15 } else { 8 };
            let low = draw(stream, 16) & aligned;
            common & !(1 << 12)
                | 1 << 22
                | draw(stream, 2) << 20
                | draw(stream, 4) << 8
                | 0x90
                | kind << 5
                | low
        }
    }
}

/// LDM and STM by r8 to r11, mostly of r0 to r7.
fn several(stream: &mut Stream) -> u32 {
    let list = if stream.chance(1, 20) { draw(stream, 0x8000) } else { draw(stream, 0x100) };
    let how = draw(stream, 4) << 23 | draw(stream, 2) << 20 | (draw(stream, 4) / 2) << 21;
    condition(stream) | 0x0800_0000 | how | base(stream) << 16 | list.max(1)
}

/// Points one of r8 to r11 to data, or occasionally to code.
fn point(stream: &mut Stream, code: &mut Vec<u32>) {
    let register = base(stream);
    let regions = [BACK, BACK, BACK, BACK, 0, 0, 0, THROUGH, UNCACHED, HOLES, HOLES];
    let region = regions[draw(stream, 11) as usize];
    let place = match draw(stream, 40) {
        0 => ARM >> 12,
        1 => THUMB >> 12,
        2 => 0x80,
        _ => (DATA >> 12) + draw(stream, 8),
    };
    let move_ = 0xE3A0_0000 | register << 12;
    let or = 0xE380_0000 | register << 16 | register << 12;
    code.push(move_ | 4 << 8 | region >> 24);
    code.push(or | 10 << 8 | place);
    code.push(or | 14 << 8 | draw(stream, 256));
}

/// An address of code, with bit 0 for Thumb.
pub(crate) fn target(stream: &mut Stream) -> u32 {
    let region = [BACK, BACK, 0, 0, THROUGH, UNCACHED][draw(stream, 6) as usize];
    let region = if region == UNCACHED && stream.chance(3, 4) { BACK } else { region };
    if stream.chance(1, 4) {
        region + THUMB + draw(stream, 700) * 2 + 1
    } else {
        region + ARM + draw(stream, u32::try_from(WORDS).unwrap()) * 4
    }
}

/// Maintenance, or another FCSE PID.
fn control(stream: &mut Stream) -> u32 {
    let rd = base(stream) << 12;
    let register = match draw(stream, 12) {
        0 => 0x0007_0F35,     // c7, c5, 1: instruction line by MVA
        1 => 0x0007_0F15,     // c7, c5, 0: all of the instruction cache
        2 => 0x0007_0F36,     // c7, c6, 1: invalidate data line
        3 | 4 => 0x0007_0F3A, // c7, c10, 1: clean data line
        5 => 0x0007_0F3E,     // c7, c14, 1: clean and invalidate
        6 => 0x0007_0F9A,     // c7, c10, 4: drain
        7 => 0x0008_0F17,     // c8, c7, 0: all of the TLB
        8 => 0x0008_0F37,     // c8, c7, 1: an entry
        9 => return 0xEE17_FF7A | if stream.chance(1, 2) { 4 } else { 0 }, // test and clean
        _ => 0x000D_0F10,     // c13: the process number, from the highest bits of a number
    };
    0xEE00_0000 | register | rd
}

/// A loop of a few instructions.
fn repeat(stream: &mut Stream, code: &mut Vec<u32>) {
    let first = code.len() + 1;
    code.push(0xE3A0_C000 | (1 + draw(stream, 60)));
    for _ in 0..=draw(stream, 12) {
        let instruction = match draw(stream, 25) {
            0..=7 => single(stream),
            8..=11 => several(stream),
            12..=15 => multiply(stream),
            16 => control(stream),
            _ => compute(stream),
        };
        code.push(instruction);
    }
    code.push(0xE25C_C001);
    let offset = u32::try_from(first).unwrap().wrapping_sub(u32::try_from(code.len()).unwrap() + 2);
    code.push(0x1A00_0000 | offset & 0x00FF_FFFF);
}

fn far(stream: &mut Stream, code: &mut Vec<u32>) {
    match draw(stream, 4) {
        // ldr pc, [pc, #-4]
        0 | 1 => code.push(condition(stream) | 0x059F_F004),
        // mov lr, pc; ldr pc, [pc, #-4]
        2 => code.extend([0xE1A0_E00F, 0xE51F_F004]),
        // ldr r12; bx r12
        _ => code.extend([0xE59F_C000, 0xE12F_FF1C]),
    }
    code.push(target(stream));
    code.push(target(stream));
}

/// ARM code.
pub(crate) fn arm(stream: &mut Stream) -> Vec<u32> {
    let mut code = Vec::new();
    while code.len() < WORDS {
        match draw(stream, 40) {
            0..=11 => code.push(compute(stream)),
            12..=18 => code.push(single(stream)),
            19..=21 => code.push(several(stream)),
            22..=23 => code.push(multiply(stream)),
            24..=27 => point(stream, &mut code),
            28..=30 => repeat(stream, &mut code),
            // b or bl forwards, mostly with a condition
            31..=33 => {
                code.push(
                    condition(stream) | 0x0A00_0000 | (draw(stream, 4) / 3) << 24 | draw(stream, 9),
                );
            }
            34 => code.push(condition(stream) | 0x012F_FF1E), // bx lr
            35..=36 => far(stream, &mut code),
            37 => code.push(control(stream)),
            38 => code.push(0xE121_F000 | number(stream)), // msr cpsr_c
            _ if stream.chance(1, 3) => code.push(0xEF00_0000),
            _ => {
                let word = u32::try_from(stream.next_u64() >> 32).unwrap();
                code.push(word);
            }
        }
    }
    // ldr pc, [pc, #-4] and back to the start.
    code.extend([0xE51F_F004, BACK + ARM]);
    code
}

/// A Thumb instruction; high registers are moved to low ones before accesses.
fn half(stream: &mut Stream, code: &mut Vec<u32>) {
    let low = |stream: &mut Stream| draw(stream, 8);
    let pair = low(stream) << 3 | low(stream);
    match draw(stream, 24) {
        0..=3 => code.push(draw(stream, 0x2000)),
        4..=6 => code.push(0x2000 | draw(stream, 0x2000)),
        7..=9 => code.push(0x4000 | draw(stream, 16) << 6 | pair),
        10 => code.push(
            [0x4400, 0x4500, 0x4600][draw(stream, 3) as usize]
                | draw(stream, 16) << 3
                | low(stream),
        ),
        11 => code.push(0x4800 | draw(stream, 0x800)),
        12..=16 => {
            code.push(0x4644 | draw(stream, 4) << 3);
            let kind = [0x6000, 0x6800, 0x7000, 0x7800, 0x8000, 0x8800, 0xC000, 0xC800];
            let kind = kind[draw(stream, 8) as usize];
            code.push(if kind >= 0xC000 {
                kind | 4 << 8 | draw(stream, 256).max(1)
            } else {
                kind | draw(stream, 32) << 6 | 4 << 3 | low(stream)
            });
        }
        17 => code.push(0xB400 | draw(stream, 2) << 11 | draw(stream, 256).max(1)),
        18..=19 => code.push(0xD000 | draw(stream, 14) << 8 | draw(stream, 8)),
        20 => {
            code.extend([
                0xF000,
                [0xF800, 0xE800][draw(stream, 2) as usize] | (2 * draw(stream, 8)),
            ]);
        }
        21 => code.push(0xE000 | draw(stream, 8)),
        22 => code.push(0x4770), // bx lr
        _ => code.push(draw(stream, 0x1_0000)),
    }
}

/// Thumb code, two instructions a word.
pub(crate) fn thumb(stream: &mut Stream) -> Vec<u32> {
    let mut halves = Vec::new();
    while halves.len() < 1600 {
        half(stream, &mut halves);
        if stream.chance(1, 30) {
            // ldr r0, [pc]; bx r0; the address at a multiple of four
            if halves.len() % 2 != 0 {
                halves.push(0x46C0);
            }
            let to = target(stream);
            halves.extend([0x4800, 0x4700, to & 0xFFFF, to >> 16]);
        }
    }
    halves.chunks_exact(2).map(|pair| pair[0] | pair[1] << 16).collect()
}
