import { util, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type Fusion, type Recording } from '@acc/contract';
import { areAlive, reasonAgainstPrograms, type Recording as NativeRecording } from '@acc/native';
import type { AccBackend } from '../backend.js';
import type { Flops } from '../flops/operator-flops.js';
import type { ReadConstant } from '../fusion/constants.js';
import { placeOfInput } from '../fusion/graph.js';
import { optimize } from '../fusion/optimize.js';
import { isLive } from '../live-variables.js';
import { planArena, type ArenaPlan } from '../memory-plan/arena-plan.js';
import { computePending } from '../pending/all-pending.js';
import { reportReplay } from './observe-replays.js';
import { areShardedAlike, formOf, localTensorOf, tensorIn, type RecordedForm } from './recorded-form.js';
import {
  countGivenInputs,
  differenceOfSources,
  fixedInputsOf,
  type Given,
  type RecordedSegment,
  type Source,
  type SourceDifference,
} from './recorded-segment.js';
import { ReplayedActions } from './replayed-actions.js';
import { SealedCalls, type FusedCalls } from './sealed-calls.js';
import type { SourcePlaces } from './source-places.js';
import { StepExplanation } from './step-explanation.js';

interface RecordedTensors {
  readonly segments: readonly RecordedSegment[];
  /** The tensors from outside that are neither arguments nor variables. */
  readonly outside: readonly Tensor[];
  readonly flops: Flops;
}

/** A recorded step of the backend `acc`. */
export class StepRecording implements Recording {
  readonly #captured: readonly number[];
  /**
   * The tensors that the step referred to. Data that others share remains after a tensor is disposed,
   * so handles alone do not tell.
   */
  readonly #outside: readonly WeakRef<Tensor>[];
  private readonly segments: readonly RecordedSegment[];
  /** Of a replay, without those of actions. */
  readonly flops: Flops;
  #native: NativeRecording;
  /** The calls that it replays. Undefined before it is sealed. */
  #sealed: SealedCalls | undefined;
  /** The number of the sizes that belong to this recording. */
  #sizes = 0;
  /** A report on the fused calls. Set once the calls are rewritten, and can no longer be compared. */
  #fused: FusedCalls | undefined;
  #arena: ArenaPlan | undefined;

