//! Plug-ins as text and JSON.

use hocket_lab::numbers::counted;
use hocket_plugins::lv2::PresetName;
use hocket_plugins::scan::Found;
use hocket_plugins::{Description, ExtraOutput, Param, Steps};
use serde_json::{Value, json};

/// A line per plug-in, those that Hocket refuses below.
pub(super) fn list(found: &Found) -> String {
    let (usable, refused): (Vec<_>, Vec<_>) =
        found.plugins.iter().partition(|plugin| plugin.refusal.is_none());
    let mut text = String::new();
    for plugin in &usable {
        text += &format!("{}  {} ({})\n", plugin.kind, plugin.title, ports(plugin));
    }
    if !refused.is_empty() || !found.problems.is_empty() {
        text += "\nNot usable:\n";
    }
    for plugin in refused {
        let why = plugin.refusal.as_deref().unwrap_or_default();
        text += &format!("{}  {}: {why}\n", plugin.kind, plugin.title);
    }
    for problem in &found.problems {
        text += &format!("{}: {}\n", problem.library.display(), problem.why);
    }
    let problems = found.plugins.len() - usable.len() + found.problems.len();
    text + &format!("\n{}, {problems} not usable\n", counted(usable.len(), "plug-in"))
}

pub(super) fn list_json(found: &Found) -> Value {
    json!({
        "format": "hocket-plugins/1",
        "plugins": found.plugins,
        "problems": found.problems,
    })
}

fn ports(plugin: &Description) -> String {
    let layout = plugin.layout;
    let mut text = format!("{} in, {} out", layout.inputs, layout.outputs);
    if layout.side_chain > 0 {
        text += &format!(", side chain {}", layout.side_chain);
    }
    match plugin.extra_outputs.len() {
        0 => {}
        1 => text += ", 1 extra output",
        count => text += &format!(", {count} extra outputs"),
    }
    text += if plugin.events { ", MIDI" } else { "" };
    text + if plugin.sends_events { ", sends MIDI" } else { "" }
}

/// Everything that is known of a plug-in.
pub(super) fn info(plugin: &Description, presets: &[PresetName]) -> String {
    let mut text = format!("{}\n", plugin.title);
    let mut row = |name: &str, value: String| text += &format!("{name:<10}{value}\n");
    row("kind", plugin.kind.clone());
    row("library", plugin.library.display().to_string());
    if let Some(why) = &plugin.refusal {
        row("refused", why.clone());
    }
    row("ports", ports(plugin));
    if plugin.layout.instances() == 2 {
        row("", "two instances, one per side".into());
    }
    for (place, output) in plugin.extra_outputs.iter().enumerate() {
        let name = if place == 0 { "outputs" } else { "" };
        row(name, extra_output(output));
    }
    if let Some(sends) = sends(plugin) {
        row("sends", sends.into());
    }
    row("latency", format!("{} frames at 48 kHz", plugin.latency_frames));
    row("state", if plugin.state { "yes" } else { "none beside its parameters" }.into());
    if !plugin.features.is_empty() {
        row("requires", plugin.features.join(", "));
    }
    text + &params(&plugin.params) + &list_of(presets)
}

/// Where its events go.
fn sends(plugin: &Description) -> Option<&'static str> {
    match (plugin.sends_events, plugin.layout.outputs) {
        (false, _) => None,
        (true, 0) => Some("notes and MIDI, to the effects behind it in its strip"),
        (true, _) => {
            Some("notes and MIDI, with send_events = true to the effects behind it in its strip")
        }
    }
}

/// As a session names it: `from_output = "Kick"`.
fn extra_output(output: &ExtraOutput) -> String {
    let ExtraOutput { name, channels } = output;
    format!("\"{name}\", {}", if *channels == 1 { "mono" } else { "stereo" })
}

/// The same as JSON.
pub(super) fn info_json(plugin: &Description, presets: &[PresetName]) -> Value {
    let preset = |PresetName { label, uri }: &PresetName| json!({ "label": label, "uri": uri });
    let mut value = json!(plugin);
    value["presets"] = presets.iter().map(preset).collect();
    value
}

fn list_of(presets: &[PresetName]) -> String {
    if presets.is_empty() {
        return String::new();
    }
    let width = presets.iter().map(|preset| preset.label.chars().count()).max().unwrap_or(0);
    let row = |PresetName { label, uri }: &PresetName| format!("  {label:width$}  {uri}\n");
    format!("presets\n{}", presets.iter().map(row).collect::<String>())
}

fn params(params: &[Param]) -> String {
    if params.is_empty() {
        return "no parameters\n".into();
    }
    let width = params.iter().map(|param| param.name.len()).max().unwrap_or(0);
    let mut text = String::from("parameters\n");
    for param in params {
        text += &format!("  {:width$}  {}\n", param.name, range(param));
    }
    text
}

/// The rate for which ranges that depend on it are shown.
const AT_HZ: f32 = 48_000.0;

fn range(param: &Param) -> String {
    let Param { min, max, default, .. } = param;
    let mut text = match param.per_rate {
        true => format!(
            "{} to {} at 48 kHz, in proportion to the sample rate, default {}",
            min * AT_HZ,
            max * AT_HZ,
            param.default_value()
        ),
        false if param.unit.is_empty() => format!("{min} to {max}, default {default}"),
        false => format!("{min} to {max} {}, default {default}", param.unit),
    };
    text += match param.steps {
        Steps::None => "",
        Steps::Whole => ", whole numbers",
        Steps::Switch => ", off or on",
    };
    let points: Vec<String> =
        param.points.iter().map(|(value, label)| format!("{value} {label}")).collect();
    if !points.is_empty() {
        text += &format!(" ({})", points.join(", "));
    }
    format!("{text}  {}", param.title)
}
