//! Flashes of pieces that are made here, and pieces of them that are cut or changed.

use super::*;
use crate::contents::Contents;
use crate::shape::Shape;
use boardlab_sim::Seed;

/// An environment of so many bytes.
fn environment(size: usize, flag: Option<u8>, texts: &[&str]) -> Vec<u8> {
    let mut data = Vec::new();
    texts.iter().for_each(|text| data.extend([text.as_bytes(), &[0]].concat()));
    let start = 4 + usize::from(flag.is_some());
    data.resize(size - start, 0);
    let mut bytes = crc32fast::hash(&data).to_le_bytes().to_vec();
    bytes.extend(flag);
    bytes.extend(data);
    bytes
}

fn u_image(data: &[u8]) -> Vec<u8> {
    let mut header = [0; 64];
    header[..4].copy_from_slice(&0x2705_1956_u32.to_be_bytes());
    header[12..16].copy_from_slice(&u32::try_from(data.len()).unwrap().to_be_bytes());
    header[24..28].copy_from_slice(&crc32fast::hash(data).to_be_bytes());
    header[28..32].copy_from_slice(&[5, 2, 2, 1]);
    header[32..42].copy_from_slice(b"Linux-5.10");
    let sum = crc32fast::hash(&header);
    header[4..8].copy_from_slice(&sum.to_be_bytes());
    [&header[..], data].concat()
}

/// A tree of nodes with properties: `(depth, node or property, value)`.
fn tree(words: &[(usize, &str, Option<&[u8]>)]) -> Vec<u8> {
    let (mut structure, mut strings) = (vec![0, 0, 0, 1, 0, 0, 0, 0], Vec::new());
    let mut open = 1;
    let align = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
    for (depth, name, value) in words {
        while open > *depth {
            structure.extend([0, 0, 0, 2]);
            open -= 1;
        }
        if let Some(value) = value {
            structure.extend([0, 0, 0, 3]);
            structure.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
            structure.extend(u32::try_from(strings.len()).unwrap().to_be_bytes());
            structure.extend(*value);
            align(&mut structure);
            strings.extend([name.as_bytes(), &[0]].concat());
        } else {
            structure.extend([0, 0, 0, 1]);
            structure.extend([name.as_bytes(), &[0]].concat());
            align(&mut structure);
            open += 1;
        }
    }
    (0..open).for_each(|_| structure.extend([0, 0, 0, 2]));
    structure.extend([0, 0, 0, 9]);
    let total = 40 + structure.len() + strings.len();
    let mut bytes = Vec::new();
    let words = [
        0xD00D_FEED,
        total,
        40,
        40 + structure.len(),
        40,
        17,
        16,
        0,
        strings.len(),
        structure.len(),
    ];
    words.into_iter().for_each(|word| bytes.extend(u32::try_from(word).unwrap().to_be_bytes()));
    [bytes, structure, strings].concat()
}

fn squashfs(size: usize, random: &mut boardlab_sim::Stream) -> Vec<u8> {
    let mut bytes = vec![0; size];
    random.fill(&mut bytes);
    bytes[..96].fill(0);
    bytes[..4].copy_from_slice(b"hsqs");
    bytes[12..16].copy_from_slice(&0x2_0000_u32.to_le_bytes());
    bytes[20..24].copy_from_slice(&[4, 0, 17, 0]);
    bytes[28..32].copy_from_slice(&[4, 0, 0, 0]);
    bytes[40..48].copy_from_slice(&(size as u64).to_le_bytes());
    bytes
}

