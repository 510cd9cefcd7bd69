//! Volumes: making, removing, renaming, resizing, updating.

use crate::devices::SubPages;
use boardlab_mtd::{Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{
    Error, LebIndex, Lebs, NewVolume, Options, Ubi, VolumeError, VolumeInfo, VolumeKind,
};

fn device() -> RamMtd {
    RamMtd::nand(64, 16, Bytes::new(2_048), Bytes::new(64))
}

fn attach<M: Mtd>(clock: &mut Clock, device: M) -> Ubi<M> {
    let ubi = Ubi::attach(clock, device, &Options::default()).unwrap();
    ubi.check_tables().unwrap();
    ubi
}

fn again<M: Mtd>(clock: &mut Clock, ubi: Ubi<M>) -> Ubi<M> {
    attach(clock, ubi.into_device())
}

fn names<M: Mtd>(ubi: &Ubi<M>) -> Vec<(u32, String, u32)> {
    let of = |volume: VolumeInfo| (volume.id, volume.name, volume.reserved_lebs);
    ubi.volumes().into_iter().map(of).collect()
}

#[test]
fn an_empty_flash_is_formatted_and_its_counts_are_those_of_linux() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    assert_eq!(ubi.image_seq(), Options::default().image_seq);
    while ubi.background(&mut clock).unwrap() {}
    let counts = ubi.counts();
    // Two for the volume table, one for moves, one for changes, two of 64 for bad blocks.
    assert_eq!((counts.good, counts.available, counts.reserved), (64, 58, 6));
    assert_eq!((counts.bad_reserve, counts.works, counts.max_ec), (2, 0, 1));
    let ubi = again(&mut clock, ubi);
    assert_eq!((ubi.counts().available, ubi.counts().max_ec, ubi.counts().mean_ec), (58, 1, 1));
}

#[test]
fn volumes_are_made_resized_renamed_and_removed() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    let leb = u64::from(ubi.layout().leb_size);
    let new = |name: &str, lebs: u64| NewVolume::dynamic(name, Bytes::new(lebs * leb));
    assert_eq!(ubi.create_volume(&mut clock, &new("a", 10)), Ok(0));
    let fifth = NewVolume { id: Some(5), ..new("b", 5) };
    assert_eq!(ubi.create_volume(&mut clock, &fifth), Ok(5));
    assert_eq!(ubi.create_volume(&mut clock, &new("c", 1)), Ok(1));
    ubi.resize_volume(&mut clock, 0, 12).unwrap();
    ubi.resize_volume(&mut clock, 5, 3).unwrap();
    assert_eq!(ubi.counts().available, 58 - 12 - 3 - 1);
    let mut ubi = again(&mut clock, ubi);
    let listed = |entries: &[(u32, &str, u32)]| -> Vec<_> {
        entries.iter().map(|&(id, name, lebs)| (id, name.to_owned(), lebs)).collect()
    };
    assert_eq!(names(&ubi), listed(&[(0, "a", 12), (1, "c", 1), (5, "b", 3)]));
    // Exchanges two names at once, and takes that of a third, which is removed.
    ubi.rename_volumes(&mut clock, &[(0, "b"), (5, "c")]).unwrap();
    let mut ubi = again(&mut clock, ubi);
    assert_eq!(names(&ubi), listed(&[(0, "b", 12), (5, "c", 3)]));
    assert_eq!((ubi.id_of("c"), ubi.id_of("a")), (Some(5), None));
    ubi.remove_volume(&mut clock, 5).unwrap();
    assert_eq!(names(&again(&mut clock, ubi)), listed(&[(0, "b", 12)]));
}

#[test]
fn impossible_volumes_are_refused() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    ubi.create_volume(&mut clock, &NewVolume::dynamic("a", Bytes::new(1))).unwrap();
    let good = NewVolume::dynamic("b", Bytes::new(1));
    let mut refused = |new: NewVolume| ubi.create_volume(&mut clock, &new).unwrap_err();
    let name = |name: &str, used_by| VolumeError::Name { name: name.to_owned(), used_by };
    assert_eq!(refused(NewVolume { name: "a".to_owned(), ..good.clone() }), name("a", Some(0)));
    assert_eq!(refused(NewVolume { name: String::new(), ..good.clone() }), name("", None));
    let long = "x".repeat(128);
    assert_eq!(refused(NewVolume { name: long.clone(), ..good.clone() }), name(&long, None));
    assert_eq!(refused(NewVolume { id: Some(0), ..good.clone() }), VolumeError::Id { id: Some(0) });
    let beyond = NewVolume { id: Some(128), ..good.clone() };
    assert_eq!(refused(beyond), VolumeError::Id { id: Some(128) });
    let odd = NewVolume { alignment: 1_000, ..good.clone() };
    assert_eq!(refused(odd), VolumeError::Alignment { found: 1_000 });
    let none = NewVolume { size: Bytes::ZERO, ..good.clone() };
    assert_eq!(refused(none), VolumeError::Size { found: Bytes::ZERO });
    let huge = refused(NewVolume { size: Bytes::new(u64::MAX), ..good });
    assert!(matches!(huge, VolumeError::NoSpace { available: 57, .. }), "{huge}");
    assert_eq!(ubi.remove_volume(&mut clock, 3), Err(VolumeError::NoSuchVolume { id: 3 }));
}

