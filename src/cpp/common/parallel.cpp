#include "common/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace paribus {

namespace {

constexpr auto tick = std::chrono::milliseconds(50);
constexpr std::size_t max_block = 64;

}  // namespace

void for_each_item(std::size_t n_items, std::size_t n_threads,
                   const std::function<std::function<void(std::size_t)>(const std::atomic<bool> &)> &make_worker,
                   const Tick &on_tick) {
    if (n_items == 0) {
        on_tick(0);
        return;
    }
    if (n_items == 1) {
        // One row, most often: a thread would take longer to start than the work takes.
        const std::atomic<bool> never = false;
        make_worker(never)(0);
        on_tick(1);
        return;
    }
    n_threads = std::clamp<std::size_t>(n_threads, 1, n_items);
    const std::size_t block = std::clamp<std::size_t>(n_items / (8 * n_threads), 1, max_block);

    std::atomic<std::size_t> next = 0, done = 0;
    std::atomic<bool> stop = false;
    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr failure;
    std::size_t n_running = n_threads;

    const auto run = [&] {
        try {
            const auto work = make_worker(stop);
            for (std::size_t begin = next.fetch_add(block); begin < n_items; begin = next.fetch_add(block)) {
                const std::size_t end = std::min(begin + block, n_items);
                for (std::size_t item = begin; item < end && !stop.load(std::memory_order_relaxed); ++item) {
                    work(item);
                    done.fetch_add(1, std::memory_order_relaxed);
                }
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
        const std::lock_guard lock(mutex);
        --n_running;
        finished.notify_one();
    };

    // The calling thread does no work, because it has to respond to keyboard interrupts.
    std::vector<std::thread> threads;
    try {
        for (std::size_t i = 0; i < n_threads; ++i) threads.emplace_back(run);
    } catch (...) {
        // If not all threads can be started, the work is done with fewer, at worst with the calling one.
        const std::lock_guard lock(mutex);
        n_running -= n_threads - std::max<std::size_t>(threads.size(), 1);
    }
    if (threads.empty()) run();
    for (bool running = !threads.empty(); running;) {
        {
            std::unique_lock lock(mutex);
            running = !finished.wait_for(lock, tick, [&] { return n_running == 0; });
        }
        if (!running || stop) continue;
        try {
            on_tick(done);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            stop = true;
        }
    }
    for (std::thread &thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    on_tick(done);
}

}  // namespace paribus
