//! What the checks need to know of a Markdown text: headings, fenced blocks, links and anchors.
//!
//! Covers what our documents use: ATX headings, fences of backticks or tildes, inline links and images,
//! reference definitions, and HTML `src`, `href`, `srcset`, `id` and `name`. Indented code is not
//! recognised, so documents use fences.

/// A Markdown document, split once.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Headings in order.
    pub headings: Vec<Heading>,
    /// Fenced blocks in order.
    pub blocks: Vec<Block>,
    /// Links and images in order.
    pub links: Vec<Link>,
    /// Targets that HTML elements name by `id` or `name`.
    pub anchors: Vec<String>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Line, counted from 1.
    pub line: usize,
    /// Level, 1 to 6.
    pub level: usize,
    /// Text without the marks.
    pub text: String,
}

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Line of the first line inside, counted from 1.
    pub line: usize,
    /// The word behind the fence.
    pub language: String,
    /// Lines inside, without the indentation of the fence.
    pub lines: Vec<String>,
}

/// A link or an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Line, counted from 1.
    pub line: usize,
    /// Where it leads.
    pub target: String,
}

impl Document {
    /// Splits `text`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut document = Self::default();
        let mut fence: Option<Fence> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            match &fence {
                Some(open) if open.closes(line) => fence = None,
                Some(open) => document.inside(open, line),
                None => match Fence::open(line) {
                    Some(open) => {
                        document.blocks.push(Block {
                            line: number + 1,
                            language: open.language.clone(),
                            lines: Vec::new(),
                        });
                        fence = Some(open);
                    }
                    None => document.prose(number, line),
                },
            }
        }
        document
    }

    /// The anchors of the headings, as GitHub forms them, and those of HTML elements.
    #[must_use]
    pub fn targets(&self) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        for heading in &self.headings {
            let slug = slug(&heading.text);
            let mut unique = slug.clone();
            let mut count = 0;
            while targets.contains(&unique) {
                count += 1;
                unique = format!("{slug}-{count}");
            }
            targets.push(unique);
        }
        targets.extend(self.anchors.iter().cloned());
        targets
    }

    fn inside(&mut self, fence: &Fence, line: &str) {
        let spaces = line.bytes().take(fence.indent).take_while(|&byte| byte == b' ').count();
        if let Some(block) = self.blocks.last_mut() {
            block.lines.push(line[spaces..].into());
        }
    }

    fn prose(&mut self, number: usize, line: &str) {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        if (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']) {
            let text = line[level..].trim().trim_end_matches('#').trim_end();
            self.headings.push(Heading { line: number, level, text: text.into() });
        }
        let line = without_code(line);
        let mut targets = inline_targets(&line);
        targets.extend(definition_target(&line));
        for name in ["src", "href", "srcset"] {
            targets.extend(attributes(&line, name));
        }
        self.links.extend(targets.into_iter().map(|target| Link { line: number, target }));
        for name in ["id", "name"] {
            self.anchors.extend(attributes(&line, name));
        }
    }
}

struct Fence {
    indent: usize,
    mark: char,
    length: usize,
    language: String,
}

impl Fence {
    fn open(line: &str) -> Option<Self> {
        let body = line.trim_start();
        let mark = body.chars().next().filter(|c| "`~".contains(*c))?;
        let length = body.chars().take_while(|c| *c == mark).count();
        let info = body[length..].trim();
        let valid = length >= 3 && !info.contains('`');
        let language = info.split_whitespace().next().unwrap_or_default().into();
        valid.then(|| Self { indent: line.len() - body.len(), mark, length, language })
    }

    fn closes(&self, line: &str) -> bool {
        let body = line.trim();
        body.len() >= self.length && body.chars().all(|c| c == self.mark)
    }
}

/// `line` with spaces in place of what stands in backticks.
fn without_code(line: &str) -> String {
    let mut rest = line;
    let mut kept = String::new();
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|&byte| byte == b'`').count();
        let (before, code) = rest.split_at(start);
        let mark = &code[..ticks];
        let Some(end) = code[ticks..].find(mark) else { break };
        kept.push_str(before);
        kept.push(' ');
        rest = &code[ticks + end + ticks..];
    }
    kept + rest
}

