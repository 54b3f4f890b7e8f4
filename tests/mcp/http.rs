//! A small vocabulary for the HTTP side: a server process, and requests as `curl` would send them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::wire::PATIENCE;

/// A running HTTP server. Its port is its own choice.
pub(crate) struct HttpServer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl HttpServer {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_at(command, "127.0.0.1:0")
    }

    pub(crate) fn start_at(command: &mut Command, address: &str) -> Self {
        let mut child = command
            .args(["serve", "--http", address])
            .env("DECKPROBE_MCP_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(
                log.read_line(&mut line).unwrap() > 0,
                "it does not serve: {said}"
            );
            if let Some(at) = line.find(" address=") {
                let text = line[at + 9..].split_whitespace().next().unwrap();
                break text.parse().unwrap();
            }
            said.push_str(&line);
        };
        // Whatever else it logs must not block it.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, address }
    }

    pub(crate) fn send(&self, request: &Request) -> Response {
        exchange(self.address, &request.bytes())
    }

    /// The pool as the server shows it.
    pub(crate) fn pool(&self) -> Value {
        let read = self.call("resources/read", json!({"uri": "deckprobe://pool"}));
        serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// A request of the handshake generation, without a session.
    pub(crate) fn call(&self, method: &str, params: Value) -> Value {
        self.send(&Request::rpc(method, params)).json()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A request, header by header.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            line: format!("GET {path} HTTP/1.1"),
            headers: vec![("Host".into(), "localhost".into())],
            body: Vec::new(),
        }
    }

    pub(crate) fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::get("/mcp");
        request.line = "POST /mcp HTTP/1.1".into();
        request.body = body.into();
        request
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
    }

    pub(crate) fn rpc(method: &str, params: Value) -> Self {
        Self::message(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .with("MCP-Protocol-Version", "2025-11-25")
    }

    pub(crate) fn message(message: &Value) -> Self {
        Self::post(message.to_string())
    }

    pub(crate) fn tool(name: &str, arguments: Value) -> Self {
        Self::rpc("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// A request of the stateless generation, with everything that it asks for.
    pub(crate) fn modern(method: &str, mut params: Value) -> Self {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(str::to_owned);
        let mut request =
            Self::message(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
                .with("MCP-Protocol-Version", "2026-07-28")
                .with("Mcp-Method", method);
        if let Some(name) = name {
            request = request.with("Mcp-Name", &name);
        }
        request
    }

    /// Sets a header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Takes a header away.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{}\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let has_length = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
        if !self.body.is_empty() && !self.headers.iter().any(has_length) {
            out.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        let has_connection = |(name, _): &(String, String)| name.eq_ignore_ascii_case("connection");
        if !self.headers.iter().any(has_connection) {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        out
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// The JSON of the body, or of the last event of a stream.
    pub(crate) fn json(&self) -> Value {
        let text = if self.head.to_ascii_lowercase().contains("text/event-stream") {
            self.events().pop().unwrap_or_default()
        } else {
            self.body.clone()
        };
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The data of each event of a stream.
    pub(crate) fn events(&self) -> Vec<String> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.trim().to_owned())
            .filter(|data| !data.is_empty())
            .collect()
    }
}

/// Sends bytes and reads the one answer; an answer that never comes is status 0.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // A server that refuses early may close before it has read everything.
    let _refused_early = stream.write_all(bytes);
    let mut answer = Vec::new();
    let mut chunk = [0; 64 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(len) => answer.extend_from_slice(&chunk[..len]),
        }
    }
    parse(&answer)
}

fn parse(answer: &[u8]) -> Response {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let body = if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        unchunk(body)
    } else {
        body.to_owned()
    };
    Response {
        status,
        head: head.to_owned(),
        body,
    }
}

fn unchunk(mut rest: &str) -> String {
    let mut out = String::new();
    while let Some((size, tail)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || tail.len() < size {
            break;
        }
        out.push_str(&tail[..size]);
        rest = tail[size..].trim_start_matches("\r\n");
    }
    out
}

/// Waits until a child has been given a record. A process alone does not tell: it may still be starting,
/// and a call that goes away by then leaves it idle.
pub(crate) fn until_busy(mut pool: impl FnMut() -> Value) {
    eventually("a worker is busy", || {
        let pool = pool();
        let workers = pool["workers"].as_array().unwrap();
        workers.iter().any(|worker| worker["state"] == "busy")
    });
}

/// Waits until a condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(std::time::Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
