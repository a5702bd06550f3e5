//! Ports, edges, inputs, outputs and feedback: what the calls refuse, and what a block holds.

use super::*;
use hocket_c::graph_ports::*;
use hocket_c::ports::*;

const FRAMES: usize = 64;

fn edge(from: u32, to: u32) -> Edge {
    Edge {
        from,
        to,
        gain_lin: 1.0,
        port: HOCKET_PORT_MAIN,
        channels: 0,
        from_channel: 0,
        to_channel: 0,
    }
}

fn processor(process: ProcessFn, latency_frames: u32) -> Processor {
    Processor { process, cost: 1.0, latency_frames, ..Processor::default() }
}

/// A graph that the test frees or starts.
struct Draft(*mut Graph);

impl Draft {
    fn new() -> Draft {
        Draft(hocket_graph_new())
    }

    fn sum(&self) -> u32 {
        // SAFETY: told.
        unsafe { hocket_graph_add_node(self.0, c"sum".as_ptr(), null(), null_mut()) }
    }

    fn node(&self, name: &CStr, processor: &Processor) -> u32 {
        // SAFETY: told.
        unsafe { hocket_graph_add_node(self.0, name.as_ptr(), processor, null_mut()) }
    }

    fn input(&self, number: u16, channels: u32) -> (u32, String) {
        let name = c"in".as_ptr();
        // SAFETY: told.
        told(|error| unsafe { hocket_graph_add_input(self.0, name, number, channels, error) })
    }

    fn ports(&self, node: u32, main: u32, side_chain: u32, extra: u32) -> String {
        let ports = Ports { main, side_chain, extra };
        // SAFETY: told.
        told(|error| unsafe { hocket_graph_set_ports(self.0, node, &ports, error) }).1
    }

    fn connect(&self, edge: Edge) -> String {
        // SAFETY: told.
        told(|error| unsafe { hocket_graph_connect(self.0, &edge, error) }).1
    }

    fn feed_back(&self, edge: Edge) -> String {
        // SAFETY: told.
        told(|error| unsafe { hocket_graph_feed_back(self.0, &edge, error) }).1
    }

    fn outputs(&self, nodes: &[u32]) -> String {
        let (first, count) = (nodes.as_ptr(), nodes.len());
        // SAFETY: told.
        told(|error| unsafe { hocket_graph_set_outputs(self.0, first, count, error) }).1
    }

    fn start(self) -> (*mut Engine, String) {
        // SAFETY: told.
        told(|error| unsafe { hocket_engine_start_graph(self.0, &settings(), error) })
    }

    fn free(self) {
        // SAFETY: told.
        unsafe { hocket_graph_free(self.0) }
    }
}

fn read(engine: *const Engine, output: u32, channels: usize) -> (Status, Vec<[f32; FRAMES]>) {
    let mut rows = vec![[0.0; FRAMES]; channels];
    let pointers: Vec<*mut f32> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
    let count = channels as u32;
    // SAFETY: told.
    let status = unsafe {
        hocket_engine_read_output(engine, output, pointers.as_ptr(), count, FRAMES as u32)
    };
    (status, rows)
}

fn write(engine: *const Engine, input: u16, rows: &[[f32; FRAMES]]) -> Status {
    let pointers: Vec<*const f32> = rows.iter().map(|row| row.as_ptr()).collect();
    let (first, count) = (pointers.as_ptr(), rows.len() as u32);
    // SAFETY: told.
    unsafe { hocket_engine_write_input(engine, input, first, count, FRAMES as u32) }
}

fn run(engine: *const Engine) -> Status {
    // SAFETY: told.
    unsafe { hocket_engine_run(engine, FRAMES as u32, hocket_now_ns(), null_mut()) }
}

fn stop(engine: *mut Engine) {
    // SAFETY: told.
    assert_eq!(unsafe { hocket_engine_stop(engine) }, Status::Ok);
}

