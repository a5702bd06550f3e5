//! What goes in and what schedulers are given.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

fn hosts(text: &str) -> Result<Vec<Host>, FleetError> {
    Host::parse(Path::new("hosts"), text)
}

fn lab() -> LabJob {
    LabJob { experiments: vec!["aa".into()], full: false, time_s: Some(3.5), width_percent: 1.0 }
}

fn fleet(renders: bool) -> Fleet {
    Fleet {
        name: "hocket-lab".into(),
        folder: "/shared/my plan".into(),
        program: "/opt/hocket".into(),
        limit: Some(Duration::from_secs(601)),
        renders,
    }
}

#[test]
fn both_ways_of_naming_hosts_say_the_same() {
    let lines = hosts(
        "# the rack\nnode1\n\n  node2 cpus=0-3,8 partition=fast siblings=no hostname=a.lan # new\n",
    );
    let tables = hosts(
        "[[host]]\nname = 'node1'\n[[host]]\nname = 'node2'\ncpus = '0-3,8'\npartition = 'fast'\n\
         siblings = false\nhostname = 'a.lan'\n",
    );
    assert_eq!(lines, tables);
    let [first, second] = lines.unwrap().try_into().unwrap();
    assert!(first.siblings && first.cpus.is_none() && !second.siblings);
    assert_eq!(second.cpus.unwrap().to_string(), "0-3,8");
}

#[test]
fn what_is_wrong_with_hosts_is_told_with_its_place() {
    for (text, place, words) in [
        ("", "hosts: ", "no host"),
        ("a\na\n", "hosts:2:1: ", "twice"),
        ("a\n  b speed=3\n", "hosts:2:3: ", "'speed'"),
        ("a cpus=x", "hosts:1:1: ", "cpus 'x'"),
        ("a cpus", "hosts:1:1: ", "KEY=VALUE"),
        ("node[1-4]\n", "hosts:1:1: ", "TOML"),
        ("ok; rm -rf x\n", "hosts:1:1: ", "KEY=VALUE"),
        ("$(x)\n", "hosts:1:1: ", "no name"),
        ("../x\n", "hosts:1:1: ", "no name"),
        ("[[host]]\nname = 'a'\nspeed = 3\n", "hosts:3:1: ", "speed"),
        ("[[host]]\ncpus = '0'\n", "hosts:1:1: ", "name"),
        ("[[host]\n", "hosts:1:", "[[host]]"),
    ] {
        let told = hosts(text).expect_err(text).to_string();
        assert!(told.starts_with(place) && told.contains(words), "{text:?}: {told}");
    }
}

#[test]
fn jobs_come_back_as_they_were_and_differ_by_host() {
    let hosts = hosts("a cpus=0-1\nb hostname=b.lan\n").unwrap();
    let jobs: Vec<Job> = hosts.iter().map(|host| Job::lab(host, u64::MAX, lab())).collect();
    for job in &jobs {
        assert_eq!(Job::parse(Path::new("j"), &job.text()).as_ref(), Ok(job));
    }
    assert_ne!(jobs[0].seed, jobs[1].seed);
    assert_eq!(jobs[0], Job::lab(&hosts[0], u64::MAX, lab()));
    assert!(jobs[0].is_for("a") && jobs[0].is_for("A.some.where") && !jobs[0].is_for("ab"));
    assert!(jobs[1].is_for("b.lan") && jobs[1].is_for("b") && !jobs[1].is_for("b.wan"));
}

#[test]
fn jobs_that_say_nothing_or_nonsense_are_refused() {
    let good = Job::lab(&hosts("a").unwrap()[0], 1, lab()).text();
    for (from, to, words) in [
        ("hocket-job/1", "hocket-job/9", "hocket-job/9"),
        ("[lab]", "[lob]", "lob"),
        ("3.5", "1e9", "time_s"),
        ("host = ", "cpus = 'x'\nhost = ", "cpus 'x'"),
        ("seed = ", "seed = -", "integer"),
    ] {
        let told = Job::parse(Path::new("job.toml"), &good.replacen(from, to, 1));
        let told = told.expect_err(from).to_string();
        assert!(told.starts_with("job.toml") && told.contains(words), "{from}: {told}");
    }
}

