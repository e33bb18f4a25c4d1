// The graph as a oneTBB flow graph: each slot has a node for each module, and events go through the
// slot's nodes one after the other. A module that one event at a time may use is a serial node that
// all slots share: the slot's own node waits for the inputs and sends it the slot, and another node
// passes the end on.

#include "flow.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

namespace tbb = oneapi::tbb;
using flow::Run;
using flow::Slot;
using Done = tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<Done>;
using Asks = tbb::flow::continue_node<Done, tbb::flow::lightweight>;
using Passes = tbb::flow::broadcast_node<Done>;

struct Job {
    unsigned slot, module;
};
using Shared = tbb::flow::function_node<Job>;

// The nodes of one slot.
struct Nodes {
    std::vector<std::unique_ptr<Node>> modules;
    std::vector<std::unique_ptr<Asks>> asks;
    std::vector<std::unique_ptr<Passes>> passes;
    // Of each module: what waits for its inputs, and what tells of its end.
    std::vector<tbb::flow::receiver<Done>*> begins;
    std::vector<tbb::flow::sender<Done>*> ends;
    // Of a module with a lock, what tells of its end.
    std::vector<Passes*> pass_of;
};

class Program {
public:
    explicit Program(Run& run) : run(run), slots(run.slots.size()) {
        for (unsigned lock = 0; lock < run.graph.locks; ++lock) {
            auto body = [this](const Job& job) {
                call(job);
                slots[job.slot].pass_of[job.module]->try_put(Done());
            };
            shared.push_back(std::make_unique<Shared>(graph, tbb::flow::serial, body));
        }
        for (unsigned slot = 0; slot < run.slots.size(); ++slot) build(slot);
    }

    void wait() {
        for (unsigned slot = 0; slot < run.slots.size(); ++slot) begin(slot);
        graph.wait_for_all();
    }

private:
    void build(unsigned slot) {
        const auto& modules = run.graph.modules;
        Nodes& nodes = slots[slot];
        for (unsigned m = 0; m < modules.size(); ++m) {
            int lock = modules[m].lock;
            if (lock < 0) {
                auto body = [this, slot, m](const Done&) { call({slot, m}); };
                nodes.modules.push_back(std::make_unique<Node>(graph, body));
                nodes.begins.push_back(nodes.modules.back().get());
                nodes.ends.push_back(nodes.modules.back().get());
                nodes.pass_of.push_back(nullptr);
                continue;
            }
            auto ask = [this, slot, m, lock](const Done&) { shared[lock]->try_put({slot, m}); };
            nodes.asks.push_back(std::make_unique<Asks>(graph, ask));
            nodes.passes.push_back(std::make_unique<Passes>(graph));
            nodes.begins.push_back(nodes.asks.back().get());
            nodes.ends.push_back(nodes.passes.back().get());
            nodes.pass_of.push_back(nodes.passes.back().get());
        }
        for (unsigned m = 0; m < modules.size(); ++m)
            for (unsigned input : modules[m].inputs)
                tbb::flow::make_edge(*nodes.ends[input], *nodes.begins[m]);
    }

    void call(const Job& job) {
        if (run.call(run.slots[job.slot], job.module)) begin(job.slot);
    }

    void begin(unsigned slot) {
        if (!run.begin(run.slots[slot])) return;
        const auto& modules = run.graph.modules;
        for (unsigned m = 0; m < modules.size(); ++m)
            if (modules[m].inputs.empty()) slots[slot].begins[m]->try_put(Done());
    }

    Run& run;
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<Shared>> shared;
    std::vector<Nodes> slots;
};

int main(int, char** arguments) {
    Run run(flow::read(arguments[1]));
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, run.graph.threads);
    tbb::task_arena arena(static_cast<int>(run.graph.threads));
    flow::work(1);
    arena.execute([&run] {
        Program program(run);
        flow::u64 begin_ns = flow::now_ns();
        program.wait();
        run.report(flow::now_ns() - begin_ns);
    });
}
