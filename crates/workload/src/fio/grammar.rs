//! The text of a job file: sections, options, comments, includes, variables.
//!
//! Layer: rank 6. Main types: [`Section`], [`Assignment`], [`Environment`]. Measured with fio 3.33:
//! blanks at the start of a line do not matter; `;` and `#` end a line anywhere; an option may not
//! stand before the first section; `include` stands within one, and an included file opens none;
//! `[global]` may occur again and applies to the jobs below it; `${NAME}` is a variable, and
//! `$ncpus`, `$pagesize` and `$mb_memory` are numbers of the machine. Nothing here reads a file or
//! the environment: see [`Environment`].
//!
//! Stricter than fio, which lets these pass: a section without `]`, or without a name.

use crate::fio::problem::{Diagnostic, Place, Problem};

/// The environment of a job file: variables and included files.
pub trait Environment {
    /// The value of a variable, or of `ncpus`, `pagesize` and `mb_memory`.
    fn variable(&self, name: &str) -> Option<String>;

    /// The text of an included file.
    fn include(&self, file: &str) -> Option<String>;
}

/// An environment without variables and files.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmptyEnvironment;

impl Environment for EmptyEnvironment {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn include(&self, _file: &str) -> Option<String> {
        None
    }
}

/// An option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Where.
    pub place: Place,
    /// The text before `=`.
    pub name: String,
    /// The text after it; `None` without `=`.
    pub value: Option<String>,
}

/// A section and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Where.
    pub place: Place,
    /// Its name; `global` applies to the jobs below.
    pub name: String,
    /// Its options in order.
    pub options: Vec<Assignment>,
}

impl Section {
    /// Whether its options are for the jobs below; fio looks at no more than the beginning of the name.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// The largest text, and the most text of all includes together.
const LARGEST: usize = 1 << 20;
/// The longest name of a section, as in fio.
const LONGEST_NAME: usize = 255;
/// The greatest depth of includes.
const DEEPEST: usize = 16;

struct Reader<'a> {
    around: &'a dyn Environment,
    sections: Vec<Section>,
    wrong: Vec<Diagnostic>,
    /// Bytes that may still be included.
    budget: usize,
}

/// Parses the sections of the job file `file`, and collects all errors.
#[must_use]
pub fn sections(
    file: &str,
    text: &[u8],
    around: &dyn Environment,
) -> (Vec<Section>, Vec<Diagnostic>) {
    let mut reader = Reader { around, sections: Vec::new(), wrong: Vec::new(), budget: LARGEST };
    let place = Place { file: file.to_owned(), line: 1, column: 1 };
    match std::str::from_utf8(text) {
        _ if text.len() > LARGEST => reader.fail(place, Problem::Text { what: "more than 1 MiB" }),
        Err(_) => reader.fail(place, Problem::Text { what: "it is not UTF-8" }),
        Ok(text) => reader.text(file, text, 0),
    }
    (reader.sections, reader.wrong)
}

impl Reader<'_> {
    fn fail(&mut self, place: Place, problem: Problem) {
        self.wrong.push(Diagnostic { place, problem });
    }

    fn text(&mut self, file: &str, text: &str, depth: usize) {
        for (index, line) in text.lines().enumerate() {
            let content = line.trim_start();
            let column = line.len() - content.len() + 1;
            let place = Place { file: file.to_owned(), line: index + 1, column };
            let content = content.split([';', '#']).next().unwrap_or_default().trim_end();
            if content.is_empty() {
                continue;
            }
            let result = match content.strip_prefix('[') {
                Some(_) if depth > 0 => {
                    Err(Problem::Section { what: "No new sections in included files" })
                }
                Some(header) => self.open(&place, header),
                None => self.option(&place, content, depth),
            };
            if let Err(problem) = result {
                self.fail(place, problem);
            }
        }
    }

    fn open(&mut self, place: &Place, header: &str) -> Result<(), Problem> {
        let name =
            header.strip_suffix(']').ok_or(Problem::Section { what: "expected ] at its end" });
        let name = match name {
            Ok("") => Err(Problem::Section { what: "it has no name" }),
            Ok(name) if name.len() > LONGEST_NAME => {
                Err(Problem::Section { what: "its name has more than 255 bytes" })
            }
            other => other,
        };
        // An invalid section still takes the options below it, so that they cause no further errors.
        let named = name.clone().unwrap_or_default().to_owned();
        self.sections.push(Section { place: place.clone(), name: named, options: Vec::new() });
        name.map(|_| ())
    }

    fn option(&mut self, place: &Place, content: &str, depth: usize) -> Result<(), Problem> {
        if self.sections.is_empty() {
            return Err(Problem::Outside { text: content.to_owned() });
        }
        if let Some(file) =
            content.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t']))
        {
            return self.include(file.trim(), depth);
        }
        let text = expand(content, self.around)?;
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text, None),
        };
        let section = self.sections.last_mut().expect("a section was opened");
        section.options.push(Assignment { place: place.clone(), name, value });
        Ok(())
    }

    fn include(&mut self, file: &str, depth: usize) -> Result<(), Problem> {
        let failed = |what| Problem::Include { file: file.to_owned(), what };
        if depth + 1 > DEEPEST {
            return Err(failed("files include each other too deeply"));
        }
        let text = self.around.include(file).ok_or_else(|| failed("no such file"))?;
        self.budget = self
            .budget
            .checked_sub(text.len())
            .ok_or_else(|| failed("more than 1 MiB is included in all"))?;
        self.text(file, &text, depth + 1);
        Ok(())
    }
}