#[test]
fn ports_that_no_node_can_have_are_refused_and_change_nothing() {
    let draft = Draft::new();
    let (sum, plays) = (draft.sum(), draft.node(c"plays", &processor(Some(ones), 0)));
    // SAFETY: told.
    let effect = unsafe {
        let (name, none) = (c"compressor".as_ptr(), null_mut());
        hocket_graph_add_effect(draft.0, name, name, null(), 0, none)
    };
    assert!(draft.ports(sum, 0, 0, 0).contains("1 to 64"));
    assert!(draft.ports(sum, 65, 0, 0).contains("1 to 64"));
    assert!(draft.ports(plays, 2, u32::MAX, 0).contains("1 to 64"));
    assert!(draft.ports(sum, 2, 1, 0).contains("one port"));
    assert!(draft.ports(sum, 2, 0, 1).contains("one port"));
    assert!(draft.ports(effect, 6, 0, 0).contains("stereo"));
    assert!(draft.ports(effect, 2, 3, 0).contains("stereo"));
    assert!(draft.ports(9, 2, 0, 0).contains("no node 9"));
    assert_eq!(draft.ports(effect, 2, 1, 0), "");
    assert_eq!(draft.ports(plays, 64, 64, 64), "");
    assert_eq!(draft.ports(sum, 64, 0, 0), "");
    assert_eq!(draft.connect(edge(sum, plays)), "");
    assert!(draft.ports(plays, 63, 0, 0).contains("do not fit"), "an edge needs 64");
    assert_eq!(draft.ports(plays, 64, 0, 0), "");
    // SAFETY: told.
    let (status, text) =
        told(|error| unsafe { hocket_graph_set_ports(draft.0, sum, null(), error) });
    assert!(status == Status::BadInput && text.contains("ports is NULL"), "{text}");
    draft.free();
}

#[test]
fn edges_that_do_not_fit_are_refused_with_both_names() {
    let draft = Draft::new();
    let (six, stereo) = (draft.sum(), draft.sum());
    assert_eq!(draft.ports(six, 6, 0, 0), "");
    assert!(draft.connect(edge(six, stereo)).contains("do not fit"));
    for (channels, from_channel, to_channel) in
        [(3, 0, 0), (2, 5, 0), (2, 0, 1), (0, 1, 0), (u32::MAX, 0, 0), (1, u32::MAX, 0)]
    {
        let wrong = Edge { channels, from_channel, to_channel, ..edge(six, stereo) };
        assert!(draft.connect(wrong).contains("do not fit"), "{wrong:?}");
        assert!(draft.feed_back(wrong).contains("do not fit"), "{wrong:?}");
    }
    assert!(draft.connect(Edge { port: 3, ..edge(stereo, stereo) }).contains("edge.port of 3"));
    let aside = Edge { port: HOCKET_PORT_SIDE_CHAIN, ..edge(six, stereo) };
    assert!(draft.connect(aside).contains("no side chain"));
    // SAFETY: the graph lives, and the error may be null.
    let waits = |frames| unsafe { hocket_graph_set_feedback_frames(draft.0, frames, null_mut()) };
    assert_eq!([waits(1 << 22), waits(0)], [Status::Ok; 2]);
    assert_eq!(waits((1 << 22) + 1), Status::BadInput);
    assert!(draft.feed_back(Edge { gain_lin: f32::NAN, ..edge(stereo, stereo) }).contains("NaN"));
    assert!(draft.feed_back(edge(7, stereo)).contains("no node 7"));
    let own = draft.connect(edge(stereo, stereo));
    assert!(own.contains(": sum -> sum; close it with hocket_graph_feed_back"), "{own}");
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_graph_connect(draft.0, null(), null_mut()), Status::BadInput);
        assert_eq!(hocket_graph_feed_back(null_mut(), &edge(0, 1), null_mut()), Status::BadInput);
    }
    let (input, _) = draft.input(3, 2);
    assert!(draft.connect(edge(stereo, input)).contains("engine input"));
    for channels in [0, 65, u32::MAX] {
        let (node, text) = draft.input(0, channels);
        assert!(node == HOCKET_NO_NODE && text.contains("1 to 64"), "{text}");
    }
    draft.free();
}

