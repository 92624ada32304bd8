#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/groups/process_group.h"

namespace acc {

// Returns ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST or ACC_COLLECTIVE_FAILED. c10d and its transports
// distinguish these failures only in the error text.
const char* code_of_failure(const std::string& text);

// A backend without a mean sums, and the sum is divided later. Backends treat booleans as numbers: for
// booleans, sum and max are "any", product and min are "all".
c10d::ReduceOp reduce_op(ReduceOp op, bool is_bool, bool has_mean = false);

// A group on one of c10d's backends. Collectives that a backend lacks are composed of those that it
// has.
class BackendGroup : public ProcessGroup {
 public:
  std::shared_ptr<Pending> start(CollectiveCall call) override;

 protected:
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Finish = std::function<void()>;

  // `patience` is the time-out of a wait.
  BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, const GroupOptions& options, std::chrono::milliseconds patience)
      : backend_(std::move(backend)), options_(options), patience_(patience) {}

  // Called before each collective, but not before send and receive.
  virtual void prepare(const CollectiveCall&) {}
  // The pending result of a work that was started. Its wait() may throw c10d's errors.
  virtual std::shared_ptr<Pending> pending_of(Work work) const;
  // As pending_of(), and calls `finish` when the work has ended. Without a work, nothing has to be
  // transferred.
  std::shared_ptr<Pending> pending(Work work, Finish finish = {}) const;
  virtual std::shared_ptr<Pending> reduce_scatter(CollectiveCall& call);
  // Whether the backend computes means. Its sums of 16 bits then never exceed their range.
  virtual bool has_mean() const { return false; }

 private:
  bool divides(const CollectiveCall& call) const { return call.op == ReduceOp::kMean && !has_mean(); }
  c10d::ReduceOp op_of(const CollectiveCall& call, const at::Tensor& tensor) const;
  std::shared_ptr<Pending> dispatch(CollectiveCall& call);
  std::shared_ptr<Pending> reduced(Work work, const CollectiveCall& call, const at::Tensor& result) const;
  std::shared_ptr<Pending> broadcast(CollectiveCall& call);
  std::shared_ptr<Pending> all_reduce(CollectiveCall& call);
  std::shared_ptr<Pending> all_reduce_many(CollectiveCall& call);
  std::shared_ptr<Pending> reduce(CollectiveCall& call);
  std::shared_ptr<Pending> all_gather(CollectiveCall& call);
  std::shared_ptr<Pending> all_gather_uneven(CollectiveCall& call);
  std::shared_ptr<Pending> all_to_all(CollectiveCall& call);
  std::shared_ptr<Pending> message(CollectiveCall& call);

  c10::intrusive_ptr<c10d::Backend> backend_;

 protected:
  const GroupOptions options_;

 private:
  const std::chrono::milliseconds patience_;
};

}  // namespace acc
