import {
  variableGrads,
  type NamedTensorMap,
  type Scalar,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { compileStep, CompiledSteps, fusionOf, type CompiledStep, type CompileOptions } from '@acc/compile';
import {
  AccError,
  checkKeys,
  type AutocastOptions,
  type KernelLayer,
  type PrecisionPlugin,
} from '@acc/contract';
import type { Nested } from '@acc/tape';
import { isModel } from '@acc/tfjs-internals';
import type { Lifetime } from './lifetime.js';
import { nothingToPrepare, type Preparation } from './prepare/prepare.js';
import type { PreparedAll } from './prepare/prepared-types.js';
import type { PipelineOptions } from './pipelined/options.js';
import type { AnyModel, ModelInputs, PipelinedLoss, Pipelines } from '@acc/pipeline';
import { requireFunction, requireTensor } from './require-arguments.js';
import type { AccumulateOptions, TrainingStep } from './step/training-step.js';

export interface TrainingMethodsContext {
  readonly kernels: KernelLayer;
  readonly lifetime: Lifetime;
  readonly trainingStep: TrainingStep;
  readonly precision: PrecisionPlugin | undefined;
  readonly preparation: Preparation;
  readonly pipelines: Pipelines;
}

/** The methods that a program calls in its training loop. `Accelerator` documents each member. */
export class TrainingMethods {
  readonly #context: TrainingMethodsContext;
  readonly #compiled = new CompiledSteps();

  constructor(context: TrainingMethodsContext) {
    this.#context = context;
  }

  prepare<T extends readonly unknown[]>(objects: T): PreparedAll<T> {
    const { preparation } = this.#contextFor('prepare');
    if (objects.length === 0) throw nothingToPrepare();
    const prepared = objects.map((object) => preparation.prepare(object));
    return (prepared.length === 1 ? prepared[0] : prepared) as PreparedAll<T>;
  }

  accumulate<T>(fn: () => T, options: AccumulateOptions): T {
    checkKeys('accumulate', options, ['last']);
    const { trainingStep } = this.#contextToRun('accumulate', fn);
    return trainingStep.microBatch(fn, { isLast: options.last });
  }

  noSync<T>(fn: () => T): T {
    const { kernels, trainingStep } = this.#contextToRun('noSync', fn);
    // A replay would reduce gradients.
    kernels.recorder?.refuse('it calls noSync');
    return trainingStep.sync.locally(fn);
  }

  weighLoss<T extends Tensor>(loss: T, count: number | Tensor): T {
    const { kernels, trainingStep } = this.#contextFor('weighLoss');
    requireTensor('weighLoss', loss, 'loss, count');
    if (typeof count !== 'number')
      kernels.recorder?.refuse('it gives weighLoss a tensor, whose value is read');
    trainingStep.limits.require('weighLoss');
    return trainingStep.lossItems.say(loss, count);
  }

  backward(loss: () => Scalar, varList?: Variable[]): { value: Scalar; grads: NamedTensorMap } {
    const { trainingStep, preparation } = this.#contextToRun('backward', loss);
    preparation.adoption.adopt(preparation, varList);
    const result = trainingStep.trained.seekingCandidates(() => variableGrads(loss, varList));
    if (!trainingStep.accumulation.isHolding) trainingStep.clipping.clip(result.grads);
    return result;
  }

  clipNorm(grads: NamedTensorMap, maxNorm: number): number {
    const { clipping } = this.#context.trainingStep;
    clipping.clipNorm(grads, maxNorm);
    return clipping.lastNorm!;
  }

  compile<Args extends unknown[], R>(
    step: (...args: Args) => R,
    options: CompileOptions,
  ): CompiledStep<Args, R> {
    const { kernels, trainingStep } = this.#contextToRun('compile', step);
    trainingStep.limits.requireRecordable();
    const fuse = fusionOf(options);
    return this.#compiled.add((onCall) =>
      compileStep(step, {
        kernels,
        fuse,
        surroundings: (microBatches) => trainingStep.surroundings(microBatches),
        microBatches: () => trainingStep.microBatches,
        obstacle: () => trainingStep.obstacle,
        onCall,
      }),
    );
  }

  pipelined<X extends ModelInputs, Y extends Nested, P>(
    model: object,
    loss: PipelinedLoss<Y, P>,
    options: PipelineOptions,
  ): (xs: X, ys: Y) => Scalar {
    const { pipelines } = this.#contextToRun('pipelined', loss, 'model, (yTrue, yPred) => …');
    if (!isModel(model)) throw notAModel();
    const step = pipelines.stepOf<X, Y, P>(model as AnyModel, loss, options);
    return (xs, ys) => {
      this.#contextFor('pipelined');
      return step(xs, ys);
    };
  }

  autocast<T>(fn: () => T, options?: AutocastOptions): T {
    const { precision } = this.#contextToRun('autocast', fn);
    return precision ? precision.autocast(fn, options) : fn();
  }

  /** Frees the recordings of compiled steps. */
  dispose(): void {
    this.#compiled.dispose();
  }

  /** @throws AccError after the Accelerator was freed. */
  #contextFor(method: string): TrainingMethodsContext {
    this.#context.lifetime.requireRunning(method);
    return this.#context;
  }

  /** @throws AccError also if `fn` is not a function. */
  #contextToRun(method: string, fn: unknown, args?: string): TrainingMethodsContext {
    requireFunction(method, fn, args);
    return this.#contextFor(method);
  }
}

function notAModel(): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', 'pipelined: the first argument is not a tf.LayersModel.', {
    help: 'Pass a model of tf.sequential or tf.model that was prepared.',
  });
}
