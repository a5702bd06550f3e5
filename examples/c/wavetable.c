/* A wavetable oscillator of the program's own, with everything a processor may have besides blocks. Background work
 * builds its table when a parameter changes. A main side saves its state while it plays. A second engine goes on with that
 * state and plays the same bits. Ends with 1 where something is wrong. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hocket.h"

enum { FRAMES = 64, BLOCKS = 100, TABLE = 512, RATE_HZ = 48000, HARMONICS = 0 };

/* One period of a sound with so many harmonics. */
struct wave {
    uint32_t harmonics;
    float samples[TABLE];
};

/* The oscillator plays a wave from its phase on, in 2^32 steps per period. */
struct sound {
    struct wave wave;
    uint32_t phase;
};

struct oscillator {
    struct sound *sound;
    hocket_work_requests *requests;
    /* What the main side saves: the harmonics and the phase after the last block, in one number so that both belong
     * together. */
    _Atomic uint64_t state;
    int tables;
};

static void build(struct wave *wave, uint32_t harmonics)
{
    wave->harmonics = harmonics;
    for (int i = 0; i < TABLE; i++) {
        double sum = 0;
        for (uint32_t n = 1; n <= harmonics; n++)
            sum += sin(2 * 3.14159265358979323846 * n * i / TABLE) / n;
        wave->samples[i] = (float)(0.5 * sum);
    }
}

/* On a thread of its own: it may take its time. */
static void work(void *user, const void *request, size_t bytes, hocket_work_answers *answers)
{
    (void)user;
    uint32_t harmonics;
    struct wave wave;
    if (bytes != sizeof harmonics || hocket_work_is_ending(answers))
        return;
    memcpy(&harmonics, request, bytes);
    build(&wave, harmonics);
    hocket_work_answer(answers, &wave, sizeof wave);
}

/* Before the next block. The oscillator goes on at its phase. */
static void answered(void *user, const void *answer, size_t bytes)
{
    struct oscillator *oscillator = user;
    if (bytes != sizeof(struct wave))
        return;
    memcpy(&oscillator->sound->wave, answer, bytes);
    oscillator->tables++;
}

static void process(void *user, const hocket_block *block)
{
    struct oscillator *oscillator = user;
    struct sound *sound = oscillator->sound;
    for (size_t i = 0; i < block->event_count; i++)
        if (block->events[i].param == HARMONICS) {
            uint32_t harmonics = (uint32_t)block->events[i].value;
            /* What finds no room is counted by the engine. */
            (void)hocket_work_request(oscillator->requests, &harmonics, sizeof harmonics);
        }
    for (uint32_t i = 0; i < block->frames; i++) {
        block->left[i] = sound->wave.samples[sound->phase / (UINT32_MAX / TABLE + 1)];
        block->right[i] = -block->left[i];
        sound->phase += UINT32_MAX / 211;
    }
    atomic_store_explicit(&oscillator->state,
        (uint64_t)sound->wave.harmonics << 32 | sound->phase, memory_order_relaxed);
}

/* On the main thread, while it plays. A state is two numbers. */
static const char *save(void *user, hocket_state *state)
{
    struct oscillator *oscillator = user;
    uint64_t now = atomic_load_explicit(&oscillator->state, memory_order_relaxed);
    if (hocket_state_write(state, &now, sizeof now) != HOCKET_STATUS_OK)
        return "there is no memory";
    return NULL;
}

/* On the main thread: builds the table again, so that the leader only exchanges two pointers. */
static const char *load(void *user, const void *state, size_t bytes, void **made)
{
    (void)user;
    uint64_t then;
    if (bytes != sizeof then)
        return "a state of this oscillator has 8 bytes";
    memcpy(&then, state, bytes);
    struct sound *sound = malloc(sizeof *sound);
    if (!sound)
        return "there is no memory";
    build(&sound->wave, (uint32_t)(then >> 32));
    sound->phase = (uint32_t)then;
    *made = sound;
    return NULL;
}

