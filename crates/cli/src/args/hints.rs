//! Hints beside clap's own errors: what somebody probably meant who wrote a word that is no command or no option.
//!
//! Layer: rank 12. Function: [`add`]. clap suggests what is spelt alike; here is what it cannot know: the names of
//! scenarios and parts, the endings of files, and `KEY=VALUE` without its option.

use boardlab_document::nearest::nearest;
use boardlab_document::source::Kind;
use boardlab_lab::registry::{self, EXPERIMENTS};
use boardlab_parts::catalog;
use boardlab_result::foreign::shown;
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The error with a hint, if there is one, in place of clap's general one.
pub(super) fn add(mut error: Error, top: &Command) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            text(ContextKind::InvalidSubcommand).and_then(|word| command(&word, top))
        }
        ErrorKind::UnknownArgument => {
            text(ContextKind::InvalidArg).and_then(|word| argument(&word, top))
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.iter().find_map(|one| missed(one)),
            _ => None,
        },
        _ => None,
    };
    if let Some(hint) = hint {
        // clap's own, such as to pass an option as a value, would contradict.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    }
    error
}

/// Whether `name` is that of a built-in scenario, or of its evaluation.
pub(super) fn is_scenario(name: &str) -> bool {
    EXPERIMENTS.iter().any(|one| one.name == name || one.scenario == name)
}

/// A hint for `word` in place of a command of `top`.
fn command(word: &str, top: &Command) -> Option<String> {
    let shown = shown(word);
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    if is_scenario(word) {
        return Some(format!("`{word}` is a scenario: boardlab run {word}"));
    }
    for kind in [Kind::Part, Kind::Board] {
        if catalog::all(kind).iter().any(|file| file.name == word) {
            let uses = registry::uses(kind, word).unwrap_or_default();
            let command = uses.first().map_or("boardlab list scenarios", |(_, command)| command);
            return Some(format!("`{word}` is a {}: {command}", kind.noun()));
        }
    }
    match ending {
        "toml" | "fio" => return Some(format!("to run the file: boardlab run {shown}")),
        "json" => return Some(format!("to report the result: boardlab report {shown}")),
        "elf" => return Some(format!("to run the program: boardlab os run {shown}")),
        "bin" | "img" | "jffs2" => {
            return Some(format!("to look into the image: boardlab image info {shown}"));
        }
        _ => {}
    }
    let commands: Vec<_> = top.get_subcommands().map(Command::get_name).collect();
    // An action of a command may lack what another command is called.
    let near = nearest(word, commands.iter().copied()).filter(|near| *near != word)?;
    Some(format!("did you mean `boardlab {near}`?"))
}

/// A hint for the argument `word`, which its command does not take.
fn argument(word: &str, top: &Command) -> Option<String> {
    if let Some(option) = word.strip_prefix("--") {
        let name = option.split('=').next().unwrap_or(option);
        if name.contains('.') {
            return Some(format!(
                "a key of the scenario is changed by --set {}=VALUE",
                shown(name)
            ));
        }
        if name == "set" {
            return Some("settings of your own: boardlab run SCENARIO --set KEY=VALUE".into());
        }
        let takers = takers(name, top);
        let of = takers.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        let is_known = !takers.is_empty();
        return is_known.then(|| format!("`--{name}` is an option of {of}; leave it out here"));
    }
    if word.starts_with('-') {
        return Some("options have two dashes, such as --seed; --help lists them".into());
    }
    if EXPERIMENTS.iter().any(|one| one.name == word || one.scenario == word) {
        return Some("name one scenario; several settings of it: boardlab sweep".into());
    }
    if top.get_subcommands().any(|command| command.get_name() == word) {
        return Some(format!(
            "boardlab {word} --help, or pages of all commands: boardlab man --out DIR"
        ));
    }
    let (key, value) = word.split_once('=')?;
    let is_option = top.get_arguments().any(|argument| argument.get_long() == Some(key));
    let (key, value) = (shown(key), shown(value));
    Some(match is_option {
        true => format!("did you mean --{key} {value}?"),
        false => format!("did you mean --set {key}={value}?"),
    })
}

/// A hint for the argument `name`, which is missing.
fn missed(name: &str) -> Option<String> {
    let hint = match name {
        "<SCENARIO>" => "such as nor-write; all of them: boardlab list scenarios",
        "<RUN>..." | "<A>" | "<B>" => "a folder of --out, or a file of --json > FILE",
        "<ELF>" => "a program for the board, as the linker wrote it",
        "<FILE>" => "a flash image in a file",
        "<WORD>..." => "such as linux.wait or over-provisioning",
        "<SHELL>" => "bash, elvish, fish, powershell or zsh",
        _ if name.starts_with("--grid") => "such as --grid linux.wait=170us,194us",
        _ => return None,
    };
    Some(hint.into())
}

/// The commands that take the option `name`.
fn takers(name: &str, top: &Command) -> Vec<String> {
    let mut takers = Vec::new();
    for command in top.get_subcommands() {
        let takes =
            |command: &Command| command.get_arguments().any(|one| one.get_long() == Some(name));
        if takes(command) {
            takers.push(format!("`boardlab {}`", command.get_name()));
        }
        for action in command.get_subcommands().filter(|action| takes(action)) {
            takers.push(format!("`boardlab {} {}`", command.get_name(), action.get_name()));
        }
    }
    takers
}
