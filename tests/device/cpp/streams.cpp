#include "streams.h"

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <map>

#include "arena.h"

namespace late {
namespace {

/** cudaErrorAssert, what an index out of range gives. */
constexpr int kAssertFailed = 710;

std::atomic<int64_t> longest_delay{0};
std::atomic<uint32_t> delay_seed{0};

std::mutex failure_mutex;
std::string failure;
std::atomic<bool> has_failed{false};

struct Streams {
  std::mutex mutex;
  std::map<std::pair<int, int64_t>, std::unique_ptr<Stream>> all;
  int64_t made = 0;
};

Streams& streams() {
  static Streams* const made = new Streams();
  return *made;
}

thread_local c10::DeviceIndex device_of_thread = 0;
thread_local int64_t streams_of_thread[kDevices] = {};

std::vector<Stream*> streams_of(int device) {
  const std::lock_guard<std::mutex> lock(streams().mutex);
  std::vector<Stream*> found;
  for (auto& [key, stream] : streams().all) {
    if (device < 0 || key.first == device) found.push_back(stream.get());
  }
  return found;
}

}  // namespace

Counters& counters() {
  static Counters* const made = new Counters();
  return *made;
}

void Mark::set() {
  const std::lock_guard<std::mutex> lock(mutex);
  is_done = true;
  at = std::chrono::steady_clock::now();
  changed.notify_all();
}

void Mark::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return is_done; });
}

void Stream::enqueue(std::function<void()> task) {
  require_no_failure();
  if (!runs_late() && is_idle()) return task();
  enqueue_on_thread(std::move(task));
}

void Stream::enqueue_on_thread(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_thread_) {
    has_thread_ = true;
    random_.seed(delay_seed.load());
    std::thread([this] { work(); }).detach();
  }
  queue_.push_back(std::move(task));
  changed_.notify_all();
}

void Stream::work() {
  const c10::InferenceMode guard;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !queue_.empty(); });
    auto task = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    const int64_t longest = longest_delay;
    const auto delay = longest > 0 ? std::uniform_int_distribution<int64_t>(0, longest)(random_) : 0;
    lock.unlock();
    if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    try {
      task();
    } catch (const c10::Error& error) {
      fail(error.what_without_backtrace());
    } catch (const std::exception& error) {
      fail(error.what());
    }
    task = nullptr;
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

void Stream::drain() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
  }
  require_no_failure();
}

bool Stream::is_idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.empty() && !is_busy_;
}

void Stream::seed(uint32_t seed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  random_.seed(seed);
}

Stream& stream_of(c10::Stream stream) {
  const std::lock_guard<std::mutex> lock(streams().mutex);
  auto& made = streams().all[{stream.device_index(), stream.id()}];
  if (!made) made = std::make_unique<Stream>();
  return *made;
}

c10::Stream current_stream(c10::DeviceIndex device) {
  if (device < 0) device = device_of_thread;
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device), streams_of_thread[device]);
}

c10::Stream exchange_stream(c10::Stream stream) {
  const auto before = current_stream(stream.device_index());
  streams_of_thread[stream.device_index()] = stream.id();
  return before;
}

c10::Stream new_stream(c10::DeviceIndex device) {
  if (device < 0) device = device_of_thread;
  const std::lock_guard<std::mutex> lock(streams().mutex);
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device), ++streams().made);
}

void drain_device(c10::DeviceIndex device) {
  for (Stream* stream : streams_of(device)) stream->drain();
}

void drain_all() { drain_device(-1); }

c10::DeviceIndex current_device() { return device_of_thread; }

void set_current_device(c10::DeviceIndex device) {
  TORCH_CHECK(device >= 0 && device < kDevices, "late: there is no device ", int{device});
  device_of_thread = device;
}

void set_delays(uint32_t seed, int64_t longest) {
  drain_all();
  delay_seed = seed;
  for (Stream* stream : streams_of(-1)) stream->seed(seed);
  longest_delay = longest;
}

bool runs_late() { return longest_delay > 0; }

void fail(const std::string& message) {
  const std::lock_guard<std::mutex> lock(failure_mutex);
  if (!has_failed) failure = message;
  has_failed = true;
}

void require_no_failure() {
  if (!has_failed) return;
  const std::lock_guard<std::mutex> lock(failure_mutex);
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, kAssertFailed,
                              "late: an earlier operator failed on the device: " + failure);
}

}  // namespace late
