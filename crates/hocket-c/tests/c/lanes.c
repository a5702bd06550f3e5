/* A parameter that follows a lane, and voices that several workers share. Checks every sample and ends with 1 where one
 * is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 64, BLOCKS = 40, RATE_HZ = 48000, VOICES = 8, LEVEL = 7 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* Plays its level on the left, which changes at the frames of its events. */
static void level_process(void *user, const hocket_block *block)
{
    float *level = user;
    size_t next = 0;
    for (uint32_t i = 0; i < block->frames; i++) {
        for (; next < block->event_count && block->events[next].frame == i; next++)
            if (block->events[next].param == LEVEL)
                *level = block->events[next].value;
        block->left[i] = *level;
        block->right[i] = 0;
    }
}

struct synth {
    const hocket_block *block;
    float next[VOICES];
    float rows[VOICES][FRAMES];
};

/* Computes one voice. Each pass has a state and a row of its own, so it does not matter who takes which. */
static void play_voice(void *user, uint32_t pass)
{
    struct synth *synth = user;
    for (uint32_t i = 0; i < synth->block->frames; i++) {
        synth->rows[pass][i] = synth->next[pass];
        synth->next[pass] += (float)(pass + 1);
    }
}

static void play_voices(void *user, const hocket_block *block)
{
    struct synth *synth = user;
    synth->block = block;
    CHECK(hocket_block_spread(block, VOICES, play_voice, synth) == HOCKET_STATUS_OK);
    for (uint32_t i = 0; i < block->frames; i++) {
        block->right[i] = 0;
        for (int voice = 0; voice < VOICES; voice++)
            block->right[i] += synth->rows[voice][i];
    }
}

static uint32_t add(hocket_graph *graph, const char *name, hocket_process_fn process, void *user)
{
    hocket_processor processor = {.user = user, .process = process, .cost = 10.0};
    uint32_t node = hocket_graph_add_node(graph, name, &processor, NULL);
    CHECK(node != HOCKET_NO_NODE);
    return node;
}

/* Up to 480 in as many frames, then 3, then 5. */
static void set_lane(hocket_engine *engine, uint32_t node)
{
    hocket_lane_point points[] = {
        {.at = 0.0, .value = 0, .shape = HOCKET_SHAPE_LINEAR},
        {.at = 0.01, .value = 480, .shape = HOCKET_SHAPE_HOLD},
        {.at = 0.02, .value = 3, .shape = HOCKET_SHAPE_HOLD},
        {.at = 0.04, .value = 5},
    };
    hocket_lane lane = {.points = points, .count = 4, .unit = HOCKET_LANE_SECONDS};
    hocket_node_lane set = {.node = node, .param = LEVEL, .lane = &lane};
    CHECK(hocket_engine_automate_nodes(engine, &set, 1, NULL) == HOCKET_STATUS_OK);
}

static void nobody(void *user, const hocket_lost *lost)
{
    (void)user;
    printf("%s: %lu values found no room\n", lost->node, (unsigned long)lost->count);
    exit(1);
}

int main(void)
{
    float level = -1;
    struct synth synth = {0};
    hocket_graph *graph = hocket_graph_new();
    uint32_t left = add(graph, "level", level_process, &level);
    uint32_t right = add(graph, "synth", play_voices, &synth);
    uint32_t sum = hocket_graph_add_node(graph, "sum", NULL, NULL);
    CHECK(hocket_graph_add_edge(graph, left, sum, 1.0f, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_add_edge(graph, right, sum, 1.0f, NULL) == HOCKET_STATUS_OK);
    hocket_settings settings = hocket_settings_for(FRAMES, RATE_HZ);
    settings.priority = 0;
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, NULL);
    CHECK(engine);
    set_lane(engine, left);

    for (int block = 0; block < BLOCKS; block++) {
        float rows[2][FRAMES];
        CHECK(hocket_engine_process(engine, FRAMES, rows[0], rows[1], NULL) == HOCKET_STATUS_OK);
        for (int i = 0; i < FRAMES; i++) {
            int frame = block * FRAMES + i;
            /* On the way between two points there is a value every 32 frames. */
            float way = (float)(frame / 32 * 32);
            float expected = frame < 480 ? way : frame < 960 ? 480.0f : frame < 1920 ? 3.0f : 5.0f;
            CHECK(fabsf(rows[0][i] - expected) < 1e-3f);
            CHECK(rows[1][i] == (float)(frame * (VOICES * (VOICES + 1) / 2)));
        }
    }

    /* Without a lane the level stays, wherever the song is. */
    hocket_node_lane remove = {.node = left, .param = LEVEL, .lane = NULL};
    CHECK(hocket_engine_automate_nodes(engine, &remove, 1, NULL) == HOCKET_STATUS_OK);
    hocket_command start = {.action = HOCKET_LOCATE};
    CHECK(hocket_engine_transport(engine, &start, NULL) == HOCKET_STATUS_OK);
    float rows[2][FRAMES];
    CHECK(hocket_engine_process(engine, FRAMES, rows[0], rows[1], NULL) == HOCKET_STATUS_OK);
    CHECK(rows[0][0] == 5.0f && rows[0][FRAMES - 1] == 5.0f);
    CHECK(hocket_engine_thinned_out(engine, nobody, NULL, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_lost_events(engine, nobody, NULL, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    printf("every sample as expected\n");
    return 0;
}
