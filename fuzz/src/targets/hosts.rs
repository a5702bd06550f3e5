//! Lists of machines, and the jobs made of them.

use std::path::{Path, PathBuf};

use hocket_lab::fleet::{Fleet, Host, Job, LabJob, hyperqueue, slurm};

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("hosts.txt");
    let hosts = match Host::parse(path, text) {
        Ok(hosts) => hosts,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(Host::parse(path, text).expect("as before"), hosts);
    let fleet = Fleet {
        name: "hocket-lab".into(),
        folder: PathBuf::from("/plan"),
        program: PathBuf::from("/bin/hocket"),
        limit: None,
        renders: false,
    };
    for host in &hosts {
        check_job(host);
        for path in [fleet.job(host), fleet.record(host)] {
            assert_eq!(path.components().count(), 4, "a file in its folder: {}", path.display());
        }
    }
    assert!(!slurm::files(&fleet, &hosts).is_empty());
    assert!(!hyperqueue::files(&fleet, &hosts).is_empty());
}

fn check_job(host: &Host) {
    let lab =
        LabJob { experiments: vec!["wake".into()], full: false, time_s: None, width_percent: 5.0 };
    let job = Job::lab(host, 7, lab);
    assert_eq!(Job::parse(Path::new("job.toml"), &job.text()).expect("what Hocket writes"), job);
    assert!(job.is_for(&job.hostname));
}