#[test]
fn a_refused_cycle_is_named_with_all_its_nodes() {
    let draft = Draft::new();
    let names = [c"a", c"b", c"c", c"d", c"beside"];
    let [a, b, c, d, beside] = names.map(|name| draft.node(name, &processor(Some(ones), 0)));
    for (from, to) in [(a, b), (b, c), (c, d), (a, beside), (beside, d)] {
        assert_eq!(draft.connect(edge(from, to)), "");
    }
    let text = draft.connect(edge(d, b));
    let told =
        "node 'b' cannot read node 'd': it would be a cycle: b -> c -> d -> b; close it with";
    assert!(text.contains(told), "{text}");
    let short = draft.connect(edge(d, a));
    assert!(short.contains("cycle: a -> beside -> d -> a; close"), "the shortest: {short}");
    // Numbers need not rise along the signal.
    let last = draft.node(c"late", &processor(Some(ones), 0));
    assert_eq!(draft.connect(edge(last, a)), "");
    let back = draft.connect(edge(c, last));
    assert!(back.contains("cycle: late -> a -> b -> c -> late; close"), "{back}");
    assert_eq!(draft.connect(edge(d, c)).split("; ").count(), 2, "what was refused is not there");
    draft.free();
}

#[test]
fn outputs_exist_and_are_set_again_when_one_is_removed() {
    let draft = Draft::new();
    let (first, second) = (draft.sum(), draft.sum());
    assert!(draft.outputs(&[]).contains("at least one"));
    assert!(draft.outputs(&[first, 5]).contains("no node 5"));
    assert_eq!(draft.outputs(&[first, second]), "");
    // SAFETY: told.
    let removed = unsafe { hocket_graph_remove_node(draft.0, first, null_mut()) };
    assert_eq!(removed, Status::Ok);
    let (engine, text) = draft.start();
    assert!(engine.is_null() && text.contains("output 0 has been removed"), "{text}");
    let draft = Draft::new();
    draft.sum();
    draft.sum();
    let (engine, text) = draft.start();
    assert!(engine.is_null() && text.contains("does not lead to the output"), "{text}");
}

#[test]
fn only_inputs_and_outputs_that_there_are_can_be_written_and_read() {
    let draft = Draft::new();
    let (input, text) = draft.input(7, 2);
    assert_eq!(text, "");
    assert_eq!(draft.outputs(&[input, input]), "");
    let (engine, text) = draft.start();
    assert_eq!(text, "");
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_engine_input_channels(engine, 7), 2);
        assert_eq!(hocket_engine_input_channels(engine, 0), 0);
        assert_eq!(hocket_engine_input_channels(null(), 0), 0);
        let mut found = Output { main: 0, extra: 0, latency_frames: 9 };
        assert_eq!(hocket_engine_output(engine, 2, &mut found), Status::BadInput);
        assert_eq!(hocket_engine_output(engine, 0, null_mut()), Status::BadInput);
        assert_eq!(hocket_engine_output(null(), 0, &mut found), Status::BadInput);
        assert_eq!(found.latency_frames, 9, "nothing is written");
        assert_eq!(hocket_engine_output(engine, 1, &mut found), Status::Ok);
        assert_eq!((found.main, found.extra, found.latency_frames), (2, 0, 0));
        let rows = [null(), null()];
        let status = hocket_engine_write_input(engine, 7, rows.as_ptr(), 2, 1);
        assert_eq!(status, Status::BadInput, "rows of NULL");
        assert_eq!(hocket_engine_write_input(engine, 7, null(), 2, 1), Status::BadInput);
        assert_eq!(hocket_engine_write_input(engine, 7, null(), 0, 1), Status::Ok);
        let row = [0.0; 100];
        let rows = [row.as_ptr()];
        let status = hocket_engine_write_input(engine, 7, rows.as_ptr(), 1, 65);
        assert_eq!(status, Status::BadInput, "no block is that long");
        assert_eq!(hocket_engine_run(engine, 65, 0, null_mut()), Status::BadInput);
        assert_eq!(hocket_engine_run(null(), 1, 0, null_mut()), Status::BadInput);
    }
    assert_eq!(write(engine, 0, &[[1.0; FRAMES]]), Status::BadInput, "another input");
    assert_eq!(write(engine, 7, &[[1.0; FRAMES]; 3]), Status::BadInput, "a third channel");
    assert_eq!(write(engine, 7, &[[1.0; FRAMES], [2.0; FRAMES]]), Status::Ok);
    assert_eq!(run(engine), Status::Ok);
    assert_eq!(read(engine, 2, 1).0, Status::BadInput);
    assert_eq!(read(engine, 1, 3), (Status::BadInput, vec![[0.0; FRAMES]; 3]));
    assert_eq!(read(engine, 1, 2), (Status::Ok, vec![[1.0; FRAMES], [2.0; FRAMES]]));
    assert_eq!(run(engine), Status::Ok);
    assert_eq!(read(engine, 0, 1), (Status::Ok, vec![[0.0; FRAMES]]), "written for one block");
    stop(engine);
}

