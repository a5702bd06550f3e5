//! The script's own tests, where there is a Python to run them. They start no server.

use std::process::Command;

#[test]
fn the_script_passes_its_tests() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/live");
    let mut python = Command::new("python3");
    // Without bytecode: nothing is left in the sources.
    python.args(["-B", "-m", "unittest", "discover", "-s", folder]);
    match python.output() {
        Err(error) => println!("SKIPPED the_script_passes_its_tests: python3: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
