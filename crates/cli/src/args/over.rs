//! Where a board is: the argument of `--over`.
//!
//! Layer: rank 12. Main type: [`Over`]. Hosts and users become arguments of the user's own ssh, so what could be
//! taken for an option is refused.

use std::path::PathBuf;
use std::str::FromStr;

/// The speed of a serial line where nobody says another.
const BAUD: u32 = 115_200;

/// Where the board is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Over {
    /// It is this machine.
    Local,
    /// Over ssh.
    Ssh(Host),
    /// Over a serial line, with a shell at its other end.
    Serial(Line),
}

/// A host that runs sshd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// The host, perhaps with a user before it, as ssh takes it.
    pub(crate) destination: String,
    /// The port, unless it is that of the user's configuration.
    pub(crate) port: Option<u16>,
}

/// A serial line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its device.
    pub(crate) path: PathBuf,
    /// Its speed.
    pub(crate) baud: u32,
}

impl FromStr for Over {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            Some(("ssh", host)) => Ok(Self::Ssh(host.parse()?)),
            Some(("serial", line)) => Ok(Self::Serial(line.parse()?)),
            _ => Err("expected local, ssh:[USER@]HOST[:PORT] or serial:TTY[:BAUD]".into()),
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (host, port) = split_port(place)?;
        for word in user.into_iter().chain([host]) {
            if !is_plain(word) {
                return Err(
                    "expected a host and perhaps a user, of letters, digits, . _ - and :".into()
                );
            }
        }
        let destination = user.map_or_else(|| host.into(), |user| format!("{user}@{host}"));
        Ok(Self { destination, port })
    }
}

/// The host and the port; an address with colons is in brackets where a port follows.
fn split_port(place: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, rest.strip_prefix(':').or(Some(""))),
        None => match place.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (place, None),
        },
    };
    let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0));
    match port {
        Some(None) => Err("expected a port from 1 to 65535".into()),
        port => Ok((host, port.flatten())),
    }
}

/// Whether ssh and shells take `word` as it is.
fn is_plain(word: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:%".contains(&byte);
    !word.is_empty() && !word.starts_with('-') && word.bytes().all(is_allowed)
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, baud) = match text.rsplit_once(':') {
            Some((path, baud)) => (path, baud.parse().map_err(|_| "expected a speed in bits/s")?),
            None => (text, BAUD),
        };
        match path.starts_with('/') && baud > 0 {
            true => Ok(Self { path: path.into(), baud }),
            false => Err("expected a device, such as serial:/dev/ttyUSB0:115200".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Option<(String, Option<u16>)> {
        text.parse::<Host>().ok().map(|host| (host.destination, host.port))
    }

    #[test]
    fn hosts_are_read_as_people_write_them() {
        for (text, destination, port) in [
            ("board", "board", None),
            ("root@board:2222", "root@board", Some(2222)),
            ("192.168.1.7", "192.168.1.7", None),
            ("[fe80::1%eth0]:22", "fe80::1%eth0", Some(22)),
            ("root@[::1]", "root@::1", None),
            ("fe80::1", "fe80::1", None),
        ] {
            assert_eq!(host(text), Some((destination.into(), port)), "{text}");
        }
    }

    #[test]
    fn what_ssh_could_take_for_something_else_is_refused() {
        for text in [
            "",
            "-oProxyCommand=x",
            "a b",
            "a;b",
            "$(x)",
            "@board",
            "root@",
            "-l@board",
            "board:0",
            "board:x",
            "board:99999",
            "a\nb",
            "root@-x",
            "[::1]x",
            "'",
        ] {
            assert_eq!(host(text), None, "{text}");
        }
    }

    #[test]
    fn the_three_ways_are_told_apart() {
        assert_eq!("local".parse(), Ok(Over::Local));
        assert!(matches!("ssh:board".parse(), Ok(Over::Ssh(_))));
        let line = |path: &str, baud| Ok(Over::Serial(Line { path: path.into(), baud }));
        assert_eq!("serial:/dev/ttyUSB0".parse(), line("/dev/ttyUSB0", 115_200));
        assert_eq!("serial:/dev/ttyS1:9600".parse(), line("/dev/ttyS1", 9_600));
        for text in
            ["", "here", "ssh", "serial:", "serial:ttyS0", "serial:/dev/ttyS0:fast", "usb:x"]
        {
            assert!(text.parse::<Over>().is_err(), "{text}");
        }
    }
}
