#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace paribus {

/// Called with the number of finished items; may throw to stop the work.
using Tick = std::function<void(std::size_t)>;

/// Does the work for items 0 ... n_items - 1 on up to `n_threads` threads, in blocks of consecutive items; for a single
/// item on the calling thread.
///
/// @param make_worker called once on each thread; returns the function that does the work for one item on this thread,
///                    and may own scratch memory. It is given a flag: once it is set, items may be left unfinished
/// @param on_tick     called every 50 ms on the calling thread with the number of finished items, and once at the end;
///                    if it throws, the work stops soon, and the exception is passed to the caller
/// @throws the first exception of a worker
void for_each_item(std::size_t n_items, std::size_t n_threads,
                   const std::function<std::function<void(std::size_t)>(const std::atomic<bool> &)> &make_worker,
                   const Tick &on_tick);

}  // namespace paribus
