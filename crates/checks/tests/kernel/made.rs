//! A flash that `boardlab image create` makes of a folder: UBI with UBIFS, OOB bytes and ECC.

use crate::stack::manifest_of_dump;
use boardlab_checks::binary::Scratch;
use boardlab_checks::nandsim::Flash;
use boardlab_image::make::{Compression, FileOptions, Flash as Target, of_folder};
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::script::content;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

/// Files of many lengths, links of both kinds, a hole and a pipe.
pub(crate) fn plant(folder: &Path) {
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    for number in 0..300_u64 {
        let length = usize::try_from(number * 97 % 20_000).unwrap();
        fs::write(folder.join(format!("deep/er/{number}")), content(length, number)).unwrap();
    }
    fs::write(folder.join("text"), "what a board writes at its first start\n".repeat(9_000))
        .unwrap();
    fs::hard_link(folder.join("text"), folder.join("deep/again")).unwrap();
    symlink("../text", folder.join("deep/link")).unwrap();
    let file = File::create(folder.join("hole")).unwrap();
    file.write_all_at(b"behind it", 700_000).unwrap();
}

/// The whole flash with spare bytes, and what ours finds on it.
pub(crate) fn made(flash: Flash, mebibytes: usize) -> (String, Vec<u8>) {
    let scratch = Scratch::new();
    plant(scratch.path());
    let bytes = |size: usize| Bytes::new(u64::try_from(size).unwrap());
    let made_for = Target {
        sub_page: Some(bytes(flash.page / 4)),
        erase_counter: 3,
        image_seq: Some(7),
        oob: Some(bytes(flash.oob)),
        ..Target::of(bytes(flash.page), bytes(flash.block()))
    };
    let options = FileOptions {
        fs: "ubifs".into(),
        max_lebs: u32::try_from(flash.blocks_of(mebibytes)).unwrap(),
        compression: Some(Compression::FavorLzo),
        fix_up: true,
        volume: Some("volume".into()),
        ..FileOptions::default()
    };
    let made = of_folder(scratch.path(), &made_for, &options, Seed::new(1));
    let mut dump = made.unwrap_or_else(|error| panic!("{error}")).bytes;
    dump.resize(flash.raw_size(mebibytes), 0xFF);
    let manifest = manifest_of_dump(flash, &dump, true);
    assert_eq!(manifest.lines().count(), 307, "{manifest}");
    (manifest, dump)
}
