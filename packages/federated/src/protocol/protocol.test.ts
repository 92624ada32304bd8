import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, decodeUpdate, encodeUpdate, UPDATE_DTYPE } from './compression.js';
import {
  decodeFrame,
  encodeFrame,
  entriesOf,
  maxFrameBytes,
  maxHeaderBytes,
  requireEntries,
} from './frame.js';
import { layoutOf, matchWeights } from './layout.js';
import { parseClientMessage, parseCoordinatorMessage } from './messages.js';

const layout = layoutOf([
  { name: 'dense/kernel', shape: [3, 2] },
  { name: 'dense/bias', shape: [2] },
]);
const limit = maxHeaderBytes(layout);
const element = fc.float({ noNaN: true, noDefaultInfinity: true });
const vector = fc.array(element, { minLength: 8, maxLength: 8 }).map((values) => Float32Array.from(values));
const refused = (code: string) => expect.objectContaining({ code: `ACC_FEDERATED_${code}` }) as unknown;

describe('frames', () => {
  it('keep the message and the elements', () => {
    fc.assert(
      fc.property(vector, fc.string(), (values, text) => {
        const bytes = encodeFrame({ type: 'weights', text }, entriesOf(layout, 'F32'), bytesOf(values));
        expect(bytes.length).toBeLessThanOrEqual(maxFrameBytes(layout));
        const frame = decodeFrame(bytes, limit);
        requireEntries(frame, layout, 'F32');
        expect(frame.message).toEqual({ type: 'weights', text });
        expect(new Float32Array(new Uint8Array(frame.body).buffer)).toEqual(values);
      }),
    );
  });

  it('of any other bytes are refused, and never crash', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => decodeFrame(bytes, limit)).toThrow(refused('PROTOCOL'));
      }),
    );
  });

  it('with one changed byte are refused or stay valid', () => {
    const valid = encodeFrame({ type: 'ready' }, entriesOf(layout, 'F32'), new Uint8Array(32));
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const bytes = valid.slice();
        bytes[at] = byte;
        try {
          requireEntries(decodeFrame(bytes, limit), layout, 'F32');
        } catch (error) {
          expect((error as { code: string }).code).toMatch(/^ACC_FEDERATED_(PROTOCOL|SHAPE)$/);
        }
      }),
    );
  });

  it('with a header beyond the limit are refused before it is read', () => {
    const bytes = new Uint8Array(16);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(limit + 1), true);
    expect(() => decodeFrame(bytes, limit)).toThrow(refused('PROTOCOL'));
  });

  it('of other weights are refused, with the first difference', () => {
    const other = layoutOf([...layout.weights.slice(0, 1), { name: 'dense/bias', shape: [3] }]);
    const frame = decodeFrame(encodeFrame({}, entriesOf(other, 'F32'), new Uint8Array(36)), limit);
    expect(() => requireEntries(frame, layout, 'F32')).toThrow(/tensor 1 is 'dense\/bias' F32 \[3\].*\[2\]/);
    expect(() => requireEntries(frame, other, 'BF16')).toThrow(refused('SHAPE'));
  });
});

describe('updates', () => {
  const travel = (values: Float32Array, compression: 'none' | 'bf16' | 'int8') =>
    decodeUpdate(encodeUpdate(values, layout, compression), layout, compression);

  it('arrive bit for bit without compression', () => {
    fc.assert(fc.property(vector, (values) => void expect(travel(values, 'none')).toEqual(values)));
  });

  it('are rounded to the nearest bfloat16', () => {
    fc.assert(
      fc.property(vector, (values) => {
        travel(values, 'bf16').forEach((value, i) => {
          const exact = values[i]!;
          // Half a unit of 8 bits of precision; below the normal numbers the unit is fixed.
          const bound = Math.max(Math.abs(exact) * 2 ** -8, 2 ** -134);
          const hasOverflow = Math.abs(exact) > 3.38e38;
          if (!hasOverflow) expect(Math.abs(value - exact)).toBeLessThanOrEqual(bound);
        });
      }),
    );
    expect(travel(Float32Array.of(1.00390625, 1.01171875, 0, 0, 0, 0, 0, 0), 'bf16').slice(0, 2)).toEqual(
      Float32Array.of(1, 1.015625),
    );
  });

  it('are rounded to the nearest of 255 steps of each weight', () => {
    fc.assert(
      fc.property(vector, (values) => {
        const { steps } = encodeUpdate(values, layout, 'int8');
        travel(values, 'int8').forEach((value, i) => {
          const step = steps[i < 6 ? 0 : 1]!;
          expect(Math.abs(value - values[i]!)).toBeLessThanOrEqual(step * (0.5 + 1e-6));
        });
      }),
    );
  });

  it('stay not finite if they were', () => {
    const values = Float32Array.of(1, NaN, 3, 4, 5, 6, 7, 8);
    for (const compression of ['none', 'bf16', 'int8'] as const) {
      expect(travel(values, compression).some((value) => Number.isNaN(value))).toBe(true);
    }
  });

  it('with other numbers of bytes or steps are refused', () => {
    const { body } = encodeUpdate(new Float32Array(8), layout, 'int8');
    expect(() => decodeUpdate({ body, steps: [1] }, layout, 'int8')).toThrow(refused('SHAPE'));
    expect(UPDATE_DTYPE).toEqual({ none: 'F32', bf16: 'BF16', int8: 'I8' });
  });
});

describe('weights of a model', () => {
  const [kernel, bias] = layout.weights as [(typeof layout.weights)[0], (typeof layout.weights)[0]];

  it('are matched by name, or by position where names are counted', () => {
    expect(matchWeights([kernel, bias], [bias, kernel])).toEqual([1, 0]);
    const counted = [
      { name: 'dense_7/kernel', shape: [3, 2] },
      { name: 'dense_7/bias', shape: [2] },
    ];
    expect(matchWeights([kernel, bias], counted)).toEqual([0, 1]);
  });

  it('that differ are refused', () => {
    for (const own of [
      [kernel],
      [kernel, bias, { name: 'x', shape: [1] }],
      [kernel, { name: 'dense/bias', shape: [4] }],
    ]) {
      expect(() => matchWeights([kernel, bias], own)).toThrow(refused('MODEL'));
    }
  });
});

it('messages are checked: types, sizes, numbers', () => {
  const update = { type: 'update', ticket: 'x', samples: 3, metrics: { loss: null }, steps: [] };
  expect(parseClientMessage(update)).toEqual({ ...update, metrics: { loss: NaN } });
  // Models have more weights than any fixed number.
  const steps = Array.from({ length: 100_001 }, (_, i) => i);
  expect(parseClientMessage({ ...update, steps })).toMatchObject({ steps });
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`m${i}`, i]));
  for (const wrong of [
    null,
    [],
    { type: 'shutdown' },
    { ...update, ticket: 'x'.repeat(65) },
    { ...update, samples: '3' },
    { ...update, metrics: many },
    { ...update, metrics: { ['x'.repeat(65)]: 1 } },
  ]) {
    expect(() => parseClientMessage(wrong)).toThrow(refused('PROTOCOL'));
  }
  const welcome = { type: 'welcome', weights: [], heartbeatMs: 1, compression: 'none' };
  expect(parseCoordinatorMessage(welcome)).toEqual(welcome);
  // A timer of 2³¹ ms fires at once.
  expect(() => parseCoordinatorMessage({ ...welcome, heartbeatMs: 2 ** 31 })).toThrow(refused('PROTOCOL'));
});
