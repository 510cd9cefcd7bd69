//! A folder of this machine with files of every kind that anybody can make.

use boardlab_sim::{Seed, Stream};
use boardlab_vfs::script::content;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// A tree of every kind of file that anybody can make, drawn from a seed.
pub(crate) fn plant(folder: &Path, seed: u64) {
    let mut stream = Seed::new(seed).stream("tree");
    let mut folders = vec![folder.to_path_buf()];
    for number in 0..150_u64 {
        let parent = folders[below(&mut stream, folders.len())].clone();
        let name = match below(&mut stream, 4) {
            0 => format!("n{number}").into_bytes(),
            1 => format!("name with spaces {number}").into_bytes(),
            2 => [&b"\xff\x01"[..], number.to_string().as_bytes()].concat(),
            _ => format!("{}{number}", "long".repeat(50)).into_bytes(),
        };
        let path = parent.join(OsStr::from_bytes(&name));
        match below(&mut stream, 8) {
            0 => {
                fs::create_dir(&path).unwrap();
                folders.push(path.clone());
            }
            1 => {
                let target = "../".repeat(below(&mut stream, 60)) + "x";
                symlink(target, &path).unwrap();
                continue;
            }
            2 => {
                let file = File::create(&path).unwrap();
                let at = u64::try_from(below(&mut stream, 300_000)).unwrap();
                file.write_all_at(b"after a hole", at).unwrap();
                file.set_len(at + u64::try_from(below(&mut stream, 90_000)).unwrap()).unwrap();
            }
            3 if number > 9 => {
                let files = fs::read_dir(folder).unwrap().map(|one| one.unwrap());
                let mut files: Vec<_> =
                    files.filter(|one| one.file_type().unwrap().is_file()).collect();
                files.sort_by_key(fs::DirEntry::file_name);
                if let Some(first) = files.first() {
                    fs::hard_link(first.path(), &path).unwrap();
                }
                continue;
            }
            _ => {
                let length = below(&mut stream, 30_000);
                fs::write(&path, content(length, number)).unwrap();
            }
        }
        let mode = u32::try_from(0o400 + below(&mut stream, 0o400)).unwrap() | 0o300;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (folder, days) in folders.iter().zip(1_u64..) {
        let time = UNIX_EPOCH + Duration::from_secs(days * 86_400);
        File::open(folder).unwrap().set_modified(time).unwrap();
    }
}

pub(crate) fn below(stream: &mut Stream, bound: usize) -> usize {
    usize::try_from(stream.below(u64::try_from(bound).unwrap())).unwrap()
}
