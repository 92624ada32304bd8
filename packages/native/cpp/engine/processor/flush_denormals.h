#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace acc {

// While an instance exists, this thread treats denormal floats (below 1.2e-38) as zero in operands
// and results, as TensorFlow's executor does. The CPU is 10 to 100 times slower on denormals, and
// the squared gradients of a trained model contain many. JavaScript's own arithmetic must keep
// denormals, so the mode ends with the call. Threads that an operator starts inherit the mode.
class FlushDenormals {
 public:
  FlushDenormals() : before_(read()) { write(before_ | kBits); }
  ~FlushDenormals() { write(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kBits = 0x8040;  // flush to zero, denormals are zero
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t value) { _mm_setcsr(static_cast<unsigned int>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kBits = 1ull << 24;  // FZ: flush to zero
  static uint64_t read() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  static constexpr uint64_t kBits = 0;
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif

  uint64_t before_;
};

}  // namespace acc
