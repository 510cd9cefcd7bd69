//! Error correction across the border: what the kernel's BCH and Hamming protected is corrected here, and the
//! reverse, with as many wrong bits in each step as the code corrects.

use crate::flash::{chip_that_needs, dump, load, mounted_and_run};
use crate::{assert_none, difference, full};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees::{self, Tree};
use boardlab_nand::Layout;
use boardlab_nand::ecc::{Code, Engine};
use boardlab_nand::part::EccNeed;
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use boardlab_workload::tree;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The flash that is used, in MiB: that of the largest tree.
fn size() -> usize {
    if full() { 8 } else { 4 }
}

/// A flash with a code.
#[derive(Debug, Clone, Copy)]
struct Setting {
    flash: Flash,
    /// Bits that the code corrects in a step of `step` bytes.
    bits: u32,
    step: u64,
    /// nandsim's parameter: bits in 512 bytes, 0 for Hamming in 256.
    bch: u32,
}

/// nandsim has BCH on large pages alone, with at most 62 bytes of codes.
const SETTINGS: [Setting; 5] = [
    Setting { flash: nandsim::ALL[0], bits: 1, step: 256, bch: 0 },
    Setting { flash: nandsim::ALL[1], bits: 1, step: 256, bch: 0 },
    Setting { flash: nandsim::ALL[1], bits: 4, step: 512, bch: 4 },
    Setting { flash: nandsim::ALL[1], bits: 8, step: 512, bch: 8 },
    Setting { flash: nandsim::ALL[2], bits: 4, step: 512, bch: 4 },
];

/// In the guest: make a tree and dump it; load a dump with wrong bits, look at it, tell what was corrected.
const JOB: &str = r#"
make() { # NAME TREE
  flash_erase -q -j /dev/mtd0 0 0
  mount -t jffs2 mtd0 /mnt
  guest-files run /mnt </h/$2.list >/dev/null
  umount /mnt
  mount -t jffs2 -o ro mtd0 /mnt
  guest-files manifest /mnt >/h/$1.made
  umount /mnt
  nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/mtd0; cp /tmp/dump /h/$1.dump
}
look() { # NAME
  flash_erase -q /dev/mtd0 0 0
  cp /h/$1.ours /tmp/dump; nandwrite -q -n -o /dev/mtd0 /tmp/dump >/dev/null
  mount -t jffs2 -o ro mtd0 /mnt
  guest-files manifest /mnt >/h/$1.seen
  umount /mnt
  cat /sys/class/mtd/mtd0/corrected_bits /sys/class/mtd/mtd0/ecc_failures >/h/$1.corrections
}
"#;

impl Setting {
    fn need(&self) -> EccNeed {
        EccNeed { bits: self.bits, step: Bytes::new(self.step) }
    }

    fn name(&self, tree: &Tree) -> String {
        format!("{}-{}-{}", tree.name, self.flash.page, self.bch)
    }

    fn engine(&self) -> Engine {
        Engine::new(Code::for_need(self.need()).unwrap()).unwrap()
    }

    fn layout(&self) -> Layout {
        let engine = self.engine();
        let codes = self.flash.page / engine.step() * engine.code_bytes();
        Layout::linux(self.flash.page, self.flash.oob, codes).unwrap()
    }

