//! What a shell completes: the script of a shell calls this program with the words of the line.
//!
//! Layer: rank 12. Functions: [`answer`], [`registration`]. clap finds what stands where; what it may be, the
//! definitions in [`crate::args`] say. The program answers by itself, because a fixed script knows no keys.

use crate::args::Cli;
use crate::args::line::{joined, line};
use crate::output;
use clap::CommandFactory;
use clap_complete::engine::complete;
use clap_complete::env::{self as shells, Elvish, EnvCompleter, Fish, Powershell, Shells};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The variable by which a script asks; its value is the shell.
const VARIABLE: &str = "BOARDLAB_COMPLETE";

/// The variable with the index of the word in question, of our script for bash.
const INDEX: &str = "BOARDLAB_COMPLETE_INDEX";

const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh(shells::Zsh)]);

/// Answers the script of a shell; `None` if this is no such call.
pub(crate) fn answer() -> Option<ExitCode> {
    let shell = env::var(VARIABLE).ok().filter(|shell| !shell.is_empty())?;
    let shell = SHELLS.completer(&shell)?;
    let folder = env::current_dir().ok();
    let mut answer = Vec::new();
    let made = shell.write_complete(&mut Cli::command(), line(), folder.as_deref(), &mut answer);
    let printed = made.is_ok() && output::print(&answer).is_ok();
    Some(if printed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The script that makes `shell` ask this program; `None` for an unknown shell.
pub(crate) fn registration(shell: &str) -> Option<Vec<u8>> {
    let (mut script, name) = (Vec::new(), "boardlab");
    let written =
        SHELLS.completer(shell)?.write_registration(VARIABLE, name, name, name, &mut script);
    written.ok().map(|()| script)
}

/// bash, which splits words at `=` and completes what stands behind. clap's own adapter takes such a word for several.
struct Bash;

const BASH: &str = r#"_NAME() {
    local IFS=$'\n'
    COMPREPLY=($(VARIABLE=bash INDEX=$COMP_CWORD COMPLETER -- "${COMP_WORDS[@]}" 2> /dev/null))
    if [[ ${COMPREPLY-} == *[=/] ]]; then
        compopt -o nospace
    fi
}
complete -o bashdefault -F _NAME BIN
"#;

/// zsh. The script of clap's adapter puts a space behind `KEY=`.
struct Zsh(shells::Zsh);

const ZSH: &str = r#"#compdef BIN
_NAME() {
    local -a all open closed
    all=("${(@f)$(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) VARIABLE=zsh \
        COMPLETER -- "${words[@]}" 2> /dev/null)}")
    open=(${(M)all:#*[=/](|:*)})
    closed=(${all:#*[=/](|:*)})
    (( ${#open} )) && _describe -V values open -S ''
    [[ -n $closed ]] && _describe -V values closed
}
if [[ $funcstack[1] == _NAME ]]; then
    _NAME "$@"
else
    compdef _NAME BIN
fi
"#;

/// The script `text` with its names.
fn filled(text: &str, variable: &str, name: &str, program: &str, completer: &str) -> String {
    text.replace("VARIABLE", variable)
        .replace("COMPLETER", completer)
        .replace("NAME", name)
        .replace("BIN", program)
}

impl EnvCompleter for Zsh {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        script.write_all(filled(ZSH, variable, name, program, completer).as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        self.0.write_complete(command, words, folder, answer)
    }
}

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> io::Result<()> {
        let text = filled(BASH, variable, name, program, completer).replace("INDEX", INDEX);
        script.write_all(text.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        let index = env::var(INDEX).ok().and_then(|index| index.parse().ok()).unwrap_or(0);
        let (words, index) = joined(words, index);
        let current = words.get(index).cloned().unwrap_or_default();
        for candidate in complete(command, words, index, folder)? {
            let value = behind_sign(candidate.get_value(), &current);
            writeln!(answer, "{value}")?;
        }
        Ok(())
    }
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
