//! Which events make which ratio, for each kind of core that Hocket knows.
//!
//! The codes are facts of the makers' documentation, as two collections list them: `intel/perfmon`, the files that Intel
//! publishes, at commit 6dadedf3aa48 of August 2026; and `tools/perf/pmu-events/arch/x86` in Linux, where AMD adds its own.
//! [`Core::source`] names the files. All events of a ratio are in one group, so they count at the same time.

use super::ratios::{Measure, Ratio, Sum};

/// An event that a core can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The maker's name for it, or the kernel's.
    pub name: &'static str,
    pub(super) code: Code,
}

/// How the kernel is asked for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// A code of the core's maker.
    Raw { event: u16, umask: u8, cmask: u8 },
    /// An event that the kernel knows on every processor.
    Hardware(u64),
    /// One of the kernel's events of caches.
    Cache(u64),
    /// What the kernel counts itself, on every machine.
    Software(u64),
}

/// Events that count at the same time, and what is made of them.
#[derive(Debug, PartialEq)]
pub struct Group {
    /// Its name in records.
    pub name: &'static str,
    /// The first one leads: the kernel wants `TOPDOWN.SLOTS` there.
    pub events: &'static [Event],
    /// Their ratios.
    pub ratios: &'static [Ratio],
}

/// A kind of core.
#[derive(Debug, PartialEq)]
pub struct Core {
    /// Its name in records.
    pub name: &'static str,
    /// The files that list its events.
    pub source: &'static str,
    /// Measured one after the other.
    pub groups: &'static [Group],
    /// What is not available here, and why.
    pub missing: &'static [(Measure, &'static str)],
}

/// A processor, as `/proc/cpuinfo` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model<'a> {
    pub vendor: &'a str,
    pub family: u32,
    pub model: u32,
}

impl Core {
    /// All that Hocket knows.
    pub const ALL: [&'static Core; 9] = [
        &GOLDEN_COVE,
        &LION_COVE,
        &SUNNY_COVE,
        &SKYLAKE,
        &GRACEMONT,
        &CRESTMONT,
        &ZEN_4,
        &ZEN_5,
        &ZEN_3,
    ];

    /// Events that the kernel counts, for threads on every kind of core. They have no ratios.
    pub const SOFTWARE: &'static Core = &SOFTWARE;

    /// The kind of core of this name.
    pub fn of_name(name: &str) -> Option<&'static Core> {
        Self::ALL.into_iter().chain([&ANY, &SOFTWARE]).find(|core| core.name == name)
    }

    /// The cores whose events the unit `pmu` counts. A processor that Hocket does not know has the kernel's own events.
    ///
    /// Models of Intel: `mapfile.csv` of `intel/perfmon`; of AMD: that of Linux.
    pub(super) fn of(model: Option<Model<'_>>, pmu: &str) -> &'static Core {
        let Some(Model { vendor, family, model }) = model else { return &ANY };
        match (vendor, family, model, pmu) {
            ("GenuineIntel", 6, 0x97 | 0x9a | 0xb7 | 0xba | 0xbf, "cpu_atom") => &GRACEMONT,
            ("GenuineIntel", 6, 0xbe, "cpu") => &GRACEMONT,
            ("GenuineIntel", 6, 0xaa | 0xac | 0xb5, "cpu_atom") => &CRESTMONT,
            ("GenuineIntel", 6, 0xc5, "cpu_lowpower") => &CRESTMONT,
            ("GenuineIntel", 6, 0xaf, "cpu") => &CRESTMONT,
            ("GenuineIntel", 6, 0xbd | 0xc5 | 0xc6, "cpu_core") => &LION_COVE,
            ("GenuineIntel", 6, 0x97 | 0x9a | 0xb7 | 0xba | 0xbf, "cpu_core" | "cpu") => {
                &GOLDEN_COVE
            }
            ("GenuineIntel", 6, 0xaa | 0xac | 0xb5, "cpu_core" | "cpu") => &GOLDEN_COVE,
            ("GenuineIntel", 6, 0x8f | 0xcf | 0xad | 0xae, "cpu") => &GOLDEN_COVE,
            ("GenuineIntel", 6, 0x7d | 0x7e | 0x6a | 0x6c | 0x8c | 0x8d | 0xa7, "cpu") => {
                &SUNNY_COVE
            }
            ("GenuineIntel", 6, 0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6 | 0x55, "cpu") => &SKYLAKE,
            ("AuthenticAMD", 25, 0x00..=0x0f | 0x20..=0x2f | 0x40..=0x5f, "cpu") => &ZEN_3,
            ("AuthenticAMD", 25, _, "cpu") => &ZEN_4,
            ("AuthenticAMD", 26, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f, "cpu") => &ZEN_5,
            _ => &ANY,
        }
    }
}

