//! Metadata as they are written, and everything that can be wrong in them.

use super::*;

fn file(entries: &str) -> String {
    format!(
        "{{\"format\":\"boardlab-metadata\",\"image\":\"a\",\"version\":1,\"files\":[\n{entries}\n]}}\n"
    )
}

const MOTD: &str = r#"{"path":"/motd","kind":"file","mode":"0644","uid":1,"gid":2,"modified":-3}"#;

/// The place and the message.
fn refused_as(text: &str) -> (usize, usize, String) {
    let ((line, column), problem) = read(text).map(drop).unwrap_err();
    assert!(!problem.help().is_empty());
    (line, column, problem.to_string())
}

#[test]
fn every_field_comes_back_and_names_with_their_escapes() {
    let all = r#"{"path":"/\\xff\\u{5c}a ö\\u{a}b","kind":"block","mode":"7777","uid":4294967295,"gid":0,
      "modified":-9223372036854775808,"nanos":999999999,"device":[5,4294967295],
      "attributes":{"user.b":"\\x00\\u{5c}","user.a":""}},
      {"path":"/z","link":"/\\xff\\u{5c}a ö\\u{a}b","kind":"block","mode":"7777","uid":4294967295,"gid":0,
      "modified":-9223372036854775808,"nanos":999999999,"device":[5,4294967295],
      "attributes":{"user.a":"","user.b":"\\x00\\u{5c}"}}"#;
    let read = read(&file(all)).unwrap();
    let one = &read[0].entry;
    assert_eq!(one.path(), b"/\xff\\a \xc3\xb6\nb");
    assert_eq!(one.kind(), Kind::Block(Device { major: 5, minor: u32::MAX }));
    assert_eq!((one.mode(), one.uid, one.gid), (0o7777, u32::MAX, 0));
    assert_eq!(one.modified(), Timestamp { seconds: i64::MIN, nanos: 999_999_999 });
    let values = [(b"user.a".to_vec(), Vec::new()), (b"user.b".to_vec(), b"\0\\".to_vec())];
    assert_eq!(one.attributes(), values);
    assert_eq!((read[0].same, read[1].same), (None, Some(0)));
}

/// What is replaced in an entry by what, and the message.
const WRONG: &[[&str; 3]] = &[
    ["\"uid\"", "\"owner\"", "unknown field `owner`, expected one of `path`"],
    ["\"gid\":2,", "", "missing field `gid`"],
    ["\"gid\"", "\"uid\"", "duplicate field `uid`"],
    ["file", "fil", "unknown variant `fil`, expected one of `file`"],
    ["0644", "0844", "the mode cannot be `0844`, expected an octal number"],
    ["0644", "+644", "the mode cannot be `+644`"],
    ["0644", "10000", "the mode cannot be `10000`"],
    ["\"0644\"", "644", "expected a string"],
    ["\"uid\":1", "\"uid\":-1", "expected u32"],
    ["\"uid\":1", "\"uid\":4294967296", "expected u32"],
    ["-3", "-3,\"nanos\":1000000000", "expected less than a second"],
    ["/motd", "/m\\\\otd", "the backslash at byte 2 of the text begins no escape"],
    ["/motd", "motd", "`motd` is no path, expected one from / on"],
    ["/motd", "/../motd", "is no path"],
    ["/motd", "/\\\\x2e\\\\x2e/x", "is no path"],
    ["/motd", "/a//b", "is no path"],
    ["/motd", "/a\\\\x00b", "is no path"],
    ["-3", "-3,\"device\":[1,2]", "`/motd`, a file, has a \"device\""],
    ["-3", "-3,\"device\":[1]", "expected a tuple of size 2"],
    ["file", "character", "has no \"device\""],
    ["file", "link", "`/motd`, a symbolic link, has no \"target\""],
    ["-3", "-3,\"link\":\"/a\"", "another name of `/a`, which is not before it"],
    ["-3", "-3,\"link\":\"/motd\"", "which is not before it"],
    ["-3", "-3,\"attributes\":[]", "expected an object with the values"],
    ["-3", "-3,\"attributes\":{\"a\":\"\",\"\\\\x61\":\"\"}", "the attribute `a` twice"],
    ["\"uid\"", "\"\\u001b[2J\"", "unknown field `\\u{1b}[2J`"],
];

#[test]
fn what_is_wrong_has_a_place_and_what_was_expected() {
    let with = |from: &str, to: &str| file(&MOTD.replace(from, to));
    let cases = WRONG.iter().map(|&[from, to, says]| (with(from, to), 2, says));
    let two = |name: &str, more: &str| {
        file(&format!("{MOTD},\n{}", MOTD.replace("/motd", name).replace("-3", more)))
    };
    let folder = two("/d", "-3,\"link\":\"/motd\"");
    let last = folder.rfind("\"file\"").unwrap();
    let folder = [&folder[..last], "\"directory\"", &folder[last + 6..]].concat();
    let more = [
        ("files".to_owned(), 1, "expected"),
        (file(MOTD)[..120].to_owned(), 2, "EOF while parsing"),
        (r#"{"format":"else"}"#.into(), 1, "the format is `else`"),
        ("{}".into(), 1, "it has no \"format\""),
        (file("").replace("\"version\":1", "\"version\":2,\"x\":3"), 1, "version 2, not 1"),
        (file("").replace("\"version\":1,", ""), 3, "missing field `version`"),
        (file("").replace("\"image\"", "\"imag\""), 1, "unknown field `imag`"),
        (with("motd", &"n".repeat(256)), 2, "is no path"),
        (folder, 3, "`/d`, a directory, has a \"link\""),
        (two("/\\\\x6dotd", "-3"), 3, "`/motd` is there twice, first in line 2"),
        (two("/b", "-4,\"link\":\"/motd\""), 3, "of which line 2 says something else"),
    ];
    for (text, line, says) in cases.chain(more) {
        let (found, column, message) = refused_as(&text);
        assert!(message.contains(says), "{says}: {message}");
        assert_eq!(found, line, "column {column}: {message}");
    }
    let (line, column, _) = refused_as(&with("0644", "0844"));
    assert_eq!((line, &MOTD[..column]), (2, &MOTD[..MOTD.find("644").unwrap() + 4]));
}

#[test]
fn damaged_metadata_never_panic() {
    let whole = file(&format!("{MOTD},\n{}", MOTD.replace("motd", "x\\\\xff")));
    assert_eq!(read(&whole).unwrap().len(), 2);
    for at in 0..whole.len() {
        assert!(read(&whole[..at]).is_err() || whole[at..].trim().is_empty(), "{at}");
        for byte in [b'0', b'"', b'\\', b'}', b' '] {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] = byte;
            drop(read(std::str::from_utf8(&bytes).unwrap()));
        }
    }
}

#[test]
fn many_entries_in_one_line_are_read_at_once() {
    let entries: Vec<_> =
        (0..50_000).map(|number| MOTD.replace("motd", &number.to_string())).collect();
    assert_eq!(read(&file(&entries.join(","))).unwrap().len(), 50_000);
}
