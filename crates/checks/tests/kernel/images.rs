//! Images of mkfs.jffs2 and sumtool, in both byte orders, read here.

use crate::flash::manifest_of;
use crate::{assert_none, difference};
use boardlab_checks::binary::Scratch;
use boardlab_checks::guest::Guest;
use boardlab_checks::trees;
use boardlab_image::{Contents, Hints};
use boardlab_sim::{Bytes, Seed};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What mkfs.jffs2 is asked for besides the tree: name, options, KiB of an erase block, whether sumtool goes
/// over it.
const IMAGES: [(&str, &[&str], u64, bool); 8] = [
    ("nand", &["-n"], 128, false),
    ("nand with summaries", &["-n"], 128, true),
    ("nor", &[], 16, false),
    ("nor with summaries", &[], 16, true),
    ("not compressed", &["-m", "none"], 64, false),
    ("smallest", &["-m", "size", "-n"], 64, false),
    ("lzo", &["-x", "zlib", "-X", "lzo", "-y", "100:lzo", "-n"], 64, false),
    ("rtime", &["-x", "zlib", "-x", "lzo", "-n"], 64, false),
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

#[test]
fn images_of_mkfs_and_sumtool_are_read_here_in_both_byte_orders() {
    if Guest::find().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.path();
    let program = guest_files(folder);
    let mut differences = Vec::new();
    let trees = trees::all(Seed::new(1));
    for (number, tree) in trees.iter().filter(|tree| PLAIN.contains(&tree.name)).enumerate() {
        let (list, root) = (folder.join("list"), folder.join(tree.name));
        fs::write(&list, &tree.operations).unwrap();
        let kernel = make(&program, &root, &list);
        // A tree with two of the images, and the next tree with the next two.
        for place in [number * 2 % IMAGES.len(), (number * 2 + 1) % IMAGES.len()] {
            for order in ["-l", "-b"] {
                let (name, options, block, summaries) = IMAGES[place];
                let image = folder.join("image");
                let size = format!("{block}KiB");
                run(Command::new("mkfs.jffs2")
                    .args(options)
                    .args([order, "-e", &size, "-r"])
                    .arg(&root)
                    .arg("-o")
                    .arg(&image));
                let mut file = image;
                if summaries {
                    let with = folder.join("with-summaries");
                    let kind: &[&str] = if options.contains(&"-n") { &["-n"] } else { &[] };
                    run(Command::new("sumtool")
                        .args(kind)
                        .args([order, "-e", &size, "-i"])
                        .arg(&file)
                        .arg("-o")
                        .arg(&with));
                    file = with;
                }
                let contents = Contents::of(fs::read(&file).unwrap());
                let hints = Hints {
                    block: Some(Bytes::new(block << 10)),
                    oob: Some(Bytes::ZERO),
                    partial: true,
                    ..Hints::default()
                };
                let ours = manifest_of(&contents, &hints).unwrap_or_else(|error| error);
                if let Some(found) = difference(below_root(&kernel), below_root(&ours)) {
                    differences.push(format!("{}, {name}, {order}: {found}", tree.name));
                }
            }
        }
        fs::remove_dir_all(&root).unwrap();
    }
    assert_none(&differences);
}
