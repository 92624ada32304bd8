#include "engine/groups/shm/group.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/error.h"
#include "engine/groups/shm/call_queue.h"
#include "engine/groups/shm/collectives.h"
#include "engine/groups/shm/messages.h"
#include "engine/groups/shm/rendezvous.h"
#include "engine/processor/flush_denormals.h"

namespace acc {
namespace {

using shm::CallQueue;
using shm::Element;
using shm::Messages;
using shm::Ranks;

static_assert(kCallWords == shm::kCallWords);

// The interval at which the queue's thread looks for work on machines without a spare core.
constexpr std::chrono::milliseconds kBusyInterval(20);

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return Element::kFloat32;
    case at::kDouble: return Element::kFloat64;
    case at::kBFloat16: return Element::kBFloat16;
    case at::kHalf: return Element::kFloat16;
    case at::kInt: return Element::kInt32;
    case at::kLong: return Element::kInt64;
    case at::kBool: return Element::kBool;
    default: throw Error(kInvalidArgument, std::string("Elements of type ") + toString(tensor.scalar_type()) +
                                               " cannot be reduced over ranks.");
  }
}

shm::Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return shm::Op::kSum;
    case ReduceOp::kMean: return shm::Op::kMean;
    case ReduceOp::kProduct: return shm::Op::kProduct;
    case ReduceOp::kMin: return shm::Op::kMin;
    case ReduceOp::kMax: return shm::Op::kMax;
  }
  throw Error(kInvalidArgument, "The reduction has an unknown number.");
}

void require_cpu(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) {
    throw Error(kInvalidArgument,
                "The engine shm accepts tensors on the CPU, but one is on " + tensor.device().str() + ".");
  }
}

// A call in the queue, or a message. It keeps the group alive.
template <typename Queue, typename Call>
class ShmPending final : public Pending {
 public:
  ShmPending(std::shared_ptr<ProcessGroup> group, Queue& queue, std::shared_ptr<Call> call)
      : group_(std::move(group)), queue_(queue), call_(std::move(call)) {}
  bool is_done() override { return queue_.is_done(call_); }
  void wait() override { queue_.wait(call_); }

 private:
  std::shared_ptr<ProcessGroup> group_;
  Queue& queue_;
  std::shared_ptr<Call> call_;
};

class ShmGroup final : public ProcessGroup, public std::enable_shared_from_this<ShmGroup> {
 public:
  ShmGroup(shm::Segment segment, const GroupOptions& options)
      : ranks_(std::move(segment), options.rank, options.size, options.timeout, options.names), messages_(ranks_) {
    ranks_.on_idle = [this] { messages_.advance(); };
  }

  ~ShmGroup() override { close(); }

  bool judges_itself() const override { return true; }
  void cut() override { ranks_.leave(); }
  // Ranks compare their calls in the first step of each collective. A message that does not fit into
  // the blocks of its channel waits for its receiver.
  bool meets_all(const CollectiveCall& call) const override {
    if (call.kind == CollectiveKind::kSend) return call.input.nbytes() > shm::kChannelBlocks * shm::Segment::kBlockBytes;
    return true;
  }

  // The running call fails once this rank has left. After that the queue's thread can be joined.
  void close() override {
    ranks_.leave();
    queue_.close();
  }

