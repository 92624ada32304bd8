// The operators acc::adam_ and acc::adamw_: libtorch's fused steps of Adam, in place. Libtorch uses
// all threads for a tensor of some hundred elements. Here a small tensor is updated on one thread, and
// many of them side by side.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace acc {
namespace {

using at::Tensor;

// One thread takes 0.1 ms for these, and waking another one takes 0.075.
constexpr int64_t kElementsForThreads = 1 << 17;

// Libtorch's operators run on one thread while it lives.
class OneThread {
 public:
  OneThread() {
#ifdef _OPENMP
    before_ = omp_get_max_threads();
    omp_set_num_threads(1);
#endif
  }
  ~OneThread() {
#ifdef _OPENMP
    omp_set_num_threads(before_);
#endif
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = 1;
};

// Weights, gradients, first and second moments, and the numbers of steps.
using Lists = std::array<std::vector<Tensor>, 5>;

// `from` to `end` of each list.
std::array<at::TensorList, 5> part_of(const Lists& lists, size_t from, size_t end) {
  const auto part = [&](size_t k) { return at::TensorList(lists[k]).slice(from, end - from); };
  return {part(0), part(1), part(2), part(3), part(4)};
}

template <auto step>
void update(at::TensorList weights, at::TensorList grads, at::TensorList first_moments, at::TensorList second_moments,
            at::TensorList steps, double learning_rate, double beta1, double beta2, double weight_decay, double epsilon) {
  const std::array<at::TensorList, 5> given{weights, grads, first_moments, second_moments, steps};
  for (const auto& list : given) TORCH_CHECK(list.size() == weights.size(), "Adam takes lists of one length.");
  Lists small, large;
  int64_t small_elements = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool is_small = weights[i].is_cpu() && weights[i].numel() < kElementsForThreads;
    if (is_small) small_elements += weights[i].numel();
    for (size_t k = 0; k < given.size(); ++k) (is_small ? small : large)[k].push_back(given[k][i]);
  }
  const auto run = [&](const Lists& lists, size_t from, size_t end) {
    if (from == end) return;
    const auto [w, g, m, v, t] = part_of(lists, from, end);
    step(w, g, m, v, {}, t, learning_rate, beta1, beta2, weight_decay, epsilon, false, false, {}, {});
  };
  run(large, 0, large[0].size());
  const size_t count = small[0].size();
  if (small_elements < kElementsForThreads) {
    const OneThread one_thread;
    return run(small, 0, count);
  }
  const bool is_inference = c10::InferenceMode::is_enabled();
  at::parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t from, int64_t end) {
    const c10::InferenceMode mode(is_inference);
    run(small, static_cast<size_t>(from), static_cast<size_t>(end));
  });
}

using Step = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, double,
                      double, double, double, double, bool, bool, const std::optional<Tensor>&,
                      const std::optional<Tensor>&);

}  // namespace
}  // namespace acc

TORCH_LIBRARY_FRAGMENT(acc, library) {
  const std::string arguments =
      "(Tensor(a!)[] weights, Tensor[] grads, Tensor(b!)[] first_moments, Tensor(c!)[] second_moments, Tensor[] steps, "
      "float learning_rate, float beta1, float beta2, float weight_decay, float epsilon) -> ()";
  library.def(("adam_" + arguments).c_str(), acc::update<static_cast<acc::Step>(at::_fused_adam_)>);
  library.def(("adamw_" + arguments).c_str(), acc::update<static_cast<acc::Step>(at::_fused_adamw_)>);
}
