//! The layouts of controllers and drivers, by name.
//!
//! Layer: rank 7, plain data. Main type: [`ControllerLayout`]; [`ALL`], all of them. docs/formats/layouts.md has
//! the sources and what is known of each.
//!
//! Sources: Linux 6.1, `drivers/mtd/nand/raw/`: `nand_base.c` (large and small pages), `omap2.c`, `fsl_elbc_nand.c`,
//! `fsl_ifc_nand.c`, `brcmnand/brcmnand.c`, `gpmi-nand/gpmi-nand.c`, `marvell_nand.c`, `mtk_nand.c`, `qcom_nandc.c`,
//! `atmel/nand-controller.c`.

use super::bits::BitOrder::{Least, Most};
use super::code::{
    EccCode, Family, HammingOrder, POLYNOMIAL_13, POLYNOMIAL_14, POLYNOMIAL_14_OTHER,
    POLYNOMIAL_14_THIRD, POLYNOMIAL_15,
};
use super::map::{Draft, PageMap, one};
use std::ops::Range;

/// A layout of pages.
#[derive(Debug, Clone, Copy)]
pub struct ControllerLayout {
    /// Its name, as `--spare` takes it.
    pub name: &'static str,
    /// Who has it.
    pub who: &'static str,
    /// Whether erased bytes are right words with its driver: so layouts with equal places are told apart.
    pub erased_is_right: bool,
    /// Whether some of its pages mix data and code.
    pub mixes: bool,
    /// The codes that are tried for pages with so many data and OOB bytes.
    pub codes: fn(usize, usize) -> Vec<EccCode>,
    /// The page with a code; `None` when it has no room.
    pub map: fn(usize, usize, &EccCode) -> Option<PageMap>,
}

/// Strengths of BCH that are tried.
const STRENGTHS: [u32; 5] = [4, 8, 16, 24, 40];

