//! The module as a file: what a Python that loads it has to find.

use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSymbol, elf};
use std::path::PathBuf;

/// The module, which Cargo has built for this test.
fn module() -> Vec<u8> {
    let program = std::env::current_exe().expect("a test is a program");
    let folder: PathBuf = program.parent().expect("in a folder").into();
    std::fs::read(folder.join("lib_boardlab.so")).expect("Cargo builds the library of a test first")
}

#[test]
fn it_exports_what_the_interpreter_calls() {
    let bytes = module();
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let mut names = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    assert!(names.any(|symbol| symbol.name() == Ok("PyInit__boardlab")));
}

/// A module that names a library of one Python would load in no other.
#[test]
fn it_needs_no_library_of_python() {
    let bytes = module();
    let file = ElfFile64::<Endianness>::parse(&*bytes).expect("an ELF file");
    let (endian, header) = (file.endian(), file.elf_header());
    let sections = header.sections(endian, &*bytes).expect("sections");
    let (entries, strings) = sections.dynamic(endian, &*bytes).expect("readable").expect("dynamic");
    let strings = sections.strings(endian, &*bytes, strings).expect("strings");
    let needed = entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED);
    let names: Vec<_> = needed
        .map(|entry| entry.string(endian, strings).expect("a name"))
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("libc.")), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("python")), "{names:?}");
}
