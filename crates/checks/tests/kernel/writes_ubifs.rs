//! What was written here is read by the kernel, with all checks of UBI and UBIFS on: our UBIFS in our UBI on our
//! NAND, and an image of a folder; then the kernel writes on and ours reads that.

use crate::flash::dump;
use crate::made::made;
use crate::stack::{
    attach, compressor, formatted, make_volume, manifest_of_dump, mount, settle_ubi, unmount,
};
use crate::{assert_none, difference, full, index};
use boardlab_checks::guest::Guest;
use boardlab_checks::inspection::{Flashes, Inspection, Written, inspect};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees::{self, Tree};
use boardlab_sim::{Clock, Seed};
use boardlab_ubifs::Options;
use boardlab_workload::tree;

/// How a flash is attached: which, and with what options for `ubiattach`; with some, without sub-pages.
const FLASHES: [(Flash, &str); 4] = [
    (nandsim::ALL[0], ""),
    (nandsim::ALL[1], ""),
    (nandsim::ALL[1], "-O 2048"),
    (nandsim::ALL[2], ""),
];

/// The options of a mount.
const COMPRESSORS: [&str; 4] = ["compr=none", "compr=lzo", "compr=zlib", "compr=zstd"];

/// MiB of a flash.
const SIZE: usize = 16;

/// A tree on a flash.
struct Case {
    name: String,
    tree: Tree,
    flash: Flash,
    attach: &'static str,
    mount: &'static str,
    /// Whether it is not the tree, but an image of a folder.
    is_made: bool,
}

impl Case {
    fn has_sub_pages(&self) -> bool {
        self.attach.is_empty()
    }

    /// Carries the tree out; its manifest after a second mount, and the dump.
    fn write(&self) -> (String, Vec<u8>) {
        if self.is_made {
            return made(self.flash, SIZE);
        }
        let mut clock = Clock::default();
        let mut ubi = formatted(&mut clock, self.flash, SIZE, self.has_sub_pages());
        make_volume(&mut clock, &mut ubi);
        let name = self.mount.strip_prefix("compr=").unwrap();
        let options = Options { compressor: Some(compressor(name)), ..Options::default() };
        let mut mounted = mount(&mut clock, ubi, options.clone());
        let lines = tree::parse(&self.tree.operations).unwrap();
        tree::run(&mut mounted, &mut clock, &lines, &mut |_| {})
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let mut ubi = unmount(&mut clock, mounted);
        settle_ubi(&mut clock, &mut ubi);
        let nand = ubi.detach(&mut clock).unwrap();
        let ubi = attach(&mut clock, nand, self.flash, self.has_sub_pages());
        let mut mounted = mount(&mut clock, ubi, Options { read_only: true, ..options });
        let manifest = tree::manifest(&mut mounted, &mut clock).unwrap();
        let mut nand = mounted.into_fs().into_lebs().into_ubi().into_device();
        (manifest, dump(&mut nand))
    }

    /// What the kernel finds wrong, or other than ours.
    fn problem(&self, manifest: &str, found: &Inspection) -> Option<String> {
        let told = |what: &str| format!("{}, {what}: ", self.name);
        if let Some(complaint) = found.complaints().first() {
            return Some(told("the kernel says") + complaint);
        }
        if let Some(found) = difference(&found.manifest, manifest) {
            return Some(told("written here") + &found);
        }
        let after = manifest_of_dump(self.flash, &found.dump, self.has_sub_pages());
        difference(&found.after, &after).map(|found| told("after the kernel wrote on") + &found)
    }
}

/// Every tree on every flash with every compressor; in the sample four trees, each on another flash with another
/// compressor.
fn cases() -> Vec<Case> {
    let seed = Seed::new(1);
    let trees = trees::all(seed);
    let case = |tree: &Tree, on: usize, by: usize| {
        let (flash, attach) = FLASHES[on];
        let mount = COMPRESSORS[by];
        let name = format!("{}-{}-{on}-{by}", tree.name, flash.page);
        Case { name, tree: tree.clone(), flash, attach, mount, is_made: false }
    };
    let made =
        || Case { name: "made-of-a-folder".to_owned(), is_made: true, ..case(&trees[0], 1, 1) };
    let numbers = 0..FLASHES.len();
    if full() {
        let all = |on| trees.iter().flat_map(move |tree| (0..4).map(move |by| (tree, on, by)));
        let all = numbers.flat_map(all).map(|(tree, on, by)| case(tree, on, by));
        return std::iter::once(made()).chain(all).collect();
    }
    let mut stream = seed.stream("trees of UBIFS");
    let first = index(stream.below(4));
    let mut drawn = || &trees[index(stream.below(u64::try_from(trees.len()).unwrap()))];
    let mut cases: Vec<Case> = numbers.map(|on| case(drawn(), on, (on + first) % 4)).collect();
    // Beside the other one of its flash.
    cases.insert(2, made());
    cases
}

fn let_the_kernel_look(guest: &Guest, cases: &[Case]) -> Vec<String> {
    let mut manifests = Vec::new();
    let mut all = Vec::new();
    for group in cases.chunk_by(|one, next| one.flash == next.flash) {
        let mut written = Vec::new();
        for case in group {
            let (manifest, dump) = case.write();
            manifests.push(manifest);
            let (name, volume) = (case.name.clone(), "volume".to_owned());
            written.push(Written { name, dump, volume, attach: case.attach, mount: case.mount });
        }
        all.push(Flashes { flash: group[0].flash, mebibytes: SIZE, written });
    }
    let found = inspect(guest, &all);
    let looked = cases.iter().zip(manifests).zip(&found);
    looked.filter_map(|((case, manifest), found)| case.problem(&manifest, found)).collect()
}

#[test]
fn the_kernel_checks_what_our_ubifs_wrote_and_ours_reads_what_the_kernel_adds() {
    let Some(guest) = Guest::find() else { return };
    // In parts, so that the dumps of one lie on the disk at a time.
    let cases = cases();
    let problems = cases.chunks(32).flat_map(|cases| let_the_kernel_look(guest, cases));
    assert_none(&problems.collect::<Vec<_>>());
}