const fn raw(name: &'static str, event: u16, umask: u8) -> Event {
    Event { name, code: Code::Raw { event, umask, cmask: 0 } }
}

const fn ratio(measure: Measure, above: Sum, below: Sum) -> Ratio {
    Ratio { measure, above, below, note: None }
}

const fn noted(ratio: Ratio, note: &'static str) -> Ratio {
    Ratio { note: Some(note), ..ratio }
}

const ONLY_AMD: &str =
    "Intel's cores have no such event; `sibling active` says when the sibling ran";
const ONLY_INTEL: &str =
    "AMD's cores have no such event; `SMT contention` says what the sibling took";
const NO_SIBLING: &str = "this kind of core has no siblings";
const NO_WAIT_EVENTS: &str = "this kind of core has no event for it";

// ---- Intel --------------------------------------------------------------------------------------------------------

const CYCLES: Event = raw("CPU_CLK_UNHALTED.THREAD_P", 0x3c, 0x00);
const INSTRUCTIONS: Event = raw("INST_RETIRED.ANY_P", 0xc0, 0x00);
const UOPS: Event = raw("UOPS_RETIRED.SLOTS", 0xc2, 0x02);
const SCALAR: Event = raw("FP_ARITH_INST_RETIRED.SCALAR", 0xc7, 0x03);
const VECTOR: Event = raw("FP_ARITH_INST_RETIRED.VECTOR", 0xc7, 0xfc);
const STALLED: Event = Event {
    name: "CYCLE_ACTIVITY.STALLS_TOTAL",
    code: Code::Raw { event: 0xa3, umask: 0x04, cmask: 4 },
};
const L1_HIT: Event = raw("MEM_LOAD_RETIRED.L1_HIT", 0xd1, 0x01);
const L1_MISS: Event = raw("MEM_LOAD_RETIRED.L1_MISS", 0xd1, 0x08);
const FETCH_STALLS: Event = raw("ICACHE_DATA.STALLS", 0x80, 0x04);

/// What most ratios divide by.
const ALL_CYCLES: Sum = &[(1.0, "CPU_CLK_UNHALTED.THREAD_P")];
const ALL_INSTRUCTIONS: Sum = &[(1.0, "INST_RETIRED.ANY_P")];

const CPI: Ratio = ratio(Measure::CyclesPerInstruction, ALL_CYCLES, ALL_INSTRUCTIONS);
const PER_UOP: Ratio = ratio(Measure::CyclesPerUop, ALL_CYCLES, &[(1.0, "UOPS_RETIRED.SLOTS")]);
const FP: Ratio = noted(
    ratio(
        Measure::FloatingPoint,
        &[(1.0, "FP_ARITH_INST_RETIRED.SCALAR"), (1.0, "FP_ARITH_INST_RETIRED.VECTOR")],
        ALL_INSTRUCTIONS,
    ),
    "arithmetic instructions; a fused multiply-add counts twice",
);
const STALLS: Ratio =
    ratio(Measure::ExecutionStalls, &[(1.0, "CYCLE_ACTIVITY.STALLS_TOTAL")], ALL_CYCLES);
const L1D: Ratio = ratio(
    Measure::L1dMisses,
    &[(1.0, "MEM_LOAD_RETIRED.L1_MISS")],
    &[(1.0, "MEM_LOAD_RETIRED.L1_HIT"), (1.0, "MEM_LOAD_RETIRED.L1_MISS")],
);
const L1I: Ratio = ratio(Measure::L1iStalls, &[(1.0, "ICACHE_DATA.STALLS")], ALL_CYCLES);

const PIPELINE: Group = Group {
    name: "pipeline",
    events: &[CYCLES, INSTRUCTIONS, UOPS, SCALAR, VECTOR, STALLED],
    ratios: &[CPI, PER_UOP, FP, STALLS],
};
const CACHES: Group =
    Group { name: "caches", events: &[CYCLES, L1_HIT, L1_MISS, FETCH_STALLS], ratios: &[L1D, L1I] };

