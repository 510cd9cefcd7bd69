//! Kinds of data as a scenario writes them: those that are made, and samples of the user's own files.
//!
//! Layer: rank 10. Functions: [`one`], [`several`].

use super::once;
use boardlab_document::misfit::Misfit;
use boardlab_document::{Description, Node, PlacedMisfit, Read, Section, Value};
use boardlab_experiment::data_file::{self, FolderSample};
use boardlab_sim::Bytes;
use boardlab_workload::data::{Data, Sample};
use std::sync::Arc;

/// Kinds of data, as examples.
const EXAMPLES: [&str; 5] = ["zero", "random", "text", "runs", "percent:50"];
/// What stands before the path of a folder.
const SAMPLE: &str = "sample:";
/// The most bytes of a sample, which stay in memory.
const SAMPLE_MAX: Bytes = Bytes::mib(16);

/// A kind of data that a scenario names.
enum Named {
    Made(Data),
    /// The path of a folder or a file of the user.
    Own(String),
}

impl Value for Named {
    const NUMBER: bool = false;

    fn description() -> Description {
        let expected =
            "zero, random, text, runs, percent:N with N from 0 to 100, or sample: and a folder";
        Description::new(expected, "\"percent:50\"").names(EXAMPLES)
    }

    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        let text = node.as_text().ok_or_else(|| PlacedMisfit::of_type(node))?;
        if let Some(path) = text.strip_prefix(SAMPLE).filter(|path| !path.is_empty()) {
            return Ok(Self::Own(path.to_owned()));
        }
        text.parse().map(Self::Made).map_err(|_| {
            let names = EXAMPLES.map(String::from).into();
            PlacedMisfit::new(node, Misfit::UnknownName(names))
        })
    }
}

/// The kind of data that `key` names.
pub(crate) fn one(section: &Section<'_>, key: &str) -> Read<Data> {
    data(section, key, section.required(key)?)
}

/// The kinds of data that `key` lists, each once.
pub(crate) fn several(section: &Section<'_>, key: &str) -> Read<Vec<Data>> {
    let named = section.required::<Vec<Named>>(key)?;
    let all = named.into_iter().map(|named| data(section, key, named));
    let all: Vec<Data> = all.collect::<Read<_>>()?;
    once(section, key, &all)?;
    Ok(all)
}

fn data(section: &Section<'_>, key: &str, named: Named) -> Read<Data> {
    let path = match named {
        Named::Made(data) => return Ok(data),
        Named::Own(path) => path,
    };
    let path = data_file::path(section, key, &path);
    let FolderSample { files, others, total, taken: bytes } =
        data_file::sample(section, key, &path, SAMPLE_MAX)?;
    let name = path.file_name().map_or_else(|| "own".into(), |name| name.to_string_lossy());
    // The name stands in the identifiers of rows.
    let name = name.replace(|one: char| one.is_control() || one.is_whitespace(), "_");
    Ok(Data::Sample(Arc::new(Sample { name, files, others, total, bytes })))
}
