import type { Tensor } from '@tensorflow/tfjs-core';
import type { Recorder, Recording } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { flatten, withTensors, type Flattened } from './nested-values.js';
import { isVariable, StepEffects } from './step-effects.js';

/** A recorded run of a step. */
export interface RecordedStep<R> {
  readonly recording: Recording;
  /** The keys of the step's result. */
  readonly result: Pick<Flattened, 'key' | 'kind'>;
  /** The result of a replay that returned `results`. */
  resultOf(args: readonly Tensor[], results: readonly Tensor[]): R;
}

/**
 * Runs and records a step. Call it in a tidy. `recorded` may be the reason why it cannot be replayed.
 *
 * @param isExplained See `Recorder.record`.
 */
export function recordStep<R>(
  recorder: Recorder,
  args: readonly Tensor[],
  step: () => R,
  isExplained: boolean,
): { result: R; recorded: RecordedStep<R> | string; mayPass: boolean } {
  const effects = new StepEffects(recorder);
  let result!: R;
  let flattened!: Flattened;
  const traced = (): readonly Tensor[] => {
    result = effects.watch(() => engineInternals().tidy('compiled step', step));
    flattened = flatten(result);
    return flattened.tensors;
  };
  const { results, recording, mayPass } = recorder.record(args, traced, isExplained);
  if (typeof recording === 'string') return { result, recorded: recording, mayPass };
  const created = results.filter((tensor) => !args.includes(tensor) && !isVariable(tensor));
  const problem =
    flattened.foreign !== undefined
      ? `it returns a ${flattened.foreign}`
      : created.some((tensor) => !effects.hasMade(tensor))
        ? 'it returns a tensor from outside that is neither an argument nor a variable (return a clone of it)'
        : effects.problem([...args, ...results]);
  if (problem !== undefined) {
    recording.dispose();
    return { result, recorded: problem, mayPass };
  }
  const { key, kind } = flattened;
  const resultOf = resultBuilder(result, args, results);
  return { result, recorded: { recording, result: { key, kind }, resultOf }, mayPass };
}

/**
 * Builds the results of later replays. Arguments and variables that the step returned are returned
 * again as the same objects.
 */
function resultBuilder<R>(
  result: R,
  args: readonly Tensor[],
  results: readonly Tensor[],
): RecordedStep<R>['resultOf'] {
  const places = new Map(results.map((tensor, i) => [tensor, i]));
  const indices = new Map(args.map((arg, i) => [arg, i]));
  return (newArgs, newResults) =>
    withTensors(result, (tensor) => {
      if (isVariable(tensor)) return tensor;
      const index = indices.get(tensor);
      return index === undefined ? newResults[places.get(tensor)!]! : newArgs[index]!;
    });
}
