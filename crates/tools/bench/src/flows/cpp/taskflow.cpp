// The graph as Taskflow programs: each slot has one with a task for each module, and runs it again
// for each of its events. A module that one event at a time may use acquires a semaphore, which all
// slots share.

#include "flow.hpp"

#include <taskflow/taskflow.hpp>

#include <deque>

using flow::Run;

int main(int, char** arguments) {
    Run run(flow::read(arguments[1]));
    const auto& modules = run.graph.modules;
    tf::Executor executor(run.graph.threads);
    std::deque<tf::Semaphore> locks;
    for (unsigned lock = 0; lock < run.graph.locks; ++lock) locks.emplace_back(1);
    std::deque<tf::Taskflow> programs(run.slots.size());
    for (unsigned slot = 0; slot < run.slots.size(); ++slot) {
        std::vector<tf::Task> tasks;
        for (unsigned m = 0; m < modules.size(); ++m) {
            auto body = [&run, slot, m] { run.call(run.slots[slot], m); };
            tf::Task task = programs[slot].emplace(body);
            if (modules[m].lock >= 0) {
                task.acquire(locks[modules[m].lock]);
                task.release(locks[modules[m].lock]);
            }
            tasks.push_back(task);
        }
        for (unsigned m = 0; m < modules.size(); ++m)
            for (unsigned input : modules[m].inputs) tasks[input].precede(tasks[m]);
    }
    flow::work(1);
    flow::u64 begin_ns = flow::now_ns();
    for (unsigned slot = 0; slot < run.slots.size(); ++slot) {
        // Asked before the first event and after each.
        auto is_over = [&run, slot] { return !run.begin(run.slots[slot]); };
        executor.run_until(programs[slot], is_over);
    }
    executor.wait_for_all();
    run.report(flow::now_ns() - begin_ns);
}
