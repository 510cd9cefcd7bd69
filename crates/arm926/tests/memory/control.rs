//! The registers of the coprocessor: their values, their writable bits, and undefined registers.

use boardlab_arm926::Config;
use boardlab_arm926::config::CacheSize;
use boardlab_arm926::instruction::CoprocessorAccess;
use boardlab_arm926::memory::{Effect, Undefined};

use super::bench::Bench;

fn bench() -> Bench {
    Bench::new(&Config::default())
}

#[test]
fn the_identification_registers_read_as_those_of_the_part() {
    let mut bench = bench();
    assert_eq!(bench.read_control((0, 0, 0)), 0x4106_9265);
    assert_eq!(bench.read_control((0, 0, 7)), 0x4106_9265, "any other number reads the main ID");
    assert_eq!(bench.read_control((0, 0, 1)), 0x1D15_2152);
    assert_eq!(bench.read_control((0, 0, 2)), 0, "no tightly coupled memories");
}

#[test]
fn the_cache_type_tells_the_sizes_as_configured() {
    // Sizes of the NS9215 manual, page 88, and DDI 0198D: 0011 is 4 KB, 1000 is 128 KB; data in bits 21
    // to 18, instructions in bits 9 to 6.
    for (data, data_code) in [(4, 3), (8, 4), (16, 5), (32, 6), (64, 7), (128, 8)] {
        for (code, code_code) in [(4, 3), (8, 4), (16, 5), (32, 6), (64, 7), (128, 8)] {
            let config = Config {
                data_cache: CacheSize::from_kib(data).unwrap(),
                instruction_cache: CacheSize::from_kib(code).unwrap(),
                ..Config::default()
            };
            let expected = 0x1D01_2012 | data_code << 18 | code_code << 6;
            assert_eq!(Bench::new(&config).read_control((0, 0, 1)), expected, "{data} {code}");
        }
    }
}

#[test]
fn the_control_register_keeps_the_bits_that_exist() {
    let mut bench = bench();
    assert_eq!(bench.read_control((1, 0, 0)), 0x0005_0078);
    bench.write_control((1, 0, 0), !1);
    assert_eq!(bench.read_control((1, 0, 0)), 0x0005_F37E);
    bench.write_control((1, 0, 0), 0);
    assert_eq!(bench.read_control((1, 0, 0)), 0x0005_0078);
}

#[test]
fn vectors_are_high_after_reset_if_the_core_is_wired_so_and_whenever_v_says() {
    let mut bench = Bench::new(&Config { high_vectors: true, ..Config::default() });
    assert!(bench.memory.high_vectors());
    assert_eq!(bench.read_control((1, 0, 0)), 0x0005_2078);
    bench.write_control((1, 0, 0), 0);
    assert!(!bench.memory.high_vectors());
    bench.write_control((1, 0, 0), 1 << 15);
    assert!(bench.memory.armv4_loads());
}

#[test]
fn registers_keep_the_fields_that_they_have() {
    let mut bench = bench();
    for (register, kept) in [
        ((2, 0, 0), 0xFFFF_C000),
        ((3, 0, 0), 0xFFFF_FFFF),
        ((5, 0, 0), 0xFF),
        ((5, 0, 1), 0xFF),
        ((6, 0, 0), 0xFFFF_FFFF),
        ((10, 0, 0), 0x1C00_0001),
        ((13, 0, 0), 0xFE00_0000),
        ((13, 0, 1), 0xFFFF_FFFF),
        ((15, 0, 0), 0xFFFF_FFFF),
    ] {
        assert_eq!(bench.read_control(register), 0, "{register:?} after reset");
        bench.write_control(register, 0xFFFF_FFFF);
        assert_eq!(bench.read_control(register), kept, "{register:?}");
        bench.write_control(register, 0);
        assert_eq!(bench.read_control(register), 0, "{register:?}");
    }
    assert_eq!((bench.memory.table_base(), bench.memory.pid()), (0, 0));
}

#[test]
fn lockdown_registers_read_the_locked_ways_below_ones() {
    let mut bench = bench();
    bench.write_control((9, 0, 0), 0xFFFF_FFF5);
    bench.write_control((9, 0, 1), 0x3);
    assert_eq!(bench.read_control((9, 0, 0)), 0xFFF5);
    assert_eq!(bench.read_control((9, 0, 1)), 0xFFF3);
    assert_eq!((bench.read_control((9, 1, 0)), bench.read_control((9, 1, 1))), (0, 0), "no TCM");
}

#[test]
fn registers_and_directions_that_do_not_exist_are_undefined() {
    let mut bench = bench();
    for crn in [4, 11, 12, 14] {
        assert_eq!(bench.try_read((crn, 0, 0)), Err(Undefined), "c{crn}");
        assert_eq!(bench.try_write((crn, 0, 0), 0), Err(Undefined), "c{crn}");
    }
    assert_eq!(bench.try_write((0, 0, 0), 0), Err(Undefined), "identification is read only");
    assert_eq!(bench.try_read((8, 7, 0)), Err(Undefined), "c8 is write only");
    assert_eq!(bench.try_read((7, 10, 4)), Err(Undefined), "so is most of c7");
    assert_eq!(bench.try_write((7, 10, 3), 0), Err(Undefined), "test and clean is read only");
    for register in [(1, 0, 1), (2, 0, 1), (2, 1, 0), (5, 0, 2), (7, 6, 3), (8, 4, 0), (8, 7, 2)] {
        assert_eq!(bench.try_write(register, 0), Err(Undefined), "{register:?}");
    }
}

#[test]
fn other_coprocessors_and_first_operations_are_undefined() {
    let mut bench = bench();
    for (coprocessor, opcode1) in [(14, 0), (15, 1), (0, 0)] {
        let rd = boardlab_arm926::Register::field(0);
        let (crn, crm, opcode2) = (1, 0, 0);
        let access = CoprocessorAccess { load: true, coprocessor, opcode1, crn, crm, opcode2, rd };
        let Bench { memory, board, now } = &mut bench;
        assert_eq!(memory.control_read(&access, board, now), Err(Undefined));
        assert_eq!(memory.control_write(&access, 0, board, now), Err(Undefined));
    }
}

#[test]
fn waiting_for_an_interrupt_is_asked_of_the_core() {
    let mut bench = bench();
    assert_eq!(bench.write_control((7, 0, 4), 0), Effect::WaitForInterrupt);
    assert_eq!(bench.write_control((7, 10, 4), 0), Effect::None);
}
