#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace acc::shm {

// Writes memory that other ranks read, in the faster of two ways: through this core's caches, or past them (non-temporal
// stores).
//
// A line that a peer has read has to be taken back from the peer's cache before it can be written. Between cores that share
// a cache that is quick. Between others each line may wait for the one before: on two cores of an EPYC 9004 that have no L3
// in common, caches take 2.4 GB/s and stores past them 28. With a common L3 caches are ahead. A virtual core moves from
// one to the other while a job runs, so both ways are timed all the time.
//
// For one thread at a time.
class SharedWriter {
 public:
  // The memory may not overlap.
  void copy(void* to, const void* from, size_t bytes);

  // Calls `write`, which copies `bytes`, and learns from the time that it takes; now and then the slower way is taken.
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

  // What was written is there before what is written from now on. Before peers are told of it.
  static void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Way { kCached, kPast };

  // What writes of about one size took of late.
  class History {
   public:
    Way fastest() const;
    // To take for the coming write.
    Way next();
    void add(Way way, float seconds_per_byte);

   private:
    // The best of a few, since a rank may lose its core in the midst of a write.
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
