//! What the shell of a board is told: scripts for any POSIX shell.
//!
//! Layer: rank 12. Functions: [`is_folder`], [`quoted`], [`here`], [`compile`], [`run`], [`run_in_place`]. Texts are quoted, so that none is a command.

use super::agent::{self, FLAGS, PROGRAM};
use std::fmt::Write as _;

/// The name of the plan in the folder of the board.
pub(super) const PLAN: &str = "plan";
/// The name of the script that runs the agent.
pub(super) const RUN: &str = "run.sh";

/// Whether `path`, which a board named, is the absolute path of a folder that needs no quotes.
pub(super) fn is_folder(path: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    path.starts_with('/') && path.bytes().all(is_allowed)
}

/// `text` as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Commands that write `text`, whose lines all end, to the file called `name`.
pub(super) fn here(name: &str, text: &str) -> String {
    let mut end = String::from("END");
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    format!("cat > {name} <<'{end}'\n{text}{end}\n")
}

/// A command that compiles the agent. Older C libraries have the clock in a library of its own.
pub(super) fn compile() -> String {
    let files: Vec<_> = agent::translation_units().collect();
    let line = format!("cc {} -o {PROGRAM} {}", FLAGS.join(" "), files.join(" "));
    format!("{line} 2>/dev/null || {line} -lrt")
}

/// The script that runs the agent in the folder where the script itself is. The end of its input ends the agent in order.
pub(super) fn run_in_place(arguments: &[String]) -> String {
    run("\"${0%/*}\"", arguments, true, ":")
}

/// The script that runs the agent in its folder `folder`, says how it ended by `told`, and removes the folder.
/// Where `ends_with_input`, the end of its input ends the agent in order.
pub(super) fn run(folder: &str, arguments: &[String], ends_with_input: bool, told: &str) -> String {
    let arguments: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
    let agent = format!("./{PROGRAM} {} {PLAN}", arguments.join(" "));
    let mut script = format!("trap : INT\ncd {folder} || exit 126\n");
    if ends_with_input {
        // The files of `cat` are closed, or the connection would stay open as long as it does.
        let _ = write!(
            script,
            "exec 3<&0\n{agent} </dev/null &\nagent=$!\n\
             {{ cat; kill -TERM $agent; }} <&3 >/dev/null 2>&1 &\nwatch=$!\n\
             wait $agent\nstatus=$?\nkill $watch 2>/dev/null\n"
        );
    } else {
        let _ = write!(script, "{agent} </dev/null\nstatus=$?\n");
    }
    let _ = write!(script, "cd /\nrm -rf {folder}\n{told}\nexit $status\n");
    script
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_folder_has_an_absolute_path_without_what_shells_read() {
        for (path, is) in [
            ("/tmp/boardlab-Ab3_x.9", true),
            ("tmp/x", false),
            ("", false),
            ("/tmp/x;reboot", false),
            ("/tmp/x y", false),
            ("/tmp/$(x)", false),
            ("/tmp/\nx", false),
        ] {
            assert_eq!(is_folder(path), is, "{path}");
        }
    }

    #[test]
    fn a_shell_takes_quoted_texts_as_they_are() {
        for text in ["", "it's", "$(x) `y` \"z\" \\", "-n", "a\nb", "書 *"] {
            let script = format!("printf %s {}", quoted(text));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
    }

    #[test]
    fn a_shell_writes_the_text_of_a_here_document_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let text = "$x `y`\nEND\nEND_\n\\\n";
        let script = here("file", text);
        assert!(script.ends_with("END__\n"));
        let mut command = Command::new("sh");
        assert!(command.args(["-c", &script]).current_dir(&folder).status().unwrap().success());
        assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), text);
    }
}
