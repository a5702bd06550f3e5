//! `hocket report` of folders: the real records of docs/results, broken ones, and a site over TCP.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lab::measured;
use crate::support::{Ran, check_refused, files, hocket, one_track, root, run};

/// A site and the folder that it is in.
pub struct Site {
    pub folder: TempDir,
    pub ran: Ran,
}

impl Site {
    /// Of the records in these folders and files.
    #[track_caller]
    pub fn of(records: &[&Path]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site").display().to_string();
        let records: Vec<String> = records.iter().map(|path| path.display().to_string()).collect();
        let mut args = vec!["report"];
        args.extend(records.iter().map(String::as_str));
        args.extend(["-o", &site]);
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        Site { folder, ran }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("site").join(name)
    }

    pub fn page(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn pages(&self) -> Vec<String> {
        files(&self.path("")).into_iter().filter(|name| name.ends_with(".html")).collect()
    }

    /// The one page whose name begins so.
    #[track_caller]
    pub fn only(&self, begins: &str) -> String {
        let found: Vec<String> =
            self.pages().into_iter().filter(|name| name.starts_with(begins)).collect();
        assert_eq!(found.len(), 1, "{begins}: {found:?} of {:?}", self.pages());
        self.page(&found[0])
    }
}

/// Values of an attribute in a page.
fn values<'p>(page: &'p str, attribute: &str) -> Vec<&'p str> {
    let begin = format!(" {attribute}=\"");
    page.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

pub fn results() -> PathBuf {
    root().join("docs/results")
}

/// A record of a bench as a value that a test changes.
fn bench(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(results().join(name)).unwrap()).unwrap()
}

/// One of five process starts and with a twin, so it can be judged.
const JUDGED: &str = "bench-worst-case-8-16cpu-vm.json";

fn write(folder: &Path, name: &str, value: &Value) {
    std::fs::write(folder.join(name), value.to_string()).unwrap();
}

/// The same session measured three times: the same again, and then with blocks half as long.
pub fn three_benches() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut record = bench(JUDGED);
    write(folder.path(), "a.json", &record);
    record["started_at"] = json!("2026-11-28T09:00:00Z");
    record["hocket"]["commit"] = json!("0123456789ab");
    write(folder.path(), "b.json", &record);
    record["started_at"] = json!("2026-12-04T21:30:00Z");
    for variant in record["variants"].as_array_mut().unwrap() {
        for round in variant["rounds"].as_array_mut().unwrap() {
            for block in round["duration_ns"].as_array_mut().unwrap() {
                *block = json!(block.as_i64().unwrap() / 2);
            }
        }
    }
    write(folder.path(), "c.json", &record);
    folder
}

#[test]
fn every_real_record_is_listed_and_every_link_leads_to_a_page() {
    let site = Site::of(&[&results()]);
    let index = site.page("index.html");
    let mut records = 0;
    for name in files(&results()) {
        if name.ends_with(".json") || name.ends_with(".sqlite") {
            assert!(index.contains(&format!("/{name}<")), "{name} is not listed");
            records += 1;
        }
    }
    assert!(site.ran.out.starts_with(&format!("{records} records of ")), "{}", site.ran.out);
    assert!(!index.contains("id=\"unread\""), "all of them can be used");
    let there: BTreeSet<String> = site.pages().into_iter().collect();
    for name in &there {
        let page = site.page(name);
        let links = values(&page, "href").into_iter().filter(|link| !link.starts_with(['#', 'd']));
        let links: BTreeSet<&str> = links.map(|link| link.split('#').next().unwrap()).collect();
        let dead: Vec<_> = links.iter().filter(|link| !there.contains(**link)).collect();
        assert!(dead.is_empty(), "{name}: {dead:?}");
        assert!(values(&page, "src").is_empty(), "{name} loads something");
        assert!(page.contains("default-src 'none'"), "{name} has no policy");
    }
    // A second time, it replaces its own pages.
    let site = site.folder.path().join("site").display().to_string();
    let again = run(&["report", &results().display().to_string(), "-o", &site]);
    assert_eq!(again.code, Some(0), "{}", again.err);
}

