//! Asks a program: one request of HTTP for each connection, within bounds.

use crate::target::Target;
use actinium_monitor::live::{
    ActorDetails, ActorsNow, ActorsQuery, FamilyNow, LIVE_VERSION, Snapshot,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const BYTES_MAX: usize = 64 << 20;

/// Asks one program.
#[derive(Clone, Debug)]
pub struct Client {
    target: Target,
    token: Option<String>,
}

/// Why a program did not answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody answers there.
    Io {
        /// Where.
        target: Target,
        /// Why.
        cause: io::Error,
    },
    /// It asks for a token, or for another one.
    Token(Target),
    /// It answered, but not with what was asked for.
    Refused {
        /// Where.
        target: Target,
        /// The status of HTTP.
        status: u16,
        /// What it said.
        why: String,
    },
    /// What answers there is no program with a live page.
    Garbage {
        /// Where.
        target: Target,
        /// What is wrong.
        why: String,
    },
    /// It is of a later release.
    Newer {
        /// Where.
        target: Target,
        /// The version of its data.
        version: u64,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Io { target, cause } => write!(f, "{target}: {cause}"),
            ClientError::Token(target) => {
                write!(f, "{target} asks for a token: give its own by --token or ACTINIUM_TOKEN")
            }
            ClientError::Refused { target, status, why } => {
                write!(f, "{target} refused (status {status}): {}", crate::grid::clean(why))
            }
            ClientError::Garbage { target, why } => {
                write!(f, "what answers at {target} is no live page of Actinium: {why}")
            }
            ClientError::Newer { target, version } => write!(
                f,
                "{target} tells figures of version {version}, and this command reads up to \
                 {LIVE_VERSION}: use the command of its release, or of a later one"
            ),
        }
    }
}

impl std::error::Error for ClientError {}

