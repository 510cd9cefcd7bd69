//! Images of mkfs.jffs2 and sumtool read here, in both byte orders, and by the kernel, which reads its own order
//! alone: on nandsim where there is one of that block, else on mtdram, a NOR in memory.

use crate::flash::manifest_of;
use crate::{assert_none, difference, full};
use boardlab_checks::binary::Scratch;
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim;
use boardlab_checks::trees;
use boardlab_image::{Contents, Hints};
use boardlab_sim::{Bytes, Seed};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What mkfs.jffs2 is asked for besides the tree.
struct Wanted {
    name: &'static str,
    options: &'static [&'static str],
    /// KiB of an erase block.
    block: u64,
    /// Whether sumtool goes over it.
    summaries: bool,
}

const fn wanted(
    name: &'static str,
    options: &'static [&'static str],
    block: u64,
    summaries: bool,
) -> Wanted {
    Wanted { name, options, block, summaries }
}

const IMAGES: [Wanted; 8] = [
    wanted("nand", &["-n"], 128, false),
    wanted("nand with summaries", &["-n"], 128, true),
    wanted("nor", &[], 16, false),
    wanted("nor with summaries", &[], 16, true),
    wanted("not compressed", &["-m", "none"], 64, false),
    wanted("smallest", &["-m", "size", "-n"], 64, false),
    wanted("lzo", &["-x", "zlib", "-X", "lzo", "-y", "100:lzo", "-n"], 64, false),
    wanted("rtime", &["-x", "zlib", "-x", "lzo", "-n"], 64, false),
];

/// Trees that an unprivileged user and any filesystem of the host can hold.
const PLAIN: [&str; 12] = [
    "deep",
    "wide",
    "sizes-of-text",
    "sizes-of-random",
    "sizes-of-zero",
    "sizes-of-runs",
    "sizes-half-random",
    "tiny",
    "holes",
    "strange-names",
    "overwrites",
    "renames",
];

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {message}");
    output.stdout
}

/// The guest's program, on the host.
pub(crate) fn guest_files(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("guest-files");
    let source = boardlab_checks::Repository::here().root().join("oracles/guest-files.c");
    run(Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source));
    program
}

/// The manifest of a tree made on the host.
fn make(program: &Path, root: &Path, operations: &Path) -> String {
    fs::create_dir(root).unwrap();
    let list = Stdio::from(fs::File::open(operations).unwrap());
    run(Command::new(program).arg("run").arg(root).stdin(list));
    String::from_utf8(run(Command::new(program).arg("manifest").arg(root))).unwrap()
}

/// A manifest without the root, of which mkfs.jffs2 writes nothing, and without the times of directories: to JFFS2 a
/// directory changed when its last entry says, in which mkfs.jffs2 writes the time of the file.
fn compared(manifest: &str) -> String {
    let (_, below_root) = manifest.split_once('\n').unwrap_or_default();
    let line = |line: &str| {
        let mut columns: Vec<&str> = line.split(' ').collect();
        if columns.get(1) == Some(&"d") {
            columns[7] = "-";
        }
        columns.join(" ") + "\n"
    };
    below_root.lines().map(line).collect()
}

/// What mkfs.jffs2 and, where asked for, sumtool make of the tree at `root`.
fn image(folder: &Path, root: &Path, order: &str, wanted: &Wanted) -> Vec<u8> {
    let size = format!("{}KiB", wanted.block);
    let mut file = folder.join("image");
    let mut mkfs = Command::new("mkfs.jffs2");
    mkfs.args(wanted.options).args([order, "-e", &size, "-r"]).arg(root);
    run(mkfs.arg("-o").arg(&file));
    if wanted.summaries {
        let with = folder.join("with-summaries");
        let nand = wanted.options.iter().filter(|option| **option == "-n");
        let mut sumtool = Command::new("sumtool");
        sumtool.args(nand).args([order, "-e", &size, "-i"]).arg(&file);
        run(sumtool.arg("-o").arg(&with));
        file = with;
    }
    fs::read(&file).unwrap()
}

/// What our JFFS2 shows of an image.
fn ours(image: Vec<u8>, wanted: &Wanted) -> Result<String, String> {
    let hints = Hints {
        block: Some(Bytes::new(wanted.block << 10)),
        oob: Some(Bytes::ZERO),
        partial: true,
        ..Hints::default()
    };
    manifest_of(&Contents::of(image), &hints)
}

