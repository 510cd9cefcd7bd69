//! The nearest of several names, for error messages.
//!
//! Layer: rank 7, used by everything in `lab` that refuses a name.

/// The one of `names` that `found` was probably meant to be.
///
/// The same letters in another case win; else the fewest edits (optimal string alignment), at most
/// one for every three characters, and at least one. A name that was not written to its end counts
/// as one edit. A quantity is no slip of one with another number.
pub fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_few(found, names, 1).into_iter().next()
}

/// The `count` nearest of `names`, as [`nearest`] compares them, the nearest first and each once.
pub fn nearest_few<'n>(
    found: &str,
    names: impl IntoIterator<Item = &'n str>,
    count: usize,
) -> Vec<&'n str> {
    // A longer text is no slip of the keyboard, and comparing costs the product of the lengths.
    const LONGEST: usize = 64;
    let length = found.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return Vec::new();
    }
    let lower = found.to_lowercase();
    let is_quantity = lower.starts_with(|c: char| c.is_ascii_digit());
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let distance_to = |name: &str| match name.to_lowercase() {
        same if same == lower => 0,
        longer if length >= 2 && longer.starts_with(&lower) => 1,
        other if is_quantity && digits(&other) != digits(&lower) => usize::MAX,
        other => strsim::osa_distance(&lower, &other),
    };
    let allowed = (length / 3).max(1);
    // A name of one letter is one edit away from every other one: no hint.
    let tells = |distance: usize| distance <= allowed && (distance == 0 || distance < length);
    let with_distance = names.into_iter().map(|name| (distance_to(name), name));
    let mut near: Vec<_> = with_distance.filter(|(distance, _)| tells(*distance)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    let mut few = Vec::new();
    for (_, name) in near {
        if few.len() < count && !few.contains(&name) {
            few.push(name);
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_is_recognised() {
        let names = ["write_cycle", "read_cycle", "width"];
        assert_eq!(nearest("write_cycl", names), Some("write_cycle"));
        assert_eq!(nearest("raed_cycle", names), Some("read_cycle"));
        assert_eq!(nearest("WIDTH", names), Some("width"));
        assert_eq!(nearest("read", names), Some("read_cycle"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest(&"w".repeat(100_000), names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn the_nearest_few_come_in_order_and_once() {
        let names = ["write_cycles", "read_cycle", "width", "write_cycle", "write_cycle"];
        assert_eq!(nearest_few("write_cycl", names, 3), ["write_cycles", "write_cycle"]);
        assert_eq!(nearest_few("wriet_cycle", names, 3), ["write_cycle", "write_cycles"]);
        assert_eq!(nearest_few("write_cycle", names, 1), ["write_cycle"]);
    }

    #[test]
    fn a_quantity_is_no_slip_of_another_number() {
        let speeds = ["1.5 Gb/s", "3 Gb/s", "6 Gb/s"];
        assert_eq!(nearest("12 Gb/s", speeds), None);
        assert_eq!(nearest("1.5 Gbs", speeds), Some("1.5 Gb/s"));
        assert_eq!(nearest("6Gb/s", speeds), Some("6 Gb/s"));
    }

    #[test]
    fn the_case_of_a_unit_is_corrected() {
        assert_eq!(nearest("kib", ["B", "KiB", "kB"]), Some("KiB"));
        assert_eq!(nearest("x", ["s", "h"]), None);
    }
}
