// Which members of a strategy reach a program through the wrappers that divide models over axes of the
// mesh, for every combination of axes. A new member of the contract needs a row here.
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { meshOf, SingleCollective } from '@acc/collective';
import {
  STRATEGY_GROUPS,
  STRATEGY_MEMBERS,
  STRATEGY_TRAITS,
  TAPE_HOOK_KEYS,
  type Collective,
  type GradientReduction,
  type KernelLayer,
  type Mesh,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TapeHooks,
} from '@acc/contract';
import { Deterministic } from '@acc/deterministic';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { cut, tensorParallel } from '@acc/tensor-parallel';
import { onAxes } from './strategy.js';

/**
 * `forwarded`: a call of the wrapper's member calls the strategy's. `replaced`: the wrapper does it in
 * its own way. `refused`: the wrapper refuses a strategy with this member. Others are left out, for the
 * reason that is stated.
 */
type Fate = 'forwarded' | 'replaced' | 'refused' | { readonly leftOut: string };
const WRAPPERS = ['pipeline', 'expert', 'tensor', 'deterministic'] as const;
type Wrapper = (typeof WRAPPERS)[number];
type Row = Readonly<Record<Wrapper, Fate>>;

const row = (others: Partial<Row> = {}): Row => ({
  ...{ pipeline: 'forwarded', expert: 'forwarded', tensor: 'forwarded', deterministic: 'forwarded' },
  ...others,
});

const MEMBERS: Readonly<Record<keyof Strategy, Row>> = {
  name: row(),
  traits: row(),
  attach: row(),
  prepareVariables: row(),
  prepareLayers: row(),
  prepareOptimizer: row(),
  tape: row(),
  stages: row({ pipeline: 'replaced' }),
  beginReduction: row(),
  gradients: row(),
  globalNorm: row(),
  allFinite: row(),
  changeGradients: row(),
  materialize: row(),
  update: row(),
  synchronize: row({ expert: { leftOut: 'joinUnevenInputs is refused for experts' } }),
  layout: row(),
  state: row({ pipeline: 'refused' }),
  detach: row(),
};

/** The members of groups. They fare as their groups. */
const GROUPED = Object.entries(STRATEGY_GROUPS).flatMap(([group, members]) =>
  Object.keys(members).map((name) => [`${group}.${name}`, MEMBERS[group as keyof Strategy]] as const),
);

const HOOKS: Readonly<Record<keyof TapeHooks, Row>> = {
  before: row(),
  after: row(),
  end: row(),
  pack: row(),
  isIdle: row(),
  isInert: row(),
  what: row(),
};

const SAMPLES: Readonly<Required<StrategyTraits>> = {
  parameters: 'replicated',
  isLocal: true,
  syncAt: 'apply',
  accumulates: 'afterReduction',
  unrecordable: 'a reason',
  recordsAlone: true,
  startsAtFinish: true,
  mixesRanks: true,
  mixesGradients: true,
};
const BY_STEP: Fate = { leftOut: 'gradients of a pipelined step are reduced when all are there' };
const TRAITS: Readonly<Record<keyof StrategyTraits, Row>> = {
  parameters: row({ pipeline: 'replaced', expert: 'replaced', tensor: 'replaced' }),
  // A strategy for one rank has no experts on others, so it is not wrapped.
  isLocal: row({ pipeline: { leftOut: 'other ranks have the other stages' }, tensor: 'replaced' }),
  syncAt: row({ pipeline: 'refused', expert: 'refused' }),
  accumulates: row({ expert: 'forwarded' }),
  unrecordable: row({ expert: 'replaced' }),
  recordsAlone: row({
    pipeline: { leftOut: 'becomes unrecordable' },
    expert: { leftOut: 'is unrecordable' },
  }),
  startsAtFinish: row({
    pipeline: BY_STEP,
    expert: { leftOut: 'gradients of experts travel during backward' },
    tensor: 'replaced',
  }),
  mixesRanks: row({ expert: { leftOut: 'core says it for each mesh with this axis' } }),
  mixesGradients: row(),
};

/** Members whose parts are rows of other tables. */
const HAVE_PARTS: readonly string[] = ['tape', 'traits', ...Object.keys(STRATEGY_GROUPS)];

/** All combinations that `assemble` makes. Deterministic training is refused on the other axes. */
const COMBINATIONS: readonly (readonly Wrapper[])[] = [
  ['pipeline'],
  ['expert'],
  ['tensor'],
  ['pipeline', 'expert'],
  ['pipeline', 'tensor'],
  ['expert', 'tensor'],
  ['pipeline', 'expert', 'tensor'],
  ['deterministic'],
];

/** The axis `tensor` as its first of two ranks sees it. Both ranks have the same tensors. */
class Pair extends SingleCollective {
  override readonly size = 2 as 1;

  override allGather(x: tf.Tensor): tf.Tensor {
    return tf.concat([x, x]);
  }

  override allGatherObject<O>(object: O): O[] {
    return [object, object];
  }
}

