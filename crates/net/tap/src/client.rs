//! Looks at the messages of another process.

use crate::filter::TapFilter;
use crate::place::TapPlace;
use crate::queue::Missed;
use crate::server::{Request, VERSION};
use crate::tapped::Tapped;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// Most bytes of a line.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// What a program says to who looks at it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Heard {
    /// A message.
    Message(Box<Tapped>),
    /// So many were missed so far.
    Missed(Missed),
}

/// Looks at the messages of another process, or of this one.
pub struct TapClient {
    lines: BufReader<Box<dyn Read + Send>>,
    /// The number of the process, its program, and the names of its nodes and gateways.
    about: (u64, String, Vec<String>),
}

impl fmt::Debug for TapClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TapClient").field("about", &self.about).finish_non_exhaustive()
    }
}

impl TapClient {
    /// Asks the program that serves taps there.
    ///
    /// # Errors
    /// If none does, or it refuses.
    pub fn connect(place: &TapPlace, filter: &TapFilter) -> io::Result<Self> {
        let (mut out, lines): (Box<dyn Write>, Box<dyn Read + Send>) = match place {
            TapPlace::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                (Box::new(stream.try_clone()?), Box::new(stream))
            }
            TapPlace::Port(address) => {
                let stream = TcpStream::connect(address)?;
                (Box::new(stream.try_clone()?), Box::new(stream))
            }
        };
        let mut request = serde_json::to_vec(&Request { tap: VERSION, filter: filter.clone() })?;
        request.push(b'\n');
        out.write_all(&request)?;
        let mut client = TapClient { lines: BufReader::new(lines), about: Default::default() };
        let hello = client.line()?.ok_or_else(|| invalid("it says nothing".to_owned()))?;
        if hello["tap"] != VERSION {
            return Err(invalid("it serves no taps that this version knows".to_owned()));
        }
        let points = hello["points"].as_array().map(Vec::as_slice).unwrap_or_default();
        let points = points.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect();
        let program = hello["program"].as_str().unwrap_or_default().to_owned();
        client.about = (hello["process"].as_u64().unwrap_or_default(), program, points);
        Ok(client)
    }

    /// The number of the process.
    #[must_use]
    pub fn process(&self) -> u64 {
        self.about.0
    }

    /// How the program was called.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.about.1
    }

    /// The names of its nodes and gateways.
    #[must_use]
    pub fn points(&self) -> &[String] {
        &self.about.2
    }

    /// Waits for what comes next; None: the program has ended.
    ///
    /// # Errors
    /// If the connection breaks, or the program says what makes no sense.
    pub fn next_heard(&mut self) -> io::Result<Option<Heard>> {
        let Some(line) = self.line()? else { return Ok(None) };
        let senseless = |error: serde_json::Error| invalid(error.to_string());
        if let Some(missed) = line.get("missed") {
            return Ok(Some(Heard::Missed(Missed::deserialize(missed).map_err(senseless)?)));
        }
        let message = serde_json::from_value(line).map_err(senseless)?;
        Ok(Some(Heard::Message(Box::new(message))))
    }

    /// The next line that says something.
    fn line(&mut self) -> io::Result<Option<Value>> {
        loop {
            let mut line = String::new();
            let read = self.lines.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
            match read {
                Ok(0) => return Ok(None),
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => {
                    let line: Value =
                        serde_json::from_str(&line).map_err(|error| invalid(error.to_string()))?;
                    if let Some(error) = line["error"].as_str() {
                        return Err(invalid(format!("it refuses: {error}")));
                    }
                    return Ok(Some(line));
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
