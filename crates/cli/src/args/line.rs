//! The line that a shell completes, as its script passes it.
//!
//! Layer: rank 12. Functions: [`words`], [`line`], [`joined`].

use std::env;
use std::ffi::OsString;

/// The words of the line in question that are text.
pub(crate) fn words() -> Vec<String> {
    let (words, _) = joined(line(), 0);
    words.into_iter().filter_map(|word| word.into_string().ok()).collect()
}

/// The line as the script passes it, behind `--`.
pub(crate) fn line() -> Vec<OsString> {
    env::args_os().skip_while(|word| word != "--").skip(1).collect()
}

/// `words` of which bash has split `KEY=VALUE` at the sign, as the user wrote them, and where the word at `index` is now.
pub(crate) fn joined(words: Vec<OsString>, index: usize) -> (Vec<OsString>, usize) {
    let (mut whole, mut now, mut goes_on): (Vec<OsString>, _, _) = (Vec::new(), 0, false);
    for (at, word) in words.into_iter().enumerate() {
        let sign = word == "=";
        match whole.last_mut() {
            Some(last) if sign || goes_on => last.push(&word),
            _ => whole.push(word),
        }
        goes_on = sign;
        if at == index {
            now = whole.len() - 1;
        }
    }
    (whole, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bash_split_is_joined() {
        let joined = |words: &[&str], index| {
            let (words, now) = joined(words.iter().map(OsString::from).collect(), index);
            (words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>(), now)
        };
        let words = ["boardlab", "run", "nor-write", "--set", "part", "=", "s2"];
        let whole = ["boardlab", "run", "nor-write", "--set", "part=s2"].map(String::from);
        assert_eq!(joined(&words, 6), (whole.to_vec(), 4));
        assert_eq!(joined(&words[..6], 5).0[4], "part=");
        assert_eq!(
            joined(&["boardlab", "run", ""], 2),
            (vec!["boardlab".into(), "run".into(), String::new()], 2)
        );
    }
}
