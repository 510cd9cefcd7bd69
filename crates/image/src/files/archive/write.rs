//! A tar archive of files: owners, devices, times, extended attributes and holes included.
//!
//! Layer: rank 7. Main function: [`Tree::archive`]. The format is that of POSIX.1-2001, with the records of
//! star for extended attributes and those of GNU tar (format 1.0) for holes, which GNU tar and bsdtar read.
//! The same files give the same bytes.

use crate::files::content::BLOCK;
use crate::files::counts::FileCounts;
use crate::files::tree::{Node, Tree};
use crate::files::why::Why;
use boardlab_vfs::{Kind, Timestamp};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, Write};
use tar::{Builder, EntryType, Header};
use tempfile::spooled_tempfile;

/// The largest file that is held in memory, and not in a temporary file.
const SPOOL: usize = 64 << 20;
/// Bytes of a block of an archive.
const UNIT: usize = 512;
/// The largest number in a field of seven octal digits.
const SHORT_MAX: u32 = 0o777_7777;
/// The largest number in a field of eleven octal digits.
const LONG_MAX: u64 = 0o777_7777_7777;

impl Tree {
    /// Writes an archive of all files to `output`, with at most `limit` bytes of content, holes not counted.
    /// What has no place in it is noted among [`Tree::left_out`].
    ///
    /// All that lies in a folder follows it at once: GNU tar sets the time and the mode of a folder as soon as
    /// it meets an entry elsewhere.
    ///
    /// # Errors
    /// Those of the output.
    pub fn archive(&mut self, output: &mut dyn Write, limit: u64) -> io::Result<FileCounts> {
        let mut archive = Archive {
            builder: Builder::new(output),
            left: limit,
            missing: HashSet::new(),
            first: HashMap::new(),
            done: FileCounts::default(),
        };
        for index in self.depth_first() {
            if let Some(why) = archive.add(self, index)? {
                archive.missing.insert(index);
                self.leave_out(index, why);
            }
        }
        archive.builder.finish()?;
        archive.builder.into_inner()?.flush()?;
        Ok(archive.done)
    }
}

struct Archive<'a> {
    builder: Builder<&'a mut dyn Write>,
    /// Bytes of content that may follow.
    left: u64,
    /// The nodes that are not in it.
    missing: HashSet<usize>,
    /// The node whose name came first in the archive, of each file so far.
    first: HashMap<usize, usize>,
    done: FileCounts,
}

/// Records of an extended header.
type Records = Vec<(String, Vec<u8>)>;

