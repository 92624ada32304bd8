import { memory, scalar, tensor2d, type Tensor } from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { expect, it } from 'vitest';
import type { LossInfo, StepInfo, StrategyContext } from '@acc/contract';
import { FIGURES } from './exchange.js';
import { monitor, type MonitorSink } from './monitor.js';
import { resolveAutoLog } from './options.js';

const LOSS_SUM = FIGURES.indexOf('lossSum');
const info = { optimizer: {}, isShared: true, samples: 4 } as unknown as StepInfo;

/** Rank 0 of two. The loss of the other rank is `theirs`. */
function watch(sink: Partial<MonitorSink> = {}) {
  const state = { step: 0, theirs: 1 };
  const told: string[] = [];
  const allGather = (own: Tensor) => {
    const row = [...own.dataSync()];
    return tensor2d([row, row.with(LOSS_SUM, state.theirs)]);
  };
  const plugin = monitor(
    resolveAutoLog({ every: 2, system: false }),
    {
      isOpen: true,
      folder: undefined,
      facts: { strategy: 'ddp', options: {}, createdAt: null },
      get step() {
        return state.step;
      },
      log() {},
      alert: ({ kind, step }) => void told.push(`${kind} at ${step}`),
      warn: (message) => void told.push(message),
      norm: () => scalar(1),
      watch() {},
      ...sink,
    },
    2,
  );
  const collective = { rank: 0, size: 2, allGather };
  plugin.attach!({ collective, kernels: { device: 'cpu' } } as unknown as StrategyContext);
  const step = (own: number, theirs = own) => {
    const loss = scalar(own);
    plugin.loss!(loss, { items: 1 } as LossInfo);
    loss.dispose();
    state.theirs = theirs;
    state.step++;
    plugin.afterStep!(info);
  };
  return { step, told, end: () => plugin.detach!() };
}

it('a loss of another rank that is not finite causes one alert, and a warning at the end', () => {
  const { step, told, end } = watch();
  for (let i = 0; i < 7; i++) step(1, NaN);
  end();
  expect(told).toEqual([
    'loss-not-finite at 2',
    'acc: The training ends with a loss that is not finite: NaN since step 2.',
  ]);
});

it('a loss of this rank that is not finite causes one alert, and no warning if later ones are finite', () => {
  const { step, told, end } = watch();
  for (const loss of [1, 1, NaN, 1, 1, 1]) step(loss);
  end();
  expect(told).toEqual(['loss-not-finite at 3']);
});

it('frees its tensors if the listener of an alert throws', () => {
  const alert = () => {
    throw new Error('listener');
  };
  const before = memory().numTensors;
  const { step, end } = watch({ alert });
  for (const loss of [1, 1, NaN]) step(loss);
  expect(end).toThrow('listener');
  expect(memory().numTensors).toBe(before);
});
