//! The two small languages of the lab: steps and loads.

use std::fmt::Write;

use hocket_lab::patterns::{LoadPattern, Step, StepPattern};

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match StepPattern::parse(text) {
        Ok(pattern) => check_steps(&pattern),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match LoadPattern::parse(text) {
        Ok(pattern) => {
            assert!(pattern.threads.len() <= LoadPattern::MOST_THREADS);
            assert_eq!(LoadPattern::parse(text).expect("as before"), pattern);
            assert!(pattern.threads.iter().all(|thread| thread.kernel().is_some()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check_steps(pattern: &StepPattern) {
    let mut text = String::new();
    for thread in &pattern.threads {
        let _ = write!(text, "{}:", thread.name);
        for step in &thread.steps {
            let _ = match step {
                Step::Barrier => write!(text, " B"),
                Step::SpinBarrier => write!(text, " SB"),
                Step::Process(passes) => write!(text, " P({passes})"),
            };
        }
        text.push('\n');
    }
    assert_eq!(StepPattern::parse(&text).expect("the same in other words"), *pattern);
    assert_eq!(pattern.first(1).threads.len(), pattern.threads.len().min(1));
}
