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

#[test]
fn what_is_wrong_has_a_place_and_what_was_expected() {
    let with = |from: &str, to: &str| file(&MOTD.replace(from, to));
    for (name, text, line, says) in [
        ("no JSON", "files".to_owned(), 1, "expected"),
        ("cut off", file(MOTD)[..120].to_owned(), 2, "EOF while parsing"),
        ("other JSON", r#"{"format":"else"}"#.into(), 1, "the format is `else`"),
        ("no format", "{}".into(), 1, "it has no \"format\""),
        (
            "other version",
            file("").replace("\"version\":1", "\"version\":2,\"x\":3"),
            1,
            "version 2, not 1",
        ),
        ("no version", file("").replace("\"version\":1,", ""), 3, "missing field `version`"),
        ("unknown key above", file("").replace("\"image\"", "\"imag\""), 1, "unknown field `imag`"),
        (
            "unknown key",
            with("\"uid\"", "\"owner\""),
            2,
            "unknown field `owner`, expected one of `path`",
        ),
        ("missing key", with("\"gid\":2,", ""), 2, "missing field `gid`"),
        ("key twice", with("\"gid\"", "\"uid\""), 2, "duplicate field `uid`"),
        ("kind", with("file", "fil"), 2, "unknown variant `fil`, expected one of `file`"),
        ("mode", with("0644", "0844"), 2, "the mode cannot be `0844`, expected an octal number"),
        ("mode with sign", with("0644", "+644"), 2, "the mode cannot be `+644`"),
        ("large mode", with("0644", "10000"), 2, "the mode cannot be `10000`"),
        ("mode as number", with("\"0644\"", "644"), 2, "expected a string"),
        ("owner", with("\"uid\":1", "\"uid\":-1"), 2, "expected u32"),
        ("large owner", with("\"uid\":1", "\"uid\":4294967296"), 2, "expected u32"),
        ("nanos", with("-3", "-3,\"nanos\":1000000000"), 2, "expected less than a second"),
        (
            "escape",
            with("/motd", "/m\\\\otd"),
            2,
            "the backslash at byte 2 of the text begins no escape",
        ),
        ("relative", with("/motd", "motd"), 2, "`motd` is no path, expected one from / on"),
        ("upward", with("/motd", "/../motd"), 2, "is no path"),
        ("hidden upward", with("/motd", "/\\\\x2e\\\\x2e/x"), 2, "is no path"),
        ("empty name", with("/motd", "/a//b"), 2, "is no path"),
        ("zero", with("/motd", "/a\\\\x00b"), 2, "is no path"),
        ("long name", with("motd", &"n".repeat(256)), 2, "is no path"),
        (
            "device of a file",
            with("-3", "-3,\"device\":[1,2]"),
            2,
            "`/motd`, a file, has a \"device\"",
        ),
        ("device", with("-3", "-3,\"device\":[1]"), 2, "expected a tuple of size 2"),
        ("no device", with("file", "character"), 2, "has no \"device\""),
        ("no target", with("file", "link"), 2, "`/motd`, a symbolic link, has no \"target\""),
        (
            "folder with two names",
            file(&format!(
                "{MOTD},\n{}",
                MOTD.replace("motd", "d")
                    .replace("file", "directory")
                    .replace("-3", "-3,\"link\":\"/motd\"")
            )),
            3,
            "`/d`, a directory, has a \"link\"",
        ),
        (
            "link to nothing",
            with("-3", "-3,\"link\":\"/a\""),
            2,
            "another name of `/a`, which is not before it",
        ),
        ("link to itself", with("-3", "-3,\"link\":\"/motd\""), 2, "which is not before it"),
        ("attribute", with("-3", "-3,\"attributes\":[]"), 2, "expected an object with the values"),
        (
            "attribute twice",
            with("-3", "-3,\"attributes\":{\"a\":\"\",\"\\\\x61\":\"\"}"),
            2,
            "the attribute `a` twice",
        ),
        (
            "name twice",
            file(&format!("{MOTD},\n{}", MOTD.replace("/motd", "/\\\\x6dotd"))),
            3,
            "`/motd` is there twice, first in line 2",
        ),
        (
            "names that differ",
            file(&format!(
                "{MOTD},\n{}",
                MOTD.replace("/motd", "/b").replace("-3", "-4,\"link\":\"/motd\"")
            )),
            3,
            "of which line 2 says something else",
        ),
        ("an escape sequence", with("\"uid\"", "\"\\u001b[2J\""), 2, "unknown field `\\u{1b}[2J`"),
    ] {
        let (found, column, message) = refused_as(&text);
        assert!(message.contains(says), "{name}: {message}");
        assert_eq!(found, line, "{name}: column {column}: {message}");
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
