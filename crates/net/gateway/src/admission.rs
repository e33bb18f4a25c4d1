//! Admission of clients: by token or certificate, and from listed web pages.

use crate::fault::{Code, Fault};
use axum::http::{HeaderMap, HeaderValue, header};
use rustls_pki_types::CertificateDer;
use std::fmt;

/// The identity under which a client was let in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Identity {
    /// An anonymous client: neither tokens nor certificates are asked for.
    Anybody,
    /// The token of this name.
    Token(String),
    /// This certificate, which was verified when the connection opened.
    Certificate(CertificateDer<'static>),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Anybody => f.write_str("anybody"),
            Identity::Token(name) => write!(f, "token '{name}'"),
            Identity::Certificate(der) => write!(f, "a certificate of {} bytes", der.len()),
        }
    }
}

/// The prefix of a subprotocol that carries a token: a browser's WebSocket has no other place for
/// one.
const BEARER: &str = "bearer.";

/// The rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    /// Names and tokens; empty: none is asked for.
    pub(crate) tokens: Vec<(String, String)>,
    /// Web pages that may; others with an `Origin` may not.
    pub(crate) origins: Vec<String>,
}

impl Admission {
    /// Lets a request in, or says why not.
    pub(crate) fn admit(
        &self,
        headers: &HeaderMap,
        certificate: Option<&CertificateDer<'static>>,
    ) -> Result<Identity, Fault> {
        self.origin(headers)?;
        let by_certificate = certificate.cloned().map(Identity::Certificate);
        if self.tokens.is_empty() {
            return Ok(by_certificate.unwrap_or(Identity::Anybody));
        }
        let Some(given) = token(headers) else {
            let how = "expected a token: 'Authorization: Bearer TOKEN', or the subprotocol 'bearer.TOKEN'";
            return Err(Fault::new(Code::Token, how));
        };
        // All are looked at, so that the time does not tell which was nearly right.
        let found = self.tokens.iter().fold(None, |found, (name, token)| {
            match is_same_token(token, given) {
                true => Some(name),
                false => found,
            }
        });
        match found {
            Some(name) => Ok(by_certificate.unwrap_or_else(|| Identity::Token(name.clone()))),
            None => Err(Fault::new(Code::Token, "the token is not one of those that are allowed")),
        }
    }

    /// The origin, if a web page asks that may.
    pub(crate) fn origin<'a>(
        &self,
        headers: &'a HeaderMap,
    ) -> Result<Option<&'a HeaderValue>, Fault> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
        match self.origins.iter().any(|one| one.as_bytes() == origin.as_bytes()) {
            true => Ok(Some(origin)),
            false => {
                let found = String::from_utf8_lossy(origin.as_bytes());
                let allowed = match self.origins.is_empty() {
                    true => "none is allowed".to_owned(),
                    false => format!("allowed are {}", self.origins.join(", ")),
                };
                Err(Fault::new(Code::Origin, format!("origin '{found}': {allowed}")))
            }
        }
    }
}

/// Returns the subprotocols that a client offers, without tokens.
pub(crate) fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    all_offered(headers).filter(|one| !one.starts_with(BEARER))
}

fn all_offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',').map(str::trim))
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let by_header = header.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    by_header.or_else(|| all_offered(headers).find_map(|one| one.strip_prefix(BEARER)))
}

/// Whether a token is the one that was given. It takes a time that depends on the length alone.
#[must_use]
pub fn is_same_token(token: &str, given: &str) -> bool {
    let differing =
        token.bytes().zip(given.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    token.len() == given.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_token_is_taken_from_either_place_and_compared_whole() {
        let tokens = [("till", "abc"), ("office", "abcd")]
            .map(|(name, token)| (name.to_owned(), token.to_owned()));
        let admission = Admission { tokens: tokens.to_vec(), origins: Vec::new() };
        let admit = |list: &[_]| admission.admit(&headers(list), None);
        assert_eq!(
            admit(&[(header::AUTHORIZATION, "bearer abcd")]),
            Ok(Identity::Token("office".into()))
        );
        let by_protocol = [(header::SEC_WEBSOCKET_PROTOCOL, "Shop.1.json, bearer.abc")];
        assert_eq!(admit(&by_protocol), Ok(Identity::Token("till".into())));
        for wrong in ["Bearer ab", "Bearer abcde", "Bearer ", "Basic abc"] {
            assert_eq!(
                admit(&[(header::AUTHORIZATION, wrong)]).map_err(|fault| fault.code),
                Err(Code::Token)
            );
        }
        assert_eq!(offered(&headers(&by_protocol)).collect::<Vec<_>>(), ["Shop.1.json"]);
    }

    #[test]
    fn a_web_page_may_only_where_it_is_named() {
        let mut admission = Admission::default();
        let page = headers(&[(header::ORIGIN, "http://evil.example")]);
        assert_eq!(admission.admit(&HeaderMap::new(), None), Ok(Identity::Anybody));
        let refused = admission.admit(&page, None).expect_err("no page may");
        assert_eq!(refused.text, "origin 'http://evil.example': none is allowed");
        admission.origins = vec!["http://shop.example".to_owned()];
        let refused = admission.admit(&page, None).expect_err("another page may");
        assert_eq!(refused.text, "origin 'http://evil.example': allowed are http://shop.example");
        admission
            .admit(&headers(&[(header::ORIGIN, "http://shop.example")]), None)
            .expect("it may");
    }
}
