// Hocket: a parallel real-time audio engine, for C and C++. MIT OR Apache-2.0.
//
// Made of the sources of hocket-c (cargo run -p xtask -- header); do not edit.
// docs/embedding.md tells the life of an engine, examples/c shows it.
//
// What every function asks of its caller, by the letters under "Safety":
//
// P  pointers: NULL where the function says that it may be, and otherwise to what the type says, for
//    as long as the call lasts. Text is UTF-8 and ends in a zero byte. Rows do not overlap.
// H  handles: from the function that makes them, and not yet given to the one that takes them back.
// X  exclusive end: while a handle is given back, no other call with it is running.
// G  one builder: a graph is used by one thread at a time.
// C  callbacks: they come back the ordinary way (no exception, no longjmp); process may be called on
//    any thread, never twice at once for one node.

#ifndef HOCKET_H
#define HOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Number of this interface: it grows when a function or a structure changes so that programs have to
// be compiled anew. `hocket_abi()` tells that of the library.
#define HOCKET_ABI 1

// `hocket_session_frames` of a session that has no end.
#define HOCKET_ENDLESS UINT64_MAX

// What `hocket_graph_add_node` and `hocket_graph_add_effect` return instead of an index when they fail.
#define HOCKET_NO_NODE UINT32_MAX

// How a call ended.
enum hocket_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Done.
    HOCKET_STATUS_OK = 0,
    // An argument, a file or a setting is wrong; the same call fails again.
    HOCKET_STATUS_BAD_INPUT = 2,
    // Not possible here: threads, rights or what the system tells of the machine.
    HOCKET_STATUS_NOT_POSSIBLE = 3,
    // Somebody else leads this engine at this moment, or the engine has more orders than it has
    // carried out: try again after a block.
    HOCKET_STATUS_BUSY = 4,
    // The call belongs to the thread that entered.
    HOCKET_STATUS_WRONG_THREAD = 5,
    // An error in Hocket itself; the handle may still be stopped or freed.
    HOCKET_STATUS_FAULT = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum hocket_status hocket_status;
#else
typedef int32_t hocket_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An engine that runs.
typedef struct hocket_engine hocket_engine;

// An error with its message. Functions that take `hocket_error **error` set it to NULL when they
// succeed and to a new error when they fail, which is to be freed; it may be NULL where the message
// is not wanted.
typedef struct hocket_error hocket_error;

// A graph in the making. Nodes are added in the order of computation, and the last one is the output.
// One thread at a time.
typedef struct hocket_graph hocket_graph;

// A session with its audio in memory. It never changes: several engines may be started from it, on
// several threads, and it may be freed as soon as they have been.
typedef struct hocket_session hocket_session;

// What is asked of an engine. Begin with `hocket_settings_for` and change what you need. The words are
// those of `hocket bench`.
typedef struct hocket_settings {
    // The largest block, 1 to 8192 frames.
    uint32_t frames;
    // Sample rate, 8000 to 384000 Hz; 0 stands for that of the session.
    uint32_t rate_hz;
    // Workers, the leader included; 0: as many as the policy has seats for.
    uint32_t workers;
    // SCHED_FIFO priority of leader, workers and guards, 1 to 99; 0: ordinary threads.
    uint32_t priority;
    // How units are dealt out: "serial", "lists", "dataflow", "steal", "critical".
    const char *schedule;
    // What may run beside a worker on its core: "off", "all", "process-affinity", "idle-thread",
    // "reserve-core", "pair-barrier", "cookie", "cookie-worker", "cookie-pair", "partition", "offline".
    const char *policy;
    // How workers wait inside a block: "spin", "pause", "yield", "tpause", "umwait", "mwaitx", "wfe",
    // "hybrid", "futex"; one that the CPU lacks is refused.
    const char *wait;
    // What happens to the schedule while costs are measured: "fixed", "costs", "auto"; NULL: "costs"
    // for the schedule "critical", otherwise "fixed".
    const char *steer;
    // How long "hybrid" spins inside a block before it blocks.
    uint64_t hybrid_spin_ns;
    // How long a worker that waits with "pause" or "hybrid" spins between blocks before it blocks.
    uint64_t gate_spin_ns;
    // How long before a planned block (`hocket_engine_expect_next`) a worker wakes itself; 0: it sleeps
    // until it is woken.
    uint64_t early_wake_ns;
    // How long a worker that woke itself spins past the planned time before it blocks after all.
    uint64_t leader_lateness_ns;
} hocket_settings;

// Processes one block in place: `frames` samples a row, 1.0 is full scale. What a node reads from others
// is already summed up in the rows; what it leaves there is its output.
//
// Thread: any worker, inside a block, one at a time for a node. It must not allocate, lock or call the
// system, and must give the same samples however the input is cut into blocks.
typedef void (*hocket_process_fn)(void *user, float *left, float *right, uint32_t frames);

