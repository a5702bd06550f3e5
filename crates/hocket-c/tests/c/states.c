/* All states of a graph, saved in one call and restored into another engine before its first block. Checks every sample
 * and ends with 1 where one is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hocket.h"

enum { FRAMES = 64, MOST = 8 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* Plays its level, which is its state. */
struct tone {
    float level;
    float saved;
};

static void play(void *user, const hocket_block *block)
{
    struct tone *tone = user;
    for (uint32_t i = 0; i < block->frames; i++)
        block->left[i] = block->right[i] = tone->level;
}

static const char *save(void *user, hocket_state *state)
{
    struct tone *tone = user;
    if (tone->saved < 0)
        return "negative levels are not to be saved";
    CHECK(hocket_state_write(state, &tone->saved, sizeof tone->saved) == HOCKET_STATUS_OK);
    return NULL;
}

static const char *load(void *user, const void *state, size_t bytes, void **made)
{
    struct tone *tone = user;
    if (bytes != sizeof tone->saved)
        return "this is no level";
    float *level = malloc(sizeof *level);
    CHECK(level);
    memcpy(level, state, sizeof *level);
    tone->saved = *level;
    *made = level;
    return NULL;
}

static void *exchange(void *user, uint32_t purpose, void *made)
{
    struct tone *tone = user;
    CHECK(purpose == HOCKET_MADE_FOR_STATE);
    memcpy(&tone->level, made, sizeof tone->level);
    return made;
}

static void free_made(uint32_t purpose, void *made)
{
    (void)purpose;
    free(made);
}

static void join(void *user, hocket_host *host)
{
    hocket_main_side side = {.user = user, .save = save, .load = load, .free_made = free_made};
    hocket_main_requests *requests;
    CHECK(hocket_host_main_side(host, &side, &requests) == HOCKET_STATUS_OK);
}

/* Nodes of these names, summed by "out", which comes first. */
static hocket_engine *start(const char *const *names, struct tone *tones, size_t count)
{
    hocket_graph *graph = hocket_graph_new();
    uint32_t out = hocket_graph_add_node(graph, "out", NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        hocket_processor processor = {
            .user = &tones[i], .process = play, .cost = 10.0, .join = join, .exchange = exchange};
        uint32_t node = hocket_graph_add_node(graph, names[i], &processor, NULL);
        CHECK(hocket_graph_add_edge(graph, node, out, 1.0f, NULL) == HOCKET_STATUS_OK);
    }
    CHECK(hocket_graph_set_output(graph, out, NULL) == HOCKET_STATUS_OK);
    hocket_settings settings = hocket_settings_for(FRAMES, 48000);
    settings.priority = 0;
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, NULL);
    CHECK(engine);
    return engine;
}

static float played(hocket_engine *engine)
{
    float left[FRAMES], right[FRAMES];
    CHECK(hocket_engine_process(engine, FRAMES, left, right, NULL) == HOCKET_STATUS_OK);
    for (int i = 0; i < FRAMES; i++)
        CHECK(left[i] == left[0] && right[i] == left[0]);
    return left[0];
}

/* Copies of the states, and what failed. */
struct snapshot {
    hocket_saved_state states[MOST];
    size_t count;
    char failures[MOST][128];
    size_t failed;
};

static void *copy(const void *bytes, size_t count)
{
    void *own = malloc(count + 1);
    CHECK(own);
    memcpy(own, bytes, count);
    return own;
}

static void keep(void *user, const hocket_saved_state *state)
{
    struct snapshot *all = user;
    CHECK(all->count < MOST);
    hocket_saved_state *own = &all->states[all->count++];
    *own = *state;
    own->name = copy(state->name, strlen(state->name) + 1);
    own->state = copy(state->state, state->bytes);
}

static void note(void *user, const hocket_state_failure *failure)
{
    struct snapshot *all = user;
    CHECK(all->failed < MOST && strstr(failure->why, failure->node));
    snprintf(all->failures[all->failed++], sizeof all->failures[0], "%s", failure->why);
}

static void forget(struct snapshot *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free((void *)all->states[i].name);
        free((void *)all->states[i].state);
    }
}

int main(void)
{
    const char *names[] = {"flute", "horn", "drum"};
    struct tone tones[] = {{1, 1}, {2, 2}, {4, -4}};
    hocket_engine *engine = start(names, tones, 3);
    CHECK(played(engine) == 7.0f);
    struct snapshot saved = {0};
    CHECK(hocket_engine_save_states(engine, keep, note, &saved, NULL) == HOCKET_STATUS_OK);
    CHECK(saved.count == 2 && strcmp(saved.states[0].name, "flute") == 0 && saved.states[1].node == 2);
    CHECK(saved.failed == 1 && strstr(saved.failures[0], "'drum': negative levels"));
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);

    /* The same names in another order: the names decide. One state is of a node that is not there. */
    const char *others[] = {"horn", "gong", "flute"};
    struct tone new_tones[] = {{0, 0}, {16, 16}, {0, 0}};
    engine = start(others, new_tones, 3);
    keep(&saved, &saved.states[0]);
    free((void *)saved.states[2].name);
    saved.states[2].name = copy("harp", 5);
    struct snapshot lost = {0};
    hocket_status status =
        hocket_engine_restore_states(engine, saved.states, saved.count, note, &lost, NULL);
    CHECK(status == HOCKET_STATUS_OK && hocket_last_edit() == 0);
    CHECK(lost.failed == 1 && strstr(lost.failures[0], "'harp' finds no node: none with number 1"));
    CHECK(played(engine) == 19.0f && new_tones[0].level == 2.0f && new_tones[2].level == 1.0f);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    forget(&saved);
    printf("2 states restored before the first block\n");
    return 0;
}
