//! The content of one file.
//!
//! Layer: rank 7. Main function: [`cat`].

use crate::error::{Error, PathProblem};
use crate::files::content::BLOCK;
use crate::files::why::kind_word;
use crate::files::{Tree, Why};
use boardlab_vfs::Kind;
use std::io::Write;

/// Writes the content of the file that `tree` begins with to `output`, holes as zeros, and returns what cannot be
/// read, in whose place zeros are. `path` is that of the file, and `limit` bytes are the most.
///
/// # Errors
/// [`PathProblem::NoContent`] for what is no file, [`PathProblem::LargeFile`], [`Error::Unwritable`].
pub fn cat(
    tree: &Tree,
    path: &[u8],
    limit: u64,
    output: &mut dyn Write,
) -> Result<Vec<Why>, Error> {
    let no_content = |found| Error::Path(PathProblem::NoContent { path: path.to_vec(), found });
    let node = tree.nodes.first().ok_or_else(|| no_content("cannot be read".into()))?;
    match node.kind {
        Kind::File => {}
        Kind::Symlink => {
            let target = crate::names::shown(&node.target);
            return Err(no_content(format!("is a symbolic link to `{target}`")));
        }
        kind => return Err(no_content(format!("is a {}", kind_word(kind)))),
    }
    let mut content = tree.content(0).map_err(|why| no_content(why.to_string()))?;
    let size = content.size;
    if size > limit {
        return Err(Error::Path(PathProblem::LargeFile { path: path.to_vec(), size, limit }));
    }
    let unwritable = |problem| Error::Unwritable { problem };
    let (mut at, mut lost) = (0, Vec::new());
    loop {
        match content.next() {
            Ok(None) => break,
            Ok(Some((number, bytes))) => {
                zeros(output, number * BLOCK as u64 - at).map_err(unwritable)?;
                output.write_all(bytes).map_err(unwritable)?;
                at = number * BLOCK as u64 + bytes.len() as u64;
            }
            Err(why) => lost.push(why),
        }
    }
    zeros(output, size - at).map_err(unwritable)?;
    Ok(lost)
}

fn zeros(output: &mut dyn Write, count: u64) -> std::io::Result<()> {
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), count), output).map(drop)
}
