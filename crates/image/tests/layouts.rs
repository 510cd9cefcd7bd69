//! Dumps of controllers with layouts and codes of their own, with bit errors: found, corrected, read and checked.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use boardlab_image::check::check;
use boardlab_image::controller::{CodePattern, Constant, PageCode, named};
use boardlab_image::make::{Compression, FileOptions, Flash, of_folder};
use boardlab_image::{Contents, Damage, Error, Hints, MountedImage, open};
use boardlab_sim::{Bytes, Seed};
use boardlab_vfs::Mount;
use boardlab_vfs::script::content;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

/// Files with their contents.
fn files() -> Vec<(String, Vec<u8>)> {
    (0..12)
        .map(|number| (format!("/file-{number}"), content(9_000 + number * 4_000, number as u64)))
        .collect()
}

/// A UBI image with these files, without OOB bytes.
fn image(page: usize) -> Vec<u8> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("boardlab-layouts-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder).unwrap();
    for (name, content) in files() {
        fs::write(folder.join(&name[1..]), content).unwrap();
    }
    let page = Bytes::new(page as u64);
    let flash = Flash { image_seq: Some(7), ..Flash::of(page, page * 64) };
    let options = FileOptions {
        fs: "ubifs".into(),
        max_lebs: 200,
        compression: Some(Compression::Lzo),
        volume: Some("rootfs".into()),
        ..FileOptions::default()
    };
    let made = of_folder(&folder, &flash, &options, Seed::new(1)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    made.bytes
}

/// The pages of an image as a controller stores them, with a bad block in front of the last one.
fn stored(image: &[u8], code: &PageCode) -> Vec<u8> {
    let map = &code.map;
    let (mut file, block) = (Vec::new(), map.page * 64);
    let last = image.len() / block - 1;
    for (number, data) in image.chunks(block).enumerate() {
        if number == last {
            file.extend(vec![0; (map.page + map.oob) * 64]);
        }
        for data in data.chunks(map.page) {
            let mut page = [data, &vec![0xFF; map.oob]].concat();
            if data.iter().any(|&byte| byte != 0xFF) {
                code.protect(&mut page);
            }
            file.extend(map.store(&page));
        }
    }
    file
}

/// Flips a bit in every so many bits.
fn flip(file: &mut [u8], rate: u64) -> usize {
    let mut random = Seed::new(3).stream("flips");
    let (mut at, mut flips) = (random.below(2 * rate), 0);
    while let Some(byte) = file.get_mut(usize::try_from(at / 8).unwrap()) {
        *byte ^= 1 << (at % 8);
        at += 1 + random.below(2 * rate);
        flips += 1;
    }
    flips
}

fn code(name: &str, page: usize, oob: usize, text: &str, constant: Constant) -> PageCode {
    let layout = named(name).unwrap();
    let pattern: CodePattern = text.parse().unwrap();
    let code = (layout.codes)(page, oob).into_iter().find(|code| pattern.means(code)).unwrap();
    PageCode::new(layout, page, oob, code, constant).unwrap()
}

const CASES: &[(&str, usize, usize, &str)] = &[
    ("omap", 2_048, 64, "8/512"),
    ("pmecc", 2_048, 64, "4/512:lsb"),
    ("brcm", 2_048, 64, "4/512:0x201b"),
    ("gpmi", 2_048, 64, "8/512"),
    ("gpmi", 2_048, 128, "18/512"),
    ("gpmi", 4_096, 224, "16/512"),
    ("marvell", 4_096, 128, "16/2048:msb"),
    ("qcom", 2_048, 64, "4/512:msb"),
    ("mtk", 4_096, 256, "24/1024:lsb"),
];

/// Every file, right in every byte, with bit errors that were corrected.
fn is_read(file: &[u8], hints: &Hints, case: &str) {
    let mut image =
        open(&Contents::of(file.to_vec()), hints).unwrap_or_else(|it| panic!("{case}: {it}"));
    let damage = Damage::of(&mut image).unwrap();
    assert!(damage.is_whole(), "{case}: {damage:?}");
    let health = image.fs.dump().health();
    assert!(health.steps().count() > 5, "{case}: {health:?}");
    let MountedImage { fs, mut clock, .. } = image;
    let mut mount = Mount::new(fs);
    for (name, content) in files() {
        let fd = mount.open(&mut clock, &name).unwrap();
        let mut bytes = vec![0; content.len() + 1];
        let length = mount.read(&mut clock, fd, 0, &mut bytes).unwrap();
        mount.close(&mut clock, fd).unwrap();
        assert!(bytes[..length] == content, "{case}: {name}");
    }
}

#[test]
fn bit_errors_in_the_pages_of_controllers_are_corrected() {
    let images = [2_048, 4_096].map(|page| (page, image(page)));
    for (number, &(name, page, oob, text)) in CASES.iter().enumerate() {
        let code = code(name, page, oob, text, Constant::Zero);
        let plain = &images.iter().find(|(size, _)| *size == page).unwrap().1;
        let mut file = stored(plain, &code);
        assert!(flip(&mut file, 40_000) > 100);
        let case = code.options();
        is_read(&file, &Hints::default(), &case);
        if number % 3 > 0 {
            continue;
        }
        let ecc: CodePattern = code.code().to_string().parse().unwrap();
        let named = Hints { spare: Some(name.into()), ecc: Some(ecc), ..Hints::default() };
        is_read(&file, &named, &case);
        for one in check(&Contents::of(file), &Hints::default()).unwrap() {
            let text = format!("{one:?}");
            assert!(!text.contains("Error"), "{case}: {text}");
        }
    }
}

#[test]
fn a_layout_or_a_code_that_the_pages_contradict_is_refused() {
    let code = code("gpmi", 2_048, 64, "8/512", Constant::Zero);
    let contents = Contents::of(stored(&image(2_048), &code));
    let refused = |spare: Option<&str>, ecc: Option<&str>, oob: Option<u64>| {
        let ecc = ecc.map(|text| text.parse().unwrap());
        let oob = oob.map(Bytes::new);
        let hints = Hints { spare: spare.map(str::to_owned), ecc, oob, ..Hints::default() };
        let error = open(&contents, &hints).unwrap_err();
        (error.to_string(), error.help())
    };
    let (text, help) = refused(Some("omap"), None, None);
    assert!(text.contains("no code that --spare omap means"), "{text}");
    assert!(help.contains("give --spare gpmi --ecc 8/512:lsb: "), "{help}");
    let (text, help) = refused(None, Some("4/512"), None);
    assert!(text.contains("no code that --ecc 4/512 means"), "{text}");
    assert!(help.contains("--spare gpmi"), "{help}");
    let (text, _) = refused(Some("none"), None, None);
    assert!(text.contains("there is no layout `none`"), "{text}");
    let (text, _) = refused(Some("gpmi"), None, Some(0));
    assert!(text.contains("--spare and --ecc is not for"), "{text}");
    let plain = Contents::of(image(2_048));
    let hints = Hints { spare: Some("gpmi".into()), ..Hints::default() };
    let error = open(&plain, &hints).unwrap_err();
    assert!(matches!(error, Error::Code(_)), "{error}");
    assert!(error.to_string().contains("not whole pages"), "{error}");
}

/// Dumps that were cut or changed anywhere are read, or refused, and nothing else.
#[test]
fn cut_and_changed_dumps_are_read_or_refused() {
    let code = code("gpmi", 2_048, 128, "18/512", Constant::Zero);
    let whole = stored(&image(2_048), &code);
    let mut random = Seed::new(4).stream("cuts");
    for round in 0..40 {
        let mut file = whole.clone();
        file.truncate(usize::try_from(random.below(file.len() as u64)).unwrap());
        for _ in 0..random.below(2_000) {
            let at = usize::try_from(random.below(file.len().max(1) as u64)).unwrap();
            if let Some(byte) = file.get_mut(at) {
                *byte = random.next_u64().to_le_bytes()[0];
            }
        }
        let hints = Hints {
            page: Some(Bytes::new(2_048)),
            oob: Some(Bytes::new(128)),
            spare: (round % 2 == 0).then(|| "gpmi".into()),
            partial: true,
            ..Hints::default()
        };
        if let Ok(mut image) = open(&Contents::of(file), &hints) {
            drop(Damage::of(&mut image));
        }
    }
}
