// The device `late` for libtorch: allocators, guard, hooks and generator.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "arena.h"
#include "generator.h"
#include "streams.h"

namespace late {
namespace {

/** Frees in the order of the stream on which the block was allocated, after the other streams that use it. */
void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  Arena::instance().release(block);
  const auto stream = [&](int64_t id) { return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, block->device), id); };
  try {
    std::vector<std::shared_ptr<Mark>> uses;
    for (const auto user : block->users) {
      uses.push_back(std::make_shared<Mark>());
      stream_of(stream(user)).enqueue([use = uses.back()] { use->set(); });
    }
    stream_of(stream(block->stream)).enqueue([block, uses] {
      for (const auto& use : uses) use->wait();
      Arena::instance().reuse(block);
    });
  } catch (const c10::Error&) {
    // After a failure of the device no memory is used again.
  }
}

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(kType, current_device());
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, device};
    Block* block = Arena::instance().allocate(bytes, device.index(), current_stream(device.index()).id());
    return {block->shown, block, &free_block, device};
  }
  // Blocks are freed by their own record, so there are no raw pointers to free.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    const auto& arena = Arena::instance();
    auto* target = arena.for_kernels(to);
    const auto* source = arena.for_kernels(from);
    stream_of(current_stream(-1)).enqueue([=] { std::memcpy(target, source, count); });
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { Arena::instance().empty_cache(); }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    if (data.get()) Arena::instance().note_user(data.get(), stream.id());
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const auto figures = Arena::instance().figures(device < 0 ? current_device() : device);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = figures.allocated;
    stats.allocated_bytes[0].peak = figures.peak;
    stats.reserved_bytes[0].current = figures.reserved;
    stats.reserved_bytes[0].peak = figures.reserved;
    stats.allocation[0].allocated = figures.allocations;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex device) override {
    Arena::instance().reset_peak(device < 0 ? current_device() : device);
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    auto& arena = Arena::instance();
    const auto used = static_cast<size_t>(arena.figures(device < 0 ? current_device() : device).allocated);
    return {arena.limit() - std::min(used, arena.limit()), arena.limit()};
  }
};

Allocator& allocator() {
  static Allocator* const made = new Allocator();
  return *made;
}

/** Page-locked host memory. A copy that is queued holds the tensor, so its block is freed late enough. */
struct PinnedAllocator final : at::HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, c10::Device(c10::kCPU)};
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      pinned[static_cast<char*>(memory)] = bytes;
    }
    return {memory, memory, &free_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, std::size_t count) const override { std::memcpy(to, from, count); }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}

  static void free_pinned(void* memory);
  bool contains(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = pinned.upper_bound(static_cast<char*>(const_cast<void*>(pointer)));
    if (found == pinned.begin()) return false;
    --found;
    return pointer < found->first + found->second;
  }

  std::mutex mutex;
  std::map<char*, size_t> pinned;
};

PinnedAllocator& pinned_allocator() {
  static PinnedAllocator* const made = new PinnedAllocator();
  return *made;
}

void PinnedAllocator::free_pinned(void* memory) {
  {
    const std::lock_guard<std::mutex> lock(pinned_allocator().mutex);
    pinned_allocator().pinned.erase(static_cast<char*>(memory));
  }
  std::free(memory);
}

struct Event {
  std::shared_ptr<Mark> mark;
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return c10::Device(kType, current_device()); }
  void setDevice(c10::Device device) const override { set_current_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < kDevices) set_current_device(device.index());
  }
  c10::Stream getStream(c10::Device device) const override { return current_stream(device.index()); }
  c10::Stream getDefaultStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return new_stream(device.index()); }
  c10::Stream getNewStream(c10::Device device, int) const override { return new_stream(device.index()); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return &stream_of(stream); }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Event();
    auto mark = std::make_shared<Mark>();
    static_cast<Event*>(*event)->mark = mark;
    stream_of(stream).enqueue([mark] { mark->set(); });
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (!event) return;
    auto mark = static_cast<Event*>(event)->mark;
    stream_of(stream).enqueue([mark] { mark->wait(); });
  }
  bool queryEvent(void* event) const override {
    if (!event) return true;
    auto mark = static_cast<Event*>(event)->mark;
    const std::lock_guard<std::mutex> lock(mark->mutex);
    return mark->is_done;
  }
  void synchronizeEvent(void* event) const override {
    if (!event) return;
    ++counters().waits;
    static_cast<Event*>(event)->mark->wait();
    require_no_failure();
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    if (data.get()) Arena::instance().note_user(data.get(), stream.id());
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    synchronizeEvent(first);
    synchronizeEvent(second);
    const auto time = static_cast<Event*>(second)->mark->at - static_cast<Event*>(first)->mark->at;
    return std::chrono::duration<double, std::milli>(time).count();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }
  bool queryStream(const c10::Stream& stream) const override { return stream_of(stream).is_idle(); }
  void synchronizeStream(const c10::Stream& stream) const override {
    ++counters().waits;
    stream_of(stream).drain();
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    ++counters().waits;
    drain_device(device);
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const auto before = current_device();
    set_current_device(device);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }
  bool isPinnedPtr(const void* data) const override { return pinned_allocator().contains(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
  at::Device getDeviceFromPtr(void* data) const override {
    return at::Device(kType, Arena::instance().device_of(data));
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device < 0 ? current_device() : device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device < 0 ? current_device() : device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto made = allocator().allocate(bytes);
    const auto kept = std::min(bytes, storage.nbytes());
    if (kept > 0) allocator().copy_data(made.mutable_get(), storage.data(), kept);
    storage.set_data_ptr_noswap(std::move(made));
    storage.set_nbytes(bytes);
  }
};

}  // namespace

void register_device() {
  c10::register_privateuse1_backend("late");
  c10::SetAllocator(kType, &allocator());
  at::setHostAllocator(kType, &pinned_allocator());
  static const c10::impl::DeviceGuardImplRegistrar guard(kType, new Guard());
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  report_host_access();
  note_running_operators();
  // Tasks use data of libtorch, which is destroyed after this.
  std::atexit([] {
    try {
      drain_all();
    } catch (const std::exception&) {
      // A failure was reported to whoever waited for it.
    }
  });
}

c10::Allocator* device_allocator() { return &allocator(); }

}  // namespace late
