import * as tf from '@tensorflow/tfjs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PackedTensor, TapeHooks } from '@acc/contract';
import type { Placed } from './placed.js';
import { stagedTape } from './staged-tape.js';

const variable = (name: string) => tf.variable(tf.zeros([2]), true, `${name} ${Math.random()}`);
/** A weight whose values come, another one of a stage, and a variable of no stage. */
const [COMING, OTHER, FREE] = ['coming', 'other', 'free'].map(variable) as tf.Variable[];
const OWN = variable('own');
const PACKED: PackedTensor = { unpack: () => tf.scalar(1), dispose: () => undefined };

let calls: unknown[][];
let state: { isInStep: boolean; hasRead: boolean; isInert: boolean };

const inner: TapeHooks = {
  what: 'gathering',
  before: (...given) => void calls.push(['before', ...given]),
  after: (...given) => void calls.push(['after', ...given]),
  end: () => void calls.push(['end']),
  pack(...given) {
    calls.push(['pack', ...given]);
    return PACKED;
  },
  isIdle: () => false,
  isInert(...given) {
    calls.push(['isInert', ...given]);
    return state.isInert;
  },
};

const placed = {
  local: OWN,
  useOwn: () => void calls.push(['use']),
  release: () => void calls.push(['release']),
} as Partial<Placed> as Placed;

const tapeOf = (hooks: TapeHooks | undefined) =>
  stagedTape(hooks, {
    isInStep: () => state.isInStep,
    hasRead: () => state.hasRead,
    keepOnly: (variables) => void calls.push(['keepOnly', variables]),
    coming: (variables) => (variables.includes(COMING!) ? [placed] : []),
    isOfStage: (each) => each === COMING || each === OTHER,
  });

beforeEach(() => {
  calls = [];
  state = { isInStep: true, hasRead: false, isInert: true };
});

describe('hooks of a strategy in stages', () => {
  it('get the weights that come as variables of their own, and no others of stages', () => {
    const tape = tapeOf(inner);
    const used = [COMING!, OTHER!, FREE!];
    tape.before!(used, 'forward');
    tape.after!(used, 'backward');
    tape.end!();
    expect(calls).toEqual([
      ['keepOnly', used],
      ['before', [OWN, FREE], 'forward'],
      ['use'],
      ['release'],
      ['after', [OWN, FREE], 'backward'],
      ['keepOnly', []],
      ['end'],
    ]);
    expect(tape.what).toBe('gathering');
  });

  it('pack activations, weights that come, and variables of no stage', () => {
    const { pack } = tapeOf(inner);
    const saved = tf.zeros([2]);
    expect(pack!(saved, undefined)).toBe(PACKED);
    expect(pack!(saved, COMING)).toBe(PACKED);
    expect(pack!(saved, FREE)).toBe(PACKED);
    expect(pack!(saved, OTHER)).toBeUndefined();
    expect(calls).toEqual([
      ['pack', saved, undefined],
      ['pack', saved, OWN],
      ['pack', saved, FREE],
    ]);
    saved.dispose();
  });

  it('say whether they would do nothing', () => {
    const { isInert } = tapeOf(inner);
    expect(isInert!([OTHER!, FREE!], 'forward')).toBe(true);
    expect(calls).toEqual([['isInert', [FREE], 'forward']]);
    expect(isInert!([COMING!], 'forward')).toBe(false);
    state.isInert = false;
    expect(isInert!([FREE!], 'forward')).toBe(false);
    state = { ...state, isInert: true, hasRead: true };
    expect(isInert!([FREE!], 'forward')).toBe(false);
  });

  it('are only those of reading if the strategy has none', () => {
    const tape = tapeOf(undefined);
    expect(Object.keys(tape).sort()).toEqual(['before', 'end', 'isIdle', 'isInert']);
    expect(tape.isInert!([FREE!], 'forward')).toBe(true);
    expect(tape.isIdle!()).toBe(true);
    state.isInStep = false;
    expect(tape.isIdle!()).toBe(false);
  });
});
