//! Hints beside clap's own errors: what somebody probably meant who wrote a word that is no command or no option.
//!
//! Layer: rank 12. Function: [`add`]. clap suggests what is spelt alike; here is what it cannot know: the names of
//! scenarios and parts, the endings of files, and `KEY=VALUE` without its option.

use boardlab_computer::built_in::NAME;
use boardlab_document::nearest::nearest;
use boardlab_document::source::Kind;
use boardlab_lab::registry;
use boardlab_parts::catalog;
use boardlab_result::foreign::shown;
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The error with a hint, if there is one, in place of clap's general one. `words` are those of the line behind the name of
/// the program.
pub(super) fn add(mut error: Error, top: &Command, words: &[String]) -> Error {
    let line = &Line::of(words, top);
    let text = |kind| said(&error, kind);
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            text(ContextKind::InvalidSubcommand).and_then(|word| command(&word, line, top))
        }
        ErrorKind::UnknownArgument => {
            text(ContextKind::InvalidArg).and_then(|word| argument(&word, line, top))
        }
        ErrorKind::InvalidValue => {
            let both = text(ContextKind::InvalidArg).zip(text(ContextKind::InvalidValue));
            both.and_then(|(argument, found)| value(&argument, &found, line))
        }
        ErrorKind::MissingRequiredArgument => match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) => missing.iter().find_map(|one| missed(one)),
            _ => None,
        },
        _ => None,
    };
    // clap also takes for alike what shares a few letters.
    for (wrong, meant) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let [found, near] = [wrong, meant].map(|kind| said(&error, kind));
        let is_near = |found: &str, near: &str| nearest(plain(found), [plain(near)]).is_some();
        if found.zip(near).is_some_and(|(found, near)| !is_near(&found, &near)) {
            error.remove(meant);
        }
    }
    if error.kind() == ErrorKind::UnknownArgument {
        let usage = ContextValue::StyledStr(line.command.clone().render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    if let Some(hint) = hint {
        // clap's own, such as to pass an option as a value, would contradict.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedValue);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    }
    error
}

/// What the `error` says as its `kind`, if that is a text.
fn said(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// The command of a line.
struct Line<'a> {
    /// The names of the command and its action; empty without one.
    path: String,
    /// The command or its action; that of the whole program without one.
    command: &'a Command,
    /// The words of the line.
    words: &'a [String],
}

impl<'a> Line<'a> {
    fn of(words: &'a [String], top: &'a Command) -> Self {
        let (mut path, mut command) = (Vec::new(), top);
        for word in words {
            if let Some(below) = command.find_subcommand(word) {
                path.push(word.as_str());
                command = below;
            }
        }
        Self { path: path.join(" "), command, words }
    }

    /// The scenario that a word names; else what stands for one.
    fn scenario(&self) -> &str {
        let named = self.words.iter().find_map(|word| registry::named(word));
        named.map_or("SCENARIO", |one| one.scenario)
    }
}

/// The name of an option without its dashes.
fn plain(option: &str) -> &str {
    option.trim_start_matches('-')
}

/// Whether `name` is that of a built-in scenario, or of its evaluation.
pub(super) fn is_scenario(name: &str) -> bool {
    registry::named(name).is_some()
}

/// A hint for `word` in place of a command of `top`, or of an action of the command of `line`.
fn command(word: &str, line: &Line<'_>, top: &Command) -> Option<String> {
    let shown = shown(word);
    if line.path == "os" && (word == NAME || word.contains(['.', '/'])) {
        return Some(format!("to run the program: boardlab os run {shown}"));
    }
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    if is_scenario(word) {
        return Some(format!("`{word}` is a scenario: boardlab run {word}"));
    }
    if let Some(kind) = registry::part_or_board(word) {
        let uses = registry::uses(kind, word).unwrap_or_default();
        let command = uses.first().map_or("boardlab list scenarios", |(_, command)| command);
        return Some(format!("`{word}` is a {}: {command}", kind.noun()));
    }
    match ending {
        "toml" | "fio" => return Some(format!("to run the file: boardlab run {shown}")),
        "json" => return Some(format!("to report the result: boardlab report {shown}")),
        "elf" => return Some(format!("to run the program: boardlab os run {shown}")),
        "bin" | "img" | "jffs2" | "ubi" | "ubifs" => {
            return Some(format!("to look into the image: boardlab image info {shown}"));
        }
        _ => {}
    }
    if top.get_arguments().any(|option| option.get_long() == Some(word)) {
        return Some(format!("did you mean the option --{word}?"));
    }
    let with_action = top
        .get_subcommands()
        .find(|command| command.get_name() != "help" && command.find_subcommand(word).is_some());
    if let Some(command) = with_action {
        return Some(format!("did you mean `boardlab {} {word}`?", command.get_name()));
    }
    let commands: Vec<_> = top.get_subcommands().map(Command::get_name).collect();
    // An action of a command may lack what another command is called.
    let near = nearest(word, commands.iter().copied()).filter(|near| *near != word)?;
    Some(format!("did you mean `boardlab {near}`?"))
}

/// A hint for the argument `word`, which the command of `line` does not take.
fn argument(word: &str, line: &Line<'_>, top: &Command) -> Option<String> {
    if let Some(option) = word.strip_prefix("--") {
        let name = option.split('=').next().unwrap_or(option);
        if name.contains('.') {
            return Some(format!(
                "a key of the scenario is changed by --set {}=VALUE",
                shown(name)
            ));
        }
        if name == "set" {
            let mut rest = line.words.iter().skip_while(|one| !one.starts_with("--set"));
            let given = match rest.next().and_then(|one| one.split_once('=')) {
                Some((_, given)) => Some(given),
                None => rest.next().map(String::as_str),
            };
            let given = given.filter(|given| given.contains('=')).unwrap_or("KEY=VALUE");
            let (scenario, given) = (line.scenario(), shown(given));
            return Some(format!("settings of your own: boardlab run {scenario} --set {given}"));
        }
        let takers = takers(name, top);
        let of = takers.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        if !takers.is_empty() {
            return Some(format!("`--{name}` is an option of {of}; leave it out here"));
        }
        let options = line.command.get_arguments().chain(top.get_arguments());
        let options: Vec<_> = options.filter_map(clap::Arg::get_long).collect();
        return Some(match nearest(name, options) {
            Some(near) => format!("did you mean --{near}?"),
            None => format!("all options: boardlab help {}", line.path),
        });
    }
    if word.starts_with('-') {
        return Some("options have two dashes, such as --seed; --help lists them".into());
    }
    if is_scenario(word) && line.path.starts_with("list") && line.path != "list keys" {
        return Some(format!("about the scenario: boardlab explain {word}"));
    }
    if is_scenario(word) {
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

/// A hint for `found`, which is no value of `argument`.
fn value(argument: &str, found: &str, line: &Line<'_>) -> Option<String> {
    if argument.starts_with("[KIND]") {
        let is_part = catalog::has(Kind::Part, found);
        return match found.to_lowercase().as_str() {
            "ssd" | "drive" => Some("SSDs are of the kind sata: boardlab list parts sata".into()),
            _ if is_part => Some(format!("about the part: boardlab explain {found}")),
            _ => None,
        };
    }
    if !found.is_empty() {
        return None;
    }
    if argument.starts_with("--set") {
        let scenario = line.scenario();
        return Some(format!("write --set KEY=VALUE; the keys: boardlab list keys {scenario}"));
    }
    (line.path == "explain").then(|| "all options are explained by: boardlab help".into())
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
        "--page <SIZE>" => "the flash that the image is for, such as --page 2KiB --block 128KiB",
        "<INPUT>" | "<OUTPUT>" => "a folder with files, or an .ini of ubinize; then a new file",
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
