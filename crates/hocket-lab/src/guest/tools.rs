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
    /// That of JAVA_HOME alone. Without it, the newest of each version that is installed where Debian puts them or is in
    /// PATH: at most three, the newest first.
    ///
    /// # Errors
    /// None is installed, and what to install; or JAVA_HOME names none that is new enough.
    pub fn all() -> Result<Vec<Jdk>, NotMeasurable> {
        if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
            return Jdk::named(Path::new(&home)).map(|kit| vec![kit]);
        }
        let on_path = in_path("javac").and_then(|javac| {
            let real = std::fs::canonicalize(javac).ok()?;
            Some(real.parent()?.parent()?.to_path_buf())
        });
        let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
        let installed =
            installed.filter_map(|entry| std::fs::canonicalize(entry.ok()?.path()).ok());
        let kits = newest(installed.chain(on_path).filter_map(Jdk::at).collect());
        if kits.is_empty() {
            return Err(NotMeasurable::new(
                "not here: install a JDK, 17 or newer (Debian: apt install openjdk-17-jdk-headless), or name one with \
                 JAVA_HOME",
            ));
        }
        Ok(kits)
    }

    fn named(home: &Path) -> Result<Jdk, NotMeasurable> {
        let kit = Jdk::at(home.into()).ok_or_else(|| {
            NotMeasurable(format!(
                "JAVA_HOME names {}, where no JDK is (bin/javac, bin/java): correct it, or unset it",
                home.display()
            ))
        })?;
        match kit.is_new_enough() {
            true => Ok(kit),
            false => Err(NotMeasurable(format!(
                "JAVA_HOME names the JDK {}, and {OLDEST} or newer is needed: name another one, or unset it",
                kit.version
            ))),
        }
    }

    /// Also one that does not say its version: its compiler will.
    fn is_new_enough(&self) -> bool {
        self.feature() == 0 || self.feature() >= OLDEST
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
        // So that every JVM from there on runs the same.
        let release = OLDEST.to_string();
        let words = [javac, "--release".into(), release, "-d".into(), word(folder), word(&source)];
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

/// The oldest Java that the guest is written for.
const OLDEST: u32 = 17;
/// No more kits are compared in one run.
const MOST_KITS: usize = 3;

/// The newest kit of each feature version that is new enough, the newest first.
fn newest(mut kits: Vec<Jdk>) -> Vec<Jdk> {
    kits.retain(Jdk::is_new_enough);
    // Of one feature version the last text is the newest, more or less; paths only make the order the same each time.
    kits.sort_by(|a, b| {
        (b.feature(), &b.version, &a.home).cmp(&(a.feature(), &a.version, &b.home))
    });
    kits.dedup_by_key(|kit| kit.feature());
    kits.truncate(MOST_KITS);
    kits
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
    // A compiler that was refused a process or a thread does not always say so.
    ran.map(drop).map_err(|why| {
        NotMeasurable::new(format!(
            "not here: {why}; install {remedy}; if it is installed, raise the limits of processes and memory (`ulimit -a`)"
        ))
    })
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
    fn the_newest_kit_of_each_version_is_used() {
        let kits = ["17.0.9", "25.0.3", "11.0.2", "17.0.15", "21", "8", "25.0.3", "24"];
        let kits = newest(kits.map(Jdk::described).to_vec());
        let versions: Vec<&str> = kits.iter().map(|kit| kit.version.as_str()).collect();
        assert_eq!(versions, ["25.0.3", "24", "21"]);
        let one = newest(vec![Jdk::described("unknown")]);
        assert_eq!(one[0].feature(), 0);
        assert_eq!(newest(vec![Jdk::described("17.0.15"), Jdk::described("17.0.9")]).len(), 1);
    }

    #[test]
    fn a_folder_without_a_kit_is_named() {
        let why = Jdk::named(Path::new("/nowhere")).unwrap_err().0;
        assert!(why.contains("JAVA_HOME names /nowhere") && why.contains("unset it"), "{why}");
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