#[test]
fn what_cannot_be_used_is_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let whole = std::fs::read(results().join("bench-band-2cpu-vm.json")).unwrap();
    std::fs::write(at("whole.json"), &whole).unwrap();
    std::fs::write(at("copy.json"), &whole).unwrap();
    std::fs::write(at("cut.json"), &whole[..whole.len() / 2]).unwrap();
    let mut record = bench("bench-band-2cpu-vm.json");
    record["format"] = json!("hocket-bench/99");
    write(folder.path(), "newer.json", &record);
    record["format"] = json!("hocket-bench/2");
    record["settings"]["frames"] = json!(0);
    write(folder.path(), "wrong.json", &record);
    let huge = std::fs::File::create(at("huge.json")).unwrap();
    huge.set_len(300 << 20).unwrap();
    std::fs::write(at("noise.sqlite"), [7; 4096]).unwrap();
    let lab = std::fs::read(results().join("lab-quick-2cpu-vm.sqlite")).unwrap();
    std::fs::write(at("half.sqlite"), &lab[..lab.len() / 2]).unwrap();
    std::fs::create_dir(at("inner")).unwrap();
    std::fs::write(at("inner/others.json"), "{\"name\": 1}").unwrap();
    std::fs::write(at("notes.txt"), "text").unwrap();
    std::os::unix::fs::symlink(folder.path(), at("inner/round")).unwrap();

    let site = Site::of(&[folder.path()]);
    let index = site.page("index.html");
    let (_, unread) = index.split_once("id=\"unread\"").expect("a list of what was not read");
    for (name, why) in [
        ("whole.json", "the same record as"),
        ("cut.json", "ends too early"),
        ("newer.json", "hocket-bench/99"),
        ("wrong.json", "inconsistent"),
        ("huge.json", "larger than 256 MiB"),
        ("noise.sqlite", "not SQLite"),
        ("half.sqlite", "damaged"),
    ] {
        let (_, rest) = unread.split_once(&format!("/{name}</th>")).expect(name);
        let row = rest.split("</tr>").next().unwrap();
        assert!(row.contains(why), "{name}: {row}");
    }
    assert!(site.ran.out.starts_with("1 record of 1 machine"), "{}", site.ran.out);
    assert!(site.ran.out.contains("7 files could not be used"), "{}", site.ran.out);
    assert!(index.contains("2 other files passed over"), "{index}");
}

#[test]
fn names_from_records_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}";
    for (name, begun) in [("one", "2026-11-26T05:10:06Z"), ("two", "2026-11-27T05:10:06Z")] {
        let mut record = bench(JUDGED);
        record["started_at"] = json!(begun);
        record["session"]["name"] = json!(hostile);
        record["variants"][1]["name"] = json!(hostile);
        record["hocket"]["commit"] = json!(hostile);
        record["machine"]["facts"]["cpu_model"]["value"] = json!(hostile);
        record["machine"]["facts"]["architecture"]["value"] = json!(hostile);
        write(folder.path(), &format!("{name}<b>.json"), &record);
    }
    let site = Site::of(&[folder.path()]);
    for name in site.pages() {
        let page = site.page(&name);
        assert!(
            !page.contains("<img") && !page.contains("<b>.json"),
            "{name} has markup of a record"
        );
        assert!(!page.contains('\u{202e}'), "{name} has a mark of direction");
    }
    assert!(site.page("compare.html").contains("\\u003cimg src=x"));
}

#[test]
fn records_of_one_session_make_a_trend_and_are_judged_in_a_row() {
    let folder = three_benches();
    let mut record = bench(JUDGED);
    record["started_at"] = json!("2026-12-05T09:00:00Z");
    record["settings"]["warmup"] = json!(7);
    write(folder.path(), "other-warm-up.json", &record);
    record["settings"]["frames"] = json!(256);
    write(folder.path(), "other-frames.json", &record);

    let site = Site::of(&[folder.path()]);
    let trends = site.page("trends.html");
    assert!(trends.contains("1 session with more than one record"), "{trends}");
    let (trend, single) = trends.split_once("Benched once").unwrap();
    assert!(trend.contains("<svg") && trend.contains("block time, 99 % quantile"));
    assert!(single.contains("256 frames at"), "{single}");
    let steps: Vec<&str> =
        trend.split("<ul class=\"plain breaks\">").nth(1).unwrap().split("<li>").collect();
    assert_eq!(steps.len(), 4);
    assert!(steps[1].contains("no difference shown"), "{}", steps[1]);
    assert!(steps[2].contains("differ"), "{}", steps[2]);
    assert!(steps[3].contains("warm-up blocks") && !steps[3].contains("href"), "{}", steps[3]);

    let changes: Vec<String> =
        site.pages().into_iter().filter(|name| name.starts_with("change-to-")).collect();
    assert_eq!(changes.len(), 2);
    let differs = changes.iter().filter(|name| site.page(name).contains(">differs<")).count();
    assert_eq!(differs, 1, "one of two is a difference");
    // The figures of any two are there, and a verdict only of those that were judged.
    let compare = site.page("compare.html");
    let (_, data) = compare.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    assert_eq!(data["records"].as_array().unwrap().len(), 5);
    let pairs = data["pairs"].as_array().unwrap();
    assert_eq!(pairs.iter().filter(|pair| pair["verdicts"].is_object()).count(), 2);
    assert_eq!(pairs.iter().filter(|pair| pair["why"].is_string()).count(), 1);
}

