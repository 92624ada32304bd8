#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "engine/rank_names.h"

namespace acc {

struct GroupOptions {
  std::string name;
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{0};
  RankNames names;
};

// The numbers are shared with src/process-group.ts.
enum class CollectiveKind : int {
  kBroadcast = 0,      // `input` in place
  kAllReduce = 1,      // `output` may be `input`
  kReduce = 2,         // `output` on `root` only
  kReduceScatter = 3,  // `input` is `size` times `output`
  kAllGather = 4,      // `counts`: elements of each rank; empty where all have as many
  kAllToAll = 5,       // `counts`: elements sent to each rank, then received from each; empty where all are equal
  kSend = 6,           // `input` to `root`
  kReceive = 7,        // `input` from `root`
  kAllReduceMany = 8,  // `many` in place, of one type
};

enum class ReduceOp : int { kSum = 0, kMean = 1, kProduct = 2, kMin = 3, kMax = 4 };

inline constexpr int kCallWords = 20;
// The first of them, which ranks must have alike.
inline constexpr int kComparedWords = 16;
// Not 0 in the exchange by which ranks compare a call before they make it.
inline constexpr int kComparisonWord = kCallWords - 2;
// The call's number.
inline constexpr int kNumberWord = kCallWords - 1;

// One collective. Tensors are contiguous.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBroadcast;
  at::Tensor input;
  at::Tensor output;
  std::vector<at::Tensor> many;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<int64_t> counts;
  // The most elements that any rank sends to any other, of kAllToAll with counts.
  int64_t most = 0;
  // What the user called: kComparedWords that ranks must have alike, and what is worth telling. All 0 where the user called
  // nothing.
  std::array<int32_t, kCallWords> words{};
};

// Makes the input contiguous and gives the call an output like it.
void give_output(CollectiveCall& call);

// Throws ACC_INVALID_ARGUMENT for tensors and counts that do not fit together.
void require_fitting(const CollectiveCall& call, int rank, int size);

// ACC_COLLECTIVE_MISMATCH, with the words of all ranks' calls, kCallWords each, as a JSON array: JavaScript knows what they mean.
[[noreturn]] void throw_mismatch(const std::vector<int32_t>& words);

// A collective under way; it keeps the tensors alive.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool is_done() = 0;
  // Blocks until it has ended. Throws ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST, ACC_COLLECTIVE_FAILED, ACC_COLLECTIVE_MISMATCH.
  virtual void wait() = 0;
};

// Processes that call the same collectives in the same order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::shared_ptr<Pending> start(CollectiveCall call) = 0;
  // Starts it and waits.
  virtual void run(CollectiveCall call) { start(std::move(call))->wait(); }
  // Calls under way may fail, later ones do.
  virtual void close() {}

  // What a Watch asks, from its own thread.

  // True where the engine itself finds out which ranks are dead, late or call other things.
  virtual bool judges_itself() const { return false; }
  // False where only some ranks may find out by themselves that calls differ.
  virtual bool refuses_everywhere() const { return true; }
  // Ranks that this one is, or may be, cut off from.
  struct Loss {
    enum class Kind {
      kClosed,    // the connection was closed
      kSilent,    // the rank's host does not answer
      kDoubtful,  // it has not answered for a while
    };
    int rank;
    Kind kind;
  };
  virtual std::vector<Loss> losses() { return {}; }
  // A number that grows while bytes move.
  virtual uint64_t traffic() { return 0; }
  // Fails all calls under way, and later ones.
  virtual void cut() {}
};

}  // namespace acc
