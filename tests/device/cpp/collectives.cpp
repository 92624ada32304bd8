// Collectives of the device, as NCCL is one for GPUs: a backend of c10d whose calls run on a stream of
// its own, after the work that was queued before. The bytes travel through the job's store.

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include "arena.h"
#include "fallback.h"
#include "streams.h"

namespace late {
namespace {

using Tensors = std::vector<at::Tensor>;
using Bytes = std::vector<uint8_t>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

constexpr std::chrono::microseconds kPoll(200);
/** A test that needs longer fails by its own limit. */
constexpr std::chrono::seconds kLongest(120);

/** Whether the backend fails its calls by itself, as one whose network is broken. */
std::atomic<bool> fails{false};

/** One call. Waits for it on the host are counted. */
class Work final : public c10d::Work {
 public:
  explicit Work(c10::DeviceIndex device) : device_(device) {}

  bool isCompleted() override {
    const std::lock_guard<std::mutex> lock(done_->mutex);
    return done_->is_done;
  }
  std::exception_ptr exception() const override { return *failure_; }
  void synchronize() override {
    stream_of(current_stream(device_)).enqueue([done = done_] { done->wait(); });
  }
  bool wait(std::chrono::milliseconds timeout) override {
    synchronize();
    if (timeout == kNoTimeout) return true;
    ++counters().waits;
    done_->wait();
    if (*failure_) std::rethrow_exception(*failure_);
    return true;
  }

  /** Runs the call on the thread of its stream. Tensors live until then. */
  void run(const std::function<void()>& call) {
    try {
      TORCH_CHECK(!fails, "late: the network is broken");
      call();
    } catch (const std::exception&) {
      *failure_ = std::current_exception();
    }
    done_->set();
  }

 private:
  const c10::DeviceIndex device_;
  const std::shared_ptr<Mark> done_ = std::make_shared<Mark>();
  const std::shared_ptr<std::exception_ptr> failure_ = std::make_shared<std::exception_ptr>();
};

/** Exchanges bytes between the ranks of a group. Only the thread of a stream calls it. */
class Exchange {
 public:
  Exchange(c10::intrusive_ptr<c10d::Store> store, int rank, int size) : store_(std::move(store)), rank_(rank), size_(size) {}

  /** The bytes of every rank, by rank. */
  std::vector<Bytes> all(Bytes own) {
    ++call_;
    store_->set(key(call_, rank_), own);
    std::vector<Bytes> all;
    for (int rank = 0; rank < size_; ++rank) all.push_back(rank == rank_ ? own : take(key(call_, rank)));
    // Ranks that are in this call have read what was before the last one.
    if (call_ > 2) store_->deleteKey(key(call_ - 2, rank_));
    return all;
  }
  void abort() { is_aborted_ = true; }

 private:
  static std::string key(int64_t call, int rank) {
    return "late/" + std::to_string(call) + "/" + std::to_string(rank);
  }
  Bytes take(const std::string& name) {
    const auto deadline = std::chrono::steady_clock::now() + kLongest;
    // A blocking get would keep the store from the other threads.
    while (!store_->check({name})) {
      TORCH_CHECK(!is_aborted_, "late: the collective was aborted");
      TORCH_CHECK(std::chrono::steady_clock::now() < deadline, "late: a rank did not come to the collective");
      std::this_thread::sleep_for(kPoll);
    }
    return store_->get(name);
  }

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_;
  const int size_;
  int64_t call_ = 0;
  std::atomic<bool> is_aborted_{false};
};

Bytes bytes_of(const at::Tensor& tensor) {
  const auto whole = tensor.contiguous();
  const auto* data = static_cast<const uint8_t*>(whole.const_data_ptr());
  return {data, data + whole.nbytes()};
}

at::Tensor from_bytes(Bytes& bytes, const at::Tensor& like) { return at::from_blob(bytes.data(), like.sizes(), like.options()); }

/** Combines the tensors of all ranks, in the order of ranks. */
at::Tensor combined(std::vector<Bytes>& all, const at::Tensor& like, const c10d::ReduceOp& op) {
  auto result = from_bytes(all[0], like).clone();
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const auto next = from_bytes(all[rank], like);
    switch (op) {
      case c10d::ReduceOp::SUM:
      case c10d::ReduceOp::AVG: result.add_(next); break;
      case c10d::ReduceOp::PRODUCT: result.mul_(next); break;
      case c10d::ReduceOp::MIN: result = at::minimum(result, next); break;
      case c10d::ReduceOp::MAX: result = at::maximum(result, next); break;
      default: TORCH_CHECK(false, "late: the reduction is not one of the device");
    }
  }
  if (op == c10d::ReduceOp::AVG) result.div_(static_cast<int64_t>(all.size()));
  return result;
}

class Collectives final : public c10d::Backend {
 public:
  Collectives(c10::intrusive_ptr<c10d::Store> store, int rank, int size)
      : Backend(rank, size),
        exchange_(std::make_shared<Exchange>(std::move(store), rank, size)),
        stream_(new_stream(current_device())) {}

