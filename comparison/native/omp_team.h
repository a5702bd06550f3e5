// OpenMP's threads: the leader's team, which the runtime keeps between parallel regions.
#pragma once

#include "rival.h"

namespace omp {

/// A graph and who runs it.
struct Executor {
    RivalNetwork network;
    int threads;
};

extern const char* const VERSION;

void* start(const RivalSeats* seats);
void stop(void* team);
void* prepare(void* team, const RivalNetwork* network);
void release(void* executor);

}  // namespace omp
