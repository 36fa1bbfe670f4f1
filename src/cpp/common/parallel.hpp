#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace paribus {

/// Does the work for items 0 ... n_items - 1 on up to `n_threads` threads, in blocks of neighbouring items.
///
/// @param make_worker called on each thread that takes part; returns that thread's function of one item, which may own
///                    scratch memory. It is given a flag: once that is set, an item may be left unfinished
/// @param on_tick     called now and then on the calling thread with the number of items done, and once at the end; if
///                    it throws, the work stops soon and the exception goes to the caller
/// @throws the first exception of a worker
void for_each_item(std::size_t n_items, std::size_t n_threads,
                   const std::function<std::function<void(std::size_t)>(const std::atomic<bool> &)> &make_worker,
                   const std::function<void(std::size_t)> &on_tick);

}  // namespace paribus
