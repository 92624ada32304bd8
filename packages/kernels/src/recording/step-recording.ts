import { util, type DataType, type Tensor, type TensorInfo, type Variable } from '@tensorflow/tfjs-core';
import { AccError, type Fusion, type RecordedAction, type NativeDtype, type Recording } from '@acc/contract';
import { areAlive, type OutputMeta, type Recording as NativeRecording } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { optimize } from '../fusion/optimize.js';
import { isLive } from '../live-variables.js';
import { planArena, type ArenaPlan } from '../memory-plan/arena-plan.js';
import { computePending } from '../pending/all-pending.js';
import type { SourcePlaces } from './source-places.js';
import { StepExplanation } from './step-explanation.js';

/**
 * The source of a tensor from outside. `shape` and `dtype` are those of its native data at
 * recording time.
 */
export type Source =
  | {
      readonly kind: 'argument';
      readonly index: number;
      readonly shape: readonly number[];
      readonly dtype: NativeDtype;
    }
  | {
      readonly kind: 'variable';
      readonly variable: Variable;
      readonly shape: readonly number[];
      readonly dtype: NativeDtype;
    }
  /** A tensor that the step captured, by its handle: the same in every replay. */
  | { readonly kind: 'captured'; readonly id: number };

/** Native calls and the action that follows them. No action follows the last segment. */
export interface RecordedSegment {
  /** Shapes of the previous action's results; null for a null result. */
  readonly given: readonly (readonly number[] | null)[];
  readonly sources: readonly Source[];
  /** The action's inputs, or the step's results; then the new values of {@link assigned}. */
  readonly outputs: readonly OutputMeta[];
  readonly dtypes: readonly DataType[];
  readonly assigned: readonly Variable[];
  readonly action: RecordedAction | undefined;
}

/** A recorded step of the backend `acc`. */
export class StepRecording implements Recording {
  readonly #captured: readonly number[];
  readonly #explanation: StepExplanation;
  #arena: ArenaPlan | undefined;

