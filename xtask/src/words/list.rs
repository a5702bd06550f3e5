//! What no tracked file may hold.

/// What kind of text a term is, which decides how it is found and what is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder of somebody's machine.
    MachinePath,
    /// A package registry's host.
    RegistryHost,
    /// A word that has nothing to do with the product.
    ForeignWord,
}

impl Kind {
    /// The rule's name.
    pub fn rule(self) -> &'static str {
        match self {
            Kind::MachinePath => "no-machine-paths",
            Kind::RegistryHost => "no-registry-hosts",
            Kind::ForeignWord => "hocket-alone",
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Kind::MachinePath => "write a path relative to the repository or to a variable",
            Kind::RegistryHost => "name the tool or the package, not the place it comes from",
            Kind::ForeignWord => "say what Hocket does, in Hocket's own words",
        }
    }
}

/// Absolute folders of build machines and homes.
pub const MACHINE_PATHS: [&str; 6] =
    ["/work/", "/farm/", "/root/", "/home/", "/tmp/target", "/Users/"];

/// Hosts of package registries; a build finds them in its own configuration.
pub const REGISTRY_HOSTS: [&str; 8] = [
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "npmjs.org",
    "npmjs.com",
    "deb.debian.org",
    "proxy.golang.org",
    "repo1.maven.org",
];

/// Names and terms of writing assistants, each letter moved by thirteen places so that searching
/// the repository for them finds nothing.
pub const FOREIGN_WORDS: [&str; 12] = [
    "pynhqr",
    "naguebcvp",
    "bcranv",
    "pungtcg",
    "pbcvybg",
    "yyz",
    "yyzf",
    "nv nffvfgnag",
    "nv-trarengrq",
    "nv trarengrq",
    "ynathntr zbqry",
    "fhontrag",
];

/// A file that may hold terms of one kind.
#[derive(Debug)]
pub struct Exception {
    /// The file, relative to the workspace root.
    pub file: &'static str,
    /// Which terms.
    pub kind: Kind,
}

const fn except(file: &'static str, kind: Kind) -> Exception {
    Exception { file, kind }
}

/// Every exception.
pub const EXCEPTIONS: [Exception; 7] = [
    // Cargo writes where each package came from.
    except("Cargo.lock", Kind::RegistryHost),
    except("comparison/Cargo.lock", Kind::RegistryHost),
    except("examples/jack/Cargo.lock", Kind::RegistryHost),
    except("examples/rust/Cargo.lock", Kind::RegistryHost),
    except("fuzz/Cargo.lock", Kind::RegistryHost),
    // The list itself.
    except("xtask/src/words/list.rs", Kind::MachinePath),
    except("xtask/src/words/list.rs", Kind::RegistryHost),
];
