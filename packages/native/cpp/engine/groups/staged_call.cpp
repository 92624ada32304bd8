#include "engine/groups/staged_call.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "engine/device/lost_values.h"

namespace acc {
namespace {

struct Staged {
  at::Tensor on_device;
  at::Tensor on_host;
};

at::Tensor room_on_host(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
}

at::Tensor copy_on_host(const at::Tensor& tensor) {
  auto copy = room_on_host(tensor).copy_(tensor);
  // Other ranks must not get what a failed collective has left.
  require_values();
  return copy;
}

// Whether the call writes `input` on this rank.
bool writes_input(const CollectiveCall& call, int rank) {
  if (call.kind == CollectiveKind::kBroadcast) return call.root != rank;
  return call.kind == CollectiveKind::kReceive;
}

// The call with its tensors on the host. Adds those that the call writes to `results`.
CollectiveCall staged(const CollectiveCall& call, int rank, std::vector<Staged>& results) {
  auto made = call;
  for (auto& tensor : made.many) {
    auto copy = copy_on_host(tensor);
    if (call.kind == CollectiveKind::kAllReduceMany) results.push_back({tensor, copy});
    tensor = std::move(copy);
  }
  if (call.input.defined()) {
    made.input = call.kind == CollectiveKind::kReceive ? room_on_host(call.input) : copy_on_host(call.input);
    if (writes_input(call, rank)) results.push_back({call.input, made.input});
  }
  if (call.output.defined()) {
    made.output = call.output.is_same(call.input) ? made.input : room_on_host(call.output);
    results.push_back({call.output, made.output});
  }
  return made;
}

class StagedPending final : public Pending {
 public:
  StagedPending(std::shared_ptr<Pending> work, std::vector<Staged> results)
      : work_(std::move(work)), results_(std::move(results)) {}

  bool is_done() override { return work_->is_done(); }

  void wait() override {
    work_->wait();
    const c10::InferenceMode guard;
    for (const auto& [on_device, on_host] : results_) on_device.copy_(on_host, /*non_blocking=*/true);
    results_.clear();
  }

 private:
  std::shared_ptr<Pending> work_;
  std::vector<Staged> results_;
};

}  // namespace

bool is_on_host(const CollectiveCall& call) {
  if (takes_many(call.kind)) return call.many.empty() || call.many.front().is_cpu();
  return call.input.is_cpu();
}

std::shared_ptr<Pending> start_on_host(const CollectiveCall& call, int rank,
                                       const std::function<std::shared_ptr<Pending>(CollectiveCall)>& start) {
  const c10::InferenceMode guard;
  std::vector<Staged> results;
  auto made = staged(call, rank, results);
  return std::make_shared<StagedPending>(start(std::move(made)), std::move(results));
}

}  // namespace acc
