/* Plays a session block by block into the program's own buffers, changes it on the way, and writes
 * the sound as interleaved 32-bit floats.
 *
 *     embed SESSION OUTPUT BLOCKS [SCHEDULE]
 */
#include <stdio.h>
#include <stdlib.h>

#include "hocket.h"

enum { FRAMES = 64 };

static int failed(const char *what, hocket_error *error)
{
    fprintf(stderr, "%s: %s\n", what, hocket_error_text(error));
    int status = hocket_error_status(error);
    hocket_error_free(error);
    return status;
}

static void print_report(void *user, const hocket_thread_report *report)
{
    (void)user;
    printf("%-20s CPU %s, %s%s%s\n", report->name, report->cpus_got, report->class_got,
           report->why ? "; " : "", report->why ? report->why : "");
}

/* Half way through, the first track becomes softer. That is a control thread's to do; here, where no
 * sound card waits for the block, the leader does it itself so that it always falls on the same frame. */
static hocket_status change(hocket_engine *engine, const char *strip)
{
    hocket_error *error = NULL;
    hocket_status status = hocket_engine_set_gain(engine, strip, -30.0f, &error);
    if (status != HOCKET_STATUS_OK)
        failed("set_gain", error);
    return status;
}

/* The leader: in a program with a sound card this is what the device's thread does. */
static hocket_status play(hocket_engine *engine, const char *strip, long blocks, FILE *output)
{
    float left[FRAMES], right[FRAMES], both[2 * FRAMES];
    hocket_block_times times, worst = {0};
    hocket_status status = hocket_engine_enter(engine);
    for (long block = 0; block < blocks && status == HOCKET_STATUS_OK; block++) {
        if (block == blocks / 2)
            status = change(engine, strip);
        if (status == HOCKET_STATUS_OK)
            status = hocket_engine_process(engine, FRAMES, left, right, &times);
        if (times.duration_ns > worst.duration_ns)
            worst = times;
        for (int i = 0; i < FRAMES; i++) {
            both[2 * i] = left[i];
            both[2 * i + 1] = right[i];
        }
        if (fwrite(both, sizeof both, 1, output) != 1)
            status = HOCKET_STATUS_NOT_POSSIBLE;
    }
    hocket_engine_reports(engine, print_report, NULL, NULL);
    hocket_engine_leave(engine);
    printf("worst block: %llu, %.1f us of %.1f us\n", (unsigned long long)worst.block,
           (double)worst.duration_ns / 1e3, (double)worst.deadline_ns / 1e3);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: embed SESSION OUTPUT BLOCKS [SCHEDULE]\n");
        return HOCKET_STATUS_BAD_INPUT;
    }
    if (hocket_abi() != HOCKET_ABI) {
        fprintf(stderr, "compiled for another library: %s\n", hocket_version());
        return HOCKET_STATUS_NOT_POSSIBLE;
    }
    hocket_error *error = NULL;
    hocket_session *session = hocket_session_load(argv[1], 0, &error);
    if (!session)
        return failed("session", error);
    for (size_t i = 0; hocket_session_warning(session, i); i++)
        fprintf(stderr, "warning: %s\n", hocket_session_warning(session, i));

    hocket_settings settings = hocket_settings_for(FRAMES, 0);
    settings.policy = "all";
    if (argc > 4)
        settings.schedule = argv[4];
    hocket_engine *engine = hocket_engine_start(session, &settings, &error);
    if (!engine) {
        hocket_session_free(session);
        return failed("engine", error);
    }
    FILE *output = fopen(argv[2], "wb");
    hocket_status status = HOCKET_STATUS_NOT_POSSIBLE;
    if (output)
        status = play(engine, hocket_session_strip(session, 0), atol(argv[3]), output);
    if (output && fclose(output) != 0)
        status = HOCKET_STATUS_NOT_POSSIBLE;

    hocket_standing standing;
    if (hocket_engine_standing(engine, &standing, NULL) == HOCKET_STATUS_OK)
        printf("%s, %u workers, %u units, about %.1f us a block\n", standing.schedule,
               (unsigned)standing.workers, (unsigned)standing.units, standing.measured_ns / 1e3);
    hocket_engine_stop(engine);
    hocket_session_free(session);
    if (status != HOCKET_STATUS_OK)
        fprintf(stderr, "embed: %s\n", hocket_status_text(status));
    return status;
}
