// The calls of a recording as JSON. packages/kernels/src/fusion/graph.ts reads it.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "engine/recording/recording.h"

namespace acc {
namespace {

template <typename List, typename Write>
void write_list(std::ostream& out, const List& list, const Write& write) {
  out << '[';
  bool is_first = true;
  for (const auto& item : list) {
    if (!is_first) out << ',';
    is_first = false;
    write(item);
  }
  out << ']';
}

// JSON has no infinities and no NaN, so they are text.
void write_number(std::ostream& out, double value) {
  if (std::isfinite(value)) {
    out << value;
  } else {
    out << (std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  }
}

// Operator names and strings of arguments need no escapes other than these.
void write_text(std::ostream& out, const std::string& text) {
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out << '\\';
    out << c;
  }
  out << '"';
}

void write_argument(std::ostream& out, const c10::IValue& value) {
  if (value.isBool()) {
    out << (value.toBool() ? "true" : "false");
  } else if (value.isInt()) {
    out << value.toInt();
  } else if (value.isDouble()) {
    write_number(out, value.toDouble());
  } else if (value.isString()) {
    write_text(out, value.toStringRef());
  } else if (value.isIntList() || value.isBoolList() || value.isDoubleList()) {
    write_list(out, value.toListRef(), [&](const c10::IValue& item) { write_argument(out, item); });
  } else if (value.isDevice()) {
    write_text(out, value.toDevice().str());
  } else if (value.isNone()) {
    out << "null";
  } else {
    out << "{\"other\":";
    write_text(out, value.tagKind());
    out << '}';
  }
}

// Whether a result can share memory with an argument.
bool gives_view(const Operator& op) {
  const auto& returns = op.handle.schema().returns();
  return std::any_of(returns.begin(), returns.end(), [](const auto& result) { return result.alias_info() != nullptr; });
}

// Tensors are {"value": number}, lists of tensors {"values": numbers}.
void write_call(std::ostream& out, const RecordedCall& call) {
  const char* effect = call.writes ? "writes" : call.is_kept ? "draws" : "none";
  out << "{\"op\":";
  write_text(out, call.op->name);
  out << ",\"place\":" << call.place;
  out << ",\"isView\":" << (gives_view(*call.op) ? "true" : "false") << ",\"effect\":\"" << effect << "\",\"results\":";
  write_list(out, call.results, [&](int value) { out << value; });
  out << ",\"uses\":";
  write_list(out, call.uses, [&](const Use& use) { out << use.value; });
  out << ",\"args\":[";
  for (uint32_t i = 0; i < call.stack.size(); ++i) {
    if (i > 0) out << ',';
    const auto fill = std::find_if(call.fills.begin(), call.fills.end(), [i](const Fill& f) { return f.argument == i; });
    if (fill == call.fills.end()) {
      write_argument(out, call.stack[i]);
    } else if (fill->kind == Fill::kTensor) {
      out << "{\"value\":" << call.uses[fill->first].value << '}';
    } else {
      const auto* first = call.uses.data() + fill->first;
      out << "{\"values\":";
      write_list(out, at::ArrayRef<Use>(first, fill->count), [&](const Use& use) { out << use.value; });
      out << '}';
    }
  }
  out << "]}";
}

float number_of(const Upload& upload) {
  float number;
  std::memcpy(&number, upload.bytes.data(), sizeof(number));
  return number;
}

// An upload of one finite float32 that no call writes is a number.
bool is_number(const Upload& upload) {
  return upload.dtype == at::kFloat && upload.bytes.size() == sizeof(float) && !upload.is_written &&
         std::isfinite(number_of(upload));
}

void write_type(std::ostream& out, const ValueMeta& value) {
  out << "\"scalarType\":" << static_cast<int>(value.dtype) << ",\"shape\":";
  write_list(out, value.sizes, [&](int64_t size) { out << size; });
}

void write_segment(std::ostream& out, const Segment& segment) {
  out << "{\"first\":" << segment.first_call << ",\"end\":" << segment.end_call << ",\"inputs\":";
  write_list(out, segment.inputs, [&](int value) { out << value; });
  out << ",\"outputs\":";
  write_list(out, segment.outputs, [&](const Output& output) { out << output.use.value; });
  out << '}';
}

}  // namespace

std::string Recording::describe() const {
  std::ostringstream out;
  out.precision(17);
  out << "{\"values\":";
  write_list(out, list_.values, [&](const ValueMeta& value) {
    out << '{';
    write_type(out, value);
    out << ",\"isContiguous\":" << (value.is_contiguous ? "true" : "false") << '}';
  });
  out << ",\"calls\":";
  write_list(out, list_.calls, [&](const RecordedCall& call) { write_call(out, call); });
  out << ",\"segments\":";
  write_list(out, list_.segments, [&](const Segment& segment) { write_segment(out, segment); });
  std::vector<const Upload*> numbers;
  for (const auto& upload : list_.uploads) {
    if (is_number(upload)) numbers.push_back(&upload);
  }
  std::vector<int> uploads;
  for (const auto& upload : list_.uploads) {
    if (!upload.is_written) uploads.push_back(upload.value);
  }
  out << ",\"captured\":";
  write_list(out, fixed_, [&](const auto& input) { out << input.first; });
  out << ",\"uploads\":";
  write_list(out, uploads, [&](int value) { out << value; });
  out << ",\"numbers\":";
  write_list(out, numbers, [&](const Upload* upload) { out << '[' << upload->value << ',' << number_of(*upload) << ']'; });
  out << '}';
  return out.str();
}

// Calls without a result have no type.
std::string Recording::times() const {
  std::ostringstream out;
  size_t next = 0;
  write_list(out, list_.calls, [&](const RecordedCall& call) {
    out << "{\"number\":" << call.number << ",\"ms\":" << times_.mean_ms(next++) << ",\"place\":" << call.place;
    if (call.op != nullptr) {
      out << ",\"op\":";
      write_text(out, call.op->name);
    }
    const auto made = std::find_if(call.results.begin(), call.results.end(), [](int value) { return value >= 0; });
    if (made != call.results.end()) {
      out << ',';
      write_type(out, list_.values[static_cast<size_t>(*made)]);
    }
    out << '}';
  });
  return out.str();
}

}  // namespace acc