/// The four metrics share one register. Their sum is all slots, but for rounding.
const FOUR: Sum = &[
    (1.0, "topdown-retiring"),
    (1.0, "topdown-bad-spec"),
    (1.0, "topdown-fe-bound"),
    (1.0, "topdown-be-bound"),
];
/// Codes: `arch/x86/events/intel/core.c` in Linux, and `events/topdown-*` of the unit.
const TOP_DOWN: Group = Group {
    name: "top-down",
    events: &[
        raw("TOPDOWN.SLOTS", 0x00, 0x04),
        raw("topdown-retiring", 0x00, 0x80),
        raw("topdown-bad-spec", 0x00, 0x81),
        raw("topdown-fe-bound", 0x00, 0x82),
        raw("topdown-be-bound", 0x00, 0x83),
    ],
    ratios: &[
        ratio(Measure::FrontEndBound, &[(1.0, "topdown-fe-bound")], FOUR),
        ratio(Measure::BadSpeculation, &[(1.0, "topdown-bad-spec")], FOUR),
        ratio(Measure::BackEndBound, &[(1.0, "topdown-be-bound")], FOUR),
        ratio(Measure::Retiring, &[(1.0, "topdown-retiring")], FOUR),
    ],
};

/// Let a thread be alone in its core for `a` clocks, and beside an active sibling for `b`. ONE_THREAD_ACTIVE counts `a`.
/// REF_DISTRIBUTED counts `a + b/2`, because two active threads share the count. So `b / (a + b)` is
/// `2 (R - O) / (2 R - O)`.
const SIBLINGS: Group = Group {
    name: "siblings",
    events: &[
        raw("CPU_CLK_UNHALTED.REF_DISTRIBUTED", 0x3c, 0x08),
        raw("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0x3c, 0x02),
    ],
    ratios: &[ratio(
        Measure::SiblingActive,
        &[(2.0, "CPU_CLK_UNHALTED.REF_DISTRIBUTED"), (-2.0, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE")],
        &[(2.0, "CPU_CLK_UNHALTED.REF_DISTRIBUTED"), (-1.0, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE")],
    )],
};
const WAITING: Group = Group {
    name: "waiting",
    events: &[
        CYCLES,
        raw("CPU_CLK_UNHALTED.PAUSE", 0xec, 0x40),
        raw("CPU_CLK_UNHALTED.C01", 0xec, 0x10),
        raw("CPU_CLK_UNHALTED.C02", 0xec, 0x20),
    ],
    ratios: &[
        ratio(Measure::Pause, &[(1.0, "CPU_CLK_UNHALTED.PAUSE")], ALL_CYCLES),
        ratio(Measure::WaitC01, &[(1.0, "CPU_CLK_UNHALTED.C01")], ALL_CYCLES),
        ratio(Measure::WaitC02, &[(1.0, "CPU_CLK_UNHALTED.C02")], ALL_CYCLES),
    ],
};

static GOLDEN_COVE: Core = Core {
    name: "Golden Cove",
    source: "intel/perfmon: SPR, EMR, GNR, ADL (goldencove), MTL (redwoodcove)",
    groups: &[PIPELINE, CACHES, TOP_DOWN, SIBLINGS, WAITING],
    missing: &[(Measure::SmtContention, ONLY_AMD)],
};

static LION_COVE: Core = Core {
    name: "Lion Cove",
    source: "intel/perfmon: LNL, ARL (lioncove)",
    groups: &[
        Group {
            name: "pipeline",
            events: &[
                CYCLES,
                INSTRUCTIONS,
                UOPS,
                SCALAR,
                raw("FP_ARITH_INST_RETIRED.VECTOR", 0xc7, 0x3c),
                STALLED,
            ],
            ratios: &[CPI, PER_UOP, FP, STALLS],
        },
        Group { name: "fetching", events: &[CYCLES, FETCH_STALLS], ratios: &[L1I] },
        TOP_DOWN,
        WAITING,
    ],
    missing: &[
        (
            Measure::L1dMisses,
            "its first level has two parts, and the event files do not say which hits its events count",
        ),
        (Measure::SmtContention, NO_SIBLING),
        (Measure::SiblingActive, NO_SIBLING),
    ],
};

static SUNNY_COVE: Core = Core {
    name: "Sunny Cove",
    source: "intel/perfmon: ICL, ICX, TGL, RKL",
    groups: &[PIPELINE, CACHES, TOP_DOWN, SIBLINGS],
    missing: &[
        (Measure::SmtContention, ONLY_AMD),
        (Measure::Pause, NO_WAIT_EVENTS),
        (Measure::WaitC01, NO_WAIT_EVENTS),
        (Measure::WaitC02, NO_WAIT_EVENTS),
    ],
};

const NO_TOP_DOWN: &str =
    "beside an active sibling its formula needs the counts of both threads of a core";

static SKYLAKE: Core = Core {
    name: "Skylake",
    source: "intel/perfmon: SKL, SKX, CLX",
    groups: &[
        // Four counters beside the fixed ones while SMT is on.
        Group {
            name: "pipeline",
            events: &[
                CYCLES,
                INSTRUCTIONS,
                raw("UOPS_RETIRED.RETIRE_SLOTS", 0xc2, 0x02),
                SCALAR,
                VECTOR,
                STALLED,
            ],
            ratios: &[
                CPI,
                ratio(Measure::CyclesPerUop, ALL_CYCLES, &[(1.0, "UOPS_RETIRED.RETIRE_SLOTS")]),
                FP,
                STALLS,
            ],
        },
        Group {
            name: "caches",
            events: &[CYCLES, L1_HIT, L1_MISS, raw("ICACHE_16B.IFDATA_STALL", 0x80, 0x04)],
            ratios: &[
                L1D,
                ratio(Measure::L1iStalls, &[(1.0, "ICACHE_16B.IFDATA_STALL")], ALL_CYCLES),
            ],
        },
        Group {
            name: "siblings",
            events: &[
                raw("CPU_CLK_UNHALTED.REF_XCLK", 0x3c, 0x01),
                raw("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0x3c, 0x02),
            ],
            // REF_XCLK counts all clocks of the thread, whether its sibling is active or not.
            ratios: &[ratio(
                Measure::SiblingActive,
                &[(1.0, "CPU_CLK_UNHALTED.REF_XCLK"), (-1.0, "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE")],
                &[(1.0, "CPU_CLK_UNHALTED.REF_XCLK")],
            )],
        },
    ],
    missing: &[
        (Measure::FrontEndBound, NO_TOP_DOWN),
        (Measure::BadSpeculation, NO_TOP_DOWN),
        (Measure::BackEndBound, NO_TOP_DOWN),
        (Measure::Retiring, NO_TOP_DOWN),
        (Measure::SmtContention, ONLY_AMD),
        (Measure::Pause, NO_WAIT_EVENTS),
        (Measure::WaitC01, NO_WAIT_EVENTS),
        (Measure::WaitC02, NO_WAIT_EVENTS),
    ],
};

const SMALL_CYCLES: Sum = &[(1.0, "CPU_CLK_UNHALTED.CORE_P")];
const SMALL_CPI: Ratio = ratio(Measure::CyclesPerInstruction, SMALL_CYCLES, ALL_INSTRUCTIONS);
const SMALL_PER_UOP: Ratio =
    ratio(Measure::CyclesPerUop, SMALL_CYCLES, &[(1.0, "UOPS_RETIRED.ALL")]);
const SMALL_L1D: Ratio = ratio(
    Measure::L1dMisses,
    &[(1.0, "MEM_LOAD_UOPS_RETIRED.L1_MISS")],
    &[(1.0, "MEM_LOAD_UOPS_RETIRED.L1_HIT"), (1.0, "MEM_LOAD_UOPS_RETIRED.L1_MISS")],
);
const SMALL_PIPELINE: Group = Group {
    name: "pipeline",
    events: &[
        raw("CPU_CLK_UNHALTED.CORE_P", 0x3c, 0x00),
        INSTRUCTIONS,
        raw("UOPS_RETIRED.ALL", 0xc2, 0x00),
    ],
    ratios: &[SMALL_CPI, SMALL_PER_UOP],
};
/// The width of these cores differs, so a slot is what one of the four counts.
const SMALL_FOUR: Sum = &[
    (1.0, "TOPDOWN_RETIRING.ALL"),
    (1.0, "TOPDOWN_BAD_SPECULATION.ALL"),
    (1.0, "TOPDOWN_FE_BOUND.ALL"),
    (1.0, "TOPDOWN_BE_BOUND.ALL"),
];
const SMALL_TOP_DOWN: &[Ratio] = &[
    ratio(Measure::FrontEndBound, &[(1.0, "TOPDOWN_FE_BOUND.ALL")], SMALL_FOUR),
    ratio(Measure::BadSpeculation, &[(1.0, "TOPDOWN_BAD_SPECULATION.ALL")], SMALL_FOUR),
    ratio(Measure::BackEndBound, &[(1.0, "TOPDOWN_BE_BOUND.ALL")], SMALL_FOUR),
    ratio(Measure::Retiring, &[(1.0, "TOPDOWN_RETIRING.ALL")], SMALL_FOUR),
];
const NOT_ON_SMALL: &str = "Hocket knows no event of this kind of core for it";
const MISSING_ON_SMALL: &[(Measure, &str)] = &[
    (Measure::FloatingPoint, NOT_ON_SMALL),
    (Measure::L1iStalls, NOT_ON_SMALL),
    (Measure::ExecutionStalls, "this kind of core has no event for it; see `back end`"),
    (Measure::SmtContention, NO_SIBLING),
    (Measure::SiblingActive, NO_SIBLING),
    (Measure::Pause, NOT_ON_SMALL),
    (Measure::WaitC01, NOT_ON_SMALL),
    (Measure::WaitC02, NOT_ON_SMALL),
];

static GRACEMONT: Core = Core {
    name: "Gracemont",
    source: "intel/perfmon: ADL (gracemont)",
    groups: &[
        SMALL_PIPELINE,
        Group {
            name: "caches",
            events: &[
                raw("MEM_LOAD_UOPS_RETIRED.L1_HIT", 0xd1, 0x01),
                raw("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0xd1, 0x08),
            ],
            ratios: &[SMALL_L1D],
        },
        Group {
            name: "top-down",
            events: &[
                raw("TOPDOWN_RETIRING.ALL", 0xc2, 0x00),
                raw("TOPDOWN_BAD_SPECULATION.ALL", 0x73, 0x00),
                raw("TOPDOWN_FE_BOUND.ALL", 0x71, 0x00),
                raw("TOPDOWN_BE_BOUND.ALL", 0x74, 0x00),
            ],
            ratios: SMALL_TOP_DOWN,
        },
    ],
    missing: MISSING_ON_SMALL,
};

static CRESTMONT: Core = Core {
    name: "Crestmont",
    source: "intel/perfmon: MTL (crestmont), ARL (crestmont), SRF",
    groups: &[
        SMALL_PIPELINE,
        Group {
            name: "caches",
            events: &[
                raw("MEM_LOAD_UOPS_RETIRED.L1_HIT", 0xd1, 0x01),
                raw("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0xd1, 0x40),
            ],
            ratios: &[SMALL_L1D],
        },
        Group {
            name: "top-down",
            events: &[
                raw("TOPDOWN_RETIRING.ALL", 0x72, 0x00),
                raw("TOPDOWN_BAD_SPECULATION.ALL", 0x73, 0x00),
                raw("TOPDOWN_FE_BOUND.ALL", 0x71, 0x00),
                raw("TOPDOWN_BE_BOUND.ALL", 0x74, 0x00),
            ],
            ratios: SMALL_TOP_DOWN,
        },
    ],
    missing: MISSING_ON_SMALL,
};

// ---- AMD ----------------------------------------------------------------------------------------------------------

const ZEN_CYCLES: Event = raw("ls_not_halted_cyc", 0x76, 0x00);
const ZEN_INSTRUCTIONS: Event = raw("ex_ret_instr", 0xc0, 0x00);
const ZEN_OPS: Event = raw("ex_ret_ops", 0xc1, 0x00);
const ZEN_ACCESSES: Event = raw("ls_dispatch.all", 0x29, 0x07);

const ALL_ZEN_CYCLES: Sum = &[(1.0, "ls_not_halted_cyc")];
const ALL_ZEN_OPS: Sum = &[(1.0, "ex_ret_ops")];

const ZEN_CPI: Ratio =
    ratio(Measure::CyclesPerInstruction, ALL_ZEN_CYCLES, &[(1.0, "ex_ret_instr")]);
const ZEN_PER_UOP: Ratio = noted(
    ratio(Measure::CyclesPerUop, ALL_ZEN_CYCLES, ALL_ZEN_OPS),
    "macro-operations, which are what these cores retire",
);
const ZEN_L1D: Ratio = noted(
    ratio(Measure::L1dMisses, &[(1.0, "ls_dmnd_fills_from_sys.all")], &[(1.0, "ls_dispatch.all")]),
    "lines that loads and stores brought in, by loads and stores: several misses of one line count once",
);

const ZEN_PIPELINE: Group = Group {
    name: "pipeline",
    events: &[
        ZEN_CYCLES,
        ZEN_INSTRUCTIONS,
        ZEN_OPS,
        raw("fp_ops_retired_by_width.all", 0x08, 0x3f),
        raw("ex_no_retire.not_complete", 0xd6, 0x02),
    ],
    ratios: &[
        ZEN_CPI,
        ZEN_PER_UOP,
        noted(
            ratio(Measure::FloatingPoint, &[(1.0, "fp_ops_retired_by_width.all")], ALL_ZEN_OPS),
            "operations of the floating-point unit by macro-operations",
        ),
        noted(
            ratio(Measure::ExecutionStalls, &[(1.0, "ex_no_retire.not_complete")], ALL_ZEN_CYCLES),
            "cycles in which nothing retired because the oldest operation was not complete",
        ),
    ],
};

/// Groups whose ratios count slots: a cycle of these cores has `$width` of them, and `$slots` are all. With the width as threshold, the event of
/// the front end counts cycles in which it delivered nothing.
macro_rules! zen_slots {
    ($width:literal, $slots:ident, $nothing:literal) => {
        [
            ZEN_PIPELINE,
            Group {
                name: "caches",
                events: &[
                    ZEN_CYCLES,
                    ZEN_ACCESSES,
                    raw("ls_dmnd_fills_from_sys.all", 0x43, 0xff),
                    Event {
                        name: $nothing,
                        code: Code::Raw { event: 0x1a0, umask: 0x01, cmask: $width },
                    },
                ],
                ratios: &[
                    ZEN_L1D,
                    noted(
                        ratio(Measure::L1iStalls, &[(1.0, $nothing)], ALL_ZEN_CYCLES),
                        "cycles in which the front end delivered nothing, for whatever reason",
                    ),
                ],
            },
            Group {
                name: "top-down",
                events: &[
                    ZEN_CYCLES,
                    raw("de_no_dispatch_per_slot.no_ops_from_frontend", 0x1a0, 0x01),
                    raw("de_no_dispatch_per_slot.backend_stalls", 0x1a0, 0x1e),
                    raw("de_no_dispatch_per_slot.smt_contention", 0x1a0, 0x60),
                ],
                ratios: &[
                    ratio(
                        Measure::FrontEndBound,
                        &[(1.0, "de_no_dispatch_per_slot.no_ops_from_frontend")],
                        $slots,
                    ),
                    ratio(
                        Measure::BackEndBound,
                        &[(1.0, "de_no_dispatch_per_slot.backend_stalls")],
                        $slots,
                    ),
                    ratio(
                        Measure::SmtContention,
                        &[(1.0, "de_no_dispatch_per_slot.smt_contention")],
                        $slots,
                    ),
                ],
            },
            Group {
                name: "speculation",
                events: &[ZEN_CYCLES, ZEN_OPS, raw("de_src_op_disp.all", 0xaa, 0x07)],
                ratios: &[
                    ratio(
                        Measure::BadSpeculation,
                        &[(1.0, "de_src_op_disp.all"), (-1.0, "ex_ret_ops")],
                        $slots,
                    ),
                    ratio(Measure::Retiring, ALL_ZEN_OPS, $slots),
                ],
            },
        ]
    };
}

const MISSING_ON_ZEN: &[(Measure, &str)] = &[
    (Measure::SiblingActive, ONLY_INTEL),
    (Measure::Pause, NO_WAIT_EVENTS),
    (Measure::WaitC01, NO_WAIT_EVENTS),
    (Measure::WaitC02, NO_WAIT_EVENTS),
];

const SIX_SLOTS: Sum = &[(6.0, "ls_not_halted_cyc")];
const EIGHT_SLOTS: Sum = &[(8.0, "ls_not_halted_cyc")];

static ZEN_4: Core = Core {
    name: "Zen 4",
    source: "Linux, pmu-events/arch/x86/amdzen4: core, floating-point, cache, other, pipeline",
    groups: &zen_slots!(6, SIX_SLOTS, "de_no_dispatch_per_slot.no_ops_from_frontend/cmask=6"),
    missing: MISSING_ON_ZEN,
};

static ZEN_5: Core = Core {
    name: "Zen 5",
    source: "Linux, pmu-events/arch/x86/amdzen5: execution, floating-point, load-store, decode, pipeline",
    groups: &zen_slots!(8, EIGHT_SLOTS, "de_no_dispatch_per_slot.no_ops_from_frontend/cmask=8"),
    missing: MISSING_ON_ZEN,
};

const NO_SLOTS: &str = "this kind of core has no events of dispatch slots";

static ZEN_3: Core = Core {
    name: "Zen 3",
    source: "Linux, pmu-events/arch/x86/amdzen3: core, cache, memory",
    groups: &[
        Group {
            name: "pipeline",
            events: &[
                ZEN_CYCLES,
                ZEN_INSTRUCTIONS,
                ZEN_OPS,
                raw("ex_ret_mmx_fp_instr.sse_instr", 0xcb, 0x04),
            ],
            ratios: &[
                ZEN_CPI,
                ZEN_PER_UOP,
                noted(
                    ratio(
                        Measure::FloatingPoint,
                        &[(1.0, "ex_ret_mmx_fp_instr.sse_instr")],
                        &[(1.0, "ex_ret_instr")],
                    ),
                    "all SSE and AVX instructions, those that only move or compute integers too",
                ),
            ],
        },
        Group {
            name: "caches",
            events: &[
                ZEN_CYCLES,
                ZEN_ACCESSES,
                raw("ls_dmnd_fills_from_sys.all", 0x43, 0x5f),
                raw("ic_fetch_stall.ic_stall_any", 0x87, 0x04),
            ],
            ratios: &[
                ZEN_L1D,
                noted(
                    ratio(
                        Measure::L1iStalls,
                        &[(1.0, "ic_fetch_stall.ic_stall_any")],
                        ALL_ZEN_CYCLES,
                    ),
                    "also cycles in which fetching waits because later stages are full",
                ),
            ],
        },
    ],
    missing: &[
        (Measure::ExecutionStalls, NO_WAIT_EVENTS),
        (Measure::FrontEndBound, NO_SLOTS),
        (Measure::BadSpeculation, NO_SLOTS),
        (Measure::BackEndBound, NO_SLOTS),
        (Measure::Retiring, NO_SLOTS),
        (Measure::SmtContention, NO_SLOTS),
        (Measure::SiblingActive, ONLY_INTEL),
        (Measure::Pause, NO_WAIT_EVENTS),
        (Measure::WaitC01, NO_WAIT_EVENTS),
        (Measure::WaitC02, NO_WAIT_EVENTS),
    ],
};

// ---- any other processor ------------------------------------------------------------------------------------------

const UNKNOWN: &str =
    "the kernel has no event of its own for it, and Hocket does not know this processor's";

const KERNEL_CYCLES: Event = Event { name: "cpu-cycles", code: Code::Hardware(0) };

/// Only the kernel's own events, which it maps to each processor's where there is something alike.
static ANY: Core = Core {
    name: "generic",
    source: "Linux, include/uapi/linux/perf_event.h",
    groups: &[
        Group {
            name: "pipeline",
            events: &[KERNEL_CYCLES, Event { name: "instructions", code: Code::Hardware(1) }],
            ratios: &[ratio(
                Measure::CyclesPerInstruction,
                &[(1.0, "cpu-cycles")],
                &[(1.0, "instructions")],
            )],
        },
        Group {
            name: "stalls",
            events: &[
                KERNEL_CYCLES,
                Event { name: "stalled-cycles-backend", code: Code::Hardware(8) },
            ],
            ratios: &[noted(
                ratio(
                    Measure::ExecutionStalls,
                    &[(1.0, "stalled-cycles-backend")],
                    &[(1.0, "cpu-cycles")],
                ),
                "what the kernel's driver maps to stalled-cycles-backend",
            )],
        },
        // First-level data cache, reads: accesses and misses.
        Group {
            name: "caches",
            events: &[
                Event { name: "L1-dcache-loads", code: Code::Cache(0) },
                Event { name: "L1-dcache-load-misses", code: Code::Cache(1 << 16) },
            ],
            ratios: &[ratio(
                Measure::L1dMisses,
                &[(1.0, "L1-dcache-load-misses")],
                &[(1.0, "L1-dcache-loads")],
            )],
        },
    ],
    missing: &[
        (Measure::CyclesPerUop, UNKNOWN),
        (Measure::FloatingPoint, UNKNOWN),
        (Measure::L1iStalls, UNKNOWN),
        (Measure::FrontEndBound, UNKNOWN),
        (Measure::BadSpeculation, UNKNOWN),
        (Measure::BackEndBound, UNKNOWN),
        (Measure::Retiring, UNKNOWN),
        (Measure::SmtContention, UNKNOWN),
        (Measure::SiblingActive, UNKNOWN),
        (Measure::Pause, UNKNOWN),
        (Measure::WaitC01, UNKNOWN),
        (Measure::WaitC02, UNKNOWN),
    ],
};

// ---- The kernel itself ----------------------------------------------------------------------------------------------

const SOFTWARE: Core = Core {
    name: "software",
    source: "Linux, include/uapi/linux/perf_event.h",
    groups: &[Group {
        name: "software",
        events: &[
            Event { name: "task-clock", code: Code::Software(1) },
            Event { name: "page-faults", code: Code::Software(2) },
            Event { name: "context-switches", code: Code::Software(3) },
            Event { name: "cpu-migrations", code: Code::Software(4) },
        ],
        ratios: &[],
    }],
    missing: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static Core> {
        Core::ALL.into_iter().chain([&ANY])
    }

    #[test]
    fn every_core_gives_or_explains_every_measure() {
        for core in all() {
            let given = core.groups.iter().flat_map(|group| group.ratios).map(|it| it.measure);
            let missing = core.missing.iter().map(|(measure, _)| *measure);
            let mut found: Vec<Measure> = given.chain(missing).collect();
            for measure in Measure::ALL {
                let times = found.iter().filter(|it| **it == measure).count();
                assert_eq!(times, 1, "{} on {}", measure, core.name);
            }
            found.sort_by_key(|measure| Measure::ALL.iter().position(|it| it == measure));
            assert_eq!(found, Measure::ALL, "{}", core.name);
            assert_eq!(Core::of_name(core.name), Some(core));
        }
    }

    /// What counts at different times must not be divided by each other.
    #[test]
    fn the_events_of_a_ratio_are_in_its_group() {
        for group in all().flat_map(|core| core.groups) {
            for ratio in group.ratios {
                for name in ratio.events() {
                    let times = group.events.iter().filter(|event| event.name == name).count();
                    assert_eq!(times, 1, "{name} of {} in {}", ratio.measure, group.name);
                }
            }
        }
    }

    /// The smallest set of counters beside the fixed ones: four on Skylake with SMT and on Golden Cove's lower half, six
    /// on Zen. Fixed ones count cycles, instructions and slots with their metrics.
    #[test]
    fn a_group_fits_the_counters_of_its_core() {
        for core in all() {
            for group in core.groups {
                let zen = core.name.starts_with("Zen");
                let fixed = |event: &&Event| {
                    let Code::Raw { event: code, umask, .. } = event.code else { return false };
                    !zen && matches!((code, umask), (0x00, _) | (0x3c | 0xc0, 0x00))
                };
                let fixed = group.events.iter().filter(fixed).count();
                let least = if zen { 6 } else { 4 };
                assert!(group.events.len() - fixed <= least, "{} of {}", group.name, core.name);
            }
        }
    }

    #[test]
    fn the_model_and_the_unit_decide_which_events_are_meant() {
        let name =
            |vendor, family, model, pmu| Core::of(Some(Model { vendor, family, model }), pmu).name;
        assert_eq!(name("GenuineIntel", 6, 0x8f, "cpu"), "Golden Cove");
        assert_eq!(name("GenuineIntel", 6, 0xb7, "cpu_core"), "Golden Cove");
        assert_eq!(name("GenuineIntel", 6, 0xb7, "cpu_atom"), "Gracemont");
        assert_eq!(name("GenuineIntel", 6, 0xc5, "cpu_core"), "Lion Cove");
        assert_eq!(name("GenuineIntel", 6, 0xc5, "cpu_lowpower"), "Crestmont");
        // Its cores of this unit are of a kind without a table.
        assert_eq!(name("GenuineIntel", 6, 0xc5, "cpu_atom"), "generic");
        assert_eq!(name("GenuineIntel", 6, 0x6a, "cpu"), "Sunny Cove");
        assert_eq!(name("GenuineIntel", 6, 0x55, "cpu"), "Skylake");
        assert_eq!(name("AuthenticAMD", 25, 0x21, "cpu"), "Zen 3");
        assert_eq!(name("AuthenticAMD", 25, 0x11, "cpu"), "Zen 4");
        assert_eq!(name("AuthenticAMD", 25, 0x61, "cpu"), "Zen 4");
        assert_eq!(name("AuthenticAMD", 26, 0x44, "cpu"), "Zen 5");
        assert_eq!(name("AuthenticAMD", 26, 0x50, "cpu"), "generic");
        assert_eq!(name("AuthenticAMD", 23, 0x71, "cpu"), "generic");
        assert_eq!(Core::of(None, "armv8_pmuv3_0").name, "generic");
    }
}
