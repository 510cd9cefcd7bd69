//! Registers: those of the models of drives and cards, of real disks in part, and what is none.

use super::*;
use boardlab_sata::wire::{Identify, Speed};
use boardlab_sd::register::{ExtCsd, LifeTime, PreEol};
use boardlab_sim::Bytes;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is read of one value.
fn read(name: &str, digits: &str) -> Values {
    decoded(Values::from([(name.to_owned(), Told::Text(digits.to_owned()))]))
}

fn shown(values: &Values) -> String {
    let shown = values.iter().map(|(name, value)| match value {
        Told::Number(number) => format!("{name}={number}"),
        Told::Text(text) => format!("{name}=`{text}`"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn words_of(identify: &Identify) -> Vec<u8> {
    identify.emit().unwrap().iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn the_data_that_the_model_of_a_drive_tells_are_read() {
    let mut identify = Identify::new("Modelled SSD", 1_953_525_168, Speed::Gen3);
    identify.serial = " S3Z6NB0K".into();
    identify.firmware = "EMT02B6Q".into();
    identify.queue_depth = Some(32);
    identify.trims = true;
    assert_eq!(
        shown(&read("identify", &hexadecimal(&words_of(&identify)))),
        "model=`Modelled SSD` firmware=`EMT02B6Q` serial=`S3Z6NB0K` sectors=1953525168 lba48=1 \
         ncq_depth=32 sata_generations=7 has_write_cache=1 write_cache_enabled=1 trim=1 rotation=1"
    );
}

#[test]
fn a_drive_without_ncq_and_of_28_bits_tells_so() {
    let mut identify = Identify::new("Old", 78_140_160, Speed::Gen1);
    identify.lba_48 = false;
    let mut data = words_of(&identify);
    // Word 76 is not valid; words 100 to 103 are left over.
    data[152..154].fill(0xFF);
    data[200..208].fill(0xEE);
    let values = read("identify", &hexadecimal(&data).to_uppercase());
    assert_eq!(values["sectors"], Told::Number(78_140_160));
    assert_eq!(values["lba48"], Told::Number(0));
    assert_eq!(values["ncq_depth"], Told::Number(0));
}

#[test]
fn the_attributes_that_are_told_are_read_and_no_others() {
    let mut data = [0; 512];
    // As of a Samsung 860 EVO: hours, reallocated sectors, temperature with its extremes, CRC errors, sectors written.
    for (at, attribute) in [
        [9, 0x32, 0, 95, 95, 0x10, 0x5E, 0, 0, 0, 0, 0],
        [5, 0x33, 0, 100, 100, 0, 0, 0, 0, 0, 0, 0],
        [194, 0x22, 0, 71, 44, 29, 0, 0x12, 0, 0x38, 0, 0],
        [199, 0x3E, 0, 100, 100, 7, 0, 0, 0, 0, 0, 0],
        [241, 0x32, 0, 99, 99, 0x21, 0x43, 0x65, 0x87, 0xA9, 0x0B, 0],
    ]
    .iter()
    .enumerate()
    {
        data[2 + at * 12..][..12].copy_from_slice(attribute);
    }
    assert_eq!(
        shown(&read("smart", &hexadecimal(&data))),
        "attribute_9=24080 attribute_5=0 attribute_194=240519348253 attribute_241=12822748939041"
    );
}

#[test]
fn an_inquiry_is_read() {
    let mut data = [0; 96];
    data[..5].copy_from_slice(&[0x60, 0x80, 6, 2, 91]);
    data[8..36].copy_from_slice(b"Generic STORAGE DEVICE  1.00");
    data[14] = 0xE9;
    assert_eq!(
        shown(&read("inquiry", &hexadecimal(&data))),
        "vendor=`Generi\u{e9}` model=`STORAGE DEVICE` firmware=`1.00` type=0"
    );
}

#[test]
fn the_ext_csd_that_the_model_of_an_emmc_tells_is_read() {
    let register = ExtCsd {
        sectors: 15_269_888,
        cache: Bytes::new(512 << 10),
        cache_on: true,
        life_a: LifeTime::new(1, 10),
        life_b: LifeTime::new(5, 10),
        pre_eol: PreEol::Warning,
        erase_group: 1,
    };
    assert_eq!(
        shown(&read("ext_csd", &hexadecimal(&register.register()))),
        "ext_csd_rev=8 life_time_a=2 life_time_b=6 pre_eol=2 cache_kbit=4096 cache_on=1 firmware=0 \
         sectors=15269888 erase_group_512k=1 timing=0"
    );
}

#[test]
fn values_of_registers_are_in_their_place_and_the_others_stay() {
    let values = Values::from([
        ("name".to_owned(), Told::Text("8GTF4R".into())),
        ("ext_csd".to_owned(), Told::Text("00".repeat(512))),
        ("data".to_owned(), Told::Text("00".repeat(512))),
    ]);
    let names: Vec<_> = decoded(values).into_keys().collect();
    let fields = EXT_CSD.iter().map(|(name, ..)| *name);
    let expected: Vec<_> = ["name"].into_iter().chain(fields).chain(["data"]).collect();
    assert_eq!(names, expected);
}

#[test]
fn what_is_no_register_stays_as_it_is() {
    let whole = "ab".repeat(512);
    for digits in [
        "",
        "a",
        "zz",
        "\u{e9}\u{e9}",
        &whole[1..],
        &whole[2..],
        &format!("{whole}ab"),
        &format!("{}-1", &whole[2..]),
        &format!("{}+a", &whole[2..]),
        &"\u{ff11}\u{ff11}".repeat(512),
    ] {
        for register in &REGISTERS {
            let values = read(register.name, digits);
            assert_eq!(values[register.name], Told::Text(digits.to_owned()));
            assert!(is_register(register.name));
        }
    }
    let number = Values::from([("inquiry".to_owned(), Told::Number(7))]);
    assert_eq!(decoded(number.clone()), number);
}

#[test]
fn any_bytes_are_read() {
    for byte in 0..=u8::MAX {
        for register in &REGISTERS {
            let values = read(register.name, &hexadecimal(&vec![byte; register.bytes]));
            assert!(!values.contains_key(register.name));
        }
    }
}
