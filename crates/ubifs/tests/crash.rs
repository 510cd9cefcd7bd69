//! The power is cut between two operations: nothing is unmounted, and the journal is replayed.
use crate::support::{check, checked, fresh, mount, nand, small_nand};
use boardlab_sim::{Clock, Duration, Seed};
use boardlab_ubi::lebs::Shape;
use boardlab_ubifs::{Mistake, Options};
use boardlab_vfs::script::content;
use boardlab_vfs::{FileSystem, MemoryFs, Mix, Mount, compare};

#[test]
fn a_tree_survives_unmount_and_mount() {
    for shape in [nand(40), small_nand(120)] {
        let mut clock = Clock::new();
        let mut fs = fresh(&mut clock, shape);
        fs.mkdir(&mut clock, "/d", 0o755).unwrap();
        let fd = fs.create(&mut clock, "/d/f", 0o644).unwrap();
        fs.write(&mut clock, fd, 0, &content(100_000, 1)).unwrap();
        fs.close(&mut clock, fd).unwrap();
        fs.symlink(&mut clock, "d/f", "/l").unwrap();
        fs.sync(&mut clock).unwrap();
        fs.fs().check_tables().unwrap();
        fs.unmount(&mut clock).unwrap();
        let lebs = fs.into_fs().into_lebs();
        let mut fs = mount(&mut clock, lebs, checked());
        check(&mut clock, &mut fs);
        let mut fs = Mount::new(fs);
        let fd = fs.open(&mut clock, "/l").unwrap();
        let mut bytes = vec![0; 100_001];
        assert_eq!(fs.read(&mut clock, fd, 0, &mut bytes).unwrap(), 100_000);
        assert_eq!(bytes[..100_000], content(100_000, 1));
    }
}

/// After every synced batch of operations, the volume as it is mounts, and holds the same tree.
fn crashes(name: &str, shape: Shape) {
    let (mut clock, mut stream) = (Clock::new(), Seed::new(7).stream(name));
    let mut real = fresh(&mut clock, shape);
    let mut model = Mount::new(MemoryFs::new());
    let mix = Mix::default();
    for _ in 0..12 {
        for _ in 0..120 {
            let action = mix.draw(&mut stream);
            let answer = action.apply(&mut real, &mut clock);
            assert!(answer == action.apply(&mut model, &mut clock), "{action:?}");
            clock.advance(Duration::from_millis(20));
        }
        real.sync(&mut clock).unwrap();
        let more = real.mkdir(&mut clock, "/unsynced", 0o755).is_ok();
        let lebs = real.fs().lebs().clone();
        let mut fs = mount(&mut clock, lebs, checked());
        check(&mut clock, &mut fs);
        let mut crashed = Mount::new(fs);
        if more {
            crashed.rmdir(&mut clock, "/unsynced").ok();
            real.rmdir(&mut clock, "/unsynced").unwrap();
        }
        let difference = compare(&mut crashed, &mut model, &mut clock).unwrap();
        assert_eq!(difference.map(|difference| difference.to_string()), None);
    }
}

#[test]
fn a_cut_after_a_sync_keeps_the_tree_on_nand() {
    crashes("ubifs.crash.nand", nand(64));
}

#[test]
fn a_cut_after_a_sync_keeps_the_tree_on_small_blocks() {
    crashes("ubifs.crash.small", small_nand(200));
}

/// Deletes a file that stays open, commits, cuts the power, and mounts twice.
fn deletes_an_open_file(mistake: Option<Mistake>) -> Result<(), boardlab_ubifs::Error> {
    let mut clock = Clock::new();
    let mut real = fresh(&mut clock, nand(64));
    let fd = real.create(&mut clock, "/open", 0o644).unwrap();
    real.write(&mut clock, fd, 0, &content(50_000, 3)).unwrap();
    real.sync(&mut clock).unwrap();
    real.unlink(&mut clock, "/open").unwrap();
    real.sync(&mut clock).unwrap();
    let lebs = real.fs().lebs().clone();
    let options = Options { mistake, ..Options::default() };
    let mut fs = mount(&mut clock, lebs, options.clone());
    fs.unmount(&mut clock).unwrap();
    let mut fs = mount(&mut clock, fs.into_lebs(), options);
    fs.check_all(&mut clock)
}

#[test]
fn an_open_file_without_a_name_is_gone_after_a_cut() {
    assert_eq!(deletes_an_open_file(None), Ok(()));
}

#[test]
fn orphans_that_are_kept_are_found() {
    assert!(deletes_an_open_file(Some(Mistake::KeepsOrphans)).is_err());
}
