#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "engine/groups/rank_names.h"

namespace acc {

// How long a group waits before it acts on what other ranks do. src/patience.ts has the defaults.
struct Patience {
  // A wait that lasts longer is announced to the other ranks, and their calls are compared.
  std::chrono::milliseconds notice{0};
  // The time in which a call may still end after a connection was closed.
  std::chrono::milliseconds grace{0};
  // A host that has not answered for longer is lost.
  std::chrono::milliseconds silence{0};
  // For a wait that lasts longer, a deadlock is searched for.
  std::chrono::milliseconds deadlock{0};
};

struct GroupOptions {
  std::string name;
  int rank = 0;
  int size = 1;
  // Of each collective.
  std::chrono::milliseconds timeout{0};
  // Of the creation of the group.
  std::chrono::milliseconds join_timeout{0};
  Patience patience;
  RankNames names;
};

// src/process-group.ts uses the same numbers.
enum class CollectiveKind : int {
  kBroadcast = 0,      // `input` in place
  kAllReduce = 1,      // `output` may be `input`
  kReduce = 2,         // only `root` needs and writes `output`
  kReduceScatter = 3,  // `input` has `size` times the elements of `output`
  kAllGather = 4,      // `counts`: elements of each rank; empty if all are equal
  kAllToAll = 5,       // `counts`: elements to each rank, then from each; empty if all are equal
  kSend = 6,           // sends `input` to `root`
  kReceive = 7,        // receives `input` from `root`
  kAllReduceMany = 8,  // `many` in place; all of one dtype
  kReduceScatterMany = 9,  // kReduceScatter of `many`, one after the other; all of one dtype
  kAllGatherMany = 10,     // kAllGather of `many`, one after the other; all of one dtype, no `counts`
};

enum class ReduceOp : int { kSum = 0, kMean = 1, kProduct = 2, kMin = 3, kMax = 4 };

inline constexpr int kCallWords = 20;
// The number of leading words that must be equal on all ranks.
inline constexpr int kComparedWords = 16;
// The index of the word that is not 0 in the exchange that compares a call before it is made.
inline constexpr int kComparisonWord = kCallWords - 2;
// The index of the word that holds the call's number.
inline constexpr int kNumberWord = kCallWords - 1;

// The arguments of one collective. Tensors are contiguous.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBroadcast;
  at::Tensor input;
  at::Tensor output;
  std::vector<at::Tensor> many;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<int64_t> counts;
  // For kAllToAll with counts: the largest number of elements that any rank sends to any other.
  int64_t most = 0;
  // Describes the user's call: kComparedWords that must be equal on all ranks, then words for error
  // messages. All are 0 if the call was not made by the user.
  std::array<int32_t, kCallWords> words{};
};

// Whether the arguments are in `many`.
bool takes_many(CollectiveKind kind);

// Replaces `many` of a kReduceScatterMany or kAllGatherMany by one `input`.
void join_many(CollectiveCall& call);

// True if the result on this rank depends on data of every other rank that takes part.
bool needs_all(const CollectiveCall& call);

// Makes the input contiguous and allocates an output of the same shape and dtype.
void give_output(CollectiveCall& call);

// Throws ACC_INVALID_ARGUMENT if the tensors and counts do not fit together.
void require_fitting(const CollectiveCall& call, int rank, int size);

// Throws ACC_COLLECTIVE_MISMATCH. The message is a JSON array of the words of all ranks' calls,
// kCallWords each. JavaScript turns it into text.
[[noreturn]] void throw_mismatch(const std::vector<int32_t>& words);

// A collective that was started. It keeps its tensors alive.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool is_done() = 0;
  // Blocks until the collective has ended. Throws ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST,
  // ACC_COLLECTIVE_FAILED, ACC_COLLECTIVE_MISMATCH.
  virtual void wait() = 0;
  // Whether the collective may still run after wait(): later work of the device then waits for it, and
  // the host does not.
  virtual bool outlasts_wait() const { return false; }
  // Throws the error of a collective that is done.
  virtual void require_success() {}
};

// A group of processes that make the same collectives in the same order.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::shared_ptr<Pending> start(CollectiveCall call) = 0;
  // Starts the call and waits for it.
  virtual void run(CollectiveCall call) { start(std::move(call))->wait(); }
  // Closes the group. Calls that are running may fail. Later calls do fail.
  virtual void close() {}

  // Whether calls may still run after their wait(); see Pending.
  virtual bool outlasts_waits() const { return false; }

  // The following members are called by a Watch, from its own thread.

  // True if the engine itself detects ranks that are dead or late, or that make different calls.
  virtual bool judges_itself() const { return false; }
  // True if the call cannot end on this rank before every rank that takes part in it has begun it.
  virtual bool meets_all(const CollectiveCall& call) const { return needs_all(call); }
  // False if only some ranks may detect that calls differ.
  virtual bool refuses_everywhere() const { return true; }
  // A rank to which the connection is, or may be, lost.
  struct Loss {
    enum class Kind {
      kClosed,    // the connection was closed
      kSilent,    // the rank's host does not answer
      kDoubtful,  // the rank's host has not answered for a while
    };
    int rank;
    Kind kind;
  };
  virtual std::vector<Loss> losses() { return {}; }
  // A counter that grows while bytes are transferred.
  virtual uint64_t traffic() { return 0; }
  // Fails all running calls and all later ones.
  virtual void cut() {}
};

}  // namespace acc
