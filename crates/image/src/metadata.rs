//! What a folder cannot keep of the files of an image: owners, devices, attributes, as JSON.
//!
//! Layer: rank 7. Main functions: [`metadata`] writes them, [`apply`] gives them to the files of a folder again; `read` parses
//! them. One line a name, so that `diff` and `grep` serve; names, targets and values
//! have escapes as [`shown`] makes them, and come back by [`unshown`](crate::names::unshown).

mod apply;
mod read;

pub use apply::{Applied, apply};

use crate::files::Tree;
use crate::files::tree::Node;
use crate::names::shown;
use boardlab_vfs::Kind;
use serde_json::{Map, Value, json};

/// The name of the format, and its version.
const FORMAT: &str = "boardlab-metadata";
const VERSION: u64 = 1;

/// The metadata of all files of the image `name`.
#[must_use]
pub fn metadata(name: &str, tree: &Tree) -> String {
    let head = json!({ "format": FORMAT, "version": VERSION, "image": name });
    let head = head.to_string();
    let mut text = head.trim_end_matches('}').to_owned();
    text += ",\"files\":[";
    for (number, node) in tree.nodes.iter().enumerate() {
        text += if number == 0 { "\n" } else { ",\n" };
        text += &one(tree, node).to_string();
    }
    text + "\n]}\n"
}

fn one(tree: &Tree, node: &Node) -> Value {
    let mut of = Map::new();
    of.insert("path".into(), shown(&node.path).into());
    of.insert("kind".into(), kind(node.kind).into());
    of.insert("mode".into(), format!("{:04o}", node.mode).into());
    of.insert("uid".into(), node.uid.into());
    of.insert("gid".into(), node.gid.into());
    of.insert("modified".into(), node.modified.seconds.into());
    if node.modified.nanos > 0 {
        of.insert("nanos".into(), node.modified.nanos.into());
    }
    if let Kind::Character(device) | Kind::Block(device) = node.kind {
        of.insert("device".into(), json!([device.major, device.minor]));
    }
    if node.kind == Kind::Symlink {
        of.insert("target".into(), shown(&node.target).into());
    }
    if let Some(first) = node.same {
        of.insert("link".into(), shown(&tree.nodes[first].path).into());
    }
    if !node.attributes.is_empty() {
        let attributes = node.attributes.iter();
        let attributes = attributes.map(|(name, value)| (shown(name), shown(value).into()));
        of.insert("attributes".into(), Value::Object(attributes.collect()));
    }
    Value::Object(of)
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "link",
        Kind::Fifo => "pipe",
        Kind::Socket => "socket",
        Kind::Character(_) => "character",
        Kind::Block(_) => "block",
    }
}
