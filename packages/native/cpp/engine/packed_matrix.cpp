#include "engine/packed_matrix.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

namespace acc {
namespace {

using at::Tensor;

// Packing is used for at least this many products. It takes about the time that two packed products
// save.
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

PackedMatrix::PackedMatrix(const Tensor& matrix, int64_t rows, int64_t products) : rows_(rows) {
  const bool pays = products >= kFewProducts && rows > 0 && matrix.numel() > 0;
  const bool is_known = pack_operator().has_value() && multiply_operator().has_value();
  if (pays && is_known && matrix.is_cpu() && matrix.scalar_type() == at::kFloat) {
    turned_ = matrix.t();
    packed_ = pack_operator()->call(turned_, rows);
  } else {
    // A product is faster with a matrix that is contiguous in memory.
    matrix_ = matrix.contiguous();
  }
}

Tensor PackedMatrix::product(const Tensor& x) const {
  if (!packed_.defined()) return at::mm(x, matrix_);
  return multiply_operator()->call(x, packed_, turned_, std::nullopt, rows_);
}

}  // namespace acc
