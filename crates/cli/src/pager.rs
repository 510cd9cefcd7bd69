//! The pager: text that is taller than the terminal goes to `less`, or to what the user prefers.
//!
//! Layer: rank 12. Functions: [`command`], [`is_taller`], [`show`]. The choice is that of other programs, such as git:
//! a variable of our own, the user's defaults, `PAGER`, and `less`. Left out: a pager of our own; people know theirs.

use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that comes first.
const VARIABLE: &str = "BOARDLAB_PAGER";

/// What `less` does if the user has no `LESS`: it keeps colours, ends by itself where the text fits, and leaves it there.
const LESS: &str = "FRX";

/// The command of the shell that pages, by the variables and by `preferred`; `None` for no pager.
pub(crate) fn command(preferred: Option<&str>) -> Option<String> {
    let set = |name: &str| env::var(name).ok();
    if set("TERM").is_none_or(|terminal| terminal == "dumb") {
        return None;
    }
    chosen([set(VARIABLE), preferred.map(String::from), set("PAGER")])
}

/// The first of `choices` that is made; `less` if none is.
fn chosen(choices: [Option<String>; 3]) -> Option<String> {
    let first = choices.into_iter().flatten().next().unwrap_or_else(|| "less".into());
    Some(first).filter(|pager| !["", "cat", "none"].contains(&pager.trim()))
}

/// Whether `text` has more lines than a terminal of so many `rows` shows with its prompt.
pub(crate) fn is_taller(text: &str, rows: u16) -> bool {
    rows > 0 && text.lines().count() >= usize::from(rows)
}

/// Shows `text` in the pager, and waits until the user has left it. `false` if the pager failed, as one that cannot be
/// run: the text may not have been shown.
pub(crate) fn show(text: &str, pager: &str) -> bool {
    // Ctrl-C belongs to the pager: without a handler it would end this process under it.
    let interrupted = Arc::new(AtomicBool::new(false));
    let handler =
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted)).ok();
    let ended = begin(pager).and_then(|child| feed(child, text));
    let shown = ended.is_ok_and(|status| status.success()) || interrupted.load(Ordering::Relaxed);
    handler.map(signal_hook::low_level::unregister);
    shown
}

fn begin(pager: &str) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    command.spawn()
}

/// Gives `text` to the pager; returns how it ended.
fn feed(mut pager: Child, text: &str) -> io::Result<ExitStatus> {
    if let Some(mut input) = pager.stdin.take() {
        // A user who leaves before the end has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_choice_that_is_made_counts() {
        let chosen = |choices: [Option<&str>; 3]| chosen(choices.map(|one| one.map(String::from)));
        assert_eq!(chosen([None, None, None]).unwrap(), "less");
        assert_eq!(chosen([None, None, Some("more")]).unwrap(), "more");
        assert_eq!(chosen([None, Some("less -S"), Some("more")]).unwrap(), "less -S");
        assert_eq!(chosen([Some("most"), Some("less -S"), None]).unwrap(), "most");
        for none in ["", " ", "cat", "none"] {
            assert_eq!(chosen([Some(none), Some("less"), Some("more")]), None, "{none}");
        }
    }

    #[test]
    fn text_that_fits_with_the_prompt_is_not_paged() {
        assert!(!is_taller("1\n2\n", 3) && is_taller("1\n2\n3\n", 3));
        assert!(!is_taller(&"\n".repeat(1_000), 0), "a terminal that does not know its size");
    }
}
