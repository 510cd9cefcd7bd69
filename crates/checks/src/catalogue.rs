//! Every data file is shown by `boardlab list`, and every command has its help and man page.

use crate::repository::Repository;
use crate::violation::Violation;
use serde_json::Value;
use std::collections::BTreeSet;

/// The tables of `boardlab list`, each named as its folder.
pub const TABLES: [&str; 3] = ["parts", "boards", "scenarios"];

/// Compares the files of `repository` with the rows of `list`, the JSON result of `boardlab list`.
#[must_use]
pub fn check_repository(repository: &Repository, list: &Value) -> Vec<Violation> {
    let files: Vec<&str> =
        TABLES.iter().flat_map(|folder| repository.files_in(folder, "toml")).collect();
    check(&files, list)
}

/// Compares `files` with the rows of `list`. A row's id is the name of its file without folders and
/// extension.
#[must_use]
pub fn check(files: &[&str], list: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for table in TABLES {
        let prefix = format!("{table}/");
        let inside = files.iter().filter(|path| path.starts_with(&prefix));
        let by_stem: Vec<(&str, &str)> = inside.map(|path| (stem(path), *path)).collect();
        let Some(shown) = row_ids(list, table) else {
            let message = format!("`boardlab list` has no table `{table}`");
            violations.push(Violation::new(table, 1, message));
            continue;
        };
        for (stem, path) in &by_stem {
            if !shown.contains(*stem) {
                let message = format!("`boardlab list {table}` does not show `{stem}`");
                violations.push(Violation::new(path, 1, message));
            }
        }
        for id in shown.iter().filter(|id| !by_stem.iter().any(|(stem, _)| stem == id)) {
            let message = format!("`boardlab list {table}` shows `{id}`, which has no file");
            violations.push(Violation::new(table, 1, message));
        }
    }
    violations
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".toml").unwrap_or(name)
}

fn row_ids(list: &Value, table: &str) -> Option<BTreeSet<String>> {
    let tables = list.get("tables")?.as_array()?;
    let found = tables.iter().find(|candidate| candidate["id"] == table)?;
    let rows = found.get("rows")?.as_array()?;
    Some(rows.iter().filter_map(|row| row["id"].as_str()).map(Into::into).collect())
}

/// The names of the commands that a help text of `boardlab --help` lists.
#[must_use]
pub fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| line.trim() != "Commands:").skip(1);
    let entries = listed.take_while(|line| line.is_empty() || line.starts_with(' '));
    // A description may go on in further lines, which are indented deeper than the names.
    let entries: Vec<&str> = entries.filter(|line| !line.trim().is_empty()).collect();
    let indent = entries.first().map_or(0, |line| line.len() - line.trim_start().len());
    let names = entries.iter().filter(|line| line.len() - line.trim_start().len() == indent);
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILES: [&str; 3] = ["parts/nor/a.toml", "boards/b.toml", "scenarios/c.toml"];

    fn list(parts: &[&str]) -> Value {
        let rows =
            |ids: &[&str]| -> Vec<Value> { ids.iter().map(|id| json!({"id": id})).collect() };
        json!({"tables": [
            {"id": "parts", "rows": rows(parts)},
            {"id": "boards", "rows": rows(&["b"])},
            {"id": "scenarios", "rows": rows(&["c"])},
        ]})
    }

    #[test]
    fn a_complete_catalogue_passes() {
        assert_eq!(check(&FILES, &list(&["a"])), []);
    }

    #[test]
    fn a_file_that_is_not_shown_is_found() {
        let found = check(&FILES, &list(&[]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "parts/nor/a.toml");
    }

    #[test]
    fn a_row_without_a_file_and_a_missing_table_are_found() {
        assert_eq!(check(&FILES, &list(&["a", "d"])).len(), 1);
        assert_eq!(check(&FILES, &json!({"tables": []})).len(), 3);
        assert_eq!(check(&FILES, &json!({})).len(), 3);
    }

    #[test]
    fn commands_are_read_from_the_help() {
        let help = "A lab.\n\nUsage: boardlab <COMMAND>\n\nCommands:\n  list  What there is\n  \
                    run   Run one scenario,\n          or more\n  help  Print this\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["list", "run"]);
        assert_eq!(commands("Usage: x\n"), [""; 0]);
    }
}
