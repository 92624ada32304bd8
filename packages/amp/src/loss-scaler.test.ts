import { describe, expect, it } from 'vitest';
import { LossScaler } from './loss-scaler.js';
import { resolveAmpOptions, type LossScaleOptions } from './options.js';

const scaler = (lossScale: LossScaleOptions) => new LossScaler(resolveAmpOptions({ lossScale }).lossScale);

function scalesAfter(options: LossScaleOptions, steps: readonly boolean[]): number[] {
  const tested = scaler(options);
  return steps.map((isFinite) => {
    tested.update(isFinite);
    return tested.scale;
  });
}

describe('the loss scale', () => {
  it('grows after growthInterval finite steps in a row and shrinks at once after an overflow', () => {
    const options = { initial: 8, growthInterval: 2 };
    expect(scalesAfter(options, [true, true, true, false, true, true])).toEqual([8, 16, 16, 8, 8, 16]);
  });

  it('uses the given factors and never falls below the minimum', () => {
    const options = { initial: 9, growthFactor: 10, backoffFactor: 0.1, growthInterval: 1, minimum: 2 };
    expect(scalesAfter(options, [true, false, false, false])).toEqual([90, 9, 2, 2]);
  });

  it('shrinks only after hysteresis overflows, counted anew after it has grown', () => {
    const options = { initial: 8, hysteresis: 2, growthInterval: 2 };
    const steps = [false, true, false, false, true, true, false, false];
    expect(scalesAfter(options, steps)).toEqual([8, 8, 4, 2, 2, 4, 4, 2]);
  });

  it('does not grow on an overflow, even if the restored scale is below the minimum', () => {
    const tested = scaler({ initial: 0.25, minimum: 0.25 });
    const other = scaler({ minimum: 1 });
    other.setState(tested.getState());
    other.update(false);
    expect(other.scale).toBe(0.25);
  });

  it('stays as it is with dynamic: false, also after a restored state', () => {
    expect(scalesAfter({ dynamic: false, initial: 0.5 }, [false, true, false])).toEqual([0.5, 0.5, 0.5]);
    const tested = scaler({ dynamic: false, initial: 8 });
    tested.setState(scaler({ initial: 2 }).getState());
    expect(tested.scale).toBe(8);
  });

  it('continues from a restored state', () => {
    const first = scaler({ growthInterval: 2 });
    first.update(true);
    const second = scaler({ growthInterval: 2 });
    second.setState(first.getState());
    second.update(true);
    expect(second.scale).toBe(2 * first.scale);
  });

  it.each([
    { initial: 0 },
    { initial: 0.25 },
    { initial: 4, minimum: 8 },
    { growthFactor: 1 },
    { backoffFactor: 1 },
    { hysteresis: 0 },
    { dynamic: false, growthInterval: 5 },
    { dynamic: 0 },
    { intial: 1 },
  ])('refuses %j', (options) => {
    expect(() => scaler(options as LossScaleOptions)).toThrowError(
      expect.objectContaining({
        code: 'intial' in options ? 'ACC_UNKNOWN_OPTION' : 'ACC_INVALID_OPTION',
      }),
    );
  });
});
