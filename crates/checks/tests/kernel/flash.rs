//! Our side: a dump as a mounted JFFS2.

use boardlab_checks::nandsim::Flash;
use boardlab_image::{Contents, Hints, choose};
use boardlab_jffs2::{Jffs2, Options};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Mount;
use boardlab_workload::tree;

/// What our JFFS2 shows of a dump with spare bytes.
pub(crate) fn manifest_of_dump(flash: Flash, dump: Vec<u8>) -> Result<String, String> {
    let hints = Hints {
        page: Some(Bytes::new(wide(flash.page))),
        oob: Some(Bytes::new(wide(flash.oob))),
        block: Some(Bytes::new(wide(flash.block()))),
        ..Hints::default()
    };
    manifest_of(&Contents::of(dump), &hints)
}

/// What our JFFS2 shows of an image.
pub(crate) fn manifest_of(contents: &Contents, hints: &Hints) -> Result<String, String> {
    let choice = choose::choose(contents, hints).map_err(|error| error.to_string())?;
    let dump = choice.dump().map_err(|error| error.to_string())?;
    let mut clock = Clock::default();
    // An image of few blocks has no room to write.
    let options = Options { read_only: true, ..Options::default() };
    let fs = Jffs2::mount(&mut clock, dump, options).map_err(|error| error.to_string())?;
    let mut mount = Mount::new(fs);
    tree::manifest(&mut mount, &mut clock).map_err(|error| error.to_string())
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap()
}