// Called with a processor's `user`.
typedef void (*hocket_user_fn)(void *user);

// A processor of the host's.
typedef struct hocket_processor {
    // Handed to every call.
    void *user;
    // Processes a block; not NULL.
    hocket_process_fn process;
    // Forgets all history (delay lines, envelopes), keeps the parameters. Thread: the leader, between
    // blocks. NULL: there is none.
    hocket_user_fn reset;
    // The node is gone and `user` is no longer used. Thread: the one that stops the engine or frees the
    // graph. NULL: nothing to free.
    hocket_user_fn free;
    // Expected work in floating-point operations a frame; only ratios matter. More than 0.
    double cost;
    // How many frames the output lags behind the input.
    uint32_t latency_frames;
} hocket_processor;

// Times of one block, against its plan.
typedef struct hocket_block_times {
    // Number of the block since the engine started.
    uint64_t block;
    // The planned start, on the clock of `hocket_now_ns`.
    uint64_t signaled_ns;
    // From the planned start to the leader's awakening.
    uint64_t lateness_ns;
    // From the leader's awakening to the complete output.
    uint64_t duration_ns;
    // From the planned start to the deadline: the length of the block when played.
    uint64_t deadline_ns;
    // Time left before the deadline; negative: the block came too late.
    int64_t slack_ns;
    // From the leader's awakening to the last worker's that came; 0 where none was needed.
    uint64_t workers_awake_ns;
    // How long edits took that were carried out before the block, as a part of the duration.
    uint64_t orders_ns;
    // Edits and plans that were carried out before the block.
    uint32_t orders;
    // Workers that took part, the leader included.
    uint32_t workers;
} hocket_block_times;

// What an engine does at present, and what was expected of it.
typedef struct hocket_standing {
    // The schedule, ends in a zero byte.
    char schedule[16];
    // Workers that the plan needs.
    uint32_t workers;
    // Units of the plan.
    uint32_t units;
    // What a block of full length was expected to take; NaN where nothing had been measured.
    double expected_ns;
    // What it takes, as a running estimate; NaN before there is one.
    double measured_ns;
    // What the serial walk takes or took; NaN where it never ran.
    double serial_ns;
} hocket_standing;

// What a unit was measured to cost.
typedef struct hocket_unit_cost {
    // The unit; good until the callback returns.
    const char *unit;
    // Running estimate for a block of the engine's length.
    double ns;
    // Kind of the seat it ran on, 0 for the fastest.
    uint32_t kind;
    // Whether another worker of the engine was at work on the same core.
    bool sibling_busy;
} hocket_unit_cost;

// Called for each measured cost.
typedef void (*hocket_cost_fn)(void *user, const struct hocket_unit_cost *cost);

// What a thread of the engine asked for and what the system says it has. The texts are good until the
// callback returns.
typedef struct hocket_thread_report {
    // "leader", "worker 1", "guard of worker 0".
    const char *name;
    // The CPU it asked for; -1: none.
    int64_t cpu_asked;
    // The CPUs that the system reports for it.
    const char *cpus_got;
    // The scheduling class it asked for.
    const char *class_asked;
    // The class that the system reports.
    const char *class_got;
    // Why something was refused, with what would help; NULL: nothing was.
    const char *why;
} hocket_thread_report;

// Called for each thread.
typedef void (*hocket_report_fn)(void *user, const struct hocket_thread_report *report);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The interface's number in the library that is running; compare it with `HOCKET_ABI`.
//
// Thread: any. Cost: none.
uint32_t hocket_abi(void);

// Hocket's version, such as "0.1.0"; the library's own text, never to be freed.
//
// Thread: any. Cost: none.
const char *hocket_version(void);

// What an error says: place, cause and remedy, UTF-8, possibly several lines. It lives as long as the
// error. For NULL the empty text.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_error_text(const struct hocket_error *error);

// An error's status. For NULL `HOCKET_STATUS_OK`.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_error_status(const struct hocket_error *error);

// Frees an error; NULL is left alone.
//
// Thread: any but the leader. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_error_free(struct hocket_error *error);

// A status in words, for calls that have no message of their own; the library's own text, never to
// be freed. A number that is no status has words as well.
//
// Thread: any. Cost: none.
const char *hocket_status_text(int32_t status);

// Settings for a block length and a rate, the rest as `hocket bench` begins: "dataflow", "off",
// "hybrid", SCHED_FIFO 60.
//
// Thread: any. Cost: none.
struct hocket_settings hocket_settings_for(uint32_t frames, uint32_t rate_hz);

