//! The maps of sparse files: of GNU tar's own format, and its three for extended headers.
//!
//! Layer: rank 7. Functions: [`of_header`], [`of_records`]; [`placed`] checks a map.

use super::pax::{Records, number};
use super::problem::ArchiveProblem;
use crate::files::content::Part;
use tar::{GnuExtSparseHeader, GnuHeader, GnuSparseHeader};

/// Bytes of a block of an archive.
const BLOCK: usize = 512;
/// The longest map: 24 bytes of memory for each part of a file.
const PARTS: usize = 1 << 20;

/// Offsets in the file and lengths.
type Map = Vec<(u64, u64)>;

/// A file with holes.
#[derive(Debug)]
pub(super) struct Sparse {
    /// Bytes of the file.
    pub(super) size: u64,
    pub(super) map: Map,
    /// Bytes of the map in front of the data.
    pub(super) before: u64,
}

/// The map of GNU tar's own format, whose further blocks are behind the header; `more` reads the next one.
pub(super) fn of_header(
    header: &GnuHeader,
    mut more: impl FnMut() -> Result<[u8; BLOCK], ArchiveProblem>,
) -> Result<Sparse, ArchiveProblem> {
    let size = header.real_size().map_err(|_| ArchiveProblem::Number { field: "size" })?;
    let (mut map, mut before) = (Map::new(), 0);
    take(&mut map, &header.sparse)?;
    let mut is_more = header.is_extended();
    while is_more {
        let mut block = GnuExtSparseHeader::new();
        *block.as_mut_bytes() = more()?;
        before += BLOCK as u64;
        take(&mut map, block.sparse())?;
        is_more = block.is_extended();
    }
    Ok(Sparse { size, map, before })
}

fn take(map: &mut Map, blocks: &[GnuSparseHeader]) -> Result<(), ArchiveProblem> {
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        let (Ok(offset), Ok(length)) = (block.offset(), block.length()) else {
            return Err(ArchiveProblem::Sparse);
        };
        push(map, (offset, length))?;
    }
    Ok(())
}

fn push(map: &mut Map, part: (u64, u64)) -> Result<(), ArchiveProblem> {
    if map.len() == PARTS {
        return Err(ArchiveProblem::Sparse);
    }
    map.push(part);
    Ok(())
}

/// The map that extended headers give, or begin the data with, which `read` reads at an offset; `None` for a file
/// without.
pub(super) fn of_records(
    records: &Records,
    read: impl FnMut(u64) -> Result<[u8; BLOCK], ArchiveProblem>,
) -> Result<Option<Sparse>, ArchiveProblem> {
    let size = match records.number("GNU.sparse.realsize")? {
        Some(size) => size,
        None => match records.number("GNU.sparse.size")? {
            Some(size) => size,
            None => return Ok(None),
        },
    };
    if records.number("GNU.sparse.major")?.is_some_and(|major| major > 0) {
        let (map, before) = in_front(read)?;
        return Ok(Some(Sparse { size, map, before }));
    }
    let mut numbers = Vec::new();
    if let Some(list) = records.get("GNU.sparse.map") {
        numbers.extend(list.split(|&byte| byte == b',').map(number));
    } else {
        let keys = [&b"GNU.sparse.offset"[..], b"GNU.sparse.numbytes"];
        let pairs = records.iter().filter(|(key, _)| keys.contains(key));
        numbers.extend(pairs.map(|(_, value)| number(value)));
    }
    let numbers: Option<Vec<u64>> = numbers.into_iter().collect();
    let numbers = numbers.filter(|numbers| numbers.len() % 2 == 0 && numbers.len() / 2 <= PARTS);
    let numbers = numbers.ok_or(ArchiveProblem::Sparse)?;
    let map = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    Ok(Some(Sparse { size, map, before: 0 }))
}

/// A map in front of the data: numbers in lines, the count of parts first, filled up to whole blocks.
fn in_front(
    mut read: impl FnMut(u64) -> Result<[u8; BLOCK], ArchiveProblem>,
) -> Result<(Map, u64), ArchiveProblem> {
    let (mut line, mut numbers) = (Vec::new(), Vec::new());
    let (mut before, mut needed) = (0, 1_usize);
    while numbers.len() < needed {
        let block = read(before)?;
        before += BLOCK as u64;
        for byte in block {
            if byte != b'\n' {
                line.push(byte);
                if line.len() > 20 {
                    return Err(ArchiveProblem::Sparse);
                }
                continue;
            }
            let next = number(&line).ok_or(ArchiveProblem::Sparse)?;
            line.clear();
            numbers.push(next);
            if numbers.len() == 1 {
                let parts = usize::try_from(next).ok().filter(|parts| *parts <= PARTS);
                needed += parts.ok_or(ArchiveProblem::Sparse)? * 2;
            }
            if numbers.len() == needed {
                break;
            }
        }
    }
    Ok((numbers[1..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(), before))
}

/// The parts of a file, whose data lie from `at` on and have so many bytes.
pub(super) fn placed(sparse: &Sparse, at: u64, bytes: u64) -> Result<Vec<Part>, ArchiveProblem> {
    let (mut parts, mut end, mut taken) = (Vec::new(), 0, 0_u64);
    for &(offset, length) in &sparse.map {
        let next = offset.checked_add(length).filter(|next| offset >= end && *next <= sparse.size);
        end = next.ok_or(ArchiveProblem::Sparse)?;
        if length > 0 {
            parts.push(Part { offset, at: at + taken, length });
        }
        taken = taken
            .checked_add(length)
            .filter(|taken| *taken <= bytes)
            .ok_or(ArchiveProblem::Sparse)?;
    }
    if taken == bytes { Ok(parts) } else { Err(ArchiveProblem::Sparse) }
}
