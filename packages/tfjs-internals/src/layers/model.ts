import type { Optimizer, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { History } from './callbacks.js';

/**
 * One training or evaluation step on a batch. Takes features, targets and sample weights. Returns
 * losses and metrics.
 */
export type StepFunction = (ins: Tensor[]) => Scalar[];

/** Losses, or values whose mean is a metric. */
export type LossOrMetric = (yTrue: Tensor, yPred: Tensor) => Tensor;

/**
 * The members of tfjs-layers' LayersModel that the packages read, call or replace. Some are missing
 * from its public types.
 */
export interface ModelInternals {
  /** The model through which a Sequential trains. */
  readonly model?: ModelInternals;
  readonly layers: readonly unknown[];
  readonly weights: readonly { readonly originalName: string; read(): Variable }[];
  readonly metricsNames: readonly string[];
  readonly optimizer?: Optimizer;
  /** The latest result of `makeTestFunction`. */
  testFunction: StepFunction;
  /** The losses of the outputs of a compiled model. */
  readonly lossFunctions: readonly LossOrMetric[];
  /** Each metric of a compiled model, and the place of its output. */
  metricsTensors: readonly (readonly [LossOrMetric, number])[];
  /** Whether a fit is running. */
  isTraining?: boolean;
  /** Whether a callback has ended training. */
  stopTraining_?: boolean;
  /** The configuration from which tfjs-layers builds the model. */
  toJSON(unused: null, returnString: false): object;
  compile(args: object): void;
  makeTrainFunction(): StepFunction;
  makeTestFunction(): void;
  predict(...args: unknown[]): Tensor | Tensor[];
  predictOnBatch(...args: unknown[]): Tensor | Tensor[];
  evaluate(x: unknown, y: unknown, args?: object): Scalar | Scalar[];
  evaluateDataset(dataset: unknown, args?: { batches?: number }): Promise<Scalar | Scalar[]>;
  fit(x: unknown, y: unknown, args?: { callbacks?: unknown }): Promise<History>;
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

/** Whether an object has the members of a LayersModel. It may come from any copy of tfjs-layers. */
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
