//! The configuration of `ubinize`: which volumes an image has.
//!
//! Layer: rank 7. Main functions: [`parse`], [`volumes`]. One section is one volume; the keys are those
//! of `ubinize` 2.1, and so are their meaning and defaults. Unlike there, what it would ignore or get
//! wrong is refused: unknown and repeated keys, numbers that are none, and sections of another mode.
//!
//! Source: the manual page of `ubinize`; what version 2.1.5 does.

use crate::files::devices::place_of;
use crate::files::error::{IniProblem, KEYS, MakeError};
use boardlab_sim::Bytes;
use boardlab_ubi::format::vtbl::{self, NAME_MAX};
use boardlab_ubi::{Layout, NewVolume, VolumeKind};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A place in the text: line and column in characters, from 1.
type Place = (usize, usize);

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    text: String,
    at: Place,
}

/// A section.
#[derive(Debug)]
pub(super) struct Section {
    name: String,
    at: Place,
    /// The values by the position of their key in [`KEYS`].
    values: BTreeMap<usize, Value>,
}

/// A volume to be made.
#[derive(Debug)]
pub(super) struct IniVolume {
    pub(super) new: NewVolume,
    pub(super) autoresize: bool,
    /// The file with its data.
    pub(super) image: Option<PathBuf>,
    pub(super) data: Vec<u8>,
}

fn wrong(at: Place, problem: IniProblem) -> MakeError {
    MakeError::Ini { line: at.0, column: at.1, problem }
}

/// The sections of a configuration.
///
/// # Errors
/// [`MakeError::Ini`].
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Section>, MakeError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| wrong(place_of(&bytes[..error.valid_up_to()]), IniProblem::NotText))?;
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim();
        let at = (number, line.chars().take_while(|one| one.is_whitespace()).count() + 1);
        if content.is_empty() || content.starts_with([';', '#']) {
            continue;
        }
        if content.starts_with('[') {
            let section = section(content, at)?;
            if let Some(first) = sections.iter().find(|one| one.name == section.name) {
                let problem = IniProblem::Twice { found: section.name, first: first.at.0 };
                return Err(wrong(at, problem));
            }
            sections.push(section);
        } else {
            key(line, at, sections.last_mut())?;
        }
    }
    if sections.is_empty() {
        return Err(wrong((1, 1), IniProblem::NoSection));
    }
    Ok(sections)
}

fn section(content: &str, at: Place) -> Result<Section, MakeError> {
    let end = content.find(']');
    let (name, rest) =
        end.map_or((content, content), |end| (&content[1..end], &content[end + 1..]));
    let rest = rest.trim_start();
    if name.trim().is_empty() || !(rest.is_empty() || rest.starts_with([';', '#'])) {
        return Err(wrong(at, IniProblem::Line { found: content.into() }));
    }
    Ok(Section { name: name.trim().into(), at, values: BTreeMap::new() })
}

/// Adds the key and the value in `line` to `section`.
fn key(line: &str, at: Place, section: Option<&mut Section>) -> Result<(), MakeError> {
    let Some((name, _)) = line.split_once('=') else {
        return Err(wrong(at, IniProblem::Line { found: line.trim().into() }));
    };
    let start = name.chars().count() + 1;
    let name = name.trim().to_lowercase();
    let Some(section) = section else {
        return Err(wrong(at, IniProblem::Outside { key: name }));
    };
    let Some(number) = KEYS.iter().position(|key| *key == name) else {
        let near = |key: &&&str| strsim::osa_distance(key, &name) <= (name.len() / 3).max(1);
        let nearest = KEYS.iter().filter(near).min_by_key(|key| strsim::osa_distance(key, &name));
        return Err(wrong(at, IniProblem::Key { found: name, nearest: nearest.copied() }));
    };
    let value = value(line, (at.0, start))?;
    if let Some(first) = section.values.insert(number, value) {
        let problem = IniProblem::Twice { found: name, first: first.at.0 };
        return Err(wrong(at, problem));
    }
    Ok(())
}

