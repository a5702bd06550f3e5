//! Where the library of a bundle is.

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

/// The library of a bundle for this machine: `Contents/x86_64-linux/NAME.so`.
///
/// # Errors
/// It has none, with what to do.
pub fn library_file(bundle: &Path) -> Result<PathBuf, String> {
    let folder = format!("{}-linux", machine());
    if bundle.is_file() {
        return Err(format!(
            "it is a file, and a VST3 bundle is a folder with Contents/{folder}; install its version for Linux"
        ));
    }
    let mut name = bundle.file_stem().unwrap_or_default().to_os_string();
    name.push(".so");
    let contents = bundle.join("Contents");
    let file = contents.join(folder).join(name);
    if file.is_file() {
        return Ok(file);
    }
    let others = machines(&contents);
    Err(match others.as_slice() {
        [] => format!("it has no library {}", shown(&file, bundle)),
        others => format!(
            "it has no library {}, only {}; install its version for this machine",
            shown(&file, bundle),
            others.join(", ")
        ),
    })
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
        assert_eq!(library_file(&bundle), Ok(bundle.join(place)));
        let file = folder.path().join("Old.vst3");
        std::fs::write(&file, "").unwrap();
        assert!(refused(&file).starts_with("it is a file, and a VST3 bundle is a folder"));
    }
}
