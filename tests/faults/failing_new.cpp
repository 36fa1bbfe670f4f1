// Lets the n-th allocation of C++ code fail: to be preloaded (LD_PRELOAD), and armed from Python by ctypes.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> left{-1};  // allocations until one fails; negative: none does
std::atomic<long> n_seen{0};

void *allocate(std::size_t size, std::size_t alignment) {
    if (left.load(std::memory_order_relaxed) >= 0) {
        n_seen.fetch_add(1, std::memory_order_relaxed);
        // Memory that is used up stays used up: all later ones fail, too.
        if (left.fetch_sub(1, std::memory_order_relaxed) <= 0) {
            left.store(0, std::memory_order_relaxed);
            throw std::bad_alloc();
        }
    }
    void *found = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                 : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (found == nullptr) throw std::bad_alloc();
    return found;
}

}  // namespace

extern "C" {
void fail_after(long n) {
    n_seen = 0;
    left = n;
}
long allocations() { return n_seen; }
}

void *operator new(std::size_t size) { return allocate(size, 0); }
void *operator new[](std::size_t size) { return allocate(size, 0); }
void *operator new(std::size_t size, std::align_val_t to) { return allocate(size, static_cast<std::size_t>(to)); }
void *operator new[](std::size_t size, std::align_val_t to) { return allocate(size, static_cast<std::size_t>(to)); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
