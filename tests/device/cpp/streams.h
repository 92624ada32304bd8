#pragma once

// Streams: each is a thread with a queue. Without delays, work runs on the thread that asks for it,
// as soon as nothing is queued before it.

#include <c10/core/Stream.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace late {

/** The counts of one process, over all of its devices. */
struct Counters {
  std::atomic<int64_t> launches{0};
  std::atomic<int64_t> waits{0};
  std::atomic<int64_t> reads{0};
  std::atomic<int64_t> uploads{0};
};
Counters& counters();

/** The state of one recording of an event. */
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::chrono::steady_clock::time_point at;

  void set();
  void wait();
};

class Stream {
 public:
  void enqueue(std::function<void()> task);
  /** As {@link enqueue}, always on the thread of the stream. */
  void enqueue_on_thread(std::function<void()> task);
  /** Waits for all that was queued before. @throws c10::AcceleratorError if a task failed. */
  void drain();
  bool is_idle();
  /** Later delays follow from the seed. */
  void seed(uint32_t seed);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool is_busy_ = false;
  bool has_thread_ = false;
  std::mt19937 random_;
};

Stream& stream_of(c10::Stream stream);
c10::Stream current_stream(c10::DeviceIndex device);
c10::Stream exchange_stream(c10::Stream stream);
c10::Stream new_stream(c10::DeviceIndex device);
void drain_device(c10::DeviceIndex device);
void drain_all();

c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex device);

/** @param longest Each task first waits up to so many microseconds. 0: work runs at once. */
void set_delays(uint32_t seed, int64_t longest);
bool runs_late();
/** All later waits and launches of the process report the failure, as after a fault of a GPU. */
void fail(const std::string& message);
void require_no_failure();

}  // namespace late
