//! This machine's Ed25519 key: its file, its public part, its form for TLS.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::config::{PublicKey, SharedConfig};
use ring::digest::{SHA512, digest};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::failure::Failure;
use crate::tls;

const FILE_NAME: &str = "identity.pem";

/// Errors of an identity. All end a daemon with exit code 4.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum IdentityError {
    /// There is no file yet.
    #[error("there is no identity at {0}; run `{program} identity` to make one", program = program())]
    Absent(PathBuf),
    /// The file cannot be read or written.
    #[error("the identity file {path} cannot be {action}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        action: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Others may read the private key.
    #[error("the identity file {0} may be read by others; run `chmod 600 {0}`, or make a new one if others had access")]
    Exposed(PathBuf),
    /// Not an Ed25519 private key, or its public part belongs to another private key.
    #[error("the identity file {path} is not a valid Ed25519 private key ({why}); move it away and run `{program} identity` to make a new one", program = program())]
    Invalid { path: PathBuf, why: String },
    /// No place for the file.
    #[error(
        "there is no place for the identity: neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set; use --identity FILE"
    )]
    NoPlace,
    /// The operating system gives no random numbers, or TLS cannot use the key.
    #[error("this machine's identity cannot be used: {0}")]
    Unusable(String),
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Self {
        Self::network(error)
    }
}

/// A machine's key pair.
pub struct Identity {
    public: PublicKey,
    pkcs8: PrivatePkcs8KeyDer<'static>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Identity").field(&self.public).finish()
    }
}

impl Identity {
    /// Generates a key pair, in memory only.
    pub fn generate() -> Result<Self, IdentityError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| IdentityError::Unusable("the system gives no random numbers".to_owned()))?;
        Self::from_pkcs8(document.as_ref().to_vec().into()).map_err(IdentityError::Unusable)
    }

    /// Reads a key file: PKCS#8 PEM, as `identity` and `openssl genpkey -algorithm ED25519` write it, readable
    /// by nobody but its owner. Inside `$CREDENTIALS_DIRECTORY` the permissions are systemd's affair.
    pub fn load(path: &Path) -> Result<Self, IdentityError> {
        let io = |source| IdentityError::Io { path: path.to_owned(), action: "read", source };
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(IdentityError::Absent(path.to_owned()));
            }
            result => result.map_err(io)?,
        };
        let is_credential = directory("CREDENTIALS_DIRECTORY").is_some_and(|directory| path.starts_with(directory));
        if metadata.permissions().mode() & 0o077 != 0 && !is_credential {
            return Err(IdentityError::Exposed(path.to_owned()));
        }
        let invalid = |why| IdentityError::Invalid { path: path.to_owned(), why };
        let text = fs::read(path).map_err(io)?;
        let key =
            PrivatePkcs8KeyDer::from_pem_slice(&text).map_err(|_| invalid("no PEM private key in it".to_owned()))?;
        Self::from_pkcs8(key).map_err(invalid)
    }

    /// Writes the key to a new file of mode 0600, and its directory (0700) if there is none.
    pub fn save(&self, path: &Path) -> Result<(), IdentityError> {
        let io = |source| IdentityError::Io { path: path.to_owned(), action: "written", source };
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            let mut builder = fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(directory).map_err(io)?;
        }
        let body = STANDARD.encode(self.pkcs8.secret_pkcs8_der());
        let lines: Vec<_> = body.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        let text = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io)
    }

    /// Reads the key file, or makes one if there is none.
    pub fn load_or_create(path: &Path) -> Result<Self, IdentityError> {
        match Self::load(path) {
            Err(IdentityError::Absent(_)) => {
                let identity = Self::generate()?;
                identity.save(path)?;
                Ok(identity)
            }
            result => result,
        }
    }

    /// Returns the key file that the configuration names, or the default one.
    pub fn path_of(config: &SharedConfig) -> Result<PathBuf, IdentityError> {
        config.identity_file.clone().map_or_else(Self::default_path, Ok)
    }

    /// Returns the default path of the key: in the directory of credentials, if it holds one, or of state that systemd
    /// gives, else in the user's state directory. Both daemons share it.
    pub fn default_path() -> Result<PathBuf, IdentityError> {
        let credential =
            directory("CREDENTIALS_DIRECTORY").map(|path| path.join(FILE_NAME)).filter(|path| path.exists());
        let state = || directory("STATE_DIRECTORY").map(|path| path.join(FILE_NAME));
        let xdg = || directory("XDG_STATE_HOME").map(|path| path.join("duet").join(FILE_NAME));
        let home = || directory("HOME").map(|path| path.join(".local/state/duet").join(FILE_NAME));
        credential.or_else(state).or_else(xdg).or_else(home).ok_or(IdentityError::NoPlace)
    }

    /// Returns the public part.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Returns what this machine and the one with the key `peer` share, and nobody else ([`PublicKey::agree`]).
    pub(crate) fn agree(&self, peer: &PublicKey) -> Option<[u8; 32]> {
        peer.agree(*digest(&SHA512, &self.seed()?).as_ref().first_chunk()?)
    }

    /// Returns the private key's bytes (RFC 8410, section 7).
    fn seed(&self) -> Option<[u8; 32]> {
        /// An octet string of 34 bytes that holds one of 32.
        const HEAD: [u8; 4] = [0x04, 0x22, 0x04, 0x20];
        let der = self.pkcs8.secret_pkcs8_der();
        let begin = der.windows(HEAD.len()).position(|bytes| bytes == HEAD)? + HEAD.len();
        let seed = *der.get(begin..)?.first_chunk()?;
        Ed25519KeyPair::from_seed_and_public_key(&seed, self.public.as_bytes()).is_ok().then_some(seed)
    }

    /// Returns the key as TLS presents it: a raw public key (RFC 7250) and its signer.
    pub fn certified_key(&self) -> Result<Arc<CertifiedKey>, IdentityError> {
        let signer = rustls::crypto::ring::sign::any_eddsa_type(&self.pkcs8)
            .map_err(|error| IdentityError::Unusable(error.to_string()))?;
        let spki = CertificateDer::from(tls::spki(&self.public));
        Ok(Arc::new(CertifiedKey::new(vec![spki], signer)))
    }

    fn from_pkcs8(pkcs8: PrivatePkcs8KeyDer<'static>) -> Result<Self, String> {
        // For files that hold the public part too, this compares it with the private part.
        let pair =
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8.secret_pkcs8_der()).map_err(|rejected| match rejected
                .to_string()
                .as_str()
            {
                "InconsistentComponents" => "its public part belongs to another private key".to_owned(),
                other => other.to_owned(),
            })?;
        let bytes = pair.public_key().as_ref().try_into().map_err(|_| "its public part has a wrong length")?;
        let public = PublicKey::from_bytes(bytes).ok_or("its public part is of small order")?;
        Ok(Self { public, pkcs8 })
    }
}

