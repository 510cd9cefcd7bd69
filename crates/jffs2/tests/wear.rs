//! How the erases spread over the blocks when much more is written than the flash holds.
//!
//! JFFS2 has no erase counts. What levels the wear is that two of 128 choices of garbage collection
//! take a clean block, and that free blocks are taken in the order in which they were erased. So
//! blocks with data that change are erased about equally often, and blocks with data that never
//! change are set free from time to time, the later the fewer choices there are; how often follows
//! from the number of choices.
use boardlab_jffs2::{Compression, CompressionMode, Jffs2, Options};
use boardlab_mtd::{BlockIndex, RamMtd};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::Mount;

const BLOCKS: u32 = 64;
const FILE: usize = 16 << 10;

/// Writes `total` bytes to 64 files again and again, on 8 MiB of which `resting` hold what never
/// changes. Gives the erases of each block, in order of their number.
fn spread(resting: usize, total: usize) -> Vec<u64> {
    let mut clock = Clock::new();
    let device = RamMtd::nand(BLOCKS, 64, Bytes::new(2048), Bytes::new(64));
    let none = Compression { mode: CompressionMode::None, ..Compression::default() };
    let options = Options { compression: none, ..Options::default() };
    let mut fs = Mount::new(Jffs2::mount(&mut clock, device, options).unwrap());
    let mut data = vec![0; resting.max(FILE)];
    let mut stream = Seed::new(1).stream("wear");
    stream.fill(&mut data);
    if resting > 0 {
        let fd = fs.create(&mut clock, "/resting", 0o600).unwrap();
        fs.write(&mut clock, fd, 0, &data[..resting]).unwrap();
        fs.close(&mut clock, fd).unwrap();
    }
    for round in 0..total / FILE {
        let path = format!("/{}", stream.below(64));
        let fd = fs.open(&mut clock, &path).or_else(|_| fs.create(&mut clock, &path, 0o600));
        let fd = fd.unwrap();
        data[0] = u8::try_from(round % 251).unwrap();
        fs.write(&mut clock, fd, 0, &data[..FILE]).unwrap();
        fs.close(&mut clock, fd).unwrap();
        fs.background(&mut clock, None).unwrap();
    }
    fs.unmount(&mut clock).unwrap();
    let device = fs.into_fs().into_device();
    let mut erases: Vec<u64> =
        (0..BLOCKS).map(|block| device.erase_count(BlockIndex(block)).unwrap()).collect();
    erases.sort_unstable();
    erases
}

fn mean(erases: &[u64]) -> u64 {
    erases.iter().sum::<u64>() / erases.len() as u64
}

fn total() -> usize {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 64 * (64 << 20) } else { 5 * (64 << 20) }
}

#[test]
fn blocks_whose_data_change_wear_evenly() {
    let erases = spread(0, total());
    let mean = mean(&erases);
    assert!(erases[0] * 2 > mean && erases[63] < mean * 2, "{erases:?}");
}

#[test]
fn blocks_whose_data_rest_are_moved_now_and_then() {
    let erases = spread(4 << 20, total());
    let moved = erases.iter().filter(|&&count| count > 1).count();
    assert!(moved > 40, "{erases:?}");
    assert!(erases[63] < mean(&erases) * 3, "{erases:?}");
}
