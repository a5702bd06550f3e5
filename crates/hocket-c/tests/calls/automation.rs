//! Lanes of parameters: what the calls refuse, and what nodes and strips hear.

use super::*;
use hocket_c::automation::*;
use hocket_c::time::*;
use hocket_c::transport::*;

const FRAMES: usize = 64;

fn point(at: f64, value: f64, shape: u32) -> LanePoint {
    LanePoint { at, value, shape, curve: 0.0 }
}

fn lane(unit: u32, points: &[LanePoint]) -> Lane {
    Lane { points: points.as_ptr(), count: points.len(), unit, grid_frames: 0 }
}

/// Gives a parameter of a node a lane; returns the message.
fn automate(engine: *const Engine, node: u32, param: u32, lane: *const Lane) -> String {
    let lanes = [NodeLane { node, param, lane }];
    // SAFETY: told.
    let told =
        told(|error| unsafe { hocket_engine_automate_nodes(engine, lanes.as_ptr(), 1, error) });
    assert_eq!(told.0 == Status::Ok, told.1.is_empty());
    told.1
}

/// Plays the value of parameter 7, from the frame on at which it changes.
unsafe extern "C" fn level(user: *mut c_void, block: *const Block) {
    // SAFETY: told: `user` is a value that outlives the engine; the rows have `frames` samples.
    unsafe {
        let (value, block) = (&mut *user.cast::<f32>(), &*block);
        let rows = [block.left, block.right];
        let mut rows = rows.map(|row| std::slice::from_raw_parts_mut(row, block.frames as usize));
        rows.iter_mut().for_each(|row| row.fill(*value));
        for at in 0..block.event_count {
            let event = *block.events.add(at);
            if event.param == 7 {
                *value = event.value;
                rows.iter_mut().for_each(|row| row[event.frame as usize..].fill(*value));
            }
        }
    }
}

/// Plays so many blocks; returns the left channel.
fn play(engine: *const Engine, blocks: usize) -> Vec<f32> {
    (0..blocks).flat_map(|_| process(engine, FRAMES as u32).1).collect()
}

