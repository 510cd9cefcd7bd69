//! Programs: ELF files for ARM, their segments and their symbols.
//!
//! Layer: rank 4. Main types: [`Program`], [`Symbols`]. Segments are loaded at their physical
//! addresses, as in QEMU. An entry point that is a virtual address in a segment is translated to its
//! physical address. Sources: TIS ELF specification 1.2; ARM IHI 0044 for mapping symbols and bit 0
//! of Thumb functions. The `object` crate reads the tables; the file is untrusted input.
//!
//! Left out: relocation, dynamic linking, compressed sections, debug information.

use object::LittleEndian;
use object::elf::{self, FileHeader32, Sym32};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

use crate::error::Error;

type Header = FileHeader32<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// The most bytes of a symbol's name; longer names are truncated.
const NAME: usize = 1024;
/// The most bytes of all names.
const NAMES: usize = 64 << 20;

/// A loadable segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The number in the program headers.
    pub number: usize,
    /// The physical address.
    pub at: u32,
    /// The virtual address.
    pub address: u32,
    /// The bytes in the file.
    pub contents: Vec<u8>,
    /// The size in memory; bytes beyond the contents are zero.
    pub size: u32,
}

/// A checked program. Whether it fits into memory is checked when it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The physical address of the entry point; bit 0 is set for Thumb code.
    pub entry: u32,
    /// The segments, by number.
    pub segments: Vec<Segment>,
    /// The symbols.
    pub symbols: Symbols,
}

impl Program {
    /// Reads an ELF file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is not an executable for this board.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        check_identity(file)?;
        let header = Header::parse(file).map_err(table("header"))?;
        match (header.e_machine(ENDIAN), header.e_type(ENDIAN)) {
            (elf::EM_ARM, elf::ET_EXEC) => {}
            (elf::EM_ARM, found) => return Err(Error::ElfKind { found: found.0 }),
            (found, _) => return Err(Error::ElfMachine { found: found.0 }),
        }
        let segments = segments(header, file)?;
        if segments.is_empty() {
            return Err(Error::ElfEmpty);
        }
        check_overlap(&segments)?;
        let entry = physical_entry(header.e_entry(ENDIAN), &segments);
        Ok(Self { entry, segments, symbols: symbols(header, file)? })
    }

    /// The end address of the highest segment.
    #[must_use]
    pub fn end(&self) -> u32 {
        let ends = self.segments.iter().map(|segment| segment.at.saturating_add(segment.size));
        ends.max().unwrap_or_default()
    }
}

fn table(table: &'static str) -> impl Fn(object::read::Error) -> Error {
    move |error| Error::ElfTable { table, reason: error.to_string() }
}

fn check_identity(file: &[u8]) -> Result<(), Error> {
    let mut found = [0; 6];
    for (place, &byte) in found.iter_mut().zip(file) {
        *place = byte;
    }
    let [first, second, third, fourth, class, order] = found;
    let magic = [first, second, third, fourth];
    if magic != elf::ELFMAG {
        return Err(Error::NotElf { found: magic });
    }
    if class != elf::ELFCLASS32.0 {
        return Err(Error::ElfClass { found: class });
    }
    if order != elf::ELFDATA2LSB.0 {
        return Err(Error::ElfByteOrder { found: order });
    }
    Ok(())
}

fn segments(header: &Header, file: &[u8]) -> Result<Vec<Segment>, Error> {
    let headers = header.program_headers(ENDIAN, file).map_err(table("program headers"))?;
    let mut found = Vec::new();
    let mut total = 0_usize;
    for (number, header) in headers.iter().enumerate() {
        let (length, size) = (header.p_filesz(ENDIAN), header.p_memsz(ENDIAN));
        if header.p_type(ENDIAN) != elf::PT_LOAD || size == 0 && length == 0 {
            continue;
        }
        if length > size {
            return Err(Error::SegmentTooFull { segment: number, contents: length, memory: size });
        }
        let beyond = || Error::SegmentBeyondFile {
            segment: number,
            offset: header.p_offset(ENDIAN),
            length,
            file: file.len(),
        };
        let contents = header.data(ENDIAN, file).map_err(|()| beyond())?;
        // Segments that share their bytes in the file could make a small file occupy much memory.
        total = total.saturating_add(contents.len());
        if total > file.len() {
            return Err(beyond());
        }
        let (at, address) = (header.p_paddr(ENDIAN), header.p_vaddr(ENDIAN));
        found.push(Segment { number, at, address, contents: contents.to_vec(), size });
    }
    Ok(found)
}

