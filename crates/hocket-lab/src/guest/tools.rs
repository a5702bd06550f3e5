//! Guests that come with the lab: their sources, and the compilers that build them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hocket_files::ScratchFolder;

use super::command;
use crate::harness::NotMeasurable;

/// How the folders begin in which guests are built, among the temporary files.
pub const BUILD_PREFIX: &str = "hocket-guest-";

/// How long a compiler may take.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 600 } else { 120 });

/// A C compiler that knows OpenMP.
///
/// # Errors
/// None is installed, and what to install.
pub fn c_compiler() -> Result<PathBuf, NotMeasurable> {
    in_path("gcc").ok_or_else(|| {
        NotMeasurable::new("not here: install gcc with OpenMP (Debian: apt install gcc)")
    })
}

/// Builds the C guest of this text; the program.
///
/// # Errors
/// The compiler says what is wrong.
pub fn build_c(
    text: &str,
    folder: &Path,
    is_ending: &dyn Fn() -> bool,
) -> Result<PathBuf, NotMeasurable> {
    let (source, program) = (folder.join("guest.c"), folder.join("guest"));
    std::fs::write(&source, text).map_err(NotMeasurable::new)?;
    let mut words = vec![word(&c_compiler()?)];
    // Without contraction, so that every operation rounds as the lab's own does.
    words.extend(["-std=c11", "-O2", "-ffp-contract=off", "-fopenmp", "-o"].map(String::from));
    words.extend([word(&program), word(&source)]);
    compile(&words, "gcc with OpenMP (Debian: apt install gcc)", is_ending)?;
    Ok(program)
}

/// A Java development kit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Where its folder `bin` is.
    home: PathBuf,
    /// As in its file `release`; `unknown` where it has none.
    pub version: String,
}

impl Jdk {
    /// That of JAVA_HOME; without it the newest of those that are installed where Debian puts them, and of the PATH's.
    ///
    /// # Errors
    /// None is installed, and what to install.
    pub fn find() -> Result<Jdk, NotMeasurable> {
        let named = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        let named = named.map(PathBuf::from);
        let on_path = in_path("javac").and_then(|javac| {
            let real = std::fs::canonicalize(javac).ok()?;
            Some(real.parent()?.parent()?.to_path_buf())
        });
        let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
        let installed = installed.filter_map(|entry| Some(entry.ok()?.path()));
        let all: Vec<PathBuf> = match named {
            Some(home) => vec![home],
            None => installed.chain(on_path).collect(),
        };
        let kits = all.into_iter().filter_map(Jdk::at);
        kits.max_by(|a, b| (a.feature(), &b.home).cmp(&(b.feature(), &a.home))).ok_or_else(|| {
            NotMeasurable::new(
                "not here: install a JDK, 17 or newer (Debian: apt install openjdk-17-jdk-headless), or name one with \
                 JAVA_HOME",
            )
        })
    }

    fn at(home: PathBuf) -> Option<Jdk> {
        let is_there = |program: &str| home.join("bin").join(program).is_file();
        if !(is_there("javac") && is_there("java")) {
            return None;
        }
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        Some(Jdk { version: version_in(&release).unwrap_or("unknown").to_owned(), home })
    }

    /// One that is nowhere.
    #[cfg(test)]
    pub(crate) fn described(version: &str) -> Jdk {
        Jdk { home: "/".into(), version: version.into() }
    }

    /// 21 of 21.0.3; 0 where it is not known.
    pub fn feature(&self) -> u32 {
        self.version.split('.').next().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Compiles the class `Guest` of this text into the folder.
    ///
    /// # Errors
    /// The compiler says what is wrong.
    pub fn build(
        &self,
        text: &str,
        folder: &Path,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<(), NotMeasurable> {
        let source = folder.join("Guest.java");
        std::fs::write(&source, text).map_err(NotMeasurable::new)?;
        let javac = word(&self.home.join("bin/javac"));
        let words = [javac, "-d".into(), word(folder), word(&source)];
        compile(&without(&OPTIONS_OF_JAVA, words), "a JDK, 17 or newer", is_ending)
    }

    /// The command that runs what was built there.
    pub fn command(&self, options: &[&str], folder: &Path) -> Vec<String> {
        let mut words = vec![word(&self.home.join("bin/java"))];
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words.extend(["-cp".into(), word(folder), "Guest".into()]);
        without(&OPTIONS_OF_JAVA, words)
    }
}

/// In these the user may set options of every JVM, and a measured one has its own only.
const OPTIONS_OF_JAVA: [&str; 4] =
    ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS"];

/// The command without these variables of the environment.
pub fn without(variables: &[&str], command: impl IntoIterator<Item = String>) -> Vec<String> {
    let unset = variables.iter().flat_map(|variable| ["-u", variable]).map(String::from);
    ["env".to_owned()].into_iter().chain(unset).chain(command).collect()
}

/// `JAVA_VERSION="21.0.3"`.
fn version_in(release: &str) -> Option<&str> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(line.trim().trim_matches('"'))
}

/// A folder to build in, which goes with this value.
///
/// # Errors
/// There is no room for temporary files.
pub fn folder() -> Result<ScratchFolder, NotMeasurable> {
    let below = std::env::temp_dir();
    ScratchFolder::create(&below, BUILD_PREFIX)
        .map_err(|error| NotMeasurable::new(format!("{}: {error}", below.display())))
}

fn compile(
    words: &[String],
    remedy: &str,
    is_ending: &dyn Fn() -> bool,
) -> Result<(), NotMeasurable> {
    let ran = command::run(words, &[], PATIENCE, is_ending);
    ran.map(drop).map_err(|why| NotMeasurable::new(format!("not here: {why}; install {remedy}")))
}

fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A program of this name in the folders of PATH.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_kits_are_numbers() {
        let text = "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.3\"\nOS_NAME=\"Linux\"\n";
        let kit = |text: &str| Jdk::described(version_in(text).unwrap_or("unknown"));
        assert_eq!((kit(text).version.as_str(), kit(text).feature()), ("25.0.3", 25));
        assert_eq!(kit("").feature(), 0);
    }

    #[test]
    fn commands_run_without_variables_of_the_user() {
        let words = without(&["A", "B"], ["java".to_owned(), "-cp".to_owned()]);
        assert_eq!(words, ["env", "-u", "A", "-u", "B", "java", "-cp"]);
        let java = Jdk::described("21").command(&["-Xmx1m"], Path::new("/f"));
        assert!(java.contains(&"_JAVA_OPTIONS".to_owned()), "{java:?}");
        assert_eq!(java[java.len() - 5..], ["/bin/java", "-Xmx1m", "-cp", "/f", "Guest"]);
    }

    #[test]
    fn what_does_not_compile_is_told_and_leaves_nothing() {
        let Ok(_) = c_compiler() else {
            println!("SKIPPED what_does_not_compile_is_told_and_leaves_nothing: no gcc");
            return;
        };
        let folder = folder().unwrap();
        let path = folder.path().to_path_buf();
        let why = build_c("int main(void) { return x; }", &path, &|| false).unwrap_err();
        assert!(why.0.contains("gcc failed") || why.0.contains("failed (exit status"), "{why}");
        drop(folder);
        assert!(!path.exists());
    }
}
