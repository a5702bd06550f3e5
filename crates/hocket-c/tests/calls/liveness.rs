//! What depends on live input.

use super::*;
use hocket_c::graph_ports::*;
use hocket_c::liveness::*;

fn live(graph: *const Graph) -> Vec<Live> {
    unsafe extern "C" fn push(user: *mut c_void, live: *const Live) {
        // SAFETY: told.
        unsafe { (*user.cast::<Vec<Live>>()).push(*live) }
    }
    let mut all = Vec::new();
    let user = (&raw mut all).cast();
    // SAFETY: told.
    let (status, text) =
        told(|error| unsafe { hocket_graph_liveness(graph, Some(push), user, error) });
    assert_eq!(status, Status::Ok, "{text}");
    all
}

#[test]
fn nodes_and_edges_behind_an_input_are_live_in_the_hosts_numbers() {
    // SAFETY: told, for this test.
    unsafe {
        let (graph, none) = (hocket_graph_new(), null_mut());
        let player = Processor { process: Some(ones), cost: 1.0, ..Processor::default() };
        // The mix is older than what it reads, so the engine has other numbers.
        let mix = hocket_graph_add_node(graph, c"mix".as_ptr(), &player, none);
        let plays = hocket_graph_add_node(graph, c"plays".as_ptr(), &player, none);
        let voice = hocket_graph_add_input(graph, c"voice".as_ptr(), 3, 2, none);
        assert_eq!(hocket_graph_add_edge(graph, plays, mix, 1.0, none), Status::Ok);
        assert_eq!(hocket_graph_add_side_chain(graph, voice, mix, 1.0, none), Status::Ok);
        let by_input = Live {
            node: voice,
            from: HOCKET_NO_NODE,
            port: HOCKET_PORT_MAIN,
            feedback: false,
            cause: HOCKET_LIVE_INPUT,
            number: 3,
        };
        let mixed = Live { node: mix, ..by_input };
        let key = Live { from: voice, port: HOCKET_PORT_SIDE_CHAIN, ..mixed };
        assert_eq!(live(graph), [by_input, mixed, key], "what plays is known ahead");

        let back = Edge {
            from: mix,
            to: plays,
            gain_lin: 0.5,
            port: HOCKET_PORT_MAIN,
            channels: 0,
            from_channel: 0,
            to_channel: 0,
        };
        assert_eq!(hocket_graph_feed_back(graph, &back, none), Status::Ok);
        let by_feedback =
            Live { node: plays, cause: HOCKET_LIVE_FEEDBACK, number: mix, ..by_input };
        let edge = Live { node: mix, from: plays, ..by_feedback };
        let again = Live { from: mix, feedback: true, ..by_feedback };
        let found = live(graph);
        assert_eq!(found.len(), 6, "{found:?}");
        for expected in [by_input, mixed, key, by_feedback, edge, again] {
            assert!(found.contains(&expected), "{expected:?} in {found:?}");
        }
        let nobody = hocket_graph_liveness(graph, None, null_mut(), none);
        assert_eq!(nobody, Status::BadInput);
        hocket_graph_free(graph);
    }
}
