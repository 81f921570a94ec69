//! JACK's own server, found by its socket. Before libjack looks for it there, it opens a data base of JACK in shared memory, in which a
//! program that is killed leaves a lock behind: after some 150 no JACK server starts any more, until one removes it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Folder of libjack's registry of servers, of their sockets and of its data base.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";
/// Bytes of a socket's path at most; libjack cuts a longer one off.
const PATH_BYTES_MAX: usize = 107;

/// Returns true if a server takes connections. It may wait for one that is stopped.
pub(crate) fn answers() -> bool {
    let name = std::env::var_os("JACK_DEFAULT_SERVER").unwrap_or_else(|| "default".into());
    let is_for_all = std::env::var_os("JACK_PROMISCUOUS_SERVER").is_some();
    let user = (!is_for_all).then(|| rustix::process::geteuid().as_raw());
    UnixStream::connect(socket(&name, user)).is_ok()
}

/// Returns the path of the socket of the server `name`, which is of one user or of all.
fn socket(name: &OsStr, user: Option<u32>) -> PathBuf {
    let name = name.as_bytes().iter().map(|&byte| if matches!(byte, b'/' | b'\\') { b'_' } else { byte });
    let mut path: Vec<u8> = SHARED_MEMORY.bytes().chain(*b"/jack_").chain(name).collect();
    path.extend(user.map_or_else(|| "_0".to_owned(), |user| format!("_{user}_0")).bytes());
    path.truncate(PATH_BYTES_MAX);
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_where_libjack_has_it() {
        let path = |name: &str, user| socket(name.as_ref(), user).into_os_string().into_string().unwrap();
        assert_eq!(path("default", Some(1000)), "/dev/shm/jack_default_1000_0");
        assert_eq!(path("default", None), "/dev/shm/jack_default_0");
        assert_eq!(path("a/b\\c", Some(0)), "/dev/shm/jack_a_b_c_0_0");
        assert_eq!(path(&"n".repeat(300), Some(0)).len(), PATH_BYTES_MAX);
    }
}