/// The value behind the first `start` characters of a line.
fn value(line: &str, (number, start): Place) -> Result<Value, MakeError> {
    let rest: String = line.chars().skip(start).collect();
    let blank = rest.chars().take_while(|one| one.is_whitespace()).count();
    let at = (number, start + blank + 1);
    let rest = rest.trim();
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        let text = rest.split([';', '#']).next().unwrap_or(rest).trim();
        if text.ends_with('\\') {
            return Err(wrong(at, IniProblem::Line { found: rest.into() }));
        }
        return Ok(Value { text: text.into(), at });
    };
    let end = rest[1..].find(quote).ok_or_else(|| wrong(at, IniProblem::Quote))?;
    let behind = rest[end + 2..].trim_start();
    if !(behind.is_empty() || behind.starts_with([';', '#'])) {
        return Err(wrong(at, IniProblem::Line { found: rest.into() }));
    }
    Ok(Value { text: rest[1..=end].into(), at: (at.0, at.1 + 1) })
}

impl Section {
    fn get(&self, key: &str) -> Option<&Value> {
        let number = KEYS.iter().position(|one| *one == key)?;
        self.values.get(&number)
    }

    fn needed(&self, key: &'static str) -> Result<&Value, MakeError> {
        let missing = || wrong(self.at, IniProblem::Missing { section: self.name.clone(), key });
        self.get(key).ok_or_else(missing)
    }
}

impl Value {
    fn refused(&self, key: &'static str, expected: impl Into<String>) -> MakeError {
        let (found, expected) = (self.text.clone(), expected.into());
        wrong(self.at, IniProblem::Value { key, found, expected })
    }

    fn number(&self, key: &'static str, most: u32) -> Result<u32, MakeError> {
        let parsed = digits(&self.text).and_then(|number| u32::try_from(number).ok());
        let fits = parsed.filter(|&number| number <= most);
        fits.ok_or_else(|| self.refused(key, format!("a whole number from 0 to {most}")))
    }

    /// A size: bytes, or so many KiB, MiB or GiB.
    fn size(&self, key: &'static str) -> Result<u64, MakeError> {
        let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
        let unit =
            units.iter().find_map(|(name, shift)| Some((self.text.strip_suffix(name)?, shift)));
        let (number, shift) = unit.unwrap_or((&self.text, &0));
        let size = digits(number.trim_end()).and_then(|number| number.checked_mul(1 << shift));
        let expected = "bytes, or a size such as 512KiB, 16MiB or 1GiB, more than 0";
        size.filter(|&size| size > 0).ok_or_else(|| self.refused(key, expected))
    }
}

