//! JFFS2 that `boardlab image create` makes of a folder with a table of devices, for the kernel: on NOR (mtdram), and
//! on NAND (nandsim) as a raw dump around bad blocks. It reads it, says nothing against it, and writes to it.

use crate::flash::manifest_of;
use crate::made::plant;
use crate::writes::{MORE, complaints};
use crate::{assert_none, difference};
use boardlab_checks::binary::Scratch;
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_image::make::{
    Compression, FileOptions, Flash as Target, Jffs2Options, Pad, Placing, of_folder,
};
use boardlab_image::{Contents, Hints};
use boardlab_sim::{Bytes, Seed};
use std::fmt::Write;

/// The bad blocks of the NAND, of which the first would have the first data.
const BAD: [u32; 4] = [0, 3, 4, 17];
/// Erase blocks of both flashes.
const BLOCKS: u32 = 64;

const TABLE: &str = "\
/dev d 755 0 0
/dev/console c 600 0 5 5 1
/dev/mtdblock b 640 0 6 31 0 0 1 8
/dev/wide c 640 0 6 300 70000
/dev/log p 622 0 0
/text f 4711 3 4
/deep d 1777 7 8
";

/// In the guest: look at an image, change it, look again.
const LOOK: &str = r#"
look() { # NAME
  dmesg -c >/dev/null
  mount -t jffs2 -o ro mtd0 /mnt
  guest-files manifest /mnt >/h/$1.manifest
  mount -o remount,rw /mnt
  guest-files run /mnt </h/more.list
  umount /mnt
  mount -t jffs2 -o ro mtd0 /mnt
  guest-files manifest /mnt >/h/$1.after
  umount /mnt
  dmesg >/h/$1.dmesg
}
"#;

fn target(page: usize, oob: Option<usize>, block: usize) -> Target {
    let bytes = |size: usize| Bytes::new(u64::try_from(size).unwrap());
    Target { oob: oob.map(bytes), ..Target::of(bytes(page), bytes(block)) }
}

/// An image of a flash, what ours finds in it, and what the guest does to have it on a flash.
struct Case {
    name: String,
    image: Vec<u8>,
    manifest: String,
    job: String,
}

fn case(name: &str, target: &Target, jffs2: Jffs2Options, compression: Compression) -> Case {
    let scratch = Scratch::new();
    let folder = scratch.path().join("tree");
    std::fs::create_dir(&folder).unwrap();
    plant(&folder);
    let table = scratch.path().join("table");
    std::fs::write(&table, TABLE).unwrap();
    let bad_blocks = if target.oob.is_some() { BAD.to_vec() } else { Vec::new() };
    let options = FileOptions {
        fs: "jffs2".into(),
        compression: Some(compression),
        jffs2,
        devices: Some(table),
        placing: Placing { pad: Some(Pad::Blocks(BLOCKS.into())), bad_blocks },
        ..FileOptions::default()
    };
    let made = of_folder(&folder, target, &options, Seed::new(1));
    let made = made.unwrap_or_else(|error| panic!("{error}"));
    assert!(made.left_out.is_empty(), "{:?}", made.left_out);
    let image = made.bytes;
    let manifest = manifest_of(&Contents::of(image.clone()), &Hints::default()).unwrap();
    assert_eq!(manifest.lines().count(), 319, "{manifest}");
    Case { name: name.into(), image, manifest, job: String::new() }
}

fn on_nand(name: &str, flash: Flash, jffs2: Jffs2Options, compression: Compression) -> Case {
    let made_for = target(flash.page, Some(flash.oob), flash.block());
    let case = case(name, &made_for, jffs2, compression);
    let bad = BAD.map(|block| block.to_string()).join(",");
    let load = flash.load_blocks(&[usize::try_from(BLOCKS).unwrap()]);
    let load = load.replace("modprobe nandsim", &format!("modprobe nandsim badblocks={bad}"));
    let job = format!(
        "{load}\ncp /h/{name}.image /tmp/dump\n\
         nandwrite -q -n -o -N /dev/mtd0 /tmp/dump >/dev/null\nlook {name}\nrmmod nandsim\n"
    );
    Case { job, ..case }
}

fn on_nor(name: &str, block: usize, jffs2: Jffs2Options, compression: Compression) -> Case {
    let case = case(name, &target(1, None, block), jffs2, compression);
    let (kib, block) = (case.image.len() >> 10, block >> 10);
    let job = format!(
        "modprobe mtdram total_size={kib} erase_size={block}\n\
         dd if=/h/{name}.image of=/dev/mtd0 bs=64k 2>/dev/null\nlook {name}\nrmmod mtdram\n"
    );
    Case { job, ..case }
}

#[test]
fn what_create_makes_of_a_folder_is_read_and_written_by_the_kernel() {
    let Some(guest) = Guest::find() else { return };
    let plain = Jffs2Options::default();
    let bare = Jffs2Options { cleanmarkers: false, ..plain };
    let summary = Jffs2Options { summary: true, ..plain };
    let cases = [
        on_nor("nor", 128 << 10, plain, Compression::Priority),
        on_nor("nor-bare", 256 << 10, bare, Compression::None),
        on_nor("nor-summary", 128 << 10, summary, Compression::Rtime),
        on_nand("nand", nandsim::ALL[1], plain, Compression::Size),
        on_nand("nand-summary", nandsim::ALL[1], summary, Compression::Lzo),
        on_nand("nand-large", nandsim::ALL[2], bare, Compression::FavorLzo),
    ];
    let (share, mut job) = (Share::default(), LOOK.to_owned());
    share.write("more.list", MORE);
    for case in &cases {
        share.write(&format!("{}.image", case.name), &case.image);
        write!(job, "{}", case.job).unwrap();
    }
    guest.run(&share, &job);
    let mut found = Vec::new();
    for Case { name, manifest, .. } in &cases {
        let kernel = share.text_of(&format!("{name}.manifest"));
        found.extend(difference(&kernel, manifest).map(|found| format!("{name}: {found}")));
        let after = share.text_of(&format!("{name}.after"));
        assert!(after.contains("more/three ") && after.lines().count() == 321, "{name}: {after}");
        let log = share.text_of(&format!("{name}.dmesg"));
        let complaints = complaints(&log);
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    }
    assert_none(&found);
}
