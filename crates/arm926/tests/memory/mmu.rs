//! Translation: all descriptors and permissions, domains, faults and the fault registers.

use boardlab_arm926::bus::Width;
use boardlab_arm926::memory::control::{
    ALIGNMENT, DATA_CACHE, INSTRUCTION_CACHE, MMU, ROM, SYSTEM,
};
use boardlab_arm926::memory::{Abort, AbortKind};
use boardlab_arm926::{Config, Modified};

use super::bench::{BACK, Bench, STRONG, TABLE, Transfer};

const COARSE: u32 = 0x8000;
const FINE: u32 = 0x9000;
/// The virtual megabytes of the coarse and fine tables.
const IN_COARSE: u32 = 0x7000_0000;
const IN_FINE: u32 = 0x7010_0000;

/// MMU enabled; tables empty except for those two pointers, in domain 1.
fn bench() -> Bench {
    let mut bench = Bench::new(&Config::default());
    bench.word(TABLE + (IN_COARSE >> 20) * 4, COARSE | 1 << 5 | 0b01);
    bench.word(TABLE + (IN_FINE >> 20) * 4, FINE | 1 << 5 | 0b11);
    bench.start(MMU);
    bench.write_control((3, 0, 0), 0b0101);
    bench
}

/// Writes a descriptor for `at`, repeated as its page size requires.
fn put(bench: &mut Bench, at: u32, descriptor: u32) {
    let (table, shift) = if at & 0xFFF0_0000 == IN_COARSE { (COARSE, 12) } else { (FINE, 10) };
    let size = match descriptor & 3 {
        0b01 => 16,
        0b10 => 12,
        _ => 10,
    };
    let count = 1_u32 << u32::saturating_sub(size, shift);
    let first = (at >> shift & (0xF_FFFF >> shift)) & !(count - 1);
    for entry in first..first + count {
        bench.word(table + entry * 4, descriptor);
    }
    bench.write_control((8, 7, 0), 0);
}

fn fault(bench: &mut Bench, at: u32) -> (AbortKind, u8) {
    let Abort { kind, domain, at: fault } = bench.try_load(at, Width::Word, false).unwrap_err();
    assert_eq!(fault, Modified(at));
    (kind, domain)
}

#[test]
fn each_kind_of_descriptor_maps_all_of_its_bytes() {
    // (descriptor, virtual, size, second-level)
    let all = 0xFF0;
    let cases = [
        (0x0030_0C02, 0x0120_0000, 0x10_0000, false),
        (0x0041_0001 | all, IN_COARSE + 0x2_0000, 0x1_0000, true),
        (0x0051_3002 | all, IN_COARSE + 0x5000, 0x1000, true),
        (0x0042_0001 | all, IN_FINE + 0x3_0000, 0x1_0000, true),
        (0x0052_7002 | all, IN_FINE + 0x9000, 0x1000, true),
        (0x0052_8433, IN_FINE + 0x1_0400, 0x400, true),
    ];
    for (descriptor, at, size, second) in cases {
        let mut bench = bench();
        if second {
            put(&mut bench, at, descriptor);
        } else {
            bench.word(TABLE + (at >> 20) * 4, descriptor);
        }
        let to = descriptor & !(size - 1);
        for offset in (0..size).step_by(0x400).chain([4, size - 4]) {
            bench.word(to + offset, !offset);
            assert_eq!(bench.load(at + offset), !offset, "{descriptor:08x} + {offset:x}");
            assert_eq!(bench.fetch(at + offset), !offset, "{descriptor:08x} + {offset:x}");
        }
        for outside in [at.wrapping_sub(4), at + size] {
            let (kind, _) = fault(&mut bench, outside);
            let expected =
                if second { AbortKind::PageTranslation } else { AbortKind::SectionTranslation };
            assert_eq!(kind, expected, "{descriptor:08x}, {outside:08x}");
        }
    }
}