/// All layouts, the most usual ones first.
pub const ALL: &[ControllerLayout] = &[
    ControllerLayout {
        name: "linux",
        who: "Linux in software, and drivers with its layouts: codes at the end",
        erased_is_right: true,
        mixes: false,
        codes: |_, _| of_linux(),
        map: linux,
    },
    ControllerLayout {
        name: "pmecc",
        who: "Atmel PMECC, and others with codes at the end in an order or a field of their own",
        erased_is_right: true,
        mixes: false,
        codes: |_, _| others(&[2, 4, 8, 12, 16, 24, 32, 40]),
        map: linux,
    },
    ControllerLayout {
        name: "omap",
        who: "TI OMAP and AM335x as their boot ROM has it: codes from byte 2, BCH with a byte behind each",
        erased_is_right: false,
        mixes: false,
        codes: |_, _| of_omap(),
        map: |page, oob, code| {
            let size = match (code.family, code.bits) {
                (Family::Hamming(_), _) => 3,
                // Of 8 bits 13 bytes and a zero; of 4 bits 6 bytes and a half.
                (_, 4 | 8) => code.code_bytes() + 1,
                _ => code.code_bytes(),
            };
            at_steps(page, oob, code, |step| 2 + step * size)
        },
    },
    ControllerLayout {
        name: "omap-sw",
        who: "TI OMAP, BCH corrected in software: codes from byte 2, a byte between them",
        erased_is_right: true,
        mixes: false,
        codes: |_, _| of_omap().into_iter().filter(|code| code.bits > 1).collect(),
        map: omap_sw,
    },
    ControllerLayout {
        name: "omap-x8",
        who: "TI OMAP, Hamming on chips of 8 bits: codes from byte 1",
        erased_is_right: false,
        mixes: false,
        codes: |_, _| vec![EccCode::hamming(512, HammingOrder::Omap)],
        map: |page, oob, code| {
            let mut draft = drafted(page, oob, code, |step| 1 + step * 3)?;
            draft.mark = 0..1;
            draft.finish()
        },
    },
    ControllerLayout {
        name: "ifc",
        who: "Freescale and NXP IFC: codes from byte 8, 8 or 16 bytes each",
        erased_is_right: false,
        mixes: false,
        codes: |_, _| [4, 8].map(|bits| both(bits, 512, POLYNOMIAL_13)).concat(),
        map: |page, oob, code| {
            let size = if code.bits <= 4 { 8 } else { 16 };
            at_steps(page, oob, code, |step| 8 + step * size)
        },
    },
    ControllerLayout {
        name: "elbc",
        who: "Freescale eLBC with ECCM 1: a Hamming code in bytes 8 to 10 of every 16",
        erased_is_right: true,
        mixes: false,
        codes: |_, _| of_hamming(512),
        map: |page, oob, code| at_steps(page, oob, code, |step| 8 + step * 16),
    },
    ControllerLayout {
        name: "elbc-0",
        who: "Freescale eLBC with ECCM 0: a Hamming code in bytes 6 to 8 of every 16",
        erased_is_right: true,
        mixes: false,
        codes: |_, _| of_hamming(512),
        map: |page, oob, code| at_steps(page, oob, code, |step| 6 + step * 16),
    },
    ControllerLayout {
        name: "on-die",
        who: "chips with a code of their own: it fills the second half of the bytes of each step",
        erased_is_right: false,
        mixes: false,
        codes: |_, _| [of_linux().split_off(4), others(&[4, 8])].concat(),
        map: on_die,
    },
    ControllerLayout {
        name: "brcm",
        who: "Broadcom brcmnand and iProc: the code ends the bytes of each step and protects those before it",
        erased_is_right: false,
        mixes: false,
        codes: |page, oob| of_brcm(page, oob),
        map: brcm,
    },
    ControllerLayout {
        name: "gpmi",
        who: "Freescale and NXP i.MX GPMI: 10 bytes of metadata, then data and code of each step",
        erased_is_right: false,
        mixes: true,
        codes: of_gpmi,
        map: gpmi,
    },
    ControllerLayout {
        name: "marvell",
        who: "Marvell PXA3xx and Armada: 2 KiB or 1 KiB with a code of 30 bytes over spare bytes too",
        erased_is_right: false,
        mixes: true,
        codes: |_, _| [2_048, 1_024].map(|step| both(16, step, POLYNOMIAL_15)).concat(),
        map: marvell,
    },
    ControllerLayout {
        name: "qcom",
        who: "Qualcomm: code words of 516 bytes, with a bad-block mark within each",
        erased_is_right: false,
        mixes: true,
        codes: |_, _| [4, 8].map(|bits| both(bits, 512, POLYNOMIAL_13)).concat(),
        map: qcom,
    },
    ControllerLayout {
        name: "mtk",
        who: "MediaTek: each step with 8 bytes of the filesystem, all protected, then the code",
        erased_is_right: false,
        mixes: true,
        codes: of_mtk,
        map: |page, oob, code| mtk(page, oob, code, 8),
    },
    ControllerLayout {
        name: "mtk-1",
        who: "MediaTek MT7622 and relatives: as mtk, one of the 8 bytes protected",
        erased_is_right: false,
        mixes: true,
        codes: of_mtk,
        map: |page, oob, code| mtk(page, oob, code, 1),
    },
];

/// The layout of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static ControllerLayout> {
    ALL.iter().find(|layout| layout.name == name)
}

fn both(bits: u32, step: usize, polynomial: u32) -> Vec<EccCode> {
    [Most, Least].map(|order| EccCode::bch(bits, step, polynomial, order)).to_vec()
}

fn of_hamming(step: usize) -> Vec<EccCode> {
    let orders = [HammingOrder::Linux, HammingOrder::SmartMedia, HammingOrder::Omap];
    orders.map(|order| EccCode::hamming(step, order)).to_vec()
}

/// The codes of Linux in software.
fn of_linux() -> Vec<EccCode> {
    let mut codes = Vec::new();
    for step in [256, 512] {
        let orders = [HammingOrder::Linux, HammingOrder::SmartMedia];
        codes.extend(orders.map(|order| EccCode::hamming(step, order)));
    }
    for (step, polynomial) in [(512, POLYNOMIAL_13), (1_024, POLYNOMIAL_14)] {
        codes.extend(STRENGTHS.map(|bits| EccCode::bch(bits, step, polynomial, Most)));
    }
    codes
}

/// BCH in other orders and fields.
fn others(strengths: &[u32]) -> Vec<EccCode> {
    let mut codes = Vec::new();
    for &bits in strengths {
        codes.push(EccCode::bch(bits, 512, POLYNOMIAL_13, Least));
        codes.extend(both(bits, 1_024, POLYNOMIAL_14_OTHER));
        codes.extend(both(bits, 1_024, POLYNOMIAL_14_THIRD));
        codes.push(EccCode::bch(bits, 1_024, POLYNOMIAL_14, Least));
    }
    codes
}

