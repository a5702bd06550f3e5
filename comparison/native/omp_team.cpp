#include "omp_team.h"

#include <new>

#include <omp.h>

namespace omp {

namespace {

struct Team {
    int threads;
};

/// In a team of the same size the runtime gives each thread the number it had before, so a thread
/// that settles for its number settles for good.
int settle_all(const RivalSeats& seats) {
    int came = 0;
#pragma omp parallel num_threads(static_cast<int>(seats.threads))
    {
        const int index = omp_get_thread_num();
        if (index > 0) {
            seats.settle(seats.context, static_cast<std::size_t>(index));
        } else {
            came = omp_get_num_threads();
        }
    }
    return came;
}

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

}  // namespace

const char* const VERSION = "OpenMP " TEXT(_OPENMP) ", g++ " __VERSION__;

void* start(const RivalSeats* seats) {
    omp_set_dynamic(0);
    const int threads = settle_all(*seats);
    const bool all = static_cast<std::size_t>(threads) == seats->threads;
    return all ? new (std::nothrow) Team{threads} : nullptr;
}

void stop(void* team) { delete static_cast<Team*>(team); }

void* prepare(void* team, const RivalNetwork* network) {
    return new (std::nothrow) Executor{*network, static_cast<Team*>(team)->threads};
}

void release(void* executor) { delete static_cast<Executor*>(executor); }

}  // namespace omp
