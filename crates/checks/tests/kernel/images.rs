//! Images of mkfs.jffs2 and sumtool, in both byte orders, read here.

use crate::flash::manifest_of;
use crate::{assert_none, difference, full};
use boardlab_checks::binary::Scratch;
use boardlab_checks::guest::Guest;
use boardlab_checks::trees;
use boardlab_image::{Contents, Hints};
use boardlab_sim::{Bytes, Seed};
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
fn guest_files(folder: &Path) -> std::path::PathBuf {
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

/// A manifest without the root, of which mkfs.jffs2 writes nothing.
fn below_root(manifest: &str) -> &str {
    manifest.split_once('\n').map_or(manifest, |(_, rest)| rest)
}

/// What mkfs.jffs2 and, where asked for, sumtool make of the tree at `root`.
fn image(folder: &Path, root: &Path, order: &str, wanted: &Wanted) -> Contents {
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
    Contents::of(fs::read(&file).unwrap())
}

/// How an image of the tree at `root` differs from it in either byte order.
fn differences(folder: &Path, root: &Path, kernel: &str, wanted: &Wanted) -> Vec<String> {
    let compare = |order: &str| {
        let contents = image(folder, root, order, wanted);
        let hints = Hints {
            block: Some(Bytes::new(wanted.block << 10)),
            oob: Some(Bytes::ZERO),
            partial: true,
            ..Hints::default()
        };
        let ours = manifest_of(&contents, &hints).unwrap_or_else(|error| error);
        let found = difference(below_root(kernel), below_root(&ours))?;
        Some(format!("{}, {}, {order}: {found}", root.display(), wanted.name))
    };
    ["-l", "-b"].into_iter().filter_map(compare).collect()
}

#[test]
fn images_of_mkfs_and_sumtool_are_read_here_in_both_byte_orders() {
    if Guest::find().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.path();
    let program = guest_files(folder);
    let mut found = Vec::new();
    let trees = trees::all(Seed::new(1));
    for (number, tree) in trees.iter().filter(|tree| PLAIN.contains(&tree.name)).enumerate() {
        let (list, root) = (folder.join("list"), folder.join(tree.name));
        fs::write(&list, &tree.operations).unwrap();
        let kernel = make(&program, &root, &list);
        // Two of the images of a tree, and of the next tree the next two.
        let wanted = IMAGES.iter().cycle().skip(number * 2);
        for wanted in wanted.take(if full() { IMAGES.len() } else { 2 }) {
            found.extend(differences(folder, &root, &kernel, wanted));
        }
        fs::remove_dir_all(&root).unwrap();
    }
    assert_none(&found);
}
