//! What a shell completes: the script of a shell calls this program with the words of the line.
//!
//! Layer: rank 12. Functions: [`answer`], [`registration`]. clap finds what stands where; what it may be, the
//! definitions in [`crate::args`] say. The program answers by itself, because a fixed script knows no keys.

use crate::args::Cli;
use crate::args::line::{self, BashLine};
use crate::output;
use clap::CommandFactory;
use clap_complete::CompletionCandidate;
use clap_complete::engine::complete;
use clap_complete::env::Shells;
use std::env;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// For bash. clap's own script passes words with their quotes, and split at `=`. What is inserted, [`BashLine`] quotes:
/// bash would do so with file names only.
const BASH: &str = r#"_boardlab() {
    local line=${COMP_LINE:0:COMP_POINT}
    local start=$((${#line} - ${#2}))
    mapfile -t COMPREPLY < <(BOARDLAB_COMPLETE=bash \
        boardlab -- "${line:0:start}" "${line:start}" "${COMP_LINE:COMP_POINT}" 2> /dev/null)
    if [[ ${COMPREPLY-} == *[=/] ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -F _boardlab boardlab
"#;

/// For zsh. clap's own script passes words with their quotes, puts a space behind `KEY=`, and quotes the `~` of home.
const ZSH: &str = r#"#compdef boardlab
_boardlab() {
    local -a all open closed
    compset -P '\~/'
    all=("${(@f)$(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) BOARDLAB_COMPLETE=zsh \
        boardlab -- "${(@Q)words[1,CURRENT-1]}" "${(Q)IPREFIX}${(Q)PREFIX}" \
        "${(@Q)words[CURRENT+1,-1]}" 2> /dev/null)}")
    all=("${(@)all#$IPREFIX}")
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

/// For fish. clap's own script passes the word in question with its quotes.
const FISH: &str = r#"function _boardlab
    set -l word (commandline --current-token --cut-at-cursor)
    for quote in '' '"' "'"
        set -l whole (string unescape -- $word$quote); and set word $whole; and break
    end
    BOARDLAB_COMPLETE=fish boardlab -- \
        (commandline --current-process --tokenize --cut-at-cursor) "$word" 2> /dev/null
end
complete --keep-order --exclusive --command boardlab --arguments '(_boardlab)'
"#;

/// Answers the script of a shell; `None` if this is no such call.
pub(crate) fn answer() -> Option<ExitCode> {
    let shell = env::var(line::SHELL).ok().filter(|shell| !shell.is_empty())?;
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
        "fish" => script.extend(FISH.bytes()),
        other => Shells::builtins()
            .completer(other)?
            .write_registration(line::SHELL, name, name, name, &mut script)
            .ok()?,
    }
    Some(script)
}

/// The answer to the script of a `shell` other than bash; `None` for an unknown shell.
fn of_other(shell: &str) -> Option<io::Result<Vec<u8>>> {
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    let (folder, mut answer) = (env::current_dir().ok(), Vec::new());
    let made =
        shell.write_complete(&mut Cli::command(), line::passed(), folder.as_deref(), &mut answer);
    Some(made.map(|()| answer))
}

/// The answer to our script for bash, one candidate a line.
fn of_bash() -> io::Result<Vec<u8>> {
    let line = BashLine::of(&line::passed());
    let words = line.words.iter().map(OsString::from).collect();
    let folder = env::current_dir().ok();
    let candidates = complete(&mut Cli::command(), words, line.index, folder.as_deref())?;
    let inserted = |one: &CompletionCandidate| line.inserted(&one.get_value().to_string_lossy());
    let mut lines: Vec<_> = candidates.iter().filter_map(inserted).collect();
    // Bash closes a quote behind the only candidate, where more of the word is to be typed.
    if let ([only], Some(_)) = (&lines[..], line.quote)
        && only.ends_with(['=', '/'])
    {
        lines.push(format!("{only}..."));
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes())
}