#[test]
fn lanes_that_cannot_be_are_refused_with_a_reason() {
    let mut value = 0.0_f32;
    // SAFETY: told.
    let (engine, limiter) = unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        let processor = Processor {
            user: (&raw mut value).cast(),
            process: Some(level),
            cost: 1.0,
            ..Processor::default()
        };
        let node = hocket_graph_add_node(graph, c"level".as_ptr(), &processor, none);
        let limiter =
            hocket_graph_add_effect(graph, c"lim".as_ptr(), c"limiter".as_ptr(), null(), 0, none);
        hocket_graph_add_edge(graph, node, limiter, 1.0, none);
        let sum = hocket_graph_add_node(graph, c"sum".as_ptr(), null(), none);
        hocket_graph_add_edge(graph, limiter, sum, 1.0, none);
        (hocket_engine_start_graph(graph, &settings(), none), limiter)
    };
    assert!(!engine.is_null());
    let good = [point(0.0, 1.0, HOCKET_SHAPE_LINEAR), point(1.0, 2.0, HOCKET_SHAPE_HOLD)];
    let steep = [LanePoint { curve: 21.0, ..point(0.0, 1.0, HOCKET_SHAPE_CURVE) }];
    let unsorted = [point(1.0, 1.0, 0), point(0.5, 1.0, 0)];
    for (lane, words) in [
        (lane(2, &good), "lane.unit of 2"),
        (lane(HOCKET_LANE_BEATS, &[]), "no points"),
        (lane(0, &[point(0.0, 0.0, 3)]), "point 0 has the shape 3"),
        (lane(0, &[good[0], point(f64::NAN, 0.0, 0)]), "point 1"),
        (lane(0, &[point(0.0, f64::INFINITY, 0)]), "point 0 has the value"),
        (lane(0, &steep), "the curve 21"),
        (lane(0, &unsorted), "sort them"),
        (Lane { points: null(), ..lane(0, &good) }, "lane.points is NULL"),
    ] {
        let text = automate(engine, 0, 7, &lane);
        assert!(text.contains(words), "{lane:?}: {text}");
    }
    let good = lane(HOCKET_LANE_SECONDS, &good);
    assert!(automate(engine, 9, 7, &good).contains("no node 9"));
    assert!(automate(engine, 2, 7, &good).contains("no node 2"), "it only sums");
    assert!(automate(engine, 0, 70_000, &good).contains("no parameter 70000"));
    assert!(automate(engine, limiter, 99, &good).contains("no parameter 99"));
    assert!(automate(null(), 0, 7, &good).contains("engine is NULL"));
    let mut seen = 0;
    // SAFETY: told.
    unsafe {
        let fixed = (0..).find(|index| {
            let mut param = std::mem::zeroed();
            hocket_effect_param(c"limiter".as_ptr(), *index, &mut param) && param.fixed
        });
        let text = automate(engine, limiter, fixed.unwrap() as u32, &good);
        assert!(text.contains("decides memory or latency"), "{text}");
        let text = told(|error| hocket_engine_automate_nodes(engine, null(), 1, error)).1;
        assert!(text.contains("lanes is NULL"), "{text}");
        let strip = StripLane {
            strip: c"master".as_ptr(),
            target: HOCKET_LANE_GAIN,
            effect: 0,
            name: null(),
            lane: &good,
        };
        let text = told(|error| hocket_engine_automate_strips(engine, &strip, 1, error)).1;
        assert!(text.contains("has no strips"), "{text}");
        let text = told(|error| hocket_engine_thinned_out(engine, None, null_mut(), error)).1;
        assert!(text.contains("each is NULL"), "{text}");
        let none = null_mut();
        let user = (&raw mut seen).cast();
        assert_eq!(hocket_engine_lost_events(engine, Some(add_lost), user, none), Status::Ok);
        assert_eq!(hocket_engine_thinned_out(engine, Some(add_lost), user, none), Status::Ok);
        assert_eq!(play(engine, 2), [0.0; 2 * FRAMES]);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
    assert_eq!(seen, 0_u64);
}

unsafe extern "C" fn add_lost(user: *mut c_void, lost: *const Lost) {
    // SAFETY: told.
    unsafe {
        assert!(!CStr::from_ptr((*lost).node).is_empty());
        *user.cast::<u64>() += (*lost).count;
    }
}

#[test]
fn a_lane_moves_a_parameter_frame_by_frame_and_can_be_exchanged_and_removed() {
    let mut value = -1.0_f32;
    let engine = engine(Some(level), (&raw mut value).cast());
    // From 0 to 640 in as many frames; 3 until frame 1280; then 5.
    let seconds = |frame: usize| frame as f64 / 48_000.0;
    let points = [
        point(0.0, 0.0, HOCKET_SHAPE_LINEAR),
        point(seconds(640), 640.0, HOCKET_SHAPE_HOLD),
        point(seconds(640), 3.0, HOCKET_SHAPE_HOLD),
        point(seconds(1280), 5.0, HOCKET_SHAPE_HOLD),
    ];
    assert_eq!(automate(engine, 0, 7, &lane(HOCKET_LANE_SECONDS, &points)), "");
    let heard = play(engine, 25);
    for (frame, heard) in heard.iter().enumerate() {
        let expected = match frame {
            0..640 => (frame / 32 * 32) as f32,
            640..1280 => 3.0,
            _ => 5.0,
        };
        assert!((heard - expected).abs() < 1e-3, "frame {frame}: {heard} is not {expected}");
    }
    // One beat is 24000 frames, and 12000 after the change of tempo. An edit wins until the lane's next value.
    let points = [point(0.0, 1.0, HOCKET_SHAPE_HOLD), point(0.2, 9.0, HOCKET_SHAPE_HOLD)];
    assert_eq!(automate(engine, 0, 7, &lane(HOCKET_LANE_BEATS, &points)), "");
    assert_eq!(play(engine, 1), [1.0; FRAMES]);
    let faster = [TempoPoint { beats: 0.0, bpm: 240.0, glides: false }];
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_engine_set_node(engine, 0, 7, 4.0, null_mut()), Status::Ok);
        assert_eq!(play(engine, 1), [4.0; FRAMES]);
        let map = hocket_tempo_map_new(48_000, faster.as_ptr(), 1, null(), 0, null_mut());
        assert_eq!(hocket_engine_set_tempo_map(engine, map, null_mut()), Status::Ok);
        hocket_tempo_map_free(map);
    }
    // 27 blocks have passed. The lanes in beats are made anew, and begin where the song is.
    let heard = play(engine, 23);
    let jump = 2400 - 27 * FRAMES;
    assert!(heard[..jump].iter().all(|heard| *heard == 1.0), "{heard:?}");
    assert!(heard[jump..].iter().all(|heard| *heard == 9.0), "{heard:?}");
    // Without a lane it stays.
    assert_eq!(automate(engine, 0, 7, null()), "");
    let start = Command { action: HOCKET_LOCATE, at_steady_frame: 0, frame: 0, end: 0 };
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_engine_transport(engine, &start, null_mut()), Status::Ok);
        assert_eq!(play(engine, 3), [9.0; 3 * FRAMES]);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