// Reads a session file (docs/session-format.md) and decodes the audio that it names, at `rate_hz`, or
// at the session's own rate for 0. NULL where that fails.
//
// Thread: control. Cost: reads files; memory for all audio, 8 bytes a frame.
//
// # Safety
// P.
struct hocket_session *hocket_session_load(const char *path,
                                           uint32_t rate_hz,
                                           struct hocket_error **error);

// Frees a session; NULL is left alone. Engines that were started from it go on.
//
// Thread: control. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_session_free(struct hocket_session *session);

// The rate at which the session was loaded, in Hz; 0 for NULL.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
uint32_t hocket_session_rate_hz(const struct hocket_session *session);

// Length of the session in frames at its rate: as the file says, or to the end of the last clip;
// `HOCKET_ENDLESS` where a clip loops for ever; 0 for NULL.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
uint64_t hocket_session_frames(const struct hocket_session *session);

// Name of a strip: the tracks in file order, groups, returns and at last the master. NULL past the end.
// The text lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_strip(const struct hocket_session *session,
                                 size_t index);

// Kind of an effect (docs/effects.md) by the index of its strip, as `hocket_session_strip` counts, and
// its place in the strip's chain. NULL past the end. The text lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_effect(const struct hocket_session *session,
                                  size_t strip,
                                  size_t effect);

// What a user ought to know of the session, one line with its place; NULL past the end. The text
// lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_warning(const struct hocket_session *session, size_t index);

// A new graph without nodes. NULL only after an error in Hocket itself.
//
// Thread: control. Cost: allocates.
struct hocket_graph *hocket_graph_new(void);

// Frees a graph that no engine was started from, and its processors; NULL is left alone.
//
// Thread: control. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_graph_free(struct hocket_graph *graph);

// Appends a node and returns its index, counted from 0: the host's processor, which is copied, or for
// NULL one that only sums. From now on `user` belongs to the graph and the engine made of it; where
// the call fails (`HOCKET_NO_NODE`) it stays the host's. `name` is for reports and measured costs.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P, H, G, C.
uint32_t hocket_graph_add_node(struct hocket_graph *graph,
                               const char *name,
                               const struct hocket_processor *processor,
                               struct hocket_error **error);

// Appends one of Hocket's effects (docs/effects.md) and returns its index. `values` has one value for
// each parameter in the order of the documentation, or is NULL for the defaults; values out of range
// are held within it.
//
// Thread: control. Cost: allocates; the effect itself is built when the engine starts.
//
// # Safety
// P (`values` has `count` values), H, G.
uint32_t hocket_graph_add_effect(struct hocket_graph *graph,
                                 const char *name,
                                 const char *kind,
                                 const float *values,
                                 size_t count,
                                 struct hocket_error **error);

// Lets node `to` read node `from`, which is older, with a linear gain (1.0: as it is). A node sums its
// inputs in the order in which its edges were added, so the sum is the same bits whoever computes it.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_add_edge(struct hocket_graph *graph,
                                    uint32_t from,
                                    uint32_t to,
                                    float gain_lin,
                                    struct hocket_error **error);

// Starts an engine for a session: when this returns, every worker sits on its seat and waits. NULL
// where that fails. Rights that the system refuses are no failure: see `hocket_engine_reports`.
//
// Thread: control; call it before the leader is a real-time thread. Cost: starts threads, allocates
// everything that blocks need; with a priority, asks that the memory of the process stays in memory.
//
// # Safety
// P, H.
struct hocket_engine *hocket_engine_start(const struct hocket_session *session,
                                          const struct hocket_settings *settings,
                                          struct hocket_error **error);

// Starts an engine for a graph, which is used up, whether this succeeds or not. As
// `hocket_engine_start`, but there are no strips to be set.
//
// Thread: control; call it before the leader is a real-time thread. Cost: starts threads, allocates
// everything that blocks need.
//
// # Safety
// P, H, X (for the graph), C.
struct hocket_engine *hocket_engine_start_graph(struct hocket_graph *graph,
                                                const struct hocket_settings *settings,
                                                struct hocket_error **error);

// Stops an engine, ends its threads and frees it; NULL is left alone. Where a leader has entered, that
// thread has to leave first, or be the one that calls this; otherwise `HOCKET_STATUS_WRONG_THREAD`, and
// the engine goes on.
//
// Thread: control, or the leader between blocks. Cost: waits for the threads, frees memory.
//
// # Safety
// P, H, X.
hocket_status hocket_engine_stop(struct hocket_engine *engine);

// Makes the calling thread the leader until it leaves: on its seat, in the scheduling class asked for.
// Without it blocks are processed as well, by a thread as the system has it. Entering again on the same
// thread does nothing.
//
// Thread: the one that will process blocks, before the first. Cost: system calls, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_enter(const struct hocket_engine *engine);

