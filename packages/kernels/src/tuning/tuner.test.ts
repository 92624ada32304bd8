import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccError } from '@acc/contract';
import { operator, tensorFrom, type Tensor } from '@acc/native';
import { parseTuning } from './options.js';
import { Tuner, type ChoiceStore, type Family } from './tuner.js';

const add = operator('aten::add.Tensor');

/**
 * The time that the tuner reads. The tests set how long a candidate takes, whatever the load of the
 * machine.
 */
let now = 0;
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now));
afterEach(() => void vi.restoreAllMocks());

function spend(ms: number): void {
  now += ms;
}

interface Calls {
  readonly family: Family<readonly [Tensor]>;
  readonly counts: Record<string, number>;
}

function doubling(name = 'double'): Calls {
  const counts: Record<string, number> = { slow: 0, quick: 0, broken: 0 };
  const family: Family<readonly [Tensor]> = {
    name,
    candidates: {
      slow: (x) => {
        counts.slow!++;
        spend(3);
        return add(x, x);
      },
      quick: (x) => {
        counts.quick!++;
        spend(1);
        return add(x, x);
      },
      broken: () => {
        counts.broken!++;
        throw new AccError('ACC_OPERATOR_FAILED', 'not on this device');
      },
    },
    clearly: 0.9,
    classOf: ({ shape }) => shape[0]!,
    nameOf: ({ shape }) => `[${shape.join()}]`,
    isSmall: ({ shape }) => shape[0] === 1,
  };
  return { family, counts };
}

const vector = (length: number) => tensorFrom(new Float32Array(length).fill(1), 'float32', [length]);
const tunerWith = (text: string) => new Tuner(() => parseTuning(text));

function run(candidate: (x: Tensor) => Tensor, length: number): number {
  using x = vector(length);
  using result = candidate(x);
  return result.read()[0] as number;
}

