//! Who may come in: who shows the token, where one is asked for; and only by a name of this
//! machine, where none is.
//!
//! A web page of somebody else's can have its own name point to this machine, and then read what is
//! served here, as if it were its own. So without a token a request has to name this machine.

use actinium_gateway::is_same_token;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Longest address of a request.
const TARGET_BYTES: usize = 4 << 10;
/// What a browser may do with what it gets: no other place is asked for anything, and no other page
/// shows this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";
const LOGIN: &str = include_str!("assets/login.html");

/// The rules.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    pub(crate) token: Option<String>,
    /// Names of this machine besides `localhost`, by which it may be asked without a token.
    pub(crate) hosts: Vec<String>,
}

/// Around all routes.
pub(crate) async fn border(
    State(rules): State<Arc<Admission>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match rules.admit(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => *refused,
    };
    let headers = response.headers_mut();
    let all = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(status: StatusCode, why: &str) -> Box<Response> {
    let body = serde_json::json!({ "error": why }).to_string();
    let json = [(header::CONTENT_TYPE, "application/json"), (header::CONNECTION, "close")];
    Box::new((status, json, body).into_response())
}

impl Admission {
    fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
        if method != Method::GET && method != Method::HEAD {
            return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "it is read-only: expected GET"));
        }
        let target = uri.path_and_query().map_or("/", |it| it.as_str());
        if target.len() > TARGET_BYTES {
            let why = format!("an address of {} bytes: at most {TARGET_BYTES}", target.len());
            return Err(refusal(StatusCode::URI_TOO_LONG, &why));
        }
        let host = headers.get(header::HOST).and_then(|it| it.to_str().ok()).unwrap_or("");
        match &self.token {
            None if self.names_this_machine(host) => Ok(()),
            None => Err(refusal(
                StatusCode::MISDIRECTED_REQUEST,
                &format!("host '{host}': expected localhost, or an address of this machine alone"),
            )),
            Some(token) => admit_by(token, host, uri, headers),
        }
    }

    fn names_this_machine(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(""),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
            || self.hosts.iter().any(|it| it.eq_ignore_ascii_case(name))
    }
}

fn admit_by(token: &str, host: &str, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let cookie = cookie_name(host);
    let shown = bearer(headers).map(str::to_owned).or_else(|| shown_cookie(headers, &cookie));
    if shown.is_some_and(|shown| is_same_token(token, &shown)) {
        return Ok(());
    }
    // By the form, or a link: from now on the browser shows it, and the address has it no longer.
    let given = uri.query().and_then(given_token);
    let is_page = uri.path() == "/";
    match given {
        Some(given) if is_page && is_same_token(token, &given) => {
            let is_encrypted =
                headers.get("x-forwarded-proto").is_some_and(|it| it.as_bytes() == b"https");
            let secure = if is_encrypted { "; Secure" } else { "" };
            let value = hex(token);
            let set = format!("{cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
            let to = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, set)];
            Err(Box::new((StatusCode::SEE_OTHER, to).into_response()))
        }
        given if is_page => {
            let said = if given.is_some() { "That is not the token." } else { "" };
            let page = LOGIN.replace("{said}", said);
            let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
            let close = [(header::CONNECTION, "close")];
            let body = Body::from(page);
            Err(Box::new((StatusCode::UNAUTHORIZED, html, close, body).into_response()))
        }
        _ => {
            let why = "expected the token: 'Authorization: Bearer TOKEN', or open / in a browser";
            Err(refusal(StatusCode::UNAUTHORIZED, why))
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Browsers do not tell ports apart: two pages of one machine have two cookies.
fn cookie_name(host: &str) -> String {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let port: String = port.chars().filter(char::is_ascii_digit).collect();
    format!("actinium_dashboard_{port}")
}

fn shown_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|it| it.to_str().ok());
    let pairs = all.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.filter(|(its, _)| *its == name).find_map(|(_, value)| unhex(value))
}

fn given_token(query: &str) -> Option<String> {
    let given = query.split('&').find_map(|it| it.strip_prefix("token="))?;
    let mut bytes = Vec::new();
    let mut rest = given.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |it: u8| (it as char).to_digit(16);
                (digit(rest.next()?)? * 16 + digit(rest.next()?)?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(text: &str) -> String {
    text.bytes().map(|it| format!("{it:02x}")).collect()
}

fn unhex(text: &str) -> Option<String> {
    let digits: Option<Vec<u32>> = text.chars().map(|it| it.to_digit(16)).collect();
    let bytes =
        digits?.chunks(2).map(|it| it.iter().fold(0, |sum, it| sum * 16 + it) as u8).collect();
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_only_names_of_this_machine_do() {
        let rules = Admission { hosts: vec!["box.lan".to_owned()], ..Admission::default() };
        for host in
            ["localhost", "LocalHost:80", "127.0.0.1:7070", "127.9.9.9", "[::1]:7", "box.lan:1"]
        {
            assert!(rules.names_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1:80",
            "[::2]",
            "127.0.0.1.nip.io:80",
        ] {
            assert!(!rules.names_this_machine(host), "{host}");
        }
    }

    #[test]
    fn tokens_come_back_from_addresses_and_cookies() {
        let odd = "a b&+%=ü";
        assert_eq!(unhex(&hex(odd)).as_deref(), Some(odd));
        assert_eq!(unhex("zz"), None);
        assert_eq!(given_token("x=1&token=a%20b%26%2B%25%3D%C3%BC").as_deref(), Some(odd));
        assert_eq!(given_token("token=%2"), None);
        assert_eq!(given_token("tokens=1"), None);
        assert_eq!(cookie_name("[::1]:7070"), "actinium_dashboard_7070");
    }
}
