import {
  abs,
  add,
  concat,
  dispose,
  greater,
  matMul,
  randomNormal,
  reshape,
  split,
  sub,
  sum,
  tidy,
  where,
  zeros,
} from '@tensorflow/tfjs-core';
import type { Tensor, Tensor2D } from '@tensorflow/tfjs-core';
import { afterAll, parseOptions, type Pending } from '@acc/contract';
import * as z from 'zod';
import type { BucketVariable, CommHook, GradientBucket } from '../comm-hook.js';
import { orthonormalize } from './orthonormalize.js';
import { plainSum, StatefulHook } from './stateful-hook.js';

export interface PowerSgdOptions {
  /** The rank of the matrices that are sent instead of a gradient. Default 1. */
  readonly rank?: number;
  /**
   * The number of first steps in which whole gradients are sent. Long trainings need hundreds;
   * PyTorch's default is 1,000. Default 10.
   */
  readonly startIteration?: number;
  /**
   * A variable is compressed only if the whole gradient has at least this many times as many bytes.
   * Default 2.
   */
  readonly minCompressionRate?: number;
  /** Whether the compression error is added to the next gradient. Default true. */
  readonly errorFeedback?: boolean;
  /** Whether each step starts from the matrices of the previous step. Default true. */
  readonly warmStart?: boolean;
}

const schema = z.object({
  rank: z.int().positive().default(1),
  startIteration: z.int().nonnegative().default(10),
  minCompressionRate: z.number().positive().default(2),
  errorFeedback: z.boolean().default(true),
  warmStart: z.boolean().default(true),
});

type Resolved = Readonly<z.infer<typeof schema>>;

/**
 * Sends a gradient of shape [rows, columns] as two matrices with `rank` columns, computed by one
 * step of power iteration (Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for
 * Distributed Optimization", 2019, algorithms 1 and 2). The last dim of a variable counts as
 * columns, all other dims together as rows. Vectors, and matrices that are too small to gain, are
 * sent whole.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function powerSgdHook(options: PowerSgdOptions = {}): CommHook {
  return new PowerSgd(parseOptions("commHook 'powerSgd'", schema, options));
}

/** The gradient of one variable in the form in which it is compressed. */
interface Matrix {
  readonly at: number;
  readonly rows: number;
  readonly columns: number;
  readonly rank: number;
}

class PowerSgd extends StatefulHook {
  readonly name = 'powerSgd';

  constructor(private readonly options: Resolved) {
    super();
  }

  override reduce(bucket: GradientBucket): Pending<Tensor> {
    const step = this.shared.count(`${bucket.id}/step`);
    const plan = step < this.options.startIteration ? [] : matricesOf(bucket.variables, this.options);
    return plan.length === 0 ? plainSum(bucket) : this.#compressed(bucket, plan, step);
  }