#[test]
fn a_walk_reads_one_descriptor_for_a_section_and_two_for_a_page_and_none_when_the_tlb_knows() {
    let mut bench = bench();
    bench.section(0x0120_0000, 0x30_0000, STRONG);
    let first = |at: u32| Transfer::Read(TABLE + (at >> 20) * 4, Width::Word);
    let read = |at| Transfer::Read(at, Width::Word);
    let (at, data) = (0x0120_0010, read(0x30_0010));
    assert_eq!(bench.transfers(|bench| bench.load(at)), [first(at), data.clone()]);
    assert_eq!(bench.transfers(|bench| bench.load(at)), [data]);
    let at = IN_COARSE + 0x5008;
    put(&mut bench, at, 0x0051_3FF2);
    let walk = [first(at), read(COARSE + 5 * 4), read(0x51_3008)];
    assert_eq!(bench.transfers(|bench| bench.load(at)), walk);
    let at = IN_FINE + 0x0804;
    put(&mut bench, at, 0x0051_3433);
    let walk = [first(at), read(FINE + 2 * 4), read(0x51_3404)];
    // Tiny pages of the fine table begin at multiples of 1 KB: the descriptor's bits above the tenth.
    assert_eq!(bench.transfers(|bench| bench.load(at)), walk);
    let counts = bench.counts();
    assert_eq!((counts.tlb_misses, counts.descriptors), (3, 5));
}

/// The accesses that AP, S and R allow (DDI 0100E, chapter B3), in privileged modes and in user mode.
const PERMISSIONS: [(u32, u32, &str, &str); 16] = [
    (0, 0, "-", "-"),
    (0, SYSTEM, "r", "-"),
    (0, ROM, "r", "r"),
    (0, SYSTEM | ROM, "-", "-"),
    (1, 0, "rw", "-"),
    (1, SYSTEM, "rw", "-"),
    (1, ROM, "rw", "-"),
    (1, SYSTEM | ROM, "rw", "-"),
    (2, 0, "rw", "r"),
    (2, SYSTEM, "rw", "r"),
    (2, ROM, "rw", "r"),
    (2, SYSTEM | ROM, "rw", "r"),
    (3, 0, "rw", "rw"),
    (3, SYSTEM, "rw", "rw"),
    (3, ROM, "rw", "rw"),
    (3, SYSTEM | ROM, "rw", "rw"),
];

fn check_permission(bench: &mut Bench, at: u32, expected: Option<AbortKind>, rights: [&str; 2]) {
    for (privileged, rights) in [(true, rights[0]), (false, rights[1])] {
        let kind = |abort: Abort| {
            assert_eq!(abort.at, Modified(at));
            Some(abort.kind)
        };
        let denied = |right| if rights.contains(right) { None } else { expected };
        let read = bench.try_load(at, Width::Half, privileged).err().and_then(kind);
        let write = bench.try_store(at, Width::Half, privileged, 0).err().and_then(kind);
        let fetch = bench.try_fetch(at, Width::Half, privileged).err().and_then(kind);
        let wanted = (denied('r'), denied('w'), denied('r'));
        assert_eq!((read, write, fetch), wanted, "{at:08x}, {rights}, {privileged}");
    }
}

#[test]
fn every_combination_of_permission_bits_allows_what_the_architecture_says() {
    for (permission, bits, privileged, user) in PERMISSIONS {
        let mut bench = bench();
        bench.write_control((1, 0, 0), MMU | bits);
        let rights = [privileged, user];
        let section = 0x0120_0000;
        bench.word(TABLE + (section >> 20) * 4, 0x0030_0002 | permission << 10);
        check_permission(&mut bench, section, Some(AbortKind::SectionPermission), rights);
        let page = Some(AbortKind::PagePermission);
        for table in [IN_COARSE, IN_FINE] {
            for part in 0..4 {
                let others = if permission == 0 { 0xFF0 } else { 0 } & !(0x30 << (2 * part));
                let parts = others | permission << (4 + 2 * part);
                put(&mut bench, table + 0x1_0000, 0x0031_0001 | parts);
                check_permission(&mut bench, table + 0x1_0000 + part * 0x4000, page, rights);
                put(&mut bench, table + 0x5000, 0x0031_0002 | parts);
                check_permission(&mut bench, table + 0x5000 + part * 0x400, page, rights);
            }
        }
        put(&mut bench, IN_FINE + 0x400, 0x0031_0003 | permission << 4);
        check_permission(&mut bench, IN_FINE + 0x400, page, rights);
    }
}