#[test]
fn an_alignment_shortens_the_lebs() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    let aligned = NewVolume { alignment: 8_192, ..NewVolume::dynamic("a", Bytes::new(1)) };
    let id = ubi.create_volume(&mut clock, &aligned).unwrap();
    let mut volume = ubi.into_volume(&mut clock, id).unwrap();
    assert_eq!(volume.shape().leb_size, 28_672 / 8_192 * 8_192);
    let beyond = volume.write(&mut clock, LebIndex(0), 24_576, &[0; 2_048]);
    assert!(matches!(beyond, Err(Error::Range { offset: 24_576, .. })));
}

#[test]
fn a_static_volume_is_written_as_a_whole_and_verified() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    let id = ubi.create_volume(&mut clock, &NewVolume::fixed("s", Bytes::kib(100))).unwrap();
    let data: Vec<u8> = (0..70_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    ubi.update_volume(&mut clock, id, &data).unwrap();
    let mut ubi = again(&mut clock, ubi);
    let info = ubi.volumes().remove(0);
    assert_eq!((info.kind, info.size), (VolumeKind::Static, Bytes::new(70_000)));
    let leb_size = usize::try_from(info.leb_size).unwrap();
    let last = LebIndex(2);
    let mut found = vec![0; 70_000 - 2 * leb_size];
    let mut volume = ubi.volume(&mut clock, id).unwrap();
    volume.read(&mut clock, last, 0, &mut found).unwrap();
    assert_eq!(found, data[2 * leb_size..]);
    let past = volume.read(&mut clock, last, 1, &mut found);
    assert!(matches!(past, Err(Error::Range { .. })));
    assert_eq!(volume.change(&mut clock, last, &[0; 2_048]), Err(Error::ReadOnly));
    assert!(!ubi.volumes()[0].corrupted);
}

#[test]
fn a_static_volume_with_a_changed_byte_is_corrupted() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    let id = ubi.create_volume(&mut clock, &NewVolume::fixed("s", Bytes::kib(100))).unwrap();
    ubi.update_volume(&mut clock, id, &[0xA5; 5_000]).unwrap();
    let mut flash = ubi.into_device();
    let image = flash.image();
    let at = image.windows(5_000).position(|window| window == [0xA5; 5_000]).unwrap();
    let page = Bytes::new(u64::try_from(at / 2_048 * 2_048).unwrap());
    flash.program(&mut clock, page, &[0x21; 2_048]).unwrap();
    let mut ubi = attach(&mut clock, flash);
    assert!(!ubi.volumes()[0].corrupted);
    ubi.volume(&mut clock, id).unwrap();
    assert!(ubi.volumes()[0].corrupted);
}

#[test]
fn a_dynamic_volume_is_updated_without_the_erased_bytes_at_the_end_of_lebs() {
    let mut clock = Clock::new();
    let options = Options { sub_page: Some(512), ..Options::default() };
    let flash = SubPages::new(64, 16, 2_048, 512);
    let mut ubi = Ubi::attach(&mut clock, flash, &options).unwrap();
    let id = ubi.create_volume(&mut clock, &NewVolume::dynamic("d", Bytes::kib(100))).unwrap();
    let mut data = vec![0xFF; 2 * 30_720];
    data[3] = 0;
    ubi.update_volume(&mut clock, id, &data).unwrap();
    let volume = ubi.into_volume(&mut clock, id).unwrap();
    assert_eq!(volume.is_mapped(LebIndex(0)), Ok(true));
    assert_eq!(volume.is_mapped(LebIndex(1)), Ok(false));
    assert!(volume.ubi().device().image().len() == 64 * 16 * 2_048);
}

#[test]
fn operations_beyond_a_volume_are_refused() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    let id = ubi.create_volume(&mut clock, &NewVolume::dynamic("d", Bytes::kib(50))).unwrap();
    let mut volume = ubi.into_volume(&mut clock, id).unwrap();
    let leb = LebIndex(2);
    let none = Err(Error::NoSuchLeb { leb, count: 2 });
    assert_eq!(volume.read(&mut clock, leb, 0, &mut [0]), none);
    assert_eq!(volume.write(&mut clock, leb, 0, &[0; 2_048]), none);
    assert_eq!(volume.unmap(&mut clock, leb), none);
    assert_eq!(volume.map(&mut clock, leb), none);
    assert_eq!(volume.is_mapped(leb).map(|_| ()), none);
    let leb = LebIndex(1);
    let odd = Err(Error::Range { leb, offset: 0, length: Bytes::new(100) });
    assert_eq!(volume.write(&mut clock, leb, 0, &[0; 100]), odd);
    assert_eq!(volume.change(&mut clock, leb, &[0; 100]), odd);
    volume.map(&mut clock, leb).unwrap();
    assert_eq!(volume.map(&mut clock, leb), Err(Error::Mapped { leb }));
    assert!(volume.shape().leb_count == 2 && volume.id() == id);
}

#[test]
fn the_memory_of_the_kernel_grows_with_blocks_and_lebs() {
    let mut clock = Clock::new();
    let mut ubi = attach(&mut clock, device());
    while ubi.background(&mut clock).unwrap() {}
    let leb = u64::from(ubi.layout().leb_size);
    ubi.create_volume(&mut clock, &NewVolume::dynamic("a", Bytes::new(10 * leb))).unwrap();
    let count = |name: &str| {
        let structures = ubi.structures();
        structures.into_iter().find(|structure| structure.name == name).unwrap().count
    };
    assert_eq!((count("struct ubi_wl_entry"), count("struct ubi_eba_entry")), (64, 12));
    assert_eq!((count("struct ubi_volume"), count("struct ubi_work")), (2, 2));
    assert_eq!((count("peb_buf, by bytes"), count("vtbl, by bytes")), (32_768, 22_528));
}
