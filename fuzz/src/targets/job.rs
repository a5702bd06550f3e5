//! What one machine of many is to do.

use std::path::Path;

use hocket_lab::fleet::Job;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("job.toml");
    match Job::parse(path, text) {
        Ok(job) => {
            assert!(job.work().is_some());
            assert_eq!(job.cpu_set().is_some(), job.cpus.is_some());
            assert_eq!(Job::parse(path, &job.text()).expect("what Hocket writes"), job);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
