//! Archives of any content, also of what no program writes.

#![allow(dead_code, reason = "not every test damages archives")]

use tar::Header;

/// An archive that is being written.
#[derive(Default)]
pub(crate) struct Tar(Vec<u8>);

/// An entry with its records.
#[derive(Clone)]
pub(crate) struct Entry {
    header: Header,
    records: Vec<(Vec<u8>, Vec<u8>)>,
    data: Vec<u8>,
}

/// An entry of a type.
pub(crate) fn entry(path: &[u8], kind: char) -> Entry {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[156] = u8::try_from(kind).unwrap();
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    let records = vec![(b"path".to_vec(), path.to_vec())];
    Entry { header, records, data: Vec::new() }
}

impl Entry {
    pub(crate) fn mode(mut self, mode: u32) -> Self {
        self.header.set_mode(mode);
        self
    }

    pub(crate) fn owned(self, uid: u32, gid: u32) -> Self {
        let of = |id: u32| id.to_string().into_bytes();
        self.pax("uid", &of(uid)).pax("gid", &of(gid))
    }

    pub(crate) fn time(self, seconds: i64) -> Self {
        self.pax("mtime", seconds.to_string().as_bytes())
    }

    pub(crate) fn device(mut self, major: u32, minor: u32) -> Self {
        self.header.set_device_major(major).unwrap();
        self.header.set_device_minor(minor).unwrap();
        self
    }

    pub(crate) fn link(self, target: &[u8]) -> Self {
        self.pax("linkpath", target)
    }

    pub(crate) fn xattr(self, name: &str, value: &[u8]) -> Self {
        self.pax(&format!("SCHILY.xattr.{name}"), value)
    }

    pub(crate) fn pax(mut self, key: &str, value: &[u8]) -> Self {
        self.records.push((key.into(), value.into()));
        self
    }

    pub(crate) fn data(mut self, data: &[u8]) -> Self {
        self.data = data.into();
        self
    }
}

impl Tar {
    pub(crate) fn add(&mut self, mut entry: Entry) {
        let records: Vec<u8> = entry.records.iter().flat_map(record).collect();
        let mut extended = Header::new_ustar();
        extended.as_mut_bytes()[156] = b'x';
        self.put(&mut extended, &records);
        self.put(&mut entry.header, &entry.data);
    }

    /// An entry with its data, which is filled up to whole blocks.
    fn put(&mut self, header: &mut Header, data: &[u8]) {
        header.set_size(u64::try_from(data.len()).unwrap());
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1_024, 0);
        self.0
    }
}

/// `LENGTH KEY=VALUE`, with a line feed.
fn record((key, value): &(Vec<u8>, Vec<u8>)) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let length = (1..).find(|length| rest + length.to_string().len() == *length).unwrap();
    [length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat()
}

/// Gives a header the checksum of its bytes.
pub(crate) fn checksum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}
