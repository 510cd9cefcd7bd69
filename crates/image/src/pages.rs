//! The pages of a dump in another form: with their flipped bits corrected, without spare bytes, or with other ones.
//!
//! Layer: rank 7. Main functions: [`pages_of`] finds the pages and their code; [`rewrite`] writes them. No filesystem is
//! read: what it is does not matter, and a damaged one stays as damaged as it is.

use crate::contents::Contents;
use crate::error::{Error, PagesProblem};
use crate::fs::Hints;
use crate::identify::identify;
use crate::open::prepare;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::is_erased;
use boardlab_sim::Bytes;
use std::io::{self, Write};

/// The uncorrectable pages that are listed.
const LOST_MAX: usize = 10_000;

/// The pages of a dump.
#[derive(Debug)]
pub struct DumpPages {
    contents: Contents,
    /// Their shape.
    pub shape: Shape,
    /// The use of their spare bytes; `None` without any.
    pub spare: Option<Spare>,
    /// Bytes in front of the first page.
    pub before: Bytes,
}

/// What is written.
#[derive(Debug, Clone)]
pub enum Rewriting {
    /// The same pages, corrected.
    Correct,
    /// Their data alone, corrected.
    Strip,
    /// Their data, corrected, with other spare bytes.
    Protect(Box<Spare>),
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rewritten {
    /// Pages.
    pub pages: u64,
    /// Of these, erased ones.
    pub erased: u64,
    /// Pages with flipped bits, all of which were corrected.
    pub corrected: u64,
    /// Bits that were corrected.
    pub bits: u64,
    /// Pages that cannot be corrected, by number: they stay as they are.
    pub lost: Vec<u64>,
    /// How many they are.
    pub lost_count: u64,
    /// Pages whose free spare bytes do not fit into the new ones.
    pub cut: u64,
    /// Bytes at the end that are no whole page.
    pub rest: u64,
    /// Bytes of the new file.
    pub length: u64,
}

impl Rewritten {
    /// Whether all of it is right in the new file.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.lost_count == 0 && self.cut == 0 && self.rest == 0
    }
}

/// The pages of `contents`: those of its filesystem, or those that `hints` name.
///
/// # Errors
/// [`PagesProblem::Unknown`], and those of [`prepare`].
pub fn pages_of(contents: &Contents, hints: &Hints) -> Result<DumpPages, Error> {
    let contents = prepare(contents, hints)?;
    let found = identify(&contents);
    let place = found.main().at;
    let known = found.filesystem.map(|found| (found.shape(), found.spare(&contents)));
    let code = contents.code().map(|code| {
        let [page, oob] = [code.map.page, code.map.oob].map(|size| Bytes::new(size as u64));
        (page, oob)
    });
    let of_hints =
        hints.page.or(code.map(|code| code.0)).zip(hints.oob.or(code.map(|code| code.1)));
    let (shape, spare, at) = match (of_hints, known) {
        (Some((page, oob)), known) => {
            let block = hints.block.or(known.map(|(shape, _)| shape.block)).unwrap_or(page * 64);
            let shape = Shape { page, oob, block };
            shape.check().map_err(|problem| Error::Unsound { problem })?;
            (shape, Spare::detect_if_any(&contents, shape, Bytes::ZERO, None), Bytes::ZERO)
        }
        (None, Some((shape, spare))) => (shape, spare, place),
        (None, None) => return Err(Error::Pages(PagesProblem::Unknown)),
    };
    let raw = shape.page + shape.oob;
    let before = at - raw * (at / raw);
    Ok(DumpPages { contents, shape, spare, before })
}

