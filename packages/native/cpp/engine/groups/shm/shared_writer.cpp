#include "engine/groups/shm/shared_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace acc::shm {
namespace {

#if defined(__x86_64__)
constexpr bool kCanPass = true;
constexpr size_t kCacheLine = 64;

// Streams whole cache lines only: the CPU would first read a line that is written in part.
void copy_past(uint8_t* to, const uint8_t* from, size_t bytes) {
  const size_t head = std::min(bytes, (kCacheLine - reinterpret_cast<uintptr_t>(to) % kCacheLine) % kCacheLine);
  std::memcpy(to, from, head);
  size_t i = head;
  for (; i + kCacheLine <= bytes; i += kCacheLine) {
    for (size_t k = 0; k < kCacheLine; k += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
    }
  }
  std::memcpy(to + i, from + i, bytes - i);
}
#else
constexpr bool kCanPass = false;

void copy_past(uint8_t* to, const uint8_t* from, size_t bytes) { std::memcpy(to, from, bytes); }
#endif

// One of this many writes takes the slower way.
constexpr uint32_t kProbeEvery = 64;
// Non-temporal stores must take less than this fraction of the time of cached writes, because peers
// read cached data sooner.
constexpr float kClearly = 0.8f;

}  // namespace

void SharedWriter::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (way_ == Way::kPast) copy_past(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), bytes);
  else std::memcpy(to, from, bytes);
}

void SharedWriter::finish() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

size_t SharedWriter::class_of(size_t bytes) {
  return std::min<size_t>(std::bit_width(bytes / kWorthTiming) - 1, kClasses - 1);
}

float SharedWriter::History::Times::best() const { return *std::min_element(recent.begin(), recent.end()); }

SharedWriter::Way SharedWriter::History::fastest() const {
  const auto& past = times_of(Way::kPast);
  return past.count > 0 && past.best() < kClearly * times_of(Way::kCached).best() ? Way::kPast : Way::kCached;
}

SharedWriter::Way SharedWriter::History::next() {
  if (!kCanPass) return Way::kCached;
  // At first, takes each way kKept times.
  if (writes_ < 2 * kKept) return writes_++ % 2 == 0 ? Way::kCached : Way::kPast;
  const auto usual = fastest();
  if (writes_++ % kProbeEvery != 0) return usual;
  return usual == Way::kCached ? Way::kPast : Way::kCached;
}

void SharedWriter::History::add(Way way, float seconds_per_byte) {
  auto& times = times_[way == Way::kPast ? 1 : 0];
  if (times.count == 0) times.recent.fill(seconds_per_byte);
  times.recent[times.count++ % kKept] = seconds_per_byte;
}

}  // namespace acc::shm