const reduction = (count: number): GradientReduction => {
  const grads = new Array<tf.Tensor | null>(count).fill(null);
  return { ready: (i, grad) => void (grads[i] = grad), finish: () => grads };
};

/** A strategy with every member and every hook. It notes which are called. */
function complete(note: (name: string) => void, traits: Partial<StrategyTraits> = {}): Strategy {
  /** Notes the call of a member. */
  const noting = <A extends unknown[], R>(name: string, act: (...given: A) => R) => {
    return (...given: A): R => {
      note(name);
      return act(...given);
    };
  };
  const nothing = (name: string) => noting(name, () => undefined);
  return {
    name: 'complete',
    traits: { parameters: 'replicated', ...traits },
    attach: nothing('attach'),
    prepareVariables: nothing('prepareVariables'),
    prepareLayers: noting('prepareLayers', () => () => undefined),
    prepareOptimizer: nothing('prepareOptimizer'),
    tape: {
      what: 'everything',
      before: nothing('before'),
      after: nothing('after'),
      end: nothing('end'),
      pack: nothing('pack'),
      isIdle: noting('isIdle', () => false),
      isInert: noting('isInert', () => true),
    },
    stages: {
      place: nothing('stages'),
      enterStep: () => undefined,
      leaveStep: () => undefined,
      ownValues: (variable) => variable,
    },
    beginReduction: noting('beginReduction', ({ length }: readonly tf.Variable[]) => reduction(length)),
    gradients: {
      full: noting('gradients.full', (grads: readonly (tf.Tensor | null)[]) => [...grads]),
      local: nothing('gradients.local'),
    },
    globalNorm: noting('globalNorm', () => tf.scalar(1)),
    allFinite: noting('allFinite', () => true),
    changeGradients: noting(
      'changeGradients',
      (grads: readonly tf.Tensor[], change: (list: tf.Tensor[]) => tf.Tensor[]) => change([...grads]),
    ),
    materialize: noting('materialize', (variables: readonly tf.Variable[]) =>
      variables.map((each) => each.clone()),
    ),
    update: noting('update', (grads, apply) => apply(grads)) as NonNullable<Strategy['update']>,
    synchronize: nothing('synchronize'),
    layout: { shardsOf: nothing('layout.shardsOf'), localOf: nothing('layout.localOf') },
    state: {
      get: noting('state.get', () => ({ shared: {}, local: null })),
      set: nothing('state.set'),
    },
    detach: nothing('detach'),
  };
}

let kernels: KernelLayer;
let ended: (() => void)[] = [];

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  kernels = kernelLayerOf('acc', tf.backend());
});

afterEach(() => {
  for (const end of ended) end();
  ended = [];
  tf.disposeVariables();
});

/** Wraps a strategy as `assemble` does. */
function wrapped(inner: Strategy, wrappers: readonly Wrapper[]): Strategy {
  const sizes = Object.fromEntries(wrappers.map((each) => [each, 2]));
  const onMesh = onAxes(inner, sizes);
  if (wrappers.includes('tensor')) return tensorParallel(onMesh).strategy;
  if (!wrappers.includes('deterministic')) return onMesh;
  const deterministic = new Deterministic({}, { kernels, rank: 0, size: 1, seed: 1 });
  ended.push(() => deterministic.end());
  return deterministic.strategy(onMesh);
}

function contextOf(): StrategyContext {
  const collective = new SingleCollective();
  const alone = meshOf(collective, {});
  const pair: Collective = new Pair();
  const mesh: Mesh = { ...alone, along: (axis) => (axis === 'tensor' ? pair : alone.along(axis)) };
  const runForward = () => {
    throw new Error('unused');
  };
  return { collective, mesh, kernels, batchRows: () => undefined, runForward };
}

/** Calls every member and hook of a strategy for a variable that no axis divides. */
function callAll(strategy: Strategy): void {
  const free = tf.variable(tf.ones([2]), true, 'free');
  const divided = cut(tf.variable(tf.ones([4]), true, 'divided'), { dim: 0, axis: 'tensor' });
  const layer = tf.layers.dense({ units: 1, inputShape: [1] });
  const optimizer = tf.train.sgd(0.1);
  const grad = () => tf.ones([2]);
  strategy.attach(contextOf());
  strategy.prepareLayers?.([layer]);
  strategy.prepareVariables([divided], [layer]);
  strategy.prepareVariables([free]);
  const owners = new Map([[divided, 0]]);
  strategy.stages?.place({ owners, layers: [layer], layersElsewhere: new Set(), optimizers: [] });
  strategy.prepareOptimizer?.(optimizer);
  strategy.stages?.enterStep({ borrowed: new Map(), trained: [divided] });
  callHooks(strategy.tape, free);
  strategy.stages?.leaveStep();
  const begun = strategy.beginReduction([free]);
  begun.ready(0, grad());
  const reduced = begun.finish();
  strategy.gradients?.full(reduced, [free]);
  strategy.gradients?.local({ free: grad() });
  strategy.globalNorm?.({ free: grad() });
  strategy.allFinite?.([grad()]);
  strategy.changeGradients?.([grad()], (list) => list);
  strategy.materialize?.([free]);
  strategy.update?.({ free: grad() }, () => undefined, optimizer);
  strategy.synchronize?.(0);
  strategy.layout?.shardsOf(free);
  strategy.layout?.localOf?.(free);
  const state = strategy.state?.get();
  if (state) strategy.state!.set(state);
  strategy.detach?.();
}

