// Hocket: a parallel real-time audio engine, for C and C++. MIT OR Apache-2.0.
//
// Generated from the sources of hocket-c (cargo run -p xtask -- header). Do not edit.
// docs/embedding.md describes the life of an engine, examples/c shows it.
//
// Every function requires these of its caller. It cites their letters under "Safety":
//
// P  pointers: a pointer is NULL only if the function allows it. Otherwise it points to a value of its
//    type during the call. Text is UTF-8 and ends in a zero byte. Rows do not overlap.
// H  handles: a handle comes from the function that makes it, and no call has taken it back yet.
// X  exclusive end: while a call takes a handle back, no other call with that handle runs.
// G  one builder: only one thread at a time uses a graph.
// C  callbacks: they return normally (no exception, no longjmp). Any thread may call process, but never
//    two threads at once for one node.
// O  own calls: what a processor got in its join is used only inside the processor's own callbacks, by one
//    thread at a time. No pass of a spread loop uses it.
// S  spread passes: several threads may call the body of a spread loop at the same time, with different
//    passes. It writes only what belongs to its pass.

#ifndef HOCKET_H
#define HOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The number of this interface. It grows when a function or structure changes so that programs have to be
// recompiled. `hocket_abi()` returns the library's number.
#define HOCKET_ABI 7

// The result of `hocket_session_frames` for a session that has no end.
#define HOCKET_ENDLESS UINT64_MAX

// `exchange` gets what `load` made.
#define HOCKET_MADE_FOR_STATE 0

// `exchange` gets what `grow` made.
#define HOCKET_MADE_FOR_FRAMES 1

// What `hocket_graph_add_node` and `hocket_graph_add_effect` return instead of a number when they fail.
#define HOCKET_NO_NODE UINT32_MAX

// An edge arrives at the node's main port.
#define HOCKET_PORT_MAIN 0

// An edge arrives at the node's side chain.
#define HOCKET_PORT_SIDE_CHAIN 1

// An edge brings events (`hocket_graph_connect_events`). It has no channels and no gain.
#define HOCKET_PORT_EVENTS 2

// A message of MIDI 1.0: its bytes are `data[0]` to `data[2]`, 0 where it has fewer.
#define HOCKET_MESSAGE_MIDI 0

// A Universal MIDI Packet: its words are `data`, 0 where it has fewer.
#define HOCKET_MESSAGE_PACKET 1

// A note starts: `data[0]` is the channel, `data[1]` the key (60 is middle C), `data[2]` the note's id, and `value` the
// velocity, 0 to 1. `HOCKET_ANY` for no id.
#define HOCKET_MESSAGE_NOTE_ON 2

// A note is released. Fields as in `HOCKET_MESSAGE_NOTE_ON`. `HOCKET_ANY` for every channel, key or id.
#define HOCKET_MESSAGE_NOTE_OFF 3

// A note stops at once. Fields as in `HOCKET_MESSAGE_NOTE_OFF`.
#define HOCKET_MESSAGE_NOTE_CHOKE 4

// A processor reports that a note has ended. Fields as in `HOCKET_MESSAGE_NOTE_OFF`.
#define HOCKET_MESSAGE_NOTE_END 5

// A parameter gets `value`: `data[0]` is the parameter.
#define HOCKET_MESSAGE_PARAM 6

// Every note ends and every pedal is released. Every instrument has to take it.
#define HOCKET_MESSAGE_END_ALL_NOTES 7

// A system-exclusive message of `data[0]` bytes: `hocket_message_sysex` has them. It is sent by
// `hocket_message_send_sysex` and `hocket_engine_write_sysex`.
#define HOCKET_MESSAGE_SYSEX 8

// Stands for every channel, every key or every note.
#define HOCKET_ANY UINT32_MAX

// It depends on what the host writes for the engine input `number`.
#define HOCKET_LIVE_INPUT 0

// It depends on the events that the host hands over for the engine input `number`.
#define HOCKET_LIVE_INPUT_EVENTS 1

// It depends on what a feedback edge brings from the node `number`, which is live itself.
#define HOCKET_LIVE_FEEDBACK 2

// The song runs from where it is.
#define HOCKET_PLAY 1

// The song stays where it is.
#define HOCKET_PAUSE 2

// The song goes to `frame`, and plays or not as before.
#define HOCKET_LOCATE 3

// From now on, when the song reaches `end` from before it, it goes on at `frame`.
#define HOCKET_LOOP 4

// There is no loop.
#define HOCKET_LOOP_OFF 5

// WAV with floats of 32 bits. Beyond 4 GiB it is RF64, as the other WAV formats are.
#define HOCKET_TAKE_WAV_FLOAT 0

// WAV of 24 bits.
#define HOCKET_TAKE_WAV_24 1

// WAV of 16 bits.
#define HOCKET_TAKE_WAV_16 2

// FLAC of 24 bits, up to 96 kHz and 8 channels.
#define HOCKET_TAKE_FLAC_24 3

// FLAC of 16 bits, up to 96 kHz and 8 channels.
#define HOCKET_TAKE_FLAC_16 4

// How many edits that took effect an engine remembers for `hocket_engine_applied`. If there are more, it
// forgets the oldest.
#define HOCKET_APPLIED_KEPT 4096

// What `hocket_last_edit` returns if the calling thread has sent no edit.
#define HOCKET_NO_EDIT UINT64_MAX

// The level goes in a straight line: for clips of the same sound that cross.
#define HOCKET_FADE_LINEAR 0

// The power goes along a quarter of a sine, -3 dB in the middle: for clips of different sounds that cross.
#define HOCKET_FADE_EQUAL_POWER 1

// The level goes along half a cosine, which has no corners: for clips of the same sound that cross.
#define HOCKET_FADE_S_CURVE 2

// The level in decibels goes in a straight line, from -100 dB: for clips that come out of silence or end in it.
#define HOCKET_FADE_LOGARITHMIC 3

// A track that plays no engine input.
#define HOCKET_NO_INPUT UINT32_MAX

// A lane's points count in quarter notes since the start of the song. They follow the tempo.
#define HOCKET_LANE_BEATS 0

// A lane's points count in seconds since the start of the song. They stay when the tempo changes.
#define HOCKET_LANE_SECONDS 1

// The value stays until the next point.
#define HOCKET_SHAPE_HOLD 0

// A straight line to the next point.
#define HOCKET_SHAPE_LINEAR 1

// An exponential curve to the next point: at the part x of the way from a to b, the value is
// a + (b - a) * (1 - exp(c * x)) / (1 - exp(c)), where c is `curve`.
#define HOCKET_SHAPE_CURVE 2

// A lane moves the strip's fader, in decibels. -200 and less is as good as silence.
#define HOCKET_LANE_GAIN 0

// A lane moves the strip's pan, -1 to +1.
#define HOCKET_LANE_PAN 1

// A lane moves the strip's mute: on from 0.5.
#define HOCKET_LANE_MUTE 2

// A lane moves the level of the send to the return `name`, in decibels. Lanes of sends can only be exchanged for
// others: the session file gives a send its first one.
#define HOCKET_LANE_SEND 3

// A lane moves the parameter `name` of the effect at `effect`, in the parameter's unit. The session's file may not call
// the parameter fixed (`hocket_param`).
#define HOCKET_LANE_PARAM 4

// A lane moves the bypass of the effect at `effect`: on from 0.5.
#define HOCKET_LANE_BYPASS 5

// The output of `node` lags behind its input by `frames` frames from now on. If `possible`, the engine has made a plan
// with other delays; otherwise the old ones stay.
#define HOCKET_NOTICE_LATENCY 0

// The output of `node` goes on for `frames` frames after its input; `HOCKET_ENDLESS`: for ever.
#define HOCKET_NOTICE_TAIL 1

// `node` wants to be replaced by a new processor. `frames` is 0.
#define HOCKET_NOTICE_RESTART 2

// How a call ended.
enum hocket_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Done.
    HOCKET_STATUS_OK = 0,
    // An argument, a file or a setting is wrong. The same call would fail again.
    HOCKET_STATUS_BAD_INPUT = 2,
    // Not possible here: threads, rights, or what the system reports about the machine.
    HOCKET_STATUS_NOT_POSSIBLE = 3,
    // Another thread leads this engine now, or too many edits wait for the next block: try again after a
    // block.
    HOCKET_STATUS_BUSY = 4,
    // The call belongs to the thread that entered, which still lives.
    HOCKET_STATUS_WRONG_THREAD = 5,
    // An error in Hocket itself. You may still stop or free the handle.
    HOCKET_STATUS_FAULT = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum hocket_status hocket_status;
#else
typedef int32_t hocket_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The time of one block, for `hocket_time_at`. It ends with the callback that gets it.
typedef struct hocket_clock hocket_clock;

// A running engine.
typedef struct hocket_engine hocket_engine;

// An error with its message. Functions that take `hocket_error **error` set it to NULL when they succeed, and
// to a new error when they fail: free it with `hocket_error_free`. Pass NULL if you do not want the message.
typedef struct hocket_error hocket_error;

// A graph under construction. Each node keeps its number, and the number of a removed node is not used again.
// The output is the last added node, unless `hocket_graph_set_output` sets another one. Only one thread at a
// time may use a graph.
typedef struct hocket_graph hocket_graph;

// The engine as a processor meets it in `join`. It ends with that callback.
typedef struct hocket_host hocket_host;

// Where a processor asks for calls of its main side and reports what has changed. It lives and is used as
// `hocket_work_requests`.
typedef struct hocket_main_requests hocket_main_requests;

// The event ports of a node in one block, for `hocket_message_at` and `hocket_message_send`. It ends with the callback
// that gets it.
typedef struct hocket_messages hocket_messages;

// Writes takes to files, on threads of its own: one for each device, so that a disk that stalls holds up only its own
// takes.
typedef struct hocket_recorder hocket_recorder;

// A session with its audio, in memory or on the disk. It never changes. You may start several engines from it, on several
// threads, and free it as soon as they have started.
typedef struct hocket_session hocket_session;

// Where a block's work can be spread, for `hocket_block_spread`. It ends with the callback that gets it.
typedef struct hocket_spread hocket_spread;

// The bytes of a state that is being saved. It ends with the callback that gets it.
typedef struct hocket_state hocket_state;

// A recording in progress.
typedef struct hocket_take hocket_take;

// Tempos and time signatures of a song at one sample rate. It never changes, so several threads may read it.
typedef struct hocket_tempo_map hocket_tempo_map;

// Where background work answers. It ends with the callback that gets it.
typedef struct hocket_work_answers hocket_work_answers;

// Where a processor requests background work. It belongs to the engine and lives until the processor's `free` has
// returned. Only the processor's own callbacks use it, after `join`, and no pass of spread work does.
typedef struct hocket_work_requests hocket_work_requests;

// The settings of an engine. Start with `hocket_settings_for` and change what you need. The names are those of
// `hocket bench`.
typedef struct hocket_settings {
    // The largest block, 1 to 8192 frames.
    uint32_t frames;
    // The sample rate, 8000 to 384000 Hz. 0: that of the session.
    uint32_t rate_hz;
    // The number of workers, including the leader. 0: one per seat that the policy uses.
    uint32_t workers;
    // The SCHED_FIFO priority of leader, workers and guards, 1 to 99. 0: ordinary threads.
    uint32_t priority;
    // How units go to workers: "serial", "lists", "dataflow", "steal", "critical".
    const char *schedule;
    // What may run beside a worker on its core: "off", "all", "process-affinity", "idle-thread",
    // "reserve-core", "pair-barrier", "cookie", "cookie-worker", "cookie-pair", "partition", "offline".
    const char *policy;
    // How workers wait inside a block: "spin", "pause", "yield", "tpause", "umwait", "mwaitx", "wfe",
    // "hybrid", "futex". Hocket refuses one that the CPU lacks.
    const char *wait;
    // What happens to the schedule while the engine measures costs: "fixed", "costs", "auto". NULL: "costs"
    // for the schedule "critical", otherwise "fixed".
    const char *steer;
    // How an idle thread holds its seat (policies "idle-thread" and "pair-barrier"): one of the names of
    // `wait`. A wait that blocks gives the seat up; use it only for comparison. NULL: "pause".
    const char *seat_wait;
    // How long "hybrid" spins inside a block before it blocks, where all threads have seats and a real-time
    // class. Elsewhere it spins for 20 µs at most, because a thread may hold up the one that it waits for.
    uint64_t hybrid_spin_ns;
    // How long a worker spins between two blocks before it blocks, unless it wakes itself early
    // (`early_wake_ns`). With "futex" it blocks at once.
    uint64_t gate_spin_ns;
    // How long before a planned block (`hocket_engine_expect_next`) a worker wakes itself. 0: it sleeps
    // until the leader wakes it.
    uint64_t early_wake_ns;
    // How long a worker that woke itself spins past the planned time before it blocks.
    uint64_t leader_lateness_ns;
    // Whether the engine notes what each thread does in a block, so that it can explain late blocks
    // (`hocket_engine_explain`). The leader then copies these notes after each block, about 25 bytes per
    // unit. They need memory for 256 blocks.
    bool explain_late;
    // Which thread frees processors and calls their main sides (`hocket_main_side`). "own": one of the engine's, which
    // starts when it is needed. "starting": the one that starts the engine. It calls `hocket_engine_service` regularly,
    // and stops the engine. NULL: "own".
    const char *main_thread;
    // Names of `policy`, separated by commas, to which `hocket_engine_set_sibling_policy` may change while the engine plays:
    // "all,cookie". The threads that each of them needs start with the engine, and sleep where the present policy does not need
    // them. Hocket refuses "partition" and "offline" here, and also as `policy` beside others. NULL: the policy stays.
    const char *sibling_policies;
} hocket_settings;