/// Adds the channels of the side chain to the main ones, and puts each channel's number into the extra ones.
unsafe extern "C" fn spreads(_: *mut c_void, block: *const Block) {
    // SAFETY: told; all rows have `frames` samples.
    unsafe {
        let block = &*block;
        assert!(block.time.is_null() && block.clock.is_null() && block.segment_count == 0);
        for channel in 0..block.main_count as usize {
            for frame in 0..block.frames as usize {
                for side in 0..block.side_chain_count as usize {
                    *(*block.main.add(channel)).add(frame) +=
                        *(*block.side_chain.add(side)).add(frame);
                }
            }
        }
        for channel in 0..block.extra_count as usize {
            let row = *block.extra.add(channel);
            (0..block.frames as usize).for_each(|frame| *row.add(frame) += channel as f32 + 1.0);
        }
        let mono = block.main_count == 1;
        assert_eq!(mono, block.right.is_null());
        assert_eq!(block.side_left.is_null(), block.side_chain_count == 0);
        if block.side_chain_count == 1 {
            assert_eq!(block.side_left, block.side_right);
        }
    }
}

#[test]
fn a_block_has_all_channels_of_all_ports() {
    for (main, side_chain, extra) in [(1, 0, 0), (1, 1, 1), (3, 2, 0), (2, 3, 2), (64, 64, 64)] {
        let draft = Draft::new();
        let (input, _) = draft.input(0, side_chain.max(1));
        let node = draft.node(c"spreads", &processor(Some(spreads), 0));
        assert_eq!(draft.ports(node, main, side_chain, extra), "");
        let aside = Edge { port: HOCKET_PORT_SIDE_CHAIN, ..edge(input, node) };
        if side_chain > 0 {
            assert_eq!(draft.connect(aside), "");
        }
        assert_eq!(draft.outputs(&[node]), "");
        let (engine, text) = draft.start();
        assert_eq!(text, "");
        let rows = vec![[0.5; FRAMES]; side_chain as usize];
        assert_eq!(write(engine, 0, &rows), Status::Ok);
        assert_eq!(run(engine), Status::Ok);
        let (status, rows) = read(engine, 0, (main + extra) as usize);
        assert_eq!(status, Status::Ok);
        let (played, more) = rows.split_at(main as usize);
        assert!(played.iter().all(|row| *row == [0.5 * side_chain as f32; FRAMES]));
        assert!(more.iter().zip(1..).all(|(row, number)| *row == [number as f32; FRAMES]));
        stop(engine);
    }
}

#[test]
fn a_mono_output_is_heard_on_both_sides() {
    let draft = Draft::new();
    let (input, _) = draft.input(0, 1);
    assert_eq!(draft.outputs(&[input]), "");
    let (engine, _) = draft.start();
    assert_eq!(write(engine, 0, &[[0.25; FRAMES]]), Status::Ok);
    // `process` compares both sides.
    assert_eq!(process(engine, 64), (Status::Ok, [0.25; FRAMES]));
    stop(engine);
}

/// Nothing, one latency later: only what it declares counts here.
unsafe extern "C" fn silence(_: *mut c_void, block: *const Block) {
    // SAFETY: told.
    unsafe {
        let rows = [(*block).left, (*block).right];
        let rows = rows.map(|row| std::slice::from_raw_parts_mut(row, (*block).frames as usize));
        rows.into_iter().for_each(|row| row.fill(0.0));
    }
}

