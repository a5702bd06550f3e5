/* A JACK client that plays silence, and notes how late it is called: what any client has of its server.
 *
 *     bare_client SECONDS
 *
 * Prints `calls N`, then for each call that came late or behind periods without one: its number, by how many microseconds it was late,
 * and how many periods were skipped before it. Lateness is found as crates/hocket-devices/src/jack/periods.rs finds it, so both are
 * compared by the same measure: a cycle begins at the earliest when it is due, so of the last few cycles the earliest one, with
 * the periods since, says when this one was due.
 *
 * It declares what it uses of libjack, so no headers of JACK are needed: cc -O2 bare_client.c -o bare_client -l:libjack.so.0
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct jack_client jack_client_t;
typedef struct jack_port jack_port_t;
extern jack_client_t *jack_client_open(const char *, int, int *, ...);
extern int jack_client_close(jack_client_t *);
extern int jack_activate(jack_client_t *);
extern int jack_deactivate(jack_client_t *);
extern uint32_t jack_get_sample_rate(jack_client_t *);
extern int jack_set_process_callback(jack_client_t *, int (*)(uint32_t, void *), void *);
extern int jack_set_xrun_callback(jack_client_t *, int (*)(void *), void *);
extern jack_port_t *jack_port_register(jack_client_t *, const char *, const char *, unsigned long, unsigned long);
extern void *jack_port_get_buffer(jack_port_t *, uint32_t);
extern uint32_t jack_last_frame_time(const jack_client_t *);
extern uint32_t jack_frames_since_cycle_start(const jack_client_t *);

enum { NO_START_SERVER = 1, IS_OUTPUT = 2, KEPT = 4, ROOM = 1 << 20, LEAST_US = 50 };

/* What the callback has. It alone writes all but `xruns`. */
static jack_client_t *client;
static jack_port_t *port;
static int64_t rate, says[KEPT], last_due, moved;
static int known, oldest, has_last;
static uint32_t next_frame, last_frames;
static volatile uint64_t xruns;
static uint64_t seen_xruns, calls, notes;
static struct { uint64_t call; int64_t late_us, skipped; } noted[ROOM];

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Moves what the last cycles say on to this one. */
static void pass(int64_t began, uint32_t frame, uint32_t frames, int64_t period)
{
    int64_t told = (uint32_t)(frame - next_frame) / frames + 1;
    int64_t passed = began > last_due ? (began - last_due + period / 2) / period : 0;
    if (passed < 1)
        passed = 1;
    if (told > passed)
        known = 0;
    for (int cycle = 0; cycle < known; cycle++)
        says[cycle] += (told < passed ? told : passed) * period;
}

/* When the present cycle was due. */
static int64_t due(int64_t began)
{
    if (known < KEPT) {
        says[known++] = began;
        oldest = 0;
    } else {
        says[oldest] = began;
        oldest = (oldest + 1) % KEPT;
    }
    int64_t earliest = says[0];
    for (int cycle = 1; cycle < known; cycle++)
        earliest = says[cycle] < earliest ? says[cycle] : earliest;
    return earliest;
}

/* Whole periods between two cycles, besides the first one's own. What is left over counts with the next ones. */
static int64_t periods_skipped(int64_t now_due, int64_t period)
{
    moved += now_due - last_due - period;
    if (moved < -period)
        moved = -period;
    int64_t skipped = (moved + period / 2) / period;
    if (skipped < 0)
        skipped = 0;
    moved -= skipped * period;
    return skipped;
}

static int on_cycle(uint32_t frames, void *unused)
{
    (void)unused;
    uint32_t frame = jack_last_frame_time(client), ago = jack_frames_since_cycle_start(client);
    int64_t called = monotonic_ns(), began = called - ago * INT64_C(1000000000) / rate;
    int64_t period = frames * INT64_C(1000000000) / rate, skipped = 0;
    int goes_on = has_last && last_frames == frames;
    if (goes_on)
        pass(began, frame, frames, period);
    else
        known = 0;
    if (seen_xruns != xruns) {
        seen_xruns = xruns;
        known = 0;
    }
    int64_t now_due = due(began);
    if (goes_on)
        skipped = periods_skipped(now_due, period);
    int64_t late_us = (called - now_due) / 1000;
    if ((late_us >= LEAST_US || skipped > 0) && notes < ROOM) {
        noted[notes].call = calls;
        noted[notes].late_us = late_us;
        noted[notes++].skipped = skipped;
    }
    calls++;
    has_last = 1;
    last_frames = frames;
    last_due = now_due;
    next_frame = frame + frames;
    memset(jack_port_get_buffer(port, frames), 0, frames * sizeof(float));
    return 0;
}

static int on_xrun(void *unused)
{
    (void)unused;
    xruns++;
    return 0;
}

int main(int count, char **arguments)
{
    double seconds = count == 2 ? atof(arguments[1]) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: bare_client SECONDS\n");
        return 2;
    }
    int status = 0;
    client = jack_client_open("late", NO_START_SERVER, &status);
    if (!client) {
        fprintf(stderr, "bare_client: no JACK server takes a client (status 0x%x)\n", status);
        return 3;
    }
    rate = jack_get_sample_rate(client);
    port = jack_port_register(client, "out", "32 bit float mono audio", IS_OUTPUT, 0);
    jack_set_process_callback(client, on_cycle, NULL);
    jack_set_xrun_callback(client, on_xrun, NULL);
    /* No page of it is touched for the first time in a cycle. */
    memset(noted, 0, sizeof noted);
    if (!port || jack_activate(client)) {
        fprintf(stderr, "bare_client: the JACK server does not activate the client\n");
        return 3;
    }
    struct timespec rest = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&rest, NULL);
    jack_deactivate(client);
    printf("calls %llu\n", (unsigned long long)calls);
    for (uint64_t note = 0; note < notes; note++)
        printf("%llu %lld %lld\n", (unsigned long long)noted[note].call, (long long)noted[note].late_us,
               (long long)noted[note].skipped);
    jack_client_close(client);
    return 0;
}
