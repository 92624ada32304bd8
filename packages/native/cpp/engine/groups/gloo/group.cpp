#include "engine/groups/gloo/group.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/error.h"
#include "engine/groups/backend_group.h"
#include "engine/groups/gloo/calls.h"
#include "engine/groups/gloo/links.h"
#include "engine/groups/staged_call.h"

namespace acc {
namespace {

// Added to Gloo's own time-out, so that the watch's error comes first. The watch's error says more.
constexpr std::chrono::milliseconds kLater(30'000);

// The bits of Gloo's matching number that hold the hash. The other bits distinguish calls that run
// at the same time.
constexpr uint32_t kHashBits = 20;

// Gloo matches messages by a number, which c10d increments. This class also puts a hash of the
// call's description into that number, so messages of different calls never match. Otherwise Gloo
// would mix their bytes, or end the process because their lengths differ.
class MatchedGloo final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  void prepare(const CollectiveCall& call) {
    uint32_t hash = 0x811c9dc5;  // FNV-1a
    const int compared = call.words[kComparisonWord] != 0 ? 0 : kComparedWords;
    for (int i = 0; i < compared; ++i) hash = (hash ^ static_cast<uint32_t>(call.words[i])) * 0x01000193;
    collectiveCounter_ = ++calls_ << kHashBits | (hash ^ hash >> kHashBits) % (1u << kHashBits);
  }

 private:
  uint32_t calls_ = 0;
};

class GlooGroup final : public BackendGroup {
 public:
  GlooGroup(c10::intrusive_ptr<MatchedGloo> backend, std::unique_ptr<GlooLinks> links, const GroupOptions& options)
      : BackendGroup(backend, options, options.timeout + kLater),
        gloo_(std::move(backend)),
        links_(std::move(links)),
        calls_(std::make_shared<GlooCalls>(options.timeout + kLater, options.patience.grace)) {}
  ~GlooGroup() override {
    end();
    calls_->outlive(gloo_);
  }

  std::shared_ptr<Pending> start(CollectiveCall call) override {
    if (is_on_host(call)) return BackendGroup::start(std::move(call));
    require_fitting(call, options_.rank, options_.size);
    return start_on_host(call, options_.rank, [this](CollectiveCall staged) { return BackendGroup::start(std::move(staged)); });
  }

  std::vector<Loss> losses() override { return links_->losses(); }
  uint64_t traffic() override { return links_->traffic(); }
  // Gloo sends a message once the receiver has asked for it.
  bool meets_all(const CollectiveCall& call) const override {
    return call.kind == CollectiveKind::kSend ? call.input.numel() > 0 : needs_all(call);
  }
  void cut() override { end(); }
  void close() override { end(); }

 protected:
  void prepare(const CollectiveCall& call) override { gloo_->prepare(call); }
  std::shared_ptr<Pending> pending_of(Work work) const override { return calls_->pending(std::move(work)); }

  // Sums all pieces on every rank, as c10d does for Gloo. A cut cannot end the wait for c10d's work.
  std::shared_ptr<Pending> reduce_scatter(CollectiveCall& call) override {
    if (call.input.numel() == 0) return pending({});
    const auto sums = call.input.clone();
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(call.op, sums.scalar_type() == at::kBool);
    std::vector<at::Tensor> tensors{sums};
    auto work = gloo_->allreduce(tensors, options);
    const auto own = sums.view({options_.size, -1}).select(0, options_.rank);
    return pending(std::move(work), [own, op = call.op, size = options_.size, output = call.output] {
      output.view({-1}).copy_(own);
      if (op == ReduceOp::kMean) output.div_(size);
    });
  }

 private:
  void end() {
    links_->cut();
    calls_->cut();
  }

  c10::intrusive_ptr<MatchedGloo> gloo_;
  std::unique_ptr<GlooLinks> links_;
  std::shared_ptr<GlooCalls> calls_;
};

// Refuses new connections to the group's ports. Peers connect to them only while the group is made.
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
  const auto group_options = MatchedGloo::Options::create(options.join_timeout);
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
                    " ranks did not come together (time-out " + std::to_string(options.join_timeout.count()) +
                    " ms): " + info.message);
  }
}

}  // namespace acc