// How a session plays audio files from the disk.
typedef struct hocket_disk_use {
    // The memory for all clips that stream together, in bytes. 0: every file is decoded in memory.
    uint64_t buffer_bytes;
    // Whether blocks wait for the disk, for programs that do not play in real time. If not, frames that are not in memory
    // in time are silent and counted.
    bool waits;
    // How many engines play the session at the same time. They share the memory. 0 means 1.
    uint32_t engines;
} hocket_disk_use;

// Frames in a row that were silent because they were not in memory in time.
typedef struct hocket_gap {
    // The first one, as a frame of the file.
    uint64_t position;
    // How many.
    uint64_t frames;
    // What the disk said, or that it was too slow.
    const char *cause;
} hocket_gap;

// What a clip did not have in memory in time. Texts and lists are valid until the callback returns.
typedef struct hocket_stream_silence {
    // The file.
    const char *file;
    // All frames of silence. 0: it had everything.
    uint64_t frames;
    // Where and why: the latest ones.
    const struct hocket_gap *gaps;
    // Number of `gaps`.
    size_t gap_count;
} hocket_stream_silence;

// Called for each clip that streams.
typedef void (*hocket_stream_silence_fn)(void *user, const struct hocket_stream_silence *silence);

// A parameter of an effect. The texts belong to the library: do not free them.
typedef struct hocket_param {
    // Name with unit, as in session files.
    const char *name;
    // One sentence.
    const char *summary;
    // Smallest value.
    float min;
    // Largest value.
    float max;
    // Default value.
    float usual;
    // Whether the build of the effect fixes it, so that it cannot change while it plays.
    bool fixed;
} hocket_param;

// A place in the song, in every unit. A beat is a quarter note, whatever the time signature.
typedef struct hocket_position {
    // Frames since the start of the song. Negative before it.
    int64_t frame;
    // Seconds since the start of the song.
    double seconds;
    // Quarter notes since the start of the song.
    double beats;
    // Quarter notes per minute.
    double bpm;
    // The bar, counted from 0. Negative before the start of the song.
    int64_t bar;
    // The beat in the bar, counted from 0 in notes of `denominator`.
    uint16_t beat;
    // The tick in the beat, 960 per quarter note, counted from 0.
    uint16_t tick;
    // Upper number of the time signature.
    uint16_t numerator;
    // Lower number of the time signature.
    uint16_t denominator;
} hocket_position;

// Where the song is at a frame of a block.
typedef struct hocket_time {
    // Frames since the engine's start. It never goes back, whatever the song does.
    uint64_t steady_frame;
    // The place in the song.
    struct hocket_position song;
    // Whether the song plays. If not, every frame has the same position.
    bool playing;
} hocket_time;

// A tempo from a beat on.
typedef struct hocket_tempo_point {
    // Quarter notes since the start of the song, 0 to 10,000,000.
    double beats;
    // Quarter notes per minute, 1 to 10,000.
    double bpm;
    // Whether the tempo moves in a straight line to that of the next point. If not, it stays until there.
    bool glides;
} hocket_tempo_point;

// A time signature from a beat on. It begins a bar there.
typedef struct hocket_time_signature {
    // Quarter notes since the start of the song, 0 to 10,000,000.
    double beats;
    // Beats per bar, 1 to 255.
    uint16_t numerator;
    // The note that counts as a beat: 1, 2, 4, 8, 16, 32 or 64.
    uint16_t denominator;
} hocket_time_signature;

// Works on one request of `bytes` bytes. It answers any number of times, also later to earlier requests.
//
// Thread: one that belongs to this processor alone; offline (`hocket_engine_set_offline`) the leader between two
// blocks. It may allocate, lock, wait and read files. It must not call a function that takes an engine, because the
// engine may wait for this work.
typedef void (*hocket_work_fn)(void *user,
                               const void *request,
                               size_t bytes,
                               struct hocket_work_answers *answers);

// Called with a processor's `user`.
typedef void (*hocket_user_fn)(void *user);

// What a processor has done in the background.
typedef struct hocket_background_work {
    // The argument of both calls.
    void *user;
    // Works on a request. Requests come one by one in their order. Not NULL.
    hocket_work_fn work;
    // The work has returned for the last time, and the processor is freed. Thread: the engine's main thread. NULL:
    // there is nothing to free.
    hocket_user_fn free;
    // How many requests may wait, and how many answers; at least 1.
    uint32_t messages;
    // The longest request or answer, in bytes.
    uint32_t bytes;
} hocket_background_work;

// Writes the processor's state with `hocket_state_write`. Returns NULL, or why that is not possible: a text for users,
// which stays valid until the next call of the main side.
//
// Thread: the engine's main thread. Blocks may run at the same time.
typedef const char *(*hocket_save_fn)(void *user, struct hocket_state *state);

// Makes what the processor's `exchange` needs to go on with a state of `bytes` bytes, and stores it in `made`. Returns
// NULL, or why the bytes are no state: a text for users, which stays valid until the next call of the main side.
// Nothing is taken from `made` then.
//
// Thread: the engine's main thread. Blocks may run at the same time.
typedef const char *(*hocket_load_fn)(void *user, const void *state, size_t bytes, void **made);

// Makes what the processor's `exchange` needs for blocks of up to so many frames. NULL: it needs nothing. What it makes
// may be freed unused, and it may be asked for the same number again. No smaller number follows a larger one. What `load`
// makes later has to do for so many frames too.
//
// Thread: the engine's main thread. Blocks may run at the same time.
typedef void *(*hocket_grow_fn)(void *user, uint32_t frames);

// Frees what a main side has made, or what `exchange` returned for it. `purpose`: as in `exchange`.
//
// Thread: the engine's main thread.
typedef void (*hocket_free_made_fn)(uint32_t purpose, void *made);

// The half of a processor that is called on the engine's main thread only (`settings.main_thread`). Every callback but
// `free` may be NULL where the processor does not need it. None of them may call a function that takes an engine.
typedef struct hocket_main_side {
    // The argument of the calls.
    void *user;
    // The processor has asked for this call (`hocket_main_call`).
    hocket_user_fn called;
    // Saves the state (`hocket_engine_save_state`). NULL: the processor has none.
    hocket_save_fn save;
    // Loads a state (`hocket_engine_load_state`). NULL: the processor takes none.
    hocket_load_fn load;
    // Makes what longer blocks need (`hocket_engine_set_largest_block`). NULL: the processor needs nothing for them.
    hocket_grow_fn grow;
    // Frees what `load` and `grow` made. NULL: there is nothing to free.
    hocket_free_made_fn free_made;
    // The processor and its background work are freed, and nobody calls the main side again. NULL: there is nothing
    // to free.
    hocket_user_fn free;
} hocket_main_side;

// A parameter that changes inside a block.
typedef struct hocket_timed_change {
    // Frame at which it changes, counted from the start of the block.
    uint32_t frame;
    // The parameter, as in `hocket_engine_set_node`.
    uint32_t param;
    // Its new value.
    float value;
} hocket_timed_change;

// A stretch of a block in which the song plays without a jump, or stands still.
typedef struct hocket_segment {
    // Song position of its first frame. If the song plays, each further frame is one further.
    int64_t position;
    // Its first frame, counted from the start of the block.
    uint32_t offset;
    // Its length in frames, at least 1.
    uint32_t frames;
    // Whether the song plays.
    bool playing;
    // Whether it begins with a jump: a locate, or the next pass of a loop.
    bool jumped;
} hocket_segment;

// One block of audio for a processor of the host. All pointers are valid until the callback returns.
//
// A stereo node needs only the first fields. A node with other ports (`hocket_graph_set_ports`) finds all its
// channels in `main`, `side_chain` and `extra`.
typedef struct hocket_block {
    // The first main row: `frames` samples, 1.0 is full scale. It holds the sum of the node's inputs. What the
    // callback writes there is the node's output.
    float *left;
    // The second main row. NULL if the node has one main channel.
    float *right;
    // The first row of the side chain, read-only. NULL if the node has none.
    const float *side_left;
    // The second row of the side chain, read-only, or the first one again if there is only one. NULL if the node
    // has none.
    const float *side_right;
    // Changes of parameters, sorted by frame.
    const struct hocket_timed_change *events;
    // Number of `events`.
    size_t event_count;
    // Samples of each row, at least 1.
    uint32_t frames;
    // Number of `main`, at least 1.
    uint32_t main_count;
    // All main rows, changed in place. The first two are `left` and `right`.
    float *const *main;
    // All rows of the side chain, read-only.
    const float *const *side_chain;
    // All rows of the extra outputs. They begin as silence.
    float *const *extra;
    // Number of `side_chain`.
    uint32_t side_chain_count;
    // Number of `extra`.
    uint32_t extra_count;
    // Where the song is at the block's first frame. NULL if the processor does not keep time.
    const struct hocket_time *time;
    // The stretches in which the song runs without a jump, in order and without gaps.
    const struct hocket_segment *segments;
    // Number of `segments`: at least 1 for a processor that keeps time, otherwise 0.
    size_t segment_count;
    // For `hocket_time_at`, which says where the song is at any frame. NULL if the processor does not keep time.
    const struct hocket_clock *clock;
    // The node's event ports, for `hocket_message_at` and `hocket_message_send`, which take the block. Event edges bring
    // messages, also changes of parameters. Edits and automation lanes come in `events`.
    const struct hocket_messages *messages;
    // How many messages the event edges bring in this block.
    size_t message_count;
    // For `hocket_block_spread`, which takes the block.
    const struct hocket_spread *spread;
} hocket_block;

// Processes one block in place.
//
// Thread: any worker, inside a block, one at a time for each node. It must not allocate, lock or call the
// system. Its samples must not depend on how the input is cut into blocks.
typedef void (*hocket_process_fn)(void *user, const struct hocket_block *block);

// Called with a processor's `user` and a position of the song in frames.
typedef void (*hocket_locate_fn)(void *user, uint64_t frame);

// Called with a processor's `user` and the engine that it joins.
typedef void (*hocket_join_fn)(void *user, struct hocket_host *host);

// Called with a processor's `user` and an answer of its background work, of `bytes` bytes.
typedef void (*hocket_answered_fn)(void *user, const void *answer, size_t bytes);

// Called with a processor's `user` and what its main side has made. Returns what is no longer needed.
typedef void *(*hocket_exchange_fn)(void *user, uint32_t purpose, void *made);

// Called with a processor's `user`, a parameter and its value.
typedef void (*hocket_preset_fn)(void *user, uint32_t param, float value);

// A processor of the host. Begin with zeros: a callback that is NULL is not needed, but for `process`.
typedef struct hocket_processor {
    // The argument of every call.
    void *user;
    // Processes a block. Not NULL.
    hocket_process_fn process;
    // Forgets all history (delay lines, envelopes) and keeps the parameters. Later answers to requests of background
    // work from before are dropped, so the processor requests again what it still needs. Thread: the leader between
    // blocks, or a worker inside a block after an output that was not finite. NULL: there is none.
    hocket_user_fn reset;
    // The song is at another frame than the last block led to: the node joins a graph that already plays, or
    // somebody located. It comes before the block of that frame; a jump inside a block comes before the next one.
    // Thread: the worker, inside a block. NULL: the processor does not need to know.
    hocket_locate_fn locate;
    // The node has ended, and Hocket no longer uses `user`. Thread: one of the engine's that plays no sound, always the
    // same, and at the latest before `hocket_engine_stop` returns; where no engine has started, the one that frees or
    // starts the graph. NULL: there is nothing to free.
    hocket_user_fn free;
    // The expected work in floating-point operations per frame, more than 0. Only ratios matter.
    double cost;
    // How many frames the output lags behind the input.
    uint32_t latency_frames;
    // Whether blocks say where the song is (`time`, `segments` and `clock` of `hocket_block`). The time is that of
    // the sound that reaches the node: behind a latency of 100 frames, 100 frames earlier.
    bool keeps_time;
    // Meets the engine: once, before the first block. Here a processor asks for background work
    // (`hocket_host_background`) and a main side (`hocket_host_main_side`), and learns the largest block
    // (`hocket_host_largest_block`). Thread: the one that starts the graph or exchanges it. It must not call a
    // function that takes an engine. NULL: the processor needs none of it.
    hocket_join_fn join;
    // Takes an answer of its background work. All that have come since the last block come before the next one, in order.
    // Thread: the worker, inside the block, or the leader before `reset`. As in `process`: no allocation, lock or
    // system call. NULL: the processor needs no answers.
    hocket_answered_fn answered;
    // Goes on with what its main side has made, and returns what is no longer needed, for example the old memory. That is
    // freed with `free_made` of `hocket_main_side`, unless it is NULL. `purpose`: `HOCKET_MADE_FOR_STATE` or
    // `HOCKET_MADE_FOR_FRAMES`. Thread: the leader, between blocks: no allocation, lock or system call. NULL: the
    // main side makes nothing.
    hocket_exchange_fn exchange;
    // A parameter has this value before the first block, because of its automation lane. A `reset` follows. Thread:
    // control before it plays, or the leader between blocks. NULL: the processor takes its parameters from `events`
    // alone.
    hocket_preset_fn preset;
    // The most messages that it sends on its own at a frame to which the song jumps, besides those that are due, as a
    // player does that chases notes and controllers. Its event output and the event inputs that read it have room for so
    // many more, for each jump that a block can have, up to 16,384 messages. 0: it sends nothing more there.
    uint32_t events_per_jump;
} hocket_processor;

// The channels of a node's ports. Event ports have none: see `hocket_graph_set_event_ports`.
typedef struct hocket_ports {
    // Channels that the node processes in place, 1 to 64.
    uint32_t main;
    // Channels of the second input, 0 to 64.
    uint32_t side_chain;
    // Channels of further outputs, 0 to 64.
    uint32_t extra;
} hocket_ports;