/// Counts the events of its blocks, and whether they come in order.
unsafe extern "C" fn count_events(user: *mut c_void, block: *const Block) {
    // SAFETY: told.
    unsafe {
        let block = &*block;
        let events = std::slice::from_raw_parts(block.events, block.event_count);
        assert!(events.is_sorted_by_key(|event| event.frame));
        assert!(events.iter().all(|event| event.value == event.value.round()), "{events:?}");
        *user.cast::<usize>() += events.len();
    }
}

#[test]
fn a_node_gets_all_values_of_many_lanes_and_what_it_has_no_room_for_is_counted() {
    const MANY: usize = 60;
    let mut count = 0_usize;
    let engine = engine(Some(count_events), (&raw mut count).cast());
    // A value for each frame.
    let ramp = [point(0.0, 0.0, HOCKET_SHAPE_LINEAR), point(1.0, 48_000.0, HOCKET_SHAPE_HOLD)];
    let steps = Lane { grid_frames: 1, ..lane(HOCKET_LANE_SECONDS, &ramp) };
    let lanes = |count: usize| -> Vec<NodeLane> {
        let lane = |param| NodeLane { node: 0, param, lane: &steps };
        (0..count as u32).map(lane).collect()
    };
    let mut lost = 0_u64;
    let user = (&raw mut lost).cast();
    // SAFETY: told.
    unsafe {
        let few = lanes(MANY);
        let set = hocket_engine_automate_nodes(engine, few.as_ptr(), few.len(), null_mut());
        assert_eq!(set, Status::Ok);
        let edit = hocket_last_edit();
        assert_eq!(process_any(engine), Status::Ok);
        assert_eq!(last_applied(engine), (edit, 0), "all lanes are one edit");
        assert_eq!(process_any(engine), Status::Ok);
        assert_eq!(count, 2 * MANY * FRAMES, "a value per lane and frame");
        let none = null_mut();
        assert_eq!(hocket_engine_thinned_out(engine, Some(add_lost), user, none), Status::Ok);
        assert_eq!(lost, 0);
        let more = lanes(2 * MANY);
        let set = hocket_engine_automate_nodes(engine, more.as_ptr(), more.len(), null_mut());
        assert_eq!(set, Status::Ok);
        count = 0;
        assert_eq!(process_any(engine), Status::Ok);
        assert_eq!(hocket_engine_thinned_out(engine, Some(add_lost), user, none), Status::Ok);
        assert!(count <= 4096 && count > 2048, "{count}");
        assert_eq!(count as u64 + lost, (2 * MANY * FRAMES) as u64);
        assert_eq!(hocket_engine_stop(engine), Status::Ok);
    }
}

