#include "engine/recurrent/vectors.h"

#include "engine/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>

#include <vector>

#include "engine/product/tensors.h"
#include "engine/product/sums.h"
#include "engine/recurrent/gru_cell.h"
#include "engine/recurrent/lstm_cell.h"

namespace acc::recurrent {
namespace {

using at::Tensor;
using product::Floats, product::Pairs, product::SumsOfProducts;

// Packing the weight takes about the time of a product.
constexpr int64_t kFewSteps = 2;

// Calls compute with a word of the dtype's kernels.
template <typename Compute>
void for_word(const Tensor& x, const Compute& compute) {
  if (x.scalar_type() == at::kFloat) compute(Floats{});
  else compute(Pairs{});
}

// The product of states [B, H] and some of the gates' weights, which are columns of `weight` [H, G].
template <typename Word>
SumsOfProducts<Word> product_of_gates(const Tensor& weight, int64_t rows, int64_t first, int64_t count) {
  const auto width = weight.size(0);
  std::vector<product::Matrix> matrices;
  for (int64_t gate = first; gate < first + count; ++gate) {
    matrices.push_back(product::matrix_of(weight.narrow(1, gate * width, width)));
  }
  return {matrices, {rows, width, width}};
}

// The product of gradients [B, G] of some gates and the transposed weights.
template <typename Word>
SumsOfProducts<Word> product_of_gradients(const Tensor& weight, int64_t rows, int64_t first, int64_t count) {
  const auto width = weight.size(0);
  const auto turned = weight.narrow(1, first * width, count * width).t();
  return {{product::matrix_of(turned)}, {rows, count * width, width}};
}

template <typename Word>
Rows<Word> sequence_rows(const SequenceGradient& dy, int64_t t) {
  auto* const data = const_cast<void*>(dy.row(t, 0));
  return {static_cast<typename Word::Number*>(data), dy.row_stride()};
}

// The sums of each part of the rows, and their total at the end.
class BiasOfParts {
 public:
  BiasOfParts(const Tensor& bias, int64_t parts)
      : bias_(bias), sums_(at::zeros({bias.numel() == 0 ? 0 : parts, bias.numel()}, at::kFloat)) {}

  BiasSums sums() const {
    return bias_.numel() == 0 ? BiasSums{} : BiasSums{sums_.mutable_data_ptr<float>(), bias_.numel()};
  }
  void finish() const {
    if (bias_.numel() > 0) bias_.copy_(sums_.sum(0));
  }