#[test]
fn domains_refuse_check_or_let_pass() {
    for domain in 0..16 {
        for value in 0..4 {
            let mut bench = bench();
            bench.word(TABLE + 0x12 * 4, 0x0030_0002 | domain << 5);
            bench.word(TABLE + (IN_COARSE >> 20) * 4, COARSE | domain << 5 | 0b01);
            put(&mut bench, IN_COARSE, 0x0031_0002);
            // All other domains are managers: only this one's field decides.
            bench.write_control((3, 0, 0), !(3 << (2 * domain)) | value << (2 * domain));
            let expected = match value {
                3 => None,
                1 => Some((AbortKind::SectionPermission, AbortKind::PagePermission)),
                _ => Some((AbortKind::SectionDomain, AbortKind::PageDomain)),
            };
            for (at, page) in [(0x0120_0000, false), (IN_COARSE, true)] {
                let got = bench.try_load(at, Width::Byte, false).err();
                let kind =
                    expected.map(|(of_section, of_page)| if page { of_page } else { of_section });
                assert_eq!(got.map(|abort| abort.kind), kind, "domain {domain}, value {value}");
                let number = u8::try_from(domain).unwrap();
                assert!(got.is_none_or(|abort| abort.domain == number));
            }
        }
    }
}

#[test]
fn the_fault_of_the_highest_priority_is_the_one_reported() {
    let mut bench = bench();
    bench.write_control((1, 0, 0), MMU | ALIGNMENT);
    assert_eq!(fault(&mut bench, 0x6000_0001), (AbortKind::Alignment, 0));
    assert_eq!(fault(&mut bench, 0x6000_0000), (AbortKind::SectionTranslation, 0));
    bench.write_control((3, 0, 0), 0);
    put(&mut bench, IN_COARSE, 0);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::PageTranslation, 1));
    put(&mut bench, IN_COARSE, 0x0031_0002);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::PageDomain, 1));
    bench.write_control((3, 0, 0), 0b0100);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::PagePermission, 1));
    put(&mut bench, IN_COARSE, 0x7F31_0FF2);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::PageExternal, 1));
}

#[test]
fn alignment_is_checked_by_width_if_asked_and_ignored_else() {
    let mut bench = Bench::new(&Config::default());
    bench.word(0x100, 0x4433_2211);
    assert_eq!(bench.load(0x103), 0x4433_2211, "the lowest bits do not count");
    assert_eq!(bench.try_load(0x103, Width::Half, true), Ok(0x4433));
    bench.write_control((1, 0, 0), ALIGNMENT);
    for offset in 0..4 {
        for (width, aligned) in
            [(Width::Byte, true), (Width::Half, offset % 2 == 0), (Width::Word, offset == 0)]
        {
            let expected =
                Abort { kind: AbortKind::Alignment, domain: 0, at: Modified(0x100 + offset) };
            let read = bench.try_load(0x100 + offset, width, true);
            let write = bench.try_store(0x100 + offset, width, true, 0x4433_2211 >> (8 * offset));
            assert_eq!(read.err(), (!aligned).then_some(expected));
            assert_eq!(write.err(), (!aligned).then_some(expected));
        }
    }
    assert!(bench.try_fetch(0x102, Width::Word, true).is_ok(), "fetches are not checked");
}

#[test]
fn a_tiny_page_in_a_coarse_table_is_a_translation_fault() {
    let mut bench = bench();
    bench.word(COARSE, 0x0031_0033);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::PageTranslation, 1));
}

#[test]
fn external_aborts_say_where_they_happened() {
    let mut bench = bench();
    bench.word(TABLE + (IN_COARSE >> 20) * 4, 0x7000_0000 | 1 << 5 | 0b01);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::SecondLevelExternal, 1));
    bench.write_control((2, 0, 0), 0x7000_0000);
    assert_eq!(fault(&mut bench, IN_COARSE), (AbortKind::FirstLevelExternal, 0));
    bench.write_control((2, 0, 0), TABLE);
    for (bits, on) in [(STRONG, MMU), (BACK, MMU | DATA_CACHE | INSTRUCTION_CACHE)] {
        bench.write_control((1, 0, 0), on);
        bench.section(0x0120_0000, 0x7000_0000, bits);
        bench.write_control((8, 7, 0), 0);
        assert_eq!(fault(&mut bench, 0x0120_0000), (AbortKind::External, 0));
        let fetched = bench.try_fetch(0x0120_0000, Width::Word, true);
        assert_eq!(fetched.unwrap_err().kind, AbortKind::External);
    }
    bench.section(0x0120_0000, 0x7000_0000, STRONG);
    bench.write_control((8, 7, 0), 0);
    let written = bench.try_store(0x0120_0000, Width::Word, true, 0);
    assert_eq!(written.unwrap_err().kind, AbortKind::External);
}

