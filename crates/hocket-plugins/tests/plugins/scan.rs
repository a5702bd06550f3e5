//! A scan survives what plug-ins do. The process of its own is this test program, started for `the_child` alone.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hocket_plugins::scan::{Found, Places, Scanner, look};
use hocket_plugins::{Catalog, Format, scan::Library};

use crate::common::{compiled, test_clap, test_vst3};

/// The child. Its last four arguments say what to do; without them it has nothing to do.
#[test]
#[ignore = "only in the process that a scan starts"]
fn the_child() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some([format, path, skip, into]) = arguments.last_chunk() else { return };
    let Ok(skip) = skip.parse() else { return };
    let format = Format::ALL.into_iter().find(|known| known.word() == *format).unwrap();
    look(&Library { format, path: path.into() }, skip, Path::new(into)).unwrap();
}

fn scanner(limit: Duration, cache: Option<&Path>) -> Scanner {
    let arguments = ["--exact", "scan::the_child", "--ignored", "--nocapture"];
    Scanner {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).into(),
        limit,
        cache: cache.map(Into::into),
    }
}

fn clap_places(folder: &Path) -> Vec<Library> {
    Places { clap: vec![folder.into()], ..Places::default() }.libraries()
}

/// What is said of the library of this name.
fn problem<'a>(found: &'a Found, name: &str) -> &'a str {
    let of = |library: &Path| library.file_name().is_some_and(|file| file == name);
    let found = found.problems.iter().find(|problem| of(&problem.library));
    found.map_or("nothing", |problem| problem.why.as_str())
}

#[test]
fn plug_ins_that_crash_hang_or_print_are_survived() {
    let Some(file) = test_clap("plug_ins_that_crash_hang_or_print_are_survived") else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["crashes.clap", "hangs.clap", "prints.clap"] {
        std::fs::copy(&file, folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("text.clap"), "no library").unwrap();
    let found = scanner(Duration::from_secs(5), None).scan(&clap_places(folder.path()));
    assert_eq!(problem(&found, "crashes.clap"), "it crashed (signal 6) while it was loaded");
    assert_eq!(problem(&found, "hangs.clap"), "it took too long while it was loaded");
    assert!(problem(&found, "text.clap").starts_with("it does not load"), "{found:?}");
    assert_eq!(problem(&found, "prints.clap"), "nothing");
    let [plugin] = found.plugins.as_slice() else { panic!("{found:?}") };
    assert_eq!(plugin.kind, "clap:test.hocket.gain");
    let catalog = Catalog::new(found.plugins.clone());
    let missing = catalog.usable("clap:other").unwrap_err();
    assert!(missing.contains("there is no plug-in 'clap:other' here"), "{missing}");
}

#[test]
fn vst3_bundles_that_do_not_load_are_survived_and_named() {
    let test = "vst3_bundles_that_do_not_load_are_survived_and_named";
    let folder = tempfile::tempdir().unwrap();
    for name in ["crashes", "hangs", "unwilling", "usual", "text", "foreign"] {
        if test_vst3(test, folder.path(), name).is_none() {
            return;
        }
    }
    let library = |name: &str| {
        let machine = format!("Contents/{}-linux", std::env::consts::ARCH);
        folder.path().join(format!("{name}.vst3/{machine}/{name}.so"))
    };
    std::fs::write(library("text"), "no library").unwrap();
    let mut foreign = std::fs::read(library("foreign")).unwrap();
    foreign[18..20].copy_from_slice(&7_u16.to_ne_bytes());
    std::fs::write(library("foreign"), foreign).unwrap();
    std::fs::create_dir_all(folder.path().join("empty.vst3/Contents/Resources")).unwrap();
    std::fs::write(folder.path().join("file.vst3"), "").unwrap();
    let places = Places { vst3: vec![folder.path().into()], ..Places::default() };
    let found = scanner(Duration::from_secs(5), None).scan(&places.libraries());
    let says = |name: &str, what: &str| {
        let why = problem(&found, &format!("{name}.vst3"));
        assert!(why.contains(what), "{name}: {why}");
    };
    says("crashes", "it crashed (signal 6) while it was loaded");
    says("hangs", "it took too long while it was loaded");
    says("unwilling", "its library refuses to start (ModuleEntry)");
    says("text", "it does not load: ");
    says("foreign", "is made for another machine; install its version for");
    says("empty", "it has no library Contents/");
    says("file", "it is a file, and a VST3 bundle is a folder with Contents/");
    let [plugin] = found.plugins.as_slice() else { panic!("{found:?}") };
    assert_eq!(plugin.kind, "vst3:484F434B455400015445535400000001");
    assert_eq!((plugin.refusal.as_deref(), found.problems.len()), (None, 7));
}

#[test]
fn a_library_is_looked_at_again_only_when_it_changes() {
    let Some(file) = test_clap("a_library_is_looked_at_again_only_when_it_changes") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (cache, library) = (folder.path().join("cache/plugins.json"), folder.path().join("a.clap"));
    std::fs::copy(&file, &library).unwrap();
    let usual = scanner(Duration::from_secs(60), Some(&cache));
    let libraries = clap_places(folder.path());
    let first = usual.scan(&libraries);
    assert_eq!(first.plugins.len(), 1);
    // One that runs no test finds nothing anew.
    let broken = Scanner { arguments: vec!["--list".into()], ..usual };
    assert_eq!(broken.scan(&libraries), first);
    std::fs::write(&library, "another file").unwrap();
    let changed = broken.scan(&libraries);
    assert!(changed.plugins.is_empty());
    assert!(problem(&changed, "a.clap").starts_with("it ended the process"), "{changed:?}");
}

/// As two plug-ins of swh need a library that Debian does not link them with.
#[test]
fn what_lacks_another_library_is_looked_at_again() {
    let test = "what_lacks_another_library_is_looked_at_again";
    let Some((folder, bundle)) = compiled(test, "latency") else { return };
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("other.c"), "int other(void) { return 0; }").unwrap();
    let cc = |arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.current_dir(folder.path()).args(["-shared", "-fPIC", "-o"]).args(arguments);
        assert!(compiler.status().unwrap().success());
    };
    cc(&["libother.so", "other.c"]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/latency.lv2/latency.c");
    let run_path = format!("-Wl,-rpath,{}", folder.path().display());
    let linked = ["-Wl,--no-as-needed", "-L.", "-lother", run_path.as_str()];
    let (library, source) = (bundle.join("latency.so"), source.display().to_string());
    cc(&[&[library.to_str().unwrap(), source.as_str()], &linked[..]].concat());
    std::fs::rename(at("libother.so"), at("away.so")).unwrap();
    let usual = scanner(Duration::from_secs(60), Some(&at("cache.json")));
    let libraries = [Library { format: Format::Lv2, path: bundle }];
    let refusal = |scanner: &Scanner| scanner.scan(&libraries).plugins[0].refusal.clone();
    let refused = refusal(&usual);
    assert!(
        refused.as_ref().is_some_and(|why| why.starts_with("it makes no instance")),
        "{refused:?}"
    );
    // The bundle stays as it is.
    std::fs::rename(at("away.so"), at("libother.so")).unwrap();
    assert_eq!(refusal(&usual), None);
    let broken = Scanner { arguments: vec!["--list".into()], ..usual };
    assert_eq!(refusal(&broken), None, "what can be used is kept");
}
