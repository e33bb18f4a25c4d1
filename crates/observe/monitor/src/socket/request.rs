//! A request is read: its size and its time are bounded.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Most bytes of a request.
const BYTES_MAX: usize = 8 << 10;
/// A client has so long for its request, and so long for each part of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request is none: status, and what is wrong.
pub(crate) type Refused = (u16, String);

/// Reads the path that a client gets.
///
/// # Errors
/// What to answer. `None`: it is gone.
pub(crate) fn read(stream: &mut UnixStream) -> Result<String, Option<Refused>> {
    let begin = now();
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let left = PATIENCE.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Err(refused(408, "the request took too long"));
        }
        if head.len() >= BYTES_MAX {
            return Err(refused(431, "the request is longer than 8 KiB"));
        }
        stream.set_read_timeout(Some(left)).map_err(|_| None)?;
        match stream.read(&mut part) {
            Ok(0) => return Err(None),
            Ok(bytes) => head.extend_from_slice(&part[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Err(None),
        }
    }
    path(&head).map_err(Some)
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a client is waited for in real time")]
    Instant::now()
}

fn refused<T: Into<String>>(status: u16, why: T) -> Option<Refused> {
    Some((status, why.into()))
}

/// The path of a request.
fn path(head: &[u8]) -> Result<String, Refused> {
    let wrong = || (400, "it is no request of HTTP/1".to_owned());
    let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| wrong())?;
    let [method, path, version] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(wrong());
    };
    if !version.starts_with("HTTP/1.") || !path.starts_with('/') {
        return Err(wrong());
    }
    if method != "GET" {
        return Err((405, format!("{method}: nothing can be changed here")));
    }
    Ok(path.to_owned())
}

/// Answers with a status and JSON.
pub(crate) fn answer(stream: &mut UnixStream, status: u16, json: &str) {
    let reason = if status == 200 { "OK" } else { "Refused" };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        json.len()
    );
    // A client that does not read, or is gone, gets no answer.
    let _ = stream
        .set_write_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(head.as_bytes()))
        .and_then(|()| stream.write_all(json.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_get_is_a_request() {
        let of = |text: &str| path(text.as_bytes());
        assert_eq!(
            of("GET /api/actors?take=3 HTTP/1.1\r\n\r\n").as_deref(),
            Ok("/api/actors?take=3")
        );
        assert_eq!(of("POST / HTTP/1.1\r\n\r\n").map_err(|it| it.0), Err(405));
        for wrong in ["\r\n\r\n", "GET / HTTP/2\r\n", "GET x HTTP/1.1\r\n", "GET  / HTTP/1.1\r\n"] {
            assert_eq!(of(wrong).map_err(|it| it.0), Err(400), "{wrong}");
        }
        assert_eq!(path(b"\xff\xfe \r\n").map_err(|it| it.0), Err(400));
    }

    #[test]
    fn a_request_that_does_not_end_is_refused() -> std::io::Result<()> {
        let (mut client, mut server) = UnixStream::pair()?;
        client.write_all(&[b'x'; BYTES_MAX])?;
        assert_eq!(read(&mut server).map_err(|it| it.map(|it| it.0)), Err(Some(431)));
        let (client, mut server) = UnixStream::pair()?;
        drop(client);
        assert_eq!(read(&mut server), Err(None));
        Ok(())
    }
}
