#include "engine/kernels/product/packed_matrix.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

#include "engine/kernels/product/widened.h"

namespace acc {
namespace {

using at::Tensor;

// MKL's packing is used for at least this many products. It takes about the time that two packed
// products save.
constexpr int64_t kFewProducts = 8;

// The signatures of libtorch's operators on packed matrices. They exist if libtorch was built with
// MKL.
using Pack = Tensor(const Tensor&, int64_t);
using Multiply = Tensor(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&, int64_t);

template <typename Signature>
std::optional<c10::TypedOperatorHandle<Signature>> find(const char* name) {
  const auto found = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!found) return std::nullopt;
  return found->typed<Signature>();
}

const auto& pack_operator() {
  static const auto found = find<Pack>("mkl::_mkl_reorder_linear_weight");
  return found;
}

const auto& multiply_operator() {
  static const auto found = find<Multiply>("mkl::_mkl_linear");
  return found;
}

}  // namespace

PackedMatrix::PackedMatrix(const Tensor& matrix, int64_t rows, int64_t products)
    : matrix_(widened(matrix)), dtype_(matrix.scalar_type()), rows_(rows), products_(products) {}

// A product is faster with a matrix that is contiguous in memory.
const Tensor& PackedMatrix::contiguous() {
  matrix_ = matrix_.contiguous();
  return matrix_;
}

Tensor PackedMatrix::product(const Tensor& x) {
  const bool pays = products_ >= kFewProducts && rows_ > 0 && matrix_.numel() > 0;
  const bool is_known = pack_operator().has_value() && multiply_operator().has_value();
  if (!pays || !is_known || !matrix_.is_cpu() || matrix_.scalar_type() != at::kFloat) {
    return at::mm(widened(x), contiguous()).to(dtype_);
  }
  if (!packed_.defined()) {
    turned_ = matrix_.t();
    packed_ = pack_operator()->call(turned_, rows_);
  }
  return multiply_operator()->call(widened(x), packed_, turned_, std::nullopt, rows_).to(dtype_);
}

void PackedMatrix::product_to(Tensor out, const Tensor& x) {
  if (matrix_.scalar_type() == dtype_) at::mm_out(out, x, contiguous());
  else out.copy_(at::mm(widened(x), contiguous()));
}

void PackedMatrix::add_product(Tensor out, const Tensor& x) {
  if (matrix_.scalar_type() == dtype_) out.addmm_(x, contiguous());
  else out.add_(at::mm(widened(x), contiguous()));
}

}  // namespace acc
