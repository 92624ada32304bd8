import { engine, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  AccError,
  type ActionOptions,
  type RecordedAction,
  type Recorded,
  type Recorder,
} from '@acc/contract';
import {
  abortRecording,
  cutRecording,
  finishRecording,
  placeRecordedCalls,
  refuseRecording,
  resumeRecording,
  startRecording,
  type Tensor as NativeTensor,
} from '@acc/native';
import type { AccBackend } from '../backend.js';
import { countFlops } from '../flops/flop-counter.js';
import { NO_FLOPS, type Flops } from '../flops/operator-flops.js';
import { withoutWaiting } from '../pending/all-pending.js';
import { computeWaiting } from '../pending/compute-waiting.js';
import { beginRecordedValues, endRecordedValues, recordValues } from '../pending/recorded-value.js';
import { forgetConstants, forgetShapes, rememberConstants } from '../tensor-data.js';
import { DataUsers } from './data-users.js';
import { placeGradients } from './gradient-places.js';
import { formOf, localTensorOf, isDeferred } from './recorded-form.js';
import type { Given, RecordedSegment, SegmentAction, Source } from './recorded-segment.js';
import { here, SourcePlaces } from './source-places.js';
import { watchVariables, type VariableChanges } from './watch-variables.js';
import { isNumeric, StepRecording } from './step-recording.js';

/**
 * Records steps for the backend `acc`. The addon records native calls. This class identifies the
 * tensors that come from outside: arguments, variables, results of actions, and tensors that the
 * step captured.
 */
export class StepRecorder implements Recorder {
  #session: Session | undefined;
  #isPaused = false;

  constructor(private readonly backend: AccBackend) {}

  get isRecording(): boolean {
    return this.#session !== undefined;
  }

  get records(): boolean {
    return this.isRecording && !this.#isPaused;
  }

