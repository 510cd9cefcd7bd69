//! A headless browser for the tests of the report: opens a page, watches it, photographs it.
//!
//! Layer: inside `checks`, beside the rules. Main types: [`Browser`] and [`Look`]. Speaks the
//! Chrome `DevTools` Protocol (version 1.3; domains Target, Page, Runtime, Log, Network, Emulation)
//! over a WebSocket to a Chromium that it starts itself. Every wait has a limit, and the browser
//! ends with the [`Browser`]. Left out: several pages at once, input, anything over a network.
//!
//! Rejected: `headless_chrome` 1.0.22, which works offline but builds 142 crates and types for all
//! of the protocol: 2.6 minutes of processor time, a sixth of all that `make test` compiles, where
//! these six domains need one WebSocket. `chromiumoxide` 0.9.1 builds 152 and an async runtime.

use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

/// How long the browser may take to start or to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a single read blocks before the limit is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Why the browser could not do what it was asked.
#[derive(Debug)]
pub enum Error {
    /// No Chromium is installed under any of its usual names.
    Missing,
    /// A file or the process failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The connection failed.
    Socket(Box<tungstenite::Error>),
    /// Something did not happen in time.
    Timeout {
        /// What was waited for.
        waited_for: String,
    },
    /// The browser refused a command.
    Refused {
        /// The command.
        method: String,
        /// Its answer.
        answer: String,
    },
    /// JavaScript given to [`Browser::evaluate`] threw.
    Thrown(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "no browser: expected one of {}", NAMES.join(", ")),
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::Socket(error) => write!(f, "the connection to the browser failed: {error}"),
            Self::Timeout { waited_for } => {
                write!(f, "nothing after {} s: {waited_for}", PATIENCE.as_secs())
            }
            Self::Refused { method, answer } => write!(f, "{method} was refused: {answer}"),
            Self::Thrown(text) => write!(f, "the page threw: {text}"),
        }
    }
}

impl std::error::Error for Error {}

fn io_error(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { doing, source }
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Width of the window in CSS pixels.
    pub width: u32,
    /// Height of the window in CSS pixels.
    pub height: u32,
    /// Device pixels to a CSS pixel.
    pub scale: f64,
    /// Whether the viewport is a phone's.
    pub mobile: bool,
    /// Whether the reader prefers dark colours.
    pub dark: bool,
    /// Whether the page is shown as it prints.
    pub print: bool,
}

impl Look {
    /// A desktop window in light colours.
    pub const DESKTOP: Self =
        Self { width: 1280, height: 900, scale: 1.0, mobile: false, dark: false, print: false };

    /// A phone in light colours.
    pub const PHONE: Self =
        Self { width: 390, height: 844, scale: 2.0, mobile: true, dark: false, print: false };
}

/// What the page did besides showing itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageActivity {
    /// Errors and warnings on the console, exceptions and violated policies.
    pub complaints: Vec<String>,
    /// Every request other than for the page, `data:` and `blob:`.
    pub requests: Vec<String>,
}

/// A running browser with one page.
pub struct Browser {
    /// Ends after the connection.
    _process: Process,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    last_id: u64,
    /// URL of the open page.
    page: String,
    loaded: bool,
    observed: PageActivity,
}

