/* How often and for how long a CPU stands still under a thread that only reads the clock.
 *
 *     stops SECONDS
 *
 * The loop runs for 10 ms of each 20 ms, in the class of the caller. It prints `spun S`, then a line for each reading that came more
 * than 200 us after the one before: how long it was, how many microseconds of CPU time the kernel counted for the thread meanwhile,
 * and how many thread switches. Without a switch nothing else ran there but interrupts. If the whole time counts as the thread's
 * own, the kernel does not know either: the host stopped the virtual CPU.
 *
 * cc -O2 stops.c -o stops
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { RUNS_NS = 10000000, GAP_NS = 200000 };

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

/* One stretch of readings. Returns how long it was. The CPU time between two gaps is known at gaps only, so what the thread
 * computed in between is taken off. */
static int64_t stretch(void)
{
    int64_t begun = read_ns(CLOCK_MONOTONIC), last = begun, known = begun;
    int64_t cpu = read_ns(CLOCK_THREAD_CPUTIME_ID);
    long switched = switches();
    while (last - begun < RUNS_NS) {
        int64_t now = read_ns(CLOCK_MONOTONIC);
        if (now - last > GAP_NS) {
            int64_t cpu_now = read_ns(CLOCK_THREAD_CPUTIME_ID);
            long switched_now = switches();
            printf("%lld %lld %ld\n", (long long)(now - last) / 1000,
                   (long long)(cpu_now - cpu - (last - known)) / 1000, switched_now - switched);
            cpu = cpu_now;
            switched = switched_now;
            known = now = read_ns(CLOCK_MONOTONIC);
        }
        last = now;
    }
    return last - begun;
}

int main(int count, char **arguments)
{
    double seconds = count == 2 ? atof(arguments[1]) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: stops SECONDS\n");
        return 2;
    }
    int64_t end = read_ns(CLOCK_MONOTONIC) + (int64_t)(seconds * 1e9), spun = 0;
    while (read_ns(CLOCK_MONOTONIC) < end) {
        spun += stretch();
        struct timespec rest = {0, RUNS_NS};
        nanosleep(&rest, NULL);
    }
    printf("spun %.3f\n", (double)spun / 1e9);
    return 0;
}
