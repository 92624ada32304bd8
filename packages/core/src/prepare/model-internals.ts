import type { Optimizer, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { History } from '../fit/callbacks.js';

export type StepFunction = (ins: Tensor[]) => Scalar[];

/** The members of tfjs-layers' LayersModel that are worked with. Some are not in its public types; 4.x has them all. */
export interface ModelInternals {
  /** Of a Sequential: the model that trains. */
  readonly model?: ModelInternals;
  readonly layers: readonly unknown[];
  readonly weights: readonly { readonly originalName: string; read(): Variable }[];
  readonly metricsNames: readonly string[];
  readonly optimizer?: Optimizer;
  testFunction: StepFunction;
  /** Whether a fit is under way. */
  isTraining?: boolean;
  /** Whether a callback has ended training. */
  stopTraining_?: boolean;
  /** What tfjs-layers makes the model of. */
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
  fitLoop(...args: FitLoopArguments): Promise<History>;
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

/** True for what quacks like a LayersModel, of whichever copy of tfjs-layers. */
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
