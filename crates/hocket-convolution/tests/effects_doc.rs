//! The table of the effect in `docs/effects.md` is that of the code. To renew it:
//! `HOCKET_RENEW_DOCS=1 cargo test -p hocket-convolution --test effects_doc`

use std::path::PathBuf;

use hocket_convolution::{Impulse, KIND, PARAMS, SUMMARY, flops_per_frame};
use hocket_dsp::Param;

const RENEW: &str = "HOCKET_RENEW_DOCS=1 cargo test -p hocket-convolution --test effects_doc";
/// Two seconds at 48 kHz.
const USUAL_FRAMES: usize = 96_000;

fn row(param: &Param) -> String {
    let Param { name, summary, min, max, default, fixed } = param;
    let when = if *fixed { "built" } else { "any time" };
    format!("| `{name}` | {min} | {max} | {default} | {when} | {summary} |\n")
}

fn table() -> String {
    let rows: String = PARAMS.iter().map(row).collect();
    let usual = Impulse::new(&[vec![0.1; USUAL_FRAMES]]).expect("a response");
    let flops = flops_per_frame(&usual).round();
    format!(
        "{SUMMARY}\n\n| parameter | from | to | default | changes | meaning |\n|---|---|---|---|---|---|\n{rows}\n\
         With a response of 2 s at 48 kHz: {flops} operations per stereo frame, latency 0 frames.\n"
    )
}

#[test]
fn the_table_is_that_of_the_code() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/effects.md");
    let old = std::fs::read_to_string(&path).expect("docs/effects.md can be read");
    let open = format!("<!-- table of {KIND} -->\n");
    let start = old.find(&open).expect("a place for the table") + open.len();
    let end = start + old[start..].find("<!-- end of table -->").expect("the table's end");
    let new = format!("{}{}{}", &old[..start], table(), &old[end..]);
    if std::env::var_os("HOCKET_RENEW_DOCS").is_some() {
        std::fs::write(path, new).expect("docs/effects.md can be written");
        return;
    }
    assert!(old == new, "docs/effects.md is not that of the code; renew it with\n    {RENEW}");
}