  constructor(
    private readonly backend: AccBackend,
    native: NativeRecording,
    { segments, outside, flops }: RecordedTensors,
    private readonly places: SourcePlaces,
  ) {
    this.#native = native;
    this.segments = segments;
    this.flops = flops;
    this.#outside = outside.map((tensor) => new WeakRef(tensor));
    this.#captured = segments.flatMap(({ sources }) =>
      sources.flatMap((source) => (source.kind === 'captured' ? [source.id] : [])),
    );
  }

  differenceFrom(other: StepRecording): string | undefined {
    if (this.#fused) return 'its calls resemble those for arguments of other sizes';
    const difference = this.#native.differenceFrom(other.#native);
    if (difference) return other.places.reasonAt(difference.text, difference.place);
    const found = differenceOfSources(this.segments, other.segments);
    return found && other.places.reasonAt(found.text, found.place ?? other.#placeOfUse(found.input));
  }

  /** The place of the first call that takes an input of a segment; -1 if there is none. */
  #placeOfUse(input: SourceDifference['input']): number {
    if (!input) return -1;
    const given = countGivenInputs(this.segments[input.segment]!);
    return placeOfInput(this.#native.describe(), input.segment, given + input.index);
  }

  get explanation(): string {
    if (!this.#sealed) return 'It is not replayed yet.';
    const memory =
      this.#arena && this.#native.isMemoryPlanned(this.#sizes) ? describeMemory(this.#arena) : [];
    return this.#sealed.explanation.textOf(() => this.#native.times(), this.backend.device, memory);
  }

  seal(fusion: Fusion): void {
    const fused = this.#optimize(fusion);
    this.#native.seal();
    const explanation = new StepExplanation(this.places);
    explanation.sealed(fused.lines, fused.calls);
    this.#sealed = new SealedCalls(this.#native, explanation, fused.elements);
  }

  resembles(other: StepRecording): boolean {
    return this.#native.shapeOfCalls === other.#native.shapeOfCalls;
  }

  shareCallsOf(other: StepRecording, fusion: Fusion): Float64Array | undefined {
    const sealed = other.#sealed!;
    if (this.#native.shapeOfCalls !== sealed.native.shapeOfCalls) return undefined;
    if (differenceOfSources(other.segments, this.segments) !== undefined) return undefined;
    this.#optimize(fusion, sealed.elements);
    const joined = sealed.join(this.#native);
    if (!joined) return undefined;
    this.#native.dispose();
    this.#native = sealed.native;
    this.#sealed = sealed;
    this.#sizes = joined.sizes;
    return joined.pairs;
  }

  fits(args: readonly Tensor[]): boolean {
    if (!areAlive(this.#captured) || this.#outside.some((tensor) => tensor.deref()?.isDisposed)) return false;
    return this.segments.every(({ sources }) => this.#areFitting(sources, args));
  }

  replay(args: readonly Tensor[]): readonly Tensor[] | Error {
    computePending();
    const actions = new ReplayedActions();
    let isDone = false;
    const start = performance.now();
    try {
      this.#native.useSizes(this.#sizes);
      for (const [index, segment] of this.segments.entries()) {
        const outputs = this.#runSegment(index, segment, args, actions);
        if (outputs instanceof Error) return outputs;
        if (!segment.action) {
          isDone = true;
          this.#ended([start, performance.now()], actions.timesMs);
          return outputs;
        }
        actions.run(segment.action, outputs);
      }
      throw new AccError('ACC_OPERATOR_FAILED', 'A recorded step ended with an action instead of results.', {
        help: 'Run the step without compile, and report it.',
      });
    } finally {
      if (!isDone) {
        this.#native.reset();
        actions.undo();
      }
    }
  }

  #ended([start, end]: readonly [number, number], actionsMs: ReadonlyMap<string, number>): void {
    const ms = end - start;
    this.#sealed?.explanation.times.add(ms, actionsMs);
    this.#planMemory();
    const native = this.#native;
    const [calls, spans] = [() => native.times(), () => native.spans()];
    reportReplay({ start, ms, recording: this, flops: this.flops, calls, spans });
  }

  dispose(): void {
    if (this.#sealed) this.#sealed.release(this.#sizes);
    else this.#native.dispose();
  }

  /** Rewrites the calls, if they are not. `elements` are those of the recording to be like. */
  #optimize(fusion: Fusion, elements?: readonly number[]): FusedCalls {
    return (this.#fused ??= this.#rewrite(fusion, elements));
  }

  #rewrite(fusion: Fusion, elements?: readonly number[]): FusedCalls {
    if (fusion === false) return { lines: ['Nothing is fused: the option fuse is false.'] };
    const { device } = this.backend;
    const isOnHost = device === 'cpu';
    if (fusion === 'plain' && !isOnHost) return { lines: [nothingOn(device)] };
    const reason = reasonAgainstPrograms();
    if (reason) return { lines: [`Nothing is fused: ${reason}`] };
    this.#native.fixInputs(fixedInputsOf(this.segments));
    const options = { fusion, isOnHost, read: this.#constant, elements };
    const { plan, lines, ...fused } = optimize(this.#native.describe(), options);
    this.#native.rewrite(plan);
    return { ...fused, lines: fusion === 'plain' ? [AS_PLAIN, ...lines] : lines };
  }

  /** Computes a constant of the native calls before they are rewritten. */
  readonly #constant: ReadConstant = (value, meta) => {
    using tensor = this.#native.constant(value, meta);
    return tensor.read('float32') as Float32Array;
  };

  /** Plans the memory of later replays from what the first one allocated. */
  #planMemory(): void {
    if (this.#arena) return;
    const allocations = this.#native.allocations();
    if (allocations.length === 0) return;
    this.#arena = planArena(allocations);
    this.#native.planMemory(this.#arena.places, this.#arena.bytes);
  }

  /**
   * Returns the error if the native calls fail before any action has run; throws it if one has run.
   */
  #runSegment(
    index: number,
    segment: RecordedSegment,
    args: readonly Tensor[],
    actions: ReplayedActions,
  ): Tensor[] | Error {
    const inputs = this.#givenHandles(segment, actions);
    for (const source of segment.sources) inputs.push(this.#handleOf(source, args));
    let natives;
    try {
      natives = this.#native.replay(index, inputs, segment.outputs);
    } catch (error) {
      if (actions.hasRun || isAccError(error, 'ACC_DEVICE_FAILED')) throw error;
      return error as Error;
    }
    actions.areTaken();
    const tensors = natives.map((native, i) => tensorIn(segment.forms[i]!, native, this.backend));
    const { assigned } = segment;
    const values = tensors.splice(tensors.length - assigned.length);
    assigned.forEach((variable, i) => {
      variable.assign(values[i]!);
      values[i]!.dispose();
    });
    let at = 0;
    return segment.handed.map((number) =>
      number === undefined ? tensors[at++]! : actions.handed.get(number)!,
    );
  }

  #givenHandles(segment: RecordedSegment, { given, handed }: ReplayedActions): number[] {
    const handles: number[] = [];
    segment.given.forEach((recorded, i) => {
      const tensor = given[i] ?? null;
      if (!this.#fits(tensor, recorded)) {
        const now = tensor ? describe(tensor.shape, formOf(tensor, this.backend)) : 'nothing';
        throw changed(now, recorded ? describe(recorded.shape, recorded.form) : 'nothing');
      }
      if (!tensor || !recorded) return;
      if (recorded.handed === undefined) handles.push(this.#handleIn(tensor, recorded.shape));
      else handed.set(recorded.handed, tensor);
    });
    return handles;
  }

  #fits(tensor: Tensor | null, recorded: Given | null): boolean {
    if (!tensor || !recorded) return !tensor && !recorded;
    const { shape } = localTensorOf(tensor, this.backend) ?? tensor;
    const isSameSize = util.sizeFromShape(shape) === util.sizeFromShape(recorded.shape as number[]);
    return isSameSize && areShardedAlike(formOf(tensor, this.backend), recorded.form);
  }

  #handleOf(source: Source, args: readonly Tensor[]): number {
    if (source.kind === 'captured') return source.id;
    const tensor = source.kind === 'argument' ? args[source.index]! : source.variable;
    return this.#handleIn(tensor, source.shape);
  }

  #handleIn(tensor: TensorInfo, shape: readonly number[]): number {
    const { dataId, dtype } = localTensorOf(tensor, this.backend) ?? tensor;
    return this.backend.native({ dataId, dtype, shape: shape as number[] }).id;
  }

  #areFitting(sources: readonly Source[], args: readonly Tensor[]): boolean {
    return sources.every((source) => {
      if (source.kind === 'captured') return true;
      const tensor = source.kind === 'argument' ? args[source.index]! : source.variable;
      // A variable that was frozen or thawed has another gradient.
      const isThere =
        source.kind === 'variable'
          ? isLive(source.variable) && source.variable.trainable === source.isTrainable
          : !tensor.isDisposed;
      return (
        isThere &&
        areShardedAlike(formOf(tensor, this.backend), source.form) &&
        this.#hasDtype(tensor, source)
      );
    });
  }

  /** A deferred variable that is not in memory gets its values from an action. */
  #hasDtype(tensor: Tensor, { kind, dtype }: Exclude<Source, { kind: 'captured' }>): boolean {
    const info = localTensorOf(tensor, this.backend);
    const held = info && this.backend.heldNative(info);
    return held ? held.dtype === dtype : kind === 'variable';
  }
}

const AS_PLAIN =
  "The option fuse is 'plain': elementwise operators run in programs, as in the plain step. Other calls are those that were recorded.";
const nothingOn = (device: string): string =>
  `Nothing is fused: the option fuse is 'plain', and plain steps on ${device} fuse nothing.`;

function describeMemory({ bytes, neededBytes }: ArenaPlan): string[] {
  if (bytes === 0) return [];
  const share = (bytes / neededBytes).toFixed(2);
  return [`Memory: an arena of ${megabytes(bytes)}, ${share} times what lives at the same time.`];
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function changed(value: string, recorded: string): AccError {
  return new AccError(
    'ACC_COMPILE_CHANGED',
    `An action of a compiled step returned ${value}, but ${recorded} when the step was recorded. On some rank the data has other shapes, or another part of the model was used.`,
    {
      help: 'Run such a step without accelerator.compile, or give it different plain arguments for each variant.',
    },
  );
}

function describe(shape: readonly number[], { cut }: RecordedForm): string {
  const full = `a tensor of shape [${(cut?.shape ?? shape).join()}]`;
  if (!cut) return full;
  const { layout } = cut;
  return layout.kind === 'sum'
    ? `${full} as a sum over ranks`
    : `${full}, cut in ${layout.length} over ranks`;
}

/** Strings have no native form. */
export function isNumeric({ dtype }: TensorInfo): boolean {
  return dtype !== 'string';
}
