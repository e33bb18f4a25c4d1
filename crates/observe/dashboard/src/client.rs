//! Asks another process's live page: a request on a connection of its own.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer.
const MOST_BYTES: usize = 64 << 20;

/// The status and the body of an answer; the error says what went wrong.
pub(crate) fn get(address: &str, path: &str, token: Option<&str>) -> Result<(u16, String), String> {
    let answer = ask(address, path, token).map_err(|error| error.to_string())?;
    let no_http = || format!("what answers at {address} does not speak HTTP");
    let (head, body) = split(&answer).ok_or_else(no_http)?;
    let head = std::str::from_utf8(head).map_err(|_| no_http())?;
    let status = head.strip_prefix("HTTP/1.").and_then(|it| it.get(2..5)?.parse().ok());
    let body = String::from_utf8(body.to_vec()).map_err(|_| "the answer is no text".to_owned())?;
    Ok((status.ok_or_else(no_http)?, body))
}

fn split(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = answer.windows(4).position(|it| it == b"\r\n\r\n")?;
    Some((&answer[..at], &answer[at + 4..]))
}

fn ask(address: &str, path: &str, token: Option<&str>) -> std::io::Result<Vec<u8>> {
    #[expect(clippy::disallowed_methods, reason = "a node that does not answer is not waited for")]
    let begin = Instant::now();
    let mut stream = connect(address)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let token = token.map_or_else(String::new, |it| format!("authorization: Bearer {it}\r\n"));
    // HTTP/1.0: the answer comes in one piece, and ends with the connection.
    let request =
        format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{token}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), [0; 64 << 10]);
    loop {
        let late =
            || std::io::Error::new(std::io::ErrorKind::TimedOut, "it took too long to answer");
        let left = PATIENCE.checked_sub(begin.elapsed()).filter(|it| !it.is_zero());
        stream.set_read_timeout(Some(left.ok_or_else(late)?))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(answer),
            Ok(n) => answer.extend_from_slice(&part[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Err(late()),
            Err(error) => return Err(error),
        }
        if answer.len() > MOST_BYTES {
            return Err(std::io::Error::other("its answer is too long"));
        }
    }
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let mut failed = std::io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// A text as it stands in an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => all.push(byte as char),
            _ => all.push_str(&format!("%{byte:02X}")),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn answered(answer: &'static [u8]) -> Result<(u16, String), String> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut asked = [0; 1 << 10];
            let _ = stream.read(&mut asked).expect("a request");
            stream.write_all(answer).expect("it is read");
        });
        let answer = get(&address, "/", None);
        serving.join().expect("it has served");
        answer
    }

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        assert_eq!(answered(b"HTTP/1.0 404 Not\r\na: b\r\n\r\nwhat"), Ok((404, "what".into())));
        for garbage in [&b"SSH-2.0-x\r\n"[..], b"", b"HTTP/1.1 x\r\n\r\n", b"\r\n\r\n"] {
            assert!(answered(garbage).is_err_and(|it| it.contains("does not speak HTTP")));
        }
        assert!(answered(b"HTTP/1.1 200 OK\r\n\r\n\xff").is_err());
    }

    #[test]
    fn what_stands_in_an_address_is_encoded() {
        assert_eq!(encoded("a::B<c> &1"), "a%3A%3AB%3Cc%3E%20%261");
    }
}
