//! The tables in `docs/effects.md` are those of the code. To renew them:
//! `HOCKET_RENEW_DOCS=1 cargo test -p hocket-dsp --test effects_doc`

use std::fmt::Write;
use std::path::PathBuf;

use hocket_dsp::{Kind, Param, kinds};

const RENEW: &str = "HOCKET_RENEW_DOCS=1 cargo test -p hocket-dsp --test effects_doc";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/effects.md")
}

fn row(param: &Param) -> String {
    let Param { name, summary, min, max, default, fixed } = param;
    let when = if *fixed { "built" } else { "any time" };
    format!("| `{name}` | {min} | {max} | {default} | {when} | {summary} |\n")
}

fn table(kind: &Kind) -> String {
    let mut text = format!("{}\n\n", kind.summary);
    text.push_str("| parameter | from | to | default | changes | meaning |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    kind.params.iter().for_each(|param| text.push_str(&row(param)));
    let processor = (kind.build)(&kind.defaults(), 48_000);
    let flops = (kind.flops_per_frame)(&kind.defaults(), 48_000);
    let latency = processor.latency_frames();
    let _ = write!(
        text,
        "\nAt the defaults and 48 kHz: {flops} operations per stereo frame, latency {latency} frames.\n"
    );
    text
}

/// The text with the part between the kind's marks replaced by its table.
fn with_table(text: &str, kind: &Kind) -> Result<String, String> {
    let open = format!("<!-- table of {} -->\n", kind.name);
    let close = "<!-- end of table -->";
    let missing = || format!("docs/effects.md has no `{}` followed by `{close}`", open.trim());
    let start = text.find(&open).ok_or_else(missing)? + open.len();
    let end = start + text[start..].find(close).ok_or_else(missing)?;
    Ok(format!("{}{}{}", &text[..start], table(kind), &text[end..]))
}

#[test]
fn tables_are_those_of_the_code() {
    let old = std::fs::read_to_string(path()).expect("docs/effects.md can be read");
    let renewed = kinds().iter().try_fold(old.clone(), |text, kind| with_table(&text, kind));
    let new = renewed.unwrap_or_else(|missing| panic!("{missing}"));
    if std::env::var_os("HOCKET_RENEW_DOCS").is_some() {
        std::fs::write(path(), new).expect("docs/effects.md can be written");
        return;
    }
    assert!(old == new, "docs/effects.md is not that of the code; renew it with\n    {RENEW}");
}

#[test]
fn the_table_of_kinds_is_sound() {
    let names: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
    let expected =
        "gain pan tremolo eq delay freeverb fdn compressor limiter gate amp correlation synth";
    assert_eq!(names.join(" "), expected);
    for kind in kinds() {
        for (n, param) in kind.params.iter().enumerate() {
            assert!(param.min < param.max, "{} {}", kind.name, param.name);
            assert_eq!(param.clamp(param.default), param.default, "{} {}", kind.name, param.name);
            assert_eq!(kind.index_of(param.name), Some(n), "{} {} twice", kind.name, param.name);
            assert!(param.summary.ends_with('.') && !param.summary.contains('|'));
        }
    }
}