/* On the leader, between two blocks. What it returns is freed on the main thread. */
static void *exchange(void *user, uint32_t purpose, void *made)
{
    struct oscillator *oscillator = user;
    (void)purpose; /* This main side makes nothing but states. */
    struct sound *before = oscillator->sound;
    oscillator->sound = made;
    return before;
}

static void free_made(uint32_t purpose, void *made)
{
    (void)purpose;
    free(made);
}

/* Before the first block, on the thread that starts the engine. */
static void join(void *user, hocket_host *host)
{
    struct oscillator *oscillator = user;
    hocket_background_work builds = {.work = work, .messages = 4, .bytes = sizeof(struct wave)};
    hocket_main_side side = {.user = user, .save = save, .load = load, .free_made = free_made};
    hocket_main_requests *asks;
    if (hocket_host_background(host, &builds, &oscillator->requests) != HOCKET_STATUS_OK
        || hocket_host_main_side(host, &side, &asks) != HOCKET_STATUS_OK)
        exit(1);
}

/* The main side uses the oscillator too, and outlives it as a processor. So `main` frees the rest. */
static void end(void *user)
{
    free(((struct oscillator *)user)->sound);
}

static hocket_engine *start(struct oscillator *oscillator)
{
    struct sound *sound = malloc(sizeof *sound);
    if (!sound)
        exit(1);
    build(&sound->wave, 1);
    sound->phase = 0;
    *oscillator = (struct oscillator){.sound = sound};
    hocket_processor processor = {.user = oscillator, .process = process, .free = end, .cost = 10,
        .join = join, .answered = answered, .exchange = exchange};
    hocket_graph *graph = hocket_graph_new();
    hocket_error *error;
    if (hocket_graph_add_node(graph, "oscillator", &processor, &error) == HOCKET_NO_NODE) {
        fprintf(stderr, "%s\n", hocket_error_text(error));
        exit(1);
    }
    hocket_settings settings = hocket_settings_for(FRAMES, RATE_HZ);
    settings.priority = 0;
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, &error);
    if (!engine) {
        fprintf(stderr, "engine: %s\n", hocket_error_text(error));
        exit(1);
    }
    /* So the table always comes with the block after its request. */
    hocket_engine_set_offline(engine, true);
    return engine;
}

static void play(hocket_engine *engine, float sound[BLOCKS][FRAMES])
{
    float right[FRAMES];
    for (int block = 0; block < BLOCKS; block++)
        if (hocket_engine_process(engine, FRAMES, sound[block], right, NULL) != HOCKET_STATUS_OK)
            exit(1);
}

struct file {
    char bytes[64];
    size_t count;
};

static void keep(void *user, const void *state, size_t bytes)
{
    struct file *file = user;
    file->count = bytes < sizeof file->bytes ? bytes : sizeof file->bytes;
    memcpy(file->bytes, state, file->count);
}

static float before[BLOCKS][FRAMES], after[BLOCKS][FRAMES], restored[BLOCKS][FRAMES];

int main(void)
{
    struct oscillator first, second;
    struct file file;
    hocket_error *error;
    hocket_engine *engine = start(&first);
    if (hocket_engine_set_node(engine, 0, HARMONICS, 7, NULL) != HOCKET_STATUS_OK)
        return 1;
    play(engine, before);
    if (hocket_engine_save_state(engine, 0, keep, &file, &error) != HOCKET_STATUS_OK) {
        fprintf(stderr, "%s\n", hocket_error_text(error));
        return 1;
    }
    play(engine, after);
    hocket_engine_stop(engine);

    engine = start(&second);
    if (hocket_engine_load_state(engine, 0, file.bytes, file.count, &error) != HOCKET_STATUS_OK) {
        fprintf(stderr, "%s\n", hocket_error_text(error));
        return 1;
    }
    play(engine, restored);
    hocket_engine_stop(engine);

    int same = memcmp(after, restored, sizeof after) == 0 && memcmp(before, after, sizeof after) != 0;
    printf("%d table from the background, a state of %d bytes, %s\n", first.tables, (int)file.count,
        same ? "the same bits" : "other bits");
    return !(same && first.tables == 1 && second.tables == 0);
}
