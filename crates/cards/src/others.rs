//! Other cards beside that of a scenario, by their names.
//!
//! Layer: rank 10. Main type: [`NamedCard`]; function: [`others`].

use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_parts::card::board::Host;
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::catalog;
use std::path::Path;

/// The folder of the built-in cards.
const FOLDER: &str = "parts/sd/";

/// A card with the name by which it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedCard {
    /// A name of `boardlab list parts`, or that of a file without its ending.
    pub name: String,
    /// The card.
    pub part: CardPart,
}

/// The cards of `names`, which commas separate: built-in ones, and part files by their paths from `folder`. `all` stands
/// for every built-in one that fits the host, `none` for none.
pub(crate) fn others(
    names: &str,
    folder: Option<&Path>,
    host: &Host,
) -> Result<Vec<NamedCard>, Error> {
    let built_in = catalog::parts().iter().filter(|part| part.path.starts_with(FOLDER));
    let wanted: Vec<&str> = match names {
        "all" => built_in.map(|part| part.name).collect(),
        "none" => Vec::new(),
        names => names.split(',').map(str::trim).collect(),
    };
    let mut all = Vec::new();
    for name in wanted {
        let document = catalog::read(Kind::Part, name, folder)?;
        let part: CardPart = document.read(part::read)?.value;
        if names != "all" || host.slot(part.face.kind).is_some() {
            all.push(NamedCard { name: short(name), part });
        }
    }
    Ok(all)
}

/// A name as it is, and of a path the name of the file without its ending.
pub(crate) fn short(name: &str) -> String {
    let stem = Path::new(name).file_stem().filter(|_| !catalog::has(Kind::Part, name));
    stem.map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned())
}
