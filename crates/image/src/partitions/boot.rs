//! Headers for the boot ROMs of processors.
//!
//! Layer: rank 7. Main function: [`recognise`]. Sources: `imximage.h` and `mxsimage.h` of U-Boot, and the manuals of
//! i.MX for FCB, DBBT and IVT; `omapimage.h` and `gpimage.c` (OMAP, AM335x), `spl_sunxi.h` (Allwinner),
//! `zynqimage.c`, `kwbimage.h` (Marvell), `atmelimage.c` (PMECC) of U-Boot.

use crate::detection::{Confidence, Detection, Kind};
use crate::magic::Head;
use boardlab_sim::Bytes;

type Test = fn(&Head<'_>) -> Option<(Confidence, usize, &'static str, String)>;

const TESTS: &[Test] = &[fcb, dbbt, ivt, omap, allwinner, zynq, atmel, marvell];

/// The header at the beginning of `head`.
pub(super) fn recognise(head: &[u8], at: Bytes) -> Option<Detection> {
    let head = Head(head);
    let (confidence, within, what, detail) = TESTS.iter().find_map(|test| test(&head))?;
    let mut found = Detection::new(Kind::BootHeader, at, confidence);
    found.detail = detail;
    Some(found.because(at + Bytes::new(within as u64), what))
}

/// The flash control block of i.MX, which says how the flash is to be read. Its first four bytes are a checksum.
fn fcb(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    let start = [0, 12].into_iter().find(|start| head.has(start + 4, b"FCB "))?;
    let number = |at: usize| head.le32(start + at);
    let sum =
        (4..512).fold(0_u32, |sum, at| sum.wrapping_add(head.array::<1>(start + at)[0].into()));
    let right = !sum == number(0);
    let (page, raw, pages) = (number(20), number(24), number(28));
    let detail = format!(
        "i.MX FCB: pages of {page} in {raw} bytes, {pages} a block, BCH {} in {} B, {} B of metadata, firmware at page {} and {}",
        number(44).saturating_mul(2),
        number(52),
        number(60),
        number(104),
        number(108)
    );
    let plausible = page.is_power_of_two() && raw > page;
    let confidence = if right || plausible { Confidence::Certain } else { Confidence::Possible };
    Some((confidence, start + 4, "fingerprint `FCB `", detail))
}

/// The discovered bad blocks table of i.MX.
fn dbbt(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    head.has(4, b"DBBT").then(|| {
        (Confidence::Certain, 4, "fingerprint `DBBT`", "i.MX DBBT: the table of bad blocks".into())
    })
}

/// The image vector table of i.MX: a tag, its length, a version.
fn ivt(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    let is_one = |at: &usize| {
        let [tag, high, low, version] = head.array(*at);
        let (entry, own) = (head.le32(at + 4), head.le32(at + 20));
        (tag, high, low) == (0xD1, 0, 0x20)
            && (0x40..=0x43).contains(&version)
            && entry != 0
            && own != 0
    };
    let at = [0, 0x400].into_iter().find(is_one)?;
    let detail = format!("i.MX IVT: entry at {:#x}", head.le32(at + 4));
    Some((Confidence::Certain, at, "tag 0xd1, length 32, version", detail))
}

/// The configuration header of OMAP, and the two words that AM335x begins with.
fn omap(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    head.has(0x14, b"CHSETTINGS").then(|| {
        let size = head.le32(0x200);
        let detail = format!("OMAP MLO: {size} bytes for {:#x}", head.le32(0x204));
        (Confidence::Certain, 0x14, "`CHSETTINGS`", detail)
    })
}

/// The header of the boot loader that Allwinner's ROM starts.
fn allwinner(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    head.has(4, b"eGON.BT0").then(|| {
        let detail = format!("Allwinner SPL of {} bytes", head.le32(16));
        (Confidence::Certain, 4, "`eGON.BT0`", detail)
    })
}

fn zynq(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    (head.le32(0x20) == 0xAA99_5566 && head.has(0x24, b"XNLX")).then(|| {
        let detail =
            format!("Zynq boot image: {} bytes from {:#x}", head.le32(0x34), head.le32(0x30));
        (Confidence::Certain, 0x20, "0xaa995566 `XNLX`", detail)
    })
}

/// The word that tells Atmel's ROM the code of the flash, 52 times.
fn atmel(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    let word = head.le32(0);
    let same = (1..52).all(|number| head.le32(number * 4) == word);
    // A page full of one byte is no header.
    let ends = head.le32(52 * 4) != word;
    (word >> 28 == 0xC && word & 1 == 1 && same && ends).then(|| {
        let bits = [2, 4, 8, 12, 24].get((word >> 13 & 7) as usize).copied().unwrap_or(0);
        let step = 512 << (word >> 16 & 3);
        let detail = format!(
            "Atmel PMECC: BCH {bits} in {step} B, codes from spare byte {}, {} spare bytes",
            word >> 18 & 0x1FF,
            word >> 4 & 0x1FF
        );
        (Confidence::Certain, 0, "the same word 52 times, key 0xc", detail)
    })
}

/// Marvell's image header: the sum of its first 31 bytes is the last one.
fn marvell(head: &Head<'_>) -> Option<(Confidence, usize, &'static str, String)> {
    let bytes: [u8; 32] = head.array(0);
    let sum = bytes[..31].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    let from = match bytes[0] {
        0x5A => "SPI",
        0x8B => "NAND",
        0x78 => "SATA",
        0xAE => "SD",
        0x69 => "UART",
        _ => return None,
    };
    let source = head.le32(12);
    let sound =
        bytes[1..].iter().any(|&byte| byte != 0) && source >= 32 && source.is_multiple_of(4);
    (sum == bytes[31] && sound && head.le32(4) > 0).then(|| {
        let detail =
            format!("Marvell boot image from {from}: {} bytes at {source:#x}", head.le32(4));
        (Confidence::Likely, 0, "image header, its sum right", detail)
    })
}
