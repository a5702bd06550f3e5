/* A guest of Hocket's lab: the Mandelbrot picture by OpenMP's loops.
 *
 * It speaks the lab's protocol (docs/lab.md, "guest"): a line of JSON for each round, and a line back.
 * The lab builds it: cc -std=c11 -O2 -ffp-contract=off -fopenmp guest.c
 *
 * -ffp-contract=off: a fused multiplication and addition rounds once instead of twice, and points at the edge of the set
 * would take another number of iterations. The picture must be that of the lab, bit for bit.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { LONGEST_LINE = 4096, MOST_THREADS = 1024, MOST_PIXELS = 1 << 26 };

struct view {
    long width, height, limit;
    double centre_re, centre_im, step;
};

/* The value of "name" in a line of the lab, whose values are numbers and texts without quotes; NULL without it. */
static const char *value(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    return *at == '"' ? at + 1 : at;
}

static long whole(const char *line, const char *name)
{
    const char *text = value(line, name);
    return text ? strtol(text, NULL, 10) : 0;
}

static double real(const char *line, const char *name)
{
    const char *text = value(line, name);
    return text ? strtod(text, NULL) : 0.0;
}

static bool is(const char *line, const char *name, const char *word)
{
    const char *text = value(line, name);
    size_t length = strlen(word);
    return text && strncmp(text, word, length) == 0 && text[length] == '"';
}

/* Iterations of z^2 + c, from z = 0, until |z| > 2; in the order of operations of the lab's own kernel. */
static uint32_t escape(double re, double im, uint32_t limit)
{
    double x = 0.0, y = 0.0;
    uint32_t iterations = 0;
    while (iterations < limit) {
        double xx = x * x, yy = y * y;
        if (xx + yy > 4.0)
            break;
        y = 2.0 * x * y + im;
        x = xx - yy + re;
        iterations++;
    }
    return iterations;
}

static void draw_row(const struct view *view, long row, uint32_t *pixels)
{
    double im = view->centre_im - ((double)row - ((double)view->height - 1.0) / 2.0) * view->step;
    for (long column = 0; column < view->width; column++) {
        double re = view->centre_re + ((double)column - ((double)view->width - 1.0) / 2.0) * view->step;
        pixels[row * view->width + column] = escape(re, im, (uint32_t)view->limit);
    }
}

/* FNV-1a over 64-bit words, as the lab's own checksum of a picture. */
static uint64_t checksum(const struct view *view, const uint32_t *pixels)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    const uint64_t prime = UINT64_C(0x100000001b3);
    sum = (sum ^ (uint64_t)view->width) * prime;
    sum = (sum ^ (uint64_t)view->height) * prime;
    for (long pixel = 0; pixel < view->width * view->height; pixel++)
        sum = (sum ^ pixels[pixel]) * prime;
    return sum;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* What the loop took, with all threads of the process: also those that have ended. */
struct used {
    int64_t time_ns, cpu_ns;
    long voluntary, involuntary;
};

/* How many threads this process has, as the system counts them; 1 where it does not say. */
static int threads_now(void)
{
    char line[256];
    int threads = 1;
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL)
        return 1;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    fclose(status);
    return threads;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *pass_gate(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return unused;
}

/* Whether the system has so many further threads at once: libgomp ends the program if it does not. */
static bool has_threads(int threads)
{
    static pthread_t started[MOST_THREADS];
    int there = 0;
    pthread_mutex_lock(&gate);
    while (there < threads && pthread_create(&started[there], NULL, pass_gate, NULL) == 0)
        there++;
    pthread_mutex_unlock(&gate);
    for (int thread = 0; thread < there; thread++)
        pthread_join(started[thread], NULL);
    /* The system counts a thread for a moment after it was joined. */
    const struct timespec moment = {.tv_nsec = 100000};
    for (int looks = 0; looks < 1000 && threads_now() > 1; looks++)
        nanosleep(&moment, NULL);
    return there == threads;
}

/* Whether there are as many threads as were asked for. They are started here, outside of the time. */
static bool start_threads(int threads)
{
    int there = 0;
    if (!has_threads(threads - 1))
        return false;
    omp_set_num_threads(threads);
#pragma omp parallel
    {
#pragma omp single
        there = omp_get_num_threads();
    }
    return there == threads;
}

static struct used draw(const struct view *view, uint32_t *pixels)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    int64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t begin = now_ns();
#pragma omp parallel for schedule(runtime)
    for (long row = 0; row < view->height; row++)
        draw_row(view, row, pixels);
    int64_t end = now_ns();
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    getrusage(RUSAGE_SELF, &after);
    return (struct used){
        .time_ns = end - begin,
        .cpu_ns = cpu_ns,
        .voluntary = after.ru_nvcsw - before.ru_nvcsw,
        .involuntary = after.ru_nivcsw - before.ru_nivcsw,
    };
}

static void refuse(long round, const char *why)
{
    printf("{\"round\": %ld, \"error\": \"%s\"}\n", round, why);
}

static void answer(const char *line)
{
    int64_t read_at = now_ns();
    long round = whole(line, "round");
    struct view view = {
        .width = whole(line, "width"),
        .height = whole(line, "height"),
        .limit = whole(line, "limit"),
        .centre_re = real(line, "centre_re"),
        .centre_im = real(line, "centre_im"),
        .step = real(line, "step"),
    };
    long threads = whole(line, "threads");
    if (threads < 1 || threads > MOST_THREADS || view.width < 1 || view.height < 1
        || view.limit < 1 || view.limit > UINT32_MAX || view.width > MOST_PIXELS / view.height) {
        refuse(round, "threads or picture out of range");
        return;
    }
    /* Without a size of pieces: one piece a thread for static, one row for dynamic, at least one for guided. */
    if (is(line, "loop", "static")) {
        omp_set_schedule(omp_sched_static, 0);
    } else if (is(line, "loop", "dynamic")) {
        omp_set_schedule(omp_sched_dynamic, 1);
    } else if (is(line, "loop", "guided")) {
        omp_set_schedule(omp_sched_guided, 1);
    } else {
        refuse(round, "unknown loop");
        return;
    }
    size_t bytes = (size_t)(view.width * view.height) * sizeof(uint32_t);
    uint32_t *pixels = malloc(bytes);
    if (pixels == NULL) {
        refuse(round, "no memory for the picture");
        return;
    }
    /* The first touch of a page is no part of drawing. */
    memset(pixels, 0, bytes);
    if (start_threads((int)threads)) {
        struct used used = draw(&view, pixels);
        uint64_t sum = checksum(&view, pixels);
        /* Threads that wait for the next loop would spin beside the next variant. */
        omp_pause_resource_all(omp_pause_soft);
        printf("{\"round\": %ld, \"time_ns\": %" PRId64 ", \"busy_ns\": %" PRId64
               ", \"draw_cpu_ns\": %" PRId64 ", \"voluntary\": %ld, \"involuntary\": %ld"
               ", \"ops\": %ld, \"checksum\": \"%016" PRIx64 "\"}\n",
               round, used.time_ns, now_ns() - read_at, used.cpu_ns, used.voluntary,
               used.involuntary, view.width * view.height, sum);
    } else {
        refuse(round, "the system has no more threads");
    }
    free(pixels);
}

int main(void)
{
    static char line[LONGEST_LINE];
    omp_set_dynamic(0);
    printf("{\"hocket-guest\": 1}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        answer(line);
        fflush(stdout);
    }
    return 0;
}