// Gives the calling thread back the CPUs and the scheduling class that it had before it entered;
// nothing where nobody has entered.
//
// Thread: the one that entered, between blocks. Cost: system calls.
//
// # Safety
// P, H.
hocket_status hocket_engine_leave(const struct hocket_engine *engine);

// The monotonic clock in nanoseconds, as planned starts are told (`CLOCK_MONOTONIC` on Linux).
//
// Thread: any, the leader included. Cost: one reading of the clock.
uint64_t hocket_now_ns(void);

// Processes one block that was planned for now: as `hocket_engine_process_planned`.
//
// Thread: leader. Cost: as `hocket_engine_process_planned`.
//
// # Safety
// P (`out_left` and `out_right` have room for `frames` samples), H.
hocket_status hocket_engine_process(const struct hocket_engine *engine,
                                    uint32_t frames,
                                    float *out_left,
                                    float *out_right,
                                    struct hocket_block_times *times);

// Processes one block of 1 to `settings.frames` frames that was planned to start at `signaled_ns` (on
// the clock of `hocket_now_ns`) and writes the output, 1.0 = full scale. `times` may be NULL. Where it
// does not return `HOCKET_STATUS_OK`, nothing is written.
//
// Thread: leader, one at a time: a second caller gets `HOCKET_STATUS_BUSY` at once. Cost: the block. No
// allocation; no lock is waited for; at most one system call, to wake workers, and none beyond the
// engine's own.
//
// # Safety
// P (`out_left` and `out_right` have room for `frames` samples), H.
hocket_status hocket_engine_process_planned(const struct hocket_engine *engine,
                                            uint32_t frames,
                                            uint64_t signaled_ns,
                                            float *out_left,
                                            float *out_right,
                                            struct hocket_block_times *times);

// Says when the block after the coming one is planned (on the clock of `hocket_now_ns`), so that workers
// can be awake by then. Holds for one block; a host that knows its period says it before each.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_engine_expect_next(const struct hocket_engine *engine,
                                        uint64_t next_ns);

// Forgets all history (delays, reverbs, position): the next block is the session's first.
//
// Thread: leader, between blocks. Cost: O(memory of all processors); not for a live run.
//
// # Safety
// P, H.
hocket_status hocket_engine_reset(const struct hocket_engine *engine);

// Sets a strip's fader, in decibels; `-INFINITY` is silence. Smoothed; it holds from the next block on.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_gain(const struct hocket_engine *engine,
                                     const char *strip,
                                     float gain_db,
                                     struct hocket_error **error);

// Sets a strip's pan, from -1 (left) to +1 (right). Smoothed.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_pan(const struct hocket_engine *engine,
                                    const char *strip,
                                    float pan,
                                    struct hocket_error **error);

// Mutes a strip or lets it be heard again. Smoothed.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_mute(const struct hocket_engine *engine,
                                     const char *strip,
                                     bool mute,
                                     struct hocket_error **error);

// Solos a strip or no longer: every strip that is heard or not because of it is faded.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_solo(const struct hocket_engine *engine,
                                     const char *strip,
                                     bool solo,
                                     struct hocket_error **error);

// Sets a parameter of the effect at `effect` in a strip's chain, by its name and in its unit
// (docs/effects.md); held within its range. Parameters that decide memory or latency are refused.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_param(const struct hocket_engine *engine,
                                      const char *strip,
                                      uint32_t effect,
                                      const char *param,
                                      float value,
                                      struct hocket_error **error);

// Bypasses the effect at `effect` in a strip's chain, or lets it work again. Cross-faded.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_bypass(const struct hocket_engine *engine,
                                       const char *strip,
                                       uint32_t effect,
                                       bool bypass,
                                       struct hocket_error **error);

// Whether everything that was set has been carried out; true for NULL.
//
// Thread: any but the leader. Cost: a lock among control threads; frees what plans no longer need.
//
// # Safety
// P, H.
bool hocket_engine_is_settled(const struct hocket_engine *engine);

// Tells what an engine does at present.
//
// Thread: any but the leader. Cost: a lock among control threads.
//
// # Safety
// P, H.
hocket_status hocket_engine_standing(const struct hocket_engine *engine,
                                     struct hocket_standing *standing,
                                     struct hocket_error **error);

// Calls `each` for every unit of the present plan that has been measured, once for each kind of seat
// and sibling state that it was seen in.
//
// Thread: any but the leader; `each` is called on the calling thread. Cost: a lock among control
// threads, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_costs(const struct hocket_engine *engine,
                                  hocket_cost_fn each,
                                  void *user,
                                  struct hocket_error **error);

// Calls `each` for every thread: the leader, if one has entered, then workers and guards.
//
// Thread: any but the leader; `each` is called on the calling thread. Cost: a short lock, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_reports(const struct hocket_engine *engine,
                                    hocket_report_fn each,
                                    void *user,
                                    struct hocket_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HOCKET_H */