// An edge between two nodes. Zeros in the fields after `gain_lin` make what `hocket_graph_add_edge` makes.
typedef struct hocket_edge {
    // The node that is read.
    uint32_t from;
    // The node that reads.
    uint32_t to;
    // Linear gain. 1.0: unchanged.
    float gain_lin;
    // `HOCKET_PORT_MAIN`, `HOCKET_PORT_SIDE_CHAIN` or `HOCKET_PORT_EVENTS` of the node that reads.
    uint32_t port;
    // How many channels the edge carries. 0: each main channel to the one of the same number. Both ports then have
    // equally many channels, or `from` has one, which goes to all of them.
    uint32_t channels;
    // The first of these channels in `from`: the main channels, then the extra ones, counted from 0.
    uint32_t from_channel;
    // The first of these channels in the port of `to`.
    uint32_t to_channel;
} hocket_edge;

// What travels on an event edge.
typedef struct hocket_message {
    // Frame, counted from the start of the block.
    uint32_t frame;
    // What it is: `HOCKET_MESSAGE_MIDI` and so on. It says what the other fields mean. They are 0 if it says nothing.
    uint32_t kind;
    // See the kinds.
    uint32_t data[4];
    // See the kinds.
    double value;
} hocket_message;

// A node or an edge that depends on live input, and the first thing that brings it there.
typedef struct hocket_live {
    // The node. For an edge: the node that reads.
    uint32_t node;
    // For an edge: the node that is read. `HOCKET_NO_NODE`: `node` itself is live.
    uint32_t from;
    // For an edge: `HOCKET_PORT_MAIN`, `HOCKET_PORT_SIDE_CHAIN` or `HOCKET_PORT_EVENTS` of the node that reads.
    uint32_t port;
    // For an edge: whether it feeds back (`hocket_graph_feed_back`).
    bool feedback;
    // `HOCKET_LIVE_INPUT` and so on.
    uint32_t cause;
    // See the causes.
    uint32_t number;
} hocket_live;

// Called for each live node and edge.
typedef void (*hocket_live_fn)(void *user, const struct hocket_live *live);

// One pass of a loop. `pass` counts from 0.
//
// Thread: any worker, inside a block. Passes with the same `user` run at the same time.
typedef void (*hocket_pass_fn)(void *user, uint32_t pass);

// What the engine sees of a leader that it follows, and what it did. The texts are valid until the callback returns.
typedef struct hocket_follow_report {
    // The kernel's id of the leader's thread. -1: no block has run yet.
    int64_t thread;
    // The CPU on which its last block began. -1: no block has run yet.
    int64_t cpu;
    // The CPUs that it may use. NULL: no block has run yet.
    const char *cpus;
    // Its scheduling class. NULL: no block has run yet.
    const char *class_got;
    // Whether that is a real-time class.
    bool real_time;
    // Whether threads wait as long as they do beside a leader that has entered. They do if all hold a real-time class
    // and a CPU that the leader cannot use. Otherwise each wait blocks after 120 µs at the latest.
    bool waits_long;
    // The CPU that the workers keep free for the leader. -1: no block has run yet.
    int64_t kept_free;
    // How many times workers and guards took other seats or another class.
    uint64_t reseated;
} hocket_follow_report;

// Called with what the engine sees of its leader.
typedef void (*hocket_follow_fn)(void *user, const struct hocket_follow_report *report);

// Times of one block, relative to its planned start.
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
    // The time left before the deadline. Negative: the block was late.
    int64_t slack_ns;
    // From the leader's awakening to that of the last worker that came. 0 if the block needed none.
    uint64_t workers_awake_ns;
    // How long the edits before the block took. The duration includes it.
    uint64_t orders_ns;
    // Edits and plans that took effect with the block.
    uint32_t orders;
    // Workers that took part, the leader included.
    uint32_t workers;
} hocket_block_times;

// What a thread of an engine did since it started.
typedef struct hocket_worker_totals {
    // Blocks it took part in.
    uint64_t blocks;
    // Units it ran.
    uint64_t units;
    // How often it really blocked inside a block.
    uint64_t blocked;
    // How often it yielded inside a block.
    uint64_t yielded;
    // Wake-up system calls that it made.
    uint64_t wakes;
    // Time spent in units.
    uint64_t busy_ns;
} hocket_worker_totals;

// Called for each thread.
typedef void (*hocket_totals_fn)(void *user, const struct hocket_worker_totals *totals);

// What an output has.
typedef struct hocket_output {
    // Channels of the node's main port.
    uint32_t main;
    // Channels of its extra outputs. They follow the main ones.
    uint32_t extra;
    // How many frames it lags behind sources and engine inputs, on the longest path.
    uint32_t latency_frames;
} hocket_output;

// What the transport is to do, and when. An engine starts at frame 0 of the song, and plays.
typedef struct hocket_command {
    // `HOCKET_PLAY`, `HOCKET_PAUSE`, `HOCKET_LOCATE`, `HOCKET_LOOP` or `HOCKET_LOOP_OFF`.
    uint32_t action;
    // The frame since the engine's start before which it takes effect, also in the middle of a block. A frame that
    // has passed counts as the next block's first one, so 0 means at once.
    uint64_t at_steady_frame;
    // For `HOCKET_LOCATE` the frame of the song, for `HOCKET_LOOP` the loop's first one. It may be negative.
    int64_t frame;
    // For `HOCKET_LOOP` the frame behind the loop's last one, at least 256 frames after `frame`.
    int64_t end;
} hocket_command;

// Where the song is after the last block.
typedef struct hocket_transport_state {
    // Frames since the engine's start: the next block's first one. It never goes back.
    uint64_t steady_frame;
    // Song position of the next frame.
    int64_t position;
    // The loop's first frame. 0 without a loop.
    int64_t loop_start;
    // The frame behind the loop's last one. 0 without a loop.
    int64_t loop_end;
    // Whether the next frame plays.
    bool playing;
    // Whether there is a loop.
    bool loops;
} hocket_transport_state;

// What to record, and where to.
typedef struct hocket_take_settings {
    // The file. It must not exist: a recording never replaces anything.
    const char *path;
    // `HOCKET_TAKE_WAV_FLOAT` and so on.
    uint32_t format;
    // Frames per second.
    uint32_t rate_hz;
    // 1 to 64.
    uint32_t channels;
    // Where in the song the first frame belongs. Programs that read the recording find it beside the file.
    uint64_t start_frame;
    // How many frames later than they sounded the frames arrive (`hocket_output`).
    uint64_t latency_frames;
    // How many frames find room while the disk does not answer. 0 means 15 s.
    uint64_t ring_frames;
} hocket_take_settings;

// How a take stands.
typedef struct hocket_take_state {
    // Frames that were given to the system.
    uint64_t frames;
    // Frames that are on the disk, and that the file's header states.
    uint64_t safe_frames;
    // Frames of silence among them, because they found no room or nobody had them.
    uint64_t silent_frames;
    // Events of a take of events that found no room so far.
    uint64_t lost_events;
    // Whether the take has failed. `hocket_take_finish` says why.
    bool failed;
} hocket_take_state;

// Frames of a recording that are silent because they found no room, or because nobody had them.
typedef struct hocket_silence {
    // The recording's frame at which it begins.
    uint64_t at_frame;
    // Its length in frames.
    uint64_t frames;
} hocket_silence;

// What became of a take. Texts and lists are valid until the callback returns.
typedef struct hocket_take_report {
    // The file.
    const char *path;
    // The length of the recording in frames.
    uint64_t frames;
    // All frames of silence that were put in.
    uint64_t silent_frames;
    // Where they are: the first 10,000.
    const struct hocket_silence *silences;
    // Number of `silences`.
    size_t silence_count;
    // Samples beyond full scale that were set to full scale (not with floats).
    uint64_t clipped;
    // Samples that were not finite and are silent.
    uint64_t not_finite;
    // Of a take of events: messages in the file, with the ends of notes that sounded at its end.
    uint64_t messages;
    // Of a take of events: events for which MIDI files have no message, such as changes of parameters.
    uint64_t left_out;
    // Of a take of events: events that found no room.
    uint64_t lost_events;
    // Why the recording is shorter than what was given. NULL: it is not. What is in the file is intact.
    const char *why;
} hocket_take_report;

// Called with what became of a take.
typedef void (*hocket_take_report_fn)(void *user, const struct hocket_take_report *report);

// What to record of events, and where to.
typedef struct hocket_event_take_settings {
    // The MIDI file. It must not exist: a recording never replaces anything.
    const char *path;
    // The name of its track.
    const char *name;
    // Frames per second.
    uint32_t rate_hz;
    // The song's tempos, sorted by beats. The file has them, and its ticks follow them.
    const struct hocket_tempo_point *tempos;
    // Number of `tempos`. 0: 120 quarter notes per minute.
    size_t tempo_count;
    // The song's time signatures, sorted by beats.
    const struct hocket_time_signature *signatures;
    // Number of `signatures`. 0: 4/4.
    size_t signature_count;
    // How many frames later than they belong the events arrive (`hocket_output`). They are written so much earlier.
    uint64_t latency_frames;
    // How many events find room while the disk does not answer, at most 16,777,216. 0 means 32,768.
    uint64_t room;
} hocket_event_take_settings;

// A new strip of a session. Add its effects and sends afterwards.
typedef struct hocket_new_strip {
    // Its name, which no other strip of the session may have.
    const char *name;
    // The group to which its output goes, by name. NULL: the master.
    const char *output;
    // The fader, in decibels. `-INFINITY` is silence.
    float gain_db;
    // The pan, from -1 (left) to +1 (right).
    float pan;
    // Whether it is silent. It is still processed.
    bool mute;
    // Whether only this strip and other soloed strips are audible.
    bool solo;
} hocket_new_strip;

// A piece of an audio file on the time line. Times are in seconds.
typedef struct hocket_clip {
    // The number of the file, as in `hocket_session_media`.
    uint32_t media;
    // When it starts on the session's time line.
    double start_s;
    // Where in the file it starts.
    double offset_s;
    // How long it plays. NaN: to the end of the file, or for ever if it loops.
    double length_s;
    // Whether it starts again at `offset_s` when the file ends.
    bool looped;
    // Level in decibels.
    float gain_db;
    // Length of the fade at the start.
    double fade_in_s;
    // Length of the fade at the end.
    double fade_out_s;
    // How both go: one of `HOCKET_FADE_LINEAR` (0), `HOCKET_FADE_EQUAL_POWER` and so on.
    uint32_t fade_curve;
} hocket_clip;

// A note of a clip.
typedef struct hocket_clip_note {
    // When it starts, counted from the start of the clip, in the clip's unit.
    double at;
    // How long it is held; more than 0.
    double length;
    // The key, 0 to 127. 60 is middle C.
    uint32_t key;
    // The velocity, 0 to 1.
    double velocity;
    // The MIDI channel, 0 to 15.
    uint32_t channel;
} hocket_clip_note;

// Notes on the time line of a track. Effects of the track with an event input play them, such as "synth".
typedef struct hocket_note_clip {
    // The unit of all its times: `HOCKET_LANE_BEATS` or `HOCKET_LANE_SECONDS`.
    uint32_t unit;
    // When it starts in the song.
    double start;
    // How long it plays. Notes that begin later are left out, and those that sound then end. NaN: to its last note.
    double length;
    // The notes, in any order. The call that gets them copies them.
    const struct hocket_clip_note *notes;
    // Number of `notes`.
    size_t count;
} hocket_note_clip;

// What a new track plays, all at once.
typedef struct hocket_track_sources {
    // Clips of audio. They add up in this order.
    const struct hocket_clip *clips;
    // Number of `clips`.
    size_t clip_count;
    // Clips of notes.
    const struct hocket_note_clip *note_clips;
    // Number of `note_clips`.
    size_t note_clip_count;
    // An input of the session, counted from 0 in the order of the file. `HOCKET_NO_INPUT`: none.
    uint32_t input;
} hocket_track_sources;

// A value of a parameter at a place of the song.
typedef struct hocket_lane_point {
    // Where, in the unit of the lane.
    double at;
    // The value, in the parameter's unit.
    double value;
    // The way to the next point: `HOCKET_SHAPE_HOLD` and so on. Behind the last point the value stays.
    uint32_t shape;
    // For `HOCKET_SHAPE_CURVE`: more than 0 starts slowly, less than 0 starts fast, near 0 it is a line; -20 to 20.
    // Otherwise it counts for nothing.
    float curve;
} hocket_lane_point;

// The values of a parameter over the song. Before the first point its value holds, behind the last one that of the
// last. Of several points at one place the first ends the way to it, and the last holds from there on.
typedef struct hocket_lane {
    // The points, sorted. The call that gets them copies them.
    const struct hocket_lane_point *points;
    // Number of `points`, 1 to 2,097,152.
    size_t count;
    // `HOCKET_LANE_BEATS` or `HOCKET_LANE_SECONDS`.
    uint32_t unit;
    // The distance of the values on the way between two points, in frames. 0 means 32, as often as the effects
    // compute their coefficients.
    uint32_t grid_frames;
} hocket_lane;

// What a lane moves, in a graph.
typedef struct hocket_node_lane {
    // The node.
    uint32_t node;
    // The parameter, as in `hocket_engine_set_node`.
    uint32_t param;
    // Its new lane. NULL removes the lane, and the parameter stays as it is.
    const struct hocket_lane *lane;
} hocket_node_lane;

