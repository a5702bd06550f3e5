/* 100,000 edits: memory does not grow, whether anybody asks when they took effect or not; and the
 * numbers and frames that are told are those of the blocks.
 *
 *     edits SESSION
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 16, WARM_UP = 2000, EDITS = 100000, MOST_GROWTH = 64 * 1024 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static uint64_t block;

static void edit_and_play(hocket_engine *engine, const char *strip)
{
    float left[FRAMES], right[FRAMES];
    float gain_db = -(float)(block % 20);
    CHECK(hocket_engine_set_gain(engine, strip, gain_db, NULL) == HOCKET_STATUS_OK);
    CHECK(hocket_engine_process(engine, FRAMES, left, right, NULL) == HOCKET_STATUS_OK);
    block++;
}

static size_t in_use(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Bytes in use grow by this much over all edits. */
static long growth(hocket_engine *engine, const char *strip)
{
    for (int i = 0; i < WARM_UP; i++)
        edit_and_play(engine, strip);
    size_t before = in_use();
    for (int i = 0; i < EDITS; i++)
        edit_and_play(engine, strip);
    return (long)in_use() - (long)before;
}

#ifdef HOCKET_APPLIED_KEPT
static uint64_t expected_edit, seen;

static void look(void *user, const hocket_applied *applied)
{
    (void)user;
    CHECK(applied->edit == expected_edit);
    CHECK(applied->frame == expected_edit * FRAMES);
    expected_edit++;
    seen++;
}

static void check_frames(hocket_engine *engine, const char *strip)
{
    /* Nobody has asked so far: the newest are still there. */
    expected_edit = block - HOCKET_APPLIED_KEPT;
    CHECK(hocket_last_edit() == block - 1);
    CHECK(hocket_engine_applied(engine, look, NULL, NULL) == HOCKET_STATUS_OK);
    CHECK(seen == HOCKET_APPLIED_KEPT && expected_edit == block);
    CHECK(hocket_engine_applied(engine, look, NULL, NULL) == HOCKET_STATUS_OK);
    CHECK(seen == HOCKET_APPLIED_KEPT);
    edit_and_play(engine, strip);
    CHECK(hocket_engine_is_settled(engine));
    CHECK(hocket_engine_applied(engine, look, NULL, NULL) == HOCKET_STATUS_OK);
    CHECK(seen == HOCKET_APPLIED_KEPT + 1);
    CHECK(hocket_engine_set_gain(engine, "no such strip", 0.0f, NULL) != HOCKET_STATUS_OK);
    CHECK(hocket_last_edit() == block - 1);
}
#else
static void check_frames(hocket_engine *engine, const char *strip)
{
    (void)engine, (void)strip;
}
#endif

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    hocket_session *session = hocket_session_load(argv[1], 0, NULL);
    CHECK(session);
    hocket_settings settings = hocket_settings_for(FRAMES, 0);
    settings.schedule = "serial";
    settings.priority = 0;
    hocket_engine *engine = hocket_engine_start(session, &settings, NULL);
    CHECK(engine);
    const char *strip = hocket_session_strip(session, 0);
    long grown = growth(engine, strip);
    if (grown > MOST_GROWTH) {
        printf("%ld bytes more after %d edits\n", grown, EDITS);
        return 1;
    }
    check_frames(engine, strip);
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    hocket_session_free(session);
    printf("memory stays\n");
    return 0;
}
