#include "engine/groups/backend_group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <functional>

#include "engine/error.h"

namespace acc {
namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

const char* code_of_failure(const std::string& text) {
  if (contains(text, "Connection timed out") || contains(text, "No route to host")) return kPeerLost;
  if (contains(text, "Timed out") || contains(text, "timed out") || contains(text, "timeout")) return kCollectiveTimeout;
  if (contains(text, "closed by peer") || contains(text, "reset by peer") || contains(text, "Broken pipe") ||
      contains(text, "Connection refused") || contains(text, "Socket closed") || contains(text, "writev")) {
    return kPeerLost;
  }
  return kCollectiveFailed;
}

c10d::ReduceOp reduce_op(ReduceOp op, bool is_bool, bool has_mean) {
  switch (op) {
    case ReduceOp::kMean: return has_mean ? c10d::ReduceOp::AVG : c10d::ReduceOp::SUM;
    case ReduceOp::kProduct: return is_bool ? c10d::ReduceOp::MIN : c10d::ReduceOp::PRODUCT;
    case ReduceOp::kMin: return c10d::ReduceOp::MIN;
    case ReduceOp::kMax: return c10d::ReduceOp::MAX;
    default: return is_bool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  }
}

namespace {

[[noreturn]] void rethrow_as_collective_error() {
  const auto info = describe_current_exception(kCollectiveFailed);
  throw Error(code_or(info, code_of_failure(info.message)), info.message);
}

// Views elements as bytes. Collectives that only move elements do not need their dtype.
at::Tensor as_bytes(const at::Tensor& tensor) { return tensor.view({-1}).view(at::kByte); }

class WorkPending final : public Pending {
 public:
  WorkPending(c10::intrusive_ptr<c10d::Work> work, std::chrono::milliseconds timeout)
      : work_(std::move(work)), timeout_(timeout) {}

  bool is_done() override { return work_->isCompleted(); }
  void wait() override { work_->wait(timeout_); }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  std::chrono::milliseconds timeout_;
};

class BackendPending final : public Pending {
 public:
  using Finish = std::function<void()>;

  // `work` is null if nothing has to be transferred.
  BackendPending(std::shared_ptr<Pending> work, Finish finish) : work_(std::move(work)), finish_(std::move(finish)) {}

  bool is_done() override { return !work_ || work_->is_done(); }
  bool outlasts_wait() const override { return work_ && work_->outlasts_wait(); }
  void require_success() override {
    if (!work_) return;
    try {
      work_->require_success();
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      rethrow_as_collective_error();
    }
  }

  void wait() override {
    // Some backends copy results on the thread that waits.
    const c10::InferenceMode guard;
    try {
      if (work_) work_->wait();
      if (finish_) finish_();
      // A call that is followed further does not keep its tensors.
      finish_ = nullptr;
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      rethrow_as_collective_error();
    }
  }

