#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace acc {

struct GroupOptions {
  std::string name;
  int rank = 0;
  int size = 1;
  // The address, or with `by_interface` the network interface, that peers reach this rank by.
  std::string address;
  bool by_interface = false;
  std::chrono::milliseconds timeout{0};
};

// The numbers are shared with src/distributed.ts.
enum class CollectiveKind : int { kBroadcast = 0, kAllReduce = 1, kAllGather = 2, kReduceScatter = 3 };

struct CollectiveCall {
  CollectiveKind kind;
  at::Tensor input;   // in place for broadcast and allReduce
  at::Tensor output;  // allGather and reduceScatter
  int reduce_op = 0;  // c10d::ReduceOp::RedOpType
  int root = 0;
};

// A Gloo process group over `store`. Blocks until every rank has come. Throws ACC_RENDEZVOUS_FAILED.
c10::intrusive_ptr<c10d::Backend> create_gloo_group(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const GroupOptions& options);

c10::intrusive_ptr<c10d::Work> start_collective(c10d::Backend& group, CollectiveCall& call);

// Blocks until `work` has ended. Throws ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST, ACC_COLLECTIVE_FAILED.
void wait_for(c10d::Work& work, std::chrono::milliseconds timeout);

}  // namespace acc