/// A connection: a socket of either sort.
trait Stream: Read + Write {
    fn read_within(&self, time: Duration) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn read_within(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl Stream for TcpStream {
    fn read_within(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl Client {
    /// Asks this program, with this token if it is at an address that asks for one.
    #[must_use]
    pub fn new(target: Target, token: Option<String>) -> Self {
        Client { target, token }
    }

    /// The program.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What its system does.
    ///
    /// # Errors
    /// If it does not answer with that.
    pub fn snapshot(&self) -> Result<Snapshot, ClientError> {
        let body = self.get("/api/snapshot")?;
        let value: Value = serde_json::from_slice(&body).map_err(|error| self.garbage(&error))?;
        match value["schema_version"].as_u64() {
            Some(version) if version > u64::from(LIVE_VERSION) => {
                Err(ClientError::Newer { target: self.target.clone(), version })
            }
            Some(_) => serde_json::from_value(value).map_err(|error| self.garbage(&error)),
            None => Err(self.garbage(&"it names no version")),
        }
    }

    /// A page of its actors.
    ///
    /// # Errors
    /// As [`Client::snapshot`].
    pub fn actors(&self, query: &ActorsQuery) -> Result<ActorsNow, ClientError> {
        let ActorsQuery { sort, search, kind, after, take } = query;
        let take = take.map(|take| take.to_string());
        let all =
            [("sort", sort), ("search", search), ("kind", kind), ("after", after), ("take", &take)];
        let given = all.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let mut text = form_urlencoded::Serializer::new(String::new());
        given.for_each(|(name, value)| {
            text.append_pair(name, value);
        });
        self.read(&format!("/api/actors?{}", text.finish()))
    }

    /// One of its actors. The program records its turns while somebody asks, every five seconds at
    /// least.
    ///
    /// # Errors
    /// As [`Client::snapshot`], or if no such actor lives.
    pub fn actor(&self, number: u64) -> Result<ActorDetails, ClientError> {
        self.read(&format!("/api/actor/{number}"))
    }

    /// The actors that this one supervises; for `None`, those that nobody does.
    ///
    /// # Errors
    /// As [`Client::snapshot`].
    pub fn family(&self, of: Option<u64>) -> Result<FamilyNow, ClientError> {
        let of = of.map_or_else(String::new, |of| format!("?of={of}"));
        self.read(&format!("/api/family{of}"))
    }

    fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        serde_json::from_slice(&self.get(path)?).map_err(|error| self.garbage(&error))
    }

    fn garbage(&self, why: &dyn fmt::Display) -> ClientError {
        ClientError::Garbage { target: self.target.clone(), why: why.to_string() }
    }

    fn get(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        let io = |cause| ClientError::Io { target: self.target.clone(), cause };
        let answer = match &self.target {
            Target::Socket(path_of) => {
                UnixStream::connect(path_of).and_then(|it| self.ask(it, path))
            }
            Target::Address(address) => connect(address).and_then(|it| self.ask(it, path)),
        };
        let answer = answer.map_err(io)?;
        let (status, body) = parts(&answer).ok_or_else(|| self.garbage(&"it speaks no HTTP"))?;
        if status == 200 {
            return Ok(body.to_vec());
        }
        if status == 401 {
            return Err(ClientError::Token(self.target.clone()));
        }
        let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let why = said["error"].as_str().unwrap_or("it gave no reason").to_owned();
        Err(ClientError::Refused { target: self.target.clone(), status, why })
    }

    fn ask(&self, mut stream: impl Stream, path: &str) -> io::Result<Vec<u8>> {
        #[expect(clippy::disallowed_methods, reason = "a program is waited for in real time")]
        let begin = Instant::now();
        let late = || io::Error::new(ErrorKind::TimedOut, "it took too long to answer");
        let (host, token) = match (&self.target, &self.token) {
            (Target::Socket(_), _) => ("localhost", String::new()),
            (Target::Address(address), None) => (&**address, String::new()),
            (Target::Address(address), Some(token)) => {
                // Nothing that would end the line, and begin another.
                let token = crate::grid::clean(token);
                (&**address, format!("Authorization: Bearer {token}\r\n"))
            }
        };
        // HTTP/1.0: the answer comes in one piece, and ends with the connection.
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n");
        // One that refuses at once may not read it, and has answered.
        let sent = stream.write_all(request.as_bytes());
        let (mut answer, mut part) = (Vec::new(), [0; 64 << 10]);
        loop {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Err(late());
            }
            stream.read_within(left)?;
            match stream.read(&mut part) {
                Ok(0) => return if answer.is_empty() { sent.map(|()| answer) } else { Ok(answer) },
                Ok(bytes) => answer.extend_from_slice(&part[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset && !answer.is_empty() => {
                    return Ok(answer);
                }
                Err(error) => return Err(error),
            }
            if answer.len() > BYTES_MAX {
                return Err(io::Error::other("its answer is longer than 64 MiB"));
            }
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The status and the body of an answer.
fn parts(answer: &[u8]) -> Option<(u16, &[u8])> {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n")?;
    let (head, body) = (std::str::from_utf8(&answer[..end]).ok()?, &answer[end + 4..]);
    let status = head.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()?;
    Some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// What a client says of a program that answers so.
    fn answered(text: &'static str) -> Result<Snapshot, ClientError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let program = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                head.push(byte[0]);
            }
            stream.write_all(text.as_bytes()).expect("an answer");
            String::from_utf8(head).expect("text")
        });
        let token = Some("se\r\ncret".to_owned());
        let found = Client::new(Target::Address(address), token).snapshot();
        let request = program.join().expect("it answered");
        assert!(request.contains("\r\nAuthorization: Bearer se  cret\r\n"), "{request}");
        found
    }

    #[test]
    fn what_a_program_answers_is_told_apart() {
        let newer = answered("HTTP/1.1 200 OK\r\n\r\n{\"schema_version\":99}");
        assert!(matches!(newer, Err(ClientError::Newer { version: 99, .. })), "{newer:?}");
        let token = answered("HTTP/1.0 401 Unauthorized\r\n\r\n");
        assert!(matches!(token, Err(ClientError::Token(_))), "{token:?}");
        for garbage in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n<html>",
            "\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\n\r\n{\"schema_version\":1}",
        ] {
            let found = answered(garbage);
            assert!(matches!(found, Err(ClientError::Garbage { .. })), "{garbage}: {found:?}");
        }
        let refused = answered("HTTP/1.1 503 x\r\n\r\n{\"error\":\"full\\u001b[2J\"}");
        let text = refused.expect_err("refused").to_string();
        assert!(
            text.contains("503") && text.contains("full") && !text.contains('\u{1b}'),
            "{text}"
        );
    }

    #[test]
    fn nobody_answers_where_nobody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        drop(listener);
        let client = Client::new(Target::Address(address.clone()), None);
        let error = client.snapshot().expect_err("nobody").to_string();
        assert!(error.contains(&address) && error.contains("refused"), "{error}");
    }
}