/// Writes the pages to `output`.
///
/// # Errors
/// [`PagesProblem::NoCode`] when there is no code to correct them with, [`Error::Unreadable`], [`Error::Unwritable`].
pub fn rewrite(
    dump: &DumpPages,
    how: &Rewriting,
    output: &mut dyn Write,
) -> Result<Rewritten, Error> {
    let corrects = dump.spare.as_ref().is_some_and(Spare::corrects);
    if matches!(how, Rewriting::Correct) && !corrects {
        return Err(Error::Pages(PagesProblem::NoCode));
    }
    let (page, raw) = (dump.shape.page.to_usize(), (dump.shape.page + dump.shape.oob).to_usize());
    let mut output = Counting { output, length: 0 };
    let unwritable = |problem| Error::Unwritable { problem };
    let before = dump.contents.window(Bytes::ZERO, dump.before.to_usize());
    output.write_all(&before).map_err(unwritable)?;
    let (mut at, mut done) = (dump.before, Rewritten::default());
    let mut bytes = vec![0; raw];
    while at < dump.contents.length() {
        let read = dump.contents.read(at, &mut bytes);
        let read = read.map_err(|problem| Error::Unreadable { problem })?;
        at += Bytes::new(read as u64);
        if read < raw {
            done.rest = read as u64;
            if matches!(how, Rewriting::Correct) {
                output.write_all(&bytes[..read]).map_err(unwritable)?;
            }
            break;
        }
        let new = one(dump, how, &mut bytes, page, &mut done);
        output.write_all(&new).map_err(unwritable)?;
        done.pages += 1;
    }
    output.flush().map_err(unwritable)?;
    done.length = output.length;
    Ok(done)
}

/// A page in its new form.
fn one(
    dump: &DumpPages,
    how: &Rewriting,
    bytes: &mut [u8],
    page: usize,
    done: &mut Rewritten,
) -> Vec<u8> {
    let erased = is_erased(bytes);
    done.erased += u64::from(erased);
    let stored = dump.contents.code().filter(|code| code.map.is_mixed());
    let as_is = bytes.to_vec();
    let is_lost = !erased && !correct(dump.spare.as_ref(), bytes, page, done);
    if is_lost {
        done.lost_count += 1;
        if done.lost.len() < LOST_MAX {
            done.lost.push(done.pages);
        }
    }
    let (data, oob) = bytes.split_at(page);
    match how {
        Rewriting::Correct => {
            let whole = if is_lost { &as_is } else { &*bytes };
            stored.map_or_else(|| whole.to_vec(), |code| code.map.store(whole))
        }
        Rewriting::Strip => data.to_vec(),
        Rewriting::Protect(new) if erased => {
            [data.to_vec(), vec![0xFF; new.layout().size()]].concat()
        }
        Rewriting::Protect(new) => {
            let mut free = Vec::new();
            let mut mark = None;
            if let Some(spare) = &dump.spare {
                free.resize(spare.layout().free_bytes(), 0xFF);
                spare.layout().gather_free(oob, &mut free);
                mark = Some(&oob[spare.mark()]).filter(|mark| !is_erased(mark));
            }
            let most = new.layout().free_bytes();
            if free.len() > most && !is_erased(&free[most..]) {
                done.cut += 1;
            }
            free.truncate(most);
            let mut oob = new.protect(data, &free);
            if mark.is_some() {
                oob[new.mark()].fill(0);
            }
            [data.to_vec(), oob].concat()
        }
    }
}

/// Corrects a page with its spare bytes. Returns whether it could be.
fn correct(spare: Option<&Spare>, bytes: &mut [u8], page: usize, done: &mut Rewritten) -> bool {
    let Some(spare) = spare.filter(|spare| spare.corrects()) else { return true };
    let (mut bits, mut is_right) = (0, true);
    let mut told = |_: usize, found: Option<u32>| match found {
        Some(found) => bits += u64::from(found),
        None => is_right = false,
    };
    if let Some(code) = spare.controller() {
        code.correct(bytes, &mut told);
    } else {
        let (data, oob) = bytes.split_at_mut(page);
        let _ = spare.correct_steps(data, oob, &mut told);
        if is_right && bits > 0 {
            // The codes of right data, in their places alone.
            let right = spare.protect(data, &[]);
            for range in spare.layout().ecc() {
                oob[range.clone()].copy_from_slice(&right[range.clone()]);
            }
        }
    }
    if is_right && bits > 0 {
        done.corrected += 1;
        done.bits += bits;
    }
    is_right
}

/// Counts what is written.
struct Counting<'a> {
    output: &'a mut dyn Write,
    length: u64,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
