//! Builds the executors written in C++, where a compiler and the libraries are there. What is not
//! there is left out, and the program says so when it runs.

use std::process::{Command, Stdio};

/// One library and the executors that stand on it.
struct Library {
    /// `cfg` that is set where it is there.
    cfg: &'static str,
    /// What a program needs to include it.
    probe: &'static str,
    flags: &'static [&'static str],
    sources: &'static [&'static str],
    link: &'static str,
    remedy: &'static str,
}

const LIBRARIES: [Library; 2] = [
    Library {
        cfg: "has_tbb",
        probe: "tbb/flow_graph.h",
        flags: &[],
        sources: &["native/tbb_flow.cpp"],
        link: "tbb",
        remedy: "the package is libtbb-dev in Debian and Ubuntu",
    },
    Library {
        cfg: "has_openmp",
        probe: "omp.h",
        flags: &["-fopenmp"],
        sources: &["native/omp_team.cpp", "native/omp_tasks.cpp", "native/omp_levels.cpp"],
        // GCC's runtime: how long its threads spin can be set, and is.
        link: "gomp",
        remedy: "g++ brings it",
    },
];

fn main() {
    println!("cargo:rerun-if-changed=native");
    println!("cargo:rerun-if-changed=build.rs");
    for library in &LIBRARIES {
        println!("cargo:rustc-check-cfg=cfg({})", library.cfg);
        if is_there(library) {
            build(library);
        } else {
            let (probe, remedy) = (library.probe, library.remedy);
            println!(
                "cargo:warning=no g++ that finds {probe}: its executors are left out; {remedy}"
            );
        }
    }
}

/// The settings that all sources share.
fn compiler(library: &Library) -> cc::Build {
    let mut build = cc::Build::new();
    // Optimised in every profile, as Hocket's crates are; what is timed is built for release.
    build.cpp(true).std("c++17").opt_level(3).warnings(true).extra_warnings(true);
    library.flags.iter().for_each(|flag| {
        build.flag(flag);
    });
    build
}

/// Whether a GNU compiler is there and finds the header and the library.
fn is_there(library: &Library) -> bool {
    let Ok(compiler) = compiler(library).try_get_compiler() else { return false };
    let Ok(folder) = std::env::var("OUT_DIR") else { return false };
    let source = format!("{folder}/{}.cpp", library.cfg);
    let program = format!("#include <{}>\nint main() {{}}\n", library.probe);
    if !compiler.is_like_gnu() || std::fs::write(&source, program).is_err() {
        return false;
    }
    let mut linked: Command = compiler.to_command();
    linked.args([&source, "-o", &format!("{folder}/{}", library.cfg)]);
    linked.arg(format!("-l{}", library.link)).stderr(Stdio::null());
    linked.status().is_ok_and(|status| status.success())
}

fn build(library: &Library) {
    compiler(library).files(library.sources).compile(&format!("rival_{}", library.link));
    println!("cargo:rustc-link-lib={}", library.link);
    println!("cargo:rustc-cfg={}", library.cfg);
}
