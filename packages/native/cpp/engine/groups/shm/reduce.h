#pragma once

#include <cstddef>

namespace acc::shm {

enum class Element { kFloat32, kFloat64, kBFloat16, kFloat16, kInt32, kInt64, kBool };

// kMean is for floating-point elements only.
enum class Op { kSum, kMean, kProduct, kMin, kMax };

size_t bytes_of(Element element);

// Reduces `count` elements of `ranks` sources into `out`.
//
// Each element is computed from the sources in their order, independently of its neighbours, so
// every rank that computes it gets the same bits. 16-bit floats are widened to float32, combined,
// and rounded once. For booleans, sum and max are "any", product and min are "all". If any source
// is NaN, min and max give NaN. `out` may be one of the sources.
void reduce(const void* const* sources, int ranks, void* out, size_t count, Element element, Op op);

}  // namespace acc::shm