  record(args: readonly Tensor[], step: () => readonly Tensor[], isExplained = true): Recorded {
    if (this.#session)
      throw new AccError('ACC_ALREADY_RECORDING', 'Another step is already being recorded.', {
        help: 'Call a compiled step outside of other compiled steps.',
      });
    computeWaiting();
    const session = (this.#session = new Session(this.backend, args, isExplained));
    let isFinished = false;
    try {
      session.begin();
      const results = step();
      const recording = session.finish(results);
      isFinished = true;
      return { results, recording, mayPass: session.mayPass };
    } finally {
      this.#session = undefined;
      endRecordedValues();
      session.end();
      if (!isFinished) abortRecording();
      forgetShapes();
      forgetConstants();
    }
  }

  runAction(
    inputs: readonly Tensor[],
    action: RecordedAction,
    options: ActionOptions = {},
  ): readonly (Tensor | null)[] {
    if (!this.#session || this.#isPaused) return action(inputs);
    this.#session.pause(inputs, { ...options, run: action });
    this.#isPaused = true;
    let outputs;
    try {
      outputs = withoutWaiting(() => action(inputs));
    } finally {
      this.#isPaused = false;
    }
    this.#session.resume(outputs);
    return outputs;
  }

  refuse(reason: string): void {
    refuseRecording(reason);
  }

  readonly here = here;
}

/** One recording in progress. */
class Session {
  readonly #segments: RecordedSegment[] = [];
  /** The source of each handle that may come from outside in this segment. */
  #known = new Map<number, Source>();
  /** Why the step cannot be replayed, if this class has found a reason. */
  #refusal: string | undefined;
  /** The place at which the addon has found a reason. */
  #refusedAt = -1;
  /** See `Recorded.mayPass`. */
  mayPass = false;
  /** Handles of data that several variables share. */
  #shared = new Set<number>();
  /** The registered variables and their data at the start of the segment. */
  #variables = new Map<Variable, object>();
  /** The last action's results; null for a null result. */
  #given: (Given | null)[] = [];
  /** The deferred tensors that actions gave, by their data. */
  readonly #handed = new Map<object, { readonly number: number; readonly shape: readonly number[] }>();
  readonly #places = new SourcePlaces();
  #endOfGradients: (() => void) | undefined;
  readonly #users = new DataUsers();
  #endOfUsers: (() => void) | undefined;
  #isPaused = false;
  #variableChanges: VariableChanges | undefined;
  #endOfFlops: (() => Flops) | undefined;
  /** The scalars that the step made, in any segment, are its constants. Those of actions are not. */
  readonly #constants = forgetConstants();

  constructor(
    private readonly backend: AccBackend,
    private readonly args: readonly Tensor[],
    private readonly hasPlaces: boolean,
  ) {}

  /** Call {@link end} after it, also after an error. */
  begin(): void {
    forgetShapes();
    startRecording(() => (this.#refusedAt = this.#places.peek()));
    this.#beginSegment();
    this.#variableChanges = watchVariables(this.#places);
    this.#endOfUsers = this.#users.watch(() => !this.#isPaused);
    for (const arg of this.args) if (isNumeric(arg)) this.#requireOwnData(arg);
    if (this.hasPlaces) this.#endOfGradients = placeGradients(this.#places);
    this.#placeCalls();
    beginRecordedValues();
    recordValues(true);
    this.#noteRecording(true);
    this.#endOfFlops = countFlops(() => !this.#isPaused);
  }

  /** Ends a segment before `action`, which takes `inputs`. */
  pause(inputs: readonly Tensor[], action: Omit<SegmentAction, 'place'>): void {
    this.#endSegment(inputs, { ...action, place: this.hasPlaces ? this.#places.peek() : -1 });
    this.#isPaused = true;
    recordValues(false);
    placeRecordedCalls(undefined);
    forgetShapes();
    forgetConstants();
  }

  resume(outputs: readonly (Tensor | null)[]): void {
    forgetShapes();
    rememberConstants(this.#constants);
    const variables = this.#beginSegment();
    const given: NativeTensor[] = [];
    this.#given = outputs.map((output) => {
      if (!output) return null;
      const form = formOf(output, this.backend);
      if (isDeferred(output)) return { shape: output.shape, form, handed: this.#hand(output) };
      const native = this.#nativeOf(output);
      given.push(native);
      return { shape: native.shape, form };
    });
    resumeRecording(given, variables);
    this.#isPaused = false;
    recordValues(true);
    this.#placeCalls();
  }

  /** Numbers a deferred result of an action. */
  #hand({ dataId, shape }: Tensor): number {
    const number = this.#handed.get(dataId)?.number ?? this.#handed.size;
    this.#handed.set(dataId, { number, shape });
    return number;
  }

  #numberOf({ dataId, shape }: Tensor): number | undefined {
    const handed = this.#handed.get(dataId);
    if (handed && handed.shape.join() !== shape.join()) this.#refuse('it reshapes a sharded gradient');
    return handed?.number;
  }

  /** The tensors that the step refers to: neither arguments nor variables. */
  get #outside(): readonly Tensor[] {
    return [...this.#users.others].filter((tensor) => !this.args.includes(tensor));
  }

  /** Call it also after an error. */
  end(): void {
    this.#noteRecording(false);
    placeRecordedCalls(undefined);
    this.#endOfGradients?.();
    this.#endOfUsers?.();
    this.#variableChanges?.end();
    this.#flops();
  }

  /** Replays of lookups of the step note indices. */
  #noteRecording(isRecording: boolean): void {
    const { indexChecks } = this.backend;
    if (indexChecks) indexChecks.isRecording = isRecording;
  }

  /** Ends counting. Zero in later calls. */
  #flops(): Flops {
    const flops = this.#endOfFlops?.() ?? NO_FLOPS;
    this.#endOfFlops = undefined;
    return flops;
  }

  #placeCalls(): void {
    if (this.hasPlaces) placeRecordedCalls(this.#places.find);
  }