/// The lanes of `sessions/automation.toml` that the test below sets by itself, and what stands there instead.
const WITHOUT: [(&str, &str); 4] = [
    (
        r#"    [[track.automation]]
    effect = "eq"
    parameter = "band1_freq_hz"
    points = [[2, 300, "curve", 3], [12, 9000]]
"#,
        "",
    ),
    (
        r#"[[4, -60, "hold"], [6, -60], [8, -6, "hold"], [12, -60, "hold"], [14, -60], [16, -6]]"#,
        "[[0, -60]]",
    ),
    (
        r#"    [[master.automation]]
    effect = "limiter"
    parameter = "bypass"
    time = "beats"
    points = [[0, 1, "hold"], [4, 0]]
"#,
        "    bypass = true\n",
    ),
    (
        r#"    [[master.automation]]
    parameter = "gain_db"
    points = [[16, 0], [20, -80]]
"#,
        "",
    ),
];

/// The session with the sounds of the repository.
fn session(folder: &tempfile::TempDir, text: &str) -> *mut Session {
    let sessions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions");
    let text = text.replace("\"audio/", &format!("\"{sessions}/audio/"));
    let path = folder.path().join("session.toml");
    std::fs::write(&path, text).unwrap();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: told.
    let (session, text) = told(|error| unsafe { hocket_session_load(path.as_ptr(), 0, error) });
    assert!(!session.is_null(), "{text}");
    session
}

