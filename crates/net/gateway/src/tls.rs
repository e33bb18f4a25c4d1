//! TLS: what the gateway shows, and whether clients have to show something too.

use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::sync::Arc;

/// The certificate that clients see, and the certificates that they have to show.
#[derive(Clone, Debug)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
}

/// An error in certificates or keys.
#[derive(Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

fn wrong(what: &'static str) -> impl Fn(String) -> TlsError {
    move |problem| TlsError(format!("{what}: {problem}"))
}

impl Tls {
    /// The gateway shows this chain of certificates; anybody may connect.
    ///
    /// # Errors
    /// If they are no PEM, or do not belong together.
    pub fn new(chain_pem: &[u8], key_pem: &[u8]) -> Result<Self, TlsError> {
        Self::build(chain_pem, key_pem, None)
    }

    /// Makes the settings like [`new`](Self::new), and lets only those clients connect that show a
    /// certificate that one of these authorities has signed.
    ///
    /// # Errors
    /// If they are no PEM, or do not belong together.
    pub fn mutual(
        chain_pem: &[u8],
        key_pem: &[u8],
        authorities_pem: &[u8],
    ) -> Result<Self, TlsError> {
        Self::build(chain_pem, key_pem, Some(authorities_pem))
    }

    /// Any configuration of rustls.
    #[must_use]
    pub fn of(config: ServerConfig) -> Self {
        Tls { config: Arc::new(config) }
    }

    fn build(chain: &[u8], key: &[u8], authorities: Option<&[u8]>) -> Result<Self, TlsError> {
        let chain = certificates(chain, "certificate chain")?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| wrong("private key")(error.to_string()))?;
        let provider = Arc::new(default_provider());
        let versions = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions();
        let builder = versions.map_err(|error| wrong("TLS")(error.to_string()))?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let wrong = wrong("authorities of clients");
                let mut roots = RootCertStore::empty();
                for one in certificates(pem, "authorities of clients")? {
                    roots.add(one).map_err(|error| wrong(error.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder
                    .with_client_cert_verifier(verifier.map_err(|error| wrong(error.to_string()))?)
            }
        };
        let config = builder.with_single_cert(chain, key);
        config.map(Self::of).map_err(|error| wrong("certificate and key")(error.to_string()))
    }
}

fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(list) if list.is_empty() => {
            Err(wrong(what)("expected a PEM with certificates, found none in it".to_owned()))
        }
        Ok(list) => Ok(list),
        Err(error) => Err(wrong(what)(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_named() {
        let error = Tls::new(b"nothing", b"nothing").expect_err("it is none").to_string();
        assert_eq!(error, "certificate chain: expected a PEM with certificates, found none in it");
    }
}
