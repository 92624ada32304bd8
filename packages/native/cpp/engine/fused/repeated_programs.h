#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/fused/machine_code/code.h"

namespace acc::fused {

// The machine code of programs that steps run without a recording. They come as numbers each time. A
// program that has run a few times is expected to run again. Programs whose constants change from step
// to step are not compiled, and make way for others.
class RepeatedPrograms {
 public:
  // The code of a program, given as its bytes. Null in its first runs.
  std::shared_ptr<machine_code::CodeCache> find(std::string_view program);

 private:
  struct Entry {
    std::string program;
    int64_t runs = 0;
    std::shared_ptr<machine_code::CodeCache> code;
  };
  using Entries = std::list<Entry>;

  Entries::iterator entry_of(std::string_view program);

  std::mutex mutex_;
  // The last one that ran comes first.
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> places_;
};

}  // namespace acc::fused
