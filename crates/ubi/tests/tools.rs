//! Images of `ubinize` are equal to ours, and are attached.

use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::create::{Content, CreateError, Format, create};
use boardlab_ubi::{LebIndex, Lebs, NewVolume, Options, Ubi, VolumeError, VolumeKind, format::crc};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn data(length: u32) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 977 * (at % 977) % 241).unwrap()).collect()
}

fn nand() -> Format {
    Format {
        peb_size: 128 << 10,
        min_io: 2_048,
        sub_page: Some(512),
        vid_offset: None,
        ec: 0,
        image_seq: 7,
    }
}

/// Formats and volumes that differ in every parameter.
fn cases(contents: &[Vec<u8>; 3]) -> Vec<(Format, Vec<Content<'_>>)> {
    let [long, short, empty] = contents;
    let content = |volume, data| Content { volume, autoresize: false, data };
    let root = NewVolume::dynamic("root", Bytes::new(400_000));
    let fixed = NewVolume { id: Some(5), ..NewVolume::fixed("fixed", Bytes::new(300_000)) };
    let aligned = NewVolume { id: Some(3), alignment: 8_192, ..root.clone() };
    let vacant = NewVolume { id: Some(9), ..NewVolume::dynamic("vacant", Bytes::new(70_000)) };
    let growing = Content { autoresize: true, ..content(root.clone(), long) };
    let nor = Format { peb_size: 64 << 10, min_io: 1, sub_page: None, ec: 3, ..nand() };
    let shifted = Format { vid_offset: Some(2_048), ec: 9, image_seq: 0xFFFF_FFFE, ..nand() };
    let small = Format { peb_size: 16 << 10, min_io: 512, sub_page: Some(256), ..nand() };
    vec![
        (nand(), vec![content(root.clone(), long)]),
        (nand(), vec![growing, content(fixed.clone(), short)]),
        (shifted, vec![content(fixed, short), content(aligned, long)]),
        (nor, vec![content(root.clone(), long), content(vacant, empty)]),
        (small, vec![content(root, short)]),
    ]
}

fn contents() -> [Vec<u8>; 3] {
    [data(300_000), data(130_001), Vec::new()]
}

/// A folder of this test, emptied.
fn folder() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ubinize");
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The section of a volume in the configuration of `ubinize`.
fn section(folder: &Path, index: usize, content: &Content<'_>) -> String {
    let NewVolume { id, name, kind, size, alignment, .. } = &content.volume;
    let id = id.unwrap_or(u32::try_from(index).unwrap());
    let mut text = format!("[v{index}]\nmode=ubi\nvol_id={id}\nvol_name={name}\n");
    let size = size.get();
    writeln!(text, "vol_type={kind}\nvol_size={size}\nvol_alignment={alignment}").unwrap();
    if content.autoresize {
        text.push_str("vol_flags=autoresize\n");
    }
    if !content.data.is_empty() {
        let path = folder.join(format!("content{index}"));
        std::fs::write(&path, content.data).unwrap();
        writeln!(text, "image={}", path.display()).unwrap();
    }
    text
}

