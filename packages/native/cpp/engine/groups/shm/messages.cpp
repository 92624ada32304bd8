#include "engine/groups/shm/messages.h"

#include <algorithm>
#include <cstring>

#include "engine/error.h"

namespace acc::shm {

Messages::Messages(Ranks& ranks) : ranks_(ranks), lines_(2 * static_cast<size_t>(ranks.size())), sent_(static_cast<size_t>(ranks.size())) {}

std::shared_ptr<Messages::Message> Messages::send(int peer, const void* data, size_t bytes,
                                                  std::shared_ptr<void> owner) {
  return start({peer, true, const_cast<uint8_t*>(static_cast<const uint8_t*>(data)), bytes, std::move(owner)});
}

std::shared_ptr<Messages::Message> Messages::receive(int peer, void* data, size_t bytes,
                                                     std::shared_ptr<void> owner) {
  return start({peer, false, static_cast<uint8_t*>(data), bytes, std::move(owner)});
}

std::shared_ptr<Messages::Message> Messages::start(Message message) {
  auto shared = std::make_shared<Message>(std::move(message));
  {
    const std::lock_guard guard(mutex_);
    line_of(shared->peer, shared->is_sent).push_back(shared);
  }
  advance();
  return shared;
}

void Messages::advance() {
  const std::lock_guard guard(mutex_);
  advance_lines();
}

void Messages::advance_lines() {
  for (auto& line : lines_) {
    while (!line.empty() && advance_one(*line.front())) {
      line.front()->is_done = true;
      line.front()->owner.reset();
      line.pop_front();
    }
  }
}

// An empty message also takes a block, so the receiver learns of it.
bool Messages::advance_one(Message& message) {
  const auto& segment = ranks_.segment();
  const int own = ranks_.rank();
  auto& channel = message.is_sent ? segment.channel(own, message.peer) : segment.channel(message.peer, own);
  bool moved = false;
  bool is_done = false;
  while (!is_done) {
    const auto written = channel.written.load(std::memory_order_seq_cst);
    const auto taken = channel.taken.load(std::memory_order_seq_cst);
    if (written - taken == (message.is_sent ? kChannelBlocks : 0u)) break;
    const size_t part = std::min(Segment::kBlockBytes, message.bytes - message.done);
    if (message.is_sent) {
      const auto place = free_place(message.peer, taken);
      auto* block = segment.block(own, message.peer, place);
      writer_.timed(part, [&] { writer_.copy(block, message.data + message.done, part); });
      SharedWriter::finish();
      channel.places[written % kChannelBlocks].store(static_cast<uint8_t>(place), std::memory_order_relaxed);
      sent_[message.peer].filled |= uint64_t{1} << place;
      channel.written.store(written + 1, std::memory_order_seq_cst);
    } else {
      const auto place = channel.places[taken % kChannelBlocks].load(std::memory_order_relaxed);
      if (part > 0) std::memcpy(message.data + message.done, segment.block(message.peer, own, place), part);
      channel.taken.store(taken + 1, std::memory_order_seq_cst);
    }
    message.done += part;
    moved = true;
    is_done = message.done == message.bytes;
  }
  if (moved) ranks_.ring(message.peer);
  return is_done;
}

uint32_t Messages::free_place(int peer, uint32_t taken) {
  const auto& channel = ranks_.segment().channel(ranks_.rank(), peer);
  auto& sent = sent_[peer];
  for (; sent.cleared != taken; ++sent.cleared) {
    const auto place = channel.places[sent.cleared % kChannelBlocks].load(std::memory_order_relaxed);
    sent.filled &= ~(uint64_t{1} << place);
  }
  return static_cast<uint32_t>(__builtin_ctzll(~sent.filled));
}

bool Messages::is_done(const std::shared_ptr<Message>& message) {
  advance();
  const std::lock_guard guard(mutex_);
  if (!message->is_done && !message->error) look_after(*message);
  return message->is_done || message->error;
}

void Messages::look_after(Message& message) {
  const auto now = std::chrono::steady_clock::now();
  if (!message.asked) message.asked = message.looked = now;
  if (now - message.looked < Ranks::kLookAround) return;
  message.looked = now;
  try {
    const auto is_done = [&] {
      advance_lines();
      return message.is_done;
    };
    ranks_.check(is_done, {message.peer}, *message.asked);
  } catch (const Error&) {
    message.error = std::current_exception();
  }
}

void Messages::wait(const std::shared_ptr<Message>& message) {
  ranks_.wait_until([&] { return is_done(message); }, [&] { return std::vector<int>{message->peer}; });
  const std::lock_guard guard(mutex_);
  if (message->error) std::rethrow_exception(message->error);
}

}  // namespace acc::shm
