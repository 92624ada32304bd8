// One recording for arguments of several sizes. The calls are the same, and only numbers in them
// differ: sizes of shapes, counts, uploaded numbers.

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "engine/error.h"
#include "engine/recording/recording.h"
#include "engine/tensors/tensors.h"

namespace acc {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// A number that stands for bytes.
double hash_of(const std::string& bytes) {
  return static_cast<double>(std::hash<std::string>()(bytes) & ((uint64_t{1} << 53) - 1));
}

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

bool is_equal(const at::Tensor& x, const at::Tensor& y) {
  const c10::InferenceMode guard;
  return x.sizes() == y.sizes() && x.strides() == y.strides() && x.equal(y);
}

// Whether two tensors have the same elements at all places that both have.
bool is_equal_in_common(at::Tensor x, at::Tensor y) {
  const c10::InferenceMode guard;
  if (x.dim() != y.dim()) return false;
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    const auto size = std::min(x.size(dim), y.size(dim));
    x = x.narrow(dim, 0, size);
    y = y.narrow(dim, 0, size);
  }
  return x.numel() > 1 && bytes_of(x.contiguous()) == bytes_of(y.contiguous());
}

void add_numbers(const c10::IValue& value, std::vector<double>& numbers) {
  if (value.isInt()) {
    numbers.push_back(static_cast<double>(value.toInt()));
  } else if (value.isDouble()) {
    numbers.push_back(value.toDouble());
  } else if (value.isBool()) {
    numbers.push_back(value.toBool() ? 1 : 0);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) add_numbers(item, numbers);
  } else if (value.isString()) {
    numbers.push_back(hash_of(value.toStringRef()));
  } else if (value.isDevice()) {
    numbers.push_back(hash_of(value.toDevice().str()));
  }
}

// Collects the numbers that differ, as pairs. Where there is no counterpart, the first of a pair is
// NaN.
class Pairs {
 public:
  void add(double ours, double theirs) {
    numbers_.push_back(ours);
    numbers_.push_back(theirs);
  }

  // Adds the numbers of two arguments. Returns whether the arguments are the same.
  bool add(const c10::IValue& ours, const c10::IValue& theirs) {
    std::vector<double> a, b;
    add_numbers(ours, a);
    add_numbers(theirs, b);
    return add(a, b) && ours.tagKind() == theirs.tagKind();
  }

  template <typename Numbers>
  bool add(const Numbers& ours, const Numbers& theirs) {
    bool is_same = ours.size() == theirs.size();
    const bool has_counterparts = is_same;
    for (size_t i = 0; i < theirs.size(); ++i) {
      const auto b = static_cast<double>(theirs[i]);
      const auto a = has_counterparts ? static_cast<double>(ours[i]) : kNoNumber;
      // Compares bits, so that NaN equals NaN and 0 differs from -0.
      if (has_counterparts && std::memcmp(&a, &b, sizeof(double)) == 0) continue;
      is_same = false;
      add(a, b);
    }
    return is_same;
  }

  // Adds the elements of an upload: a number by its value, more by a hash, which no size explains.
  // Nothing is added where one is a part of the other, as of positions or of a mask.
  bool add_elements(const at::Tensor& ours, const at::Tensor& theirs) {
    const auto x = tensor_for_reading(ours, ours.scalar_type());
    const auto y = tensor_for_reading(theirs, theirs.scalar_type());
    const auto bytes = bytes_of(y);
    if (bytes_of(x) == bytes) return true;
    if (x.numel() == 1 && y.numel() == 1 && !y.is_complex()) {
      add(x.item().toDouble(), y.item().toDouble());
    } else if (x.sizes() == y.sizes() || !is_equal_in_common(x, y)) {
      add(kNoNumber, hash_of(bytes));
    }
    return false;
  }

  std::vector<double> take() { return std::move(numbers_); }

 private:
  std::vector<double> numbers_;
};

bool is_same_fill(const Fill& a, const Fill& b) {
  return a.kind == b.kind && a.argument == b.argument && a.first == b.first && a.count == b.count;
}

bool uses_same_values(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Use x, Use y) { return x.value == y.value; });
}

// Whether two calls do the same, apart from numbers.
bool is_alike(const RecordedCall& a, const RecordedCall& b) {
  return a.op == b.op && (a.program == nullptr) == (b.program == nullptr) && uses_same_values(a.uses, b.uses) &&
         a.results == b.results && a.stack.size() == b.stack.size() &&
         std::equal(a.fills.begin(), a.fills.end(), b.fills.begin(), b.fills.end(), is_same_fill);
}

bool is_alike(const Segment& a, const Segment& b) {
  const auto is_same_output = [](const Output& x, const Output& y) {
    return x.use.value == y.use.value && x.dtype == y.dtype;
  };
  return a.first_call == b.first_call && a.end_call == b.end_call && a.inputs == b.inputs &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), is_same_output);
}

bool is_alike(const Upload& a, const Upload& b) {
  return a.value == b.value && a.segment == b.segment && a.dtype == b.dtype && a.is_written == b.is_written &&
         a.is_computed == b.is_computed;
}

template <typename Item>
bool are_alike(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) { return is_alike(x, y); });
}

