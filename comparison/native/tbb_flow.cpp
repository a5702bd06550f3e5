// oneTBB's flow graph: one continue_node a node, one edge an edge.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>
#include <tbb/version.h>

#include "rival.h"

namespace {

namespace flow = tbb::flow;

/// How long to wait for the library's threads, which it starts when it likes.
constexpr std::chrono::seconds PATIENCE{5};

/// Settles each thread of the library when it comes into the arena for the first time.
class Observer final : public tbb::task_scheduler_observer {
public:
    Observer(tbb::task_arena& arena, const RivalSeats& seats)
        : task_scheduler_observer(arena), seats_(seats), number_(next_number++) {
        observe(true);
    }

    ~Observer() override { observe(false); }

    void on_scheduler_entry(bool is_worker) override {
        // Threads leave and come back all the time; they outlive a team and may serve the next.
        thread_local unsigned settled_by = 0;
        if (!is_worker || settled_by == number_) {
            return;
        }
        settled_by = number_;
        // Where the library has threads left from an earlier, larger team, more may come than
        // there are seats.
        const std::size_t index = came_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (index < seats_.threads) {
            seats_.settle(seats_.context, index);
        }
        settled_.fetch_add(1, std::memory_order_release);
    }

    bool all_settled() const {
        return settled_.load(std::memory_order_acquire) + 1 >= seats_.threads;
    }

private:
    static std::atomic<unsigned> next_number;
    const RivalSeats seats_;
    const unsigned number_;
    std::atomic<std::size_t> came_{0};
    std::atomic<std::size_t> settled_{0};
};

std::atomic<unsigned> Observer::next_number{1};

/// The leader and the library's threads, in an arena that has a slot for each and no more.
class Team {
public:
    explicit Team(const RivalSeats& seats)
        : threads_(seats.threads),
          limit_(tbb::global_control::max_allowed_parallelism, threads_),
          arena_(static_cast<int>(threads_), 1),
          observer_(arena_, seats) {}

    /// Gives each thread a task that lasts until all are there.
    bool gather() {
        arena_.execute([this] {
            const auto deadline = std::chrono::steady_clock::now() + PATIENCE;
            const auto wait = [this, deadline] {
                while (!observer_.all_settled() && std::chrono::steady_clock::now() < deadline) {
                    std::this_thread::sleep_for(std::chrono::milliseconds{1});
                }
            };
            tbb::task_group group;
            for (std::size_t thread = 1; thread < threads_; ++thread) {
                group.run(wait);
            }
            // First here, so that the leader does not take one of these tasks itself.
            wait();
            group.wait();
        });
        return observer_.all_settled();
    }

    tbb::task_arena& arena() { return arena_; }

private:
    std::size_t threads_;
    tbb::global_control limit_;
    tbb::task_arena arena_;
    Observer observer_;
};

class FlowGraph {
public:
    using Node = flow::continue_node<flow::continue_msg>;

    /// To be called inside the arena: the graph's tasks go to the arena where it was made.
    FlowGraph(Team& team, const RivalNetwork& network) : team_(team) {
        nodes_.reserve(network.nodes);
        for (std::size_t node = 0; node < network.nodes; ++node) {
            add(network, node);
        }
    }

    void run() {
        team_.arena().execute([this] {
            for (Node* source : sources_) {
                source->try_put(flow::continue_msg{});
            }
            graph_.wait_for_all();
        });
    }

private:
    void add(const RivalNetwork& network, std::size_t node) {
        const auto body = [run = network.run_node, memory = network.memory,
                           node](const flow::continue_msg&) { run(memory, node); };
        nodes_.push_back(std::make_unique<Node>(graph_, body));
        const std::size_t begin = network.input_begin[node];
        const std::size_t end = network.input_begin[node + 1];
        for (std::size_t input = begin; input < end; ++input) {
            flow::make_edge(*nodes_[network.inputs[input]], *nodes_[node]);
        }
        if (begin == end) {
            sources_.push_back(nodes_[node].get());
        }
    }

    Team& team_;
    flow::graph graph_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<Node*> sources_;
};

void* start(const RivalSeats* seats) try {
    auto team = std::make_unique<Team>(*seats);
    return team->gather() ? team.release() : nullptr;
} catch (...) {
    return nullptr;
}

void stop(void* team) { delete static_cast<Team*>(team); }

void* prepare(void* team, const RivalNetwork* network) try {
    Team& owner = *static_cast<Team*>(team);
    return owner.arena().execute([&] { return new FlowGraph(owner, *network); });
} catch (...) {
    return nullptr;
}

void run(void* executor) { static_cast<FlowGraph*>(executor)->run(); }

void release(void* executor) { delete static_cast<FlowGraph*>(executor); }

constexpr Rival RIVAL{"oneTBB " TBB_VERSION_STRING ", g++ " __VERSION__,
                      start, stop, prepare, run, release};

}  // namespace

extern "C" const Rival* rival_tbb_flow() { return &RIVAL; }