  constructor(
    private readonly backend: AccBackend,
    private readonly native: NativeRecording,
    private readonly segments: readonly RecordedSegment[],
    places: SourcePlaces,
  ) {
    this.#explanation = new StepExplanation(places);
    this.#captured = segments.flatMap(({ sources }) =>
      sources.flatMap((source) => (source.kind === 'captured' ? [source.id] : [])),
    );
  }

  differenceFrom(other: StepRecording): string | undefined {
    return this.native.differenceFrom(other.native) ?? differenceOfSources(this.segments, other.segments);
  }

  get explanation(): string {
    const memory = this.#arena && this.native.isMemoryPlanned ? describeMemory(this.#arena) : [];
    return this.#explanation.textOf(() => this.native.times(), this.backend.device, memory);
  }

  seal(fusion: Fusion): void {
    if (fusion === false) {
      this.#explanation.sealed(['Nothing is fused: the option fuse is false.']);
    } else if (this.backend.device !== 'cpu') {
      this.#explanation.sealed([
        `Nothing is fused: programs run on the CPU only, and the device is ${this.backend.device}.`,
      ]);
    } else {
      const { plan, lines, calls } = optimize(this.native.describe(), fusion === 'exact' ? 'exact' : 'fast');
      this.native.rewrite(plan);
      this.#explanation.sealed(lines, calls);
    }
    this.native.seal();
  }

  fits(args: readonly Tensor[]): boolean {
    return areAlive(this.#captured) && this.segments.every(({ sources }) => this.#areFitting(sources, args));
  }

  replay(args: readonly Tensor[]): readonly Tensor[] | Error {
    computePending();
    let given: readonly (Tensor | null)[] = [];
    let hasActed = false;
    let isDone = false;
    let actionsMs = 0;
    const start = performance.now();
    try {
      for (const [index, segment] of this.segments.entries()) {
        const outputs = this.#runSegment(index, segment, given, args, hasActed);
        if (outputs instanceof Error) return outputs;
        if (!segment.action) {
          isDone = true;
          this.#explanation.times.add(performance.now() - start, actionsMs);
          this.#planMemory();
          return outputs;
        }
        hasActed = true;
        const actionStart = performance.now();
        given = segment.action(outputs);
        actionsMs += performance.now() - actionStart;
      }
      throw new AccError('ACC_OPERATOR_FAILED', 'A recorded step ended with an action instead of results.');
    } finally {
      if (!isDone) this.native.reset();
    }
  }

  dispose(): void {
    this.native.dispose();
  }

  /** Plans the memory of later replays from what the first one allocated. */
  #planMemory(): void {
    if (this.#arena) return;
    const allocations = this.native.allocations();
    if (allocations.length === 0) return;
    this.#arena = planArena(allocations);
    this.native.planMemory(this.#arena.places, this.#arena.bytes);
  }

  /**
   * Returns the error if the native calls fail before any action has run; throws it if one has run.
   */
  #runSegment(
    index: number,
    segment: RecordedSegment,
    given: readonly (Tensor | null)[],
    args: readonly Tensor[],
    hasActed: boolean,
  ): Tensor[] | Error {
    const inputs = this.#givenHandles(segment, given);
    for (const source of segment.sources) inputs.push(this.#handleOf(source, args));
    let natives;
    try {
      natives = this.native.replay(index, inputs, segment.outputs);
    } catch (error) {
      if (hasActed) throw error;
      return error as Error;
    }
    const tensors = natives.map((native, i) => this.backend.tensorOf(native, segment.dtypes[i]!));
    const { assigned } = segment;
    if (assigned.length === 0) return tensors;
    const values = tensors.splice(tensors.length - assigned.length);
    assigned.forEach((variable, i) => {
      variable.assign(values[i]!);
      values[i]!.dispose();
    });
    return tensors;
  }

  #givenHandles(segment: RecordedSegment, given: readonly (Tensor | null)[]): number[] {
    const handles: number[] = [];
    segment.given.forEach((shape, i) => {
      const tensor = given[i] ?? null;
      if (tensor?.size !== (shape ? util.sizeFromShape(shape as number[]) : undefined)) {
        throw new AccError(
          'ACC_COMPILE_CHANGED',
          `An action of a compiled step returned ${describe(tensor?.shape)}, but ${describe(shape)} when the step was recorded. On some rank the data has other shapes, or another part of the model was used.`,
          {
            help: 'Run such a step without accelerator.compile, or give it different plain arguments for each variant.',
          },
        );
      }
      if (tensor && shape) handles.push(this.#handleIn(tensor, shape));
    });
    return handles;
  }

  #handleOf(source: Source, args: readonly Tensor[]): number {
    if (source.kind === 'captured') return source.id;
    const tensor = source.kind === 'argument' ? args[source.index]! : source.variable;
    return this.#handleIn(tensor, source.shape);
  }

  #handleIn({ dataId, dtype }: TensorInfo, shape: readonly number[]): number {
    return this.backend.native({ dataId, dtype, shape: shape as number[] }).id;
  }

  #areFitting(sources: readonly Source[], args: readonly Tensor[]): boolean {
    return sources.every((source) => {
      if (source.kind === 'captured') return true;
      const tensor = source.kind === 'argument' ? args[source.index]! : source.variable;
      const isThere = source.kind === 'variable' ? isLive(source.variable) : !tensor.isDisposed;
      return isThere && this.backend.nativeOfData(tensor)?.dtype === source.dtype;
    });
  }
}

function describeMemory({ bytes, neededBytes }: ArenaPlan): string[] {
  if (bytes === 0) return [];
  const share = (bytes / neededBytes).toFixed(2);
  return [`Memory: an arena of ${megabytes(bytes)}, ${share} times what lives at the same time.`];
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function describe(shape: readonly number[] | null | undefined): string {
  return shape ? `a tensor of shape [${shape.join()}]` : 'nothing';
}

/** Strings have no native form. */
export function isNumeric({ dtype }: TensorInfo): boolean {
  return dtype !== 'string';
}

function differenceOfSources(
  ours: readonly RecordedSegment[],
  theirs: readonly RecordedSegment[],
): string | undefined {
  const all = (segments: readonly RecordedSegment[]) => segments.flatMap(({ sources }) => sources);
  const others = all(theirs);
  const differs = all(ours).some((source, i) => !isSameSource(source, others[i]));
  if (differs) return 'it uses changing tensors that are neither arguments nor variables';
  const assigned = (segments: readonly RecordedSegment[]) => segments.flatMap((segment) => segment.assigned);
  const otherAssigned = assigned(theirs);
  const isSame = assigned(ours).every((variable, i) => variable === otherAssigned[i]);
  return isSame ? undefined : 'it assigns different variables in different runs';
}

function isSameSource(a: Source, b: Source | undefined): boolean {
  if (a.kind === 'captured') return b?.kind === 'captured' && a.id === b.id;
  if (a.kind === 'variable') return b?.kind === 'variable' && a.variable === b.variable;
  return b?.kind === 'argument' && a.index === b.index;
}