// What a lane moves, in a session. A value out of the parameter's range counts as the nearest one in it.
typedef struct hocket_strip_lane {
    // The strip's name.
    const char *strip;
    // `HOCKET_LANE_GAIN` and so on. It says which of the next fields count.
    uint32_t target;
    // The effect's place in the strip's chain.
    uint32_t effect;
    // The name of the parameter or of the return.
    const char *name;
    // The new lane. NULL removes the lane, and the parameter stays as it is.
    const struct hocket_lane *lane;
} hocket_strip_lane;

// A node, and how much of it found no room.
typedef struct hocket_lost {
    // The node's name. Valid until the callback returns.
    const char *node;
    // How many values or events, since the node joined or the engine was reset.
    uint64_t count;
} hocket_lost;

// Called for each node of which something found no room.
typedef void (*hocket_lost_fn)(void *user, const struct hocket_lost *lost);

// An edit that took effect.
typedef struct hocket_applied {
    // Its number, as `hocket_last_edit` returned it.
    uint64_t edit;
    // The frame at which it took effect, counted from the start: the first one of a block.
    uint64_t frame;
} hocket_applied;

// Called for each edit that took effect.
typedef void (*hocket_applied_fn)(void *user, const struct hocket_applied *applied);

// What an engine does at present, and what the planner expected.
typedef struct hocket_standing {
    // The name of the schedule. It ends in a zero byte.
    char schedule[16];
    // Workers that the plan needs.
    uint32_t workers;
    // Units of the plan.
    uint32_t units;
    // How many frames the output lags behind the inputs, on the longest path.
    uint32_t latency_frames;
    // How long a block of full length takes, as the planner expected. NaN before the first measurement.
    double expected_ns;
    // How long it takes, as a running estimate. NaN before there is one.
    double measured_ns;
    // How long the serial walk takes, or took. NaN if it never ran.
    double serial_ns;
    // How long a block with the plan's workers takes, or took. NaN before that is known.
    double workers_ns;
    // How many times blocks with workers were compared with the serial blocks between them, at most 255.
    uint32_t compared;
    // Whether the leader walks the plan alone, without its workers (steer "auto").
    bool walks_alone;
    // Why the plan is walked in this way, in words. It ends in a zero byte.
    char reason[96];
} hocket_standing;

// The measured cost of a unit.
typedef struct hocket_unit_cost {
    // The unit's name. Valid until the callback returns.
    const char *unit;
    // A running estimate for a block of full length.
    double ns;
    // The kind of seat on which it ran. 0 is the fastest.
    uint32_t kind;
    // Whether another worker of the engine was working on the same core.
    bool sibling_busy;
} hocket_unit_cost;

// Called for each measured cost.
typedef void (*hocket_cost_fn)(void *user, const struct hocket_unit_cost *cost);

// What a thread of the engine requested, and what the system reports. The texts are valid until the callback
// returns.
typedef struct hocket_thread_report {
    // "leader", "worker 1", "guard of worker 0".
    const char *name;
    // The CPU that it requested. -1: none.
    int64_t cpu_asked;
    // The CPUs that the system reports for it.
    const char *cpus_got;
    // The scheduling class that it requested.
    const char *class_asked;
    // The class that the system reports.
    const char *class_got;
    // Why the system refused a request, and what would help. NULL: it granted all.
    const char *why;
} hocket_thread_report;

// Called for each thread.
typedef void (*hocket_report_fn)(void *user, const struct hocket_thread_report *report);

// A node whose output the engine silenced, or whose processor was silent itself because it failed.
typedef struct hocket_contained {
    // The node's name. Valid until the callback returns.
    const char *node;
    // In how many blocks the output was not finite. The engine reset the processor and silenced the node for
    // each.
    uint64_t not_finite;
    // How often the processor said that it failed (`hocket_main_failed`, or a plug-in that refused to process). It was
    // silent there. Each call of the processor that failed counts once. A call is a whole block. Only an effect of a session
    // that can be bypassed gets a block of more than 256 frames in pieces of up to 256 frames, and each piece counts: with
    // blocks of 1024 frames usually 4 for each block.
    uint64_t failed;
    // Whether its processor panicked, as an effect written in Rust may. The node is silent from then on.
    bool panicked;
} hocket_contained;

// Called for each such node.
typedef void (*hocket_contained_fn)(void *user, const struct hocket_contained *contained);

// What a policy requested of other threads of the process and of the system. The texts are valid until the
// callback returns.
typedef struct hocket_protection {
    // What it requested, in words. NULL: nothing.
    const char *asked;
    // What the system reports as granted. NULL: nothing.
    const char *got;
    // What the system refused and why, one line each. NULL: nothing.
    const char *refused;
    // How many other threads are now where the policy wants them, as the system reports.
    uint64_t moved;
} hocket_protection;

// Called with the result of a policy.
typedef void (*hocket_protection_fn)(void *user, const struct hocket_protection *protection);

// Whether the memory of the process is locked, so that the system does not swap it out. The text is valid
// until the callback returns.
typedef struct hocket_memory {
    // Whether the system accepted it.
    bool granted;
    // Why not, and what would help. NULL: the system granted it.
    const char *why;
} hocket_memory;

// Called with the result of the memory lock.
typedef void (*hocket_memory_fn)(void *user, const struct hocket_memory *memory);

// How many chains of a session or graph a cost table covers.
typedef struct hocket_adopted {
    // Chains whose cost the table has.
    uint32_t known;
    // Chains that it lacks.
    uint32_t unknown;
} hocket_adopted;

// A block that was late, or the worst until then. The texts are valid until the callback returns.
typedef struct hocket_explanation {
    // Number of the block since the engine started.
    uint64_t block;
    // The time left before the deadline. Negative: the block was late.
    int64_t slack_ns;
    // The cause that explains most, such as "seat-taken", "worker-woke-late" or "unit-slow". "unknown" if no
    // cause explains half. NULL: the block was in time and took no longer than usual, or the usual time is
    // unknown.
    const char *cause;
    // The explanation in one sentence. NULL if `cause` is NULL.
    const char *text;
} hocket_explanation;

// Called for each explained block.
typedef void (*hocket_explanation_fn)(void *user, const struct hocket_explanation *explanation);

// Called with a line of text, which is valid until the callback returns.
typedef void (*hocket_text_fn)(void *user, const char *text);

// What a processor reports about itself.
typedef struct hocket_notice {
    // `HOCKET_NOTICE_LATENCY` and so on. It says what the other fields mean.
    uint32_t kind;
    // The node's number in the graph.
    uint32_t node;
    // See the kinds.
    uint64_t frames;
    // See `HOCKET_NOTICE_LATENCY`. True for the other kinds.
    bool possible;
} hocket_notice;

// Called for each notice.
typedef void (*hocket_notice_fn)(void *user, const struct hocket_notice *notice);

// What was refused of a node's background work since the node joined.
typedef struct hocket_lost_work {
    // The node's name. Valid until the callback returns.
    const char *node;
    // Requests that were refused.
    uint64_t requests;
    // Answers that were refused.
    uint64_t answers;
} hocket_lost_work;

// Called for each node of whose background work something was refused.
typedef void (*hocket_lost_work_fn)(void *user, const struct hocket_lost_work *lost);

// Called with the bytes of a saved state. They are valid until the callback returns.
typedef void (*hocket_bytes_fn)(void *user, const void *state, size_t bytes);

// The state of a node's processor.
typedef struct hocket_saved_state {
    // The node's number in the graph.
    uint32_t node;
    // The node's name. Not NULL.
    const char *name;
    // What its main side wrote (`save` of `hocket_main_side`). NULL only if there are no bytes.
    const void *state;
    // How many bytes.
    size_t bytes;
} hocket_saved_state;

// Called for each state. What `state` points to is valid until the callback returns.
typedef void (*hocket_saved_state_fn)(void *user, const struct hocket_saved_state *state);

// A state that was not saved or not restored.
typedef struct hocket_state_failure {
    // The node's name.
    const char *node;
    // Why, for users, with the node's name.
    const char *why;
} hocket_state_failure;

// Called for each state that was not saved or not restored. The texts are valid until the callback returns.
typedef void (*hocket_state_failure_fn)(void *user, const struct hocket_state_failure *failure);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The interface number of the running library. Compare it with `HOCKET_ABI`.
//
// Thread: any. Cost: none.
uint32_t hocket_abi(void);

// Hocket's version, such as "0.1.0". The text belongs to the library: do not free it.
//
// Thread: any. Cost: none.
const char *hocket_version(void);

// An error's message: place, cause and remedy, in UTF-8, possibly several lines. The text lives as long as the
// error. For NULL it is empty.
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

// Frees an error. NULL does nothing.
//
// Thread: any but the leader. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_error_free(struct hocket_error *error);

// A status in words, for calls without a message. The text belongs to the library: do not free it. A number
// that is not a status also has a text.
//
// Thread: any. Cost: none.
const char *hocket_status_text(int32_t status);

// Settings for a block length and a rate. The rest are the defaults of `hocket bench`: "dataflow", "off",
// "hybrid", SCHED_FIFO 60.
//
// Thread: any. Cost: none.
struct hocket_settings hocket_settings_for(uint32_t frames,
                                           uint32_t rate_hz);

// Reads a session file (docs/session-format.md) and decodes its audio at `rate_hz`. 0 means the session's own
// rate. Of a file that is cut short or damaged, what can be read plays, and `hocket_session_warning` says so. Returns NULL on
// failure.
//
// Thread: control. Cost: reads files; memory for all audio, 8 bytes per frame.
//
// # Safety
// P.
struct hocket_session *hocket_session_load(const char *path,
                                           uint32_t rate_hz,
                                           struct hocket_error **error);

// Frees a session. NULL does nothing. Engines that started from it go on.
//
// Thread: control. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_session_free(struct hocket_session *session);

// The sample rate of the loaded session, in Hz. 0 for NULL.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
uint32_t hocket_session_rate_hz(const struct hocket_session *session);

// The length of the session in frames at its rate: the one in the file, or else to the end of the last clip.
// `HOCKET_ENDLESS` if a clip loops for ever, 0 for NULL.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
uint64_t hocket_session_frames(const struct hocket_session *session);

// The name of a strip. The order is: the tracks in file order, groups, returns, master. NULL past the end. The
// text lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_strip(const struct hocket_session *session,
                                 size_t index);

// The kind of an effect (docs/effects.md), by the index of its strip (as in `hocket_session_strip`) and its
// place in the strip's chain. NULL past the end. The text lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_effect(const struct hocket_session *session,
                                  size_t strip,
                                  size_t effect);

// The path of an audio file of the session, by the number that clips use (`hocket_clip`). NULL past the end.
// The text lives as long as the session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_media(const struct hocket_session *session,
                                 size_t index);

// A warning about the session: one line with its place. NULL past the end. The text lives as long as the
// session.
//
// Thread: any. Cost: none.
//
// # Safety
// P, H.
const char *hocket_session_warning(const struct hocket_session *session,
                                   size_t index);

// Like `hocket_session_load`, but long files stream (docs/disks.md): the engine reads them ahead while it plays. Those that
// cannot stream as they are, compressed or at another rate, are decoded into temporary files without a name first: in the
// folder that `TMPDIR` names, or the usual one. Each clip that streams keeps its file open; the call lets the process open as
// many as that takes, if the system allows it. Call `hocket_session_fill` before the first block. Where files cannot be
// played, the message names all of them. `HOCKET_STATUS_NOT_POSSIBLE`: no room for temporary files.
//
// Thread: control. Cost: reads files, and writes temporary ones on as many threads as there are CPUs, at most 16; memory
// for what does not stream; starts threads that read.
//
// # Safety
// P.
struct hocket_session *hocket_session_load_streaming(const char *path,
                                                     uint32_t rate_hz,
                                                     const struct hocket_disk_use *disk,
                                                     struct hocket_error **error);

// Waits until every clip that streams has been read as far ahead as its memory allows. Call it after the engine's start
// and reset, before the first block in real time. `HOCKET_STATUS_BUSY`: not all are ready after `patience_ms`, and the
// message names them. Playing is possible all the same; it may begin with silence. Only clips of engines that run now
// count.
//
// Thread: control. Cost: waits for the disk.
//
// # Safety
// P, H.
hocket_status hocket_session_fill(const struct hocket_session *session,
                                  uint64_t patience_ms,
                                  struct hocket_error **error);

// Brings a frame of the song into memory for every clip that plays there or soon after it. Call it before the song jumps
// there, and for the start of a loop. A stream keeps the latest two such places. `HOCKET_STATUS_BUSY` as in
// `hocket_session_fill`.
//
// Thread: control. Cost: waits for the disk. The engine has to run blocks meanwhile, or to have had no more than two such
// calls since its last block.
//
// # Safety
// P, H.
hocket_status hocket_session_preroll(const struct hocket_session *session,
                                     int64_t frame,
                                     uint64_t patience_ms,
                                     struct hocket_error **error);

// Calls `each` for every clip that streams in an engine that runs now: what was silent so far because the disk was too
// slow, and why. Ask before you stop the engine.
//
// Thread: control; `each` runs on the calling thread. Cost: a short lock, allocates; never waits for the disk.
//
// # Safety
// P, H, C.
hocket_status hocket_session_silences(const struct hocket_session *session,
                                      hocket_stream_silence_fn each,
                                      void *user,
                                      struct hocket_error **error);

// The name of a built-in effect (docs/effects.md), in the order of the documentation. NULL past the end. The
// text belongs to the library: do not free it.
//
// Thread: any but the leader. Cost: the first call allocates.
const char *hocket_effect_kind(size_t index);

// Describes an effect's parameter in `param`. False past the last parameter, and if there is no effect of
// this name.
//
// Thread: any but the leader. Cost: the first call allocates.
//
// # Safety
// P.
bool hocket_effect_param(const char *kind,
                         size_t index,
                         struct hocket_param *param);

