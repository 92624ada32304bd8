// Compares training on meshes with the same training in one process.
import * as tf from '@tensorflow/tfjs';
import { expect } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { onRanks } from '../on-ranks.js';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import type { Args } from './ranks/train.js';
import { stepsOf, train, type Case, type Trained } from './train.js';

export const LIMITED = { gradientClipping: { norm: 0.2 }, gradientAccumulationSteps: 2 } as const;
export const AGAIN = { checkpointEvery: 1 } as const;
/** 16 bits, clipping, accumulation and activation checkpoints. */
export const TOGETHER = { ...LIMITED, ...AGAIN, mixedPrecision: 'bf16' } as const;

/** The micro-batches of a resumed training. */
const MICRO_BATCHES = 4;
const module = new URL('./ranks/train.ts', import.meta.url);

/** A case on a mesh. */
export interface OnMesh<Name extends string> extends Case {
  /** The case of one process that trains the same. */
  readonly like: Name;
}

export type Cases<Name extends string> = Readonly<Record<string, OnMesh<Name>>>;

export class MeshComparison<Name extends string> {
  readonly folder = newFolder();
  /** The results of one process. */
  readonly alone = {} as Record<Name, Trained>;

  /**
   * @param same The cases of one process.
   * @param defaults What a case on a mesh has unless it says otherwise.
   */
  constructor(
    private readonly same: Readonly<Record<Name, Case>>,
    private readonly defaults: Partial<Case> = {},
  ) {}

  /** A case of one process on a mesh. */
  onMesh(like: Name, mesh: NonNullable<Case['mesh']>, more: Partial<Case> = {}): OnMesh<Name> {
    const same = this.#unsaved(like);
    return { ...this.defaults, ...same, ...more, options: { ...same.options, ...more.options }, mesh, like };
  }

  /** Trains all cases of one process. */
  async trainAlone(): Promise<void> {
    registerAccBackend();
    await tf.setBackend('acc');
    for (const name of Object.keys(this.same) as Name[]) {
      this.alone[name] = await train(this.same[name], this.folder);
    }
  }

  /** Trains cases on the ranks of one job. Returns what each rank has of each of them. */
  async trainOn(ranks: number, cases: Readonly<Record<string, Case>>): Promise<Record<string, Trained[]>> {
    const env = { OMP_NUM_THREADS: '1' };
    return this.trainBy(cases, (args) =>
      onRanks<Trained[]>({ module, ranks, args, env, timeoutMs: 500_000 }),
    );
  }

  /** Trains cases on ranks that the caller lets run `ranks/train.ts` with these arguments. */
  async trainBy(
    cases: Readonly<Record<string, Case>>,
    run: (args: Args) => Promise<Trained[][]>,
  ): Promise<Record<string, Trained[]>> {
    const ofRanks = await run({ cases: Object.values(cases), folder: this.folder });
    return Object.fromEntries(Object.keys(cases).map((name, i) => [name, ofRanks.map((each) => each[i]!)]));
  }

  /** The resumed cases, cut short. */
  resumed(cases: Cases<Name>): Record<string, Case> {
    return Object.fromEntries(
      Object.entries(cases).map(([name, given]) => [name, { ...given, stopAfter: MICRO_BATCHES }]),
    );
  }

  expectTrainedAsOne(given: OnMesh<Name>, ofRanks: readonly Trained[]): void {
    const { like, model, options } = given;
    const expected = this.alone[like];
    const isRounded = options?.mixedPrecision && model !== 'integers';
    for (const each of ofRanks) {
      expect(each.losses.length).toBe(stepsOf(given) * (options?.gradientAccumulationSteps ?? 1));
      expectSame(each, expected, isRounded ? 1e-2 : 1e-4);
    }
    expect(expected.change).toBeGreaterThan(0.005);
  }

  expectResumed({ like }: OnMesh<Name>, ofRanks: readonly Trained[]): void {
    const { losses } = this.alone[like];
    const expected = losses.slice(losses.length / 2, losses.length / 2 + MICRO_BATCHES);
    for (const each of ofRanks) expectNear(each.losses, expected, 1e-4);
  }

  /** The weights are those of all steps only if the optimizer's state was resumed, too. */
  expectSecondHalf({ like }: OnMesh<Name>, ofRanks: readonly Trained[]): void {
    const expected = this.alone[like];
    for (const each of ofRanks) {
      expect(each.losses).toHaveLength(expected.losses.length / 2);
      expectSame(each, expected, 1e-4);
    }
  }

  /** One process goes on from a checkpoint of a mesh. */
  async expectResumedAlone(load: string, like: Name): Promise<void> {
    expectSame(await train({ ...this.#unsaved(like), load }, this.folder), this.alone[like], 1e-4);
  }

  #unsaved(like: Name): Case {
    const { save: _, ...given } = this.same[like];
    return given;
  }
}

function expectSame(actual: Trained, expected: Trained, rtol: number): void {
  expectNear(actual.losses, expected.losses.slice(-actual.losses.length), rtol);
  const size = Math.max(...Object.values(expected.weights).map((values) => rms(values)));
  expect(Object.keys(actual.weights)).toEqual(Object.keys(expected.weights));
  for (const [name, values] of Object.entries(expected.weights)) {
    expectNear(actual.weights[name]!, values, rtol, size);
  }
  expect(actual.read).toEqual(actual.weights);
  expect(actual.left).toBe(1);
}
