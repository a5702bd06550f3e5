/* A graph of processors written in C that changes while it plays: parameters as events, a side chain,
 * nodes that come and go, latency, an output that is not finite, and a late block explained. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "hocket.h"

enum { FRAMES = 16 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* The engine frees processors on a thread of its own. */
static atomic_int alive;

struct level {
    float value, blocks;
    uint64_t joined;
};

/* Left: its value; right: how many blocks it has run. Parameter 7 is the value, parameter 8 spoils the
 * block. */
static void level_process(void *user, const hocket_block *block)
{
    struct level *level = user;
    int spoilt = 0;
    for (size_t i = 0; i < block->event_count; i++) {
        if (block->events[i].param == 7)
            level->value = block->events[i].value;
        spoilt |= block->events[i].param == 8;
    }
    level->blocks += 1;
    for (uint32_t i = 0; i < block->frames; i++) {
        block->left[i] = spoilt ? NAN : level->value;
        block->right[i] = level->blocks;
    }
}

/* Takes the side chain away from what comes in. */
static void duck(void *user, const hocket_block *block)
{
    (void)user;
    for (uint32_t i = 0; i < block->frames && block->side_left; i++)
        block->left[i] -= block->side_left[i];
}

static void level_reset(void *user)
{
    ((struct level *)user)->blocks = 0;
}

static void level_locate(void *user, uint64_t frame)
{
    ((struct level *)user)->joined = frame;
}

static void count_free(void *user)
{
    free(user);
    alive--;
}

static uint32_t add(hocket_graph *graph, const char *name, hocket_processor processor)
{
    uint32_t node = hocket_graph_add_node(graph, name, &processor, NULL);
    CHECK(node != HOCKET_NO_NODE);
    return node;
}

static uint32_t add_level(hocket_graph *graph, const char *name, float value, struct level **out)
{
    struct level *level = malloc(sizeof *level);
    CHECK(level);
    *level = (struct level){value, 0, 0};
    alive++;
    if (out)
        *out = level;
    hocket_processor processor = {.user = level, .process = level_process, .reset = level_reset,
        .locate = level_locate, .free = count_free, .cost = 1.0, .latency_frames = 5};
    return add(graph, name, processor);
}

/* Plays a block whose samples are all alike. */
static void play(hocket_engine *engine, float expected_left, float expected_right)
{
    float left[FRAMES], right[FRAMES];
    CHECK(hocket_engine_process(engine, FRAMES, left, right, NULL) == HOCKET_STATUS_OK);
    for (int i = 0; i < FRAMES; i++) {
        CHECK(left[i] == expected_left);
        CHECK(right[i] == expected_right);
    }
}

static void keep_applied(void *user, const hocket_applied *applied)
{
    *(hocket_applied *)user = *applied;
}

static void keep_contained(void *user, const hocket_contained *contained)
{
    CHECK(strcmp(contained->node, "ten") == 0 && contained->failed == 0 && !contained->panicked);
    *(uint64_t *)user += contained->not_finite;
}

struct told {
    int late;
    uint64_t block;
};

static void keep_late(void *user, const hocket_explanation *explanation)
{
    struct told *told = user;
    if (explanation->slack_ns >= 0)
        return;
    CHECK(explanation->cause && explanation->text && *explanation->text);
    told->late++;
    told->block = explanation->block;
}

