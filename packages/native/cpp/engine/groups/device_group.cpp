#include "engine/groups/device_group.h"

#include <atomic>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "engine/device/current_device.h"
#include "engine/device/lost_values.h"
#include "engine/error.h"
#include "engine/groups/backend_group.h"
#include "engine/groups/meeting.h"
#include "engine/groups/staged_call.h"

namespace acc {
namespace {

// A posted receive of NCCL is a kernel that runs until the other rank sends. c10d puts the messages of
// two ranks on one stream, in both directions, so two ranks that both receive first would wait for
// ever. A stream for each direction is not enough: CUDA does not promise that one stream goes on while
// a kernel of another one waits (it may load a kernel, or free memory), and c10d connects two ranks
// within their first message, which blocks the caller until the other rank makes a call of the same
// direction. So messages do not use the device's backend: the group over sockets moves them.
bool is_message(CollectiveKind kind) { return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive; }

// A collective for whose result the current stream waits. The backend's work keeps the tensors until
// then; memory that is freed later is used again in the order of the stream.
class StreamPending final : public Pending {
 public:
  explicit StreamPending(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}

  bool is_done() override {
    try {
      return work_->isCompleted();
    } catch (const std::exception&) {
      // A device that has failed: every later call reports it.
      return true;
    }
  }
  void wait() override { work_->synchronize(); }
  bool outlasts_wait() const override { return true; }
  void require_success() override {
    if (const auto error = work_->exception()) std::rethrow_exception(error);
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

class DeviceGroup final : public BackendGroup, public std::enable_shared_from_this<DeviceGroup> {
 public:
  DeviceGroup(c10::intrusive_ptr<c10d::Backend> backend, const DeviceGroupSpec& spec, const GroupOptions& options)
      : BackendGroup(backend, options, options.timeout + kDevicePatience),
        device_(std::move(backend)),
        control_(spec.control),
        waits_(spec.waits) {}
  ~DeviceGroup() override { end(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    if (is_on_host(call) || is_message(call.kind)) return control_->start(std::move(call));
    // Other ranks must not get what a failed collective has left.
    if (outlasts_waits()) require_values();
    return std::make_shared<WholePending>(shared_from_this(), BackendGroup::start(std::move(call)));
  }

  bool outlasts_waits() const override { return waits_ == DeviceWaits::kStream; }
  bool meets_all(const CollectiveCall& call) const override {
    return is_message(call.kind) ? control_->meets_all(call) : needs_all(call);
  }
  std::vector<Loss> losses() override { return control_->losses(); }
  uint64_t traffic() override { return control_->traffic(); }
  void cut() override { end(); }
  void close() override { end(); }

 protected:
  bool has_mean() const override { return true; }
  std::shared_ptr<Pending> pending_of(Work work) const override {
    if (!outlasts_waits()) return BackendGroup::pending_of(std::move(work));
    return std::make_shared<StreamPending>(std::move(work));
  }

 private:
  // NCCL reports an aborted call as successful, so wait() checks whether the group was ended.
  class WholePending final : public Pending {
   public:
    WholePending(std::shared_ptr<DeviceGroup> group, std::shared_ptr<Pending> work)
        : group_(std::move(group)), work_(std::move(work)) {}
    bool is_done() override { return work_->is_done(); }
    bool outlasts_wait() const override { return work_->outlasts_wait(); }
    void wait() override {
      work_->wait();
      require_whole();
    }
    // A call that is done before the group ends was whole.
    void require_success() override { work_->require_success(); }

   private:
    void require_whole() const {
      if (!group_->is_ended_) return;
      require_values();
      throw Error(kPeerLost, "the group was closed");
    }

    std::shared_ptr<DeviceGroup> group_;
    std::shared_ptr<Pending> work_;
  };

  void end() {
    if (is_ended_.exchange(true)) return;
    control_->close();
    device_->abort();
  }

  c10::intrusive_ptr<c10d::Backend> device_;
  std::shared_ptr<ProcessGroup> control_;
  const DeviceWaits waits_;
  std::atomic<bool> is_ended_{false};
};

}  // namespace

std::shared_ptr<ProcessGroup> create_device_group(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
                                                  DeviceGroupSpec spec) {
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(options.name, store);
  c10::intrusive_ptr<c10d::Backend> backend;
  const auto attempt = [](const auto& step) {
    return [&step] {
      try {
        step();
      } catch (const std::exception&) {
        throw Error(kEngineUnavailable, describe_current_exception(kEngineUnavailable).message);
      }
    };
  };
  const auto problem = "The ranks cannot start " + spec.name;
  // Ranks that connect wait for all others. So they begin only if every rank can, and a rank that fails
  // tells the others, which then take another engine, too.
  const Meeting meeting(store, options);
  const auto make = [&] {
    backend = spec.make(prefixed);
    backend->setBoundDeviceId(current_device());
  };
  const auto connect = [&] { backend->eagerConnectSingleDevice(current_device()); };
  meeting.together("device", problem, attempt(make));
  meeting.together("device/connected", problem, attempt(connect));
  return std::make_shared<DeviceGroup>(std::move(backend), spec, options);
}

}  // namespace acc
