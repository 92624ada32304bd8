#include "engine/process_group.h"

#include <c10/core/InferenceMode.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/error.h"

namespace acc {
namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// c10d and Gloo tell these cases apart in their texts only.
const char* code_of_failure(const std::string& text) {
  if (contains(text, "Timed out") || contains(text, "timed out") || contains(text, "timeout")) return kCollectiveTimeout;
  if (contains(text, "closed by peer") || contains(text, "reset by peer") || contains(text, "Broken pipe") ||
      contains(text, "Connection refused") || contains(text, "Socket closed") || contains(text, "writev")) {
    return kPeerLost;
  }
  return kCollectiveFailed;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const GroupOptions& options) {
  using c10d::ProcessGroupGloo;
  auto group_options = ProcessGroupGloo::Options::create(options.timeout);
  group_options->devices.push_back(options.by_interface
                                       ? ProcessGroupGloo::createDeviceForInterface(options.address)
                                       : ProcessGroupGloo::createDeviceForHostname(options.address));
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(options.name, store);
  try {
    return c10::make_intrusive<ProcessGroupGloo>(prefixed, options.rank, options.size, group_options);
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kRendezvousFailed);
    const bool is_lost = code_of_failure(info.message) == kPeerLost;
    throw Error(is_lost ? kPeerLost : kRendezvousFailed,
                "group '" + options.name + "' of " + std::to_string(options.size) +
                    " ranks did not come together (time-out " + std::to_string(options.timeout.count()) +
                    " ms): " + info.message);
  }
}

c10::intrusive_ptr<c10d::Work> start_collective(c10d::Backend& group, CollectiveCall& call) {
  // Gloo's threads take over this thread's state: they write to tensors that were made in inference mode.
  const c10::InferenceMode guard;
  const auto op = c10d::ReduceOp(static_cast<c10d::ReduceOp::RedOpType>(call.reduce_op));
  try {
    switch (call.kind) {
      case CollectiveKind::kBroadcast: {
        c10d::BroadcastOptions options;
        options.rootRank = call.root;
        std::vector<at::Tensor> tensors{call.input};
        return group.broadcast(tensors, options);
      }
      case CollectiveKind::kAllReduce: {
        c10d::AllreduceOptions options;
        options.reduceOp = op;
        std::vector<at::Tensor> tensors{call.input};
        return group.allreduce(tensors, options);
      }
      case CollectiveKind::kAllGather:
        return group._allgather_base(call.output, call.input, {});
      case CollectiveKind::kReduceScatter: {
        c10d::ReduceScatterOptions options;
        options.reduceOp = op;
        return group._reduce_scatter_base(call.output, call.input, options);
      }
    }
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kCollectiveFailed);
    throw Error(code_of_failure(info.message), info.message);
  }
  throw Error(kInvalidArgument, "no collective has that number");
}

void wait_for(c10d::Work& work, std::chrono::milliseconds timeout) {
  // Some works copy their results on the thread that waits.
  const c10::InferenceMode guard;
  try {
    work.wait(timeout);
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kCollectiveFailed);
    throw Error(code_of_failure(info.message), info.message);
  }
}

}  // namespace acc
