import { expect, it } from 'vitest';
import { trainingCost } from './training-cost.js';

const DEVICES = 10;
/** A step of 2 s, and 1 s for every 100 samples. */
const secondsOf = (batch: number) => 2 + batch / 100;
const cost = (more: object = {}) =>
  trainingCost(
    { batch: 200, seconds: secondsOf(200) },
    { batch: 400, seconds: secondsOf(400) },
    { leastSamples: 1e6, criticalBatch: 800, devices: DEVICES, ...more },
  );

it('the fastest batch is √(B_crit r t₀), and others take longer', () => {
  const { fastestBatch, stepOverhead, samplesPerSecond, batches } = cost();
  expect([stepOverhead, samplesPerSecond]).toEqual([expect.closeTo(2, 9), expect.closeTo(100, 9)]);
  expect(fastestBatch).toBeCloseTo(Math.sqrt(800 * 100 * 2), 9);
  expect(batches.map(({ batch }) => batch)).toEqual([200, 400, 800]);
  const [half, best, twice] = batches.map(({ seconds }) => seconds.mid);
  expect(best).toBeLessThan(half!);
  expect(best).toBeLessThan(twice!);
});

it('at the critical batch, samples and steps are twice their least', () => {
  const at = cost().batches.find(({ batch }) => batch === 800)!;
  expect(at.samples.mid).toBeCloseTo(2e6, 3);
  // S_min is E_min ÷ B_crit.
  expect(at.steps.mid).toBeCloseTo(2 * (1e6 / 800), 6);
  // A quarter and four times of the critical batch.
  expect(at.samples.high).toBeCloseTo(1e6 * (1 + 4), 3);
  expect(at.samples.low).toBeCloseTo(1e6 * (1 + 1 / 4), 3);
});

it('money and energy are those of all devices', () => {
  const { batches } = cost({ pricePerHour: 3, watts: 500 });
  const [{ seconds, money, kilowattHours }] = batches as [(typeof batches)[number]];
  expect(money!.mid).toBeCloseTo((3 * DEVICES * seconds.mid) / 3600, 6);
  expect(kilowattHours!.high).toBeCloseTo((0.5 * DEVICES * seconds.high) / 3600, 6);
  expect(cost().batches[0]).not.toHaveProperty('money');
});

it('batches but that of the plan are multiples that the mesh can run', () => {
  expect(cost({ multipleOf: 64 }).batches.map(({ batch }) => batch)).toEqual([200, 192, 384, 832]);
  expect(cost({ multipleOf: 5000 }).batches.map(({ batch }) => batch)).toEqual([200, 5000]);
});

it.each([
  ['devices that are missing', { devices: undefined }, 'ACC_INVALID_OPTION'],
  ['a negative batch', { criticalBatch: -1 }, 'ACC_INVALID_OPTION'],
  ['an unknown option', { prize: 3 }, 'ACC_UNKNOWN_OPTION'],
])('refuses %s', (_, more, code) => {
  expect(() => cost(more)).toThrow(expect.objectContaining({ code }));
});

it('refuses steps that are no numbers', () => {
  const options = { leastSamples: 1e6, criticalBatch: 800, devices: 1 };
  expect(() => trainingCost({ batch: 1, seconds: NaN }, { batch: 2, seconds: 1 }, options)).toThrow(
    expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
  );
});
