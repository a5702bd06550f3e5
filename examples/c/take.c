/* Plays a session as fast as it goes and records what the master plays.
 *
 *     take SESSION FILE.wav BLOCKS
 */
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 64, RATE_HZ = 48000 };

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* Ends the program with the number that Hocket's own programs use. */
static void fail(hocket_error *error)
{
    fprintf(stderr, "%s\n", hocket_error_text(error));
    exit((int)hocket_error_status(error));
}

static void show_report(void *user, const hocket_take_report *report)
{
    (void)user;
    printf("%s: %llu frames, %llu of them silent\n", report->path,
        (unsigned long long)report->frames, (unsigned long long)report->silent_frames);
    for (size_t i = 0; i < report->silence_count; i++)
        printf("  silent from frame %llu on\n", (unsigned long long)report->silences[i].at_frame);
    if (report->why)
        printf("  shorter than what was played: %s\n", report->why);
}

static void record(hocket_engine *engine, const char *path, int blocks)
{
    hocket_error *error;
    hocket_status status;
    hocket_recorder *recorder = hocket_recorder_new(NULL);
    hocket_take_settings settings = {.path = path, .rate_hz = RATE_HZ, .channels = 2};
    hocket_take *take = hocket_take_begin(recorder, &settings, &error);
    if (!take)
        fail(error);
    for (int block = 0; block < blocks; block++) {
        CHECK(hocket_engine_run(engine, FRAMES, hocket_now_ns(), NULL) == HOCKET_STATUS_OK);
        CHECK(hocket_engine_record(engine, 0, take, FRAMES) == HOCKET_STATUS_OK);
    }
    while ((status = hocket_take_finish(take, 1000, show_report, NULL, &error)) == HOCKET_STATUS_BUSY)
        hocket_error_free(error);
    if (status != HOCKET_STATUS_OK)
        fail(error);
    hocket_recorder_free(recorder);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: take SESSION FILE.wav BLOCKS\n");
        return 2;
    }
    hocket_error *error;
    hocket_session *session = hocket_session_load(argv[1], RATE_HZ, &error);
    if (!session)
        fail(error);
    hocket_settings settings = hocket_settings_for(FRAMES, RATE_HZ);
    settings.priority = 0;
    hocket_engine *engine = hocket_engine_start(session, &settings, &error);
    if (!engine)
        fail(error);
    hocket_session_free(session);
    record(engine, argv[2], atoi(argv[3]));
    CHECK(hocket_engine_stop(engine) == HOCKET_STATUS_OK);
    return 0;
}
