//! The comparison of a folder with an image of it.

use boardlab_image::{Contents, Damage, Hints, MountedImage, open};
use boardlab_sim::Clock;
use boardlab_vfs::{FileSystem, Kind, Mount};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The filesystem of an image in which nothing is damaged.
pub(crate) fn mounted(bytes: &[u8]) -> (Mount<impl FileSystem + use<>>, Clock) {
    let mut image = open(&Contents::of(bytes.to_vec()), &Hints::default()).unwrap();
    let damage = Damage::of(&mut image).unwrap();
    assert!(damage.is_whole() && damage.audit.places.is_empty(), "{damage:?}");
    let MountedImage { fs, clock, .. } = image;
    (Mount::new(fs), clock)
}

/// Compares a folder with the image; the number of names.
pub(crate) fn compare<F: FileSystem>(
    mount: &mut Mount<F>,
    clock: &mut Clock,
    host: &Path,
    path: &[u8],
) -> usize {
    let told = host.symlink_metadata().unwrap();
    let stat = mount.lstat(clock, if path.is_empty() { b"/" } else { path }).unwrap();
    let name = host.display();
    assert_eq!(stat.kind.mode_bits() | stat.mode, told.mode(), "{name}");
    assert_eq!((stat.uid, stat.gid, stat.modified.seconds), (told.uid(), told.gid(), told.mtime()));
    match stat.kind {
        Kind::Directory => {
            let mut names: Vec<Vec<u8>> = fs::read_dir(host)
                .unwrap()
                .map(|one| one.unwrap().file_name().as_bytes().to_vec())
                .collect();
            names.sort();
            let found = mount.readdir(clock, if path.is_empty() { b"/" } else { path }).unwrap();
            let mut found: Vec<Vec<u8>> = found.into_iter().map(|entry| entry.name).collect();
            // YAFFS has one of its own.
            found.retain(|name| name != b"lost+found");
            found.sort();
            let missing = names.iter().filter(|one| !found.contains(one)).count();
            let added = found.iter().filter(|one| !names.contains(one)).count();
            assert_eq!((found.len(), missing, added), (names.len(), 0, 0), "{name}");
            let below = names.iter().map(|one| {
                let path = [path, b"/", one].concat();
                compare(mount, clock, &host.join(OsStr::from_bytes(one)), &path)
            });
            return 1 + below.sum::<usize>();
        }
        Kind::Symlink => {
            let target = fs::read_link(host).unwrap();
            assert_eq!(mount.readlink(clock, path).unwrap(), target.as_os_str().as_bytes());
        }
        _ => {
            assert_eq!((u64::from(stat.links), stat.size), (told.nlink(), told.len()), "{name}");
            let fd = mount.open(clock, path).unwrap();
            let mut bytes = vec![1; usize::try_from(told.len()).unwrap() + 1];
            let length = mount.read(clock, fd, 0, &mut bytes).unwrap();
            assert!(bytes[..length] == fs::read(host).unwrap(), "content of {name}");
            mount.close(clock, fd).unwrap();
        }
    }
    1
}
