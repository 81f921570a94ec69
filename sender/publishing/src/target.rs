//! The place at a relay where a call is to be seen: its address, the name there, and the token that allows it.

use std::fmt;
use std::str::FromStr as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moq_net::{Pattern, Patterns};
use serde::Deserialize;

/// Port of a relay whose address has none.
const PORT: u16 = 443;
/// Characters of a name at most.
const NAME_MAX: usize = 200;
/// Characters of a token at most.
const TOKEN_MAX: usize = 4096;

/// The place at a relay.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Host, as it stands in the certificate.
    pub host: String,
    /// UDP port.
    pub port: u16,
    /// Name at the relay, parts between slashes.
    pub name: String,
    token: Option<String>,
    /// SHA-256 of the certificate, where it is nobody's but the relay's own.
    pub pin: Option<[u8; 32]>,
}

/// An address that is none of a relay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// Another form.
    #[error(
        "an audience's address is https://HOST[:PORT]/NAME[?jwt=TOKEN][#sha256=HASH], such as https://relay.example/duet/anna; {0}"
    )]
    Form(&'static str),
    /// The token is for another name.
    #[error(
        "the token is for publishing {allowed}, not {name:?}: a relay would take the call and show it to nobody; ask the relay's host for a \
         token of this name, or publish under one that it allows"
    )]
    OtherName {
        /// The name.
        name: String,
        /// The name that the token allows.
        allowed: String,
    },
    /// The token is for those who watch.
    #[error(
        "the token is for watching: the host publishes with an address of its own, which the relay's host has beside the link"
    )]
    Watches,
    /// It was for a time that is past.
    #[error("the token has expired: ask the relay's host for a new one")]
    Expired,
}

impl Target {
    /// Reads an address. `token`, if there is one, stands for that in the address.
    pub fn parse(text: &str, token: Option<&str>) -> Result<Self, InvalidTarget> {
        let form = InvalidTarget::Form;
        let rest = text.strip_prefix("https://").ok_or(form("it begins with https://"))?;
        let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, name) = rest.split_once('/').ok_or(form("a name stands behind the host"))?;
        let (host, port) = host_and_port(authority).ok_or(form("the host or its port is wrong"))?;
        let name = name.trim_end_matches('/');
        let is_part = |part: &str| {
            let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(is_good)
        };
        if name.len() > NAME_MAX || !name.split('/').all(is_part) {
            return Err(form("the name has parts of letters, digits, - and _ between slashes"));
        }
        let in_query = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("jwt=")));
        let token = token.filter(|token| !token.is_empty()).or(in_query);
        let is_token = |token: &str| {
            token.len() <= TOKEN_MAX && token.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        if token.is_some_and(|token| !is_token(token)) {
            return Err(form("the token has other characters than a token has"));
        }
        let pin = match fragment {
            None => None,
            Some(fragment) => {
                let hash = fragment.strip_prefix("sha256=").and_then(from_hex);
                Some(hash.ok_or(form("behind # stands sha256= and the 64 digits of a certificate's hash"))?)
            }
        };
        Ok(Self { host, port, name: name.to_owned(), token: token.map(str::to_owned), pin })
    }

    /// Returns what the relay is asked for.
    pub(crate) fn path(&self) -> String {
        self.token.as_ref().map_or_else(|| "/".to_owned(), |token| format!("/?jwt={token}"))
    }

    /// Checks what the token says of itself, at a time in seconds since 1970. A token that cannot be read is the relay's to judge.
    pub fn check(&self, unix_s: u64) -> Result<(), InvalidTarget> {
        let Some(claims) = self.token.as_deref().and_then(Claims::of) else { return Ok(()) };
        if claims.exp.is_some_and(|exp| exp <= unix_s as f64) {
            return Err(InvalidTarget::Expired);
        }
        if claims.allows(&self.name) {
            return Ok(());
        }
        let allowed: Vec<_> = claims.paths().iter().map(|path| format!("{path:?}")).collect();
        if allowed.is_empty() {
            return Err(InvalidTarget::Watches);
        }
        Err(InvalidTarget::OtherName { name: self.name.clone(), allowed: allowed.join(" or ") })
    }
}

/// Keeps the token out of logs.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}:{}", self.name, self.host, self.port)
    }
}

fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest.strip_prefix(':').map_or_else(|| rest.is_empty().then_some(""), Some)?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() { PORT } else { port.parse().ok().filter(|port| *port > 0)? };
    let is_host = |host: &str| host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c));
    (!host.is_empty() && host.len() <= 253 && is_host(host)).then(|| (host.to_owned(), port))
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The parts of a token that say what it is for. Its signature is the relay's matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Claims {
    root: String,
    /// Names, each with all below it.
    put: Paths,
    /// Patterns of names.
    publish: Paths,
    exp: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

impl Paths {
    fn all(&self) -> &[String] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Many(paths) => paths,
        }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Claims {
    fn of(token: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Returns patterns of the names under which it may publish.
    fn paths(&self) -> Vec<String> {
        let joined = |path: &str| {
            let parts = self.root.split('/').chain(path.split('/')).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join("/")
        };
        let below = self.put.all().iter().map(|put| joined(&format!("{put}/**")));
        below.chain(self.publish.all().iter().map(|pattern| joined(pattern))).collect()
    }

    fn allows(&self, name: &str) -> bool {
        let patterns = self.paths().into_iter().filter_map(|path| Pattern::from_str(&path).ok());
        patterns.into_iter().any(|pattern| Patterns::from(pattern).matches(name))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn an_address_has_its_parts() {
        let hash = "0f".repeat(32);
        let target =
            Target::parse(&format!("https://relay.example:4443/duet/anna?jwt=a.b-c_d#sha256={hash}"), None).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.name.as_str()), ("relay.example", 4443, "duet/anna"));
        assert_eq!((target.path().as_str(), target.pin), ("/?jwt=a.b-c_d", Some([15; 32])));
        assert!(!format!("{target:?} {target}").contains("b-c_d"), "a token stays out of logs");
        let plain = Target::parse("https://[::1]/anna", Some("x.y.z")).unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.path().as_str()), ("::1", 443, "/?jwt=x.y.z"));
        for wrong in [
            "",
            "http://relay/anna",
            "https://relay",
            "https://relay/",
            "https://relay:0/anna",
            "https://relay:x/anna",
            "https:///anna",
            "https://[::/anna",
            "https://relay/an na",
            "https://relay//anna",
            "https://relay/a/../b",
            "https://relay/anna?jwt=a%20b",
            "https://relay/anna#sha256=12",
            "https://relay/anna#",
            "https://relay/*",
        ] {
            let error = Target::parse(wrong, None).unwrap_err().to_string();
            assert!(error.contains("https://relay.example/duet/anna"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_token_for_another_name_is_told_before_anybody_is_asked() {
        let check = |claims: &str| {
            let target = Target::parse("https://relay/duet/anna", Some(&token(claims))).unwrap();
            target.check(1_000).map_err(|error| error.to_string())
        };
        for fits in [
            r#"{"put":"duet/anna"}"#,
            r#"{"put":["x","duet"],"exp":1001}"#,
            r#"{"root":"duet","put":[""]}"#,
            r#"{"put":[""]}"#,
            r#"{"root":"/duet/","put":"anna/"}"#,
            "not JSON",
        ] {
            assert_eq!(check(fits), Ok(()), "{fits}");
        }
        for other in [r#"{"put":"duet/ann"}"#, r#"{"root":"duet/bert","put":""}"#, r#"{"publish":"duet/anna/*"}"#] {
            let error = check(other).unwrap_err();
            assert!(error.contains("not \"duet/anna\"") && error.contains("show it to nobody"), "{other}: {error}");
        }
        for watches in [r#"{"get":"duet/anna"}"#, r#"{"subscribe":["duet/anna"],"exp":2000}"#, "{}"] {
            assert_eq!(check(watches), Err(InvalidTarget::Watches.to_string()), "{watches}");
        }
        assert_eq!(check(r#"{"put":"duet","exp":1000}"#), Err(InvalidTarget::Expired.to_string()));
        assert_eq!(Target::parse("https://relay/anna", None).unwrap().check(0), Ok(()));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in ".{0,80}", token in proptest::option::of(".{0,80}")) {
            for text in [text.clone(), format!("https://{text}"), format!("https://relay/anna?jwt={text}#{text}")] {
                if let Ok(target) = Target::parse(&text, token.as_deref()) {
                    let _ = target.check(0);
                }
            }
        }
    }
}