function callHooks(tape: TapeHooks | undefined, variable: tf.Variable): void {
  tape?.isIdle?.();
  tape?.isInert?.([variable], 'forward');
  tape?.before?.([variable], 'forward');
  tape?.pack?.(variable, variable);
  tape?.after?.([variable], 'forward');
  tape?.end?.();
}

/** A strategy that has its members from a prototype, as an instance of a class, except some of them. */
function instance(strategy: Strategy, left: readonly string[] = []): Strategy {
  const members = Object.entries(strategy).filter(([name]) => !left.includes(name));
  return Object.create(Object.fromEntries(members) as object) as Strategy;
}

const fatesOf = (fates: Row, wrappers: readonly Wrapper[]): Fate[] => wrappers.map((each) => fates[each]);
/** The names of the rows that all of these wrappers forward. */
const forwarded = (table: Readonly<Record<string, Row>>, wrappers: readonly Wrapper[]): string[] =>
  Object.keys(table).filter((name) => fatesOf(table[name]!, wrappers).every((fate) => fate === 'forwarded'));
const refused = (table: Readonly<Record<string, Row>>, wrappers: readonly Wrapper[]): string[] =>
  Object.keys(table).filter((name) => fatesOf(table[name]!, wrappers).includes('refused'));

const CANNOT = expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }) as Error;

describe('the tables', () => {
  it('have a row for every member, hook and trait of the contract', () => {
    expect(Object.keys(MEMBERS).sort()).toEqual(Object.keys(STRATEGY_MEMBERS).sort());
    expect(Object.keys(HOOKS).sort()).toEqual([...TAPE_HOOK_KEYS].sort());
    expect(Object.keys(TRAITS).sort()).toEqual([...STRATEGY_TRAITS].sort());
    const strategy = complete(() => undefined);
    expect(Object.keys(strategy).sort()).toEqual(Object.keys(MEMBERS).sort());
    expect(Object.keys(strategy.tape!).sort()).toEqual(Object.keys(HOOKS).sort());
  });
});

describe.each(COMBINATIONS.map((wrappers) => [wrappers.join(' × '), wrappers] as const))(
  'a strategy with every member on %s',
  (_, wrappers) => {
    const allowed = (traits?: Partial<StrategyTraits>, note: (name: string) => void = () => undefined) =>
      instance(complete(note, traits), refused(MEMBERS, wrappers));

    it('gets the calls of the members that are forwarded, and no others', () => {
      const calls = new Set<string>();
      const strategy = wrapped(
        allowed({}, (name) => calls.add(name)),
        wrappers,
      );
      callAll(strategy);
      if (strategy.name.includes('complete')) calls.add('name');
      if (strategy.tape?.what === 'everything') calls.add('what');
      const [members, hooks] = [forwarded(MEMBERS, wrappers), forwarded(HOOKS, wrappers)];
      const expected = [...members.filter((name) => !HAVE_PARTS.includes(name)), ...hooks];
      expected.push(...forwarded(Object.fromEntries(GROUPED), wrappers));
      expect([...calls].sort()).toEqual(expected.sort());
    });

    it('is refused because of each member that the table refuses', () => {
      const names = refused(MEMBERS, wrappers);
      for (const name of names) {
        const others = names.filter((each) => each !== name);
        expect(() =>
          wrapped(
            instance(
              complete(() => undefined),
              others,
            ),
            wrappers,
          ),
        ).toThrowError(CANNOT);
      }
      expect(() => wrapped(allowed(), wrappers)).not.toThrow();
    });

    it.each(Object.entries(TRAITS))('has the trait %s as the table says', (name, fates) => {
      const trait = name as keyof StrategyTraits;
      const wrap = () => wrapped(allowed({ [trait]: SAMPLES[trait] }), wrappers).traits[trait];
      const all = fatesOf(fates, wrappers);
      if (all.includes('refused')) expect(wrap).toThrowError(CANNOT);
      else if (all.every((fate) => fate === 'forwarded')) expect(wrap()).toBe(SAMPLES[trait]);
      else expect(wrap()).not.toBe(SAMPLES[trait]);
    });
  },
);

it.each(WRAPPERS)('%s has the members of a strategy that it does not leave out', (wrapper) => {
  const isLeftOut = (name: string) => {
    const fate = MEMBERS[name as keyof Strategy][wrapper];
    return typeof fate === 'object' || fate === 'refused';
  };
  const strategy = wrapped(
    instance(
      complete(() => undefined),
      refused(MEMBERS, [wrapper]),
    ),
    [wrapper],
  );
  for (const name of Object.keys(MEMBERS)) {
    expect([name, strategy[name as keyof Strategy] === undefined]).toEqual([name, isLeftOut(name)]);
  }
});