int main(void)
{
    hocket_graph *graph = hocket_graph_new();
    uint32_t key = add_level(graph, "key", 2, NULL);
    uint32_t ten = add_level(graph, "ten", 10, NULL);
    uint32_t ducker = add(graph, "ducker", (hocket_processor){.process = duck, .cost = 1.0});
    CHECK(hocket_graph_add_side_chain(graph, key, ducker, 1.5f, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_add_edge(graph, ten, ducker, 1.0f, NULL) == HOCKET_STATUS_OK);
    uint32_t out = hocket_graph_add_node(graph, "out", NULL, NULL);
    CHECK(hocket_graph_add_edge(graph, ducker, out, 2.0f, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_add_side_chain(graph, key, out, 1.0f, NULL) == HOCKET_STATUS_BAD_INPUT);

    hocket_settings settings = hocket_settings_for(FRAMES, 48000);
    settings.policy = "all";
    settings.priority = 0;
    settings.explain_late = true;
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, NULL);
    CHECK(engine);
    play(engine, 2 * (10 - 3), 2);

    /* A parameter, and when it changed. */
    CHECK(hocket_engine_set_node(engine, key, 7, 4, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_set_node(engine, out, 7, 4, NULL) == HOCKET_STATUS_BAD_INPUT);
    CHECK(hocket_engine_set_node(engine, 99, 7, 4, NULL) == HOCKET_STATUS_BAD_INPUT);
    uint64_t edit = hocket_last_edit();
    CHECK(!hocket_engine_is_settled(engine));
    play(engine, 2 * (10 - 6), 4);
    CHECK(hocket_engine_is_settled(engine));
    hocket_applied applied = {0};
    CHECK(hocket_engine_applied(engine, keep_applied, &applied, NULL) == HOCKET_STATUS_OK);
    CHECK(applied.edit == edit && applied.frame == FRAMES);

    hocket_standing standing;
    CHECK(hocket_engine_standing(engine, &standing, NULL) == HOCKET_STATUS_OK);
    CHECK(standing.latency_frames == 5);

    /* A node joins in front of the output, another goes; the rest keep their state. */
    hocket_graph *copy = hocket_engine_graph(engine, NULL);
    hocket_graph *late_copy = hocket_engine_graph(engine, NULL);
    CHECK(copy && late_copy);
    struct level *joined;
    uint32_t fresh = add_level(copy, "fresh", 100, &joined);
    CHECK(hocket_graph_add_edge(copy, fresh, out, 1.0f, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_add_edge(copy, out, fresh, 1.0f, NULL) == HOCKET_STATUS_BAD_INPUT);
    CHECK(hocket_graph_remove_node(copy, key, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_exchange_graph_at_once(engine, copy, NULL) == HOCKET_STATUS_OK);
    play(engine, 2 * 10 + 100, 2 * 3 + 1);
    CHECK(joined->joined == 2 * FRAMES);
    CHECK(hocket_engine_is_settled(engine));
    /* A thread of the engine frees what has gone. */
    for (int i = 0; i < 600000 && alive != 2; i++) {
        thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK(alive == 2);
    hocket_error *error = NULL;
    CHECK(hocket_engine_exchange_graph_at_once(engine, late_copy, &error) == HOCKET_STATUS_BAD_INPUT);
    CHECK(strstr(hocket_error_text(error), "another"));
    hocket_error_free(error);
    CHECK(hocket_engine_set_node(engine, key, 7, 1, NULL) == HOCKET_STATUS_BAD_INPUT);

    /* The output need not be the last node. */
    copy = hocket_engine_graph(engine, NULL);
    CHECK(hocket_graph_remove_edge(copy, fresh, out, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_remove_edge(copy, fresh, out, NULL) == HOCKET_STATUS_BAD_INPUT);
    CHECK(hocket_graph_add_edge(copy, out, fresh, 1.0f, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_exchange_graph_at_once(engine, copy, &error) == HOCKET_STATUS_BAD_INPUT);
    CHECK(strstr(hocket_error_text(error), "does not lead to the output"));
    hocket_error_free(error);
    copy = hocket_engine_graph(engine, NULL);
    CHECK(hocket_graph_remove_edge(copy, fresh, out, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_remove_node(copy, fresh, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_set_output(copy, fresh, NULL) == HOCKET_STATUS_BAD_INPUT);
    CHECK(hocket_graph_set_output(copy, ducker, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_graph_remove_node(copy, out, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_exchange_graph_at_once(engine, copy, NULL) == HOCKET_STATUS_OK);
    play(engine, 10, 4);

    /* What is not finite is silenced and named. */
    uint64_t contained = 0;
    CHECK(hocket_engine_contained(engine, keep_contained, &contained, NULL) == HOCKET_STATUS_OK);
    CHECK(contained == 0);
    CHECK(hocket_engine_set_node(engine, ten, 8, 1, NULL) == HOCKET_STATUS_OK);
    play(engine, 0, 0);
    play(engine, 10, 1);
    CHECK(hocket_engine_contained(engine, keep_contained, &contained, NULL) == HOCKET_STATUS_OK);
    CHECK(contained == 1);
    CHECK(hocket_engine_set_node(engine, ten, 7, NAN, NULL) == HOCKET_STATUS_BAD_INPUT);

    /* What was late so far is asked for, so that the next one finds room. */
    struct told told = {0, 0};
    CHECK(hocket_engine_explain(engine, keep_late, &told, NULL) == HOCKET_STATUS_OK);
    /* A block that was planned a second ago is late, whatever the machine does. */
    float left[FRAMES], right[FRAMES];
    hocket_block_times times;
    CHECK(hocket_engine_process_planned(engine, FRAMES, hocket_now_ns() - 1000000000, left, right,
              &times) == HOCKET_STATUS_OK);
    CHECK(times.slack_ns < 0);
    play(engine, 10, 3);
    int before = told.late;
    CHECK(hocket_engine_explain(engine, keep_late, &told, NULL) == HOCKET_STATUS_OK);
    CHECK(told.late > before && told.block >= times.block);

    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    CHECK(alive == 0);
    printf("as expected\n");
    return 0;
}