  const std::string getBackendName() const override { return "late"; }
  void abort() override { exchange_->abort(); }

  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return start(tensors, [options, rank = rank_, exchange = exchange_, to = over_memory(tensors[0])] {
      auto all = exchange->all(rank == options.rootRank ? bytes_of(to) : Bytes{});
      to.copy_(from_bytes(all[options.rootRank], to));
    });
  }
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return reduce_all(tensors, options.reduceOp);
  }
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return reduce_all(tensors, options.reduceOp);
  }
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return start(tensors, [options, rank = rank_, exchange = exchange_, to = over_memory(tensors[0])] {
      auto all = exchange->all(bytes_of(to));
      if (rank == options.rootRank) to.copy_(combined(all, to, options.reduceOp));
    });
  }
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) override {
    return start({output, input}, [exchange = exchange_, to = over_memory(output), from = over_memory(input)] {
      auto all = exchange->all(bytes_of(from));
      auto parts = to.view({static_cast<int64_t>(all.size()), -1});
      for (size_t rank = 0; rank < all.size(); ++rank) {
        parts[static_cast<int64_t>(rank)].copy_(from_bytes(all[rank], from).view({-1}));
      }
    });
  }
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override {
    return start({output, input}, [op = options.reduceOp, rank = rank_, exchange = exchange_, to = over_memory(output),
                                   from = over_memory(input)] {
      auto all = exchange->all(bytes_of(from));
      const auto sums = combined(all, from, op).view({static_cast<int64_t>(all.size()), -1});
      to.view({-1}).copy_(sums[rank]);
    });
  }
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>&, std::vector<int64_t>& sent,
                            const c10d::AllToAllOptions&) override {
    const auto counts = sent.empty() ? std::vector<int64_t>(size_, input.size(0) / size_) : sent;
    return start({output, input}, [counts, rank = rank_, exchange = exchange_, to = over_memory(output),
                                   from = over_memory(input)] {
      auto all_counts = exchange->all(bytes_of(at::tensor(counts, at::kLong)));
      auto all = exchange->all(bytes_of(from));
      int64_t at = 0;
      for (size_t sender = 0; sender < all.size(); ++sender) {
        const auto* given = reinterpret_cast<const int64_t*>(all_counts[sender].data());
        const auto width = static_cast<int64_t>(all[sender].size());
        const auto elements = at::from_blob(all[sender].data(), {width}, from.options());
        const auto first = std::accumulate(given, given + rank, int64_t{0});
        to.narrow(0, at, given[rank]).copy_(elements.narrow(0, first, given[rank]));
        at += given[rank];
      }
    });
  }

 private:
  WorkPointer reduce_all(const Tensors& tensors, const c10d::ReduceOp& op) {
    Tensors targets;
    for (const auto& tensor : tensors) targets.push_back(over_memory(tensor));
    return start(tensors, [op, targets, exchange = exchange_] {
      for (const auto& target : targets) {
        auto all = exchange->all(bytes_of(target));
        target.copy_(combined(all, target, op));
      }
    });
  }

  /** Runs `call` on the group's stream, when what was queued before on the current one is done. */
  WorkPointer start(const Tensors& tensors, std::function<void()> call) {
    const auto device = tensors.front().device().index();
    ++counters().launches;
    auto ready = std::make_shared<Mark>();
    stream_of(current_stream(device)).enqueue([ready] { ready->set(); });
    auto work = c10::make_intrusive<Work>(device);
    stream_of(stream_).enqueue_on_thread([ready, work, tensors, call = std::move(call)] {
      ready->wait();
      work->run(call);
    });
    return work;
  }

  const std::shared_ptr<Exchange> exchange_;
  const c10::Stream stream_;
};

}  // namespace

void fail_collectives() { fails = true; }

}  // namespace late

TORCH_LIBRARY_FRAGMENT(late, library) { library.def("fail_collectives() -> ()", late::fail_collectives); }

/** The addon looks for it by this name. */
extern "C" __attribute__((visibility("default"))) void acc_make_device_backend(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, c10::intrusive_ptr<c10d::Backend>& made) {
  made = c10::make_intrusive<late::Collectives>(store, rank, size);
}
