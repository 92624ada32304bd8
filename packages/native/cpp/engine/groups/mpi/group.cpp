#include "engine/groups/mpi/group.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/error.h"
#include "engine/groups/shm/call_queue.h"
#include "mpi/acc_mpi.h"

namespace acc {
namespace {

using shm::CallQueue;

// The number of polls that only yield, before polls that sleep for kPause: peers mostly arrive
// soon.
constexpr int kEagerLooks = 2000;
constexpr std::chrono::microseconds kPause(50);

acc_mpi_type type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return ACC_MPI_FLOAT32;
    case at::kDouble: return ACC_MPI_FLOAT64;
    case at::kInt: return ACC_MPI_INT32;
    case at::kLong: return ACC_MPI_INT64;
    case at::kBool: return ACC_MPI_BOOL;
    default: return ACC_MPI_BYTE;
  }
}

bool is_reduction(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce || kind == CollectiveKind::kReduceScatter;
}

bool is_message(const CollectiveCall& call) {
  return call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kReceive;
}

// The MPI of this process. Only one thread at a time may call it, for all groups together.
struct Mpi {
  acc_mpi api{};
  std::mutex mutex;
  // True once MPI has been finalized: it must not be called any more.
  bool is_over = false;
};

class MpiGroup final : public ProcessGroup, public std::enable_shared_from_this<MpiGroup> {
 public:
  // `number` is the library's number of the group; 0 is the group of all ranks.
  MpiGroup(std::shared_ptr<Mpi> mpi, int number, const GroupOptions& options)
      : mpi_(std::move(mpi)), number_(number), options_(options) {}
  ~MpiGroup() override { stop(); }

  std::shared_ptr<Pending> start(CollectiveCall call) override;
  void cut() override { is_cut_ = true; }
  // Ranks compare their calls before each collective.
  bool meets_all(const CollectiveCall& call) const override { return call.kind != CollectiveKind::kSend; }

  // In an orderly shutdown every rank closes the group of all ranks, which finalizes MPI. Otherwise
  // this process ends without finalizing MPI, and mpirun then ends the other processes.
  void close() override {
    const bool is_orderly = !is_cut_ && !is_closed_.exchange(true);
    stop();
    const std::lock_guard guard(mpi_->mutex);
    if (!is_orderly || number_ != 0) return;
    mpi_->is_over = true;
    mpi_->api.finish();
  }

  // begin() starts an MPI request, has_ended() tests it, and finish() waits for it.
  void* begin(acc_mpi_call call);
  bool has_ended(void* request);
  void finish(void* request);
  void wait_for(const std::shared_ptr<CallQueue::Call>& call) { queue_.wait(call); }
  bool is_done(const std::shared_ptr<CallQueue::Call>& call) { return queue_.is_done(call); }

 private:
  void stop() {
    is_cut_ = true;
    queue_.close();
  }
  void execute(CollectiveCall& call);
  void reduce_many(const CollectiveCall& call);
  void perform(CollectiveCall& call);
  void compare(const CollectiveCall& call);
  void move(const CollectiveCall& call);

  const std::shared_ptr<Mpi> mpi_;
  const int number_;
  GroupOptions options_;
  std::atomic<bool> is_cut_{false};
  std::atomic<bool> is_closed_{false};
  CallQueue queue_{[] {}};
};

class QueuedCall final : public Pending {
 public:
  QueuedCall(std::shared_ptr<MpiGroup> group, std::shared_ptr<CallQueue::Call> call)
      : group_(std::move(group)), call_(std::move(call)) {}
  bool is_done() override { return group_->is_done(call_); }
  void wait() override { group_->wait_for(call_); }

 private:
  std::shared_ptr<MpiGroup> group_;
  std::shared_ptr<CallQueue::Call> call_;
};