impl Browser {
    /// Where Chromium is installed, if it is.
    #[must_use]
    pub fn find() -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let files = NAMES.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
        files.into_iter().find(|file| file.is_file())
    }

    /// Starts Chromium with an empty profile and one empty page.
    ///
    /// # Errors
    /// [`Error::Missing`] without Chromium, and others when it does not start in time.
    pub fn launch() -> Result<Self, Error> {
        let program = Self::find().ok_or(Error::Missing)?;
        let profile = new_profile().map_err(io_error("create the browser's profile"))?;
        let child = start(&program, &profile).map_err(io_error("start the browser"))?;
        let mut process = Process { child, profile };
        let (port, target) = process.wait_for_port()?;
        let socket = connect(port, &target)?;
        let mut browser = Self {
            _process: process,
            socket,
            session: None,
            last_id: 0,
            page: String::new(),
            loaded: false,
            observed: PageActivity::default(),
        };
        browser.attach()?;
        Ok(browser)
    }

    fn attach(&mut self) -> Result<(), Error> {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &attach)?;
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(())
    }

    /// Sets size and appearance; the open page changes at once.
    ///
    /// # Errors
    /// When the browser refuses or does not answer.
    pub fn look(&mut self, look: Look) -> Result<(), Error> {
        let metrics = json!({
            "width": look.width,
            "height": look.height,
            "deviceScaleFactor": look.scale,
            "mobile": look.mobile,
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        let scheme = if look.dark { "dark" } else { "light" };
        let media = json!({
            "media": if look.print { "print" } else { "" },
            "features": [{ "name": "prefers-color-scheme", "value": scheme }],
        });
        self.call("Emulation.setEmulatedMedia", &media)?;
        Ok(())
    }

    /// Opens the file `page` and waits until it is loaded. What was observed before is forgotten.
    ///
    /// # Errors
    /// When the file is not there or does not load in time.
    pub fn open(&mut self, page: &Path) -> Result<(), Error> {
        let full = page.canonicalize().map_err(io_error("find the page"))?;
        self.page = file_url(&full);
        self.loaded = false;
        self.observed = PageActivity::default();
        let answer = self.call("Page.navigate", &json!({ "url": self.page }))?;
        if let Some(error) = answer["errorText"].as_str() {
            let answer = error.to_owned();
            return Err(Error::Refused { method: "Page.navigate".into(), answer });
        }
        let limit = Instant::now() + PATIENCE;
        while !self.loaded {
            self.receive(limit, "the page to load")?;
        }
        Ok(())
    }

    /// Waits until the JavaScript `condition` is true.
    ///
    /// # Errors
    /// [`Error::Timeout`] when it does not become true, [`Error::Thrown`] when it throws.
    pub fn wait_until(&mut self, condition: &str) -> Result<(), Error> {
        let limit = Instant::now() + PATIENCE;
        while self.evaluate(condition)? != json!(true) {
            if Instant::now() > limit {
                return Err(Error::Timeout { waited_for: condition.into() });
            }
            thread::sleep(TICK);
        }
        Ok(())
    }

    /// The value of the JavaScript `expression`, awaited if it is a promise.
    ///
    /// # Errors
    /// [`Error::Thrown`] when it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value, Error> {
        let ask = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &ask)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            return Err(Error::Thrown(exception(thrown)));
        }
        Ok(answer["result"]["value"].clone())
    }

    /// The whole page, beyond the window too, as PNG.
    ///
    /// # Errors
    /// When the browser refuses or does not answer.
    pub fn screenshot(&mut self) -> Result<Vec<u8>, Error> {
        let metrics = self.call("Page.getLayoutMetrics", &json!({}))?;
        let size = &metrics["cssContentSize"];
        let clip = json!({
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1,
        });
        let ask = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.call("Page.captureScreenshot", &ask)?;
        Ok(decode_base64(answer["data"].as_str().unwrap_or_default()))
    }

    /// What the open page did so far.
    #[must_use]
    pub const fn observed(&self) -> &PageActivity {
        &self.observed
    }

    /// Sends a command and waits for its answer; events that arrive meanwhile are observed.
    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value, Error> {
        self.last_id += 1;
        let id = self.last_id;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let message = Message::text(command.to_string());
        self.socket.send(message).map_err(|error| Error::Socket(Box::new(error)))?;
        let limit = Instant::now() + PATIENCE;
        loop {
            let mut answer = self.receive(limit, method)?;
            if answer["id"] != json!(id) {
                continue;
            }
            if let Some(error) = answer.get("error") {
                let (method, answer) = (method.to_owned(), error.to_string());
                return Err(Error::Refused { method, answer });
            }
            return Ok(answer["result"].take());
        }
    }

    /// The next message, after it was observed.
    fn receive(&mut self, limit: Instant, waited_for: &str) -> Result<Value, Error> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    let message: Value = serde_json::from_str(&text).unwrap_or_default();
                    self.observe(&message);
                    return Ok(message);
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if would_block(&error) => {}
                Err(error) => return Err(Error::Socket(Box::new(error))),
            }
            if Instant::now() > limit {
                return Err(Error::Timeout { waited_for: waited_for.into() });
            }
        }
    }

    fn observe(&mut self, message: &Value) {
        let event = &message["params"];
        match message["method"].as_str() {
            Some("Page.loadEventFired") => self.loaded = true,
            Some("Network.requestWillBeSent") => self.observe_request(event),
            Some("Runtime.exceptionThrown") => {
                self.observed.complaints.push(exception(&event["exceptionDetails"]));
            }
            Some("Runtime.consoleAPICalled") => {
                if let Some(kind @ ("error" | "warning" | "assert")) = event["type"].as_str() {
                    self.observed.complaints.push(format!("{kind}: {}", event["args"]));
                }
            }
            Some("Log.entryAdded") => {
                let entry = &event["entry"];
                if let Some(level @ ("error" | "warning")) = entry["level"].as_str() {
                    self.observed.complaints.push(format!("{level}: {}", entry["text"]));
                }
            }
            _ => {}
        }
    }

    fn observe_request(&mut self, event: &Value) {
        let url = event["request"]["url"].as_str().unwrap_or_default();
        let harmless = url == self.page || url.starts_with("data:") || url.starts_with("blob:");
        if !harmless && url != "about:blank" {
            self.observed.requests.push(url.into());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to close, Chromium ends its helper processes too; if it does not, it is killed.
        let _ = self.socket.send(Message::text(r#"{"id":0,"method":"Browser.close"}"#));
    }
}

/// The browser's process and its profile, both gone when this is dropped.
struct Process {
    child: Child,
    profile: PathBuf,
}

impl Process {
    /// The port and the path of the debugger, which Chromium writes into its profile.
    fn wait_for_port(&mut self) -> Result<(u16, String), Error> {
        let file = self.profile.join("DevToolsActivePort");
        let limit = Instant::now() + PATIENCE;
        while Instant::now() < limit {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n')
                && let Ok(port) = port.parse()
                && !path.is_empty()
            {
                return Ok((port, path.trim().to_owned()));
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                let answer = format!("it ended with {status}");
                return Err(Error::Refused { method: "start of the browser".into(), answer });
            }
            thread::sleep(TICK);
        }
        Err(Error::Timeout { waited_for: "the browser to start".into() })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for _ in 0..40 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            thread::sleep(TICK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Helpers may still write for a moment after the browser has ended.
        for _ in 0..20 {
            if fs::remove_dir_all(&self.profile).is_ok() || !self.profile.exists() {
                return;
            }
            thread::sleep(TICK);
        }
    }
}

fn new_profile() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("boardlab-browser-{}-{number}", std::process::id());
    let profile = std::env::temp_dir().join(name);
    fs::create_dir_all(&profile)?;
    Ok(profile)
}

fn start(program: &Path, profile: &Path) -> io::Result<Child> {
    let mut user_data = std::ffi::OsString::from("--user-data-dir=");
    user_data.push(profile);
    Command::new(program)
        .args(["--headless=new", "--remote-debugging-port=0", "--disable-gpu"])
        // The sandbox needs privileges that containers lack; only our own pages are opened.
        .args(["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--disable-extensions", "--force-color-profile=srgb"])
        .arg(user_data)
        .arg("about:blank")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn connect(port: u16, path: &str) -> Result<WebSocket<TcpStream>, Error> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(io_error("connect"))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(io_error("set a limit"))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(io_error("set a limit"))?;
    // A screenshot comes in one frame, which may be larger than the default limit.
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    let url = format!("ws://127.0.0.1:{port}{path}");
    let (socket, _) =
        tungstenite::client::client_with_config(url, stream, Some(config)).map_err(|error| {
            match error {
                tungstenite::HandshakeError::Failure(error) => Error::Socket(Box::new(error)),
                tungstenite::HandshakeError::Interrupted(_) => {
                    Error::Timeout { waited_for: "the handshake".into() }
                }
            }
        })?;
    socket.get_ref().set_read_timeout(Some(TICK)).map_err(io_error("set a limit"))?;
    Ok(socket)
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// `file://` with everything but unreserved characters and slashes escaped (RFC 3986, 2.3).
fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

fn exception(details: &Value) -> String {
    let text = details["exception"]["description"].as_str().or_else(|| details["text"].as_str());
    text.unwrap_or("an exception without text").to_owned()
}

/// RFC 4648, section 4. The browser's own output, so what is not base64 is skipped.
fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0u32);
    for symbol in text.bytes() {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits).to_le_bytes()[0]);
            held &= (1 << bits) - 1;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba")] {
            assert_eq!(decode_base64(text), bytes.as_bytes());
        }
    }

    #[test]
    fn a_path_becomes_a_url() {
        assert_eq!(file_url(Path::new("/a b/ü#.html")), "file:///a%20b/%C3%BC%23.html");
    }
}