/// Substitutes the variables in a text.
fn expand(text: &str, around: &dyn Environment) -> Result<String, Problem> {
    const KEYWORDS: [&str; 3] = ["ncpus", "pagesize", "mb_memory"];
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let keyword = KEYWORDS.iter().find(|word| after.starts_with(**word));
        let (name, following) = match (braced, keyword) {
            (Some((name, following)), _) => (name, following),
            (None, Some(word)) => (*word, &after[word.len()..]),
            (None, None) => {
                expanded.push('$');
                rest = after;
                continue;
            }
        };
        let value = around.variable(name);
        expanded.push_str(&value.ok_or_else(|| Problem::Variable { name: name.to_owned() })?);
        rest = following;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World;

    impl Environment for World {
        fn variable(&self, name: &str) -> Option<String> {
            match name {
                "DEV" => Some("/dev/sdz".to_owned()),
                "ncpus" => Some("4".to_owned()),
                _ => None,
            }
        }

        fn include(&self, file: &str) -> Option<String> {
            match file {
                "more" => Some("bs=4k\niodepth=2\n".to_owned()),
                "loop" => Some("include loop\n".to_owned()),
                "sections" => Some("[x]\n".to_owned()),
                _ => None,
            }
        }
    }

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let (sections, wrong) = sections("j", text.as_bytes(), &World);
        let line = |section: &Section| {
            let options = section.options.iter().map(|option| match &option.value {
                Some(value) => format!(" {}={value}", option.name),
                None => format!(" {}", option.name),
            });
            format!("[{}]{}", section.name, options.collect::<String>())
        };
        (sections.iter().map(line).collect(), wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn comments_blanks_and_line_ends_do_not_matter() {
        let text = "; first\n# second\r\n\n  [a]\n\trw=write ; why\r\nbs=4k# x\n stonewall\n";
        assert_eq!(read(text), (vec!["[a] rw=write bs=4k stonewall".to_owned()], Vec::new()));
    }

    #[test]
    fn variables_and_includes_come_from_the_surroundings() {
        let text = "[a]\nfilename=${DEV}:x$y\nnumjobs=$ncpus\ninclude more\n";
        let expected = "[a] filename=/dev/sdz:x$y numjobs=4 bs=4k iodepth=2";
        assert_eq!(read(text), (vec![expected.to_owned()], Vec::new()));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let wrong = |text| read(text).1.join("|");
        assert_eq!(wrong("rw=read\n"), "j:1:1: option <rw=read> outside of [] job section");
        assert_eq!(wrong("[a]\n x=${NO}\n"), "j:2:2: the variable NO is not set");
        assert_eq!(wrong("[a\nx=1\n"), "j:1:1: bad section: expected ] at its end");
        assert_eq!(wrong("[]\n"), "j:1:1: bad section: it has no name");
        assert_eq!(wrong("[a]\ninclude no\n"), "j:2:1: unable to include 'no': no such file");
        assert!(wrong("[a]\ninclude loop\n").contains("too deeply"));
        let section = "sections:1:1: bad section: No new sections in included files";
        assert_eq!(wrong("[a]\ninclude sections\n"), section);
    }
}
