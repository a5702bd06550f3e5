// What an executor written in C++ gets from the Rust side, and what it gives back.
//
// The work of a node is a call into Rust, the same code that all other executors run, so that what
// differs is who runs a node when. Nothing here may throw into Rust: `start` and `prepare` return
// null instead, `run` and what it calls do not throw.
#pragma once

#include <cstddef>

extern "C" {

/// Threads to be had, the leader included, and what each of the others calls once, on itself,
/// before it works: it gets its seat and its scheduling class there. `index` is 1 to threads - 1.
struct RivalSeats {
    std::size_t threads;
    void (*settle)(void* context, std::size_t index);
    void* context;
};

/// A graph, its nodes numbered in level order. All memory is the caller's and outlives the executor.
struct RivalNetwork {
    std::size_t nodes;
    /// The nodes that node n reads are inputs[input_begin[n]] to inputs[input_begin[n + 1] - 1].
    const std::size_t* inputs;
    const std::size_t* input_begin;
    /// Level l has the nodes level_begin[l] to level_begin[l + 1] - 1.
    std::size_t levels;
    const std::size_t* level_begin;
    /// Runs one node: once a block, and after all that it reads.
    void (*run_node)(void* memory, std::size_t node);
    void* memory;
};

/// An executor. All functions are called on the leader.
struct Rival {
    /// Of library and compiler, for the record.
    const char* version;
    /// Starts the threads; returns when all have settled. Null: they did not come.
    void* (*start)(const RivalSeats* seats);
    void (*stop)(void* team);
    /// Null: out of memory.
    void* (*prepare)(void* team, const RivalNetwork* network);
    /// One block; all of it is done on return.
    void (*run)(void* executor);
    void (*release)(void* executor);
};

}  // extern "C"