#[test]
fn what_waits_at_a_sum_is_not_lost_when_the_graph_is_exchanged() {
    let draft = Draft::new();
    let (input, _) = draft.input(0, 2);
    let slow = draft.node(c"slow", &processor(Some(silence), 100));
    let sum = draft.sum();
    for edge in [edge(input, slow), edge(slow, sum), edge(input, sum)] {
        assert_eq!(draft.connect(edge), "");
    }
    let (engine, text) = draft.start();
    assert_eq!(text, "");
    let mut heard = Vec::new();
    for block in 0..4 {
        if block == 1 {
            // SAFETY: told.
            unsafe {
                let copy = hocket_engine_graph(engine, null_mut());
                let status = hocket_engine_exchange_graph_at_once(engine, copy, null_mut());
                assert_eq!(status, Status::Ok);
            }
        }
        let level = if block == 0 { 1.0 } else { 0.0 };
        assert_eq!(write(engine, 0, &[[level; FRAMES]; 2]), Status::Ok);
        heard.extend(process(engine, 64).1);
    }
    let expected: Vec<f32> =
        (0..4 * FRAMES).map(|frame| f32::from((100..164).contains(&frame))).collect();
    assert_eq!(heard, expected);
    stop(engine);
}

#[test]
fn feedback_goes_with_its_nodes_and_is_removed_like_an_edge() {
    let draft = Draft::new();
    let (input, _) = draft.input(0, 1);
    let echo = draft.sum();
    assert_eq!(draft.ports(echo, 1, 0, 0), "");
    assert_eq!(draft.connect(edge(input, echo)), "");
    assert_eq!(draft.feed_back(Edge { gain_lin: 0.5, ..edge(echo, echo) }), "");
    let (engine, text) = draft.start();
    assert_eq!(text, "");
    let levels: Vec<f32> = (0..5)
        .map(|block| {
            // SAFETY: told.
            let copy = unsafe { hocket_engine_graph(engine, null_mut()) };
            let removes = block == 4;
            // SAFETY: told.
            unsafe {
                let status = hocket_graph_remove_edge(copy, echo, echo, null_mut());
                assert_eq!(status, Status::Ok);
                if !removes {
                    let again = Edge { gain_lin: 0.5, ..edge(echo, echo) };
                    assert_eq!(hocket_graph_feed_back(copy, &again, null_mut()), Status::Ok);
                }
                let status = hocket_engine_exchange_graph_at_once(engine, copy, null_mut());
                assert_eq!(status, Status::Ok, "block {block}");
            }
            let level = if block == 0 { 1.0 } else { 0.0 };
            assert_eq!(write(engine, 0, &[[level; FRAMES]]), Status::Ok);
            process(engine, 64).1[63]
        })
        .collect();
    assert_eq!(levels, [1.0, 0.5, 0.25, 0.125, 0.0]);
    stop(engine);
}

#[test]
fn an_exchange_fades_and_frees_what_is_removed_afterwards() {
    let freed = AtomicI32::new(0);
    let user = (&raw const freed).cast_mut().cast();
    let draft = Draft::new();
    let plays = Processor { user, free: Some(count_free), ..processor(Some(ones), 0) };
    let (source, sum) = (draft.node(c"source", &plays), draft.sum());
    assert_eq!(draft.connect(edge(source, sum)), "");
    let (engine, text) = draft.start();
    assert_eq!(text, "");
    assert_eq!(process(engine, 64), (Status::Ok, [1.0; FRAMES]));
    // SAFETY: told.
    unsafe {
        let copy = hocket_engine_graph(engine, null_mut());
        assert_eq!(hocket_graph_remove_node(copy, source, null_mut()), Status::Ok);
        let status = hocket_engine_exchange_graph(engine, copy, null_mut());
        assert_eq!(status, Status::Ok);
    }
    let heard: Vec<f32> = (0..8).flat_map(|_| process(engine, 64).1).collect();
    assert_eq!(freed.load(Relaxed), 0, "it is still needed");
    let falls = heard.windows(2).map(|pair| pair[0] - pair[1]);
    assert!(falls.clone().all(|fall| (0.0..0.01).contains(&fall)), "{heard:?}");
    assert_eq!(process(engine, 64).1, [0.0; FRAMES]);
    // A thread of the engine frees it. A hang means that nobody does.
    while freed.load(Relaxed) == 0 {
        // SAFETY: told.
        unsafe { hocket_engine_is_settled(engine) };
        process(engine, 64);
        std::thread::yield_now();
    }
    assert_eq!(freed.load(Relaxed), 1);
    // SAFETY: told.
    unsafe {
        assert_eq!(hocket_engine_refused_fades(engine), 0);
        assert_eq!(hocket_engine_refused_fades(null()), 0);
        let status = hocket_engine_exchange_graph(engine, null_mut(), null_mut());
        assert_eq!(status, Status::BadInput);
    }
    stop(engine);
}
