//! What a card tells of itself as it wears: registers that a host can read, and that never go back.
use crate::small::{PAGE, blocks, face, geometry, in_slot, part, timing};
use boardlab_block::{BlockDevice, Extent, Payload, Request};
use boardlab_ftl::{
    Cache, CacheSize, EndOfLife, Endurance, PageMapped, Policies, Reliability, TimedMedium,
    Translation,
};
use boardlab_sd::{Card, Csd, Data, Face, HealthFormat, Kind, Mode, Part};
use boardlab_sim::{Bytes, Instant, Seed};

/// Erases that a block lives for.
const RATED: u32 = 40;

/// A card whose blocks wear out, over ordinary blocks and an SLC cache of `cache` blocks.
fn mortal(part: &Part, cache: CacheSize) -> Card<PageMapped<TimedMedium>> {
    let geometry = geometry(32);
    let medium = TimedMedium::new(&geometry, &timing(0)).unwrap();
    let cache = Cache { size: cache, ..Cache::default() };
    let policies = Policies { reserve: 2, cache, ..Policies::default() };
    let reliability = Reliability {
        endurance: Endurance::new(&[RATED - 8, RATED + 8]).unwrap(),
        slc_wear: 100,
        factory_bad: 0,
        program_failures: 0,
        end_of_life: EndOfLife::ReadOnly,
        reads: None,
    };
    let layer = PageMapped::new(geometry, policies, medium, Seed::new(1)).unwrap();
    let layer = layer.with_reliability(&reliability, Seed::new(1)).unwrap();
    Card::new(Part { rated: RATED, ..part.clone() }, layer, 2, Data::Lost).unwrap()
}

/// Writes pages at random until the card refuses, and calls `each` now and then.
fn wear_out(
    card: &mut Card<PageMapped<TimedMedium>>,
    mut each: impl FnMut(&Card<PageMapped<TimedMedium>>),
) {
    let mut stream = Seed::new(5).stream("wear");
    let mut now = Instant::ZERO;
    for request in 0..2_000_000 {
        let extent = Extent::new(stream.below(4_096) * blocks(PAGE), blocks(PAGE));
        let write = Request::Write { extent, data: Payload::Repeated(1), durable: false };
        match card.submit(now, write) {
            Ok(done) => now = done.ended,
            Err(_) => return each(card),
        }
        if request % 500 == 0 {
            each(card);
        }
    }
    panic!("the card does not die");
}

#[test]
fn a_host_reads_capacity_and_classes_of_an_sd_card_and_nothing_of_an_emmc_there() {
    let card = mortal(&part(), CacheSize::None);
    let csd = Csd::parse(&card.csd().unwrap()).unwrap();
    assert_eq!((csd.capacity, csd.write_protected), (Bytes::mib(64), false));
    assert_eq!(csd.speed, Mode::Ddr50.speed_code());
    assert_eq!(&card.cid().unwrap()[3..8], b"SA016");
    assert_eq!(card.sd_status().unwrap()[10] >> 4, 9, "an allocation unit of 4 MiB");
    assert!(card.scr().is_some() && card.ext_csd().is_none());
    let mut emmc = in_slot(Face { kind: Kind::Emmc, ..face() });
    emmc.wiring.mode = Mode::HighSpeed;
    let emmc = mortal(&emmc, CacheSize::None);
    assert!(emmc.csd().is_none() && emmc.scr().is_none() && emmc.sd_status().is_none());
    let sectors = emmc.ext_csd().unwrap()[212..216].try_into().unwrap();
    assert_eq!(u32::from_le_bytes(sectors), 64 * 2_048);
}

#[test]
fn life_used_rises_with_wear_stops_at_a_hundred_percent_and_the_dead_card_says_so() {
    for format in [HealthFormat::Apacer, HealthFormat::SanDisk] {
        let mut card = mortal(&in_slot(Face { health: Some(format), ..face() }), CacheSize::None);
        assert_eq!(card.general_command(format.argument() + 1), None);
        let (mut used, mut bytes) = (Vec::new(), Vec::new());
        wear_out(&mut card, |card| {
            used.push(card.health().used());
            let answer = card.general_command(format.argument()).unwrap();
            // Percent used, or 100 % less hundredths left.
            bytes.push(match format {
                HealthFormat::SanDisk => u16::from(answer[8]),
                HealthFormat::Apacer => 10_000 - u16::from_be_bytes([answer[96], answer[97]]),
            });
        });
        assert!(used.is_sorted() && bytes.is_sorted(), "{format:?}");
        assert!(used[0] == 0 && *used.last().unwrap() > 7_000 && *used.last().unwrap() <= 10_000);
        assert!(Csd::parse(&card.csd().unwrap()).unwrap().write_protected);
        let health = card.health();
        assert!(health.grown_bad > 0 && health.mean() <= u64::from(health.most), "{health:?}");
    }
}

#[test]
fn an_emmc_tells_the_life_of_slc_cells_apart_from_that_of_the_others() {
    let mut emmc = in_slot(Face { kind: Kind::Emmc, ..face() });
    emmc.wiring.mode = Mode::HighSpeed;
    let mut card = mortal(&emmc, CacheSize::Fixed(4));
    let mut told = Vec::new();
    wear_out(&mut card, |card| {
        let register = card.ext_csd().unwrap();
        told.push([register[267], register[268], register[269]]);
    });
    for field in 0..3 {
        assert!(told.iter().map(|bytes| bytes[field]).is_sorted(), "field {field}: {told:?}");
    }
    assert_eq!(told[0], [1, 1, 1]);
    let [spare, single, others] = *told.last().unwrap();
    assert_eq!(spare, 3, "no spare block is left");
    assert!(others >= 8 && single > 1 && single <= 11, "{told:?}");
    let counted = card.translation().wear();
    assert!(counted.erases[0] > 5 * counted.worn[0], "an erase of one bit wears a tenth");
}
