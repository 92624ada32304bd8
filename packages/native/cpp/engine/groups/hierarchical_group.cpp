#include "engine/groups/hierarchical_group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "engine/groups/gloo/group.h"
#include "engine/groups/meeting.h"
#include "engine/groups/shm/call_queue.h"
#include "engine/groups/shm/group.h"

namespace acc {
namespace {

using shm::CallQueue;

// The local rank that represents its host.
constexpr int kLeader = 0;

class HierarchicalGroup final : public ProcessGroup, public std::enable_shared_from_this<HierarchicalGroup> {
 public:
  // `local` has the ranks of this host. `leaders` has one rank of each host; it is null on all
  // other ranks.
  HierarchicalGroup(std::shared_ptr<ProcessGroup> world, std::shared_ptr<ProcessGroup> local,
                    std::shared_ptr<ProcessGroup> leaders, const GroupOptions& options)
      : world_(std::move(world)), local_(std::move(local)), leaders_(std::move(leaders)), options_(options) {}

  ~HierarchicalGroup() override { close(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    if (!crosses_once(call)) return world_->start(std::move(call));
    require_fitting(call, options_.rank, options_.size);
    auto started = queue_.start([this, call = std::move(call)] { all_reduce(call); });
    return std::make_shared<QueuedCall>(shared_from_this(), std::move(started));
  }

  void run(CollectiveCall call) override {
    if (!crosses_once(call)) return world_->run(std::move(call));
    require_fitting(call, options_.rank, options_.size);
    queue_.run([&] { all_reduce(call); });
  }

  void close() override {
    for (const auto& group : {local_, leaders_, world_}) {
      if (group) group->close();
    }
    queue_.close();
  }

  // The ranks of one host may detect a mismatch that the ranks of other hosts do not.
  bool refuses_everywhere() const override { return false; }
  std::vector<Loss> losses() override { return world_->losses(); }
  uint64_t traffic() override { return world_->traffic() + (leaders_ ? leaders_->traffic() : 0); }
  void cut() override {
    for (const auto& group : {local_, leaders_, world_}) {
      if (group) group->cut();
    }
  }

 private:
  class QueuedCall final : public Pending {
   public:
    QueuedCall(std::shared_ptr<HierarchicalGroup> group, std::shared_ptr<CallQueue::Call> call)
        : group_(std::move(group)), call_(std::move(call)) {}
    bool is_done() override { return group_->queue_.is_done(call_); }
    void wait() override { group_->queue_.wait(call_); }

   private:
    std::shared_ptr<HierarchicalGroup> group_;
    std::shared_ptr<CallQueue::Call> call_;
  };

  static bool crosses_once(const CollectiveCall& call) {
    return call.kind == CollectiveKind::kAllReduce || call.kind == CollectiveKind::kAllReduceMany;
  }

  void all_reduce(const CollectiveCall& call) const {
    const c10::InferenceMode guard;
    if (call.kind == CollectiveKind::kAllReduce) {
      if (!call.output.is_same(call.input)) call.output.copy_(call.input);
      return reduce(call.output, call);
    }
    if (call.many.empty()) return;
    // Packs the tensors, so hosts exchange one message whatever the number of tensors.
    std::vector<at::Tensor> flat;
    for (const auto& tensor : call.many) flat.push_back(tensor.view({-1}));
    const auto packed = at::cat(flat);
    reduce(packed, call);
    int64_t at = 0;
    for (const auto& tensor : flat) {
      tensor.copy_(packed.narrow(0, at, tensor.numel()));
      at += tensor.numel();
    }
  }

  // Reduces in place: first over this host, then over hosts. Then the leader broadcasts the result
  // on its host. Each of these calls compares the words of `whole`.
  void reduce(const at::Tensor& tensor, const CollectiveCall& whole) const {
    const auto op = whole.op;
    CollectiveCall call;
    call.input = call.output = tensor;
    call.op = op == ReduceOp::kMean ? ReduceOp::kSum : op;
    call.root = kLeader;
    call.words = whole.words;
    call.kind = CollectiveKind::kReduce;
    local_->run(call);
    if (leaders_) {
      call.kind = CollectiveKind::kAllReduce;
      leaders_->run(call);
      if (op == ReduceOp::kMean) tensor.div_(options_.size);
    }
    call.kind = CollectiveKind::kBroadcast;
    local_->run(call);
  }

  const std::shared_ptr<ProcessGroup> world_;
  const std::shared_ptr<ProcessGroup> local_;
  const std::shared_ptr<ProcessGroup> leaders_;
  const GroupOptions options_;
  CallQueue queue_{[] {}};
};

}  // namespace

std::shared_ptr<ProcessGroup> create_hierarchical_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                        const GroupOptions& options, const std::string& address,
                                                        const HostLayout& layout) {
  auto local_options = options;
  local_options.name += "/host/" + std::to_string(layout.host);
  local_options.rank = layout.local_rank;
  local_options.size = layout.local_size;
  local_options.names = RankNames();
  auto leader_options = options;
  leader_options.name += "/leaders";
  leader_options.rank = layout.host;
  leader_options.size = layout.hosts;
  leader_options.names = RankNames();
  auto world_options = options;
  world_options.name += "/all";
  std::shared_ptr<ProcessGroup> local;
  const auto make_local = [&] { local = create_shm_group(store, local_options); };
  Meeting(store, options).together("hosts", kNoSharedMemory, make_local);
  auto world = create_gloo_group(store, world_options, address);
  std::shared_ptr<ProcessGroup> leaders;
  if (layout.local_rank == kLeader) leaders = create_gloo_group(store, leader_options, address);
  return std::make_shared<HierarchicalGroup>(std::move(world), std::move(local), std::move(leaders), options);
}

}  // namespace acc
