//! What the agent asks of a compiler.

use super::build::{TARGETS, lacks, sources};
use std::collections::BTreeSet;
use std::fs;

/// Bytes of the static program with musl.
const MUSL_MOST: u64 = 200_000;

/// The size in KB that `agent/README.md` tells.
fn told(name: &str) -> u64 {
    let readme = fs::read_to_string(sources().join("README.md")).unwrap();
    let line = readme.lines().find(|line| line.starts_with(&format!("| {name} |")));
    let line = line.unwrap_or_else(|| panic!("agent/README.md tells no size of `{name}`"));
    line.split('|').nth(3).unwrap().trim().parse().unwrap()
}

/// By the Makefile, with `-Werror`: see [`super::build::Target::agent`].
#[test]
fn every_compiler_builds_it_without_a_warning_and_its_size_is_told() {
    let lacking: Vec<_> = TARGETS.iter().filter_map(super::build::Target::lacking).collect();
    for target in &TARGETS {
        let Some(agent) = target.agent() else { continue };
        let size = fs::metadata(&agent.program).unwrap().len();
        println!("{}: {size} bytes", target.name);
        let told = told(target.name) * 1_000;
        assert!(size.abs_diff(told) <= told / 10, "{}: {size} bytes, told {told}", target.name);
        assert!(target.compiler != "musl-gcc" || size < MUSL_MOST, "{size} bytes with musl");
    }
    if !lacking.is_empty() {
        lacks(&lacking.join(", "));
    }
}

/// C without comments and without what is in quotation marks.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        bare.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(quote) = rest.strip_prefix(['"', '\'']) {
            let mark = rest.as_bytes()[0];
            let mut bytes = quote.bytes().enumerate();
            let mut end = None;
            while let Some((index, byte)) = bytes.next() {
                if byte == b'\\' {
                    bytes.next();
                } else if byte == mark {
                    end = Some(index + 2);
                    break;
                }
            }
            end.unwrap_or(rest.len())
        } else {
            bare.push('/');
            rest = &rest[1..];
            continue;
        };
        bare.push(' ');
        rest = &rest[end..];
    }
    bare + rest
}

/// Words of a language or of a compiler, as opposed to those of libraries, begin like this.
fn is_reserved(word: &str) -> bool {
    word.starts_with("__") || word.starts_with('_') && word[1..].starts_with(char::is_uppercase)
}

/// Reserved words that GCC 4.6, its libraries and the kernel's headers of its time have: with the version of GCC where
/// it is one of GCC.
const RESERVED: [&str; 9] = [
    "__attribute__",      // 2.0
    "__sync_synchronize", // 4.1
    "__func__",           // C99
    "_SC_NPROCESSORS_ONLN",
    "_SC_PAGESIZE",
    "_SC_PHYS_PAGES",
    "_IO",
    "_GNU_SOURCE",
    "__VA_ARGS__",
];

/// Headers that glibc 2.13 and Linux 2.6.38 have, which are as old as GCC 4.6, March 2011; `linux/mmc/ioctl.h` is of
/// Linux 3.0, July 2011.
const HEADERS: &str = "dirent.h errno.h fcntl.h ftw.h glob.h inttypes.h limits.h linux/aio_abi.h linux/fs.h \
    linux/futex.h linux/mmc/ioctl.h mntent.h mtd/mtd-user.h poll.h pthread.h sched.h scsi/sg.h signal.h stdarg.h stddef.h \
    stdint.h stdio.h stdlib.h string.h sys/ioctl.h sys/mman.h sys/mount.h sys/prctl.h sys/stat.h sys/statvfs.h \
    sys/syscall.h sys/sysmacros.h sys/time.h sys/types.h sys/utsname.h sys/wait.h time.h unistd.h";

/// Flags that GCC 4.6 has.
const FLAGS: &str = "-std=c99 -pedantic -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -O2 -pthread \
    -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -c -o -lrt -p -rf";

/// What is not in `known` of a text, by its words.
fn unknown<'t>(words: impl Iterator<Item = &'t str>, known: &[&str]) -> BTreeSet<&'t str> {
    words.filter(|word| !known.contains(word)).collect()
}

/// `-std=c99 -pedantic-errors` leaves only what begins with two underscores, and attributes; Clang's `-Wgnu` and
/// `-Wc11-extensions` and GCC's `-Wc99-c11-compat` say the same with their own lists.
#[test]
fn nothing_is_newer_than_gcc_4_6() {
    let headers: Vec<_> = HEADERS.split_whitespace().collect();
    let mut files = 0;
    for entry in fs::read_dir(sources()).unwrap() {
        let path = entry.unwrap().path();
        if !path.extension().is_some_and(|end| end == "c" || end == "h") {
            continue;
        }
        files += 1;
        let text = bare(&fs::read_to_string(&path).unwrap());
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let strange = unknown(words.filter(|word| is_reserved(word)), &RESERVED);
        assert!(strange.is_empty(), "{}: {strange:?}", path.display());
        let included =
            text.lines().filter_map(|line| line.strip_prefix("#include <")?.split('>').next());
        let strange = unknown(included, &headers);
        assert!(strange.is_empty(), "{}: {strange:?}", path.display());
        for attribute in text.split("__attribute__").skip(1) {
            assert!(
                attribute.starts_with("((format(printf,"),
                "{}: {attribute:.40}",
                path.display()
            );
        }
        assert!(!text.contains("#pragma"), "{}: a pragma", path.display());
    }
    assert!(files > 15, "{files} files");
    let makefile = fs::read_to_string(sources().join("Makefile")).unwrap();
    let flags: Vec<_> = FLAGS.split_whitespace().collect();
    let words =
        makefile.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let strange = unknown(words.filter(|word| word.starts_with('-')), &flags);
    assert!(strange.is_empty(), "Makefile: {strange:?}");
}

#[test]
fn comments_and_texts_are_no_code() {
    let text = "a /* b */ \"c\\\"d\" '\"' e // f\ng/h";
    let words = bare(text);
    assert_eq!(words.split_whitespace().collect::<Vec<_>>(), ["a", "e", "g/h"]);
    assert!(is_reserved("_Generic") && is_reserved("__has_include") && !is_reserved("_a"));
}