/// In the guest: an image on NOR or NAND, and what the kernel finds in it.
const LOOK: &str = r#"
look() { # NAME DEVICE
  mount -t jffs2 -o ro $2 /mnt
  guest-files manifest /mnt >/h/$1.manifest
  umount /mnt
  rm /h/$1.image
}
nor() { # NAME KIB-OF-BLOCK KIB
  modprobe mtdram total_size=$3 erase_size=$2
  dd if=/h/$1.image of=/dev/mtd0 bs=64k 2>/dev/null
  look $1 mtd0
  rmmod mtdram
}
nand() { # NAME
  flash_erase -q /dev/mtd0 0 0
  nandwrite -q -p /dev/mtd0 /h/$1.image >/dev/null
  look $1 mtd0
}
"#;

/// The images that the kernel shall read.
#[derive(Default)]
struct ForTheKernel {
    share: Share,
    on_nor: String,
    on_nand: String,
    /// Name in the share, what it is, the manifest of the tree.
    expected: Vec<(String, String, String)>,
}

impl ForTheKernel {
    fn add(&mut self, image: &[u8], wanted: &Wanted, what: String, manifest: &str) {
        let name = format!("image-{}", self.expected.len());
        self.share.write(&format!("{name}.image"), image);
        let kib = u64::try_from(image.len()).unwrap().div_ceil(wanted.block << 10) * wanted.block;
        // As many blocks are free as JFFS2 keeps for itself.
        let kib = kib + 8 * wanted.block;
        if wanted.block == 128 && kib <= 16 << 10 {
            writeln!(self.on_nand, "nand {name}").unwrap();
        } else {
            writeln!(self.on_nor, "nor {name} {} {kib}", wanted.block).unwrap();
        }
        self.expected.push((name, what, manifest.to_owned()));
    }

    /// How the kernel's manifests differ from those of the trees.
    fn differences(&self, guest: &Guest) -> Vec<String> {
        let Self { share, on_nor, on_nand, .. } = self;
        let load = nandsim::ALL[1].load(&[16]);
        guest.run(share, &format!("{LOOK}{on_nor}{load}\n{on_nand}"));
        let compare = |(name, what, manifest): &(String, String, String)| {
            let kernel = share.text_of(&format!("{name}.manifest"));
            let found = difference(&compared(&kernel), &compared(manifest))?;
            Some(format!("{what}, read by the kernel, here the tree: {found}"))
        };
        self.expected.iter().filter_map(compare).collect()
    }
}

#[test]
fn images_of_mkfs_and_sumtool_are_read_here_in_both_byte_orders_as_the_kernel_reads_them() {
    let Some(guest) = Guest::find() else { return };
    let scratch = Scratch::new();
    let folder = scratch.path();
    let program = guest_files(folder);
    let mut found = Vec::new();
    let mut for_the_kernel = ForTheKernel::default();
    let trees = trees::all(Seed::new(1));
    for (number, tree) in trees.iter().filter(|tree| PLAIN.contains(&tree.name)).enumerate() {
        let (list, root) = (folder.join("list"), folder.join(tree.name));
        fs::write(&list, &tree.operations).unwrap();
        let manifest = make(&program, &root, &list);
        // Two of the images of a tree, and of the next tree the next two.
        let wanted = IMAGES.iter().cycle().skip(number * 2);
        for wanted in wanted.take(if full() { IMAGES.len() } else { 2 }) {
            for order in ["-l", "-b"] {
                let what = format!("{}, {}, {order}", tree.name, wanted.name);
                let image = image(folder, &root, order, wanted);
                if order == "-l" {
                    for_the_kernel.add(&image, wanted, what.clone(), &manifest);
                }
                let ours = ours(image, wanted).unwrap_or_else(|error| error);
                let difference = difference(&compared(&manifest), &compared(&ours));
                found.extend(difference.map(|found| format!("{what}, read here: {found}")));
            }
        }
        fs::remove_dir_all(&root).unwrap();
    }
    found.extend(for_the_kernel.differences(guest));
    assert_none(&found);
}
