// OpenMP tasks: the leader makes a task a node, in level order, each block anew; `depend` says what
// a node reads.

#include "omp_team.h"

namespace {

void make_tasks(const RivalNetwork& network) {
    // An address a node stands for its row; what is stored there does not matter.
    [[maybe_unused]] const std::size_t* const row = network.input_begin;
    const std::size_t* const inputs = network.inputs;
    const auto run_node = network.run_node;
    void* const memory = network.memory;
    for (std::size_t node = 0; node < network.nodes; ++node) {
        const std::size_t begin = network.input_begin[node];
        const std::size_t end = network.input_begin[node + 1];
#pragma omp task firstprivate(node, run_node, memory) \
    depend(iterator(std::size_t input = begin : end), in : row[inputs[input]]) \
    depend(out : row[node])
        run_node(memory, node);
    }
}

void run(void* executor) {
    const omp::Executor& own = *static_cast<const omp::Executor*>(executor);
#pragma omp parallel num_threads(own.threads)
    {
        // The others go on to the end of the region, where they take tasks.
#pragma omp master
        make_tasks(own.network);
    }
}

}  // namespace

extern "C" const Rival* rival_omp_tasks() {
    static const Rival rival{omp::VERSION, omp::start, omp::stop, omp::prepare, run, omp::release};
    return &rival;
}
