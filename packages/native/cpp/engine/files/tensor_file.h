#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/files/owned_files.h"

namespace acc {

// Contiguous CPU tensors and their places in a file. Places ascend and are multiples of
// TensorFile::kAlignment.
struct FileTransfer {
  std::vector<at::Tensor> tensors;
  std::vector<uint64_t> offsets;

  // Throws the error that ended the transfer.
  void wait();
  void finish(std::exception_ptr error);

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::exception_ptr error_;
};

// A file for the elements of tensors that leave memory for a while. One thread reads and another
// writes, each in order, through an aligned buffer, so that the page cache is not involved where
// the file system allows that. A read that depends on a write must start after the write's end.
class TensorFile {
 public:
  static constexpr size_t kAlignment = 4096;

  TensorFile(const std::string& folder, const std::string& name);
  // Ends the transfers under way. Those that have not begun fail.
  ~TensorFile();

  // The tensors must not change before the end of the transfer, which keeps them alive.
  std::shared_ptr<FileTransfer> start(bool is_write, std::vector<at::Tensor> tensors, std::vector<uint64_t> offsets);
  const std::string& path() const { return file_.path(); }

 private:
  struct Lane {
    bool is_write = false;
    std::deque<std::shared_ptr<FileTransfer>> waiting;
    std::thread thread;
  };
  struct Window;

  void serve(Lane& lane);
  void run(bool is_write, FileTransfer& transfer, char* buffer);
  void read(const Window& window, char* buffer);
  void write(const Window& window, char* buffer);
  void require_whole();
  [[noreturn]] void fail(const char* what, int reason);
  // Direct I/O that the file system refuses after it has accepted the flag.
  bool drop_direct();

  OwnedFile file_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_closing_ = false;
  // The end of what was written. Only the writing thread uses it.
  uint64_t written_ = 0;
  Lane reader_;
  Lane writer_;
};

}  // namespace acc
