//! Lines, paths and fields of tables of devices.

use super::*;

#[test]
fn fields_have_their_columns_in_characters() {
    assert_eq!(fields("  /ä  c\t600"), [(3, "/ä"), (7, "c"), (9, "600")]);
    assert_eq!(fields("  # /x c 600"), []);
    assert_eq!(fields(" \t "), []);
}

#[test]
fn a_line_is_what_it_says_and_what_is_left_out_is_nothing() {
    let entry = parse(3, "/dev/tty c 666 1 2 4 64 5 2 3").unwrap().unwrap();
    let device = Device { major: 4, minor: 64 };
    let (kind, owner, range) = (Type::Character, (1, 2), Some((5, 2, 3)));
    let expected = Entry { at: (3, 1), path: "/dev/tty", kind, mode: 0o666, owner, device, range };
    assert_eq!(entry, expected);
    let short = parse(1, "/d d 755 - 0").unwrap().unwrap();
    assert_eq!((short.owner, short.range, short.kind), ((0, 0), None, Type::Directory));
    assert_eq!(parse(1, "# comment"), Ok(None));
}

#[test]
fn paths_have_the_form_of_the_tree() {
    let path = |text| tree_path(text).map(|path| String::from_utf8(path).unwrap());
    assert_eq!(path("/").as_deref(), Some("/"));
    assert_eq!(path("//a///b/").as_deref(), Some("/a/b"));
    for wrong in ["", "a", "/a/../b", "/.", "a/", "/a\0"] {
        assert_eq!(path(wrong), None, "{wrong:?}");
    }
}
