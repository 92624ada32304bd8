#pragma once

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace acc {

struct StoreOptions {
  std::string host;
  uint16_t port = 0;
  bool is_server = false;
  int world_size = 1;
  std::chrono::milliseconds timeout{0};
};

// Connects to the job's key-value store; with `is_server` it is started first. A store on a loopback address listens
// there only (c10d alone would listen on every interface). Throws ACC_PORT_TAKEN, ACC_RENDEZVOUS_FAILED.
c10::intrusive_ptr<c10d::Store> connect_store(const StoreOptions& options);

}  // namespace acc
