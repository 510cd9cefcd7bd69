//! What POSIX and Linux promise of files, case by case (`oracles/posix.list`): of the kernel's own JFFS2 and UBIFS, and
//! of mounts of `boardlab image mount --rw`, all in the guest.
//!
//! What a filesystem cannot do is named here, with its reason. Of JFFS2 and UBIFS the kernel's own does the same; nobody
//! has YAFFS2 or LogFS in that kernel.

use crate::mounted::{CHANGE, create};
use boardlab_checks::Repository;
use boardlab_checks::binary::Boardlab;
use boardlab_checks::guest::{Guest, Share};
use std::collections::BTreeSet;
use std::fs;

/// A filesystem in a file, and what it cannot do.
struct Case {
    name: &'static str,
    /// Options of `image create`.
    create: &'static str,
    /// The size that it grows to by erased bytes.
    size: usize,
    /// Options of the mount.
    mount: &'static str,
    /// The cases that differ, by the reason.
    differ: &'static [(&'static str, &'static [&'static str])],
}

const SECONDS: (&str, &[&str]) = ("times of whole seconds", &["nanoseconds"]);
const NO_CTIME: (&str, &[&str]) = (
    "an inode is not written when a name or an attribute of it changes",
    &[
        "a new link changes ctime",
        "a lost link changes ctime",
        "changing an attribute changes ctime",
    ],
);
const ONE_LINK: (&str, &[&str]) = (
    "a folder does not count its folders",
    &["a folder counts its folders", "a folder has no further name", "a folder goes elsewhere"],
);

const CASES: [Case; 4] = [
    Case {
        name: "jffs2",
        create: "--fs jffs2 --page 1 --block 64KiB",
        size: 256 * (64 << 10),
        mount: "--block 64KiB",
        differ: &[
            SECONDS,
            NO_CTIME,
            ("names of 254 bytes", &["the longest name", "how long a name may be"]),
            ("targets of 254 bytes", &["a target of 1000 letters", "a target of 4095 letters"]),
            ("owners of 16 bits", &["a very large owner"]),
            ("times of 32 bits", &["times before 1970", "times after 2106"]),
        ],
    },
    Case {
        name: "ubifs",
        create: "--page 2KiB --block 128KiB --max-blocks 200",
        size: 200 * (128 << 10),
        mount: "",
        differ: &[SECONDS],
    },
    Case {
        name: "yaffs2",
        create: "--fs yaffs2 --page 2KiB --oob 64 --block 128KiB",
        size: 200 * 64 * (2_048 + 64),
        mount: "--block 128KiB",
        differ: &[
            SECONDS,
            NO_CTIME,
            ONE_LINK,
            ("names of 254 bytes", &["the longest name", "how long a name may be"]),
            (
                "targets of 159 bytes",
                &[
                    "a target of 254 letters",
                    "a target of 1000 letters",
                    "a target of 4095 letters",
                ],
            ),
            ("attributes lie in the header's page", &["an attribute of 2000 letters"]),
            (
                "what is written changes only mtime, and truncate(2) only ctime",
                &["content changes times", "a length changes times"],
            ),
        ],
    },
    Case {
        name: "logfs",
        create: "--fs logfs --page 2KiB --oob 64 --block 128KiB --max-blocks 200",
        size: 200 * 64 * (2_048 + 64),
        mount: "",
        differ: &[
            ONE_LINK,
            ("times without a sign", &["times before 1970"]),
            (
                "no extended attributes",
                &[
                    "an attribute",
                    "an attribute that is new or not",
                    "an attribute that is not there",
                    "an attribute that is larger than its place",
                    "attributes go with their file",
                    "attributes of a folder",
                    "no user's attributes on links",
                    "an attribute of 2000 letters",
                    "changing an attribute changes ctime",
                ],
            ),
        ],
    },
];

/// What the kernel's own filesystem does otherwise than ours, with the reason.
const KERNEL: [(&str, &str); 3] = [
    // It maps no writable file, and FUSE does that with the page cache.
    ("jffs2", "a write through a map is read"),
    ("jffs2", "a map shows what was written"),
    // It changes mtime in ftruncate(2) only.
    ("jffs2", "a length changes times"),
];

/// In the guest: the kernel's own filesystems, and the images.
const JOB: &str = r#"
try() { guest-posix $1 </h/posix.list >/h/$2; }
modprobe mtdram total_size=16384 erase_size=64
mount -t jffs2 mtd0 /mnt; try /mnt jffs2.kernel; umount /mnt; rmmod mtdram
modprobe nandsim first_id_byte=0x20 second_id_byte=0xa2 third_id_byte=0 fourth_id_byte=0x15
modprobe ubi; ubiattach -m 0 >/dev/null; ubimkvol /dev/ubi0 -N own -m >/dev/null
mount -t ubifs ubi0:own /mnt; try /mnt ubifs.kernel; umount /mnt
modprobe fuse
"#;

/// The cases of which a run says that they differ, and how.
fn differing(told: &str) -> BTreeSet<(&str, &str)> {
    let lines = told.lines().filter_map(|line| line.strip_prefix("differs "));
    lines.map(|line| line.split_once(": ").unwrap()).collect()
}

#[test]
fn mounts_keep_the_promises_of_posix_that_their_filesystem_can_keep() {
    let Some(guest) = Guest::find() else { return };
    let share = Share::new();
    let list = Repository::here().root().join("oracles/posix.list");
    let list = fs::read_to_string(list).unwrap();
    share.write("posix.list", &list);
    let mut job = share.program(Boardlab::built().path()) + "BOARDLAB=boardlab\n" + CHANGE + JOB;
    for case in &CASES {
        let Case { name, create: options, size, mount, .. } = case;
        create(&share, name, options, *size);
        job += &format!(
            "cp /h/{name} /tmp/{name}; mount_image /tmp/{name} /tmp/m --rw {mount}\n\
             mkdir /tmp/m/t; try /tmp/m/t {name}.ours; unmount; rm /tmp/{name}*\n"
        );
    }
    guest.run(&share, &job);
    let count = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    for case in &CASES {
        let told = share.text_of(&format!("{}.ours", case.name));
        assert_eq!(told.lines().count(), count, "{}", case.name);
        let ours = differing(&told);
        let expected: BTreeSet<&str> =
            case.differ.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let names: BTreeSet<&str> = ours.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, expected, "{}: {ours:#?}", case.name);
        let Some(kernel) = share.read(&format!("{}.kernel", case.name)) else { continue };
        let kernel = String::from_utf8(kernel).unwrap();
        let own = |(name, _): &(&str, &str)| !KERNEL.contains(&(case.name, *name));
        let kernel: BTreeSet<_> = differing(&kernel).into_iter().filter(own).collect();
        assert_eq!(ours, kernel, "{}", case.name);
    }
}