  void close_fd() { ranks_.close_fd(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    require_movable(call);
    if (is_message(call)) return pending(messages_, start_message(call));
    return pending(queue_, queue_.start([this, call = std::move(call)] { execute(call); }));
  }

  void run(CollectiveCall call) override {
    require_movable(call);
    if (is_message(call)) return messages_.wait(start_message(call));
    queue_.run([&] { execute(call); });
  }

 private:
  template <typename Queue, typename Call>
  std::shared_ptr<Pending> pending(Queue& queue, std::shared_ptr<Call> call) {
    return std::make_shared<ShmPending<Queue, Call>>(shared_from_this(), queue, std::move(call));
  }

  void require_movable(const CollectiveCall& call) const {
    require_fitting(call, ranks_.rank(), ranks_.size());
    if (call.input.defined()) require_cpu(call.input);
    for (const auto& tensor : call.many) require_cpu(tensor);
  }

  static bool is_message(const CollectiveCall& call) {
    return call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kReceive;
  }

  std::shared_ptr<Messages::Message> start_message(const CollectiveCall& call) {
    auto owner = std::make_shared<at::Tensor>(call.input);
    if (call.kind == CollectiveKind::kSend) {
      return messages_.send(call.root, owner->const_data_ptr(), owner->nbytes(), owner);
    }
    return messages_.receive(call.root, owner->mutable_data_ptr(), owner->nbytes(), owner);
  }

  void execute(const CollectiveCall& call) {
    const FlushDenormals guard;
    try {
      ranks_.begin_call(call.words.data());
      move(call);
    } catch (const shm::Mismatch& mismatch) {
      throw_mismatch(mismatch.words);
    }
  }

  static shm::Pieces pieces_of(const at::Tensor& tensor) { return {tensor.mutable_data_ptr(), tensor.nbytes()}; }

  void move_many(const CollectiveCall& call) {
    shm::Pieces pieces;
    for (const auto& tensor : call.many) pieces.add(tensor.mutable_data_ptr(), tensor.nbytes());
    if (call.kind == CollectiveKind::kAllGatherMany) {
      const std::vector<size_t> bytes(static_cast<size_t>(ranks_.size()), pieces.bytes());
      return shm::all_gather(ranks_, pieces, call.output.mutable_data_ptr(), bytes);
    }
    const auto element = call.many.empty() ? Element::kFloat32 : element_of(call.many.front());
    const auto op = op_of(call.op);
    if (call.kind == CollectiveKind::kAllReduceMany) return shm::all_reduce(ranks_, pieces, pieces, element, op);
    const auto count = static_cast<size_t>(call.output.numel());
    shm::reduce_scatter(ranks_, pieces, call.output.mutable_data_ptr(), count, element, op);
  }

  void move(const CollectiveCall& call) {
    if (takes_many(call.kind)) return move_many(call);
    const void* input = call.input.const_data_ptr();
    void* output = call.output.defined() ? call.output.mutable_data_ptr() : nullptr;
    const auto count = static_cast<size_t>(call.input.numel());
    const auto size = static_cast<size_t>(ranks_.size());
    switch (call.kind) {
      case CollectiveKind::kBroadcast:
        return shm::broadcast(ranks_, call.input.mutable_data_ptr(), call.input.nbytes(), call.root);
      case CollectiveKind::kAllReduce:
        return shm::all_reduce(ranks_, pieces_of(call.input), {output, call.input.nbytes()}, element_of(call.input),
                               op_of(call.op));
      case CollectiveKind::kReduce:
        return shm::reduce_to(ranks_, input, output, count, element_of(call.input), op_of(call.op), call.root);
      case CollectiveKind::kReduceScatter:
        return shm::reduce_scatter(ranks_, pieces_of(call.input), output, count / size, element_of(call.input),
                                   op_of(call.op));
      case CollectiveKind::kAllGather: {
        const auto bytes = call.counts.empty() ? std::vector<size_t>(size, call.input.nbytes()) : bytes_of(call, 0);
        return shm::all_gather(ranks_, pieces_of(call.input), output, bytes);
      }
      case CollectiveKind::kAllToAll: {
        const size_t part = call.input.nbytes() / size;
        if (call.counts.empty()) {
          const std::vector<size_t> parts(size, part);
          return shm::all_to_all(ranks_, input, output, parts, parts, part);
        }
        const size_t most = static_cast<size_t>(call.most) * call.input.element_size();
        return shm::all_to_all(ranks_, input, output, bytes_of(call, 0), bytes_of(call, size), most);
      }
      default: throw Error(kInvalidArgument, "The collective has an unknown number.");
    }
  }

  // The call's counts from `start` on, one for each rank, in bytes.
  std::vector<size_t> bytes_of(const CollectiveCall& call, size_t start) const {
    std::vector<size_t> bytes(static_cast<size_t>(ranks_.size()));
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<size_t>(call.counts.at(start + i)) * call.input.element_size();
    }
    return bytes;
  }

  // Moving bytes through memory takes a core. If all cores are busy, it is cheapest on the thread
  // that waits for the result: a background thread would take time from training. If a peer sleeps,
  // its core is free, and the background thread may work.
  CallQueue::Background background() {
    const auto interval = [this] {
      has_spare_core_ = Ranks::has_spare_core(at::get_num_threads());
      return has_spare_core_ ? CallQueue::kMoment : kBusyInterval;
    };
    return {interval, [this] { return has_spare_core_ || ranks_.has_sleeping_peer(); }};
  }

  Ranks ranks_;
  Messages messages_;
  // The value as of the last start. The starting thread sets it, because it knows how many threads
  // this rank computes with.
  std::atomic<bool> has_spare_core_{false};
  CallQueue queue_{Ranks::be_patient, background()};
};

}  // namespace

std::string shm_unavailable_reason() { return shm::Segment::unavailable_reason(); }

std::shared_ptr<ProcessGroup> create_shm_group(const c10::intrusive_ptr<c10d::Store>& store,
                                               const GroupOptions& options) {
  std::shared_ptr<ShmGroup> group;
  shm::meet(store, options, [&](shm::Segment segment) {
    group = std::make_shared<ShmGroup>(std::move(segment), options);
  });
  group->close_fd();
  return group;
}

}  // namespace acc