 private:
  Tensor bias_, sums_;
};

template <typename Word>
void run_lstm(const LstmSteps& steps, Activations activations) {
  const auto batch = steps.gates.size(1), width = steps.weight.size(0);
  auto product = product_of_gates<Word>(steps.weight, batch, 0, 4);
  for (int64_t t = 0; t < steps.gates.size(0); ++t) {
    const LstmCell<Word> cell{rows_of<Word>(steps.gates[t]), rows_of<Word>(steps.c[t]), rows_of<Word>(steps.c[t + 1]),
                              rows_of<Word>(steps.h[t + 1]), width};
    const auto use = [&](const Sums& sums) { cell.compute(sums, activations); };
    if (t == 0 && steps.starts_at_zero) product.visit(use);
    else product.multiply(product::matrix_of(steps.h[t]), use);
  }
}

template <typename Word>
void run_lstm_backward(const LstmGradients& of, Activations activations) {
  const auto batch = of.gates.size(1), width = of.weight.size(0), last = of.gates.size(0) - 1;
  auto product = product_of_gradients<Word>(of.weight, batch, 0, 4);
  const BiasOfParts bias(of.bias, product.parts());
  const auto dh = rows_of<Word>(of.dh);
  for (int64_t t = last; t >= 0; --t) {
    const LstmBackwardCell<Word> cell{const_rows_of<Word>(of.gates[t]), const_rows_of<Word>(of.c[t]),
                                      const_rows_of<Word>(of.c[t + 1]), sequence_rows<Word>(of.dy, t),
                                      rows_of<Word>(of.grads[t]), rows_of<Floats>(of.dc), width, bias.sums()};
    const auto use = [&](const Sums& sums) {
      if (t == last) add_rows(sums, dh, width);
      cell.compute(sums, activations);
    };
    if (t == last) product.visit(use);
    else product.multiply(product::matrix_of(of.grads[t + 1]), use);
  }
  product.multiply(product::matrix_of(of.grads[0]), [&](const Sums& sums) { store_rows(sums, dh, width); });
  bias.finish();
}

template <typename Word>
void run_gru(const GruSteps& steps, Activations activations) {
  const auto batch = steps.gates.size(1), width = steps.weight.size(0);
  auto of_gates = product_of_gates<Word>(steps.weight, batch, 0, 2);
  auto of_candidate = product_of_gates<Word>(steps.weight, batch, 2, 1);
  for (int64_t t = 0; t < steps.gates.size(0); ++t) {
    const GruCell<Word> cell{rows_of<Word>(steps.gates[t]), rows_of<Word>(steps.h[t]), rows_of<Word>(steps.resets[t]),
                             rows_of<Word>(steps.h[t + 1]), width};
    const auto use_gates = [&](const Sums& sums) { cell.compute_gates(sums, activations); };
    const auto use_state = [&](const Sums& sums) { cell.compute_state(sums, activations); };
    if (t == 0 && steps.starts_at_zero) {
      of_gates.visit(use_gates);
      of_candidate.visit(use_state);
      continue;
    }
    of_gates.multiply(product::matrix_of(steps.h[t]), use_gates);
    of_candidate.multiply(product::matrix_of(steps.resets[t]), use_state);
  }
}

template <typename Word>
void run_gru_backward(const GruGradients& of, Activations activations) {
  const auto batch = of.gates.size(1), width = of.weight.size(0), last = of.gates.size(0) - 1;
  auto of_gates = product_of_gradients<Word>(of.weight, batch, 0, 2);
  auto of_candidate = product_of_gradients<Word>(of.weight, batch, 2, 1);
  const BiasOfParts bias(of.bias, of_gates.parts());
  const auto dh = rows_of<Word>(of.dh);
  const auto kept_rows = at::zeros({batch, width}, at::kFloat);
  const auto kept = rows_of<Floats>(kept_rows);
  const auto multiply_gates = [&](int64_t t, auto use) {
    of_gates.multiply(product::matrix_of(of.grads[t].narrow(1, 0, 2 * width)), use);
  };
  for (int64_t t = last; t >= 0; --t) {
    const GruBackwardCell<Word> cell{const_rows_of<Word>(of.gates[t]), const_rows_of<Word>(of.h[t]),
                                     sequence_rows<Word>(of.dy, t), rows_of<Word>(of.grads[t]), kept, width, bias.sums()};
    const auto use = [&](const Sums& sums) {
      if (t == last) add_rows(sums, dh, width);
      cell.compute_state(sums, activations);
    };
    if (t == last) of_gates.visit(use);
    else multiply_gates(t + 1, use);
    of_candidate.multiply(product::matrix_of(of.grads[t].narrow(1, 2 * width, width)),
                          [&](const Sums& sums) { cell.compute_reset(sums, activations); });
  }
  multiply_gates(0, [&](const Sums& sums) {
    add_rows(sums, kept, width);
    store_rows(sums, dh, width);
  });
  bias.finish();
}

}  // namespace

bool has_vectors(const Tensor& gates, const Tensor& weight) {
  return has_rows(gates) && product::can_multiply(gates, weight) && gates.size(0) >= kFewSteps && gates.numel() > 0;
}

void run(const LstmSteps& steps, Activations activations) {
  for_word(steps.gates, [&]<typename Word>(Word) { run_lstm<Word>(steps, activations); });
}

void run(const LstmGradients& gradients, Activations activations) {
  for_word(gradients.gates, [&]<typename Word>(Word) { run_lstm_backward<Word>(gradients, activations); });
}

void run(const GruSteps& steps, Activations activations) {
  for_word(steps.gates, [&]<typename Word>(Word) { run_gru<Word>(steps, activations); });
}

void run(const GruGradients& gradients, Activations activations) {
  for_word(gradients.gates, [&]<typename Word>(Word) { run_gru_backward<Word>(gradients, activations); });
}

}  // namespace acc::recurrent

#else

namespace acc::recurrent {

bool has_vectors(const at::Tensor&, const at::Tensor&) { return false; }
void run(const LstmSteps&, Activations) {}
void run(const LstmGradients&, Activations) {}
void run(const GruSteps&, Activations) {}
void run(const GruGradients&, Activations) {}

}  // namespace acc::recurrent

#endif
