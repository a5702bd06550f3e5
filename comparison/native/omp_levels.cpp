// OpenMP loops, level by level: each thread has the same part of each level in each block, and all
// meet after each level.

#include "omp_team.h"

namespace {

/// To be called by all threads of the team. Does not wait for the others.
void run_level(const RivalNetwork& network, std::size_t level) {
    const std::size_t begin = network.level_begin[level];
    const std::size_t end = network.level_begin[level + 1];
#pragma omp for schedule(static) nowait
    for (std::size_t node = begin; node < end; ++node) {
        network.run_node(network.memory, node);
    }
}

void run(void* executor) {
    const omp::Executor& own = *static_cast<const omp::Executor*>(executor);
#pragma omp parallel num_threads(own.threads)
    {
        run_level(own.network, 0);
        for (std::size_t level = 1; level < own.network.levels; ++level) {
            // Not after the last level: all meet at the end of the region anyway.
#pragma omp barrier
            run_level(own.network, level);
        }
    }
}

}  // namespace

extern "C" const Rival* rival_omp_levels() {
    static const Rival rival{omp::VERSION, omp::start, omp::stop, omp::prepare, run, omp::release};
    return &rival;
}