fn of_omap() -> Vec<EccCode> {
    let mut codes = vec![EccCode::hamming(512, HammingOrder::Omap)];
    codes.extend([4, 8, 16].map(|bits| EccCode::bch(bits, 512, POLYNOMIAL_13, Most)));
    codes
}

/// The strengths for which the bytes of a step have room.
fn of_brcm(page: usize, oob: usize) -> Vec<EccCode> {
    let mut codes = Vec::new();
    for (step, fields) in [
        (512, &[POLYNOMIAL_13, POLYNOMIAL_14_THIRD, POLYNOMIAL_14_OTHER][..]),
        (1_024, &[POLYNOMIAL_14_THIRD, POLYNOMIAL_14_OTHER][..]),
    ] {
        let room = oob * 8 / (page / step).max(1);
        for bits in [4, 8, 12, 16, 24, 30, 40] {
            let of = |&polynomial: &u32| EccCode::bch(bits, step, polynomial, Most);
            codes.extend(fields.iter().map(of).filter(|code| code.code_bits() < room));
        }
    }
    codes
}

/// Codes at the end of the OOB area, or around the mark of small pages.
fn linux(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    let steps = steps(page, code)?;
    let size = code.code_bytes();
    if page > 512 {
        let start = oob.checked_sub(steps * size).filter(|&start| start >= 2)?;
        return at_steps(page, oob, code, |step| start + step * size);
    }
    if oob != 16 || steps * size > 6 {
        return None;
    }
    let places: Vec<usize> = [0, 1, 2, 3, 6, 7].into_iter().take(steps * size).collect();
    let mut draft = Draft::plain(page, oob, code.order());
    for step in 0..steps {
        let bytes = places[step * size..(step + 1) * size].iter().enumerate();
        // The last byte of a code may have bits that are none of it.
        let bits = |number: usize| (code.code_bits() - number * 8).min(8);
        let code_bits = bytes.map(|(number, at)| (page + at) * 8..(page + at) * 8 + bits(number));
        draft.words.push((one(of_bytes(step * code.step, code.step)), code_bits.collect()));
    }
    draft.free = Some(one(8..16));
    draft.finish()
}

/// The steps of a page.
fn steps(page: usize, code: &EccCode) -> Option<usize> {
    (page.is_multiple_of(code.step) && page >= code.step).then(|| page / code.step)
}

/// The bits of bytes.
const fn of_bytes(start: usize, count: usize) -> Range<usize> {
    start * 8..(start + count) * 8
}

/// Data in front, and the code of each step from an OOB byte on.
fn drafted(
    page: usize,
    oob: usize,
    code: &EccCode,
    start: impl Fn(usize) -> usize,
) -> Option<Draft> {
    let mut draft = Draft::plain(page, oob, code.order());
    if page <= 512 {
        return None;
    }
    for step in 0..steps(page, code)? {
        let first = start(step);
        if first + code.code_bytes() > oob {
            return None;
        }
        let first = (page + first) * 8;
        let message = one(of_bytes(step * code.step, code.step));
        draft.words.push((message, one(first..first + code.code_bits())));
    }
    Some(draft)
}

fn at_steps(
    page: usize,
    oob: usize,
    code: &EccCode,
    start: impl Fn(usize) -> usize,
) -> Option<PageMap> {
    drafted(page, oob, code, start)?.finish()
}

fn omap_sw(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    let size = code.code_bytes() + 1;
    let mut draft = drafted(page, oob, code, |step| 2 + step * size)?;
    let end = 2 + steps(page, code)? * size;
    draft.free = Some(if end < oob { one(end..oob) } else { Vec::new() });
    draft.finish()
}

fn on_die(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    let part = oob / steps(page, code)?;
    if code.code_bytes() > part / 2 {
        return None;
    }
    at_steps(page, oob, code, |step| step * part + part / 2)
}

