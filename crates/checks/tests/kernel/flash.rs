//! Our side: a dump as a mounted JFFS2, a new JFFS2 on our NAND chip, and the dump of that.

use boardlab_checks::nandsim::Flash;
use boardlab_image::{Contents, Hints, open};
use boardlab_jffs2::{Compression, Jffs2, Options};
use boardlab_media::{CellKind, NandGeometry};
use boardlab_mtd::{Mtd, PageIndex, RawPages};
use boardlab_nand::chip::{Die, Setup};
use boardlab_nand::part::{BadMarks, EccNeed, Interface, Part, TimeLimit, Timing};
use boardlab_nand::{Nand, Port, PortTiming, Profile};
use boardlab_sim::{Bytes, Clock, Duration, QuantileTable, Seed};
use boardlab_vfs::Mount;
use boardlab_workload::tree;
use std::sync::Arc;

/// What our JFFS2 shows of a dump with spare bytes.
pub(crate) fn manifest_of_dump(flash: Flash, dump: Vec<u8>) -> Result<String, String> {
    let hints = Hints {
        page: Some(Bytes::new(wide(flash.page))),
        oob: Some(Bytes::new(wide(flash.oob))),
        block: Some(Bytes::new(wide(flash.block()))),
        ..Hints::default()
    };
    manifest_of(&Contents::of(dump), &hints)
}

/// What our JFFS2 shows of an image.
pub(crate) fn manifest_of(contents: &Contents, hints: &Hints) -> Result<String, String> {
    let dump = open(contents, hints).map_err(|error| error.to_string())?.fs.dump().clone();
    let mut clock = Clock::default();
    // An image of few blocks has no room to write.
    let options = Options { read_only: true, ..Options::default() };
    let fs = Jffs2::mount(&mut clock, dump, options).map_err(|error| error.to_string())?;
    let mut mount = Mount::new(fs);
    tree::manifest(&mut mount, &mut clock).map_err(|error| error.to_string())
}

/// A chip like nandsim's, of so many MiB, with Linux' code in the spare bytes.
pub(crate) fn chip(flash: Flash, mebibytes: usize) -> Nand {
    chip_of_blocks(flash, flash.blocks_of(mebibytes))
}

/// The same, of so many blocks.
pub(crate) fn chip_of_blocks(flash: Flash, blocks: usize) -> Nand {
    chip_that_needs(EccNeed { bits: 1, step: Bytes::new(256) }, flash, blocks)
}

/// A chip like nandsim's of so many blocks, with the code for so many bits in the spare bytes.
pub(crate) fn chip_that_needs(ecc: EccNeed, flash: Flash, blocks: usize) -> Nand {
    let instant = || QuantileTable::constant(Duration::from_micros(1));
    let timed = || TimeLimit { time: instant(), max: Duration::from_millis(1) };
    let cycle = Duration::from_nanos(25);
    let part = Part {
        name: format!("nandsim {}", flash.id_bytes),
        interface: Interface::Parallel(boardlab_nand::part::BusWidth::X8),
        geometry: NandGeometry {
            blocks: u32::try_from(blocks).unwrap(),
            pages_per_block: u32::try_from(flash.pages_per_block).unwrap(),
            page: Bytes::new(wide(flash.page)),
            oob: Bytes::new(wide(flash.oob)),
        },
        cell: CellKind::Slc,
        programs_per_page: 4,
        identity: vec![0x20, 0xF2],
        onfi: None,
        timing: Timing {
            read: instant(),
            program: timed(),
            erase: timed(),
            write_cycle: cycle,
            read_cycle: cycle,
            write_to_busy: cycle,
            ready_to_read: cycle,
            write_to_read: cycle,
            address_to_data: cycle,
            reset: cycle,
        },
        endurance: 1_000_000,
        bad_blocks_max: 0,
        bad_marks: BadMarks::FIRST,
        ecc,
        on_die_ecc: None,
    };
    let mut clock = Clock::default();
    let profile = Profile::linux_6_1(&part).unwrap();
    let die = Die::new(Arc::new(part), &Setup::perfect(Seed::new(1))).unwrap();
    let port = Port::new(die, PortTiming::default()).unwrap();
    Nand::attach(port, profile, &mut clock).unwrap()
}

/// The compressors that a mount option of the kernel leaves.
pub(crate) fn options(compression: &str) -> Options {
    use boardlab_jffs2::CompressionMode;
    let compression = match compression {
        "compr=none" => Compression { mode: CompressionMode::None, ..Compression::default() },
        "compr=lzo" => Compression { zlib: false, rtime: false, ..Compression::default() },
        "compr=zlib" => Compression { lzo: false, rtime: false, ..Compression::default() },
        _ => Compression::default(),
    };
    Options { compression, ..Options::default() }
}

/// All pages of a flash, each with its spare bytes.
pub(crate) fn dump<M: Mtd + RawPages>(device: &mut M) -> Vec<u8> {
    let geometry = device.geometry().clone();
    let page = geometry.write_size.to_usize();
    let oob = geometry.oob.unwrap().size.to_usize();
    let mut clock = Clock::default();
    let mut bytes = vec![0; (page + oob) * index(geometry.page_count())];
    for (number, raw) in (0..).zip(bytes.chunks_exact_mut(page + oob)) {
        let (data, spare) = raw.split_at_mut(page);
        device.read_raw(&mut clock, PageIndex(number), data, spare).unwrap();
    }
    bytes
}

/// Programs a dump into an erased flash.
pub(crate) fn load<M: Mtd + RawPages>(device: &mut M, dump: &[u8]) {
    let geometry = device.geometry().clone();
    let page = geometry.write_size.to_usize();
    let raw_page = page + geometry.oob.unwrap().size.to_usize();
    let mut clock = Clock::default();
    for (number, raw) in (0..).zip(dump.chunks_exact(raw_page)) {
        if raw.iter().any(|byte| *byte != 0xFF) {
            let (data, spare) = raw.split_at(page);
            device.program_raw(&mut clock, PageIndex(number), data, spare).unwrap();
        }
    }
}

/// Carries out operations on a flash: mounted, and not unmounted again.
pub(crate) fn mounted_and_run<M: Mtd>(device: M, operations: &str) -> Mount<Jffs2<M>> {
    let mut clock = Clock::default();
    let fs = Jffs2::mount(&mut clock, device, Options::default()).unwrap();
    let mut mount = Mount::new(fs);
    let lines = tree::parse(operations).unwrap();
    tree::run(&mut mount, &mut clock, &lines, &mut |_| {}).unwrap();
    mount
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap()
}
