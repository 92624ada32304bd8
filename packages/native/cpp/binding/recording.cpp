#include "engine/recording/recording.h"

#include <algorithm>
#include <functional>

#include "binding/convert.h"
#include "engine/recording/recorder.h"

namespace acc {
namespace {

Recorder& recorder_of(Context& context) {
  if (!context.recorder) throw Error(kInvalidArgument, "A call needs a recording, but none is in progress.");
  return *context.recorder;
}

// Calls the function at `index` from native code that JavaScript has called. Empty if there is none.
std::function<void()> caller_of(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsFunction()) return {};
  const auto function = std::make_shared<Napi::FunctionReference>(Napi::Persistent(info[index].As<Napi::Function>()));
  return [function] {
    const Napi::HandleScope scope(function->Env());
    function->Call({});
  };
}

void stop(Context& context) {
  context.operators.recorder = nullptr;
  context.recorder.reset();
}

// finishRecording(): the number of the recording, or the reason why the step cannot be replayed
Napi::Value finish(const Napi::CallbackInfo& info, Context& context) {
  auto& recorder = recorder_of(context);
  const std::string refusal = recorder.refusal();
  auto recording = recorder.finish();
  stop(context);
  if (!refusal.empty()) return Napi::String::New(info.Env(), refusal);
  return Napi::Number::New(info.Env(), context.recordings.add(std::move(recording)));
}

Napi::Value cut(const Napi::CallbackInfo& info, Context& context) {
  auto& recorder = recorder_of(context);
  context.operators.recorder = nullptr;
  const auto outside = recorder.cut(numbers_at(info, 0), context.tensors);
  auto result = Napi::Float64Array::New(info.Env(), outside.size());
  std::copy(outside.begin(), outside.end(), result.Data());
  return result;
}

// recordingShadow(tensor): the handle of a tensor without memory that the recorder takes for `tensor`
Napi::Value shadow(const Napi::CallbackInfo& info, Context& context) {
  auto& recorder = recorder_of(context);
  const double id = number_at(info, 0);
  // Copies the reference, because add() may move the table's entries.
  const at::Tensor tensor = context.tensors.get(id);
  const double made = context.tensors.add(shadow_of(tensor));
  recorder.alias(made, id, tensor);
  return Napi::Number::New(info.Env(), made);
}

// Turns the recorder on or off. Returns whether it was on.
Napi::Value record_calls(const Napi::CallbackInfo& info, Context& context) {
  const bool was_on = context.operators.recorder != nullptr;
  context.operators.recorder = info[0].ToBoolean() ? context.recorder.get() : nullptr;
  return Napi::Boolean::New(info.Env(), was_on);
}

Recording& recording_at(const Napi::CallbackInfo& info, size_t index, Context& context) {
  return *context.recordings.get(number_at(info, index), "recording");
}

size_t sizes_at(const Napi::CallbackInfo& info, size_t index) { return static_cast<size_t>(number_at(info, index)); }

// joinRecordings(recording, other): the number of the sizes, then the pairs of numbers that differ;
// empty if the calls differ
Napi::Value join(const Napi::CallbackInfo& info, Context& context) {
  const auto joined = recording_at(info, 0, context)
                          .join(recording_at(info, 1, context), context.operators.default_device);
  auto result = Napi::Float64Array::New(info.Env(), joined ? 1 + joined->pairs.size() : 0);
  if (!joined) return result;
  result[0] = static_cast<double>(joined->sizes);
  std::copy(joined->pairs.begin(), joined->pairs.end(), result.Data() + 1);
  return result;
}

}  // namespace

