//! The versioned JSON of a result: its deterministic writer, and its reader.
//!
//! Layer: rank 8, inside `report`. The form is the serde form of `boardlab_result`, published as
//! `docs/formats/result.schema.json`. Functions: [`run`], [`reproduction`], [`read`]. Objects and lists
//! of words are indented by two spaces; a list of numbers stays on one line, so that a curve does not
//! fill the screen. Floating-point numbers are the shortest that read back equal. Characters that could
//! control a terminal are JSON escapes, `\u009b`: the text is the same, and safe to display.

use crate::Error;
use boardlab_result::foreign::is_harmless;
use boardlab_result::{CLOSE, Reproduction, RunResult, SCHEMA, Verdict};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::marker::PhantomData;

/// One run as JSON with a newline at the end.
#[must_use]
pub fn run(run: &RunResult) -> String {
    write(run)
}

/// Several runs as JSON, `{"schema": 2, "results": [...]}`, with a newline at the end.
#[must_use]
pub fn reproduction(reproduction: &Reproduction) -> String {
    write(reproduction)
}

fn write(result: &impl Serialize) -> String {
    let mut json = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut json, Layout::default());
    result.serialize(&mut serializer).expect("a result has text keys, and memory does not fail");
    json.push(b'\n');
    harmless(String::from_utf8(json).expect("JSON is UTF-8"))
}

/// Escapes harmful characters in `json`, which occur in strings only.
fn harmless(json: String) -> String {
    let stays = |character: char| character == '\n' || is_harmless(character);
    if json.chars().all(stays) {
        return json;
    }
    let mut harmless = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        if stays(character) {
            harmless.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(harmless, "\\u{unit:04x}").expect("a String takes all text");
            }
        }
    }
    harmless
}

/// Reads one run or several; one run is returned as a reproduction of one. A result of schema 1 becomes one of this
/// schema: what it calls explained is close or differs.
///
/// # Errors
/// [`Error::Json`] with line and column when the text is not a result; [`Error::Schema`] when it
/// is one of another version.
pub fn read(text: &str) -> Result<Reproduction, Error> {
    let Object(shape) =
        serde_json::from_str::<Object<Shape>>(text).map_err(|error| json_error(&error))?;
    check_schema("schema", shape.schema.as_ref())?;
    let Some(results) = shape.results else {
        let run = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        return Ok(upgraded(vec![run]));
    };
    for (index, Object(result)) in results.iter().enumerate() {
        check_schema(&format!("results[{index}].schema"), result.schema.as_ref())?;
    }
    let all: Reproduction = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    Ok(upgraded(all.results))
}

/// The runs in this schema.
fn upgraded(mut results: Vec<RunResult>) -> Reproduction {
    for run in results.iter_mut().filter(|run| run.schema < SCHEMA) {
        run.schema = SCHEMA;
        let rows = run.tables.iter_mut().flat_map(|table| &mut table.rows);
        for cell in rows.flat_map(|row| row.cells.values_mut()) {
            let near = cell.difference().is_some_and(|share| share.abs() <= CLOSE);
            if near && cell.verdict == Some(Verdict::Differs) {
                cell.verdict = Some(Verdict::Close);
            }
        }
    }
    Reproduction::new(results)
}

/// The schemas that are read.
const READ: [u32; 2] = [1, SCHEMA];

/// The fields that distinguish one run from several, and the schema version.
#[derive(Deserialize)]
struct Shape {
    schema: Option<serde_json::Value>,
    results: Option<Vec<Object<RunShape>>>,
}

#[derive(Deserialize)]
struct RunShape {
    schema: Option<serde_json::Value>,
}

/// A `T` that must be an object. A derived struct would also accept a list of its fields in order,
/// which no schema version allows.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// The visitor for the fields of an [`Object`].
struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

fn check_schema(place: &str, found: Option<&serde_json::Value>) -> Result<(), Error> {
    match found {
        Some(number) if READ.iter().any(|known| *number == serde_json::json!(known)) => Ok(()),
        other => Err(Error::Schema {
            place: place.into(),
            found: other.map_or_else(|| "nothing".into(), ToString::to_string),
            expected: READ,
        }),
    }
}

fn json_error(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let full = error.to_string();
    let place = format!(" at line {line} column {column}");
    let mut found = full.strip_suffix(&place).unwrap_or(&full).to_owned();
    // serde does not say what an untagged enum expects; `Value` is the only such enum of a result.
    if found.contains("untagged enum Value") {
        found = "expected a whole number, a number, a text or null".into();
    }
    Error::Json { line, column, found }
}

/// serde_json's pretty form, with lists of numbers on one line.
#[derive(Default)]
struct Layout {
    pretty: PrettyFormatter<'static>,
    /// Set when an element of a list has begun whose kind is not yet known; true for the first element.
    element: Option<bool>,
}

impl Layout {
    /// Breaks the line before the element that has begun.
    fn own_line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.element.take().map_or(Ok(()), |first| self.pretty.begin_array_value(writer, first))
    }

    /// Keeps the element that has begun on the line.
    fn same_line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.element.take() {
            Some(false) => writer.write_all(b", "),
            Some(true) | None => Ok(()),
        }
    }
}

/// `PrettyFormatter` closes a list on a line of its own if an element was reported to it as ended.
/// So only elements on lines of their own are reported: texts here, objects by their last field.
impl Formatter for Layout {
    fn write_bool<W: ?Sized + Write>(&mut self, writer: &mut W, value: bool) -> io::Result<()> {
        self.same_line(writer)?;
        self.pretty.write_bool(writer, value)
    }

    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        self.same_line(writer)?;
        self.pretty.write_i64(writer, value)
    }

    fn write_u64<W: ?Sized + Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        self.same_line(writer)?;
        self.pretty.write_u64(writer, value)
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        self.same_line(writer)?;
        self.pretty.write_f64(writer, value)
    }

    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.same_line(writer)?;
        self.pretty.write_null(writer)
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.element.is_some() {
            self.own_line(writer)?;
            self.pretty.end_array_value(writer)?;
        }
        self.pretty.begin_string(writer)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.own_line(writer)?;
        self.pretty.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.element = None;
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.element = Some(first);
        Ok(())
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.own_line(writer)?;
        self.pretty.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}
