//! The content of a filesystem as a manifest, one line a name.
use boardlab_sim::Clock;
use boardlab_ubi::RamLebs;
use boardlab_ubifs::Ubifs;
use boardlab_vfs::{Attributes, FileSystem, Ino, Kind, PAGE_SIZE};
use std::fmt::Write as _;

/// Bytes as a manifest has them.
fn escaped(bytes: &[u8], also: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if (0x21..=0x7e).contains(&byte) && byte != b'\\' && !also.contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "\\x{byte:02x}").unwrap();
        }
    }
    // A field without a value is a minus sign.
    if text == "-" { "\\x2d".to_owned() } else { text }
}

struct Lister<'a> {
    fs: &'a mut Ubifs<RamLebs>,
    clock: Clock,
    lines: Vec<(Vec<u8>, String)>,
}

impl Lister<'_> {
    fn walk(&mut self, path: &[u8], ino: Ino) {
        let attributes = self.fs.getattr(&mut self.clock, ino).unwrap();
        let line = self.line(path, ino, &attributes);
        self.lines.push((path.to_vec(), line));
        if attributes.kind != Kind::Directory {
            return;
        }
        for entry in self.fs.readdir(&mut self.clock, ino).unwrap() {
            let path =
                if path == b"." { entry.name.clone() } else { [path, b"/", &entry.name].concat() };
            self.walk(&path, entry.ino);
        }
    }

    fn line(&mut self, path: &[u8], ino: Ino, attributes: &Attributes) -> String {
        let none = || "-".to_string();
        let (kind, device) = match attributes.kind {
            Kind::File => ('f', none()),
            Kind::Directory => ('d', none()),
            Kind::Symlink => ('l', none()),
            Kind::Fifo => ('p', none()),
            Kind::Socket => ('s', none()),
            Kind::Character(device) => ('c', format!("{}:{}", device.major, device.minor)),
            Kind::Block(device) => ('b', format!("{}:{}", device.major, device.minor)),
        };
        let sized = matches!(attributes.kind, Kind::File | Kind::Symlink);
        let size = if sized { attributes.size.to_string() } else { none() };
        let target = match attributes.kind {
            Kind::Symlink => escaped(&self.fs.readlink(&mut self.clock, ino).unwrap(), b""),
            _ => none(),
        };
        let sum =
            if attributes.kind == Kind::File { self.sum(ino, attributes.size) } else { none() };
        format!(
            "{} {kind} {:04o} {} {} {} {size} {} {device} {target} {} {sum}",
            escaped(path, b""),
            attributes.mode,
            attributes.uid,
            attributes.gid,
            attributes.links,
            attributes.modified.seconds,
            self.xattrs(ino)
        )
    }

    fn xattrs(&mut self, ino: Ino) -> String {
        let mut names = self.fs.listxattr(&mut self.clock, ino).unwrap();
        names.sort();
        let pairs: Vec<String> = names
            .iter()
            .map(|name| {
                let value = self.fs.getxattr(&mut self.clock, ino, name).unwrap();
                let hex =
                    value.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
                format!("{}={hex}", escaped(name, b"=,"))
            })
            .collect();
        if pairs.is_empty() { "-".to_string() } else { pairs.join(",") }
    }

    fn sum(&mut self, ino: Ino, size: u64) -> String {
        let mut sum = u32::MAX;
        let mut page = vec![0; PAGE_SIZE];
        let unit = u64::try_from(PAGE_SIZE).unwrap();
        for number in 0..size.div_ceil(unit) {
            if let Err(error) = self.fs.read_page(&mut self.clock, ino, number, &mut page) {
                return error.errno().unwrap().symbol().to_string();
            }
            let length = usize::try_from((size - number * unit).min(unit)).unwrap();
            sum = boardlab_codec::crc32(sum, &page[..length]);
        }
        format!("{:08x}", !sum)
    }
}

pub(crate) fn manifest(fs: &mut Ubifs<RamLebs>) -> Vec<String> {
    let mut lister = Lister { fs, clock: Clock::new(), lines: Vec::new() };
    let root = lister.fs.root();
    lister.walk(b".", root);
    lister
        .lines
        .sort_by(|(first, _), (second, _)| (first != b".", first).cmp(&(second != b".", second)));
    lister.lines.into_iter().map(|(_, line)| line).collect()
}