/// The message is the data of a step and its spare bytes up to the code, which may begin within a byte.
fn brcm(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    let steps = steps(page, code)?;
    let part = oob / steps;
    let least = if page <= 512 { 48 } else { 16 };
    let spare = (part * 8).checked_sub(code.code_bits()).filter(|&spare| spare >= least)?;
    let mut draft = Draft::plain(page, oob, code.order());
    let mut free = Vec::new();
    for step in 0..steps {
        let start = (page + step * part) * 8;
        let message = vec![of_bytes(step * code.step, code.step), start..start + spare];
        draft.words.push((message, one(start + spare..start + part * 8)));
        // The first byte is the bad-block mark.
        free.push(step * part + usize::from(step == 0)..step * part + spare / 8);
    }
    draft.free = Some(free);
    draft.mark = if page <= 512 { 5..6 } else { 0..1 };
    if page <= 512 {
        draft.free =
            Some(vec![0..5, 6..spare / 8].into_iter().filter(|it| !it.is_empty()).collect());
    }
    draft.finish()
}

/// Bytes of metadata of GPMI.
const METADATA: usize = 10;

/// The strength that the driver chooses, and usual ones below it.
fn of_gpmi(page: usize, oob: usize) -> Vec<EccCode> {
    let mut codes = Vec::new();
    for (step, polynomial, field) in [(512, POLYNOMIAL_13, 13), (1_024, POLYNOMIAL_14_OTHER, 14)] {
        let room = oob.saturating_sub(METADATA) * 8 / (field * (page / step).max(1));
        let most = u32::try_from(room / 2 * 2).unwrap_or(0).min(40);
        let mut strengths = vec![most, 2, 4, 8, 16, 24, 40];
        strengths.retain(|&bits| bits > 0 && bits <= most);
        strengths.sort_unstable();
        strengths.dedup();
        codes.extend(strengths.into_iter().map(|bits| EccCode::bch(bits, step, polynomial, Least)));
    }
    codes
}

/// The byte in which the factory marks bad blocks is within the data of the last step: the driver swaps it with
/// the first byte of the metadata.
fn gpmi(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    let steps = steps(page, code)?;
    let mut draft = Draft::plain(page, oob, code.order());
    draft.data.clear();
    let mark = of_bytes(page, 1);
    let mut at = METADATA * 8;
    let mut swapped = false;
    for step in 0..steps {
        let data = at..at + code.step * 8;
        at = data.end + code.code_bits();
        let message = if step == 0 { 0..data.end } else { data.clone() };
        if data.start <= mark.start && mark.end <= data.end {
            swapped = true;
            let pieces = [data.start..mark.start, 0..8, mark.end..data.end];
            draft.data.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
        } else {
            draft.data.push(data.clone());
        }
        draft.words.push((one(message), one(data.end..at)));
    }
    if at > (page + oob) * 8 {
        return None;
    }
    draft.oob_first = vec![if swapped { mark } else { 0..8 }, 8..METADATA * 8];
    draft.mark = 0..1;
    draft.free = Some(one(1..METADATA));
    draft.finish()
}

/// Chunks of data, spare bytes and a code.
fn marvell(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    const CODE: usize = 30;
    let chunks: Vec<(usize, usize)> = match (page, code.step) {
        (2_048, 2_048) => vec![(2_048, 32)],
        (4_096, 2_048) => vec![(2_048, 32); 2],
        (2_048, 1_024) => vec![(1_024, 0), (1_024, 32)],
        (4_096, 1_024) => vec![(1_024, 0), (1_024, 0), (1_024, 0), (1_024, 0), (0, 64)],
        (8_192, 2_048) => vec![(2_048, 32); 4],
        _ => return None,
    };
    let mut draft = Draft::plain(page, oob, code.order());
    draft.data.clear();
    let mut at = 0;
    for (data, spare) in chunks {
        draft.data.push(of_bytes(at, data));
        draft.oob_first.push(of_bytes(at + data, spare));
        draft.words.push((one(of_bytes(at, data + spare)), one(of_bytes(at + data + spare, CODE))));
        at += data + spare + CODE;
    }
    draft.data.retain(|range| !range.is_empty());
    draft.oob_first.retain(|range| !range.is_empty());
    if at > page + oob {
        return None;
    }
    let spare = draft.oob_first.iter().map(ExactSizeIterator::len).sum::<usize>() / 8;
    draft.free = Some(one(2..spare));
    draft.finish()
}