fn directory(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the name under which this program was called.
fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    path.file_name().map_or_else(|| "sender".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> tempdir::TempDir {
        tempdir::TempDir::new("identity")
    }

    #[test]
    fn a_saved_identity_is_private_and_loads_again() {
        let directory = directory();
        let path = directory.path().join("a/b/identity.pem");
        let made = Identity::load_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Identity::load_or_create(&path).unwrap().public_key(), made.public_key());
        assert!(matches!(made.save(&path), Err(IdentityError::Io { action: "written", .. })));
    }

    #[test]
    fn bad_files_are_refused_with_a_sentence() {
        let directory = directory();
        let path = directory.path().join("identity.pem");
        assert!(matches!(Identity::load(&path), Err(IdentityError::Absent(_))));
        let identity = Identity::generate().unwrap();
        identity.save(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Identity::load(&path), Err(IdentityError::Exposed(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "no key").unwrap();
        assert!(matches!(Identity::load(&path), Err(IdentityError::Invalid { .. })));
    }

    #[test]
    fn two_machines_share_what_no_third_has() {
        let [a, b, c] = std::array::from_fn(|_| Identity::generate().unwrap());
        let shared = a.agree(&b.public_key()).unwrap();
        assert_eq!(b.agree(&a.public_key()), Some(shared));
        assert_ne!(c.agree(&a.public_key()), Some(shared));
        assert_ne!(c.agree(&b.public_key()), Some(shared));
    }

    #[test]
    fn a_public_part_of_another_key_is_refused() {
        let directory = directory();
        let path = directory.path().join("identity.pem");
        let (one, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let mut der = one.pkcs8.secret_pkcs8_der().to_vec();
        let at = der.len() - 32;
        assert_eq!(&der[at..], one.public.as_bytes());
        der[at..].copy_from_slice(other.public.as_bytes());
        Identity { public: one.public, pkcs8: der.into() }.save(&path).unwrap();
        let error = Identity::load(&path).unwrap_err().to_string();
        assert!(error.contains("its public part belongs to another private key"), "{error}");
    }

    #[test]
    fn a_file_of_openssl_is_read() {
        let directory = directory();
        let path = directory.path().join("identity.pem");
        // The private key of RFC 8032's first test vector.
        let text = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpgusgbzNiFSbqlgM9/VQbEqkTlXYYftQ+g\n\
                    -----END PRIVATE KEY-----\n";
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let read = Identity::load(&path).unwrap();
        let other = Identity::generate().unwrap();
        assert!(read.agree(&other.public_key()).is_some_and(|shared| other.agree(&read.public_key()) == Some(shared)));
    }

    /// A directory that goes away with its value.
    mod tempdir {
        use std::path::{Path, PathBuf};
        use std::sync::atomic::{AtomicU32, Ordering};

        static COUNT: AtomicU32 = AtomicU32::new(0);

        pub(super) struct TempDir(PathBuf);

        impl TempDir {
            pub(super) fn new(name: &str) -> Self {
                let count = COUNT.fetch_add(1, Ordering::Relaxed);
                let path = std::env::temp_dir().join(format!("duet-{name}-{}-{count}", std::process::id()));
                std::fs::create_dir_all(&path).unwrap();
                Self(path)
            }

            pub(super) fn path(&self) -> &Path {
                &self.0
            }
        }

        impl Drop for TempDir {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
    }
}