 private:
  std::shared_ptr<Pending> work_;
  Finish finish_;
};

}  // namespace

std::shared_ptr<Pending> BackendGroup::start(CollectiveCall call) {
  // The backend's threads inherit this thread's state. They must write to tensors that were made in
  // inference mode.
  const c10::InferenceMode guard;
  require_fitting(call, options_.rank, options_.size);
  if (call.kind != CollectiveKind::kSend && call.kind != CollectiveKind::kReceive) prepare(call);
  try {
    return dispatch(call);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    rethrow_as_collective_error();
  }
}

std::shared_ptr<Pending> BackendGroup::dispatch(CollectiveCall& call) {
  switch (call.kind) {
    case CollectiveKind::kBroadcast: return broadcast(call);
    case CollectiveKind::kAllReduce: return all_reduce(call);
    case CollectiveKind::kAllReduceMany: return all_reduce_many(call);
    case CollectiveKind::kReduce: return reduce(call);
    case CollectiveKind::kReduceScatter: return reduce_scatter(call);
    case CollectiveKind::kReduceScatterMany: join_many(call); return reduce_scatter(call);
    case CollectiveKind::kAllGatherMany: join_many(call); return all_gather(call);
    case CollectiveKind::kAllGather: return call.counts.empty() ? all_gather(call) : all_gather_uneven(call);
    case CollectiveKind::kAllToAll: return all_to_all(call);
    case CollectiveKind::kSend:
    case CollectiveKind::kReceive: return message(call);
  }
  throw Error(kInvalidArgument, "The collective has an unknown number.");
}

std::shared_ptr<Pending> BackendGroup::pending(Work work, Finish finish) const {
  auto started = work ? pending_of(std::move(work)) : nullptr;
  return std::make_shared<BackendPending>(std::move(started), std::move(finish));
}

std::shared_ptr<Pending> BackendGroup::pending_of(Work work) const {
  return std::make_shared<WorkPending>(std::move(work), patience_);
}

c10d::ReduceOp BackendGroup::op_of(const CollectiveCall& call, const at::Tensor& tensor) const {
  return reduce_op(call.op, tensor.scalar_type() == at::kBool, has_mean());
}

// The pending result of a reduction that writes to `result`. For a mean, it divides `result` when
// the reduction has ended.
std::shared_ptr<Pending> BackendGroup::reduced(Work work, const CollectiveCall& call, const at::Tensor& result) const {
  if (!divides(call)) return pending(std::move(work));
  return pending(std::move(work), [result, size = options_.size] { result.div_(size); });
}

std::shared_ptr<Pending> BackendGroup::broadcast(CollectiveCall& call) {
  if (call.input.numel() == 0) return pending({});
  c10d::BroadcastOptions options;
  options.rootRank = call.root;
  std::vector<at::Tensor> tensors{as_bytes(call.input)};
  return pending(backend_->broadcast(tensors, options));
}

std::shared_ptr<Pending> BackendGroup::all_reduce(CollectiveCall& call) {
  if (!call.output.is_same(call.input)) call.output.copy_(call.input);
  if (call.output.numel() == 0) return pending({});
  c10d::AllreduceOptions options;
  options.reduceOp = op_of(call, call.output);
  std::vector<at::Tensor> tensors{call.output};
  return reduced(backend_->allreduce(tensors, options), call, call.output);
}

// The backend packs the tensors itself.
std::shared_ptr<Pending> BackendGroup::all_reduce_many(CollectiveCall& call) {
  std::vector<at::Tensor> tensors;
  for (const auto& tensor : call.many) {
    if (tensor.numel() > 0) tensors.push_back(tensor);
  }
  if (tensors.empty()) return pending({});
  c10d::AllreduceCoalescedOptions options;
  options.reduceOp = op_of(call, tensors.front());
  auto work = backend_->allreduce_coalesced(tensors, options);
  if (!divides(call)) return pending(std::move(work), [tensors] {});
  return pending(std::move(work), [tensors, size = options_.size] {
    for (const auto& tensor : tensors) tensor.div_(size);
  });
}

// Backends reduce in place on every rank. Ranks that get no result pass a copy.
std::shared_ptr<Pending> BackendGroup::reduce(CollectiveCall& call) {
  if (call.input.numel() == 0) return pending({});
  const bool is_root = options_.rank == call.root;
  const auto buffer = is_root ? call.output.copy_(call.input) : call.input.clone();
  c10d::ReduceOptions options;
  options.rootRank = call.root;
  options.reduceOp = op_of(call, buffer);
  std::vector<at::Tensor> tensors{buffer};
  auto work = backend_->reduce(tensors, options);
  return is_root ? reduced(std::move(work), call, buffer) : pending(std::move(work), [buffer] {});
}

std::shared_ptr<Pending> BackendGroup::reduce_scatter(CollectiveCall& call) {
  if (call.input.numel() == 0) return pending({});
  c10d::ReduceScatterOptions options;
  options.reduceOp = op_of(call, call.input);
  return reduced(backend_->_reduce_scatter_base(call.output, call.input, options), call, call.output);
}

std::shared_ptr<Pending> BackendGroup::all_gather(CollectiveCall& call) {
  if (call.input.numel() == 0) return pending({});
  auto from = as_bytes(call.input);
  auto to = as_bytes(call.output);
  return pending(backend_->_allgather_base(to, from, {}));
}

// Every rank sends as many elements as the rank that has the most.
std::shared_ptr<Pending> BackendGroup::all_gather_uneven(CollectiveCall& call) {
  const int64_t most = *std::max_element(call.counts.begin(), call.counts.end());
  if (most == 0) return pending({});
  auto own = call.output.new_empty({most});
  own.narrow(0, 0, call.input.numel()).copy_(call.input.view({-1}));
  auto all = call.output.new_empty({most * options_.size});
  auto from = as_bytes(own);
  auto to = as_bytes(all);
  auto work = backend_->_allgather_base(to, from, {});
  return pending(std::move(work), [all, most, output = call.output.view({-1}), counts = call.counts] {
    int64_t at = 0;
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      const auto start = static_cast<int64_t>(rank) * most;
      output.narrow(0, at, counts[rank]).copy_(all.narrow(0, start, counts[rank]));
      at += counts[rank];
    }
  });
}

std::shared_ptr<Pending> BackendGroup::all_to_all(CollectiveCall& call) {
  if (call.counts.empty() ? call.input.numel() == 0 : call.most == 0) return pending({});
  auto from = as_bytes(call.input);
  auto to = as_bytes(call.output);
  const auto width = static_cast<int64_t>(call.input.element_size());
  std::vector<int64_t> splits[2];
  for (size_t i = 0; i < call.counts.size(); ++i) splits[i / options_.size].push_back(call.counts[i] * width);
  return pending(backend_->alltoall_base(to, from, splits[1], splits[0], {}));
}

std::shared_ptr<Pending> BackendGroup::message(CollectiveCall& call) {
  if (call.input.numel() == 0) return pending({});
  std::vector<at::Tensor> tensors{as_bytes(call.input)};
  if (call.kind == CollectiveKind::kReceive) return pending(backend_->recv(tensors, call.root, 0));
  auto work = backend_->send(tensors, call.root, 0);
  return pending(std::move(work), [tensors] {});
}

}  // namespace acc
