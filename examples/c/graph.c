/* A graph of the program's own processors: two ramps, summed by a third node, then Hocket's gain.
 * Checks every sample and ends with 1 where one is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 64, BLOCKS = 100 };

struct ramp {
    float next, step;
    int *alive;
};

/* Parameter 0 is the step. */
static void ramp_process(void *user, const hocket_block *block)
{
    struct ramp *ramp = user;
    for (size_t i = 0; i < block->event_count; i++)
        if (block->events[i].param == 0)
            ramp->step = block->events[i].value;
    for (uint32_t i = 0; i < block->frames; i++) {
        block->left[i] = ramp->next;
        block->right[i] = -ramp->next;
        ramp->next += ramp->step;
    }
}

static void ramp_reset(void *user)
{
    ((struct ramp *)user)->next = 0;
}

static void ramp_free(void *user)
{
    struct ramp *ramp = user;
    --*ramp->alive;
    free(ramp);
}

static uint32_t add_ramp(hocket_graph *graph, const char *name, float step, int *alive)
{
    struct ramp *ramp = malloc(sizeof *ramp);
    if (!ramp)
        return HOCKET_NO_NODE;
    *ramp = (struct ramp){0, step, alive};
    hocket_processor processor = {
        .user = ramp, .process = ramp_process, .reset = ramp_reset, .free = ramp_free, .cost = 2.0};
    uint32_t node = hocket_graph_add_node(graph, name, &processor, NULL);
    if (node == HOCKET_NO_NODE)
        free(ramp);
    else
        ++*alive;
    return node;
}

/* Two ramps, halves of them summed up: every sample is exact. `step`: of both halves together. */
static int play(hocket_engine *engine, float step)
{
    float left[FRAMES], right[FRAMES];
    long frame = 0;
    for (int block = 0; block < BLOCKS; block++) {
        uint32_t frames = 1 + block % FRAMES;
        if (hocket_engine_process(engine, frames, left, right, NULL) != HOCKET_STATUS_OK)
            return 0;
        for (uint32_t i = 0; i < frames; i++, frame++) {
            float expected = (float)frame * step;
            if (left[i] != expected || right[i] != -expected)
                return 0;
        }
    }
    return 1;
}

int main(void)
{
    int alive = 0;
    hocket_error *error = NULL;
    hocket_graph *graph = hocket_graph_new();
    uint32_t fast = add_ramp(graph, "fast ramp", 1.0f / 8192, &alive);
    uint32_t slow = add_ramp(graph, "slow ramp", 1.0f / 16384, &alive);
    uint32_t sum = hocket_graph_add_node(graph, "sum", NULL, NULL);
    float gain_db = 0;
    uint32_t gain = hocket_graph_add_effect(graph, "gain", "gain", &gain_db, 1, &error);
    if (gain == HOCKET_NO_NODE) {
        fprintf(stderr, "gain: %s\n", hocket_error_text(error));
        return 1;
    }
    hocket_graph_add_edge(graph, fast, sum, 0.5f, NULL);
    hocket_graph_add_edge(graph, slow, sum, 0.5f, NULL);
    hocket_graph_add_edge(graph, sum, gain, 1.0f, NULL);

    hocket_settings settings = hocket_settings_for(FRAMES, 48000);
    settings.policy = "all";
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, &error);
    if (!engine) {
        fprintf(stderr, "engine: %s\n", hocket_error_text(error));
        return 1;
    }
    int first = play(engine, 0.5f / 8192 + 0.5f / 16384);
    hocket_engine_reset(engine);
    /* The slow ramp becomes as fast as the other one from the next block on. */
    if (hocket_engine_set_node(engine, slow, 0, 1.0f / 8192, NULL) != HOCKET_STATUS_OK)
        return 1;
    int again = play(engine, 1.0f / 8192);
    hocket_engine_stop(engine);
    printf("first %s, after reset %s, %d processors left\n", first ? "right" : "wrong",
           again ? "right" : "wrong", alive);
    return !(first && again && alive == 0);
}