impl Archive<'_> {
    /// Adds a node; why it cannot be added.
    fn add(&mut self, tree: &mut Tree, index: usize) -> io::Result<Option<Why>> {
        let node = &tree.nodes[index];
        if index > 0 && self.missing.contains(&node.parent) {
            return Ok(Some(Why::Folder));
        }
        let mut records = Records::new();
        let mut header = header_of(node, &mut records);
        let first = *self.first.entry(node.same.unwrap_or(index)).or_insert(index);
        if first != index {
            if self.missing.contains(&first) {
                return Ok(Some(Why::First));
            }
            header.set_entry_type(EntryType::Link);
            set_link(&mut header, &path_of(&tree.nodes[first]), &mut records);
            self.done.links += 1;
            return self.put(header, &path_of(node), records, &mut io::empty()).map(|()| None);
        }
        for (name, value) in &node.attributes {
            match std::str::from_utf8(name) {
                Ok(text) if !text.contains('=') => {
                    records.push((format!("SCHILY.xattr.{text}"), value.clone()));
                }
                _ => {
                    let words = crate::names::shown(name);
                    let words = format!("no archive can hold the extended attribute `{words}`");
                    tree.left_out.push(crate::files::LeftOut {
                        path: node.path.clone(),
                        why: Why::Entry(words),
                    });
                }
            }
        }
        match node.kind {
            Kind::File => return self.file(tree, index, header, records),
            Kind::Directory => header.set_entry_type(EntryType::Directory),
            Kind::Symlink => {
                header.set_entry_type(EntryType::Symlink);
                set_link(&mut header, &node.target, &mut records);
            }
            Kind::Fifo => header.set_entry_type(EntryType::Fifo),
            Kind::Socket => return Ok(Some(Why::Entry("an archive has no sockets".into()))),
            Kind::Character(device) | Kind::Block(device) => {
                if device.major > SHORT_MAX || device.minor > SHORT_MAX {
                    let (major, minor) = (device.major, device.minor);
                    return Ok(Some(Why::Device { major, minor }));
                }
                let is_block = matches!(node.kind, Kind::Block(_));
                let kind = if is_block { EntryType::Block } else { EntryType::Char };
                header.set_entry_type(kind);
                header.set_device_major(device.major)?;
                header.set_device_minor(device.minor)?;
            }
        }
        self.done.add(node.kind);
        self.put(header, &path_of(&tree.nodes[index]), records, &mut io::empty()).map(|()| None)
    }

    /// Adds a file. What cannot be read is a hole.
    fn file(
        &mut self,
        tree: &mut Tree,
        index: usize,
        mut header: Header,
        mut records: Records,
    ) -> io::Result<Option<Why>> {
        let mut content = match tree.content(index) {
            Ok(content) => content,
            Err(why) => return Ok(Some(why)),
        };
        let size = content.size;
        // The map comes first, so all of the content is read before.
        let (mut spool, mut parts) = (spooled_tempfile(SPOOL), Vec::<(u64, u64)>::new());
        loop {
            match content.next() {
                Ok(None) => break,
                Ok(Some((number, bytes))) => {
                    let length = bytes.len() as u64;
                    if length > self.left {
                        return Ok(Some(Why::Limit));
                    }
                    self.left -= length;
                    spool.write_all(bytes)?;
                    let offset = number * BLOCK as u64;
                    match parts.last_mut() {
                        Some((start, so_far)) if *start + *so_far == offset => *so_far += length,
                        _ => parts.push((offset, length)),
                    }
                }
                Err(why) => tree.leave_out(index, why),
            }
        }
        spool.rewind()?;
        let path = path_of(&tree.nodes[index]);
        self.done.add(Kind::File);
        self.done.content += size;
        if parts == [(0, size)] || size == 0 {
            header.set_size(size);
            if size > LONG_MAX {
                records.push(("size".into(), size.to_string().into_bytes()));
            }
            return self.put(header, &path, records, &mut spool).map(|()| None);
        }
        let map = map_of(&mut parts, size);
        let stored = map.len() as u64 + parts.iter().map(|(_, length)| length).sum::<u64>();
        header.set_size(stored);
        records.extend([
            ("GNU.sparse.major".into(), b"1".to_vec()),
            ("GNU.sparse.minor".into(), b"0".to_vec()),
            ("GNU.sparse.name".into(), path.clone()),
            ("GNU.sparse.realsize".into(), size.to_string().into_bytes()),
        ]);
        // What does not know these records makes another file of it.
        let other = [b"./GNUSparseFile.0/", path.strip_prefix(b"./").unwrap_or(&path)].concat();
        let mut data = map.as_slice().chain(spool);
        self.put(header, &other, records, &mut data).map(|()| None)
    }

    /// Adds an entry.
    fn put(
        &mut self,
        mut header: Header,
        path: &[u8],
        mut records: Records,
        data: &mut dyn Read,
    ) -> io::Result<()> {
        let bytes = &mut header.as_old_mut().name;
        bytes.fill(0);
        let is_sparse = records.iter().any(|(key, _)| key == "GNU.sparse.name");
        let fits = path.len() <= bytes.len();
        let length = path.len().min(bytes.len());
        bytes[..length].copy_from_slice(&path[..length]);
        if !fits && !is_sparse {
            records.push(("path".into(), path.to_vec()));
        }
        header.set_cksum();
        let records = records.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
        self.builder.append_pax_extensions(records)?;
        self.builder.append(&header, data)
    }
}

/// The path of a node in an archive.
fn path_of(node: &Node) -> Vec<u8> {
    let mut path = [b".", node.path.as_slice()].concat();
    if node.kind == Kind::Directory && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path
}

/// What all entries have.
fn header_of(node: &Node, records: &mut Records) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(node.mode);
    let mut short = |key: &str, id: u32| {
        if id <= SHORT_MAX {
            return id.into();
        }
        records.push((key.into(), id.to_string().into_bytes()));
        0
    };
    header.set_uid(short("uid", node.uid));
    header.set_gid(short("gid", node.gid));
    let Timestamp { seconds, nanos } = node.modified;
    let short = u64::try_from(seconds).ok().filter(|&seconds| seconds <= LONG_MAX);
    header.set_mtime(short.unwrap_or(0));
    if nanos > 0 || short.is_none() {
        records.push(("mtime".into(), node.modified.to_string().into_bytes()));
    }
    header.set_size(0);
    header
}

fn set_link(header: &mut Header, target: &[u8], records: &mut Records) {
    let bytes = &mut header.as_old_mut().linkname;
    let length = target.len().min(bytes.len());
    bytes[..length].copy_from_slice(&target[..length]);
    if target.len() > bytes.len() {
        records.push(("linkpath".into(), target.to_vec()));
    }
}

/// The map in front of the data of a sparse file, which ends with a part at its size.
fn map_of(parts: &mut Vec<(u64, u64)>, size: u64) -> Vec<u8> {
    if parts.last().is_none_or(|(offset, length)| offset + length < size) {
        parts.push((size, 0));
    }
    let mut map = format!("{}\n", parts.len());
    for (offset, length) in &*parts {
        map += &format!("{offset}\n{length}\n");
    }
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(UNIT), 0);
    map
}