#[test]
fn an_error_answer_to_a_buffered_write_is_lost() {
    let mut bench = bench();
    bench.section(0x0120_0000, 0x7000_0000, BACK);
    assert_eq!(bench.try_store(0x0120_0000, Width::Word, true, 0), Ok(()));
    assert_eq!(bench.counts().lost_writes, 1);
}

#[test]
fn the_fault_registers_tell_of_data_and_instructions_apart() {
    let mut bench = bench();
    bench.write_control((3, 0, 0), 0);
    put(&mut bench, IN_COARSE + 0x3000, 0x0031_0002);
    let data = bench.try_store(IN_COARSE + 0x3004, Width::Word, true, 0).unwrap_err();
    let code = bench.try_fetch(0x6000_0000, Width::Word, true).unwrap_err();
    bench.memory.note_data_abort(data);
    bench.memory.note_prefetch_abort(code);
    assert_eq!(bench.read_control((5, 0, 0)), 0x1B);
    assert_eq!(bench.read_control((5, 0, 1)), 0x05);
    assert_eq!(bench.read_control((6, 0, 0)), IN_COARSE + 0x3004, "of data only");
}

#[test]
fn each_kind_of_fault_has_the_status_of_the_manual() {
    let kinds = [
        (AbortKind::Alignment, 0x1),
        (AbortKind::FirstLevelExternal, 0xC),
        (AbortKind::SecondLevelExternal, 0xE),
        (AbortKind::SectionTranslation, 0x5),
        (AbortKind::PageTranslation, 0x7),
        (AbortKind::SectionDomain, 0x9),
        (AbortKind::PageDomain, 0xB),
        (AbortKind::SectionPermission, 0xD),
        (AbortKind::PagePermission, 0xF),
        (AbortKind::External, 0x8),
        (AbortKind::PageExternal, 0xA),
    ];
    let mut bench = bench();
    for (kind, status) in kinds {
        bench.memory.note_data_abort(Abort { kind, domain: 9, at: Modified(4) });
        assert_eq!(bench.read_control((5, 0, 0)), 0x90 | status);
    }
}

#[test]
fn without_the_mmu_addresses_are_flat_and_data_neither_cached_nor_buffered() {
    let mut bench = Bench::new(&Config::default());
    bench.write_control((1, 0, 0), DATA_CACHE | INSTRUCTION_CACHE);
    bench.write_control((13, 0, 0), 5 << 25);
    bench.memory.retire(true);
    bench.word(0x100, 7);
    for _ in 0..2 {
        let read = [Transfer::Read(0x100, Width::Word)];
        assert_eq!(bench.transfers(|bench| assert_eq!(bench.load(0x100), 7)), read);
    }
    assert_eq!(bench.transfers(|bench| bench.fetch(0x100)), [Transfer::Line(0x100)]);
    assert_eq!(bench.counts().tlb_lookups, 0);
    bench.rest();
    let write = bench.cycles(|bench| bench.store(0x100, 8));
    assert_eq!(write, (2 + 2) * 2, "the core waits for the whole transfer");
}

#[test]
fn a_walk_does_not_look_into_the_data_cache() {
    let mut bench = Bench::mapped(&Config::default(), BACK, DATA_CACHE);
    let descriptor = TABLE + 0x12 * 4;
    bench.load(descriptor);
    bench.store(descriptor, 0x0030_0C02);
    assert_eq!(fault(&mut bench, 0x0120_0000).0, AbortKind::SectionTranslation);
    bench.write_control((7, 10, 1), descriptor);
    assert!(bench.try_load(0x0120_0000, Width::Word, false).is_ok());
}
