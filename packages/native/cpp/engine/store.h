#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/sockets.h"

namespace acc {

struct StoreOptions {
  std::string host;
  uint16_t port = 0;
  bool is_server = false;
  int world_size = 1;
  std::chrono::milliseconds timeout{0};
};

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// The job's key-value store (c10d's TCPStore).
class JobStore {
 public:
  // Connects; with `is_server` the store is started first. It listens on exactly the address that `host` names (c10d alone
  // would listen on every interface). Throws ACC_PORT_TAKEN, ACC_RENDEZVOUS_FAILED.
  static std::shared_ptr<JobStore> connect(const StoreOptions& options);

  JobStore(StorePtr keys, Fd listener, const StoreOptions& options)
      : keys_(std::move(keys)), listener_(std::move(listener)), options_(options) {}

  const StorePtr& keys() const { return keys_; }

  // Another connection to the same store. Calls on it fail when the store does not answer within `timeout`, and then it
  // must not be used any more.
  StorePtr clone(std::chrono::milliseconds timeout) const;

  // Nobody can connect any more, which all ranks have done.
  void close_door();

 private:
  StorePtr keys_;
  Fd listener_;
  StoreOptions options_;
};

}  // namespace acc
