//! The line that a shell completes, as its script passes it behind `--`.
//!
//! Layer: rank 12. Main type: [`BashLine`]; functions: [`words`], [`passed`]. The scripts of other shells pass words;
//! that of bash passes text, because the words of bash keep their quotes and are split at `=`, `:` and `@`.

use std::env;
use std::ffi::OsString;

/// The variable by which a script asks; its value is the shell.
pub(crate) const SHELL: &str = "BOARDLAB_COMPLETE";

/// The words of the line in question that are text.
pub(crate) fn words() -> Vec<String> {
    if env::var(SHELL).is_ok_and(|shell| shell == "bash") {
        return BashLine::of(&passed()).words;
    }
    passed().into_iter().filter_map(|word| word.into_string().ok()).collect()
}

/// What the script passes behind `--`.
pub(crate) fn passed() -> Vec<OsString> {
    env::args_os().skip_while(|word| word != "--").skip(1).collect()
}

/// A line of bash in words, as bash passes them to a program.
#[derive(Debug, Default)]
pub(crate) struct BashLine {
    /// All words; that of the cursor ends there.
    pub(crate) words: Vec<String>,
    /// The index of the word of the cursor.
    pub(crate) index: usize,
    /// The part of this word that stays when bash inserts a candidate.
    kept: String,
    /// The quote that is open behind this part.
    pub(crate) quote: Option<char>,
}

impl BashLine {
    /// The line of three texts: before what a candidate replaces, this, and what follows the cursor.
    pub(crate) fn of(texts: &[OsString]) -> Self {
        let text =
            |at: usize| texts.get(at).map_or_else(Default::default, |one| one.to_string_lossy());
        let mut splitter = Splitter::default();
        splitter.take(&text(0));
        let (kept, quote) = (splitter.word.clone().unwrap_or_default(), splitter.quote);
        splitter.take(&text(1));
        let (index, current) = (splitter.words.len(), splitter.word.clone().unwrap_or_default());
        splitter.word.get_or_insert_default();
        splitter.take(&text(2));
        let mut words = splitter.words;
        words.extend(splitter.word);
        words[index] = current;
        Self { words, index, kept, quote }
    }

    /// What bash inserts for the word `value`, with the quotes that it needs; `None` if it begins otherwise than the line.
    pub(crate) fn inserted(&self, value: &str) -> Option<String> {
        let value = value.strip_prefix(&self.kept)?;
        let is_home = self.kept.is_empty() && value.starts_with("~/");
        let (home, value) = value.split_at(usize::from(is_home));
        let quoted = |sign: char| match self.quote {
            Some('"') if "\"\\$`".contains(sign) => format!("\\{sign}"),
            Some(quote @ '"') if sign == '!' => format!("{quote}\\{sign}{quote}"),
            Some(quote @ '\'') if sign == quote => format!("{quote}\\{sign}{quote}"),
            None if !sign.is_alphanumeric() && !"_-+./,:=@%^".contains(sign) => format!("\\{sign}"),
            _ => sign.into(),
        };
        Some(home.chars().map(String::from).chain(value.chars().map(quoted)).collect())
    }
}

/// Splits a line as bash does. Variables, patterns and the like stay as they are.
#[derive(Debug, Default)]
struct Splitter {
    /// The words that have ended.
    words: Vec<String>,
    /// The word that has begun.
    word: Option<String>,
    /// The open quote.
    quote: Option<char>,
    /// Whether a backslash stands before the next character.
    escaped: bool,
}

impl Splitter {
    fn take(&mut self, text: &str) {
        for sign in text.chars() {
            match (self.quote, sign) {
                _ if self.escaped => {
                    // Between double quotes, a backslash only escapes what has a meaning there.
                    let stays = self.quote.is_some() && !"\"\\$`".contains(sign);
                    self.word
                        .get_or_insert_default()
                        .extend(stays.then_some('\\').into_iter().chain([sign]));
                    self.escaped = false;
                }
                (None, ' ' | '\t' | '\n') => self.words.extend(self.word.take()),
                (None | Some('"'), '\\') => self.escaped = true,
                (None, '"' | '\'') => {
                    self.quote = Some(sign);
                    self.word.get_or_insert_default();
                }
                (Some(quote), sign) if sign == quote => self.quote = None,
                (_, sign) => self.word.get_or_insert_default().push(sign),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of three texts.
    fn line(texts: [&str; 3]) -> BashLine {
        BashLine::of(&texts.map(OsString::from))
    }

    #[test]
    fn a_line_is_split_as_bash_does() {
        for (texts, words, index) in [
            (["run nor --set part=", "s2", ""], &["run", "nor", "--set", "part=s2"][..], 3),
            (["run ", "", ""], &["run", ""], 1),
            (["run --set ", "k", "ey nor"], &["run", "--set", "k", "nor"], 2),
            (["info ", r"my\ fi", ""], &["info", "my fi"], 1),
            (["info \"", "my fi", ""], &["info", "my fi"], 1),
            (["info ", r#""a b"/'c d'\"e"#, ""], &["info", r#"a b/c d"e"#], 1),
            (["info \"", r#"a\b\"c"#, ""], &["info", r#"a\b"c"#], 1),
            (["info '", r"a\b", ""], &["info", r"a\b"], 1),
            (["info ", "", " x"], &["info", "", "x"], 1),
        ] {
            let line = line(texts);
            assert_eq!(
                (&line.words[..], line.index),
                (&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()[..], index),
                "{texts:?}"
            );
        }
    }

    #[test]
    fn a_candidate_is_inserted_behind_what_stays_and_quoted_as_the_word_is() {
        for (before, value, inserted) in [
            ("run --set part=", "part=s29gl", "s29gl"),
            ("run --set=part=", "--set=part=s29gl", "s29gl"),
            ("run ", "nor-write", "nor-write"),
            ("info ", "~/my file", r"~/my\ file"),
            ("info ", "~my", r"\~my"),
            ("info ", "my $1's", r"my\ \$1\'s"),
            ("info \"", "my $1's!", r#"my \$1's"\!""#),
            ("info '", "my $1's", r"my $1'\''s"),
            ("info \"my dir\"/", "my dir/é b", r"é\ b"),
        ] {
            assert_eq!(
                line([before, "", ""]).inserted(value).as_deref(),
                Some(inserted),
                "{before}"
            );
        }
        assert_eq!(line(["info a=", "", ""]).inserted("b"), None);
    }
}