  #compressed(bucket: GradientBucket, plan: readonly Matrix[], step: number): Pending<Tensor> {
    const { id, gradsLocal, variables, collective } = bucket;
    const { size } = gradsLocal;
    const { errorFeedback } = this.options;
    const [parts, flatPs] = tidy(() => {
      const wanted = errorFeedback
        ? add(
            gradsLocal,
            this.local.tensor(`${id}/error`, [size], () => zeros([size])),
          )
        : gradsLocal;
      const all = split(
        wanted,
        variables.map((variable) => variable.size),
      );
      const ps = plan.map((matrix) =>
        matMul(shaped(all[matrix.at]!, matrix), this.#startOf(bucket, matrix, step)),
      );
      return [all, concat(ps.map((p) => reshape(p, [-1])))] as [Tensor[], Tensor];
    });
    gradsLocal.dispose();
    const isWhole = variables.map((_, at) => plan.every((matrix) => matrix.at !== at));
    const wholeParts = parts.filter((_, at) => isWhole[at]);
    const full = wholeParts.length > 0 ? concat(wholeParts) : undefined;
    const pending = [flatPs, ...(full ? [full] : [])].map((gradsLocal) =>
      plainSum({ gradsLocal, collective }),
    );
    return afterAll(pending, (sumOfPs, sumOfWhole) => {
      const given = { parts, isWhole, whole: sumOfWhole, ps: sumOfPs! };
      const grads = tidy(() => this.#decompressed(bucket, plan, given));
      dispose([...parts, sumOfPs!, ...(sumOfWhole ? [sumOfWhole] : [])]);
      return grads;
    });
  }

  /** The second half of the power iteration. */
  #decompressed(
    { id, collective }: GradientBucket,
    plan: readonly Matrix[],
    given: {
      readonly parts: readonly Tensor[];
      readonly isWhole: readonly boolean[];
      readonly whole: Tensor | undefined;
      readonly ps: Tensor;
    },
  ): Tensor {
    const ps = cut(
      given.ps,
      plan.map(({ rows, rank }) => [rows, rank]),
    ).map(orthonormalize) as Tensor2D[];
    const qsLocal = plan.map((matrix, i) => matMul(shaped(given.parts[matrix.at]!, matrix), ps[i]!, true));
    const flatQs = concat(qsLocal.map((q) => reshape(q, [-1])));
    const qShapes = plan.map(({ columns, rank }): [number, number] => [columns, rank]);
    const qs = cut(plainSum({ gradsLocal: flatQs, collective }).wait(), qShapes) as Tensor2D[];
    if (this.options.warmStart) plan.forEach((matrix, i) => this.shared.set(nameOfQ(id, matrix), qs[i]!));

    const wholes = given.whole
      ? split(
          given.whole,
          given.parts.filter((_, at) => given.isWhole[at]).map((part) => part.size),
        )
      : [];
    let nextWhole = 0;
    const grads: Tensor[] = [];
    const errors: Tensor[] = [];
    given.parts.forEach((part, at) => {
      const i = plan.findIndex((matrix) => matrix.at === at);
      const grad = i < 0 ? wholes[nextWhole++]! : reshape(matMul(ps[i]!, qs[i]!, false, true), [-1]);
      grads.push(grad);
      if (!this.options.errorFeedback) return;
      // The error is computed from this rank's own part, so the errors of all ranks together are
      // the loss of the sum.
      errors.push(
        i < 0 ? zeros([part.size]) : sub(part, reshape(matMul(ps[i]!, qsLocal[i]!, false, true), [-1])),
      );
    });
    if (this.options.errorFeedback) this.local.set(`${id}/error`, concat(errors));
    return concat(grads);
  }

  /**
   * The start of the power iteration: the result of the last step, or random numbers that are the
   * same on every rank.
   */
  #startOf({ id }: GradientBucket, matrix: Matrix, step: number): Tensor2D {
    const { columns, rank } = matrix;
    const seed = seedOf(`${nameOfQ(id, matrix)}/${this.options.warmStart ? 0 : step}`);
    const random = () => randomNormal([columns, rank], 0, 1, 'float32', seed) as Tensor2D;
    if (!this.options.warmStart) return random();
    const start = this.shared.tensor(nameOfQ(id, matrix), [columns, rank], random);
    // A gradient of zeros leaves zeros, from which the power iteration could never recover.
    return where(greater(sum(abs(start), 0, true), 0), start, random()) as Tensor2D;
  }
}

const nameOfQ = (id: string, { at }: Matrix) => `${id}/q/${at}`;

function matricesOf(variables: readonly BucketVariable[], options: Resolved): Matrix[] {
  return variables.flatMap(({ shape, size }, at) => {
    if (shape.length < 2 || size === 0) return [];
    const columns = shape[shape.length - 1]!;
    const rows = size / columns;
    const rank = Math.min(options.rank, rows, columns);
    return (rows + columns) * rank * options.minCompressionRate < size ? [{ at, rows, columns, rank }] : [];
  });
}

function shaped(flat: Tensor, { rows, columns }: Matrix): Tensor2D {
  return reshape(flat, [rows, columns]);
}

/** Splits `flat` into tensors of these shapes. */
function cut(flat: Tensor, shapes: readonly (readonly [number, number])[]): Tensor[] {
  const parts = split(
    flat,
    shapes.map(([rows, columns]) => rows * columns),
  );
  return parts.map((part, i) => reshape(part, [...shapes[i]!]));
}

/**
 * The FNV-1a hash of the text. It is never 0, because tfjs treats a seed of 0 as missing and would
 * draw one from the `Math.random` of the training.
 */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0 || 1;
}
