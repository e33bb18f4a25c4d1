// A graph of modules as the benchmark writes it, the state of events in flight, and what a module
// does: it mixes the checksums of its inputs, and computes for its time. The same as in a replay of
// a workload by Actinium, for programs that schedule it by something else.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace flow {

using u64 = std::uint64_t;

struct Module {
    // Which of the locks it needs, under which one event at a time is in it; -1: none.
    int lock = -1;
    // Its number in the workload.
    u64 number = 0;
    std::vector<unsigned> inputs;
    std::vector<unsigned> consumers;
    // Nanoseconds, the e-th for event e; they repeat.
    std::vector<u64> times_ns;
};

struct Graph {
    unsigned threads = 0, in_flight = 0, locks = 0;
    u64 events = 0;
    std::vector<Module> modules;
};

inline Graph read(const char* path) {
    std::ifstream file(path);
    Graph graph;
    std::size_t modules = 0;
    file >> graph.threads >> graph.in_flight >> graph.events >> graph.locks >> modules;
    graph.modules.resize(modules);
    for (auto& module : graph.modules) {
        std::size_t inputs = 0, times = 0;
        file >> module.lock >> module.number >> inputs;
        module.inputs.resize(inputs);
        for (auto& input : module.inputs) file >> input;
        file >> times;
        module.times_ns.resize(times);
        for (auto& time : module.times_ns) file >> time;
    }
    if (!file || modules == 0) {
        std::cerr << path << ": not a graph\n";
        std::exit(2);
    }
    for (unsigned m = 0; m < modules; ++m)
        for (unsigned input : graph.modules[m].inputs) graph.modules[input].consumers.push_back(m);
    return graph;
}

inline u64 now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

inline u64 mix(u64 sum, u64 value) {
    u64 z = ((sum << 5) | (sum >> 59)) ^ (value + 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

inline void turn_over(u64 rounds, u64 state) {
    for (u64 round = 0; round < rounds; ++round) {
        state = mix(state, round);
        asm volatile("" : "+r"(state));
    }
}

// Computes for so many nanoseconds, in pieces of two microseconds between looks at the clock.
inline void work(u64 ns) {
    constexpr u64 piece_ns = 2000, measured = 20000;
    static const u64 pace = [] {
        u64 fastest_ns = ~0ull;
        for (u64 seed = 0; seed < 20; ++seed) {
            u64 begin_ns = now_ns();
            turn_over(measured, seed);
            fastest_ns = std::min(fastest_ns, now_ns() - begin_ns);
        }
        return std::max<u64>(1, measured * piece_ns / std::max<u64>(1, fastest_ns));
    }();
    if (ns == 0) return;
    u64 before_ns = now_ns();
    while (ns > 0) {
        u64 piece = std::min(ns, piece_ns);
        turn_over(std::max<u64>(1, pace * piece / piece_ns), ns);
        u64 after_ns = now_ns();
        ns -= std::min(ns, after_ns - before_ns);
        before_ns = after_ns;
    }
}

// An event in flight.
struct Slot {
    u64 event = 0;
    std::unique_ptr<u64[]> sums;
    // Modules that nobody needs and that have not ended.
    std::atomic<unsigned> left{0};
};

// What events in flight share.
class Run {
public:
    explicit Run(Graph read) : graph(std::move(read)), slots(graph.in_flight) {
        for (auto& slot : slots) slot.sums = std::make_unique<u64[]>(graph.modules.size());
        for (auto& module : graph.modules) ends += module.consumers.empty();
    }

    // Gives the slot the next event; false: there is none.
    bool begin(Slot& slot) {
        u64 event = next.fetch_add(1, std::memory_order_relaxed);
        if (event >= graph.events) return false;
        slot.event = event;
        slot.left.store(ends, std::memory_order_relaxed);
        return true;
    }

    // Runs a module; true: it was the last of its event.
    bool call(Slot& slot, unsigned m) {
        const Module& module = graph.modules[m];
        u64 sum = mix(mix(0, slot.event), module.number);
        for (unsigned input : module.inputs) sum = mix(sum, slot.sums[input]);
        work(module.times_ns[slot.event % module.times_ns.size()]);
        slot.sums[m] = sum;
        if (!module.consumers.empty()) return false;
        total.fetch_add(sum, std::memory_order_relaxed);
        return slot.left.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    // What the benchmark reads: nanoseconds, and the checksum of all events.
    void report(u64 elapsed_ns) const {
        std::printf("%llu %llu\n", static_cast<unsigned long long>(elapsed_ns),
                    static_cast<unsigned long long>(total.load()));
    }

    const Graph graph;
    std::vector<Slot> slots;

private:
    unsigned ends = 0;
    std::atomic<u64> next{0}, total{0};
};

}  // namespace flow