/// A number in decimal or, after `0x`, in hexadecimal digits.
fn digits(text: &str) -> Option<u64> {
    let (text, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

/// The volumes of `sections` with their data; `ini` is where the configuration is.
///
/// # Errors
/// [`MakeError::Ini`].
pub(super) fn volumes(
    sections: &[Section],
    layout: &Layout,
    ini: &Path,
) -> Result<Vec<IniVolume>, MakeError> {
    let mut volumes = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let volume = volume(section, layout, ini)?;
        for (before, other) in sections[..index].iter().zip(&volumes) {
            check_unique((section, &volume), (before, other))?;
        }
        volumes.push(volume);
    }
    Ok(volumes)
}

/// Refuses what only one volume can have.
fn check_unique(
    (section, volume): (&Section, &IniVolume),
    (before, other): (&Section, &IniVolume),
) -> Result<(), MakeError> {
    let same = [
        ("vol_id", volume.new.id == other.new.id),
        ("vol_name", volume.new.name == other.new.name),
        ("vol_flags", volume.autoresize && other.autoresize),
    ];
    let Some((key, _)) = same.into_iter().find(|(_, is_same)| *is_same) else { return Ok(()) };
    let (value, first) = (section.needed(key)?, before.needed(key)?);
    Err(wrong(value.at, IniProblem::Taken { key, found: value.text.clone(), first: first.at.0 }))
}

fn volume(section: &Section, layout: &Layout, ini: &Path) -> Result<IniVolume, MakeError> {
    let mode = section.needed("mode")?;
    if mode.text != "ubi" {
        return Err(mode.refused("mode", "ubi"));
    }
    let id = section.needed("vol_id")?.number("vol_id", vtbl::slots(layout.leb_size) - 1)?;
    let kind = match section.get("vol_type") {
        None => VolumeKind::Dynamic,
        Some(value) => match value.text.as_str() {
            "dynamic" => VolumeKind::Dynamic,
            "static" => VolumeKind::Static,
            _ => return Err(value.refused("vol_type", "dynamic or static")),
        },
    };
    let name = section.needed("vol_name")?;
    if name.text.is_empty() || name.text.len() > NAME_MAX || name.text.contains('\0') {
        return Err(name.refused("vol_name", format!("1 to {NAME_MAX} bytes")));
    }
    let (image, data) = image(section, kind, ini)?;
    let size = size(section, &data)?;
    let (autoresize, skip_check) = flags(section, kind)?;
    let alignment = alignment(section, layout)?;
    check_lebs(section, layout, (&data, size, alignment))?;
    let size = Bytes::new(size);
    let new =
        NewVolume { id: Some(id), name: name.text.clone(), kind, size, alignment, skip_check };
    Ok(IniVolume { new, autoresize, image, data })
}

/// The path and the content of the image of a volume.
fn image(
    section: &Section,
    kind: VolumeKind,
    ini: &Path,
) -> Result<(Option<PathBuf>, Vec<u8>), MakeError> {
    let Some(value) = section.get("image") else {
        if kind == VolumeKind::Static || section.get("vol_size").is_none() {
            section.needed("image")?;
        }
        return Ok((None, Vec::new()));
    };
    let path = PathBuf::from(&value.text);
    let read = |path: &Path| {
        // A pipe without a writer would block for ever.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        fs::read(path)
    };
    let data = read(&path).map_err(|problem| {
        let beside = ini.parent().is_some_and(|folder| folder.join(&path).is_file());
        wrong(value.at, IniProblem::Image { path: path.clone(), problem, beside })
    })?;
    if data.is_empty() {
        return Err(value.refused("image", "a file with content"));
    }
    Ok((Some(path), data))
}

fn size(section: &Section, data: &[u8]) -> Result<u64, MakeError> {
    let image = Bytes::of(data).get();
    let Some(value) = section.get("vol_size") else { return Ok(image) };
    let volume = value.size("vol_size")?;
    if image > volume {
        return Err(wrong(value.at, IniProblem::Large { image, volume }));
    }
    Ok(volume)
}

fn flags(section: &Section, kind: VolumeKind) -> Result<(bool, bool), MakeError> {
    let Some(value) = section.get("vol_flags") else { return Ok((false, false)) };
    match value.text.as_str() {
        "autoresize" => Ok((true, false)),
        "skip-check" if kind == VolumeKind::Static => Ok((false, true)),
        "skip-check" => {
            Err(value.refused("vol_flags", "autoresize; skip-check is for static volumes"))
        }
        _ => Err(value.refused("vol_flags", "autoresize or skip-check")),
    }
}

fn alignment(section: &Section, layout: &Layout) -> Result<u32, MakeError> {
    let Some(value) = section.get("vol_alignment") else { return Ok(1) };
    let alignment = value.number("vol_alignment", layout.leb_size)?;
    if alignment != 1 && (alignment == 0 || !alignment.is_multiple_of(layout.min_io)) {
        let (page, leb) = (layout.min_io, layout.leb_size);
        return Err(
            value.refused("vol_alignment", format!("1, or a multiple of {page} up to {leb}"))
        );
    }
    Ok(alignment)
}

/// Refuses data that need more LEBs than ubinize reserves: it counts whole ones, whatever the alignment
/// leaves of them, and no Linux takes such an image.
fn check_lebs(
    section: &Section,
    layout: &Layout,
    (data, size, alignment): (&[u8], u64, u32),
) -> Result<(), MakeError> {
    let usable = layout.leb_size - layout.leb_size % alignment;
    let needed = Bytes::of(data).get().div_ceil(u64::from(usable));
    if needed <= size.div_ceil(u64::from(layout.leb_size)) {
        return Ok(());
    }
    let value = section.needed("vol_alignment")?;
    let least = (needed - 1) * u64::from(layout.leb_size) + 1;
    Err(value.refused("vol_alignment", format!("a vol_size of {least} or more with it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (usize, usize, String) {
        let error = parse(text.as_bytes()).unwrap_err();
        let (line, column) = error.place().unwrap();
        (line, column, error.to_string())
    }

    #[test]
    fn values_end_at_comments_unless_they_are_quoted() {
        let text = "; first\n[ a ] # one\n mode = ubi ; yes\nVol_Name=\"x;y\" # c\nimage='a b'\n";
        let sections = parse(text.as_bytes()).unwrap();
        let get = |key| sections[0].get(key).map(|value| (value.text.as_str(), value.at));
        assert_eq!(sections[0].name, "a");
        assert_eq!(get("mode"), Some(("ubi", (3, 9))));
        assert_eq!(get("vol_name"), Some(("x;y", (4, 11))));
        assert_eq!(get("image"), Some(("a b", (5, 8))));
    }

    #[test]
    fn what_ubinize_would_ignore_is_refused_with_its_place() {
        let told = |line, column, text: &str| (line, column, text.to_owned());
        assert_eq!(refused("[a]\n  vol_nam=x\n"), told(2, 3, "unknown key `vol_nam`"));
        let twice = "`mode` is there twice, first in line 2";
        assert_eq!(refused("[a]\nmode=ubi\nmode=ubi\n"), told(3, 1, twice));
        assert_eq!(refused("[a]\n[a]\n"), told(2, 1, "`a` is there twice, first in line 1"));
        assert_eq!(refused("mode=ubi\n"), told(1, 1, "`mode` stands before the first section"));
        assert_eq!(refused("[a]\nubi\n"), told(2, 1, "`ubi` is no line of a configuration"));
        assert_eq!(refused("[a\n"), told(1, 1, "`[a` is no line of a configuration"));
        assert_eq!(
            refused("[a]\nimage=\"x\n"),
            told(2, 7, "the quoted value does not end on its line")
        );
        assert_eq!(
            refused("; nothing\n"),
            told(1, 1, "the configuration has no section, so no volume")
        );
        let error = parse(b"[a]\n\xff=").unwrap_err();
        assert_eq!(error.place(), Some((2, 1)));
        let near = parse(b"[a]\nvol_nam=x\n").unwrap_err();
        assert_eq!(near.help(), "did you mean `vol_name`?");
    }

    #[test]
    fn sizes_have_units_and_numbers_are_whole() {
        let value = |text: &str| Value { text: text.into(), at: (1, 1) };
        for (text, size) in [("1", 1), ("0x10", 16), ("2KiB", 2_048), ("1 MiB", 1 << 20)] {
            assert_eq!(value(text).size("vol_size").unwrap(), size);
        }
        for text in ["", "0", "-1", "1MB", "1.5MiB", "99999999999GiB", "+1", "KiB"] {
            assert!(value(text).size("vol_size").is_err(), "{text}");
        }
        assert_eq!(value("127").number("vol_id", 127).unwrap(), 127);
        for text in ["128", "abc", "-1", ""] {
            assert!(value(text).number("vol_id", 127).is_err(), "{text}");
        }
    }
}
