import * as tf from '@tensorflow/tfjs';
import { onTestFinished } from 'vitest';
import { joinFederation } from '../client/join-in-node.js';
import type { FederationOptions } from '../client/options.js';
import { startCoordinator } from '../coordinator/coordinator.js';
import type { CoordinatorOptions } from '../coordinator/options.js';
import type { RoundRecord } from '../coordinator/round-record.js';

/** A linear model: weights `[inputs, outputs]` and a bias. */
export interface Linear {
  readonly variables: [tf.Variable<tf.Rank.R2>, tf.Variable<tf.Rank.R1>];
  loss(rows: Rows): tf.Scalar;
}

export interface Rows {
  readonly x: tf.Tensor2D;
  readonly y: tf.Tensor2D;
}

export function linear(seed = 1, inputs = 4, outputs = 2): Linear {
  const created = [
    tf.randomNormal<tf.Rank.R2>([inputs, outputs], 0, 1, 'float32', seed),
    tf.zeros<tf.Rank.R1>([outputs]),
  ] as const;
  const [kernel, bias] = [tf.variable(created[0]), tf.variable(created[1])];
  tf.dispose([...created]);
  onTestFinished(() => tf.dispose([kernel, bias]));
  return {
    variables: [kernel, bias],
    loss: ({ x, y }) => tf.losses.meanSquaredError(y, tf.add(tf.matMul(x, kernel), bias)),
  };
}

export function rowsOf(count: number, seed: number): Rows {
  return {
    x: tf.randomNormal<tf.Rank.R2>([count, 4], 0, 1, 'float32', seed),
    y: tf.randomNormal<tf.Rank.R2>([count, 2], 0, 1, 'float32', seed + 1000),
  };
}

export const valuesOf = ({ variables }: Linear): number[] =>
  variables.flatMap((variable) => Array.from(variable.dataSync()));

/** A coordinator that ends with the test, and its records. */
export async function coordinatorOf(
  options: Partial<CoordinatorOptions> & Pick<CoordinatorOptions, 'rounds'>,
) {
  const model = linear();
  const records: RoundRecord[] = [];
  const { onRound } = options;
  const coordinator = await startCoordinator({
    variables: model.variables,
    ...options,
    onRound: (record) => {
      records.push(record);
      return onRound?.(record);
    },
  });
  onTestFinished(() => coordinator.close());
  return { coordinator, model, records };
}

type Given = Pick<FederationOptions, 'url' | 'token'>;

/** A client with a model of its own. */
export async function clientOf(
  { url, token }: Given,
  options: Omit<Partial<FederationOptions>, 'train'> & {
    readonly train: (model: Linear) => FederationOptions['train'];
  },
) {
  const model = linear(99);
  const { train, ...rest } = options;
  const member = await joinFederation({
    url,
    token,
    variables: model.variables,
    ...rest,
    train: train(model),
  });
  onTestFinished(async () => void (await member.leave().catch(() => {})));
  return { member, model };
}

/** Trains one step of SGD on all rows. */
export const oneStep =
  (rows: Rows, rate = 0.1) =>
  (model: Linear): FederationOptions['train'] =>
  () => {
    const optimizer = tf.train.sgd(rate);
    const loss = optimizer.minimize(() => model.loss(rows), true, model.variables)!;
    const [value] = loss.dataSync();
    loss.dispose();
    optimizer.dispose();
    return { samples: rows.x.shape[0], metrics: { loss: value! } };
  };

/** Adds a number to every weight: an update whose value is known. */
export const add =
  (amount: number, samples = 1) =>
  (model: Linear): FederationOptions['train'] =>
  () => {
    for (const variable of model.variables) variable.assign(tf.tidy(() => tf.add(variable, amount)));
    return { samples };
  };

/** A promise that a test settles. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  const passed = new Promise<T>((resolve) => (open = resolve));
  return { open, passed };
}
