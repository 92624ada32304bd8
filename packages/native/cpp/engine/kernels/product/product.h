#pragma once

#include <cstdint>

// Products of matrices on CPUs with AVX-512, of float32 or of bfloat16 with float32 sums.
//
// The blocking is that of Goto and van de Geijn 2008, "Anatomy of high-performance matrix
// multiplication". Both matrices are copied ("packed") into panels that the kernel reads
// sequentially: the left one into blocks of up to 14 rows, the right one into panels of 32 columns.
// A kernel keeps the sums of one block and one panel in registers.
//
// An element is a sum over blocks of k, and each of these a sum in the order of k. The blocks depend
// on k alone, so the bits of a row depend neither on the other rows nor on the number of threads.
namespace acc::product {

enum class Dtype { kFloat, kBfloat16 };

// Whether this CPU has the instructions.
bool is_supported(Dtype dtype);

// A matrix in memory with any strides, in elements.
struct Matrix {
  const void* data;
  int64_t row_stride;
  int64_t column_stride;
};

// The sizes of a product [m, k] · [k, n].
struct Sizes {
  int64_t m, k, n;
};

struct Ending {
  // [n], or null.
  const void* bias = nullptr;
  bool is_relu = false;
  // Adds to what `out` holds.
  bool is_added = false;
};

// The result: rows that are contiguous in memory, `row_stride` elements apart.
struct Out {
  void* data;
  int64_t row_stride;
};

void multiply(Dtype dtype, const Matrix& left, const Matrix& right, const Sizes& sizes, const Ending& ending,
              const Out& out);

}  // namespace acc::product
