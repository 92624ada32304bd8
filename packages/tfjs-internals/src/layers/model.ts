import type { Optimizer, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { History } from './callbacks.js';

/** One step of training or of evaluation on a batch: features, targets and sample weights in; losses and metrics out. */
export type StepFunction = (ins: Tensor[]) => Scalar[];

/** The members of tfjs-layers' LayersModel that are read, called or replaced. Some are missing from its public types. */
export interface ModelInternals {
  /** Of a Sequential: the model that trains. */
  readonly model?: ModelInternals;
  readonly layers: readonly unknown[];
  readonly weights: readonly { readonly originalName: string; read(): Variable }[];
  readonly metricsNames: readonly string[];
  readonly optimizer?: Optimizer;
  /** What `makeTestFunction` made last. */
  testFunction: StepFunction;
  /** Whether a fit is running. */
  isTraining?: boolean;
  /** Whether a callback has ended training. */
  stopTraining_?: boolean;
  /** The topology that tfjs-layers makes the model of. */
  toJSON(unused: null, returnString: false): object;
  compile(args: object): void;
  makeTrainFunction(): StepFunction;
  makeTestFunction(): void;
  predict(...args: unknown[]): Tensor | Tensor[];
  predictOnBatch(...args: unknown[]): Tensor | Tensor[];
  evaluate(x: unknown, y: unknown, args?: object): Scalar | Scalar[];
  evaluateDataset(dataset: unknown, args?: { batches?: number }): Promise<Scalar | Scalar[]>;
  fit(x: unknown, y: unknown, args?: object): Promise<History>;
  fitDataset(dataset: object, args: FitDatasetArguments): Promise<History>;
  /** The loop of `fit` over epochs and batches. */
  fitLoop(...args: FitLoopArguments): Promise<History>;
  /** The loop of `evaluate` over batches. */
  testLoop(f: StepFunction, ins: Tensor[], batchSize: number, verbose?: number, steps?: number): Scalar[];
}

export interface FitDatasetArguments {
  readonly validationData?: unknown;
  readonly batchesPerEpoch?: number;
  readonly epochs?: number;
  readonly initialEpoch?: number;
  readonly callbacks?: unknown;
  readonly [name: string]: unknown;
}

export type FitLoopArguments = [
  f: StepFunction,
  ins: readonly Tensor[],
  outLabels: string[],
  batchSize: number | undefined,
  epochs: number | undefined,
  verbose: number | undefined,
  callbacks: unknown,
  valF: StepFunction | null,
  valIns: Tensor[],
  shuffle: boolean | string | undefined,
  callbackMetrics: string[],
  initialEpoch: number | undefined,
  stepsPerEpoch: number | null,
  validationSteps: number | null,
];

/** True for an object with the members of a LayersModel, of any copy of tfjs-layers. */
export function isModel(object: unknown): object is ModelInternals {
  const candidate = object as Partial<ModelInternals> & { layers?: unknown };
  return (
    typeof object === 'object' &&
    object !== null &&
    Array.isArray(candidate.layers) &&
    typeof candidate.compile === 'function' &&
    typeof candidate.makeTrainFunction === 'function'
  );
}