// Writes where the song is at a frame of the block into `time`. A frame past the block counts on.
//
// Thread: the worker, inside the callback that got `clock` in its block. Cost: a search in the tempo map for each
// unit; no allocation.
//
// # Safety
// P (`clock` is the one of the running callback's block).
hocket_status hocket_time_at(const struct hocket_clock *clock,
                             uint32_t frame,
                             struct hocket_time *time);

// Makes a tempo map of points and time signatures, each list sorted by beats. Returns NULL on failure. The first
// tempo also holds before its point, and 4/4 before the first time signature. There must be a tempo.
//
// Thread: any but the leader. Cost: allocates.
//
// # Safety
// P (`tempos` and `signatures` have as many values as their counts).
struct hocket_tempo_map *hocket_tempo_map_new(uint32_t rate_hz,
                                              const struct hocket_tempo_point *tempos,
                                              size_t tempo_count,
                                              const struct hocket_time_signature *signatures,
                                              size_t signature_count,
                                              struct hocket_error **error);

// Frees a tempo map. NULL does nothing. Engines that use it go on.
//
// Thread: any but the leader. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_tempo_map_free(struct hocket_tempo_map *map);

// Writes the place at a frame of the song into `position`. A frame further than 2^40 from the start counts as the
// furthest one.
//
// Thread: any. Cost: a search in the map for each unit; no allocation.
//
// # Safety
// P, H.
hocket_status hocket_tempo_map_at(const struct hocket_tempo_map *map,
                                  int64_t frame,
                                  struct hocket_position *position);

// Writes the frame nearest to a beat (quarter notes since the start of the song) into `frame`. It refuses a beat
// that is not finite, and one further than 2^40 frames from the start.
//
// Thread: any but the leader. Cost: a search in the map.
//
// # Safety
// P, H.
hocket_status hocket_tempo_map_frame_at_beats(const struct hocket_tempo_map *map,
                                              double beats,
                                              int64_t *frame,
                                              struct hocket_error **error);

// Like `hocket_tempo_map_frame_at_beats`, for seconds since the start of the song.
//
// Thread: any but the leader. Cost: a multiplication.
//
// # Safety
// P, H.
hocket_status hocket_tempo_map_frame_at_seconds(const struct hocket_tempo_map *map,
                                                double seconds,
                                                int64_t *frame,
                                                struct hocket_error **error);

// Like `hocket_tempo_map_frame_at_beats`, for a bar and a beat in it, both counted from 0. A beat is a note of the
// time signature's denominator. A beat past the end of the bar counts on.
//
// Thread: any but the leader. Cost: two searches in the map.
//
// # Safety
// P, H.
hocket_status hocket_tempo_map_frame_at_bar(const struct hocket_tempo_map *map,
                                            int64_t bar,
                                            uint16_t beat,
                                            int64_t *frame,
                                            struct hocket_error **error);

// The most frames of a block. It may grow later (`grow` of `hocket_main_side`). 0 for NULL.
//
// Thread: the one that calls `join`, inside it. Cost: none.
//
// # Safety
// P (`host` is the one of the running callback).
uint32_t hocket_host_largest_block(const struct hocket_host *host);

// Has `work` done in the background, and stores where to request it. From now on `work->user` belongs to the engine.
// Answers come to the processor's `answered`. It refuses a second call for a processor, and work without a callback or
// without room for a message. `work->user` then still belongs to the host.
//
// If the system cannot start the thread, the start or exchange of the graph fails with `HOCKET_STATUS_NOT_POSSIBLE`.
//
// Thread: the one that calls `join`, inside it. Cost: allocates room for `messages` times `bytes` bytes twice; starts
// a thread.
//
// # Safety
// P (`host` is the one of the running callback), C.
hocket_status hocket_host_background(struct hocket_host *host,
                                     const struct hocket_background_work *work,
                                     struct hocket_work_requests **requests);

// Has `side` called on the engine's main thread, and stores where to ask for it. From now on `side->user` belongs to the
// engine. It refuses a second call for a processor, and a side with `load` or `grow` for a processor without `exchange`.
// `side->user` then still belongs to the host.
//
// Thread: the one that calls `join`, inside it. Cost: allocates; starts the main thread.
//
// # Safety
// P (`host` is the one of the running callback), C.
hocket_status hocket_host_main_side(struct hocket_host *host,
                                    const struct hocket_main_side *side,
                                    struct hocket_main_requests **requests);

// Requests background work: copies `bytes` bytes, which may be 0. The work begins soon after the block; offline the
// leader does it before the next block. What is refused is counted (`hocket_engine_lost_work`):
// `HOCKET_STATUS_BUSY` if as many requests wait as there is room for, `HOCKET_STATUS_BAD_INPUT` if this one is too long,
// `HOCKET_STATUS_NOT_POSSIBLE` if nobody does the work.
//
// Thread: the processor's, in any of its callbacks after `join`; one at a time. Cost: a copy; no allocation, lock or
// system call.
//
// # Safety
// P (`request` has `bytes` bytes), H, O.
hocket_status hocket_work_request(struct hocket_work_requests *requests,
                                  const void *request,
                                  size_t bytes);

// Sends an answer to the processor: copies `bytes` bytes, which may be 0. Answers come before the processor's next
// block, in the order of sending. What is refused is counted, with the same statuses as `hocket_work_request`.
//
// Thread: the one that works, inside the callback that got `answers`. Cost: a copy.
//
// # Safety
// P (`answer` has `bytes` bytes; `answers` is the one of the running callback).
hocket_status hocket_work_answer(struct hocket_work_answers *answers,
                                 const void *answer,
                                 size_t bytes);

// Whether the processor goes. Long work should return then: the removal of the processor and the stop of the engine wait
// for it. True for NULL.
//
// Thread: the one that works, inside the callback that got `answers`. Cost: a load.
//
// # Safety
// P (`answers` is the one of the running callback).
bool hocket_work_is_ending(const struct hocket_work_answers *answers);

// Asks for a call of the main side (`called`). Several requests before the main thread comes count as one.
//
// Thread: the processor's, in any of its callbacks after `join`; one at a time. Cost: two stores; no allocation, lock or
// system call.
//
// # Safety
// P, H, O.
hocket_status hocket_main_call(struct hocket_main_requests *requests);

// The output lags behind the input by so many frames from now on. The engine makes a plan with other delays, which fade
// in, and the host gets a notice (`hocket_engine_notices`). The last number counts.
//
// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
//
// # Safety
// P, H, O.
hocket_status hocket_main_latency_changed(struct hocket_main_requests *requests,
                                          uint32_t frames);

// The output goes on for so many frames after the input; `HOCKET_ENDLESS`: for ever. The host gets a notice
// (`hocket_engine_notices`). The last number counts.
//
// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
//
// # Safety
// P, H, O.
hocket_status hocket_main_tail_changed(struct hocket_main_requests *requests,
                                       uint64_t frames);

// The processor wants to be replaced by a new one. The host gets a notice (`hocket_engine_notices`).
//
// Thread: as `hocket_main_call`. Cost: as `hocket_main_call`.
//
// # Safety
// P, H, O.
hocket_status hocket_main_restart(struct hocket_main_requests *requests);

// The processor could not process what it got in this call of `process`, and has written silence. The engine counts the
// calls of this function and names the node (`failed` of `hocket_contained`). A processor of the host gets each block
// whole, so these are blocks.
//
// Thread: the processor's, in `process`; once for each such block. Cost: as `hocket_main_call`.
//
// # Safety
// P, H, O.
hocket_status hocket_main_failed(struct hocket_main_requests *requests);

// The processor got `events` messages that it had no room to pass on, for example to a plug-in. The engine counts them with
// those that found no room on an event edge, and names the node (`hocket_engine_lost_events`).
//
// Thread: the processor's, in `process`. Cost: as `hocket_main_call`.
//
// # Safety
// P, H, O.
hocket_status hocket_main_events_lost(struct hocket_main_requests *requests,
                                      uint64_t events);

// Appends bytes to a state that is being saved.
//
// Thread: the engine's main thread, inside `save`. Cost: a copy; allocates.
//
// # Safety
// P (`part` has `bytes` bytes; `state` is the one of the running callback).
hocket_status hocket_state_write(struct hocket_state *state, const void *part, size_t bytes);

// Makes a graph without nodes. Returns NULL only after an error in Hocket itself.
//
// Thread: control. Cost: allocates.
struct hocket_graph *hocket_graph_new(void);

// Frees a graph that was not used to start an engine, and its new processors. NULL does nothing.
//
// Thread: control. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_graph_free(struct hocket_graph *graph);

// Adds a node and returns its number, counted from 0. The node runs the host's processor, which this call
// copies. If `processor` is NULL, the node only sums. From now on `user` belongs to the graph, and later to
// the engine that starts from it. If the call fails (`HOCKET_NO_NODE`), `user` still belongs to the host.
// Reports and measured costs use `name`.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P, H, G, C.
uint32_t hocket_graph_add_node(struct hocket_graph *graph,
                               const char *name,
                               const struct hocket_processor *processor,
                               struct hocket_error **error);

// Adds one of Hocket's effects (docs/effects.md) and returns its number. `values` has one value per parameter
// in the order of the documentation. NULL means the defaults. A value out of range becomes the nearest value
// in range.
//
// Thread: control. Cost: allocates. The start of the engine builds the effect.
//
// # Safety
// P (`values` has `count` values), H, G.
uint32_t hocket_graph_add_effect(struct hocket_graph *graph,
                                 const char *name,
                                 const char *kind,
                                 const float *values,
                                 size_t count,
                                 struct hocket_error **error);

// Makes node `to` read node `from` with a linear gain (1.0: unchanged), from main port to main port. Both have equally
// many channels, or `from` has one. `hocket_graph_connect` makes every other edge. A node sums its inputs in the order in
// which their edges were added, so every worker computes the same bits. The call refuses an edge that would
// close a cycle.
//
// Thread: control. Cost: allocates. If `from` is newer than `to`, it searches for a cycle.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_add_edge(struct hocket_graph *graph,
                                    uint32_t from,
                                    uint32_t to,
                                    float gain_lin,
                                    struct hocket_error **error);

// Makes node `to` read node `from` on its side chain: a second input that only controls, such as a
// compressor's key. A node sums the edges of its side chain separately. Unless `hocket_graph_set_ports` says
// otherwise, a side chain has two channels. Otherwise like `hocket_graph_add_edge`.
//
// Thread: control. Cost: as `hocket_graph_add_edge`.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_add_side_chain(struct hocket_graph *graph,
                                          uint32_t from,
                                          uint32_t to,
                                          float gain_lin,
                                          struct hocket_error **error);

// Removes every edge from node `from` to node `to`, including those of the side chain and feedback.
//
// Thread: control. Cost: O(inputs of the node).
//
// # Safety
// P, H, G.
hocket_status hocket_graph_remove_edge(struct hocket_graph *graph,
                                       uint32_t from,
                                       uint32_t to,
                                       struct hocket_error **error);

// Removes a node and all its edges. If it is one of several outputs, the start or exchange of the graph fails until
// `hocket_graph_set_outputs` has set others. A new processor is freed at once. If an engine plays the processor, it is
// freed after the graph has been exchanged.
//
// Thread: control. Cost: O(edges).
//
// # Safety
// P, H, G.
hocket_status hocket_graph_remove_node(struct hocket_graph *graph,
                                       uint32_t node,
                                       struct hocket_error **error);

// Sets the output node. Every node has to lead to it. `hocket_graph_set_outputs` sets several.
//
// Thread: control. Cost: none.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_set_output(struct hocket_graph *graph,
                                      uint32_t node,
                                      struct hocket_error **error);

// Sets the channels of a node's ports. A new node is stereo. The host's own processors may have any ports. A node
// that only sums, and an engine input, may have any number of main channels. Hocket's effects stay stereo, with a
// side chain of up to two channels. The call refuses ports that an edge of the node does not fit.
//
// Thread: control. Cost: allocates; O(edges).
//
// # Safety
// P, H, G.
hocket_status hocket_graph_set_ports(struct hocket_graph *graph,
                                     uint32_t node,
                                     const struct hocket_ports *ports,
                                     struct hocket_error **error);

// Adds an edge. Otherwise like `hocket_graph_add_edge`.
//
// Thread: control. Cost: as `hocket_graph_add_edge`.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_connect(struct hocket_graph *graph,
                                   const struct hocket_edge *edge,
                                   struct hocket_error **error);

// Adds an edge that brings what `from` put out one largest block (`settings.frames`) ago, whatever the lengths of the
// blocks; or longer ago, see `hocket_graph_set_feedback_frames`. So it may close a cycle, and a node may feed itself. Delay
// compensation does not count it.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_feed_back(struct hocket_graph *graph,
                                     const struct hocket_edge *edge,
                                     struct hocket_error **error);

// Has all feedback arrive at least so many frames later; 0, the default, is one largest block. With the longest block that
// the sound is ever computed in, it sounds alike with all shorter ones. If a changed graph has another number, feedback
// begins anew.
//
// Thread: control. Errors: a graph that an engine plays; a number above 4194304.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_set_feedback_frames(struct hocket_graph *graph,
                                               uint32_t frames,
                                               struct hocket_error **error);

// Adds a node that plays an engine input, and returns its number (`HOCKET_NO_NODE` on failure). Before each block the
// leader writes what it plays (`hocket_engine_write_input`). Several nodes may play one input. Only feedback may lead
// to it.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P, H, G.
uint32_t hocket_graph_add_input(struct hocket_graph *graph,
                                const char *name,
                                uint16_t input,
                                uint32_t channels,
                                struct hocket_error **error);

