//! What a shell completes: the script of a shell calls this program with the words of the line.
//!
//! Layer: rank 12. Functions: [`answer`], [`registration`]. clap finds what stands where; what it may be, the
//! definitions in [`crate::args`] say. The program answers by itself, because a fixed script knows no keys.

use crate::args::Cli;
use crate::args::line::{joined, line};
use crate::output;
use clap::CommandFactory;
use clap_complete::engine::complete;
use clap_complete::env::Shells;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

/// The variable by which a script asks; its value is the shell.
const VARIABLE: &str = "BOARDLAB_COMPLETE";

/// The variable with the index of the word in question, of our script for bash.
const INDEX: &str = "BOARDLAB_COMPLETE_INDEX";

/// For bash, which splits words at `=` and completes what stands behind. clap's own script takes such a word for several.
const BASH: &str = r#"_boardlab() {
    local IFS=$'\n'
    COMPREPLY=($(BOARDLAB_COMPLETE=bash BOARDLAB_COMPLETE_INDEX=$COMP_CWORD boardlab -- "${COMP_WORDS[@]}" 2> /dev/null))
    if [[ ${COMPREPLY-} == *[=/] ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -F _boardlab boardlab
"#;

/// For zsh. clap's own script puts a space behind `KEY=`.
const ZSH: &str = r#"#compdef boardlab
_boardlab() {
    local -a all open closed
    all=("${(@f)$(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) BOARDLAB_COMPLETE=zsh \
        boardlab -- "${words[@]}" 2> /dev/null)}")
    open=(${(M)all:#*[=/](|:*)})
    closed=(${all:#*[=/](|:*)})
    (( ${#open} )) && _describe -V values open -S ''
    [[ -n $closed ]] && _describe -V values closed
}
if [[ $funcstack[1] == _boardlab ]]; then
    _boardlab "$@"
else
    compdef _boardlab boardlab
fi
"#;

/// Answers the script of a shell; `None` if this is no such call.
pub(crate) fn answer() -> Option<ExitCode> {
    let shell = env::var(VARIABLE).ok().filter(|shell| !shell.is_empty())?;
    let answer = match shell.as_str() {
        "bash" => of_bash(),
        other => of_other(other)?,
    };
    let printed = answer.is_ok_and(|answer| output::print(&answer).is_ok());
    Some(if printed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The script that makes `shell` ask this program; `None` for an unknown shell.
pub(crate) fn registration(shell: &str) -> Option<Vec<u8>> {
    let (mut script, name) = (Vec::new(), "boardlab");
    match shell {
        "bash" => script.extend(BASH.bytes()),
        "zsh" => script.extend(ZSH.bytes()),
        other => Shells::builtins()
            .completer(other)?
            .write_registration(VARIABLE, name, name, name, &mut script)
            .ok()?,
    }
    Some(script)
}

/// The answer to the script of a `shell` other than bash; `None` for an unknown shell.
fn of_other(shell: &str) -> Option<io::Result<Vec<u8>>> {
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    let (folder, mut answer) = (env::current_dir().ok(), Vec::new());
    let made = shell.write_complete(&mut Cli::command(), line(), folder.as_deref(), &mut answer);
    Some(made.map(|()| answer))
}

/// The answer to our script for bash, one candidate a line.
fn of_bash() -> io::Result<Vec<u8>> {
    let index = env::var(INDEX).ok().and_then(|index| index.parse().ok()).unwrap_or(0);
    let (words, index) = joined(line(), index);
    let current = words.get(index).cloned().unwrap_or_default();
    let folder = env::current_dir().ok();
    let candidates = complete(&mut Cli::command(), words, index, folder.as_deref())?;
    let lines = candidates.iter().map(|one| behind_sign(one.get_value(), &current) + "\n");
    Ok(lines.collect::<String>().into_bytes())
}

/// What bash inserts for `value` in place of the word that it completes, which begins behind the last sign in `current`.
fn behind_sign(value: &OsStr, current: &OsStr) -> String {
    let (value, current) = (value.to_string_lossy(), current.to_string_lossy());
    let kept = current.rfind('=').map_or(0, |at| at + 1);
    value.get(kept..).unwrap_or(&value).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_gets_what_stands_behind_the_sign() {
        let behind = |value: &str, current: &str| behind_sign(value.as_ref(), current.as_ref());
        assert_eq!(behind("part=s29gl", "part=s2"), "s29gl");
        assert_eq!(behind("--set=part=s29gl", "--set=part=s"), "s29gl");
        assert_eq!(behind("nor-write", "no"), "nor-write");
    }
}
