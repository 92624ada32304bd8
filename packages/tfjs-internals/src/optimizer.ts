import type { Optimizer, Scalar, Variable } from '@tensorflow/tfjs-core';

/** The members that all tfjs optimizers share. They are protected in the public types. */
export interface OptimizerInternals {
  /** The number of steps taken. Undefined before the first step. */
  iterations_?: number;
  /** Not a number in a program's own optimizer that stores its rate elsewhere. */
  learningRate?: unknown;
  /** Present in optimizers that also keep the rate in a tensor. */
  setLearningRate?(rate: number): void;
  incrementIterations(): void;
}

export function optimizerInternals(optimizer: Optimizer): OptimizerInternals {
  return optimizer as unknown as OptimizerInternals;
}

/** A variable of an optimizer's state. */
export interface OptimizerVariable {
  /** The name of the trained variable, a slash and the kind of state. */
  readonly originalName: string;
  readonly variable: Variable;
}

export interface SgdInternals {
  /** The negative learning rate. */
  readonly c: Scalar;
}

export interface MomentumInternals extends SgdInternals {
  /** The momentum by which tfjs multiplies; `setMomentum` does not change it. */
  readonly m: Scalar;
  readonly useNesterov: boolean;
  readonly accumulations: OptimizerVariable[];
}

export interface AdagradInternals {
  readonly learningRate: number;
  readonly initialAccumulatorValue: number;
  readonly accumulatedGrads: OptimizerVariable[];
}

export interface AdadeltaInternals {
  readonly learningRate: number;
  readonly rho: number;
  readonly epsilon: number;
  readonly accumulatedGrads: OptimizerVariable[];
  readonly accumulatedUpdates: OptimizerVariable[];
}

export interface RmsPropInternals {
  readonly learningRate: number;
  readonly decay: number;
  readonly momentum: number;
  readonly epsilon: number;
  readonly centered: boolean;
  readonly accumulatedMeanSquares: OptimizerVariable[];
  readonly accumulatedMoments: OptimizerVariable[];
  readonly accumulatedMeanGrads: OptimizerVariable[];
}

export interface AdamInternals {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** beta1^step and beta2^step, computed by repeated multiplication in float32. */
  readonly accBeta1: Variable;
  readonly accBeta2: Variable;
  readonly accumulatedFirstMoment: OptimizerVariable[];
  readonly accumulatedSecondMoment: OptimizerVariable[];
}

export interface AdamaxInternals {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly decay: number;
  readonly iteration: Variable;
  /** beta1^step, computed by repeated multiplication in float32. */
  readonly accBeta1: Variable;
  readonly accumulatedFirstMoment: OptimizerVariable[];
  readonly accumulatedWeightedInfNorm: OptimizerVariable[];
}
