#include "engine/files/tensor_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

#include "engine/current_device.h"
#include "engine/error.h"
#include "engine/files/file_facts.h"

namespace acc {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

struct Free {
  void operator()(char* memory) const { free(memory); }
};

std::unique_ptr<char, Free> aligned_buffer() {
  void* memory = nullptr;
#if !defined(_WIN32)
  if (posix_memalign(&memory, TensorFile::kAlignment, kBufferBytes) != 0) memory = nullptr;
#endif
  if (memory == nullptr) throw Error(kOutOfMemory, "There is not enough memory for the buffer of a file.");
  return std::unique_ptr<char, Free>(static_cast<char*>(memory));
}

size_t aligned(size_t bytes) { return (bytes + TensorFile::kAlignment - 1) / TensorFile::kAlignment * TensorFile::kAlignment; }

}  // namespace

void FileTransfer::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return is_done_; });
  if (error_) std::rethrow_exception(error_);
}

void FileTransfer::finish(std::exception_ptr error) {
  // The memory is free when the waiting thread continues.
  tensors.clear();
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  is_done_ = true;
  done_.notify_all();
}

// A part of the file that one call transfers, and where its bytes are in memory.
struct TensorFile::Window {
  struct Piece {
    char* memory;
    size_t begin;
    size_t bytes;
  };
  uint64_t offset = 0;
  size_t bytes = 0;
  std::vector<Piece> pieces;
};

TensorFile::TensorFile(const std::string& folder, const std::string& name) : file_(folder, name) {
  writer_.is_write = true;
  for (Lane* lane : {&reader_, &writer_}) lane->thread = thread_on_device([this, lane] { serve(*lane); });
}

TensorFile::~TensorFile() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  wake_.notify_all();
  reader_.thread.join();
  writer_.thread.join();
}

std::shared_ptr<FileTransfer> TensorFile::start(bool is_write, std::vector<at::Tensor> tensors,
                                                std::vector<uint64_t> offsets) {
  auto transfer = std::make_shared<FileTransfer>();
  transfer->tensors = std::move(tensors);
  transfer->offsets = std::move(offsets);
  {
    const std::lock_guard lock(mutex_);
    (is_write ? writer_ : reader_).waiting.push_back(transfer);
  }
  wake_.notify_all();
  return transfer;
}

void TensorFile::serve(Lane& lane) {
  std::unique_ptr<char, Free> buffer;
  while (true) {
    std::shared_ptr<FileTransfer> transfer;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return is_closing_ || !lane.waiting.empty(); });
      if (lane.waiting.empty()) return;
      transfer = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      if (is_closing_) {
        transfer->finish(std::make_exception_ptr(
            Error(kStorageFailed, "The file " + path() + " was closed before its transfers ended.")));
        continue;
      }
    }
    std::exception_ptr error;
    try {
      if (!buffer) buffer = aligned_buffer();
      run(lane.is_write, *transfer, buffer.get());
    } catch (...) {
      error = std::current_exception();
    }
    transfer->finish(std::move(error));
  }
}

void TensorFile::run(bool is_write, FileTransfer& transfer, char* buffer) {
  size_t index = 0, position = 0;
  while (index < transfer.tensors.size()) {
    Window window;
    window.offset = transfer.offsets[index] + position;
    while (index < transfer.tensors.size() && window.bytes < kBufferBytes &&
           transfer.offsets[index] + position == window.offset + window.bytes) {
      const at::Tensor& tensor = transfer.tensors[index];
      const size_t bytes = std::min(kBufferBytes - window.bytes, tensor.nbytes() - position);
      auto* memory = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr())) + position;
      window.pieces.push_back({memory, window.bytes, bytes});
      window.bytes = aligned(window.bytes + bytes);
      position += bytes;
      if (position < tensor.nbytes()) continue;
      ++index;
      position = 0;
    }
    if (is_write) {
      write(window, buffer);
    } else {
      read(window, buffer);
    }
  }
}

#if !defined(_WIN32)

void TensorFile::read(const Window& window, char* buffer) {
  for (size_t done = 0; done < window.bytes;) {
    const auto count =
        pread(file_.descriptor(), buffer + done, window.bytes - done, static_cast<off_t>(window.offset + done));
    if (count < 0) {
      if (errno == EINTR || (errno == EINVAL && drop_direct())) continue;
      fail("read", errno);
    }
    if (count == 0) {
      throw Error(kOffloadDamaged, "The file " + path() + " is shorter than the data that was written to it.");
    }
    done += static_cast<size_t>(count);
  }
  for (const auto& piece : window.pieces) std::memcpy(piece.memory, buffer + piece.begin, piece.bytes);
}

void TensorFile::write(const Window& window, char* buffer) {
  require_whole();
  for (const auto& piece : window.pieces) {
    std::memcpy(buffer + piece.begin, piece.memory, piece.bytes);
    std::memset(buffer + piece.begin + piece.bytes, 0, aligned(piece.bytes) - piece.bytes);
  }
  for (size_t done = 0; done < window.bytes;) {
    const auto count =
        pwrite(file_.descriptor(), buffer + done, window.bytes - done, static_cast<off_t>(window.offset + done));
    if (count < 0) {
      if (errno == EINTR || (errno == EINVAL && drop_direct())) continue;
      fail("written", errno);
    }
    done += static_cast<size_t>(count);
  }
  written_ = std::max(written_, window.offset + window.bytes);
}

// A write beyond the end of a truncated file would fill the gap with zeros, and hide the loss.
void TensorFile::require_whole() {
  const auto facts = facts_of(file_.descriptor());
  if (!facts) fail("examined", errno);
  if (facts->bytes < written_) {
    throw Error(kOffloadDamaged, "The file " + path() + " is shorter than the data that was written to it.");
  }
}

bool TensorFile::drop_direct() {
#if defined(O_DIRECT)
  const int flags = fcntl(file_.descriptor(), F_GETFL);
  if ((flags & O_DIRECT) == 0) return false;
  return fcntl(file_.descriptor(), F_SETFL, flags & ~O_DIRECT) == 0;
#else
  return false;
#endif
}

#else

void TensorFile::read(const Window&, char*) {}
void TensorFile::write(const Window&, char*) {}
void TensorFile::require_whole() {}
bool TensorFile::drop_direct() { return false; }

#endif

void TensorFile::fail(const char* what, int reason) {
  const bool is_full = reason == ENOSPC || reason == EDQUOT;
  throw Error(is_full ? kStorageFull : kStorageFailed,
              "the file " + path() + " cannot be " + what + ": " + std::strerror(reason));
}

}  // namespace acc
