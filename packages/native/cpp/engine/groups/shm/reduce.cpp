#include "engine/groups/shm/reduce.h"

#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define ACC_WITH_AVX2
#endif

#if defined(__GNUC__) && !defined(__clang__)
// O3 vectorizes loops of unknown length.
#pragma GCC optimize("O3")
#endif

#define ACC_ISA baseline
#include "engine/groups/shm/reduce_loops.inc"
#undef ACC_ISA

#ifdef ACC_WITH_AVX2
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#define ACC_ISA avx2
#define ACC_F16C
#include "engine/groups/shm/reduce_loops.inc"
#undef ACC_F16C
#undef ACC_ISA
#pragma GCC pop_options
#endif

namespace acc::shm {

size_t bytes_of(Element element) {
  switch (element) {
    case Element::kBool: return 1;
    case Element::kBFloat16:
    case Element::kFloat16: return 2;
    case Element::kFloat32:
    case Element::kInt32: return 4;
    case Element::kFloat64:
    case Element::kInt64: return 8;
  }
  return 0;
}

void reduce(const void* const* sources, int ranks, void* out, size_t count, Element element, Op op) {
  if (ranks == 1) {
    if (out != sources[0]) std::memcpy(out, sources[0], count * bytes_of(element));
    return;
  }
  if (element == Element::kBool) op = op == Op::kSum ? Op::kMax : op == Op::kProduct ? Op::kMin : op;
#ifdef ACC_WITH_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (has_avx2) return avx2::reduce(sources, ranks, out, count, element, op);
#endif
  baseline::reduce(sources, ranks, out, count, element, op);
}

}  // namespace acc::shm
