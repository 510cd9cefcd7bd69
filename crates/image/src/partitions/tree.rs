//! Flattened device trees, and the U-Boot FIT images that are written as such.
//!
//! Layer: rank 7. Main function: [`describe`]. Source: Devicetree Specification 0.4, chapter 5;
//! `doc/uImage.FIT/source_file_format.txt` of U-Boot.

use crate::names::shown;

/// Words of the structure that are read.
const WORDS: usize = 200_000;
/// Images of a FIT that are named.
const IMAGES: usize = 8;
/// The longest value that is shown.
const VALUE: usize = 100;

/// What a tree is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) is_fit: bool,
    pub(super) text: String,
    /// Whether the structure was read to its end.
    pub(super) whole: bool,
}

/// Describes the tree in `bytes`.
pub(super) fn describe(bytes: &[u8]) -> Option<Description> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let (structure, strings) = (word(8)?, word(12)?);
    let mut read = Reading::default();
    let mut at = structure;
    for _ in 0..WORDS {
        let Some(token) = word(at) else { return Some(read.conclude(false)) };
        at += 4;
        match token {
            1 => {
                let Some(name) = text(bytes, at) else { return Some(read.conclude(false)) };
                at += (name.len() + 1).next_multiple_of(4);
                read.path.push(shown(name));
            }
            2 => {
                if read.path.pop().is_none() {
                    return Some(read.conclude(false));
                }
            }
            3 => {
                let (Some(length), Some(name)) = (word(at), word(at + 4)) else {
                    return Some(read.conclude(false));
                };
                let value =
                    at.checked_add(8).and_then(|from| bytes.get(from..from.checked_add(length)?));
                let name = strings.checked_add(name).and_then(|from| text(bytes, from));
                let (Some(value), Some(name)) = (value, name) else {
                    return Some(read.conclude(false));
                };
                read.property(name, value);
                at += 8 + length.next_multiple_of(4);
            }
            4 => {}
            9 => return Some(read.conclude(true)),
            _ => return Some(read.conclude(false)),
        }
    }
    Some(read.conclude(false))
}

/// The text that begins there.
fn text(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let bytes = bytes.get(at..)?;
    Some(&bytes[..bytes.iter().position(|&byte| byte == 0)?])
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    path: Vec<String>,
    model: Option<String>,
    compatible: Option<String>,
    description: Option<String>,
    /// The images of a FIT, each with its type.
    images: Vec<(String, String)>,
}

impl Reading {
    fn property(&mut self, name: &[u8], value: &[u8]) {
        let first = value.split(|&byte| byte == 0).next().unwrap_or_default();
        let first = || shown(&first[..first.len().min(VALUE)]);
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match (path.as_slice(), name) {
            ([_], b"model") => self.model = Some(first()),
            ([_], b"compatible") => self.compatible = Some(first()),
            ([_], b"description") => self.description = Some(first()),
            ([_, "images", image], b"type") => self.images.push(((*image).to_owned(), first())),
            _ => {}
        }
    }

    fn conclude(self, whole: bool) -> Description {
        let Self { model, compatible, description, images, .. } = self;
        if !images.is_empty() {
            let more = images.len().saturating_sub(IMAGES);
            let names =
                images.into_iter().take(IMAGES).map(|(name, kind)| format!("{name} ({kind})"));
            let mut text = names.collect::<Vec<_>>().join(", ");
            if more > 0 {
                text += &format!(", {more} more");
            }
            let text = description.map_or(text.clone(), |about| format!("{about}: {text}"));
            return Description { is_fit: true, text, whole };
        }
        let text = [model, compatible].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Description { is_fit: false, text, whole }
    }
}
