//! The smallest host: one processor of its own, played block by block in real time. `cargo run --example small`
#![forbid(unsafe_code)]
use hocket_engine::{
    Block, Engine, Fusing, Graph, Node, NodeKind, Policy, Prepared, Processor, ScheduleKind,
    Seating, Settings, SiblingPolicy, Steer, Strategy, Topology, VirtualDevice,
};

struct Saw(f32);

impl Processor for Saw {
    fn process(&mut self, block: &mut Block<'_>) {
        for (left, right) in block.main.left.iter_mut().zip(block.main.right.iter_mut()) {
            self.0 = (self.0 + 0.01).fract();
            (*left, *right) = (self.0 - 0.5, 0.5 - self.0);
        }
    }
    fn reset(&mut self) {
        self.0 = 0.0;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (kind, name) = (NodeKind::Custom(0), "saw".to_owned());
    let mut graph = Graph::default();
    graph.add(Node {
        name,
        kind,
        inputs: vec![],
        cost: 1.0,
        latency_frames: 0,
        ports: Default::default(),
    })?;
    let prepared = Prepared::from_graph(&graph, vec![Some(Box::new(Saw(0.0)))], Fusing::Chains)?;
    let (schedule, sibling) = (ScheduleKind::Serial, SiblingPolicy::Off);
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let settings = Settings { steer: Steer::Auto, ..Settings::new(64, 48_000, policy) };
    let seating = Seating::here(&Topology::discover()?, policy.sibling, None)?;
    let mut engine = Engine::start(prepared, settings, seating)?;
    let (_leader, mut late) = (engine.enter(), 0);
    VirtualDevice::new(64, 48_000).run(&mut engine, 750, |times, engine| {
        late += u32::from(times.is_late());
        engine.output(64).left.iter().all(|sample| sample.abs() <= 0.5)
    });
    println!("750 blocks, {late} late");
    Ok(())
}