// Sets the nodes that the host reads after each block, at least one. The first is what `hocket_engine_process` writes.
// Any node may be an output, also one that others read: a tap for a meter or a recorder. The other nodes may then lead
// anywhere; all nodes run in every block.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P (`nodes` has `count` numbers), H, G.
hocket_status hocket_graph_set_outputs(struct hocket_graph *graph,
                                       const uint32_t *nodes,
                                       size_t count,
                                       struct hocket_error **error);

// Says whether a node reads events and whether it writes them. A new node does neither. An engine input may write: it
// sends on what the host hands over (`hocket_engine_write_messages`). Other nodes need a processor of the host. The
// call refuses to take away a port that an event edge needs.
//
// Thread: control. Cost: O(edges).
//
// # Safety
// P, H, G.
hocket_status hocket_graph_set_event_ports(struct hocket_graph *graph,
                                           uint32_t node,
                                           bool reads,
                                           bool writes,
                                           struct hocket_error **error);

// Brings the events that node `from` writes to node `to`: notes, MIDI and changes of parameters, at exact frames and
// delayed as audio is. It is an edge as others are: it must not close a cycle, and `hocket_graph_remove_edge` removes
// it. If it goes, the notes that it started end. Those of a node that keeps time end where the song stops or jumps.
//
// Thread: control. Cost: as `hocket_graph_add_edge`.
//
// # Safety
// P, H, G.
hocket_status hocket_graph_connect_events(struct hocket_graph *graph,
                                          uint32_t from,
                                          uint32_t to,
                                          struct hocket_error **error);

// Hands messages over for an engine input whose node writes events. Frames count from the first one of the next
// block. Messages may come in any order, and those behind the block wait. `taken` gets how many of them the engine took,
// counted from the first. The host still has the others: an input takes 1024 messages per block, and note ends besides.
// It refuses an input that the graph does not have, and a message that is none. `taken` may be NULL.
//
// Thread: leader, between blocks. Cost: O(count) in order of frames. It does not allocate and does not wait.
//
// # Safety
// P (`messages` has `count` messages), H.
hocket_status hocket_engine_write_messages(const struct hocket_engine *engine,
                                           uint16_t input,
                                           const struct hocket_message *messages,
                                           size_t count,
                                           size_t *taken);

// Writes the message at `index` of a block into `message`. Messages count from 0 to `message_count` of the block, and are
// sorted by frame, then by edge, then in the order in which they were sent.
//
// Thread: the worker, inside the callback that got the block. Cost: O(1); no allocation.
//
// # Safety
// P (`block` is the one of the running callback).
hocket_status hocket_message_at(const struct hocket_block *block,
                                size_t index,
                                struct hocket_message *message);

// Sends a message to the nodes that read the events of this one. A frame behind the block counts as its last one.
// `HOCKET_STATUS_BUSY`: there is no room in this block. A port takes 1024 messages per block, and note ends besides; the
// engine counts the others. It refuses a message that is none, and a node that does not write events.
//
// Thread: the worker, inside the callback that got the block. Cost: O(1) in order of frames; no allocation.
//
// # Safety
// P (`block` is the one of the running callback).
hocket_status hocket_message_send(const struct hocket_block *block,
                                  const struct hocket_message *message);

// Stores where the bytes of the system-exclusive message at `index` of a block are, from 0xF0 to 0xF7. They are valid until
// the callback returns. It refuses messages of other kinds.
//
// Thread: the worker, inside the callback that got the block. Cost: O(1); no allocation.
//
// # Safety
// P (`block` is the one of the running callback).
hocket_status hocket_message_sysex(const struct hocket_block *block,
                                   size_t index,
                                   const uint8_t **bytes,
                                   size_t *count);

// Sends a system-exclusive message: copies `count` bytes, from 0xF0 to 0xF7. A port has room for 4096 bytes of them per
// block. Otherwise like `hocket_message_send`.
//
// Thread: the worker, inside the callback that got the block. Cost: a copy; no allocation.
//
// # Safety
// P (`block` is the one of the running callback, `bytes` has `count` bytes).
hocket_status hocket_message_send_sysex(const struct hocket_block *block,
                                        uint32_t frame,
                                        const uint8_t *bytes,
                                        size_t count);

// Hands a system-exclusive message over for an engine input whose node writes events: copies `count` bytes, from 0xF0 to
// 0xF7. `HOCKET_STATUS_BUSY`: there is no room; an input takes 4096 bytes of them per block. Otherwise like
// `hocket_engine_write_messages`.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`bytes` has `count` bytes), H.
hocket_status hocket_engine_write_sysex(const struct hocket_engine *engine,
                                        uint16_t input,
                                        uint32_t frame,
                                        const uint8_t *bytes,
                                        size_t count);

// Copies the messages that an output's node sent in the last block, in order of frames: at most `room` of them into
// `messages`. Stores in `count` how many there are. Frames count from the block's first one; as the output's audio, the
// messages lag by its latency (`hocket_engine_output`). It refuses an output that the graph does not have, one whose node
// does not write events, and an engine input. Notes that still sound when the host stops, or when an edit takes the output
// away, are the host's to end.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`messages` has room for `room` messages), H.
hocket_status hocket_engine_read_messages(const struct hocket_engine *engine,
                                          uint32_t output,
                                          struct hocket_message *messages,
                                          size_t room,
                                          size_t *count);

// Copies the bytes of the system-exclusive message at `index` of those of `hocket_engine_read_messages`, from 0xF0 to
// 0xF7: at most `room` of them into `bytes`. Stores in `count` how many it has. It refuses messages of other kinds, and
// otherwise what `hocket_engine_read_messages` refuses.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`bytes` has room for `room` bytes), H.
hocket_status hocket_engine_read_sysex(const struct hocket_engine *engine,
                                       uint32_t output,
                                       size_t index,
                                       uint8_t *bytes,
                                       size_t room,
                                       size_t *count);

// Calls `each` for every node that depends on live input, each followed by the edges that bring something live to it, and
// at the end for the feedback edges that do. Clips, notes, automation and the transport are known ahead, so they
// make nothing live. For a graph that an engine plays, ask a copy (`hocket_engine_graph`).
//
// Thread: control; `each` runs on the calling thread. Cost: O(nodes + edges); allocates.
//
// # Safety
// P, H, G, C.
hocket_status hocket_graph_liveness(const struct hocket_graph *graph,
                                    hocket_live_fn each,
                                    void *user,
                                    struct hocket_error **error);

// Calls `body` with every number below `passes`, once each and in any order, on this thread and on workers that have
// nothing else to do. It returns after the last one, and the caller then sees what all of them wrote.
//
// It is for processors with work that several cores can do, such as the voices of an instrument. Passes must not
// depend on each other: then the output has the same bits with any number of workers. Passes of less than a few
// microseconds are not worth it. What holds in a block holds in every pass: no allocation, lock or system call. A pass
// may use the rows, events and time of the block. It must not send messages and must not spread work itself.
//
// Thread: the worker, inside the callback that got the block. Cost: about a microsecond, and the wait for the last
// pass; no allocation.
//
// # Safety
// P (`block` is the one of the running callback), C, S.
hocket_status hocket_block_spread(const struct hocket_block *block,
                                  uint32_t passes,
                                  hocket_pass_fn body,
                                  void *user);

// Starts an engine for a session, and returns NULL on failure. When it returns, every worker waits on its
// seat. A right that the system refuses is not a failure: see `hocket_engine_reports`.
//
// Thread: control; call it before the leader is a real-time thread. Cost: starts threads and allocates all
// memory that blocks need. With a priority, it also locks the memory of the process.
//
// # Safety
// P, H.
struct hocket_engine *hocket_engine_start(const struct hocket_session *session,
                                          const struct hocket_settings *settings,
                                          struct hocket_error **error);

// Starts an engine for a graph. Like `hocket_engine_start`, but the engine has nodes instead of strips. The
// call consumes the graph, even if it fails.
//
// Thread: control; call it before the leader is a real-time thread. Cost: starts threads and allocates all
// memory that blocks need.
//
// # Safety
// P, H, X (for the graph), C.
struct hocket_engine *hocket_engine_start_graph(struct hocket_graph *graph,
                                                const struct hocket_settings *settings,
                                                struct hocket_error **error);

// Stops an engine, ends its threads and frees it. NULL does nothing.
//
// - A leader that has entered must leave first, or call this itself. As long as its thread lives, other
//   threads get `HOCKET_STATUS_WRONG_THREAD`. While it is inside a block, they get `HOCKET_STATUS_BUSY`. In
//   both cases the engine goes on.
// - If the leader's thread has ended without leaving, any thread may stop the engine. The engine then undoes
//   what the policy changed for other threads and for the system. The leader's own CPUs and class ended with
//   its thread.
// - A thread that ends inside a block (`pthread_exit` in a callback) violates C. The engine stays busy for
//   ever.
//
// Thread: control, or the leader between blocks. Cost: waits for the threads, frees memory.
//
// # Safety
// P, H, X.
hocket_status hocket_engine_stop(struct hocket_engine *engine);

// Makes the calling thread the leader until it leaves: moves it to its seat and requests its scheduling
// class. This call is optional: without it, the thread that processes blocks keeps its CPUs and class. A
// second call on the same thread does nothing. If the thread of the last leader has ended without leaving,
// the calling thread takes over.
//
// Thread: the one that will process blocks, before the first block. Cost: system calls, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_enter(const struct hocket_engine *engine);

// Restores the CPUs and the scheduling class that the calling thread had before it entered. It does
// nothing if no leader has entered.
//
// Thread: the one that entered, between blocks; or any thread, if that one has ended. Cost: system calls.
//
// # Safety
// P, H.
hocket_status hocket_engine_leave(const struct hocket_engine *engine);

// Follows the leader wherever a sound server runs it: for the process callback of JACK, PipeWire or a plug-in host, whose
// thread is not yours to pin or to promote. The engine never changes the leader's class, priority and CPUs. It seats
// the workers beside it and gives them a class just below its own. Every 40 ms it looks whether the leader has moved.
//
// Call it on a control thread before the server calls back. The callback then processes blocks and does not enter. It
// refuses an engine that a leader has entered, or that follows already. Then let the callback return without touching
// the engine, close the server's client, and stop the engine.
//
// Thread: control, between blocks. Cost: system calls, allocates; starts a thread. For the leader some nanoseconds per
// block.
//
// # Safety
// P, H.
hocket_status hocket_engine_follow(const struct hocket_engine *engine,
                                   struct hocket_error **error);

// Ends what `hocket_engine_follow` began: workers and guards get back the seats and the class of the start. It does
// nothing if the engine does not follow.
//
// Thread: control. Cost: waits for a thread; system calls.
//
// # Safety
// P, H.
hocket_status hocket_engine_unfollow(const struct hocket_engine *engine,
                                     struct hocket_error **error);

// If the engine follows its leader, looks at it now, moves workers where that is due, and calls `tell` once with what it
// found. `hocket_engine_reports` then has what workers and guards obtained.
//
// Thread: any but the leader; `tell` runs on the calling thread. Cost: system calls, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_followed(const struct hocket_engine *engine,
                                     hocket_follow_fn tell,
                                     void *user,
                                     struct hocket_error **error);

// The monotonic clock in nanoseconds, which planned starts use (`CLOCK_MONOTONIC` on Linux).
//
// Thread: any, including the leader. Cost: one read of the clock.
uint64_t hocket_now_ns(void);

// Processes one block whose planned start is now. Otherwise like `hocket_engine_process_planned`.
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

// Processes one block of 1 to `hocket_engine_largest_block` frames and writes the first two channels of the first output,
// 1.0 = full scale. If that output has one channel, both rows get it. `signaled_ns` is the planned start, on the
// clock of `hocket_now_ns`. `times` may be NULL. The call writes only if it returns `HOCKET_STATUS_OK`.
//
// Thread: leader, one at a time. A second caller gets `HOCKET_STATUS_BUSY` at once. Cost: the block. It does
// not allocate and does not wait for a lock. It makes only the engine's own system calls, which the
// documentation of hocket-engine lists.
//
// # Safety
// P (`out_left` and `out_right` have room for `frames` samples), H.
hocket_status hocket_engine_process_planned(const struct hocket_engine *engine,
                                            uint32_t frames,
                                            uint64_t signaled_ns,
                                            float *out_left,
                                            float *out_right,
                                            struct hocket_block_times *times);

// Processes one block and writes no output: read the outputs afterwards (`hocket_engine_read_output`). Otherwise
// like `hocket_engine_process_planned`.
//
// Thread: leader. Cost: as `hocket_engine_process_planned`.
//
// # Safety
// P, H.
hocket_status hocket_engine_run(const struct hocket_engine *engine,
                                uint32_t frames,
                                uint64_t signaled_ns,
                                struct hocket_block_times *times);

// The most frames of a block: `settings.frames`, or what `hocket_engine_set_largest_block` has made of it. 0 for NULL,
// and while another thread leads.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
uint32_t hocket_engine_largest_block(const struct hocket_engine *engine);

// Says whether blocks have no deadline from the next one on, as for a file or for a sound server that freewheels. The
// leader then does the background work of processors itself before each block, and waits until main sides were called
// and new latencies are planned. So the output has the same bits with every schedule and number of workers. Live,
// answers come when they are ready.
//
// With `settings.main_thread` "starting" and another thread as the leader, a block waits for `hocket_engine_service`.
//
// Thread: leader, between blocks. Cost: a system call where it ends; the blocks then cost what the work costs.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_offline(const struct hocket_engine *engine,
                                        bool offline);

// Sets the planned start of the block after the next one (on the clock of `hocket_now_ns`), so that workers
// can be awake by then. It applies to one block. A host that knows its period calls this before each block.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_engine_expect_next(const struct hocket_engine *engine,
                                        uint64_t next_ns);

