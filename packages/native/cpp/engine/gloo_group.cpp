#include "engine/gloo_group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <functional>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/error.h"
#include "engine/gloo_links.h"

namespace acc {
namespace {

// Gloo's own time-out: the watch's comes first, and says more.
constexpr std::chrono::milliseconds kLater(30'000);

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// c10d and Gloo tell these cases apart in their texts only.
const char* code_of_failure(const std::string& text) {
  if (contains(text, "Connection timed out") || contains(text, "No route to host")) return kPeerLost;
  if (contains(text, "Timed out") || contains(text, "timed out") || contains(text, "timeout")) return kCollectiveTimeout;
  if (contains(text, "closed by peer") || contains(text, "reset by peer") || contains(text, "Broken pipe") ||
      contains(text, "Connection refused") || contains(text, "Socket closed") || contains(text, "writev")) {
    return kPeerLost;
  }
  return kCollectiveFailed;
}

[[noreturn]] void rethrow_as_collective_error() {
  const auto info = describe_current_exception(kCollectiveFailed);
  throw Error(code_of_failure(info.message), info.message);
}

// Elements as bytes: what only moves them need not know their type.
at::Tensor as_bytes(const at::Tensor& tensor) { return tensor.view({-1}).view(at::kByte); }

// Gloo has no mean and takes booleans for numbers: of those sum and max are "any", product and min "all".
c10d::ReduceOp gloo_op(ReduceOp op, bool is_bool) {
  switch (op) {
    case ReduceOp::kProduct: return is_bool ? c10d::ReduceOp::MIN : c10d::ReduceOp::PRODUCT;
    case ReduceOp::kMin: return c10d::ReduceOp::MIN;
    case ReduceOp::kMax: return c10d::ReduceOp::MAX;
    default: return is_bool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  }
}

class GlooPending final : public Pending {
 public:
  using Finish = std::function<void()>;

  // `work` is null where nothing has to travel.
  GlooPending(c10::intrusive_ptr<c10d::Work> work, std::chrono::milliseconds timeout, Finish finish)
      : work_(std::move(work)), timeout_(timeout), finish_(std::move(finish)) {}

  bool is_done() override { return !work_ || work_->isCompleted(); }

  void wait() override {
    // Some works copy their results on the thread that waits.
    const c10::InferenceMode guard;
    try {
      if (work_) work_->wait(timeout_);
      if (finish_) finish_();
    } catch (const std::exception&) {
      rethrow_as_collective_error();
    }
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  std::chrono::milliseconds timeout_;
  Finish finish_;
};

// Gloo matches what ranks send each other by a number, which c10d counts up. Here it is made of the call's description, too:
// calls that differ never meet, where Gloo would mix their bytes, or end the process over their different lengths.
class MatchedGloo final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  void prepare(const CollectiveCall& call) {
    uint32_t hash = 0x811c9dc5;  // FNV-1a
    const int compared = call.words[kComparisonWord] != 0 ? 0 : kComparedWords;
    for (int i = 0; i < compared; ++i) hash = (hash ^ static_cast<uint32_t>(call.words[i])) * 0x01000193;
    // Calls under way at the same time differ in their place in the order, whatever their descriptions.
    collectiveCounter_ = ++calls_ << 16 | (hash ^ hash >> 16) % 0x10000;
  }

 private:
  uint32_t calls_ = 0;
};

class GlooGroup final : public ProcessGroup {
 public:
  GlooGroup(c10::intrusive_ptr<MatchedGloo> backend, std::unique_ptr<GlooLinks> links, const GroupOptions& options)
      : backend_(std::move(backend)), links_(std::move(links)), options_(options) {}

  std::vector<Loss> losses() override { return links_->losses(); }
  uint64_t traffic() override { return links_->traffic(); }
  void cut() override { links_->cut(); }
  // Gloo's threads, which its end waits for, come back from calls under way.
  void close() override { links_->cut(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    // Gloo's threads take over this thread's state: they write to tensors that were made in inference mode.
    const c10::InferenceMode guard;
    require_fitting(call, options_.rank, options_.size);
    if (call.kind != CollectiveKind::kSend && call.kind != CollectiveKind::kReceive) backend_->prepare(call);
    try {
      switch (call.kind) {
        case CollectiveKind::kBroadcast: return broadcast(call);
        case CollectiveKind::kAllReduce: return all_reduce(call);
        case CollectiveKind::kAllReduceMany: return all_reduce_many(call);
        case CollectiveKind::kReduce: return reduce(call);
        case CollectiveKind::kReduceScatter: return reduce_scatter(call);
        case CollectiveKind::kAllGather: return call.counts.empty() ? all_gather(call) : all_gather_uneven(call);
        case CollectiveKind::kAllToAll: return all_to_all(call);
        case CollectiveKind::kSend:
        case CollectiveKind::kReceive: return message(call);
      }
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      rethrow_as_collective_error();
    }
    throw Error(kInvalidArgument, "no collective has that number");
  }

 private:
  using Finish = GlooPending::Finish;
  using Work = c10::intrusive_ptr<c10d::Work>;

  std::shared_ptr<Pending> pending(Work work, Finish finish = {}) const {
    return std::make_shared<GlooPending>(std::move(work), options_.timeout + kLater, std::move(finish));
  }

  // Reduces in place; `finish` comes after a mean's division.
  std::shared_ptr<Pending> reduced(Work work, const CollectiveCall& call, const at::Tensor& result) const {
    if (call.op != ReduceOp::kMean) return pending(std::move(work));
    return pending(std::move(work), [result, size = options_.size] { result.div_(size); });
  }

  std::shared_ptr<Pending> broadcast(CollectiveCall& call) {
    if (call.input.numel() == 0) return pending({});
    c10d::BroadcastOptions options;
    options.rootRank = call.root;
    std::vector<at::Tensor> tensors{as_bytes(call.input)};
    return pending(backend_->broadcast(tensors, options));
  }

  std::shared_ptr<Pending> all_reduce(CollectiveCall& call) {
    if (!call.output.is_same(call.input)) call.output.copy_(call.input);
    if (call.output.numel() == 0) return pending({});
    c10d::AllreduceOptions options;
    options.reduceOp = gloo_op(call.op, call.output.scalar_type() == at::kBool);
    std::vector<at::Tensor> tensors{call.output};
    return reduced(backend_->allreduce(tensors, options), call, call.output);
  }

  // Packed on the way, by Gloo's own thread.
  std::shared_ptr<Pending> all_reduce_many(CollectiveCall& call) {
    std::vector<at::Tensor> tensors;
    for (const auto& tensor : call.many) {
      if (tensor.numel() > 0) tensors.push_back(tensor);
    }
    if (tensors.empty()) return pending({});
    c10d::AllreduceCoalescedOptions options;
    options.reduceOp = gloo_op(call.op, tensors.front().scalar_type() == at::kBool);
    auto work = backend_->allreduce_coalesced(tensors, options);
    if (call.op != ReduceOp::kMean) return pending(std::move(work), [tensors] {});
    return pending(std::move(work), [tensors, size = options_.size] {
      for (const auto& tensor : tensors) tensor.div_(size);
    });
  }

  // Gloo reduces in place on every rank: those that get no result give a copy.
  std::shared_ptr<Pending> reduce(CollectiveCall& call) {
    if (call.input.numel() == 0) return pending({});
    const bool is_root = options_.rank == call.root;
    const auto buffer = is_root ? call.output.copy_(call.input) : call.input.clone();
    c10d::ReduceOptions options;
    options.rootRank = call.root;
    options.reduceOp = gloo_op(call.op, buffer.scalar_type() == at::kBool);
    std::vector<at::Tensor> tensors{buffer};
    auto work = backend_->reduce(tensors, options);
    return is_root ? reduced(std::move(work), call, buffer) : pending(std::move(work), [buffer] {});
  }

  std::shared_ptr<Pending> reduce_scatter(CollectiveCall& call) {
    if (call.input.numel() == 0) return pending({});
    c10d::ReduceScatterOptions options;
    options.reduceOp = gloo_op(call.op, call.input.scalar_type() == at::kBool);
    return reduced(backend_->_reduce_scatter_base(call.output, call.input, options), call, call.output);
  }

  std::shared_ptr<Pending> all_gather(CollectiveCall& call) {
    if (call.input.numel() == 0) return pending({});
    auto from = as_bytes(call.input);
    auto to = as_bytes(call.output);
    return pending(backend_->_allgather_base(to, from, {}));
  }

  // Every rank sends as much as the one that has most.
  std::shared_ptr<Pending> all_gather_uneven(CollectiveCall& call) {
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

  std::shared_ptr<Pending> all_to_all(CollectiveCall& call) {
    if (call.counts.empty() ? call.input.numel() == 0 : call.most == 0) return pending({});
    auto from = as_bytes(call.input);
    auto to = as_bytes(call.output);
    const auto width = static_cast<int64_t>(call.input.element_size());
    std::vector<int64_t> splits[2];
    for (size_t i = 0; i < call.counts.size(); ++i) splits[i / options_.size].push_back(call.counts[i] * width);
    return pending(backend_->alltoall_base(to, from, splits[1], splits[0], {}));
  }

  std::shared_ptr<Pending> message(CollectiveCall& call) {
    if (call.input.numel() == 0) return pending({});
    std::vector<at::Tensor> tensors{as_bytes(call.input)};
    return pending(call.kind == CollectiveKind::kSend ? backend_->send(tensors, call.root, 0)
                                                      : backend_->recv(tensors, call.root, 0));
  }

  c10::intrusive_ptr<MatchedGloo> backend_;
  std::unique_ptr<GlooLinks> links_;
  GroupOptions options_;
};

// Peers connect to this port while the group is made, and never later.
void close_doors(const std::vector<Fd>& sockets, const std::string& address) {
  const auto host = address.substr(0, address.find('%'));
  for (const auto& socket : sockets) {
    const auto end = local_end(socket.get());
    const bool is_ours = end.rfind(host + ":", 0) == 0 || end.rfind("[" + host + "]:", 0) == 0;
    if (is_ours && is_listening(socket.get())) refuse_newcomers(socket.get());
  }
}

}  // namespace

std::shared_ptr<ProcessGroup> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                const GroupOptions& options, const std::string& address) {
  const auto group_options = MatchedGloo::Options::create(options.timeout);
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(options.name, store);
  try {
    const NewSockets before_device;
    group_options->devices.push_back(MatchedGloo::createDeviceForHostname(address));
    const auto of_device = before_device.take();
    const NewSockets before_links;
    auto backend = c10::make_intrusive<MatchedGloo>(prefixed, options.rank, options.size, group_options);
    auto links = std::make_unique<GlooLinks>(before_links, store, options);
    close_doors(of_device, address);
    backend->setTimeout(options.timeout + kLater);
    return std::make_shared<GlooGroup>(std::move(backend), std::move(links), options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kRendezvousFailed);
    const bool is_lost = code_of_failure(info.message) == kPeerLost;
    throw Error(is_lost ? kPeerLost : kRendezvousFailed,
                "group '" + options.name + "' of " + std::to_string(options.size) +
                    " ranks did not come together (time-out " + std::to_string(options.timeout.count()) +
                    " ms): " + info.message);
  }
}

}  // namespace acc