/// The targets of `[text](target "title")` and of images.
fn inline_targets(line: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("](") {
        rest = &rest[start + 2..];
        let Some(end) = closing(rest) else { break };
        let target = match rest.strip_prefix('<').and_then(|inside| inside.split_once('>')) {
            Some((target, _)) => target,
            None => rest[..end].split_whitespace().next().unwrap_or_default(),
        };
        targets.push(target.into());
    }
    targets
}

/// Where the bracket that is open before `text` closes.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_i32;
    text.char_indices().find_map(|(index, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0).then_some(index)
    })
}

/// The target of `[name]: target`.
fn definition_target(line: &str) -> Option<String> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    let usable = !name.contains(']') && !name.starts_with('^');
    usable.then(|| target.split_whitespace().next().map(Into::into)).flatten()
}

/// The values of the HTML attribute `name`.
fn attributes(line: &str, name: &str) -> Vec<String> {
    let pattern = format!(" {name}=\"");
    let mut found = Vec::new();
    if line.contains('<') {
        let values = line.split(&pattern).skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(values.filter_map(|value| value.split_whitespace().next()).map(Into::into));
    }
    found
}

/// The anchor that GitHub gives a heading: small letters, spaces as hyphens, no punctuation.
#[must_use]
pub fn slug(heading: &str) -> String {
    let text = link_texts(heading);
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// `[text](target)` as `text`.
fn link_texts(heading: &str) -> String {
    let mut rest = heading;
    let mut kept = String::new();
    while let Some(middle) = rest.find("](") {
        let Some(end) = closing(&rest[middle + 2..]) else { break };
        kept.push_str(&rest[..middle]);
        rest = &rest[middle + 2 + end + 1..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_blocks_keep_their_language_and_lines() {
        let text = "a\n```console\n$ boardlab list\n```\n  ~~~ toml\n  a = 1\n  ```\n  ~~~\n# Not inside\n";
        let document = Document::parse(text);
        let blocks = &document.blocks;
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].line, blocks[0].language.as_str()), (3, "console"));
        assert_eq!(blocks[0].lines, ["$ boardlab list"]);
        assert_eq!(blocks[1].lines, ["a = 1", "```"]);
        assert_eq!(document.headings.len(), 1);
    }

    #[test]
    fn links_of_every_form_are_found() {
        let text = "[a](b.md) and ![c](d(1).png \"title\")\n[![e](f.svg)](<g h.md>)\n[ref]: i.md\n\
                    <img alt=\"x\" src=\"j.png\"> <a href=\"k.md#l\">\n`[no](m.md)` ``[no](n.md)``\n\
                    [^1]: a footnote\n";
        let links = Document::parse(text).links;
        let found: Vec<(usize, &str)> = links.iter().map(|l| (l.line, l.target.as_str())).collect();
        let expected = [
            (1, "b.md"),
            (1, "d(1).png"),
            (2, "f.svg"),
            (2, "g h.md"),
            (3, "i.md"),
            (4, "j.png"),
            (4, "k.md#l"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_in_fenced_blocks_are_text() {
        assert!(Document::parse("```\n[a](b.md)\n# c\n```\n").links.is_empty());
    }

    #[test]
    fn anchors_are_formed_as_github_forms_them() {
        assert_eq!(slug("What is *not* modelled?"), "what-is-not-modelled");
        assert_eq!(slug("`boardlab run` and [more](x.md)"), "boardlab-run-and-more");
        assert_eq!(slug("NOR: 1. Chip_state – part"), "nor-1-chip_state--part");
        assert_eq!(slug("何をモデル化するか"), "何をモデル化するか");
        let twice = Document::parse("# A\n## A\n<a id=\"b\"></a>\n");
        assert_eq!(twice.targets(), ["a", "a-1", "b"]);
    }
}