/// A run of the lab that is exported, also as one of another machine; the name of its own processor.
fn export(folder: &Path) -> String {
    let lab = results().join("lab-quick-2cpu-vm.sqlite").display().to_string();
    let ran = run(&["lab", "report", "--records", &lab, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let mut run: Value = serde_json::from_str(&ran.out).unwrap();
    write(folder, "same-run.json", &run);
    let own = run["meta"]["machine"]["facts"]["cpu_model"]["value"].as_str().unwrap().to_string();
    run["uuid"] = json!("0123456789abcdef0123456789abcdef");
    run["meta"]["machine"]["facts"]["cpu_model"]["value"] = json!("Another Processor");
    write(folder, "other-machine.json", &run);
    own
}

#[test]
fn capacity_of_several_machines_is_on_one_plot() {
    let folder = tempfile::tempdir().unwrap();
    let own = export(folder.path());
    let lab = results().join("lab-quick-2cpu-vm.sqlite");
    let site = Site::of(&[&lab, folder.path()]);
    let page = site.page("capacity.html");
    assert!(page.contains("2 machines with a capacity curve"), "{page}");
    let pictures = page.matches("<figure").count();
    assert_eq!(pictures, 1);
    let (_, legend) = page.split_once("class=\"legend\"").unwrap();
    let legend = legend.split("</ul>").next().unwrap();
    assert!(legend.contains("Another Processor") && legend.contains(&own), "{legend}");
    // What is in the record file is no second run.
    let index = site.page("index.html");
    assert!(index.contains("same-run.json") && index.contains("the same record as"), "{index}");
    assert!(site.only("lab-export-").contains("An export"));
}

#[test]
fn pages_of_traces_come_along() {
    let (folder, session) = one_track("");
    let trace = folder.path().join("trace.html").display().to_string();
    let ran = run(&["trace", &session, "--length", "0.2", "-o", &trace]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let site = Site::of(&[folder.path()]);
    let index = site.page("index.html");
    let link = values(&index, "href").into_iter().find(|link| link.starts_with("trace-try-"));
    let copy = site.page(link.expect("a link to the trace"));
    assert_eq!(copy, std::fs::read_to_string(&trace).unwrap());
    // Pages of records are no traces.
    assert!(!index.contains("index.html</"));
    assert!(!index.contains("Incomplete"), "{index}");
}

/// A disk that was full, or a copy that was interrupted.
#[test]
fn traces_that_were_cut_off_are_listed_as_incomplete() {
    let (folder, session) = one_track("");
    let trace = folder.path().join("trace.html");
    let ran = run(&["trace", &session, "--length", "0.2", "-o", trace.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = std::fs::read(&trace).unwrap();
    let end = page.len() - "</html>".len();
    let text = std::str::from_utf8(&page).unwrap();
    let after_style = text.find("<style>").unwrap() + 100;
    // Within a character, too.
    let (before, wide) = text.char_indices().rfind(|(_, c)| !c.is_ascii()).unwrap();
    for length in [end, after_style, before + wide.len_utf8() - 1] {
        std::fs::write(&trace, &page[..length]).unwrap();
        let index = Site::of(&[folder.path()]).page("index.html");
        let (_, listed) = index.split_once("<h2>Traces</h2>").unwrap();
        assert!(
            listed.contains("trace-try-") && listed.contains("Incomplete"),
            "{length}: {listed}"
        );
    }
}

/// Whatever `-o` names, there is one error, and it is about the record.
#[test]
fn a_record_file_of_the_lab_alone_is_refused_with_the_command_that_shows_it() {
    let lab = measured().display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str| folder.path().join(name).display().to_string();
    let there = to("");
    let shown = format!("hocket lab report --records {lab} -o PAGE");
    for output in [vec![], vec!["-o", there.as_str()], vec!["-o", &to("one")]] {
        let args = [&["report", lab.as_str()], &output[..]].concat();
        check_refused(&args, 2, &["record file of the lab", &shown, "makes a site"]);
        assert!(files(folder.path()).is_empty(), "{output:?}");
    }
}

#[test]
fn a_folder_that_is_no_site_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let records = results().display().to_string();
    std::fs::create_dir(at("full")).unwrap();
    std::fs::write(at("full/mine.txt"), "mine").unwrap();
    let to = at("full");
    check_refused(
        &["report", &records, "-o", &to],
        2,
        &["no site of Hocket", "nothing was changed"],
    );
    assert_eq!(files(Path::new(&to)), ["mine.txt"]);
    // An index.html of somebody else.
    std::fs::write(at("full/index.html"), "<p>mine</p>").unwrap();
    check_refused(&["report", &records, "-o", &to], 2, &["no site of Hocket", "--force"]);
    assert_eq!(std::fs::read_to_string(at("full/index.html")).unwrap(), "<p>mine</p>");
    // A page of Hocket that is no site's.
    let record = results().join("bench-band-2cpu-vm.json").display().to_string();
    let ran = run(&["report", &record, "-o", &at("pages/index.html")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let page = std::fs::read(at("pages/index.html")).unwrap();
    check_refused(&["report", &records, "-o", &at("pages")], 2, &["no site of Hocket"]);
    assert_eq!(std::fs::read(at("pages/index.html")).unwrap(), page);
    check_refused(&["report", &records, "-o", "-"], 2, &["standard output", "another folder"]);
    assert!(!Path::new("-").exists());
    check_refused(&["report", &to, "-o", &to], 2, &["read from this folder"]);
    check_refused(&["report", &records, "-o", &at("full/mine.txt")], 2, &["a site is a folder"]);
    check_refused(
        &["report", &at("none"), &records, "-o", &at("new")],
        2,
        &["no such file or folder"],
    );
    check_refused(&["report", &records, "--svg", &at("a.svg")], 2, &["a picture is of one record"]);
    assert!(!Path::new(&at("new")).exists() && !Path::new(&at("a.svg")).exists());
    let ran = hocket(&["report", "--serve=0"]).current_dir(folder.path()).output().unwrap();
    let ran = Ran::from(ran);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("no folder out here"), "{}", ran.err);
}

#[test]
fn an_unfinished_site_is_made_anew_and_pages_of_others_stay() {
    let records = tempfile::tempdir().unwrap();
    let record = results().join("bench-band-2cpu-vm.json");
    std::fs::copy(record, records.path().join("band.json")).unwrap();
    let site = Site::of(&[records.path()]);
    std::fs::remove_file(site.path("index.html")).unwrap();
    let records = records.path().display().to_string();
    let args = ["report", &records, "-o", &site.path("").display().to_string()];
    let again = run(&args);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(site.path("index.html").exists());
    std::fs::write(site.path("trends.html"), "<p>mine</p>").unwrap();
    check_refused(&args, 2, &["did not write", "--force"]);
    assert_eq!(site.page("trends.html"), "<p>mine</p>");
}

/// What a server answers to these bytes.
fn ask(address: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(crate::json_run::PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_site_is_served_here_alone_and_ends_with_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site").display().to_string();
    std::fs::write(folder.path().join("secret.html"), "secret").unwrap();
    let record = results().join("bench-band-2cpu-vm.json").display().to_string();
    let mut command = hocket(&["report", &record, "-o", &site, "--serve=0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "it never serves");
        if let Some(url) = line.strip_prefix("site: http://") {
            break url.split('/').next().unwrap().to_string();
        }
    };
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let get =
        |line: &str, host: &str| ask(&address, &format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let index = std::fs::read_to_string(folder.path().join("site/index.html")).unwrap();
    let answer = get("GET /", &address);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(&index), "{answer}");
    assert!(get("HEAD /trends.html", &address).ends_with("\r\n\r\n"));
    for path in ["/../secret.html", "/..%2fsecret.html", "/site/index.html", "/secret.html"] {
        let answer = get(&format!("GET {path}"), &address);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
    assert!(get("POST /", &address).starts_with("HTTP/1.1 405 "));
    assert!(get("GET /", "evil.example").starts_with("HTTP/1.1 403 "));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
