#include "engine/files/checksum.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Every Node contains zlib. Official builds contain Chromium's zlib, with prefixed names. Builds of
// Linux distributions may link the system's zlib. The symbols are weak because only the loaded
// process shows which of them exist.
extern "C" {
__attribute__((weak)) unsigned long Cr_z_crc32_z(unsigned long, const unsigned char*, size_t);
__attribute__((weak)) unsigned long crc32_z(unsigned long, const unsigned char*, size_t);
}

namespace acc {
namespace {

uint32_t by_table(uint32_t crc, const uint8_t* data, size_t size) {
  const auto table = Cr_z_crc32_z != nullptr ? Cr_z_crc32_z : crc32_z;
  return static_cast<uint32_t>(table(crc, data, size));
}

#if defined(__x86_64__)

constexpr size_t kFolded = 64;

__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i block, __m128i powers, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(block, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(block, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// The CRC of `size` bytes. `size` is a positive multiple of 64. Carry-less products fold the
// message to 16 bytes with the same remainder (Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel 2009). The table computes the CRC of these. zlib
// alone takes eight times as long.
__attribute__((target("pclmul,sse4.1"))) uint32_t by_folding(const uint8_t* data, size_t size) {
  // Powers of x modulo the reflected polynomial, for distances of 64 and 16 bytes.
  const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const auto block = [&](size_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i);
  };
  __m128i a = _mm_xor_si128(block(0), _mm_cvtsi32_si128(-1));
  __m128i b = block(1), c = block(2), d = block(3);
  for (size_t i = 4; i < size / 16; i += 4) {
    a = fold(a, by_64, block(i));
    b = fold(b, by_64, block(i + 1));
    c = fold(c, by_64, block(i + 2));
    d = fold(d, by_64, block(i + 3));
  }
  const __m128i rest = fold(fold(fold(a, by_16, b), by_16, c), by_16, d);
  alignas(16) uint8_t bytes[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), rest);
  // zlib inverts the initial value, and the computation must begin with 0.
  return by_table(0xffffffff, bytes, sizeof(bytes));
}

bool can_fold() { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }

#endif

}  // namespace

bool has_checksum() { return Cr_z_crc32_z != nullptr || crc32_z != nullptr; }

uint32_t checksum(const uint8_t* data, size_t size) {
#if defined(__x86_64__)
  if (size >= kFolded && can_fold()) {
    const size_t folded = size - size % kFolded;
    return by_table(by_folding(data, folded), data + folded, size - folded);
  }
#endif
  return by_table(0, data, size);
}

}  // namespace acc
