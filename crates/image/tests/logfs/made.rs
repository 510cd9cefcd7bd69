//! New images of the files of a folder.

use crate::asked::{faults, opened};
use crate::images::told;
use boardlab_image::Hints;
use boardlab_image::files::Taking;
use boardlab_image::make::{Compression, FileOptions, Flash, Made, MakeError, NewTags, of_folder};
use boardlab_sim::{Bytes, Seed};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("boardlab-logfs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("dir/sub")).unwrap();
        fs::write(path.join("dir/hello"), "hello\n").unwrap();
        fs::write(path.join("dir/sub/zeros"), vec![0; 300_000]).unwrap();
        let noise: Vec<u8> =
            (0..200_000_u32).map(|at| (at.wrapping_mul(at) / 7).to_le_bytes()[1]).collect();
        fs::write(path.join("noise"), noise).unwrap();
        fs::write(path.join("empty"), "").unwrap();
        fs::hard_link(path.join("dir/hello"), path.join("again")).unwrap();
        symlink("dir/hello", path.join("link")).unwrap();
        fs::set_permissions(path.join("noise"), fs::Permissions::from_mode(0o4750)).unwrap();
        (0..40).for_each(|number| {
            fs::write(path.join(format!("dir/f{number}")), vec![1; number]).unwrap();
        });
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn flash(page: u64, oob: Option<u64>) -> Flash {
    Flash { oob: oob.map(Bytes::new), ..Flash::of(Bytes::new(page), Bytes::kib(128)) }
}

fn options(compression: Option<Compression>) -> FileOptions {
    FileOptions {
        fs: "logfs".into(),
        max_lebs: 64,
        compression,
        volume: None,
        taking: Taking { squash: true, latest: Some(1_700_000_000), ..Taking::default() },
        ..FileOptions::default()
    }
}

fn make(scratch: &Scratch, flash: &Flash, options: &FileOptions) -> Result<Made, MakeError> {
    of_folder(&scratch.0, flash, options, Seed::new(1))
}

#[test]
fn an_image_has_the_files_of_its_folder_on_every_flash() {
    let scratch = Scratch::new("flash");
    let mut seen = None;
    for (page, oob) in
        [(2_048, Some(64)), (2_048, None), (4_096, Some(128)), (512, Some(16)), (1, None)]
    {
        for compression in [None, Some(Compression::Zlib)] {
            let made = make(&scratch, &flash(page, oob), &options(compression)).unwrap();
            let size = 64 * 128 * 1_024 / page * (page + oob.unwrap_or(0));
            assert_eq!((made.bytes.len() as u64, made.left_out.len()), (size, 0), "{page} {oob:?}");
            let found = told(&made.bytes);
            assert_eq!(seen.get_or_insert(found.clone()), &found, "{page} {oob:?} {compression:?}");
            assert_eq!(faults(&made.bytes), [""; 0]);
        }
    }
    let seen = seen.unwrap();
    assert_eq!(seen.lines().count(), 49, "{seen}");
    assert!(seen.contains("link l 0777 0 0 1 9 1700000000 - dir/hello"), "{seen}");
    assert!(seen.contains("noise f 4750 0 0 1 200000 1700000000"), "{seen}");
    assert!(seen.contains("again f 0644 0 0 2 6 1700000000"), "{seen}");
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let scratch = Scratch::new("same");
    let image = || make(&scratch, &flash(2_048, Some(64)), &options(None)).unwrap().bytes;
    assert!(image() == image());
}

#[test]
fn compression_takes_less_room() {
    let scratch = Scratch::new("small");
    let used = |compression| {
        let made = make(&scratch, &flash(2_048, None), &options(compression)).unwrap();
        let mut found = opened(&made.bytes, &Hints::default()).unwrap();
        let stat = found.fs.statfs(&mut found.clock).unwrap();
        stat.blocks - stat.free
    };
    assert!(used(Some(Compression::Zlib)) + 20 < used(None));
}

#[test]
fn what_does_not_fit_is_refused() {
    let scratch = Scratch::new("refused");
    let refused = |flash: Flash, options: FileOptions| {
        make(&scratch, &flash, &options).unwrap_err().to_string()
    };
    let nand = flash(2_048, Some(64));
    let small = refused(nand, FileOptions { max_lebs: 29, ..options(None) });
    assert!(small.contains("full") || small.contains("no space"), "{small}");
    let few = refused(nand, FileOptions { max_lebs: 20, ..options(None) });
    assert_eq!(few, "segments is 20, expected 28");
    let none = refused(nand, FileOptions { max_lebs: 0, ..options(None) });
    assert!(none.starts_with("--max-blocks N is missing"), "{none}");
    let lzo = refused(nand, options(Some(Compression::Lzo)));
    assert!(lzo.starts_with("--compression"), "{lzo}");
    let tags = refused(nand, FileOptions { tags: NewTags::InBand, ..options(None) });
    assert!(tags.starts_with("--tags"), "{tags}");
    let large = refused(flash(8_192, None), options(None));
    assert_eq!(large, "write size is 4096, expected 8192");
}