/// A flash of 1 MiB as routers have it.
fn router() -> Vec<u8> {
    let mut random = Seed::new(3).stream("router");
    let mut flash = vec![0xFF; 1 << 20];
    let mut put = |at: usize, bytes: &[u8]| flash[at..at + bytes.len()].copy_from_slice(bytes);
    let mut boot = vec![0; 0x1_8000];
    random.fill(&mut boot);
    boot[0x4321..0x4321 + 35].copy_from_slice(b"U-Boot 2019.07 (Jan 01 2020 - 12:00");
    put(0, &boot);
    let parts = "mtdparts=spi0.0:128k(u-boot)ro,64k(env),64k(env2),256k(kernel),64k(dtb),-(rootfs)";
    let bootargs = format!("bootargs=console=ttyS0 {parts}");
    put(0x2_0000, &environment(0x1_0000, Some(1), &["baudrate=115200", &bootargs]));
    put(0x3_0000, &environment(0x1_0000, Some(0), &["baudrate=9600"]));
    let mut kernel = vec![0; 0x2_1234];
    random.fill(&mut kernel);
    put(0x4_0000, &u_image(&kernel));
    put(
        0x8_0000,
        &tree(&[
            (1, "model", Some(b"A board\0")),
            (1, "compatible", Some(b"maker,board\0maker,soc\0")),
            (1, "memory", None),
        ]),
    );
    put(0x9_0000, &squashfs(0x3_0000, &mut random));
    flash
}

fn of(bytes: Vec<u8>) -> Partitions {
    let mut flash = FlashData::of(&Contents::of(bytes), Bytes::ZERO, None, None);
    partitions(&mut flash, &[])
}

fn rows(found: &Partitions) -> Vec<String> {
    let row = |one: &Partition| {
        let size = one.found.size.unwrap().get();
        let name = one.name.as_deref().unwrap_or("-");
        format!(
            "{:#x} {size:#x} {name} {}: {}",
            one.found.at.get(),
            one.found.kind,
            one.found.detail
        )
    };
    found.all.iter().map(row).collect()
}

#[test]
fn every_piece_of_a_flash_is_named() {
    let found = of(router());
    let known = [
        "0x0 0x18000 u-boot U-Boot: U-Boot 2019.07",
        "0x18000 0x8000 u-boot erased flash: ",
        "0x20000 0x10000 env U-Boot environment: 2 variables, one of two copies, flag 1",
        "0x30000 0x10000 env2 U-Boot environment: 1 variable, one of two copies, flag 0",
        "0x40000 0x21274 kernel U-Boot image: Linux-5.10: Linux kernel, gzip",
        "0x62000 0x1e000 kernel erased flash: ",
        "0x80000 0x91 dtb device tree or FIT image: A board; maker,board",
        "0x81000 0xf000 dtb erased flash: ",
        "0x90000 0x30000 rootfs SquashFS filesystem: version 4.0, little-endian, xz, blocks of 128 KiB",
        "0xc0000 0x40000 rootfs erased flash: ",
    ];
    let rows = rows(&found);
    for (row, known) in rows.iter().zip(known) {
        assert_eq!(row, known);
    }
    assert_eq!(rows.len(), known.len());
    let certain = |at: usize| found.all[at].found.confidence == Confidence::Certain;
    assert!([2, 4, 6, 8].into_iter().all(certain));
    assert_eq!(found.variables[0].0, "bootargs");
    assert!(
        found.named.iter().any(|(name, at, _)| name == "rootfs" && *at == Bytes::new(0x9_0000))
    );
}

#[test]
fn the_pieces_are_the_same_with_spare_bytes_between_their_pages() {
    let data = router();
    let with_oob: Vec<u8> =
        data.chunks(2_048).flat_map(|page| [page, &[0xFF; 64]].concat()).collect();
    let shape = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(64));
    let mut flash = FlashData::of(&Contents::of(with_oob), Bytes::ZERO, Some(shape), None);
    let found = partitions(&mut flash, &[]);
    let kernel = found.all.iter().find(|one| one.found.kind == Kind::UImage).unwrap();
    assert_eq!(kernel.found.at, Bytes::new(0x4_0000));
    assert_eq!(kernel.in_file, Bytes::new(0x4_0000 / 2_048 * 2_112));
    assert_eq!(kernel.found.confidence, Confidence::Certain);
    let environments = found.all.iter().filter(|one| one.found.kind == Kind::Environment);
    assert_eq!(environments.count(), 2);
}

