// The operators acc::adam_ and acc::adamw_: libtorch's fused steps of Adam, in place. Libtorch uses
// all threads for a tensor of some hundred elements. Here small tensors are updated on one thread.

#include <ATen/ATen.h>
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
struct Lists {
  std::array<std::vector<Tensor>, 5> lists;

  bool is_empty() const { return lists[0].empty(); }
  void add(const std::array<at::TensorList, 5>& from, size_t i) {
    for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(from[k][i]);
  }
};

template <auto step>
void update(at::TensorList weights, at::TensorList grads, at::TensorList first_moments, at::TensorList second_moments,
            at::TensorList steps, double learning_rate, double beta1, double beta2, double weight_decay, double epsilon) {
  const std::array<at::TensorList, 5> given{weights, grads, first_moments, second_moments, steps};
  for (const auto& list : given) TORCH_CHECK(list.size() == weights.size(), "Adam takes lists of one length.");
  Lists small, large;
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool is_small = weights[i].is_cpu() && weights[i].numel() < kElementsForThreads;
    (is_small ? small : large).add(given, i);
  }
  const auto run = [&](const Lists& of) {
    if (of.is_empty()) return;
    const auto& [w, g, m, v, t] = of.lists;
    step(w, g, m, v, {}, t, learning_rate, beta1, beta2, weight_decay, epsilon, false, false, {}, {});
  };
  run(large);
  const OneThread one_thread;
  run(small);
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
