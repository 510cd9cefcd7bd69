//! The kernel in the repository, `os/kernel.elf`, against its sources.
use crate::kernel;

use std::fs;
use std::path::Path;

#[test]
fn the_kernel_in_the_repository_is_what_its_sources_give() {
    let Some(folder) = kernel::build() else { return };
    let release = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel-release");
    fs::create_dir_all(&release).unwrap();
    let release_here = format!("RELEASE={}", release.display());
    kernel::make_from(&kernel::sources(), folder, &[&release_here, "release"]);
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap();
    let [built, here] = [read(&kernel::sources(), "kernel.txt"), read(&release, "kernel.txt")];
    if built != here {
        let [built, here] = [built, here].map(|text| String::from_utf8_lossy(&text).into_owned());
        eprintln!("not compared: the kernel was built by {built}, and this machine has {here}");
        return;
    }
    let same = read(&kernel::sources(), "kernel.elf") == read(&release, "kernel.elf");
    assert!(same, "os/kernel.elf is not what os/ gives: `make -C os release` builds it again");
}
