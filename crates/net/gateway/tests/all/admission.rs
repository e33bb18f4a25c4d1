//! Who is let in: tokens, web pages, certificates.

use crate::desk::{Client, Office, Said, Talk, request, request_to};
use actinium_gateway::{Tls, subprotocol};
use actinium_wire::Encoding;
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[tokio::test]
async fn without_the_token_nobody_is_let_in() {
    let office = Office::open(|builder| builder.token("till", "s3cret").token("office", "other"));
    let json = ("content-type", "application/json");
    for wrong in [vec![json], vec![json, ("authorization", "Bearer s3cre")]] {
        let answer = office.post(&wrong, b"\"WhoAmI\"").await;
        assert_eq!(answer.status, 401);
        assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
    }
    let answer = office.post(&[json, ("authorization", "Bearer s3cret")], b"\"WhoAmI\"").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "{\"You\":\"token 'till'\"}"));

    let stream = || TcpStream::connect(office.address());
    let name = subprotocol::<Talk>(Encoding::SelfDescribing).expect("it has a name");
    let without = office.request(&[("sec-websocket-protocol", &name)]);
    let refused =
        tokio_tungstenite::client_async(without, stream().await.expect("it listens")).await;
    assert!(refused.is_err());
    let offer = format!("{name}, bearer.other");
    let with = office.request(&[("sec-websocket-protocol", &offer)]);
    let mut client =
        Client::connect(stream().await.expect("it listens"), with, Encoding::SelfDescribing).await;
    client.say(&Talk::WhoAmI).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::You(name)) if name == "token 'office'"));
}

#[tokio::test]
async fn a_web_page_is_let_in_only_from_where_it_may() {
    let office = Office::open(|builder| builder.origin("https://shop.example"));
    let post = async |origin| {
        office
            .post(&[("content-type", "application/json"), ("origin", origin)], b"{\"Add\":1}")
            .await
    };
    let answer = post("https://evil.example").await;
    assert_eq!(answer.status, 403);
    assert!(
        answer.text().contains("origin 'https://evil.example': allowed are https://shop.example")
    );
    assert!(!answer.head.contains("access-control"), "{}", answer.head);
    let answer = post("https://shop.example").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "{\"Total\":1}"));
    assert!(answer.head.contains("access-control-allow-origin: https://shop.example"));

    let preflight = async |origin: &str| {
        let text = format!(
            "OPTIONS /desk HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\nconnection: close\r\n\r\n"
        );
        request(office.address(), text.as_bytes()).await
    };
    let answer = preflight("https://shop.example").await;
    assert_eq!(answer.status, 204);
    let allowed = "accept, authorization, content-type, traceparent";
    assert!(answer.head.contains(&format!("access-control-allow-headers: {allowed}")));
    assert_eq!(preflight("https://evil.example").await.status, 403);

    let stream = TcpStream::connect(office.address()).await.expect("it listens");
    let evil = office.request(&[("origin", "https://evil.example")]);
    assert!(tokio_tungstenite::client_async(evil, stream).await.is_err());
}

/// An authority, and what it has signed for this name.
struct Authority {
    pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Authority {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        (params.signed_by(&key, &self.issuer).expect("it is signed"), key)
    }

    /// Connects, and shows this.
    async fn connect(
        &self,
        office: &Office,
        shown: Option<(rcgen::Certificate, KeyPair)>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("versions").with_root_certificates(roots);
        let config = match shown {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder
                    .with_client_auth_cert(vec![certificate.der().clone()], key)
                    .expect("they fit")
            }
        };
        let stream = TcpStream::connect(office.address()).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

fn json() -> tokio_tungstenite::tungstenite::http::Request<()> {
    request_to("wss://localhost/desk", &[])
}

#[tokio::test]
async fn an_encrypted_gateway_shows_its_certificate() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign("localhost");
    let tls =
        Tls::new(certificate.pem().as_bytes(), key.serialize_pem().as_bytes()).expect("they fit");
    let office = Office::open(|builder| builder.tls(tls));
    let stream = authority.connect(&office, None).await.expect("it is known");
    let mut client = Client::connect(stream, json(), Encoding::Text).await;
    client.say(&Talk::WhoAmI).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::You(name)) if name == "anybody"));
    assert!(
        Authority::new().connect(&office, None).await.is_err(),
        "another authority has not signed it"
    );
}

#[tokio::test]
async fn with_mutual_tls_only_who_shows_a_signed_certificate_is_let_in() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.sign("localhost");
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    let tls = Tls::mutual(certificate.as_bytes(), key.as_bytes(), authority.pem.as_bytes())
        .expect("they fit");
    let office = Office::open(|builder| builder.tls(tls));
    let stream =
        authority.connect(&office, Some(authority.sign("till"))).await.expect("it is let in");
    let mut client = Client::connect(stream, json(), Encoding::Text).await;
    client.say(&Talk::WhoAmI).await;
    assert!(
        matches!(client.hear().await, Said::Talk(Talk::You(name)) if name.starts_with("a certificate of "))
    );
    for shown in [None, Some(stranger.sign("till"))] {
        // In TLS 1.3 the client hears of it only when it wants something.
        if let Ok(stream) = authority.connect(&office, shown).await {
            assert!(tokio_tungstenite::client_async(json(), stream).await.is_err());
        }
    }
}