    /// The pages of a dump in which data stand.
    fn programmed<'a>(
        &self,
        dump: &'a mut [u8],
    ) -> impl Iterator<Item = (&'a mut [u8], &'a mut [u8])> {
        let page = self.flash.page;
        let pages = dump.chunks_exact_mut(self.flash.raw_page());
        let split = pages.map(move |raw| raw.split_at_mut(page));
        split.filter(|(data, _)| data.iter().any(|byte| *byte != 0xFF))
    }

    /// How many pages the kernel wrote, and in how many of them our codes are others.
    fn compare_codes(&self, dump: &mut [u8]) -> (u32, u32) {
        let (engine, layout) = (self.engine(), self.layout());
        let (mut pages, mut others) = (0, 0);
        for (data, spare) in self.programmed(dump) {
            let mut ours = vec![0; layout.ecc_bytes()];
            let mut kernel = ours.clone();
            engine.calculate(data, &mut ours);
            layout.gather_ecc(spare, 0, &mut kernel);
            pages += 1;
            others += u32::from(ours != kernel);
        }
        (pages, others)
    }

    /// Turns as many bits of each step and its code over as the code corrects.
    fn flip(&self, dump: &mut [u8], stream: &mut Stream) {
        let (engine, layout) = (self.engine(), self.layout());
        let steps = self.flash.page / engine.step();
        let (data_bits, code_bits) = (engine.step() * 8, engine.code_bytes() * 8);
        for (data, spare) in self.programmed(dump) {
            let mut codes = vec![0; layout.ecc_bytes()];
            layout.gather_ecc(spare, 0, &mut codes);
            for step in 0..steps {
                for bit in some_bits(data_bits + code_bits, self.bits, stream) {
                    match bit.checked_sub(data_bits) {
                        None => turn(data, step * data_bits + bit),
                        Some(bit) => turn(&mut codes, step * code_bits + bit),
                    }
                }
            }
            layout.scatter_ecc(&codes, 0, spare);
        }
    }

    /// The dump of a tree that was written here, with wrong bits, and its manifest.
    fn write(&self, tree: &Tree, stream: &mut Stream) -> (Vec<u8>, String) {
        let nand = chip_that_needs(self.need(), self.flash, self.flash.blocks_of(size()));
        let mut mount = mounted_and_run(nand, &tree.operations);
        let mut clock = Clock::default();
        let manifest = tree::manifest(&mut mount, &mut clock).unwrap();
        mount.unmount(&mut clock).unwrap();
        let mut dump = dump(&mut mount.into_fs().into_device());
        self.flip(&mut dump, stream);
        (dump, manifest)
    }

    /// What our filesystem and driver show of a dump.
    fn read(&self, dump: &[u8]) -> String {
        let mut nand = chip_that_needs(self.need(), self.flash, self.flash.blocks_of(size()));
        load(&mut nand, dump);
        tree::manifest(&mut mounted_and_run(nand, ""), &mut Clock::default()).unwrap()
    }
}

fn turn(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// So many bits of `among`, each once.
fn some_bits(among: usize, count: u32, stream: &mut Stream) -> BTreeSet<usize> {
    let mut bits = BTreeSet::new();
    while bits.len() < usize::try_from(count).unwrap() {
        bits.insert(usize::try_from(stream.below(u64::try_from(among).unwrap())).unwrap());
    }
    bits
}

/// What is wrong with a setting and a tree.
fn differences(
    share: &Share,
    setting: &Setting,
    tree: &Tree,
    ours: &str,
    stream: &mut Stream,
) -> Vec<String> {
    let name = setting.name(tree);
    let text = |kind: &str| share.text_of(&format!("{name}.{kind}"));
    let mut found = Vec::new();
    let mut dump = share.read(&format!("{name}.dump")).expect("the guest dumped its flash");
    let (pages, others) = setting.compare_codes(&mut dump);
    if others > 0 || pages < 30 {
        found.push(format!("{name}: of {pages} pages {others} have other codes"));
    }
    setting.flip(&mut dump, stream);
    let read = difference(&text("made"), &setting.read(&dump));
    found.extend(read.map(|found| format!("{name}, read here: {found}")));
    let seen = difference(&text("seen"), ours);
    found.extend(seen.map(|found| format!("{name}, read by the kernel: {found}")));
    let corrections = text("corrections");
    let numbers: Vec<u32> = corrections.lines().map(|line| line.parse().unwrap()).collect();
    if numbers[0] < 100 || numbers[1] > 0 {
        found.push(format!("{name}: the kernel corrected and gave up: {numbers:?}"));
    }
    found
}

#[test]
fn as_many_wrong_bits_as_a_code_corrects_are_corrected_on_both_sides_of_the_border() {
    let Some(guest) = Guest::find() else { return };
    let trees = trees::all(Seed::new(1));
    let wanted: &[&str] = if full() {
        &["attributes", "sizes-of-text", "sizes-half-random", "overwrites"]
    } else {
        &["sizes-of-text"]
    };
    let trees: Vec<_> = trees.iter().filter(|tree| wanted.contains(&tree.name)).collect();
    let mut stream = Seed::new(1).stream("wrong bits");
    let (share, mut job, mut written) = (Share::new(), String::from(JOB), Vec::new());
    for tree in &trees {
        share.write(&format!("{}.list", tree.name), &tree.operations);
    }
    for setting in &SETTINGS {
        writeln!(job, "{} bch={}", setting.flash.load(&[size()]), setting.bch).unwrap();
        for tree in &trees {
            let name = setting.name(tree);
            let (dump, manifest) = setting.write(tree, &mut stream);
            share.write(&format!("{name}.ours"), dump);
            written.push((setting, *tree, manifest));
            writeln!(job, "make {name} {}; look {name}", tree.name).unwrap();
        }
        job += "rmmod nandsim\n";
    }
    guest.run(&share, &job);
    let compare = |(setting, tree, ours): &(&Setting, &Tree, String)| {
        differences(&share, setting, tree, ours, &mut stream)
    };
    assert_none(&written.iter().flat_map(compare).collect::<Vec<_>>());
}