#[test]
fn what_a_header_says_is_held_against_the_file() {
    let mut flash = router();
    // The kernel is changed, the SquashFS says more than there is, and the tree ends too early.
    flash[0x5_0000] ^= 1;
    flash[0x9_0000 + 40..0x9_0000 + 48].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    flash[0x8_0000 + 0x80] = 7;
    let found = of(flash);
    let of_kind = |kind: Kind| found.all.iter().find(|one| one.found.kind == kind).unwrap();
    let reason = |kind| of_kind(kind).found.evidence.last().unwrap().what.clone();
    assert_eq!(of_kind(Kind::UImage).found.confidence, Confidence::Likely);
    assert!(reason(Kind::UImage).contains("of the data wrong"));
    let squashfs = of_kind(Kind::FileSystem("SquashFS"));
    assert_eq!(squashfs.found.size, Some(Bytes::new(0x7_0000)));
    assert!(reason(Kind::FileSystem("SquashFS")).contains("are left in the file"));
}

#[test]
fn fit_images_name_what_is_in_them() {
    let bytes = tree(&[
        (1, "description", Some(b"Firmware\0")),
        (1, "images", None),
        (2, "kernel-1", None),
        (3, "type", Some(b"kernel\0")),
        (2, "fdt-1", None),
        (3, "type", Some(b"flat_dt\0")),
    ]);
    let found = tree::describe(&bytes).unwrap();
    assert!(found.is_fit && found.whole);
    assert_eq!(found.text, "Firmware: kernel-1 (kernel), fdt-1 (flat_dt)");
}

#[test]
fn boot_roms_have_their_headers() {
    let detail = |bytes: &[u8]| boot::recognise(bytes, Bytes::ZERO).unwrap().detail;
    let mut fcb = vec![0; 512];
    fcb[4..8].copy_from_slice(b"FCB ");
    for (at, value) in [(20, 2_048_u32), (24, 2_112), (28, 64), (44, 4), (52, 512), (60, 10)] {
        fcb[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    assert!(detail(&fcb).contains("pages of 2048 in 2112 bytes, 64 a block, BCH 8 in 512 B, 10 B"));
    let atmel = 0xC090_2405_u32.to_le_bytes().repeat(52);
    assert!(
        detail(&atmel)
            .starts_with("Atmel PMECC: BCH 4 in 512 B, codes from spare byte 36, 64 spare")
    );
    assert!(
        detail(b"\x16\0\0\xeaeGON.BT0\0\0\0\0\0\x60\0\0").contains("Allwinner SPL of 24576 bytes")
    );
    // Of pages full of one byte, 0xC0 and 0xC1 have the key of PMECC.
    for byte in [0, 0xC0, 0xC1, 0xCF, 0xFF] {
        assert!(boot::recognise(&[byte; 512], Bytes::ZERO).is_none(), "{byte:#x}");
    }
}

/// Files made of headers that were cut, and of bytes of headers that were changed.
#[test]
fn untrusted_headers_neither_panic_nor_take_long() {
    let flash = router();
    let mut random = Seed::new(9).stream("mutations");
    for round in 0..300 {
        let mut bytes = flash.clone();
        for _ in 0..20 {
            let base =
                [0x2_0000, 0x4_0000, 0x8_0000, 0x9_0000][usize::try_from(random.below(4)).unwrap()];
            let at = base + usize::try_from(random.below(256)).unwrap();
            bytes[at] = random.next_u64().to_le_bytes()[0];
        }
        bytes.truncate(usize::try_from(random.below(bytes.len() as u64)).unwrap());
        let length = Bytes::new(bytes.len() as u64);
        let found = of(bytes);
        let mut end = Bytes::ZERO;
        for one in &found.all {
            assert!(one.found.at >= end, "round {round}: {:?}", one.found);
            end = one.found.at + one.found.size.unwrap();
            assert!(end <= length, "round {round}: {:?}", one.found);
        }
    }
    for length in 0..300 {
        for magic in ["hsqs", "\u{7f}ELF\u{1}\u{1}", "UBI#", "FCB ", "-rom1fs-", "eGON"] {
            let mut bytes = vec![0xFF; length];
            let magic = &magic.as_bytes()[..magic.len().min(length)];
            bytes[..magic.len()].copy_from_slice(magic);
            let _ = of(bytes);
        }
        let whole = tree(&[(1, "model", Some(b"x\0")), (1, "images", None), (2, "a", None)]);
        let _ = tree::describe(&whole[..length.min(whole.len())]);
    }
}
