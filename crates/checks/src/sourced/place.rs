//! A source that names a document says where in it the number stands.
//!
//! Main function: [`is_missing`]. A document is a data sheet, a manual, a standard, a publication or a
//! file of a program. A place in it is a section, a table, a figure, a page, the heading above, the name
//! of a parameter, or the path of a file. Where nobody noted the place, the source says so: `section not
//! recorded`. What a document does not tell has no place.

/// Words that name a document.
const DOCUMENTS: [&str; 27] = [
    "data sheet",
    "manual",
    "specification",
    "white paper",
    "schematics",
    "the standard",
    "JESD84",
    "ONFI ",
    "AHCI ",
    "DDI ",
    "IHI ",
    "IDEMA ",
    "TN-",
    "(FAST ",
    "(DSN ",
    "(DATE ",
    "Proceedings",
    "nor.md",
    "nandfs.md",
    "sdwear.md",
    "sata.md",
    "fcse.md",
    "ftl.md",
    "Linux 2",
    "Linux 6",
    "Linux'",
    "QEMU ",
];

/// Words for a place in a document: kinds of places, and headings of data sheets and evaluations.
const PLACES: [&str; 24] = [
    "section",
    "table",
    "figure",
    "page ",
    "p. ",
    "parameter",
    "features",
    "characteristics",
    "general description",
    "revision history",
    "introduction",
    "title",
    "setting",
    "background",
    "experiment",
    "performance",
    "identity byte",
    "user-addressable sectors",
    "microSD slot",
    "initial invalid blocks",
    "CFI ",
    "timing mode",
    "synchronous mode",
    "eMMC: ",
];

/// Words that say that a document has no such place.
const ABSENT: [&str; 5] =
    ["does not tell", "is not told", "not published", "unpublished", "data sheet alone"];

/// Ends of names of files.
const FILES: [&str; 4] = [".c", ".h", ".hz", ".py"];

/// Whether `source` names a document and no place in it.
pub(super) fn is_missing(source: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| source.contains(word));
    has(&DOCUMENTS) && !has(&PLACES) && !has(&ABSENT) && !has_number(source) && !has_name(source)
}

/// Whether a part between commas begins with the number of a section: `DDI 0198D, 4.1 allows`.
fn has_number(source: &str) -> bool {
    source.split(", ").skip(1).any(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        let is_first = number.starts_with(|c: char| c.is_ascii_digit());
        is_first && (number.trim_end_matches('.').contains('.') || rest.starts_with(": "))
    })
}

/// Whether a word is a file, a parameter of a timing diagram (`tPROG`) or a byte of an identity (`9Fh`).
fn has_name(source: &str) -> bool {
    let words = source.split(|c: char| c.is_whitespace() || "(),;:".contains(c));
    words.into_iter().any(|word| {
        let is_file = FILES.iter().any(|end| word.ends_with(end));
        let parameter = word.strip_prefix('t').or_else(|| word.strip_prefix("N_")).unwrap_or("");
        let is_parameter = parameter.starts_with(|c: char| c.is_ascii_uppercase())
            && parameter.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        let byte = word.strip_suffix('h').unwrap_or("");
        let is_byte = byte.len() == 2 && byte.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_file || is_parameter || is_byte
    })
}

#[cfg(test)]
mod tests {
    use super::is_missing;

    #[test]
    fn a_document_is_named_with_a_place_in_it() {
        for bare in [
            "S29GL-S data sheet, not re-read",
            "ONFI 1.0",
            "TLC, 1,000 to 3,000 cycles (HP white paper)",
            "Grupp, Davis, Swanson (FAST 2012): twice as long",
            "the standard allows 20",
            "sata.md: 14.4 GB",
            "QEMU 7.2, as it runs",
            "K9F1G08U0A data sheet, 25 us",
        ] {
            assert!(is_missing(bare), "{bare}");
        }
        for placed in [
            "S29GL-S data sheet, section not recorded, not re-read",
            "ONFI 1.0, tWHR of mode 4",
            "HP white paper on SLC, MLC and TLC NAND: SLC tPROG 200 to 300 us",
            "DDI 0198D, 4.1 allows 4 to 128 KiB",
            "S29GL-P_00_A3 data sheet, 7.7.3: 50 us",
            "GL-S data sheet Rev. A, 1: an erase covers a sector",
            "Linux 6.1, drivers/mmc/host/sdhci.c: MMC_CAP_CMD23",
            "W25N01GV data sheet, 9Fh; not re-read",
            "sata.md, setting",
            "a guess",
            "the S-46u data sheet does not tell",
        ] {
            assert!(!is_missing(placed), "{placed}");
        }
    }
}
