//! Operations by inode: what they refuse, and that they and those of paths see each other's changes.

use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Error, Ino, Kind, MemoryFs, Mount, NewInode, OpenFlags, Place, SetAttr};

type Tried = Result<(), Error>;

fn mount() -> (Mount<MemoryFs>, Clock) {
    (Mount::new(MemoryFs::new()), Clock::new())
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> Errno {
    match result {
        Err(Error::Refused(errno)) => errno,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_is_no_name_reaches_no_filesystem() -> Tried {
    let (mut mount, mut clock) = mount();
    let root = mount.by_inode().root();
    let new = NewInode::of(Kind::File, 0o644);
    let long = [b'x'; 256];
    for (name, errno) in [
        (&b""[..], Errno::Inval),
        (b".", Errno::Inval),
        (b"..", Errno::Inval),
        (b"a/b", Errno::Inval),
        (b"/", Errno::Inval),
        (b"a\0", Errno::Inval),
        (&long, Errno::NameTooLong),
    ] {
        let mut by = mount.by_inode();
        assert_eq!(refused(by.lookup(&mut clock, root, name)), errno);
        assert_eq!(refused(by.create(&mut clock, root, name, &new)), errno);
        assert_eq!(refused(by.unlink(&mut clock, root, name)), errno);
        assert_eq!(refused(by.rmdir(&mut clock, root, name)), errno);
        let (good, bad) = (Place::new(vec![], root, b"a"), Place::new(vec![], root, name));
        assert_eq!(refused(by.rename(&mut clock, &good, &bad)), errno);
        assert_eq!(refused(by.rename(&mut clock, &bad, &good)), errno);
    }
    assert_eq!(mount.readdir(&mut clock, "/")?, []);
    Ok(())
}

#[test]
fn both_kinds_of_operations_see_what_the_other_did() -> Tried {
    let (mut mount, mut clock) = mount();
    let clock = &mut clock;
    let root = mount.by_inode().root();
    mount.mkdir(clock, "/d", 0o755)?;
    let dir = mount.by_inode().lookup(clock, root, b"d")?;
    let file = mount.by_inode().create(clock, dir, b"f", &NewInode::of(Kind::File, 0o4755))?;
    let fd = mount.by_inode().open(clock, file, OpenFlags::default())?;
    mount.write(clock, fd, 0, b"hello")?;
    assert_eq!((mount.stat(clock, "/d/f")?.size, mount.stat(clock, "/d/f")?.ino), (5, file));
    mount.by_inode().link(clock, file, root, b"second")?;
    mount.rename(clock, "/d", "/e")?;
    assert_eq!(refused(mount.by_inode().lookup(clock, root, b"d")), Errno::NoEnt);
    mount.by_inode().unlink(clock, dir, b"f")?;
    let change = SetAttr { size: Some(2), uid: Some(7), ..SetAttr::default() };
    mount.by_inode().set(clock, file, &change)?;
    let found = mount.stat(clock, "/second")?;
    assert_eq!((found.size, found.uid, found.mode, found.links), (2, 7, 0o755, 1));
    mount.close(clock, fd)?;
    mount.by_inode().forget(clock, file)?;
    assert_eq!(mount.by_inode().stat(clock, file)?.size, 2);
    mount.by_inode().rmdir(clock, root, b"e")?;
    assert_eq!(mount.readdir(clock, "/")?.len(), 1);
    Ok(())
}

#[test]
fn an_inode_without_names_lives_as_long_as_it_is_open() -> Tried {
    let (mut mount, mut clock) = mount();
    let clock = &mut clock;
    let root = mount.by_inode().root();
    let file = mount.by_inode().create(clock, root, b"f", &NewInode::of(Kind::File, 0o600))?;
    let fd = mount.by_inode().open(clock, file, OpenFlags::default())?;
    mount.write(clock, fd, 0, b"still here")?;
    mount.by_inode().unlink(clock, root, b"f")?;
    mount.by_inode().forget(clock, file)?;
    let mut found = [0; 10];
    assert_eq!((mount.read(clock, fd, 0, &mut found)?, &found), (10, b"still here"));
    mount.close(clock, fd)?;
    assert_eq!(refused(mount.by_inode().stat(clock, file)), Errno::Stale);
    Ok(())
}

#[test]
fn a_directory_moves_neither_into_itself_nor_over_one_above_it() -> Tried {
    let (mut mount, mut clock) = mount();
    let clock = &mut clock;
    let make = |mount: &mut Mount<MemoryFs>, clock: &mut Clock, dir: Ino, name: &[u8]| {
        mount.by_inode().create(clock, dir, name, &NewInode::of(Kind::Directory, 0o755))
    };
    let root = mount.by_inode().root();
    let a = make(&mut mount, clock, root, b"a")?;
    let b = make(&mut mount, clock, a, b"b")?;
    let at_top = Place::new(vec![], root, b"a");
    let below = Place::new(vec![root, a], b, b"c");
    assert_eq!(refused(mount.by_inode().rename(clock, &at_top, &below)), Errno::Inval);
    make(&mut mount, clock, b, b"c")?;
    let over = mount.by_inode().rename(clock, &below, &at_top);
    assert_eq!(refused(over), Errno::NotEmpty);
    let elsewhere = Place::new(vec![], root, b"c");
    mount.by_inode().rename(clock, &below, &elsewhere)?;
    assert_eq!(mount.readdir(clock, "/")?.len(), 2);
    Ok(())
}