// A message between two ranks. Messages are not part of the order of collectives. The tensor is
// kept until the message has ended, even if the caller drops this object.
class Message final : public Pending {
 public:
  Message(std::shared_ptr<MpiGroup> group, at::Tensor tensor, void* request)
      : group_(std::move(group)), tensor_(std::move(tensor)), request_(request) {}
  ~Message() override {
    // MPI may still read or write the tensor, so it is leaked.
    if (request_ != nullptr) new at::Tensor(std::move(tensor_));
  }
  bool is_done() override {
    if (request_ != nullptr && group_->has_ended(request_)) request_ = nullptr;
    return request_ == nullptr;
  }
  void wait() override {
    if (request_ != nullptr) group_->finish(request_);
    request_ = nullptr;
  }

 private:
  std::shared_ptr<MpiGroup> group_;
  at::Tensor tensor_;
  void* request_;
};

std::shared_ptr<Pending> MpiGroup::start(CollectiveCall call) {
  require_fitting(call, options_.rank, options_.size);
  if (call.input.defined() && !call.input.is_cpu()) {
    throw Error(kInvalidArgument, "The engine mpi accepts tensors on the CPU only.");
  }
  if (is_message(call)) {
    acc_mpi_call message{};
    message.kind = static_cast<int>(call.kind);
    message.type = ACC_MPI_BYTE;
    message.root = call.root;
    message.input = call.input.mutable_data_ptr();
    message.count = static_cast<int64_t>(call.input.nbytes());
    return std::make_shared<Message>(shared_from_this(), call.input, begin(message));
  }
  auto queued = queue_.start([this, call]() mutable { execute(call); });
  return std::make_shared<QueuedCall>(shared_from_this(), std::move(queued));
}

void* MpiGroup::begin(acc_mpi_call call) {
  call.group = number_;
  const std::lock_guard guard(mpi_->mutex);
  if (is_cut_ || mpi_->is_over) throw Error(kPeerLost, "the group is closed");
  void* request = nullptr;
  if (const char* failure = mpi_->api.start(&call, &request)) throw Error(kCollectiveFailed, failure);
  return request;
}

bool MpiGroup::has_ended(void* request) {
  const std::lock_guard guard(mpi_->mutex);
  if (mpi_->is_over) throw Error(kPeerLost, "the group is closed");
  int has_ended = 0;
  if (const char* failure = mpi_->api.test(request, &has_ended)) throw Error(kCollectiveFailed, failure);
  return has_ended != 0;
}

void MpiGroup::finish(void* request) {
  for (int look = 0; !has_ended(request); ++look) {
    if (is_cut_) throw Error(kPeerLost, "the group was closed");
    if (look < kEagerLooks) std::this_thread::yield();
    else std::this_thread::sleep_for(kPause);
  }
}

void MpiGroup::execute(CollectiveCall& call) {
  const c10::InferenceMode guard;
  compare(call);
  if (call.kind == CollectiveKind::kAllReduceMany) return reduce_many(call);
  if (takes_many(call.kind)) join_many(call);
  perform(call);
}

// Packs the tensors and reduces them in one call.
void MpiGroup::reduce_many(const CollectiveCall& call) {
  if (call.many.empty()) return;
  std::vector<at::Tensor> flat;
  for (const auto& tensor : call.many) flat.push_back(tensor.view({-1}));
  CollectiveCall packed;
  packed.kind = CollectiveKind::kAllReduce;
  packed.op = call.op;
  packed.input = packed.output = at::cat(flat);
  perform(packed);
  int64_t at = 0;
  for (const auto& tensor : flat) {
    tensor.copy_(packed.output.narrow(0, at, tensor.numel()));
    at += tensor.numel();
  }
}

void MpiGroup::perform(CollectiveCall& call) {
  const bool is_narrow = call.input.scalar_type() == at::kHalf || call.input.scalar_type() == at::kBFloat16;
  if (!is_reduction(call.kind)) return move(call);
  CollectiveCall wide = call;
  if (is_narrow) {
    // MPI has no 16-bit float type, so these are reduced in float32.
    wide.input = call.input.to(at::kFloat);
    if (call.output.is_same(call.input)) wide.output = wide.input;
    else if (call.output.defined()) wide.output = at::empty_like(call.output, at::kFloat);
  }
  move(wide);
  if (!call.output.defined()) return;
  if (call.op == ReduceOp::kMean) wide.output.div_(options_.size);
  if (is_narrow) call.output.copy_(wide.output);
}