describe('the tuner', () => {
  it('chooses the fastest candidate that works, and measures a class of shapes once', () => {
    const { family, counts } = doubling();
    const tuner = tunerWith('');
    const candidate = tuner.tuned(family);
    expect(run(candidate, 8)).toBe(2);
    const measured = { ...counts };
    expect(measured.broken).toBe(1);
    for (let i = 0; i < 10; i++) run(candidate, 8);
    expect(counts).toEqual({ ...measured, quick: measured.quick! + 10 });
    expect(tuner.choices).toMatchObject([{ family: 'double', shapes: '[8]', candidate: 'quick' }]);
    expect(Object.keys(tuner.choices[0]!.measuredMs)).toEqual(['slow', 'quick']);
    expect(tuner.choices[0]!.failures).toEqual({ broken: 'not on this device' });
    run(candidate, 9);
    expect(tuner.choices.map(({ shapes }) => shapes)).toEqual(['[8]', '[9]']);
  });

  it('throws the error of a device that has failed, and excludes no candidate for it', () => {
    const { family } = doubling();
    const failing = (_: Tensor): Tensor => {
      throw new AccError('ACC_DEVICE_FAILED', 'device-side assert triggered');
    };
    const tuner = tunerWith('');
    const candidate = tuner.tuned({ ...family, candidates: { ...family.candidates, failing } });
    expect(() => run(candidate, 8)).toThrowError(
      expect.objectContaining({ code: 'ACC_DEVICE_FAILED' }) as Error,
    );
    expect(tuner.choices).toEqual([]);
  });

  it('compares typical times, not the shortest ones', () => {
    const { family } = doubling();
    let calls = 0;
    const moody = (x: Tensor) => {
      spend(calls++ % 3 === 1 ? 0 : 6);
      return add(x, x);
    };
    const tuner = tunerWith('');
    run(tuner.tuned({ ...family, candidates: { ...family.candidates, moody } }), 8);
    run(tuner.tuned({ ...family, name: 'second', candidates: { slow: family.candidates.slow!, moody } }), 8);
    expect(tuner.choices.map(({ candidate }) => candidate)).toEqual(['quick', 'slow']);
  });

  it('leaves the first candidate only for one that is clearly faster', () => {
    const { family } = doubling();
    const tuner = tunerWith('');
    run(tuner.tuned({ ...family, clearly: 0 }), 8);
    expect(tuner.choices).toMatchObject([{ candidate: 'slow' }]);
  });

  it('measures again in another precision', () => {
    const tuner = tunerWith('');
    const { family, counts } = doubling();
    const candidate = tuner.tuned(family);
    run(candidate, 8);
    const { quick } = counts;
    tuner.computeIn(undefined);
    run(candidate, 8);
    expect(counts.quick).toBe(quick! + 1);
    tuner.computeIn('bf16');
    run(candidate, 8);
    expect(counts.slow).toBeGreaterThan(1);
    expect(counts.quick).toBeGreaterThan(quick! + 2);
    expect(Object.keys(tuner.candidates)).toEqual([expect.stringMatching(/^double\/\[8\]\/\d+\/bf16$/)]);
  });

  it('does not measure small shapes', () => {
    const { family, counts } = doubling();
    run(tunerWith('').tuned(family), 1);
    expect(counts).toEqual({ slow: 1, quick: 0, broken: 0 });
  });

  it('uses pinned candidates', () => {
    const { family, counts } = doubling();
    const candidate = tunerWith('double=slow').tuned(family);
    run(candidate, 8);
    expect(counts).toEqual({ slow: 1, quick: 0, broken: 0 });
  });

  it.each(['double=swift', 'doubble=quick'])('refuses the pin %s', (pin) => {
    const candidate = tunerWith(pin).tuned(doubling().family);
    expect(() => run(candidate, 8)).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  });

  it('throws the error of the first candidate', () => {
    const { family } = doubling();
    const { broken } = family.candidates as { broken: () => Tensor };
    const candidate = tunerWith('').tuned({
      ...family,
      candidates: { broken, quick: family.candidates.quick! },
    });
    expect(() => run(candidate, 8)).toThrowError('not on this device');
  });

  it('measures again if a candidate ran out of memory, and excludes it after the third time', () => {
    const values = new Map<string, string>();
    const store: ChoiceStore = {
      find: (key) => values.get(key),
      agree: (key, value) => values.set(key, value).get(key)!,
    };
    /**
     * The choices after `calls` calls, where one of the candidates runs out of memory in the calls for
     * which `isShort` is true.
     */
    const chosenAfter = (calls: number, isShort: (call: number) => boolean) => {
      values.clear();
      const { family, counts } = doubling();
      let call = 0;
      const hungry = (x: Tensor) => {
        if (isShort(++call)) throw new AccError('ACC_OUT_OF_MEMORY', 'no room');
        return add(x, x);
      };
      const tuner = tunerWith('');
      tuner.share(store);
      const candidate = tuner.tuned({ ...family, candidates: { slow: family.candidates.slow!, hungry } });
      for (let i = 0; i < calls; i++) expect(run(candidate, 8)).toBe(2);
      return { choices: tuner.choices, agreed: [...values.values()], counts };
    };
    expect(chosenAfter(2, (call) => call <= 2)).toMatchObject({ choices: [], agreed: [] });
    expect(chosenAfter(3, (call) => call <= 2)).toMatchObject({
      choices: [{ candidate: 'hungry', failures: {} }],
      agreed: ['hungry'],
    });
    expect(chosenAfter(1, (call) => call === 2)).toMatchObject({ choices: [], agreed: [] });
    expect(chosenAfter(3, () => true)).toMatchObject({ choices: [], agreed: [] });
    expect(chosenAfter(4, () => true)).toMatchObject({
      choices: [{ candidate: 'slow', failures: { hungry: 'no room' } }],
      agreed: ['slow'],
    });
  });

  it('throws an error that means a defect of a candidate, unlike one of a missing candidate', () => {
    const { family } = doubling();
    const faulty = (_: Tensor): Tensor => {
      throw new TypeError('a fault');
    };
    const candidate = tunerWith('').tuned({ ...family, candidates: { ...family.candidates, faulty } });
    expect(() => run(candidate, 8)).toThrowError('a fault');
  });

  it('uses what the job agreed on, and forgets what it chose alone', () => {
    const { family } = doubling();
    const values = new Map<string, string>();
    const store: ChoiceStore = {
      find: (key) => values.get(key),
      agree: (key, value) => {
        if (!values.has(key)) values.set(key, value);
        return values.get(key)!;
      },
    };
    const first = tunerWith('');
    first.share(store);
    run(first.tuned(family), 8);
    expect([...values.values()]).toEqual(['quick']);
    for (const key of values.keys()) values.set(key, 'slow');
    const second = tunerWith('');
    const candidate = second.tuned(family);
    run(candidate, 8);
    expect(second.choices).toMatchObject([{ candidate: 'quick' }]);
    second.share(store);
    expect(second.choices).toEqual([]);
    run(candidate, 8);
    expect(second.choices).toMatchObject([{ candidate: 'slow', measuredMs: {} }]);
  });
});

describe('ACC_KERNELS_TUNE', () => {
  it('contains pins and print', () => {
    expect(parseTuning('')).toEqual({ pins: {}, print: false });
    expect(parseTuning('print, matmul=onednn,convolution=channelsLast')).toEqual({
      pins: { matmul: 'onednn', convolution: 'channelsLast' },
      print: true,
    });
  });

  it.each(['fast', 'matmul=', '=blas', 'a=b=c'])('refuses %s', (text) => {
    expect(() => parseTuning(text)).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_OPTION' }));
  });
});