fn check_overlap(segments: &[Segment]) -> Result<(), Error> {
    let mut order: Vec<&Segment> = segments.iter().collect();
    order.sort_by_key(|segment| segment.at);
    for pair in order.windows(2) {
        let [one, other] = pair else { continue };
        if u64::from(one.at) + u64::from(one.size) > u64::from(other.at) {
            return Err(Error::SegmentsOverlap {
                segments: [one.number, other.number],
                at: other.at,
            });
        }
    }
    Ok(())
}

fn physical_entry(entry: u32, segments: &[Segment]) -> u32 {
    let code = entry & !1;
    let inside = |segment: &&Segment| {
        code.checked_sub(segment.address).is_some_and(|offset| offset < segment.size)
    };
    match segments.iter().find(inside) {
        Some(segment) => entry.wrapping_sub(segment.address).wrapping_add(segment.at),
        None => entry,
    }
}

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Code, including labels in assembly.
    Function,
    /// Data.
    Object,
}

/// A symbol: a named range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// The address of the first byte, without the Thumb bit.
    pub address: u32,
    /// The size in bytes from the file; for a symbol without one, up to the next symbol.
    pub size: u32,
    /// The kind.
    pub kind: SymbolKind,
}

/// The symbols of a program, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    list: Vec<Symbol>,
}

impl Symbols {
    /// All symbols, sorted by address.
    #[must_use]
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// The symbol that contains `address`, and the offset in it.
    #[must_use]
    pub fn at(&self, address: u32) -> Option<(&Symbol, u32)> {
        let behind = self.list.partition_point(|symbol| symbol.address <= address);
        let symbol = self.list.get(behind.checked_sub(1)?)?;
        let offset = address - symbol.address;
        (offset < symbol.size).then_some((symbol, offset))
    }

    /// The address of the first symbol called `name`.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u32> {
        self.list.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }
}

fn symbols(header: &Header, file: &[u8]) -> Result<Symbols, Error> {
    let sections = header.sections(ENDIAN, file).map_err(table("section headers"))?;
    let symbols = sections.symbols(ENDIAN, file, elf::SHT_SYMTAB).map_err(table("symbol table"))?;
    let executable = |symbol: &Sym32<LittleEndian>| {
        let index = object::SectionIndex(usize::from(symbol.st_shndx(ENDIAN).0));
        let section = sections.section(index);
        section.is_ok_and(|section| section.sh_flags(ENDIAN).0 & elf::SHF_EXECINSTR.0 != 0)
    };
    let mut list = Vec::new();
    let mut names = 0_usize;
    for symbol in symbols.iter() {
        let kind = match symbol.st_type() {
            elf::STT_FUNC => SymbolKind::Function,
            elf::STT_OBJECT => SymbolKind::Object,
            elf::STT_NOTYPE if executable(symbol) => SymbolKind::Function,
            _ => continue,
        };
        let name = symbol.name(ENDIAN, symbols.strings()).map_err(table("symbol names"))?;
        if symbol.is_undefined(ENDIAN) || name.is_empty() || name.starts_with(b"$") {
            continue;
        }
        let name = String::from_utf8_lossy(&name[..name.len().min(NAME)]).into_owned();
        names = names.saturating_add(name.len());
        if names > NAMES {
            let reason = format!("more than {} MiB of names", NAMES >> 20);
            return Err(Error::ElfTable { table: "symbol table", reason });
        }
        let thumb = u32::from(symbol.st_type() == elf::STT_FUNC);
        let address = symbol.st_value(ENDIAN) & !thumb;
        list.push(Symbol { name, address, size: symbol.st_size(ENDIAN), kind });
    }
    Ok(Symbols { list: sort_symbols(list) })
}

/// Sorts the symbols by address. Of several at one address, the first with a size stays, else the
/// first. A symbol without a size gets one that reaches to the next symbol.
fn sort_symbols(mut list: Vec<Symbol>) -> Vec<Symbol> {
    list.sort_by_key(|symbol| (symbol.address, symbol.size == 0));
    list.dedup_by_key(|symbol| symbol.address);
    for index in 0..list.len() {
        if list[index].size == 0 {
            let next = list.get(index + 1).map_or(u32::MAX, |next| next.address);
            list[index].size = next - list[index].address;
        }
    }
    list
}
