//! The image of a kernel, and what is asked of all images.

use boardlab_codec::zlib::Inflate;
use boardlab_image::finding::{Finding, Severity};
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{Contents, Damage, Error, Hints, MountedImage, identify, open};
use boardlab_result::Value;
use boardlab_vfs::Mount;
use boardlab_workload::tree::manifest;

pub(crate) const MANIFEST: &str = include_str!("../data/logfs/linux-3.6.manifest");
/// Bytes of a page of 2 KiB with its spare bytes.
pub(crate) const RAW: usize = 2_112;
/// Pages of a segment.
pub(crate) const PAGES: usize = 64;

/// 256 segments of 64 pages of 2,048 + 64 bytes.
pub(crate) fn linux() -> Vec<u8> {
    let packed = include_bytes!("../data/logfs/linux-3.6.deflate");
    let mut bytes = vec![0; 256 * PAGES * RAW];
    Inflate::new().raw(packed, &mut bytes).unwrap();
    bytes
}

/// The data without spare bytes.
pub(crate) fn plain(image: &[u8]) -> Vec<u8> {
    image.chunks(RAW).flat_map(|raw| raw[..2_048].to_vec()).collect()
}

pub(crate) fn opened(bytes: &[u8], hints: &Hints) -> Result<MountedImage, Error> {
    open(&Contents::of(bytes.to_vec()), hints)
}

pub(crate) fn told(bytes: &[u8]) -> String {
    let MountedImage { fs, mut clock, .. } = opened(bytes, &Hints::default()).unwrap();
    manifest(&mut Mount::new(fs), &mut clock).unwrap()
}

pub(crate) fn damage(bytes: &[u8]) -> Damage {
    Damage::of(&mut opened(bytes, &Hints::default()).unwrap()).unwrap()
}

pub(crate) fn info(bytes: &[u8]) -> ImageReport {
    let (contents, hints) = (Contents::of(bytes.to_vec()), Hints::default());
    let damage = open(&contents, &hints).and_then(|mut image| Damage::of(&mut image));
    tables::info("x", &contents, &identify(&contents), &hints, Some(&damage))
}

pub(crate) fn cell(report: &ImageReport, table: &str, row: &str, column: &str) -> Value {
    report.run.table(table).unwrap().cell(row, column).unwrap().value.clone()
}

pub(crate) fn findings(bytes: &[u8]) -> Vec<Finding> {
    let contents = Contents::of(bytes.to_vec());
    boardlab_image::check::check(&contents, &Hints::default()).unwrap()
}

/// The findings that are no notes, in words.
pub(crate) fn faults(bytes: &[u8]) -> Vec<String> {
    let all = findings(bytes);
    let bad = all.iter().filter(|one| one.severity != Severity::Note);
    bad.map(|one| format!("{}: {}", one.what, one.found)).collect()
}
