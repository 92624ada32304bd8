#include "engine/kernels/recurrent/vectors.h"

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>

#include <vector>

#include "engine/kernels/product/sums.h"
#include "engine/kernels/product/tensors.h"
#include "engine/kernels/recurrent/gru_cell.h"
#include "engine/kernels/recurrent/lstm_cell.h"

namespace acc::recurrent {
namespace {

using at::Tensor;
using product::Floats, product::Pairs, product::Share, product::Shares, product::SumsOfProducts;

// Packing the weight takes about the time of a product.
constexpr int64_t kFewSteps = 2;

// Calls compute with a word of the dtype's kernels.
template <typename Compute>
void for_word(const Tensor& x, const Compute& compute) {
  if (x.scalar_type() == at::kFloat) compute(Floats{});
  else compute(Pairs{});
}

// The shares of a recurrence whose largest product is [B, k] · [k, H].
template <typename Word>
Shares shares_of(const Tensor& states, int64_t k, int64_t phases) {
  const auto batch = states.size(1), width = states.size(2);
  return {batch, width, batch * width * product::ceil_div(k, Word::kNumbers), phases};
}

// The product of states [B, H] and some of the gates' weights, which are columns of `weight` [H, G].
template <typename Word>
SumsOfProducts<Word> product_of_gates(const Tensor& weight, const Shares& shares, int64_t first, int64_t count) {
  const auto width = weight.size(0);
  std::vector<product::Matrix> matrices;
  for (int64_t gate = first; gate < first + count; ++gate) {
    matrices.push_back(product::matrix_of(weight.narrow(1, gate * width, width)));
  }
  return {matrices, {shares.rows(), width, width}, shares};
}

// The product of gradients [B, G] of some gates and the transposed weights.
template <typename Word>
SumsOfProducts<Word> product_of_gradients(const Tensor& weight, const Shares& shares, int64_t first, int64_t count) {
  const auto width = weight.size(0);
  const auto turned = weight.narrow(1, first * width, count * width).t();
  return {{product::matrix_of(turned)}, {shares.rows(), count * width, width}, shares};
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
  const auto width = steps.weight.size(0), count = steps.gates.size(0);
  const auto shares = shares_of<Word>(steps.h, 4 * width, count);
  auto product = product_of_gates<Word>(steps.weight, shares, 0, 4);
  shares.for_phases(count, [&](const Share& share, int64_t t) {
    const LstmCell<Word> cell{rows_at<Word>(steps.gates, t), rows_at<Word>(steps.c, t), rows_at<Word>(steps.c, t + 1),
                              rows_at<Word>(steps.h, t + 1), width};
    const auto use = [&](const Sums& sums) { cell.compute(sums, activations); };
    if (t == 0 && steps.starts_at_zero) product.visit(share, use);
    else product.multiply(share, matrix_at<Word>(steps.h, t), use);
  });
}

template <typename Word>
void run_lstm_backward(const LstmGradients& of, Activations activations) {
  const auto width = of.weight.size(0), last = of.gates.size(0) - 1;
  const auto shares = shares_of<Word>(of.c, 4 * width, last + 2);
  auto product = product_of_gradients<Word>(of.weight, shares, 0, 4);
  const BiasOfParts bias(of.bias, shares.parts());
  const auto dh = rows_of<Word>(of.dh);
  const auto run_step = [&](const Share& share, int64_t t) {
    const LstmBackwardCell<Word> cell{rows_at<Word>(of.gates, t), rows_at<Word>(of.c, t), rows_at<Word>(of.c, t + 1),
                                      sequence_rows<Word>(of.dy, t), rows_at<Word>(of.grads, t), rows_of<Floats>(of.dc),
                                      width, bias.sums()};
    const auto use = [&](const Sums& sums) {
      if (t == last) add_rows(sums, dh);
      cell.compute(sums, activations);
    };
    if (t == last) product.visit(share, use);
    else product.multiply(share, matrix_at<Word>(of.grads, t + 1), use);
  };
  shares.for_phases(last + 2, [&](const Share& share, int64_t phase) {
    if (phase <= last) return run_step(share, last - phase);
    product.multiply(share, matrix_at<Word>(of.grads, 0), [&](const Sums& sums) { store_rows(sums, dh); });
  });
  bias.finish();
}

// Steps of a GRU have two phases each, since the product of the candidate needs r·h of all columns.
template <typename Word>
void run_gru(const GruSteps& steps, Activations activations) {
  const auto width = steps.weight.size(0), phases = 2 * steps.gates.size(0);
  const auto shares = shares_of<Word>(steps.h, 2 * width, phases);
  auto of_gates = product_of_gates<Word>(steps.weight, shares, 0, 2);
  auto of_candidate = product_of_gates<Word>(steps.weight, shares, 2, 1);
  shares.for_phases(phases, [&](const Share& share, int64_t phase) {
    const auto t = phase / 2;
    const GruCell<Word> cell{rows_at<Word>(steps.gates, t), rows_at<Word>(steps.h, t), rows_at<Word>(steps.resets, t),
                             rows_at<Word>(steps.h, t + 1), width};
    const auto use_gates = [&](const Sums& sums) { cell.compute_gates(sums, activations); };
    const auto use_state = [&](const Sums& sums) { cell.compute_state(sums, activations); };
    const bool is_zero = t == 0 && steps.starts_at_zero;
    if (phase % 2 == 0 && is_zero) of_gates.visit(share, use_gates);
    else if (phase % 2 == 0) of_gates.multiply(share, matrix_at<Word>(steps.h, t), use_gates);
    else if (is_zero) of_candidate.visit(share, use_state);
    else of_candidate.multiply(share, matrix_at<Word>(steps.resets, t), use_state);
  });
}

template <typename Word>
void run_gru_backward(const GruGradients& of, Activations activations) {
  const auto width = of.weight.size(0), last = of.gates.size(0) - 1, phases = 2 * (last + 1) + 1;
  const auto shares = shares_of<Word>(of.h, 2 * width, phases);
  auto of_gates = product_of_gradients<Word>(of.weight, shares, 0, 2);
  auto of_candidate = product_of_gradients<Word>(of.weight, shares, 2, 1);
  const BiasOfParts bias(of.bias, shares.parts());
  const auto dh = rows_of<Word>(of.dh);
  const auto kept_rows = at::zeros({shares.rows(), width}, at::kFloat);
  const auto kept = rows_of<Floats>(kept_rows);
  const auto run_phase = [&](const Share& share, int64_t t, bool is_first) {
    const GruBackwardCell<Word> cell{rows_at<Word>(of.gates, t), rows_at<Word>(of.h, t), sequence_rows<Word>(of.dy, t),
                                     rows_at<Word>(of.grads, t), kept, width, bias.sums()};
    const auto use_state = [&](const Sums& sums) {
      if (t == last) add_rows(sums, dh);
      cell.compute_state(sums, activations);
    };
    const auto use_reset = [&](const Sums& sums) { cell.compute_reset(sums, activations); };
    if (!is_first) of_candidate.multiply(share, matrix_at<Word>(of.grads, t, 2 * width), use_reset);
    else if (t == last) of_gates.visit(share, use_state);
    else of_gates.multiply(share, matrix_at<Word>(of.grads, t + 1), use_state);
  };
  shares.for_phases(phases, [&](const Share& share, int64_t phase) {
    if (phase + 1 < phases) return run_phase(share, last - phase / 2, phase % 2 == 0);
    of_gates.multiply(share, matrix_at<Word>(of.grads, 0), [&](const Sums& sums) {
      add_rows(sums, kept);
      store_rows(sums, dh);
    });
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
