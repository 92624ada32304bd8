#pragma once

#include <cstddef>

namespace acc::shm {

enum class Element { kFloat32, kFloat64, kBFloat16, kFloat16, kInt32, kInt64, kBool };

// kMean is for the floating elements only.
enum class Op { kSum, kMean, kProduct, kMin, kMax };

size_t bytes_of(Element element);

// Combines `count` elements of `ranks` sources into `out`.
//
// Sources are taken in their order, each element by itself, so that whoever computes an element gets the same bits. The
// 16-bit floats are combined in float32 and rounded once. Of booleans sum and max are "any", product and min "all". A NaN
// in any source makes the result of min and max NaN. `out` may be one of the sources.
void reduce(const void* const* sources, int ranks, void* out, size_t count, Element element, Op op);

}  // namespace acc::shm
