#include "engine/groups/nccl/group.h"

#include <ATen/cuda/CUDAContext.h>

#include <atomic>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "engine/current_device.h"
#include "engine/error.h"
#include "engine/groups/backend_group.h"
#include "engine/groups/meeting.h"
#include "engine/groups/staged_call.h"

namespace acc {
namespace {

using c10d::ProcessGroupNCCL;

// Added to NCCL's own time-out, so that the watch's error comes first. The watch's error says more.
constexpr std::chrono::milliseconds kPatience(30'000);

// A posted receive of NCCL is a kernel that runs until the other rank sends. c10d puts the messages of
// two ranks on one stream, in both directions, so two ranks that both receive first would wait for
// ever. A stream for each direction is not enough: CUDA does not promise that one stream goes on while
// a kernel of another one waits (it may load a kernel, or free memory), and c10d connects two ranks
// within their first message, which blocks the caller until the other rank makes a call of the same
// direction. So messages do not use NCCL: the group over sockets moves them.
bool is_message(CollectiveKind kind) { return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive; }

class NcclGroup final : public BackendGroup, public std::enable_shared_from_this<NcclGroup> {
 public:
  NcclGroup(c10::intrusive_ptr<ProcessGroupNCCL> nccl, std::shared_ptr<ProcessGroup> control, const GroupOptions& options)
      : BackendGroup(nccl, options, options.timeout + kPatience), nccl_(std::move(nccl)), control_(std::move(control)) {}
  ~NcclGroup() override { end(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    if (is_on_host(call) || is_message(call.kind)) return control_->start(std::move(call));
    return std::make_shared<WholePending>(shared_from_this(), BackendGroup::start(std::move(call)));
  }

  bool meets_all(const CollectiveCall& call) const override {
    return is_message(call.kind) ? control_->meets_all(call) : needs_all(call);
  }
  std::vector<Loss> losses() override { return control_->losses(); }
  uint64_t traffic() override { return control_->traffic(); }
  void cut() override { end(); }
  void close() override { end(); }

 protected:
  bool has_mean() const override { return true; }

 private:
  // NCCL reports an aborted call as successful, so wait() checks whether the group was ended.
  class WholePending final : public Pending {
   public:
    WholePending(std::shared_ptr<NcclGroup> group, std::shared_ptr<Pending> work)
        : group_(std::move(group)), work_(std::move(work)) {}
    bool is_done() override { return work_->is_done(); }
    void wait() override {
      work_->wait();
      if (group_->is_ended_) throw Error(kPeerLost, "the group was closed");
    }

   private:
    std::shared_ptr<NcclGroup> group_;
    std::shared_ptr<Pending> work_;
  };

  void end() {
    if (is_ended_.exchange(true)) return;
    control_->close();
    nccl_->abort();
  }

  c10::intrusive_ptr<ProcessGroupNCCL> nccl_;
  std::shared_ptr<ProcessGroup> control_;
  std::atomic<bool> is_ended_{false};
};

// By default c10d ends the process after a failure. Here the watch reports the failure as an error
// instead. Settings of the user are kept.
void leave_errors_to_us() {
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
}

}  // namespace

std::string nccl_unavailable_reason() { return at::cuda::device_count() > 0 ? "" : "there is no GPU"; }

std::shared_ptr<ProcessGroup> create_nccl_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                std::shared_ptr<ProcessGroup> control) {
  leave_errors_to_us();
  auto nccl_options = ProcessGroupNCCL::Options::create();
  nccl_options->timeout = options.timeout + kPatience;
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(options.name, store);
  c10::intrusive_ptr<ProcessGroupNCCL> nccl;
  const auto attempt = [](const auto& step) {
    return [&step] {
      try {
        step();
      } catch (const std::exception&) {
        throw Error(kEngineUnavailable, describe_current_exception(kEngineUnavailable).message);
      }
    };
  };
  // Ranks that connect wait for all others. So they begin only if every rank can, and a rank that fails
  // tells the others, which then take another engine, too.
  const Meeting meeting(store, options);
  constexpr const char* kProblem = "The ranks cannot start NCCL";
  meeting.together("nccl", kProblem, attempt([&] {
    nccl = c10::make_intrusive<ProcessGroupNCCL>(prefixed, options.rank, options.size, nccl_options);
    nccl->setBoundDeviceId(current_device());
  }));
  meeting.together("nccl/connected", kProblem, attempt([&] { nccl->eagerConnectSingleDevice(current_device()); }));
  return std::make_shared<NcclGroup>(std::move(nccl), std::move(control), options);
}

}  // namespace acc