// Forgets all history (delays, reverbs, position): the next block is the session's first.
//
// Thread: leader, between blocks. Cost: O(memory of all processors). Do not call it in a live run.
//
// # Safety
// P, H.
hocket_status hocket_engine_reset(const struct hocket_engine *engine);

// Calls `each` for every thread of the engine: the leader, then workers and guards.
//
// Thread: leader, between blocks; `each` runs on the calling thread. Cost: allocates, so do not call it for
// every block of a live run.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_totals(const struct hocket_engine *engine,
                                   hocket_totals_fn each,
                                   void *user);

// The number of channels of an engine input (`hocket_graph_add_input`). 0 if the graph has no such input, and
// while another thread leads.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
uint32_t hocket_engine_input_channels(const struct hocket_engine *engine,
                                      uint16_t input);

// Writes what an engine input plays in the next block: `channel_count` rows of `frames` samples each, as many as
// that block has. Call it before each block. Channels that nobody writes are silent, and so is the whole input in
// a block for which nobody calls this. It refuses an input or a channel that the graph does not have.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`channels` has `channel_count` rows of `frames` samples), H.
hocket_status hocket_engine_write_input(const struct hocket_engine *engine,
                                        uint16_t input,
                                        const float *const *channels,
                                        uint32_t channel_count,
                                        uint32_t frames);

// Writes what an output has into `found`. Outputs count from 0, in the order of `hocket_graph_set_outputs`. It
// refuses an output that the graph does not have.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_engine_output(const struct hocket_engine *engine,
                                   uint32_t output,
                                   struct hocket_output *found);

// Copies the first `channel_count` channels of an output in the last block: the main channels, then the extra
// ones. It refuses an output or a channel that the graph does not have, and then it writes nothing.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`channels` has `channel_count` rows with room for `frames` samples), H.
hocket_status hocket_engine_read_output(const struct hocket_engine *engine,
                                        uint32_t output,
                                        float *const *channels,
                                        uint32_t channel_count,
                                        uint32_t frames);

// Sends the transport a command. It waits in order with the edits, but it is no edit: it has no number.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates. `HOCKET_STATUS_BUSY` if 256 edits and
// commands are on their way, or if 16 commands with a frame other than 0 are on their way or wait for it.
//
// # Safety
// P, H.
hocket_status hocket_engine_transport(const struct hocket_engine *engine,
                                      const struct hocket_command *command,
                                      struct hocket_error **error);

// Gives the transport a command before the next block. `HOCKET_STATUS_BUSY` for a later frame if 16 commands wait for
// their frame already, or are on their way from `hocket_engine_transport`.
//
// Thread: leader, between blocks. Cost: no allocation, no lock.
//
// # Safety
// P, H.
hocket_status hocket_engine_command(const struct hocket_engine *engine,
                                    const struct hocket_command *command);

// Writes where the song is into `state`. Edits and commands that wait for the next block are not in it.
//
// Thread: leader, between blocks. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_engine_transport_state(const struct hocket_engine *engine,
                                            struct hocket_transport_state *state);

// Goes on with other tempos and time signatures from the next block on. The song stays at its frame. The map has
// to have the engine's sample rate. The engine copies it.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates. `HOCKET_STATUS_BUSY` if 256
// edits and commands are on their way.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_tempo_map(const struct hocket_engine *engine,
                                          const struct hocket_tempo_map *map,
                                          struct hocket_error **error);

// Makes a recorder. Its threads start with the first take on their device. Returns NULL on failure.
//
// Thread: control. Cost: allocates.
//
// # Safety
// P.
struct hocket_recorder *hocket_recorder_new(struct hocket_error **error);

// Ends all takes of a recorder with what was given so far, waits until they are on the disk, and frees the recorder.
// The handles of its takes stay: finish or free each. NULL does nothing.
//
// Thread: control. Cost: waits for the disk.
//
// # Safety
// P, H, X.
void hocket_recorder_free(struct hocket_recorder *recorder);

// Begins a take: creates the file, and beside it one that ends in `.take.toml`, which says what the take is and where it
// is silent (docs/disks.md). Frames are written as they come. Returns NULL on failure, and leaves nothing behind then.
//
// Thread: control. Cost: waits for the disk; memory for `ring_frames`, and 512 KiB.
//
// # Safety
// P, H.
struct hocket_take *hocket_take_begin(const struct hocket_recorder *recorder,
                                      const struct hocket_take_settings *settings,
                                      struct hocket_error **error);

// Records frames. Row i is channel i; 1.0 is full scale. `channel_count` is at most that of the take, and channels
// without a row are silent. So are the frames if there is no row at all. `HOCKET_STATUS_BUSY`: some frames found no room, because the disk is too slow. They are
// silent and counted.
//
// Thread: real-time, such as the leader; one at a time. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P (`channels` has `channel_count` rows of `frames` samples), H.
hocket_status hocket_take_write(const struct hocket_take *take,
                                const float *const *channels,
                                uint32_t channel_count,
                                uint32_t frames);

// Says that frames passed which nobody had, such as periods that a sound card skipped. They are silent in the file.
//
// Thread: as `hocket_take_write`. Cost: none.
//
// # Safety
// P, H.
hocket_status hocket_take_skip(const struct hocket_take *take,
                               uint64_t frames);

// Records an output of the last block: as many of its channels as the take has, the main ones first, then the extra
// ones. It refuses an output that the graph does not have, and one with fewer channels than the take.
// `HOCKET_STATUS_BUSY` as in `hocket_take_write`.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P, H.
hocket_status hocket_engine_record(const struct hocket_engine *engine,
                                   uint32_t output,
                                   const struct hocket_take *take,
                                   uint32_t frames);

// Writes how a take stands into `progress`.
//
// Thread: control. Cost: a short lock; never waits for the disk.
//
// # Safety
// P, H.
hocket_status hocket_take_progress(const struct hocket_take *take,
                                   struct hocket_take_state *progress,
                                   struct hocket_error **error);

// Ends a take, waits until everything is on the disk, calls `tell` once with what became of it, and frees the take.
// `HOCKET_STATUS_BUSY`: that takes longer than `patience_ms`, or a thread is writing to the take at this moment. The
// take accepts no more frames, and the handle stays: call again, or free it. With `HOCKET_STATUS_OK` and
// `HOCKET_STATUS_FAULT` the take is gone.
//
// Thread: control; `tell` runs on the calling thread. Cost: waits for the disk.
//
// # Safety
// P, H, X, C.
hocket_status hocket_take_finish(struct hocket_take *take,
                                 uint64_t patience_ms,
                                 hocket_take_report_fn tell,
                                 void *user,
                                 struct hocket_error **error);

// Ends a take and frees its handle without waiting for the disk. The recorder still writes what it was given. NULL
// does nothing.
//
// Thread: control. Cost: frees memory.
//
// # Safety
// P, H, X.
void hocket_take_free(struct hocket_take *take);

// Begins a take of notes and messages: creates a MIDI file that is valid at every moment (docs/disks.md). The handle is one as
// `hocket_take_begin` returns, for `hocket_take_progress`, `_finish` and `_free`. Returns NULL on failure, and leaves nothing
// behind then.
//
// Thread: control. Cost: waits for the disk; memory for `room` events of 48 bytes.
//
// # Safety
// P (`tempos` and `signatures` have as many values as their counts), H.
struct hocket_take *hocket_take_begin_events(const struct hocket_recorder *recorder,
                                             const struct hocket_event_take_settings *settings,
                                             struct hocket_error **error);

// Records the events that an output's node sent in the last block of so many frames. The take's first block says where in the
// song it begins; from there on it goes in a straight line, also where the song jumps. It refuses what
// `hocket_engine_read_messages` refuses, and a take of audio. `HOCKET_STATUS_BUSY`: some events found no room, because the disk
// is too slow. They are counted, and all notes that sound end at that place in the file.
//
// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
//
// # Safety
// P, H.
hocket_status hocket_engine_record_events(const struct hocket_engine *engine,
                                          uint32_t output,
                                          const struct hocket_take *take,
                                          uint32_t frames);

// The number of periods for which the device had nothing new to play because of this block: its own, if it was
// late, and `skipped_periods`, which passed after it without a block. The host counts those by its own clock.
// `hocket play` and `hocket bench` count in the same way. NULL for `times` means a block in time.
//
// Thread: any. Cost: a comparison.
//
// # Safety
// P.
uint64_t hocket_block_misses(const struct hocket_block_times *times,
                             uint64_t skipped_periods);

// The number of the last edit that the calling thread sent to any engine. `HOCKET_NO_EDIT` before the first.
// Each engine counts its accepted edits from 0. `hocket_engine_applied` reports at which frame an edit
// took effect.
//
// Thread: any but the leader. Cost: none.
uint64_t hocket_last_edit(void);

// Sets a strip's fader, in decibels. `-INFINITY` is silence. Smoothed. It applies from the next block on.
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

// Mutes a strip, or makes it audible again. Smoothed.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_mute(const struct hocket_engine *engine,
                                     const char *strip,
                                     bool mute,
                                     struct hocket_error **error);

// Sets or ends a strip's solo. Every strip that it makes audible or silent is faded.
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
// (docs/effects.md). A value out of range becomes the nearest value in range. The call refuses parameters
// that decide memory or latency.
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

// Bypasses the effect at `effect` in a strip's chain, or ends its bypass. Cross-faded.
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

// Adds a group at the end of the list.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_add_group(const struct hocket_engine *engine,
                                      const struct hocket_new_strip *strip,
                                      struct hocket_error **error);

// Adds a return at the end of the list.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_add_return(const struct hocket_engine *engine,
                                       const struct hocket_new_strip *strip,
                                       struct hocket_error **error);

// Removes a track, group or return. It runs on while it fades out (`hocket_engine_fade_edits`). The call refuses this
// as long as other strips play through it or send to it.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_remove_strip(const struct hocket_engine *engine,
                                         const char *strip,
                                         struct hocket_error **error);

// Routes a strip's output to a group, or to the master for NULL. The old route fades into the new one.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_route(const struct hocket_engine *engine,
                                  const char *strip,
                                  const char *to,
                                  struct hocket_error **error);

// Sends a strip to a return, before or after its fader. It adds the send, or changes the level and tap of the
// existing one.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_send(const struct hocket_engine *engine,
                                 const char *strip,
                                 const char *to,
                                 float gain_db,
                                 bool before_fader,
                                 struct hocket_error **error);

// Removes a strip's send to a return.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_remove_send(const struct hocket_engine *engine,
                                        const char *strip,
                                        const char *to,
                                        struct hocket_error **error);

// Inserts an effect into a strip's chain, before the one at `at`. If `at` is the chain's length, it goes to
// the end. Cross-faded. For `values` see `hocket_graph_add_effect`.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; builds the effect and a plan.
//
// # Safety
// P (`values` has `count` values), H.
hocket_status hocket_engine_insert_effect(const struct hocket_engine *engine,
                                          const char *strip,
                                          uint32_t at,
                                          const char *kind,
                                          const float *values,
                                          size_t count,
                                          struct hocket_error **error);

// Removes the effect at `effect` from a strip's chain. Cross-faded.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_remove_effect(const struct hocket_engine *engine,
                                          const char *strip,
                                          uint32_t effect,
                                          struct hocket_error **error);

// Whether routes, sends, effects and strips that come or go fade from now on, over 512 frames, as they do at the start.
// Otherwise they change from one block to the next, and fades that run end. A replay of the same edits sounds the same if
// it is made with the same setting. It is no edit and has no number.
//
// Thread: any but the leader. Cost: a lock among control threads.
//
// # Safety
// P, H.
hocket_status hocket_engine_fade_edits(const struct hocket_engine *engine,
                                       bool on,
                                       struct hocket_error **error);

// Adds a track at the end of the list. Its clips play from the session's position.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P (`clips` has `count` clips), H.
hocket_status hocket_engine_add_track(const struct hocket_engine *engine,
                                      const struct hocket_new_strip *strip,
                                      const struct hocket_clip *clips,
                                      size_t count,
                                      struct hocket_error **error);

// Adds a track at the end of the list, with clips of audio, clips of notes or an input. Add the effect that plays the notes
// afterwards (`hocket_engine_insert_effect`).
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P (`sources` has as many clips as it says), H.
hocket_status hocket_engine_add_track_with(const struct hocket_engine *engine,
                                           const struct hocket_new_strip *strip,
                                           const struct hocket_track_sources *sources,
                                           struct hocket_error **error);

// Sets a parameter of a node, from the start of the next block. For one of Hocket's effects, `param` is the
// place in the documentation, as in `hocket_effect_param`. For the host's own processors the host chooses
// the numbers, and the processor gets the change as an event.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_node(const struct hocket_engine *engine,
                                     uint32_t node,
                                     uint32_t param,
                                     float value,
                                     struct hocket_error **error);

// Copies the graph that an engine plays. Change the copy and pass it to `hocket_engine_exchange_graph`.
// Nodes keep their numbers. Returns NULL on failure.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H.
struct hocket_graph *hocket_engine_graph(const struct hocket_engine *engine,
                                         struct hocket_error **error);

// Replaces the graph by a changed copy. The call consumes the copy, even if it fails. Nodes that stay keep
// their processors and their state, and the delays of the edges between them. The call refuses a copy if another one
// has been exchanged since it was made.
//
// Edges that come, go or change their gain fade over 512 frames, if the node that reads stays with its ports. What has
// been removed runs on for that time. It is freed later, when a control thread sends an edit or calls
// `hocket_engine_is_settled`. Outputs change from one block to the next.
//
// Thread: any but the leader. Cost: a lock among control threads; builds effects and a plan.
//
// # Safety
// P, H, X (for the graph), C.
hocket_status hocket_engine_exchange_graph(const struct hocket_engine *engine,
                                           struct hocket_graph *graph,
                                           struct hocket_error **error);