#[test]
fn files_are_dealt_evenly_and_always_alike() {
    let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let dealt = shards(files(&["c", "a", "d", "b", "e"]), 2);
    assert_eq!(dealt, [files(&["a", "c", "e"]), files(&["b", "d"])]);
    assert_eq!(shards(files(&["e", "d", "c", "b", "a"]), 2), dealt);
    assert_eq!(shards(files(&["a"]), 3).iter().filter(|share| share.is_empty()).count(), 2);
}

#[test]
fn an_array_has_a_task_for_each_host_of_a_partition() {
    let hosts = hosts("a\nb partition=fast\nc\nd siblings=no\n").unwrap();
    let files = slurm::files(&fleet(true), &hosts);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["array-1.sbatch", "array-2.sbatch", "array-3.sbatch", "submit.sh"]);
    for (file, words) in [
        (0, &["--array=0-1\n", "--exclusive\n", "hosts=(a c)", "--time=11\n"][..]),
        (1, &["--array=0-0\n", "--partition=fast\n", "hosts=(b)"]),
        (2, &["--hint=nomultithread\n", "hosts=(d)"]),
        (3, &["submit '/shared/my plan/array-1.sbatch' \\\n  a \\\n  c\n"]),
    ] {
        let text = &files[file].1;
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    assert!(!files[0].1.contains("--hint"));
    // The lab has to see the siblings.
    assert!(slurm::files(&fleet(false), &hosts).iter().all(|(_, text)| !text.contains("--hint")));
}

#[test]
fn a_cluster_takes_arrays_of_a_thousand_tasks() {
    let many: String = (0..1001).map(|at| format!("n{at}\n")).collect();
    let files = slurm::files(&fleet(false), &hosts(&many).unwrap());
    assert_eq!(files.len(), 3);
    assert!(files[0].1.contains("--array=0-999\n") && files[1].1.contains("--array=0-0\n"));
}

/// The keys, and what stands behind them, as HyperQueue's manual describes its job definition file.
#[test]
fn hyperqueue_is_given_what_its_manual_describes() {
    let (name, text) = hyperqueue::files(&fleet(false), &hosts("a\nb-1.lan\n").unwrap()).remove(0);
    let file: toml::Table = text.parse().unwrap();
    assert_eq!((name.as_str(), file["name"].as_str()), ("hq.toml", Some("hocket-lab")));
    let tasks = file["task"].as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    let task = tasks[1].as_table().unwrap();
    let keys: Vec<&str> = task.keys().map(String::as_str).collect();
    let known = ["command", "cwd", "id", "request", "stderr", "stdout", "time_limit"];
    assert!(keys.iter().all(|key| known.contains(key)), "{keys:?}");
    assert!(task["command"].as_array().unwrap().iter().all(toml::Value::is_str));
    assert_eq!(task["time_limit"].as_str(), Some("601s"));
    let resources = task["request"][0]["resources"].as_table().unwrap();
    assert_eq!(resources["cpus"].as_str(), Some("all"));
    assert_eq!(resources["host/1"].as_integer(), Some(1));
    assert!(text.contains("#   on b-1.lan: hq worker start --resource \"host/1=sum(1)\"\n"));
}

#[test]
fn paths_that_schedulers_would_misread_are_refused() {
    assert_eq!(fleet(false).check(), Ok(()));
    for odd in ["/a%b", "/a'b", "/a\"b", "/a$b", "/a\nb"] {
        let fleet = Fleet { folder: odd.into(), ..fleet(false) };
        assert!(fleet.check().unwrap_err().to_string().contains("another way"), "{odd:?}");
    }
}
