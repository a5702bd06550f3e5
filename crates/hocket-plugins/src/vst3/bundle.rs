//! Where the library of a bundle is.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Whether this is the name of a bundle. A file of that name is one, too: it is refused with the reason.
pub fn is_bundle(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "vst3")
}

/// The name of this machine in bundles.
fn machine() -> &'static str {
    match std::env::consts::ARCH {
        "x86" => "i386",
        "arm" => "armv7l",
        other => other,
    }
}

/// Where the library of a bundle for this machine would be: `Contents/x86_64-linux/NAME.so`. `None`: it is no bundle.
pub fn library_place(bundle: &Path) -> Option<PathBuf> {
    let mut name = bundle.file_stem().filter(|_| is_bundle(bundle))?.to_os_string();
    name.push(".so");
    Some(bundle.join("Contents").join(format!("{}-linux", machine())).join(name))
}

/// The library of a bundle for this machine.
///
/// # Errors
/// It has none, with what to do.
pub fn library_file(bundle: &Path) -> Result<PathBuf, String> {
    let file =
        library_place(bundle).ok_or("it is no VST3 bundle: its name does not end in .vst3")?;
    if bundle.is_file() {
        return Err(format!(
            "it is a file, and a VST3 bundle is a folder with {}; install its version for Linux",
            shown(&file, bundle)
        ));
    }
    if file.is_file() {
        return match is_foreign(&file) {
            true => Err(format!(
                "its library {} is made for another machine; install its version for {}",
                shown(&file, bundle),
                machine()
            )),
            false => Ok(file),
        };
    }
    let others = machines(&bundle.join("Contents"));
    Err(match others.as_slice() {
        [] => format!("it has no library {}", shown(&file, bundle)),
        others => format!(
            "it has no library {}, only {}; install its version for this machine",
            shown(&file, bundle),
            others.join(", ")
        ),
    })
}

/// Whether a library is made for another machine. The loader says only that it is not there.
fn is_foreign(file: &Path) -> bool {
    let own = match std::env::consts::ARCH {
        "x86" => 3,
        "arm" => 40,
        "x86_64" => 62,
        "aarch64" => 183,
        "riscv64" => 243,
        _ => return false,
    };
    let mut head = [0_u8; 20];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    let is_library = read.is_ok() && head.starts_with(b"\x7fELF");
    is_library && u16::from_ne_bytes([head[18], head[19]]) != own
}

fn shown(file: &Path, bundle: &Path) -> String {
    file.strip_prefix(bundle).unwrap_or(file).display().to_string()
}

/// The machines that a bundle is for.
fn machines(contents: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(contents).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_machine =
        |name: &String| ["-linux", "-win", "MacOS"].iter().any(|ending| name.ends_with(ending));
    let mut names: Vec<String> = names.filter(is_machine).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_a_library_for_this_machine_is_refused_with_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("My Reverb.1.vst3");
        let refused = |bundle: &Path| library_file(bundle).unwrap_err();
        let place = format!("Contents/{}-linux/My Reverb.1.so", machine());
        std::fs::create_dir_all(bundle.join("Contents/Resources")).unwrap();
        assert_eq!(refused(&bundle), format!("it has no library {place}"));
        std::fs::create_dir_all(bundle.join("Contents/sparc-linux")).unwrap();
        std::fs::create_dir_all(bundle.join("Contents/x86_64-win")).unwrap();
        let expected = format!(
            "it has no library {place}, only sparc-linux, x86_64-win; install its version for this machine"
        );
        assert_eq!(refused(&bundle), expected);
        std::fs::create_dir_all(bundle.join(&place).parent().unwrap()).unwrap();
        std::fs::write(bundle.join(&place), "").unwrap();
        assert_eq!(library_file(&bundle), Ok(bundle.join(&place)));
        let head: [&[u8]; 4] = [b"\x7fELF", &[0; 14], &7_u16.to_ne_bytes(), &[0; 30]];
        std::fs::write(bundle.join(&place), head.concat()).unwrap();
        let expected = format!(
            "its library {place} is made for another machine; install its version for {}",
            machine()
        );
        assert_eq!(refused(&bundle), expected);
        let file = folder.path().join("Old.vst3");
        std::fs::write(&file, "").unwrap();
        assert!(refused(&file).starts_with("it is a file, and a VST3 bundle is a folder"));
    }
}