fn ubinize(folder: &Path, format: &Format, volumes: &[Content<'_>]) -> Option<Vec<u8>> {
    let program = Path::new("/usr/sbin/ubinize");
    if !program.exists() {
        return None;
    }
    let sections = volumes.iter().enumerate().map(|(index, volume)| section(folder, index, volume));
    let (ini, image) = (folder.join("ini"), folder.join("image"));
    std::fs::write(&ini, sections.collect::<String>()).unwrap();
    let mut command = Command::new(program);
    command.arg("-o").arg(&image);
    let mut option = |letter: &str, value: Option<u32>| {
        if let Some(value) = value {
            command.args([letter, &value.to_string()]);
        }
    };
    option("-p", Some(format.peb_size));
    option("-m", Some(format.min_io));
    option("-s", format.sub_page);
    option("-O", format.vid_offset);
    option("-e", Some(format.ec));
    option("-Q", Some(format.image_seq));
    let output = command.arg(&ini).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(std::fs::read(image).unwrap())
}

#[test]
fn images_are_those_of_ubinize() {
    let (folder, contents) = (folder(), contents());
    for (format, volumes) in cases(&contents) {
        let ours = create(&format, &volumes).unwrap();
        let Some(theirs) = ubinize(&folder, &format, &volumes) else {
            eprintln!("skipped: needs ubinize");
            return;
        };
        assert!(ours == theirs, "{format:?}");
    }
}

#[test]
fn images_keep_their_bytes() {
    let contents = contents();
    let images = cases(&contents).into_iter();
    let sums: Vec<u32> =
        images.map(|(format, volumes)| crc(&create(&format, &volumes).unwrap())).collect();
    assert_eq!(sums, [2_980_652_126, 3_219_079_221, 1_073_463_974, 2_027_118_759, 1_676_139_845]);
}

#[test]
fn images_of_all_formats_are_attached() {
    let contents = contents();
    for (format, volumes) in cases(&contents) {
        let mut clock = Clock::new();
        let image = create(&format, &volumes).unwrap();
        let Format { peb_size, min_io, sub_page, vid_offset, .. } = format;
        let sub = sub_page.unwrap_or(min_io);
        let mut flash = crate::devices::SubPages::new(48, peb_size / min_io, min_io, sub);
        flash.program(&mut clock, Bytes::ZERO, &image).unwrap();
        let options = Options { sub_page, vid_offset, ..Options::default() };
        let mut ubi = Ubi::attach(&mut clock, flash, &options).unwrap();
        assert_eq!((ubi.image_seq(), ubi.counts().mean_ec), (format.image_seq, format.ec));
        for content in &volumes {
            let id = ubi.id_of(&content.volume.name).unwrap();
            let mut volume = ubi.volume(&mut clock, id).unwrap();
            let leb_size = usize::try_from(volume.shape().leb_size).unwrap();
            for (leb, chunk) in (0..).zip(content.data.chunks(leb_size)) {
                let mut found = vec![0; chunk.len()];
                volume.read(&mut clock, LebIndex(leb), 0, &mut found).unwrap();
                assert!(found == chunk, "{} LEB {leb}", content.volume.name);
            }
        }
        ubi.check_tables().unwrap();
    }
}

#[test]
fn an_image_is_attached_and_the_last_volume_grows() {
    let contents = contents();
    let (format, volumes) = cases(&contents).swap_remove(1);
    let image = create(&format, &volumes).unwrap();
    let mut clock = Clock::new();
    let options = Options { vid_offset: Some(512), sub_page: Some(512), ..Options::default() };
    let mut flash = crate::devices::SubPages::new(64, 64, 2_048, 512);
    flash.program(&mut clock, Bytes::ZERO, &image).unwrap();
    let mut ubi = Ubi::attach(&mut clock, flash, &options).unwrap();
    while ubi.background(&mut clock).unwrap() {}
    let [root, fixed] = ubi.volumes().try_into().unwrap();
    // 64 without 4 for UBI, 2 for bad blocks and 3 for the other volume.
    assert_eq!((root.reserved_lebs, ubi.counts().available), (55, 0));
    assert_eq!((fixed.kind, fixed.size), (VolumeKind::Static, Bytes::new(130_001)));
    let mut found = vec![0; 977];
    ubi.volume(&mut clock, 5).unwrap().read(&mut clock, LebIndex(1), 0, &mut found).unwrap();
    assert_eq!(found, contents[1][129_024..]);
    let mut ubi = Ubi::attach(&mut clock, ubi.into_device(), &options).unwrap();
    assert_eq!(ubi.volumes()[0].reserved_lebs, 55);
    let mut volume = ubi.volume(&mut clock, 0).unwrap();
    volume.read(&mut clock, LebIndex(0), 0, &mut found).unwrap();
    assert_eq!(found, contents[0][..977]);
}

#[test]
fn impossible_images_are_refused() {
    let bytes = data(10);
    let volume = NewVolume::dynamic("v", Bytes::new(9));
    let content = Content { volume, autoresize: false, data: &bytes };
    let found = Bytes::new(10);
    let large = create(&nand(), std::slice::from_ref(&content));
    assert_eq!(large, Err(CreateError::Volume(VolumeError::Size { found })));
    let fitting = Content { volume: NewVolume::dynamic("v", found), ..content };
    let twice = create(&nand(), &[fitting.clone(), fitting]);
    let name = VolumeError::Name { name: "v".to_owned(), used_by: Some(0) };
    assert_eq!(twice, Err(CreateError::Volume(name)));
    let odd = create(&Format { vid_offset: Some(1), ..nand() }, &[]);
    assert!(matches!(odd, Err(CreateError::Layout(_))));
}
