//! Images of `mkfs.ubifs`, held against the tree that they were made from.
use crate::support::{check, mount, nand};
use boardlab_sim::Clock;
use boardlab_ubi::RamLebs;
use boardlab_ubifs::{Options, Ubifs};
use boardlab_vfs::script::content;
use boardlab_vfs::{Kind, Mount};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boardlab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Writes the tree that images are made from.
fn write_tree(root: &Path) {
    fs::create_dir_all(root.join("dir/sub")).unwrap();
    fs::write(root.join("empty"), b"").unwrap();
    fs::write(root.join("dir/text"), b"the flash filesystem on volumes\n".repeat(900)).unwrap();
    for number in 0..60_u64 {
        let length = usize::try_from(number * number * 37).unwrap();
        fs::write(root.join(format!("dir/sub/file{number}")), content(length, number)).unwrap();
    }
    std::os::unix::fs::symlink("dir/text", root.join("link")).unwrap();
    fs::hard_link(root.join("dir/text"), root.join("hard")).unwrap();
}

/// An image of the tree; `None` when there is no mkfs.ubifs.
fn image(folder: &Folder, arguments: &[&str]) -> Option<Vec<u8>> {
    let tool = ["/usr/sbin/mkfs.ubifs", "/sbin/mkfs.ubifs"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let Some(tool) = tool else {
        eprintln!("skipped: needs mkfs.ubifs");
        return None;
    };
    let target = folder.0.join("image");
    let output = Command::new(tool)
        .args(["-m", "2048", "-e", "126976", "-c", "200", "-r"])
        .arg(folder.0.join("tree"))
        .args(arguments)
        .arg(&target)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(fs::read(target).unwrap())
}

/// Compares a folder of the host with one of the image.
fn compare(clock: &mut Clock, mount: &mut Mount<Ubifs<RamLebs>>, host: &Path, path: &str) -> usize {
    let mut names: Vec<String> = fs::read_dir(host)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let found = mount.readdir(clock, if path.is_empty() { "/" } else { path }).unwrap();
    let mut entries: Vec<String> =
        found.into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect();
    entries.sort();
    assert_eq!(entries, names, "names of {path}/");
    let mut count = 0;
    for name in names {
        let (host, path) = (host.join(&name), format!("{path}/{name}"));
        let stat = mount.lstat(clock, &path).unwrap();
        count += 1;
        match stat.kind {
            Kind::Directory => count += compare(clock, mount, &host, &path),
            Kind::Symlink => {
                let target = fs::read_link(&host).unwrap();
                assert_eq!(
                    mount.readlink(clock, &path).unwrap(),
                    target.to_str().unwrap().as_bytes()
                );
            }
            _ => {
                let expected = fs::read(&host).unwrap();
                let fd = mount.open(clock, &path).unwrap();
                let mut bytes = vec![0; expected.len() + 1];
                let length = mount.read(clock, fd, 0, &mut bytes).unwrap();
                bytes.truncate(length);
                assert!(bytes == expected, "content of {path}");
                mount.close(clock, fd).unwrap();
            }
        }
    }
    count
}

fn reads(arguments: &[&str]) {
    let folder = Folder::new(&format!("mkfs-{}", arguments.concat().replace('-', "")));
    let tree = folder.0.join("tree");
    write_tree(&tree);
    let Some(image) = image(&folder, arguments) else { return };
    for read_only in [true, false] {
        let mut clock = Clock::new();
        let lebs = RamLebs::with_image(nand(200), &image);
        let mut fs = mount(&mut clock, lebs, Options { read_only, ..Options::default() });
        check(&mut clock, &mut fs);
        let mut mounted = Mount::new(fs);
        assert_eq!(compare(&mut clock, &mut mounted, &tree, ""), 66);
        mounted.unmount(&mut clock).unwrap();
        let lebs = mounted.into_fs().into_lebs();
        let mut fs = mount(&mut clock, lebs, Options { read_only, ..Options::default() });
        check(&mut clock, &mut fs);
    }
}

#[test]
fn an_image_with_lzo_reads_as_its_tree() {
    reads(&["-x", "lzo"]);
}

#[test]
fn an_image_with_zlib_reads_as_its_tree() {
    reads(&["-x", "zlib"]);
}

#[test]
fn an_image_with_zstd_reads_as_its_tree() {
    reads(&["-x", "zstd"]);
}

#[test]
fn an_image_without_compression_reads_as_its_tree() {
    reads(&["-x", "none"]);
}

#[test]
fn an_image_to_fix_up_reads_as_its_tree() {
    reads(&["-x", "lzo", "-F"]);
}
