//! Certificates for a test: authorities, and what they sign.

use actinium_cluster::fabric::zenoh::Tls;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A folder that goes with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("actinium-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Who signs certificates.
pub(crate) struct Authority<'a> {
    folder: &'a Folder,
    name: &'static str,
    issuer: Issuer<'static, KeyPair>,
    certificate: PathBuf,
}

impl<'a> Authority<'a> {
    pub(crate) fn new(folder: &'a Folder, name: &'static str) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let certificate = folder.write(&format!("{name}.pem"), &certificate.pem());
        Authority { folder, name, issuer: Issuer::new(parameters, key), certificate }
    }

    /// Where its own certificate is.
    pub(crate) fn path(&self) -> &Path {
        &self.certificate
    }

    /// A certificate for this host, for a holder of this name.
    pub(crate) fn sign(&self, name: &str) -> Tls {
        let hosts = vec!["localhost".to_owned()];
        let mut parameters = CertificateParams::new(hosts).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let file =
            |end: &str, text: &str| self.folder.write(&format!("{}-{name}.{end}", self.name), text);
        Tls {
            certificate: file("pem", &certificate.pem()),
            key: file("key", &key.serialize_pem()),
            ca: self.certificate.clone(),
            allowed: BTreeMap::new(),
        }
    }
}
