//! The sentence on a card that is worn out by its rating.
//!
//! Layer: rank 10. Function: [`told`].

use boardlab_ftl::Translation;
use boardlab_parts::card::worn_out;
use boardlab_result::prose::counted;
use boardlab_sd::Card;

/// Says that `card` is worn out by its rating, and which registers tell a host; `None` before.
pub(crate) fn told<T: Translation>(card: &Card<T>) -> Option<String> {
    let (registers, health) = (worn_out(card)?, card.health());
    let read = match registers.is_empty() {
        true => "no register tells the host".to_owned(),
        false => format!("a host reads: {}", registers.join("; ")),
    };
    Some(format!(
        "The card is worn out by its rating, and {read}. Its blocks have {} in the mean, of {} rated, and {} went bad.",
        counted(health.mean(), "erase"),
        health.rated,
        counted(health.grown_bad, "block"),
    ))
}