bool is_same_program(const fused::Program& a, const fused::Program& b) {
  const auto is_same_constant = [](const fused::Constant& x, const fused::Constant& y) {
    return x.reg == y.reg && std::memcmp(&x.number, &y.number, sizeof(float)) == 0;
  };
  const auto is_same_step = [](const fused::Step& x, const fused::Step& y) {
    return x.loop == y.loop && x.row_loop == y.row_loop && x.out == y.out && x.a == y.a && x.b == y.b && x.c == y.c &&
           x.extent == y.extent;
  };
  const auto is_same_result = [](const fused::Result& x, const fused::Result& y) {
    return x.reg == y.reg && x.extent == y.extent && x.dtype == y.dtype && x.shape == y.shape;
  };
  return a.count == b.count && a.row == b.row && a.register_count == b.register_count && a.inputs == b.inputs &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(), is_same_constant) &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), is_same_step) &&
         std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), is_same_result);
}

// The constants of programs are numbers that were uploaded. Their sizes follow from those of calls.
void add_constants(const fused::Program& ours, const fused::Program& theirs, Pairs& pairs) {
  const auto numbers = [](const fused::Program& program) {
    std::vector<float> list;
    for (const auto& constant : program.constants) list.push_back(constant.number);
    return list;
  };
  pairs.add(numbers(ours), numbers(theirs));
}

}  // namespace

Recording::Recording(CallList list) : list_(std::move(list)) {
  std::string shape;
  const auto add = [&shape](const auto& number) {
    shape.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (const auto& call : list_.calls) {
    add(call.op);
    for (const auto& use : call.uses) add(use.value);
    for (const int result : call.results) add(result);
  }
  for (const auto& segment : list_.segments) {
    add(segment.end_call);
    for (const auto& output : segment.outputs) add(output.use.value);
  }
  shape_of_calls_ = hash_of(shape);
}

std::optional<Recording::Joined> Recording::join(Recording& other, c10::Device device) {
  use_sizes(0);
  other.drop_unneeded();
  auto& [calls, segments, uploads, values, constant_calls] = list_;
  auto& theirs = other.list_;
  if (values.size() != theirs.values.size() || !are_alike(calls, theirs.calls) ||
      !are_alike(constant_calls, theirs.constant_calls) ||
      !are_alike(segments, theirs.segments) || !are_alike(uploads, theirs.uploads)) {
    return std::nullopt;
  }
  Pairs pairs;
  auto sizes = std::make_unique<SizeSet>();
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& [a, b] = std::tie(calls[i], theirs.calls[i]);
    for (size_t k = 0; k < a.stack.size(); ++k) {
      if (!pairs.add(a.stack[k], b.stack[k])) sizes->arguments.push_back({i, k, b.stack[k]});
    }
    if (!a.program || is_same_program(*a.program, *b.program)) continue;
    add_constants(*a.program, *b.program, pairs);
    sizes->programs.push_back({i, b.program});
  }
  for (size_t i = 0; i < constant_calls.size(); ++i) {
    const auto& [a, b] = std::tie(constant_calls[i], theirs.constant_calls[i]);
    for (size_t k = 0; k < a.stack.size(); ++k) pairs.add(a.stack[k], b.stack[k]);
  }
  for (size_t i = 0; i < uploads.size(); ++i) {
    const auto& [a, b] = std::tie(uploads[i], theirs.uploads[i]);
    if (!is_used_[static_cast<size_t>(a.value)]) continue;
    if (a.is_computed) {
      // What it was computed from is compared instead.
      if (!is_equal(a.tensor, b.tensor)) sizes->uploads.push_back({i, b.sizes, b.tensor});
      continue;
    }
    const bool has_same_sizes = pairs.add(a.sizes, b.sizes);
    auto tensor = tensor_from_bytes(b.bytes.data(), b.bytes.size(), b.dtype, b.sizes, device);
    if (!pairs.add_elements(a.tensor, tensor) || !has_same_sizes) sizes->uploads.push_back({i, b.sizes, std::move(tensor)});
  }
  for (size_t s = 0; s < segments.size(); ++s) {
    for (size_t i = 0; i < segments[s].outputs.size(); ++i) {
      const auto& [a, b] = std::tie(segments[s].outputs[i], theirs.segments[s].outputs[i]);
      if (!pairs.add(a.sizes, b.sizes)) sizes->outputs.push_back({s, i, b.sizes});
    }
  }
  sizes_[++last_sizes_] = std::move(sizes);
  return Joined{last_sizes_, pairs.take()};
}

void Recording::use_sizes(size_t sizes) {
  if (sizes == current_sizes_) return;
  if (current_sizes_ != 0) swap_with(*sizes_.at(current_sizes_));
  current_sizes_ = 0;
  if (sizes != 0) swap_with(*sizes_.at(sizes));
  current_sizes_ = sizes;
}

void Recording::release_sizes(size_t sizes) {
  if (sizes == current_sizes_) use_sizes(0);
  sizes_.erase(sizes);
}

void Recording::swap_with(SizeSet& sizes) {
  for (auto& [call, argument, value] : sizes.arguments) std::swap(list_.calls[call].stack[argument], value);
  for (auto& [call, program] : sizes.programs) std::swap(list_.calls[call].program, program);
  for (auto& [index, shape, tensor] : sizes.uploads) {
    auto& upload = list_.uploads[index];
    std::swap(upload.sizes, shape);
    std::swap(upload.tensor, tensor);
    const auto value = static_cast<size_t>(upload.value);
    if (is_constant_[value]) slots_[value] = upload.tensor;
  }
  for (auto& [segment, output, shape] : sizes.outputs) std::swap(list_.segments[segment].outputs[output].sizes, shape);
}

}  // namespace acc