#[test]
fn lanes_of_strips_sound_like_those_of_the_session_file() {
    const BLOCKS: usize = 14_000;
    let folder = tempfile::TempDir::new().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sessions/automation.toml");
    let whole = std::fs::read_to_string(path).unwrap();
    let mut without = whole.clone();
    for (lane, instead) in WITHOUT {
        assert!(without.contains(lane), "{path} has changed: {lane}");
        without = without.replace(lane, instead);
    }
    let settings = Settings { workers: 1, ..Settings { rate_hz: 0, ..settings() } };
    // SAFETY: told, for this test.
    unsafe {
        let [of_file, of_host] = [&whole, &without].map(|text| {
            let session = session(&folder, text);
            let (engine, text) = told(|error| hocket_engine_start(session, &settings, error));
            assert!(!engine.is_null(), "{text}");
            hocket_session_free(session);
            engine
        });
        let curve = |at, value| LanePoint { at, value, shape: HOCKET_SHAPE_CURVE, curve: 3.0 };
        let opens = [curve(2.0, 300.0), point(12.0, 9000.0, HOCKET_SHAPE_LINEAR)];
        let (held, ramp) = (HOCKET_SHAPE_HOLD, HOCKET_SHAPE_LINEAR);
        let echo = [
            point(4.0, -60.0, held),
            point(6.0, -60.0, ramp),
            point(8.0, -6.0, held),
            point(12.0, -60.0, held),
            point(14.0, -60.0, ramp),
            point(16.0, -6.0, ramp),
        ];
        let bypass = [point(0.0, 1.0, held), point(4.0, 0.0, ramp)];
        let end = [point(16.0, 0.0, ramp), point(20.0, -80.0, ramp)];
        let opens = lane(HOCKET_LANE_SECONDS, &opens);
        let echo = lane(HOCKET_LANE_SECONDS, &echo);
        let bypass = lane(HOCKET_LANE_BEATS, &bypass);
        let end = lane(HOCKET_LANE_SECONDS, &end);
        let of = |strip: &'static CStr, target, effect, name: &'static CStr, lane| StripLane {
            strip: strip.as_ptr(),
            target,
            effect,
            name: name.as_ptr(),
            lane,
        };
        let lanes = [
            of(c"bass", HOCKET_LANE_PARAM, 1, c"band1_freq_hz", &opens),
            of(c"guitar", HOCKET_LANE_SEND, 0, c"echo", &echo),
            of(c"master", HOCKET_LANE_BYPASS, 0, c"", &bypass),
            of(c"master", HOCKET_LANE_GAIN, 0, c"", &end),
        ];
        let set = told(|e| hocket_engine_automate_strips(of_host, lanes.as_ptr(), lanes.len(), e));
        assert_eq!(set.1, "");
        let mut loudest = 0.0_f32;
        for block in 0..BLOCKS {
            let [heard, expected] = [of_host, of_file].map(|engine| process_both(engine));
            assert!(heard == expected, "block {block}");
            let peak = expected.iter().flatten().fold(0.0, |peak: f32, it| peak.max(it.abs()));
            loudest = loudest.max(peak);
        }
        assert!(loudest > 0.05, "{loudest}");

        let none = lane(HOCKET_LANE_SECONDS, &[]);
        for (wrong, words) in [
            (of(c"nobody", HOCKET_LANE_GAIN, 0, c"", &end), "no strip 'nobody'"),
            (of(c"bass", 6, 0, c"", &end), "lane.target of 6"),
            (of(c"bass", HOCKET_LANE_PARAM, 2, c"q", &end), "no effect at place 2"),
            (of(c"bass", HOCKET_LANE_PARAM, 1, c"q", &end), "no parameter 'q'"),
            (of(c"bass", HOCKET_LANE_SEND, 0, c"echo", &end), "does not send to 'echo'"),
            (of(c"voice", HOCKET_LANE_SEND, 0, c"hall", &end), "lanes of sends"),
            (of(c"bass", HOCKET_LANE_BYPASS, 7, c"", &end), "no effect at place 7"),
            (of(c"bass", HOCKET_LANE_MUTE, 0, c"", &none), "no points"),
        ] {
            let told = told(|error| hocket_engine_automate_strips(of_host, &wrong, 1, error));
            assert!(told.0 == Status::BadInput && told.1.contains(words), "{words}: {}", told.1);
        }
        // Mute and pan, from the place where the song is.
        let now = [point(0.0, 1.0, held)];
        let now = lane(HOCKET_LANE_BEATS, &now);
        let lanes = [
            of(c"master", HOCKET_LANE_GAIN, 0, c"", null()),
            of(c"master", HOCKET_LANE_PAN, 0, c"", &now),
        ];
        let set = told(|e| hocket_engine_automate_strips(of_host, lanes.as_ptr(), 2, e));
        assert_eq!(set.1, "");
        assert_eq!(
            hocket_engine_set_gain(of_host, c"master".as_ptr(), 0.0, null_mut()),
            Status::Ok
        );
        (0..100).for_each(|_| assert_eq!(process_any(of_host), Status::Ok));
        let mut peaks = [0.0_f32; 2];
        for _ in 0..2_000 {
            for (peak, row) in peaks.iter_mut().zip(process_both(of_host)) {
                *peak = row.iter().fold(*peak, |peak, sample| peak.max(sample.abs()));
            }
        }
        assert!(peaks[0] < 1e-6 && peaks[1] > 1e-3, "hard right: {peaks:?}");
        let mute = of(c"master", HOCKET_LANE_MUTE, 0, c"", &now);
        assert_eq!(told(|error| hocket_engine_automate_strips(of_host, &mute, 1, error)).1, "");
        (0..100).for_each(|_| assert_eq!(process_any(of_host), Status::Ok));
        assert_eq!(process_both(of_host), [[0.0; FRAMES]; 2], "muted");
        for engine in [of_host, of_file] {
            assert_eq!(hocket_engine_stop(engine), Status::Ok);
        }
    }
}

/// Both channels of a block.
fn process_both(engine: *const Engine) -> [[f32; FRAMES]; 2] {
    let [mut left, mut right] = [[0.0; FRAMES]; 2];
    let (first, second) = (left.as_mut_ptr(), right.as_mut_ptr());
    // SAFETY: told.
    let status = unsafe { hocket_engine_process(engine, FRAMES as u32, first, second, null_mut()) };
    assert_eq!(status, Status::Ok);
    [left, right]
}