/// Code words of 516 bytes of data; of the last one the end are spare bytes. Each is interrupted by a mark at the
/// place that is the first OOB byte in the last one.
fn qcom(page: usize, oob: usize, code: &EccCode) -> Option<PageMap> {
    const DATA: usize = 516;
    let steps = steps(page, code)?;
    let size = if code.bits == 8 { 532 } else { 528 };
    let first = page.checked_sub(size * (steps - 1)).filter(|&first| first < DATA)?;
    if size * steps > page + oob {
        return None;
    }
    let mut draft = Draft::plain(page, oob, code.order());
    draft.data.clear();
    let mut left = page;
    draft.oob_first.push(of_bytes(page, 1));
    let mut spare = Vec::new();
    for step in 0..steps {
        let at = size * step;
        let message = vec![of_bytes(at, first), of_bytes(at + first + 1, DATA - first)];
        let taken = left.min(DATA);
        draft.data.push(of_bytes(at, first.min(taken)));
        draft.data.push(of_bytes(at + first + 1, taken.saturating_sub(first)));
        spare.push(of_bytes(at + 1 + taken, DATA - taken));
        left -= taken;
        let code_bits = (at + DATA + 1) * 8;
        draft.words.push((message, one(code_bits..code_bits + code.code_bits())));
    }
    draft.data.retain(|range| !range.is_empty());
    let free = 4 * steps;
    draft.oob_first.extend(spare.into_iter().filter(|range| !range.is_empty()));
    draft.mark = 0..1;
    draft.free = Some(one(1..1 + free));
    draft.finish()
}

/// Bytes of the filesystem in each step of MediaTek.
const FDM: usize = 8;

/// The strongest code for which there is room, and usual ones.
fn of_mtk(page: usize, oob: usize) -> Vec<EccCode> {
    const ALL: [u32; 16] = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 44];
    let mut codes = Vec::new();
    for (step, polynomial) in
        [(512, POLYNOMIAL_13), (512, POLYNOMIAL_14_OTHER), (1_024, POLYNOMIAL_14_OTHER)]
    {
        let room = (oob / (page / step).max(1)).saturating_sub(FDM);
        let of = |bits: u32| EccCode::bch(bits, step, polynomial, Least);
        let fits: Vec<u32> =
            ALL.into_iter().filter(|&bits| bits <= 40 && of(bits).code_bytes() <= room).collect();
        let usual = [4, 8, 12, 16, 24, 32, 40];
        let most = fits.last().copied();
        codes.extend(
            fits.into_iter().filter(|bits| usual.contains(bits) || Some(*bits) == most).map(of),
        );
    }
    codes
}

/// The first OOB byte of the chip is within the data of a step: the driver swaps it with the first byte of the
/// filesystem's in that step.
fn mtk(page: usize, oob: usize, code: &EccCode, protected: usize) -> Option<PageMap> {
    let steps = steps(page, code)?;
    let size = code.step + oob / steps;
    if FDM + code.code_bytes() > oob / steps {
        return None;
    }
    let mut draft = Draft::plain(page, oob, code.order());
    draft.data.clear();
    let (swapped, within) = (page / size, page % size);
    let is_swapped = page > 512 && within < code.step && swapped < steps;
    for step in 0..steps {
        let at = step * size;
        if is_swapped && step == swapped {
            let pieces = [(at, within), (at + code.step, 1), (page + 1, code.step - within - 1)];
            draft.data.extend(pieces.map(|(start, count)| of_bytes(start, count)));
        } else {
            draft.data.push(of_bytes(at, code.step));
        }
        let first = (at + code.step + FDM) * 8;
        let message = of_bytes(at, code.step + protected);
        draft.words.push((one(message), one(first..first + code.code_bits())));
    }
    draft.data.retain(|range| !range.is_empty());
    // That step's bytes of the filesystem come first.
    let fdm = |step: usize| of_bytes(step * size + code.step, FDM);
    if is_swapped {
        draft.oob_first.push(of_bytes(page, 1));
        draft.oob_first.push(of_bytes(swapped * size + code.step + 1, FDM - 1));
        draft.oob_first.extend((0..steps).filter(|step| *step != swapped).map(fdm));
    } else {
        draft.oob_first.extend((0..steps).map(fdm));
    }
    draft.mark = 0..1;
    draft.free = Some(one(1..FDM * steps));
    draft.finish()
}