// Exchanges the descriptions of the call. If they differ, every rank throws ACC_COLLECTIVE_MISMATCH
// and no rank makes the call.
void MpiGroup::compare(const CollectiveCall& call) {
  const auto size = static_cast<size_t>(options_.size);
  auto own = call.words;
  std::vector<int32_t> all(size * kCallWords);
  acc_mpi_call exchange{};
  exchange.kind = ACC_MPI_ALL_GATHER;
  exchange.type = ACC_MPI_INT32;
  exchange.input = own.data();
  exchange.output = all.data();
  exchange.count = kCallWords;
  finish(begin(exchange));
  for (size_t rank = 0; rank < size; ++rank) {
    if (!std::equal(own.begin(), own.begin() + kComparedWords, all.begin() + static_cast<std::ptrdiff_t>(rank * kCallWords))) {
      throw_mismatch(all);
    }
  }
}

void MpiGroup::move(const CollectiveCall& call) {
  const auto width = is_reduction(call.kind) ? 1 : static_cast<int64_t>(call.input.element_size());
  acc_mpi_call request{};
  request.kind = static_cast<int>(call.kind);
  request.type = is_reduction(call.kind) ? type_of(call.input) : ACC_MPI_BYTE;
  request.op = static_cast<int>(call.op == ReduceOp::kMean ? ReduceOp::kSum : call.op);
  request.root = call.root;
  request.input = call.input.mutable_data_ptr();
  request.output = call.output.defined() ? call.output.mutable_data_ptr() : nullptr;
  request.count = call.input.numel() * width;
  std::vector<int64_t> counts;
  for (const auto count : call.counts) counts.push_back(count * width);
  if (!counts.empty()) request.counts = counts.data();
  finish(begin(request));
}

std::shared_ptr<Mpi> open_library(const std::string& library) {
  // Symbols are global because MPI's own plugins need them.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    throw Error(kEngineUnavailable, std::string("The MPI library cannot be loaded: ") + ::dlerror());
  }
  const auto open = reinterpret_cast<acc_mpi_open_function>(::dlsym(handle, ACC_MPI_OPEN));
  auto mpi = std::make_shared<Mpi>();
  const char* failure = open == nullptr ? "the library was not built by `acc setup --mpi`" : open(&mpi->api);
  if (failure != nullptr) throw Error(kEngineUnavailable, std::string("MPI cannot be started: ") + failure);
  if (mpi->api.version != ACC_MPI_VERSION) {
    throw Error(kEngineUnavailable,
                "The MPI library belongs to another version of this package. Run `acc setup --mpi` again.");
  }
  return mpi;
}

// The MPI of this process. It lives as long as a group uses it.
std::weak_ptr<Mpi> running_mpi;

std::shared_ptr<ProcessGroup> create_subgroup(const GroupOptions& options) {
  const auto mpi = running_mpi.lock();
  if (!mpi) throw Error(kEngineUnavailable, "MPI has ended in this process and cannot be started again.");
  int number = 0;
  const auto& ranks = options.names.world_ranks();
  const std::lock_guard guard(mpi->mutex);
  if (mpi->is_over) throw Error(kEngineUnavailable, "MPI has ended in this process and cannot be started again.");
  if (const char* failure = mpi->api.open_group(ranks.data(), options.size, &number)) throw Error(kCollectiveFailed, failure);
  return std::make_shared<MpiGroup>(mpi, number, options);
}

}  // namespace

std::shared_ptr<ProcessGroup> create_mpi_group(const std::string& library, const GroupOptions& options) {
  if (options.names.is_subgroup()) return create_subgroup(options);
  const auto mpi = open_library(library);
  if (mpi->api.rank != options.rank || mpi->api.size != options.size) {
    throw Error(kEngineUnavailable, "This process is rank " + std::to_string(mpi->api.rank) + " of " +
                                        std::to_string(mpi->api.size) + " in MPI, but rank " +
                                        std::to_string(options.rank) + " of " + std::to_string(options.size) +
                                        " in the job. Start the program with this MPI's own mpirun, or with srun.");
  }
  running_mpi = mpi;
  return std::make_shared<MpiGroup>(mpi, 0, options);
}

}  // namespace acc
