#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace acc::shm {

// Writes memory that other ranks read, in the faster of two ways: through this core's caches, or
// past them with non-temporal stores.
//
// When a peer has read a cache line, this core must take the line back before it can write it. That
// is fast between cores that share a cache. Between other cores, each line may wait for the one
// before. On two cores of an EPYC 9004 without a common L3, cached writes reach 2.4 GB/s and
// non-temporal stores 28 GB/s. With a common L3, cached writes are faster. A virtual core can move
// between the two cases while a job runs, so both ways are timed throughout.
//
// Not thread-safe: one thread at a time.
class SharedWriter {
 public:
  // The ranges must not overlap.
  void copy(void* to, const void* from, size_t bytes);

  // Calls `write`, which copies `bytes` bytes, and records its duration. Now and then it takes the
  // slower way, to time it.
  template <typename Write>
  void timed(size_t bytes, Write write) {
    if (bytes < kWorthTiming) return write();
    auto& history = histories_[class_of(bytes)];
    const auto usual = history.fastest();
    way_ = history.next();
    const auto started = Clock::now();
    write();
    finish();
    const std::chrono::duration<float> seconds = Clock::now() - started;
    history.add(way_, seconds.count() / static_cast<float>(bytes));
    way_ = usual;
  }

  // Makes non-temporal stores visible before later writes. Call it before peers are told of the
  // written bytes.
  static void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Way { kCached, kPast };

  // The recent durations of writes of similar size.
  class History {
   public:
    Way fastest() const;
    // The way for the next write.
    Way next();
    void add(Way way, float seconds_per_byte);

   private:
    // The best of kKept times counts, because a rank may lose its core during a write.
    static constexpr size_t kKept = 4;
    struct Times {
      std::array<float, kKept> recent{};
      uint32_t count = 0;
      float best() const;
    };
    const Times& times_of(Way way) const { return times_[way == Way::kPast ? 1 : 0]; }

    Times times_[2];
    uint32_t writes_ = 0;
  };

  static constexpr size_t kWorthTiming = 16 * 1024;
  static constexpr size_t kClasses = 8;
  static size_t class_of(size_t bytes);

  std::array<History, kClasses> histories_;
  Way way_ = Way::kCached;
};

}  // namespace acc::shm