// Like `hocket_engine_exchange_graph`, but all changes happen from one block to the next, without a fade. Fades that run
// end.
//
// Thread: any but the leader. Cost: as `hocket_engine_exchange_graph`.
//
// # Safety
// P, H, X (for the graph), C.
hocket_status hocket_engine_exchange_graph_at_once(const struct hocket_engine *engine,
                                                   struct hocket_graph *graph,
                                                   struct hocket_error **error);

// What edits that were to fade changed from one block to the next, since the start: edges whose old and new ways together would
// have made a cycle, edges of nodes that got other ports, outputs that read another node, and the edges of edits whose old and
// new graph were too large to play together. 0 for NULL.
//
// Thread: any but the leader. Cost: a lock among control threads.
//
// # Safety
// P, H.
uint64_t hocket_engine_refused_fades(const struct hocket_engine *engine);

// Gives parameters of nodes lanes, exchanges their lanes or removes them, all before the next block. It is one edit. If
// anything in the list is wrong, nothing changes. Of several lanes for one parameter the last one counts. Call it
// before the first block for lanes that play from the start.
//
// The values come in `events` of the node's block at their frames. A node behind a latency gets them later by it, as it
// gets the sound. A new lane begins with the value where the song is. At one frame an edit wins over the lane, and the
// lane's next value wins over the edit. A node keeps its lanes when the graph is exchanged, and lanes in beats follow
// `hocket_engine_set_tempo_map`.
//
// Thread: any but the leader. Cost: O(points), for which it holds a lock among control threads; allocates.
//
// # Safety
// P (`lanes` has `count` values), H.
hocket_status hocket_engine_automate_nodes(const struct hocket_engine *engine,
                                           const struct hocket_node_lane *lanes,
                                           size_t count,
                                           struct hocket_error **error);

// Like `hocket_engine_automate_nodes`, for an engine that plays a session.
//
// Thread: any but the leader. Cost: as `hocket_engine_automate_nodes`.
//
// # Safety
// P (`lanes` has `count` values), H.
hocket_status hocket_engine_automate_strips(const struct hocket_engine *engine,
                                            const struct hocket_strip_lane *lanes,
                                            size_t count,
                                            struct hocket_error **error);

// Calls `each` for every node whose lanes gave more values than it has room for in a block. Every second value on a
// ramp goes then, points stay. A node with n lanes has room for one value per lane and frame as long as that is at most
// 4096, or else for n * (frames / 16 + 16) values if that is more.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_thinned_out(const struct hocket_engine *engine,
                                        hocket_lost_fn each,
                                        void *user,
                                        struct hocket_error **error);

// Calls `each` for every node that events did not reach or leave, because they found no room. A port takes 1024 events
// per block, and note ends besides. What a processor had no room to pass on counts too (`hocket_main_events_lost`).
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_lost_events(const struct hocket_engine *engine,
                                        hocket_lost_fn each,
                                        void *user,
                                        struct hocket_error **error);

// Whether the engine has carried out every edit. True for NULL.
//
// Thread: any but the leader. Cost: a lock among control threads; frees what plans no longer need.
//
// # Safety
// P, H.
bool hocket_engine_is_settled(const struct hocket_engine *engine);

// Calls `each` for the edits that took effect since the last call, in order, and forgets them. An engine
// remembers the newest `HOCKET_APPLIED_KEPT`, so its memory does not grow if you never call this.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control
// threads.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_applied(const struct hocket_engine *engine,
                                    hocket_applied_fn each,
                                    void *user,
                                    struct hocket_error **error);

// Writes what an engine does at present into `standing`.
//
// Thread: any but the leader. Cost: a lock among control threads.
//
// # Safety
// P, H.
hocket_status hocket_engine_standing(const struct hocket_engine *engine,
                                     struct hocket_standing *standing,
                                     struct hocket_error **error);

// Calls `each` for every measured unit of the present plan, once for each kind of seat and state of the
// sibling.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
// allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_costs(const struct hocket_engine *engine,
                                  hocket_cost_fn each,
                                  void *user,
                                  struct hocket_error **error);

// Calls `each` for every thread: the leader, if one has entered, then workers and guards.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a short lock, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_reports(const struct hocket_engine *engine,
                                    hocket_report_fn each,
                                    void *user,
                                    struct hocket_error **error);

// Calls `each` for every node whose processor panicked, or whose output was not finite or whose processor failed since it
// joined or since the last reset of the engine. `not_finite` counts blocks, `failed` calls of the processor
// (`hocket_contained`).
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
// allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_contained(const struct hocket_engine *engine,
                                      hocket_contained_fn each,
                                      void *user,
                                      struct hocket_error **error);

// If a leader has entered, calls `tell` once with the result of the settings' policy.
//
// Thread: any but the leader; `tell` runs on the calling thread. Cost: a short lock, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_protection(const struct hocket_engine *engine,
                                       hocket_protection_fn tell,
                                       void *user,
                                       struct hocket_error **error);

// Calls `tell` once if the engine requested to lock the memory of the process, as it does with a priority.
//
// Thread: any but the leader; `tell` runs on the calling thread. Cost: a short lock, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_memory(const struct hocket_engine *engine,
                                   hocket_memory_fn tell,
                                   void *user,
                                   struct hocket_error **error);

// Makes a plan from measured costs and uses it from now on, even if the settings do not steer. Returns
// `HOCKET_STATUS_BUSY` before the first measured block.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_replan(const struct hocket_engine *engine,
                                   struct hocket_error **error);

// Goes on with a schedule of this name, without a break and with the same bits: one of those of the settings, which
// then stays, or "auto", if the engine was started to choose. "critical" goes on following costs. Returns
// `HOCKET_STATUS_BUSY` if too many edits are on their way; nothing has changed then.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_schedule(const struct hocket_engine *engine,
                                         const char *schedule,
                                         struct hocket_error **error);

// Goes on under another sibling policy, without a break and with the same bits: the one that the engine began with, or one of
// `settings.sibling_policies`. What the system refuses is no error: `hocket_engine_protection` says what came of it. Returns
// `HOCKET_STATUS_BUSY` if too many edits are on their way; nothing has changed then.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; makes a plan, and waits up to 250 ms until the
// leader has taken it over. A policy that moves or marks threads makes some system calls for each of them, so a block or two
// may take longer.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_sibling_policy(const struct hocket_engine *engine,
                                               const char *policy,
                                               struct hocket_error **error);

// Has threads wait in another way, inside blocks and between them, with the same bits: one of the names of `settings.wait`. A
// wait that has begun goes on as it began, so a worker that sleeps changes with the next block. `settings.seat_wait` stays.
// Hocket refuses one that the CPU lacks (`HOCKET_STATUS_NOT_POSSIBLE`).
//
// Thread: any but the leader. Cost: a lock among control threads.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_wait(const struct hocket_engine *engine,
                                     const char *wait,
                                     struct hocket_error **error);

// Writes the measured costs of the session's or graph's chains to a file, for the next engine that plays it
// (docs/embedding.md). It replaces an existing file when all is on the disk. If that fails, the existing file stays
// as it was. A link stays a link. A pipe or a device is written to.
//
// Thread: any but the leader. Cost: a lock among control threads, allocates; writes a file and waits for the disk.
//
// # Safety
// P, H.
hocket_status hocket_engine_save_costs(const struct hocket_engine *engine,
                                       const char *path,
                                       struct hocket_error **error);

// Reads costs that `hocket_engine_save_costs` wrote. If the settings steer by costs, the engine makes a plan
// from them and uses it. `adopted` may be NULL.
//
// Thread: any but the leader, best before the first block. Cost: reads a file; a lock among control threads,
// allocates; makes a plan.
//
// # Safety
// P, H.
hocket_status hocket_engine_adopt_costs(const struct hocket_engine *engine,
                                        const char *path,
                                        struct hocket_adopted *adopted,
                                        struct hocket_error **error);

// Calls `each` for the late blocks since the last call, and for blocks that were the worst until then. Call
// it about ten times per second: an engine keeps 64 blocks between two calls. The explanation of a block
// waits for the next block, or for `hocket_engine_leave`. This call needs `settings.explain_late`.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
// allocates; milliseconds for each explained block.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_explain(const struct hocket_engine *engine,
                                    hocket_explanation_fn each,
                                    void *user,
                                    struct hocket_error **error);

// Starts to watch the workers' CPUs for other threads, so that explanations can name them. It calls `each`
// with one line for each thing that it cannot see here. It needs `settings.explain_late`, and a leader that
// has entered.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: some system calls and
// locked memory for each CPU.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_watch(const struct hocket_engine *engine,
                                  hocket_text_fn each,
                                  void *user,
                                  struct hocket_error **error);

// Calls `each` for what processors have reported since the last call (`hocket_main_latency_changed` and so on), in the
// order of computation. Of each kind only the last report of a node counts. A node that has left reports nothing.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_notices(const struct hocket_engine *engine,
                                    hocket_notice_fn each,
                                    void *user,
                                    struct hocket_error **error);

// Calls `each` for every node whose background work was refused a request or an answer, since it joined.
//
// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_lost_work(const struct hocket_engine *engine,
                                      hocket_lost_work_fn each,
                                      void *user,
                                      struct hocket_error **error);

// Asks a node's main side for the processor's state (`save` of `hocket_main_side`), while it plays, and calls `tell` once
// with the bytes. It refuses a node without a main side. The message has the text with which the main side refuses.
//
// Thread: any but the leader; with `settings.main_thread` "starting" only that one. `tell` runs on the calling thread.
// Cost: waits for the main thread and holds a lock among control threads; allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_save_state(const struct hocket_engine *engine,
                                       uint32_t node,
                                       hocket_bytes_fn tell,
                                       void *user,
                                       struct hocket_error **error);

// Has a node's processor go on with a state that was saved. Its main side makes what is needed (`load` of
// `hocket_main_side`), and the processor takes it over between two blocks (`exchange` of `hocket_processor`). It is an
// edit: `hocket_engine_applied` says from which frame on. If it fails, nothing has changed.
//
// Thread: any but the leader; with `settings.main_thread` "starting" only that one. Cost: waits for the main thread and
// holds a lock among control threads; allocates.
//
// # Safety
// P (`state` has `bytes` bytes), H.
hocket_status hocket_engine_load_state(const struct hocket_engine *engine,
                                       uint32_t node,
                                       const void *state,
                                       size_t bytes,
                                       struct hocket_error **error);

// Goes on with blocks of up to so many frames, while it plays: for a sound server whose block grows. A number that is not
// larger changes nothing. Main sides make what their processors need first (`grow` of `hocket_main_side`). All state
// goes on with the same bits; only feedback becomes later, because it waits for one largest block.
//
// The leader takes the length over before its next block, or when it processes or writes more frames than before.
// `hocket_engine_largest_block` says what holds. It is no edit and has no number.
//
// Thread: any but the leader; with `settings.main_thread` "starting" and main sides only that one. Cost: a lock among
// control threads, allocates; makes a plan; waits for the main thread.
//
// # Safety
// P, H.
hocket_status hocket_engine_set_largest_block(const struct hocket_engine *engine,
                                              uint32_t frames,
                                              struct hocket_error **error);

// Does what waits for the main thread, if that is the one which started the engine (`settings.main_thread` "starting"):
// calls main sides and frees processors. Call it regularly, such as every 20 ms. On every other thread it returns
// `HOCKET_STATUS_WRONG_THREAD`.
//
// Thread: the one that started the engine, and not while it leads a block. Cost: that of what it calls; a lock among
// control threads.
//
// # Safety
// P, H.
hocket_status hocket_engine_service(const struct hocket_engine *engine,
                                    struct hocket_error **error);

// Asks the main sides of all nodes of the newest graph for their processors' states, while it plays, and calls `each`
// once for every state, in the order of computation. Nodes without a main side, or whose main side has no `save`, are left
// out. Then it calls `failed` for every node that refuses. A failure of one node is no failure of the call.
//
// All main sides are called in one task on the main thread. Blocks may run meanwhile: states that belong together exactly
// need an engine that leads no block, or that is offline.
//
// Thread: any but the leader; with `settings.main_thread` "starting" only that one. Callbacks run on the calling thread.
// Cost: waits for the main thread and holds a lock among control threads; allocates.
//
// # Safety
// P, H, C.
hocket_status hocket_engine_save_states(const struct hocket_engine *engine,
                                        hocket_saved_state_fn each,
                                        hocket_state_failure_fn failed,
                                        void *user,
                                        struct hocket_error **error);

// Has processors go on with states that `hocket_engine_save_states` gave, all before the same block: before the first one in
// an engine that has played none, otherwise before the next. A state goes to the node of its number if that has its name,
// otherwise to the only other node of this name. So it also finds its node in a graph that was edited or made anew.
//
// It calls `failed` for every state that stays out: its node is gone or refuses it. The others are restored. That is one
// edit; if all states stay out, there is none (`hocket_last_edit`). If the call fails, nothing has changed.
//
// Thread: any but the leader; with `settings.main_thread` "starting" only that one. `failed` runs on the calling thread.
// Cost: waits for the main thread and holds a lock among control threads; allocates.
//
// # Safety
// P (`states` has `count` elements, and each `state` has `bytes` bytes), H, C.
hocket_status hocket_engine_restore_states(const struct hocket_engine *engine,
                                           const struct hocket_saved_state *states,
                                           size_t count,
                                           hocket_state_failure_fn failed,
                                           void *user,
                                           struct hocket_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HOCKET_H */
