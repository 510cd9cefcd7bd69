//! What is asked of every image.

use boardlab_image::finding::{Finding, Severity};
use boardlab_image::tables::{self, ImageReport};
use boardlab_image::{
    Confidence, Contents, Damage, Error, Hints, MountedImage, Shape, identify, open,
};
use boardlab_result::Value;

/// The flash of an image that is certainly one.
pub(crate) fn shape(bytes: &[u8]) -> Shape {
    let identity = identify(&Contents::of(bytes.to_vec()));
    assert_eq!(identity.main().confidence, Confidence::Certain, "{:?}", identity.main());
    identity.main().shape.unwrap()
}

pub(crate) fn opened(bytes: &[u8], hints: &Hints) -> Result<MountedImage, Error> {
    open(&Contents::of(bytes.to_vec()), hints)
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
