//! PipeWire as a JACK server: whether one runs for this user, and where its own JACK library is.
//!
//! That library has the name of JACK's, so the loader finds one of the two. `pw-jack` changes what it finds for a whole process;
//! here PipeWire's is loaded by its path.

use std::env::{VarError, consts::ARCH, var};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The server's name, in place of JACK's `default`.
pub(super) const NAME: &str = "PipeWire";
/// Its library, below a folder of libraries.
const LIBRARY: &str = "pipewire-0.3/jack/libjack.so.0";

/// Whether a PipeWire has its socket here. It may be one that starts when somebody comes.
pub(crate) fn runs() -> bool {
    let is_socket = |path: PathBuf| path.metadata().is_ok_and(|it| it.file_type().is_socket());
    socket(|name| var(name)).is_some_and(is_socket)
}

/// Where PipeWire's own clients look for it.
fn socket(var: impl Fn(&str) -> Result<String, VarError>) -> Option<PathBuf> {
    let set = |name| var(name).ok().filter(|value| !value.is_empty());
    let name = set("PIPEWIRE_REMOTE").unwrap_or_else(|| "pipewire-0".into());
    let folder = set("PIPEWIRE_RUNTIME_DIR").or_else(|| set("XDG_RUNTIME_DIR"));
    match Path::new(&name).is_absolute() {
        true => Some(name.into()),
        false => Some(Path::new(&folder?).join(name)),
    }
}

/// Its library. `None`: it is not installed.
pub(super) fn library() -> Option<PathBuf> {
    folders().into_iter().map(|folder| Path::new(&folder).join(LIBRARY)).find(|path| path.exists())
}

/// Where distributions have libraries of this processor: Debian by its name, others not.
fn folders() -> [String; 3] {
    let triplet = match ARCH {
        "x86" => "i386-linux-gnu".into(),
        "arm" => "arm-linux-gnueabihf".into(),
        arch => format!("{arch}-linux-gnu"),
    };
    [format!("/usr/lib/{triplet}"), "/usr/lib64".into(), "/usr/lib".into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket_with(set: &[(&str, &str)]) -> Option<String> {
        let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|it| it.1.into());
        let path = socket(|name| value(name).ok_or(VarError::NotPresent));
        path.map(|path| path.display().to_string())
    }

    #[test]
    fn the_socket_is_where_pipewires_clients_look() {
        let (own, usual) = (("PIPEWIRE_RUNTIME_DIR", "/own"), ("XDG_RUNTIME_DIR", "/run/user/1"));
        assert_eq!(socket_with(&[usual]).unwrap(), "/run/user/1/pipewire-0");
        assert_eq!(socket_with(&[usual, own]).unwrap(), "/own/pipewire-0");
        assert_eq!(socket_with(&[usual, ("PIPEWIRE_REMOTE", "b")]).unwrap(), "/run/user/1/b");
        assert_eq!(socket_with(&[("PIPEWIRE_REMOTE", "/tmp/c")]).unwrap(), "/tmp/c");
        assert_eq!(socket_with(&[("XDG_RUNTIME_DIR", "")]), None);
    }
}
