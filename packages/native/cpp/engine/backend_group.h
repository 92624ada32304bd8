#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/process_group.h"

namespace acc {

// ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST or ACC_COLLECTIVE_FAILED: c10d and what is below it tell them apart in their texts only.
const char* code_of_failure(const std::string& text);

// A group on one of c10d's backends. What these lack is composed from what they have.
class BackendGroup : public ProcessGroup {
 public:
  std::shared_ptr<Pending> start(CollectiveCall call) override;

 protected:
  // `patience` is how long a wait may take.
  BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, const GroupOptions& options, std::chrono::milliseconds patience)
      : backend_(std::move(backend)), options_(options), patience_(patience) {}

  // Called before each collective.
  virtual void prepare(const CollectiveCall&) {}

 private:
  using Finish = std::function<void()>;
  using Work = c10::intrusive_ptr<c10d::Work>;

  std::shared_ptr<Pending> dispatch(CollectiveCall& call);
  std::shared_ptr<Pending> pending(Work work, Finish finish = {}) const;
  std::shared_ptr<Pending> reduced(Work work, const CollectiveCall& call, const at::Tensor& result) const;
  std::shared_ptr<Pending> broadcast(CollectiveCall& call);
  std::shared_ptr<Pending> all_reduce(CollectiveCall& call);
  std::shared_ptr<Pending> all_reduce_many(CollectiveCall& call);
  std::shared_ptr<Pending> reduce(CollectiveCall& call);
  std::shared_ptr<Pending> reduce_scatter(CollectiveCall& call);
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