  finish(results: readonly Tensor[]): StepRecording | string {
    this.#endSegment(results);
    const recording = finishRecording();
    if (typeof recording === 'string') {
      this.mayPass = false;
      return this.#places.reasonAt(recording, this.#refusedAt);
    }
    if (this.#refusal !== undefined) {
      recording.dispose();
      return this.#refusal;
    }
    return new StepRecording(
      this.backend,
      recording,
      { segments: this.#segments, outside: this.#outside, flops: this.#flops() },
      this.#places,
    );
  }

  /**
   * Records the current data of the variables; returns their native tensors. A deferred variable that
   * is not in memory has none.
   */
  #beginSegment() {
    this.#known = new Map();
    this.#variables = new Map();
    this.#shared = new Set();
    this.#users.forget();
    const natives = [];
    for (const variable of Object.values(engine().registeredVariables)) {
      const held = localTensorOf(variable, this.backend);
      this.#variables.set(variable, held?.dataId ?? variable.dataId);
      const native = held && isNumeric(variable) ? this.backend.heldNative(held) : undefined;
      if (!native) continue;
      natives.push(native);
      const isShared = this.#known.has(native.id);
      if (isShared) this.#shared.add(native.id);
      const { trainable: isTrainable } = variable;
      this.#known.set(native.id, {
        kind: 'variable',
        variable,
        isTrainable,
        ...this.#dataOf(variable, native),
      });
    }
    this.args.forEach((arg, index) => {
      // A disposed argument cannot be used any more. A handle that belongs to a variable stays with
      // the variable.
      if (arg.isDisposed || !isNumeric(arg)) return;
      const native = this.#nativeOf(arg);
      if (this.#known.has(native.id)) return;
      this.#known.set(native.id, { kind: 'argument', index, ...this.#dataOf(arg, native) });
    });
    return natives;
  }

  #dataOf(x: Tensor, { shape, dtype }: NativeTensor) {
    return { shape, dtype, form: formOf(x, this.backend) };
  }

  /**
   * Refuses an argument that shares its data with a variable, because a replay cannot distinguish
   * the two.
   */
  #requireOwnData(arg: Tensor): void {
    const source = this.#known.get(this.#nativeOf(arg).id);
    if (source?.kind === 'variable' && source.variable !== arg) {
      this.#refuse('it takes an argument that shares its data with a variable');
    }
  }

  /** The native tensor of the data of `x`, or of this process's shard of it. */
  #nativeOf(x: Tensor): NativeTensor {
    return this.backend.nativeOfData(localTensorOf(x, this.backend) ?? x)!;
  }

  #endSegment(outputs: readonly Tensor[], action?: SegmentAction): void {
    const assigned = this.#assigned();
    const handed = outputs.map((output) => this.#numberOf(output));
    const taken = outputs.filter((_, i) => handed[i] === undefined);
    const tensors = [...taken, ...assigned].filter((tensor) => {
      if (!isNumeric(tensor)) this.#refuse('it returns or assigns strings');
      return isNumeric(tensor);
    });
    const natives = tensors.map((tensor) =>
      this.backend.native(localTensorOf(tensor, this.backend) ?? tensor),
    );
    const meta = natives.map(({ dtype, shape }) => ({ dtype, shape }));
    const sources = Array.from(cutRecording(natives), (id) => this.#sourceOf(id));
    this.#segments.push({
      given: this.#given,
      sources,
      handed,
      outputs: meta,
      forms: tensors.map((tensor) => formOf(tensor, this.backend)),
      assigned,
      action,
    });
  }

  #sourceOf(id: number): Source {
    const captured: Source = { kind: 'captured', id };
    const source = this.#known.get(id) ?? captured;
    if (source.kind !== 'variable') return source;
    const { variable } = source;
    const data = this.#variables.get(variable)!;
    const isOther = this.#users.hasOther(data);
    if (isOther && !this.#users.hasVariable(data)) return captured;
    if (isOther || this.#shared.has(id)) this.#refuseShared(variable);
    return source;
  }

  #refuse(reason: string): void {
    this.#refusal ??= reason;
  }

  /**
   * As after `target.assign(online)`, or where the step also takes a clone of a variable: the next
   * update of one of them ends it.
   */
  #refuseShared({ name }: Variable): void {
    this.mayPass = this.#refusal === undefined;
    this.#refuse(`it takes the variable '${name}', which shares its data with another`);
  }

  /** The variables that received new data in this segment. */
  #assigned(): Variable[] {
    const now = Object.values(engine().registeredVariables);
    if (now.length !== this.#variables.size || !now.every((variable) => this.#variables.has(variable))) {
      this.#refuse(
        this.#places.reasonAt('it makes or disposes variables', this.#variableChanges?.place ?? -1),
      );
    }
    return now.filter((variable) => {
      const before = this.#variables.get(variable);
      const held = localTensorOf(variable, this.backend) ?? variable;
      return before !== undefined && before !== held.dataId;
    });
  }
}
