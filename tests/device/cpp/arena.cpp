#include "arena.h"

#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace late {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kPage = 4096;
/** Larger blocks give their pages back when they are freed. */
constexpr size_t kKept = size_t{1} << 20;
/** Freed blocks of a size that stay out of use, so that a late reader finds no other tensor there. */
constexpr size_t kQuarantine = 4;
/** As float32 and float64 a NaN, as an integer -1. */
constexpr int kPoison = 0xff;

size_t rounded(size_t bytes) {
  const size_t unit = bytes < kKept ? kBlock : kPage;
  return std::max(kBlock, (bytes + unit - 1) / unit * unit);
}

struct sigaction previous_handler;

void write_text(const std::string& text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Arena& arena = Arena::instance();
  if (arena.contains(info->si_addr)) {
    write_text("\nlate: the host touched memory of a device: " + arena.describe(info->si_addr) + "\n");
    void* frames[48];
    backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
    ::signal(SIGSEGV, SIG_DFL);
    return;
  }
  if (previous_handler.sa_flags & SA_SIGINFO) return previous_handler.sa_sigaction(signal, info, context);
  if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
    return previous_handler.sa_handler(signal);
  }
  ::signal(SIGSEGV, SIG_DFL);
}

thread_local int depth = 0;
thread_local std::string outermost;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  if (depth++ == 0) outermost = function.name();
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) { --depth; }

}  // namespace

void report_host_access() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous_handler);
}

const char* running_operator() { return depth > 0 ? outermost.c_str() : "no operator"; }

void note_running_operators() {
  at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::FUNCTION}));
}

Arena& Arena::instance() {
  // Never destroyed: tensors may outlive static data.
  static Arena* const arena = new Arena();
  return *arena;
}

Arena::Arena() {
  const size_t bytes = kDevices * kDeviceBytes;
  const int file = memfd_create("late", MFD_CLOEXEC);
  TORCH_CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, "late: no memory file");
  const auto map = [&](int access) {
    void* made = mmap(nullptr, bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    TORCH_CHECK(made != MAP_FAILED, "late: the arena cannot be mapped: ", std::strerror(errno));
    return static_cast<char*>(made);
  };
  shown_ = map(PROT_NONE);
  kernels_ = map(PROT_READ | PROT_WRITE);
  close(file);
}

Block* Arena::allocate(size_t wanted, c10::DeviceIndex device, int64_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t bytes = rounded(wanted);
  auto& figures = figures_[device];
  TORCH_CHECK_WITH(OutOfMemoryError, static_cast<size_t>(figures.allocated) + bytes <= limit_,
                   "late: out of memory. Tried to allocate ", bytes, " bytes. Device ", int{device}, " has ", limit_,
                   " bytes, of which ", figures.allocated, " are in use.");
  auto& waiting = free_[{device, bytes}];
  Block* block = nullptr;
  if (waiting.size() > (bytes < kKept ? kQuarantine : 0)) {
    block = waiting.begin()->second;
    waiting.erase(waiting.begin());
  } else {
    TORCH_CHECK(used_[device] + bytes <= kDeviceBytes, "late: the addresses of device ", int{device}, " are used up");
    char* shown = shown_ + device * kDeviceBytes + used_[device];
    used_[device] += bytes;
    block = &blocks_[shown];
    block->shown = shown;
    block->bytes = bytes;
    block->device = device;
    figures.reserved += static_cast<int64_t>(bytes);
  }
  block->wanted = wanted;
  block->is_live = true;
  block->stream = stream;
  block->users.clear();
  block->birth = running_operator();
  figures.allocated += static_cast<int64_t>(bytes);
  figures.peak = std::max(figures.peak, figures.allocated);
  ++figures.allocations;
  return block;
}

void Arena::release(Block* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  block->is_live = false;
  figures_[block->device].allocated -= static_cast<int64_t>(block->bytes);
}

void Arena::reuse(Block* block) {
  char* memory = for_kernels(block->shown);
  if (block->bytes < kKept) {
    std::memset(memory, kPoison, block->bytes);
  } else {
    // The poison at both ends stays out of the pages that are given back.
    const auto begin = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) / kPage * kPage;
    const auto end = (reinterpret_cast<uintptr_t>(memory) + block->bytes) / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  free_[{block->device, block->bytes}].emplace(++freed_, block);
}

void Arena::empty_cache() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int device = 0; device < kDevices; ++device) figures_[device].reserved = figures_[device].allocated;
}

void Arena::note_user(const void* shown, int64_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& block = blocks_.at(static_cast<char*>(const_cast<void*>(shown)));
  if (stream != block.stream) block.users.insert(stream);
}

int64_t Arena::stream_of(const void* shown) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.at(static_cast<char*>(const_cast<void*>(shown))).stream;
}

c10::DeviceIndex Arena::device_of(const void* shown) const {
  TORCH_CHECK(contains(shown), "late: the pointer is not one of a device");
  return static_cast<c10::DeviceIndex>((static_cast<const char*>(shown) - shown_) / kDeviceBytes);
}

Figures Arena::figures(c10::DeviceIndex device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return figures_[device];
}

void Arena::reset_peak(c10::DeviceIndex device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  figures_[device].peak = figures_[device].allocated;
}

void Arena::set_limit(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  limit_ = bytes;
}

std::string Arena::describe(const void* shown) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  const std::string device = "late:" + std::to_string(int{device_of(shown)});
  if (!lock.owns_lock()) return "an address of " + device;
  auto found = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(shown)));
  if (found == blocks_.begin()) return "an address of " + device + " without a tensor";
  const Block& block = (--found)->second;
  return std::to_string(block.wanted) + " bytes on " + device + (block.is_live ? "" : ", freed") + ", made by " +
         block.birth;
}

}  // namespace late
