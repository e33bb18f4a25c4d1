//! The last seconds of a program that runs, over HTTP.

use super::document::Flight;
use actinium_report::ReadError;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// Where a program serves them.
pub const FLIGHT_PATH: &str = "/api/flight";
/// How long it may take to be reached.
const CONNECT: Duration = Duration::from_secs(5);
/// How long it may say nothing: with a million actors an answer takes a second.
const SILENCE: Duration = Duration::from_secs(30);
/// More than any answer has: hundreds of workers over ten minutes.
const ANSWER_MAX: u64 = 1 << 30;

impl Flight {
    /// Asks a program that runs for its last seconds, at an address such as `127.0.0.1:7070`. It
    /// serves them under [`FLIGHT_PATH`]. `token`: what it asks for, if it does.
    ///
    /// # Errors
    /// If nobody is reached there, it refuses, or its answer is no such document or a later
    /// release's.
    pub fn fetch(address: &str, token: Option<&str>) -> Result<Self, ReadError> {
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        let from = PathBuf::from(format!("http://{address}{FLIGHT_PATH}"));
        match ask(address, token) {
            Ok(answer) => Flight::parse(&answer, &from),
            Err(cause) => Err(ReadError::Io { path: from, cause }),
        }
    }
}

/// The body of the answer.
fn ask(address: &str, token: Option<&str>) -> io::Result<Vec<u8>> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    let token = token.unwrap_or_default();
    // It would be a line of its own in the question.
    if [address, token].iter().any(|it| it.chars().any(|char| char.is_control())) {
        return Err(invalid("an address or a token has a control character".to_owned()));
    }
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let token = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    // By this version, the answer is in one piece.
    write!(stream, "GET {FLIGHT_PATH} HTTP/1.0\r\nhost: {address}\r\n{token}\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    body_of(answer)
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What stands behind the head of an answer, if that says that all is well.
fn body_of(mut answer: Vec<u8>) -> io::Result<Vec<u8>> {
    let is_no_http = || io::Error::new(io::ErrorKind::InvalidData, "it does not answer in HTTP");
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").ok_or_else(is_no_http)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.lines().next().unwrap_or_default().to_owned();
    if !status.starts_with("HTTP/") {
        return Err(is_no_http());
    }
    let body = answer.split_off(end + 4);
    let mut words = status.split_whitespace();
    if words.nth(1) != Some("200") {
        let said = String::from_utf8_lossy(&body);
        let said: String = said.chars().filter(|it| !it.is_control()).take(200).collect();
        let status = status.split_once(' ').map_or("", |(_, rest)| rest);
        return Err(io::Error::other(format!("it answers {status}: {said}")));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    if length.is_some_and(|length| length != body.len()) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its answer was cut off"));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_apart() {
        let body = |text: &str| body_of(text.as_bytes().to_vec());
        let said = |text: &str| body(text).expect_err("an error").to_string();
        let well = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(well).expect("a body"), b"{}");
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nall").expect("a body"), b"all");
        assert!(said(&well[..well.len() - 1]).contains("cut off"));
        let refused = said("HTTP/1.1 401 Unauthorized\r\n\r\nno \x1b[31mtoken");
        assert!(refused.contains("401 Unauthorized: no [31mtoken"), "{refused}");
        for garbage in ["", "SSH-2.0-x\r\n\r\n", "HTTP/1.0 200 OK\r\n", "\r\n\r\n"] {
            assert!(said(garbage).contains("HTTP"), "{garbage}");
        }
    }

    #[test]
    fn what_can_not_be_asked_is_an_error() {
        for (address, token) in [("no address", None), ("127.0.0.1:1", None)] {
            let error = Flight::fetch(address, token).expect_err("nobody is there");
            assert!(error.to_string().contains(address), "{error}");
        }
        let error = Flight::fetch("127.0.0.1:1", Some("a\r\nhost: b")).expect_err("two lines");
        assert!(error.to_string().contains("control character"), "{error}");
    }
}
