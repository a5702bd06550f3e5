//! What carries the sound between hosts, for people and for shells.

use std::fmt::Write;

use hocket_lab::foreign;
use hocket_plan::split::{Cut, Link};

use super::folder::{MARK, SHELL};
use super::part_name;
use crate::cli::SplitArgs;

/// The name of a host's client at host 0.
fn client(host: usize) -> String {
    format!("host{host}")
}

/// The table of connections.
pub(super) fn connections(cut: &Cut, args: &SplitArgs, rate_hz: u32) -> String {
    let hosts = cut.parts.len();
    let mut out = format!(
        "{MARK}: {hosts} hosts at {rate_hz} Hz, periods of {} frames, network latency of {} periods.\n\
         # Each line is a connection through the network: the host, its port, the port that it goes through at host 0, the\n\
         # port of host 0's Hocket, and how many frames late host 0 expects it.\n\
         # host\tfrom\tthrough\tto\tframes\tcarries\n",
        args.frames, args.net_latency
    );
    for host in 1..hosts {
        let _ = writeln!(
            out,
            "0\thocket:transport\t{}:to_slave_1\thocket:transport\t0\tthe song's place",
            client(host)
        );
    }
    for (link, first) in numbered(cut) {
        for channel in 1..=2 {
            let (name, through) = (&link.name, first + channel);
            let _ = writeln!(
                out,
                "{}\thocket:{name}_{channel}\t{}:from_slave_{through}\thocket:{name}_{channel}\t{}\t{}",
                link.host,
                client(link.host),
                link.latency_frames,
                foreign::plain(&link.carries)
            );
        }
    }
    out
}

/// Each link, and how many channels its host sends before it.
fn numbered(cut: &Cut) -> impl Iterator<Item = (&Link, usize)> {
    let before = |place: usize, host: usize| {
        2 * cut.links[..place].iter().filter(|link| link.host == host).count()
    };
    cut.links.iter().enumerate().map(move |(place, link)| (link, before(place, link.host)))
}

/// What to run on a host, in order.
pub(super) fn commands(cut: &Cut, host: usize, args: &SplitArgs) -> String {
    let mut out =
        format!("{SHELL}{MARK}: what to run on host {host}, line by line, in this folder.\n");
    match host {
        0 => at_host0(&mut out, cut, args),
        _ => at_host(&mut out, cut, host, args),
    }
    out
}

fn at_host0(out: &mut String, cut: &Cut, args: &SplitArgs) {
    let (frames, part) = (args.frames, part_name(0));
    let session = &cut.parts[0].session;
    let _ = write!(
        out,
        "# 1. The server with the sound card, in synchronous mode, and the network.\n\
         jackd --sync -d alsa -r {} -p {frames} &\n\
         jack_wait -w\n\
         jack_load netmanager\n\
         # 2. Hocket. It waits for the transport.\n\
         hocket play {part} --device jack --transport jack --send-transport --connect no &\n\
         # 3. When the other hosts run: the connections.\n\
         jack_connect hocket:main_1 system:playback_1\n\
         jack_connect hocket:main_2 system:playback_2\n",
        args.rate.unwrap_or(session.sample_rate_hz)
    );
    let mut captured = 0;
    // Those of the network come last.
    let own = session.inputs.len().saturating_sub(cut.links.len());
    for input in &session.inputs[..own] {
        for channel in 1..=input.channels {
            captured += 1;
            let port = quoted(&format!("hocket:{}_{channel}", input.name.replace(':', "_")));
            let _ = writeln!(out, "jack_connect system:capture_{captured} {port}");
        }
    }
    for host in 1..cut.parts.len() {
        let _ = writeln!(out, "jack_connect hocket:transport {}:to_slave_1", client(host));
    }
    for (link, first) in numbered(cut) {
        for channel in 1..=2 {
            let (client, name) = (client(link.host), &link.name);
            let _ = writeln!(
                out,
                "jack_connect {client}:from_slave_{} hocket:{name}_{channel}",
                first + channel
            );
        }
    }
    out.push_str(
        "# 4. The song begins on all hosts. JACK's network manager never reports that it is ready, so the server waits for\n\
         # its patience to end: 10 seconds.\n\
         echo play | jack_transport\n",
    );
}

fn at_host(out: &mut String, cut: &Cut, host: usize, args: &SplitArgs) {
    let channels = 2 * cut.links.iter().filter(|link| link.host == host).count();
    let (address, client, part) = (quoted(&args.address), client(host), part_name(host));
    let _ = write!(
        out,
        "# 1. The server, which has host 0's clock, in synchronous mode. Behind -a is host 0's address.\n\
         jackd --sync -d net -a {address} -n {client} -C 1 -P {channels} -i 0 -o 0 -l {} &\n\
         jack_wait -w\n\
         # 2. Hocket. The song is where host 0 is.\n\
         hocket play {part} --device jack --transport port --connect no &\n\
         # 3. The connections, when both run.\n\
         jack_connect system:capture_1 hocket:transport\n",
        args.net_latency
    );
    for (link, first) in numbered(cut).filter(|(link, _)| link.host == host) {
        for channel in 1..=2 {
            let name = &link.name;
            let _ = writeln!(
                out,
                "jack_connect hocket:{name}_{channel} system:playback_{}",
                first + channel
            );
        }
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.:/".contains(sign);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