void bind_recording(Napi::Env env, Napi::Object exports, Context& context) {
  const auto bind_action = [&](const char* name, auto action) {
    bind(env, exports, name, [action](const Napi::CallbackInfo& info) -> Napi::Value {
      action(info);
      return info.Env().Undefined();
    });
  };
  bind_action("startRecording", [&](const Napi::CallbackInfo& info) {
    context.recorder = std::make_shared<Recorder>(caller_of(info, 0));
    context.operators.recorder = context.recorder.get();
  });
  bind(env, exports, "cutRecording", [&](const Napi::CallbackInfo& info) { return cut(info, context); });
  bind_action("resumeRecording", [&](const Napi::CallbackInfo& info) {
    auto& recorder = recorder_of(context);
    recorder.resume(numbers_at(info, 0), numbers_at(info, 1), context.tensors);
    context.operators.recorder = &recorder;
  });
  bind(env, exports, "finishRecording", [&](const Napi::CallbackInfo& info) { return finish(info, context); });
  bind_action("abortRecording", [&](const Napi::CallbackInfo&) { stop(context); });
  bind(env, exports, "recordCalls", [&](const Napi::CallbackInfo& info) { return record_calls(info, context); });
  bind(env, exports, "recordingShadow", [&](const Napi::CallbackInfo& info) { return shadow(info, context); });
  // bindRecorded(tensor, shadow): from now on the recorder takes `tensor` for what `shadow` stands for
  bind_action("bindRecorded", [&](const Napi::CallbackInfo& info) {
    const double id = number_at(info, 1);
    recorder_of(context).alias(number_at(info, 0), id, context.tensors.get(id));
  });
  bind_action("placeRecordedCalls", [&](const Napi::CallbackInfo& info) {
    if (auto* recorder = context.operators.recorder) recorder->at_place(static_cast<int>(number_at(info, 0)));
  });
  bind_action("refuseRecording", [&](const Napi::CallbackInfo& info) {
    if (auto* recorder = context.operators.recorder) recorder->refuse(string_at(info, 0));
  });
  // recordingDifference(recording, other): [text, place]; the text is empty if both are equal
  bind(env, exports, "recordingDifference", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto found = recording_at(info, 0, context).difference(recording_at(info, 1, context));
    auto result = Napi::Array::New(info.Env(), 2);
    result[0u] = Napi::String::New(info.Env(), found.text);
    result[1u] = Napi::Number::New(info.Env(), found.place);
    return result;
  });
  bind(env, exports, "describeRecording", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), recording_at(info, 0, context).describe());
  });
  bind(env, exports, "recordingTimes", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), recording_at(info, 0, context).times());
  });
  // recordingSpans(recording): the begin and the end of each call in the last replay
  bind(env, exports, "recordingSpans", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto times = recording_at(info, 0, context).last_times();
    auto result = Napi::Float64Array::New(info.Env(), times.size());
    std::copy(times.begin(), times.end(), result.Data());
    return result;
  });
  // reasonAgainstPrograms(): why fused programs cannot run on the default device; empty if they can
  bind(env, exports, "reasonAgainstPrograms", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), fused::reason_against(context.operators.default_device));
  });
  // fixRecordedInputs(recording, [segment, input, handle] of each)
  bind_action("fixRecordedInputs", [&](const Napi::CallbackInfo& info) {
    const auto numbers = numbers_at(info, 1);
    std::vector<Recording::FixedInput> inputs;
    for (size_t i = 0; i + 2 < numbers.size(); i += 3) {
      inputs.push_back({static_cast<size_t>(numbers[i]), static_cast<size_t>(numbers[i + 1]), numbers[i + 2]});
    }
    recording_at(info, 0, context).fix_inputs(inputs, context.tensors);
  });
  bind_action("rewriteRecording", [&](const Napi::CallbackInfo& info) {
    recording_at(info, 0, context).rewrite(numbers_at(info, 1), context.operators,
                                              context.operators.default_device);
  });
  // recordedConstant(recording, value): the handle of a new tensor
  bind(env, exports, "recordedConstant", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto value = static_cast<int>(number_at(info, 1));
    auto constants = recording_at(info, 0, context).constants({value}, context.operators.default_device);
    return Napi::Number::New(info.Env(), context.tensors.add(std::move(constants[0])));
  });
  bind_action("sealRecording", [&](const Napi::CallbackInfo& info) {
    recording_at(info, 0, context).seal(context.operators.default_device);
  });
  bind(env, exports, "shapeOfRecordedCalls", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), recording_at(info, 0, context).shape_of_calls());
  });
  bind(env, exports, "joinRecordings", [&](const Napi::CallbackInfo& info) { return join(info, context); });
  bind_action("useRecordedSizes", [&](const Napi::CallbackInfo& info) {
    recording_at(info, 0, context).use_sizes(sizes_at(info, 1));
  });
  bind_action("releaseRecordedSizes", [&](const Napi::CallbackInfo& info) {
    recording_at(info, 0, context).release_sizes(sizes_at(info, 1));
  });
  bind_action("resetRecording", [&](const Napi::CallbackInfo& info) { recording_at(info, 0, context).reset(); });
  bind_action("releaseRecording", [&](const Napi::CallbackInfo& info) {
    context.recordings.remove(number_at(info, 0));
  });
  // recordingAllocations(recording): [bytes, end] of each large allocation of a traced replay
  bind(env, exports, "recordingAllocations", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto lifetimes = recording_at(info, 0, context).memory().trace();
    auto result = Napi::Float64Array::New(info.Env(), 2 * lifetimes.size());
    double* next = result.Data();
    for (const auto& [bytes, end] : lifetimes) {
      *next++ = static_cast<double>(bytes);
      *next++ = static_cast<double>(end);
    }
    return result;
  });
  bind_action("planRecordingMemory", [&](const Napi::CallbackInfo& info) {
    const auto places = numbers_at(info, 1);
    recording_at(info, 0, context).memory().plan({places.begin(), places.end()}, static_cast<size_t>(number_at(info, 2)));
  });
  bind(env, exports, "isRecordingMemoryPlanned", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Boolean::New(info.Env(), recording_at(info, 0, context).memory_of(sizes_at(info, 1)).is_planned());
  });
  // replaySegment(recording, segment), with handles in the call buffers
  bind_action("replaySegment", [&](const Napi::CallbackInfo& info) {
    recording_at(info, 0, context)
        .run(static_cast<size_t>(number_at(info, 1)), context.tensors, context.call_in, context.call_out,
             context.call_out_capacity);
  });
}

}  // namespace acc
