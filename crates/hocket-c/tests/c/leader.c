/* A leader's thread that ends without leaving: another one leads on, and the engine can be stopped. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 16 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static atomic_int stage;

static void process(hocket_engine *engine)
{
    float left[FRAMES], right[FRAMES];
    CHECK(hocket_engine_process(engine, FRAMES, left, right, NULL) == HOCKET_STATUS_OK);
}

static void *lead_and_end(void *engine)
{
    CHECK(hocket_engine_enter(engine) == HOCKET_STATUS_OK);
    process(engine);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 2)
        ;
    return NULL; /* without hocket_engine_leave */
}

/* Runs `lead_and_end` to its end; before that the engine cannot be taken away from it. */
static void lose_a_leader(hocket_engine *engine)
{
    pthread_t leader;
    atomic_store(&stage, 0);
    CHECK(pthread_create(&leader, NULL, lead_and_end, engine) == 0);
    while (atomic_load(&stage) != 1)
        ;
    CHECK(hocket_engine_enter(engine) == HOCKET_STATUS_WRONG_THREAD);
    CHECK(hocket_engine_leave(engine) == HOCKET_STATUS_WRONG_THREAD);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_WRONG_THREAD);
    atomic_store(&stage, 2);
    CHECK(pthread_join(leader, NULL) == 0);
}

int main(void)
{
    hocket_graph *graph = hocket_graph_new();
    CHECK(hocket_graph_add_effect(graph, "gain", "gain", NULL, 0, NULL) == 0);
    hocket_settings settings = hocket_settings_for(FRAMES, 48000);
    settings.policy = "all";
    hocket_engine *engine = hocket_engine_start_graph(graph, &settings, NULL);
    CHECK(engine);
    lose_a_leader(engine);
    lose_a_leader(engine); /* the second one has taken over from the first */
    CHECK(hocket_engine_enter(engine) == HOCKET_STATUS_OK);
    process(engine);
    CHECK(hocket_engine_leave(engine) == HOCKET_STATUS_OK);
    lose_a_leader(engine);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    printf("stopped\n");
    return 0;
}
