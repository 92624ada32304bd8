import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deviceMap, followedMap, type WeightGroup } from './device-map.js';
import { resolveLimits, type Limits } from './options.js';

beforeAll(() => tf.setBackend('cpu'));
afterAll(() => tf.disposeVariables());

const LIMITS = { device: 0, host: 0, disk: Infinity, folder: '/tmp', map: undefined } satisfies Limits;

/** Groups of float32 weights. A negative number: frozen. */
const groupsOf = (...elements: number[]): WeightGroup[] =>
  elements.map((count, i) => ({
    name: `layer${i}`,
    weights: [tf.variable(tf.zeros([Math.abs(count)]), count > 0)],
  }));

function placed(groups: readonly WeightGroup[], limits: Partial<Limits> & { device: number }) {
  const map = deviceMap(groups, { ...LIMITS, ...limits });
  const numbers = (variables: readonly tf.Variable[]) =>
    variables.map((variable) => groups.findIndex(({ weights }) => weights.includes(variable)));
  return {
    resident: numbers(map.resident),
    onHost: numbers(map.onHost),
    onDisk: numbers(map.onDisk),
    room: map.roomBytes,
  };
}

it('keeps all of a model that fits, and needs no folder for it', () => {
  expect(placed(groupsOf(10, 20, 30), { device: 240, folder: undefined as never })).toEqual({
    resident: [0, 1, 2],
    onHost: [],
    onDisk: [],
    room: 0,
  });
});

it('keeps the first layers, and has room for the largest of the others', () => {
  const groups = groupsOf(10, 20, 30, 5);
  expect(placed(groups, { device: 259 })).toMatchObject({ resident: [0, 1], onDisk: [2, 3], room: 139 });
  expect(placed(groups, { device: 239 })).toMatchObject({ resident: [0], onDisk: [1, 2, 3], room: 199 });
  expect(placed(groups, { device: 120 })).toMatchObject({ resident: [], onDisk: [0, 1, 2, 3], room: 120 });
});

it('keeps trained weights rather than frozen ones', () => {
  expect(placed(groupsOf(-30, -20, 10, 5), { device: 180 })).toMatchObject({
    resident: [2, 3],
    onDisk: [0, 1],
    room: 120,
  });
});

it('fills host memory before the disk', () => {
  expect(placed(groupsOf(10, 10, 10, 10), { device: 80, host: 60 })).toMatchObject({
    resident: [0],
    onHost: [1],
    onDisk: [2, 3],
  });
  expect(placed(groupsOf(10, 10, 10), { device: 80, host: 80, folder: undefined as never }).onDisk).toEqual(
    [],
  );
});

it.each([
  ['a layer that does not fit', { device: 100 }, 'ACC_MEMORY_TOO_SMALL'],
  ['no folder', { device: 130, folder: undefined as never }, 'ACC_OFFLOAD_FOLDER'],
  ['a disk that is too small', { device: 130, disk: 50 }, 'ACC_MEMORY_TOO_SMALL'],
])('refuses %s', (_, limits, code) => {
  expect(() => placed(groupsOf(10, 20, 30), limits)).toThrowError(expect.objectContaining({ code }));
});

it.each([
  [{ maxMemory: 5 }, 'cpu', { device: 5, host: 0, disk: Infinity }],
  [{ maxMemory: { cpu: 5, disk: 7 } }, 'cpu', { device: 5, host: 0, disk: 7 }],
  [{ maxMemory: { 'cuda:0': 5, cpu: 6 } }, 'cuda:0', { device: 5, host: 6, disk: Infinity }],
  [{ maxMemory: { cpu: 6 } }, 'cuda:0', { device: undefined, host: 6 }],
  [{ maxMemory: { 'cuda:0': 5 } }, 'cuda:0', { device: 5, host: undefined }],
  [{ offloadFolder: 'here' }, 'cpu', { device: undefined, folder: 'here' }],
])('reads the limits %j on %s', (options, device, limits) => {
  expect(resolveLimits('dispatchModel', options, device)).toMatchObject(limits);
});

it.each([
  [{ maxMemori: 5 }, 'ACC_UNKNOWN_OPTION'],
  [{ maxMemory: -1 }, 'ACC_INVALID_OPTION'],
  [{ maxMemory: 'all' }, 'ACC_INVALID_OPTION'],
  [{ maxMemory: { cpu: -1 } }, 'ACC_INVALID_OPTION'],
  [{ maxMemory: { 'cuda:0': 1 } }, 'ACC_INVALID_OPTION'],
  [{ offloadFolder: '' }, 'ACC_INVALID_OPTION'],
])('refuses %j', (options, code) => {
  expect(() => resolveLimits('dispatchModel', options as never, 'cpu')).toThrowError(
    expect.objectContaining({ code }),
  );
});

it('follows a map of the program, and refuses one of other layers', () => {
  const groups = groupsOf(10, 20, 30);
  const limits = {
    ...LIMITS,
    device: undefined,
    host: undefined,
    map: { layer0: 'cpu', layer1: 'disk', layer2: 'cpu' },
  };
  const map = followedMap(groups, limits, 'cpu');
  expect(map.resident).toEqual([groups[0]!.weights[0], groups[2]!.weights[0]]);
  expect(map.onDisk).toEqual(groups[1]!.weights);
  expect(map.roomBytes).toBe(80);
  expect(followedMap(groups, limits, 'cuda:0')).toMatchObject({ resident: [], roomBytes: 120 });
  expect(followedMap(groups, { ...limits, host: 160 }, 'cuda:0').onHost).toHaveLength(2);
  const code = (name: string) => expect.objectContaining({ code: name }) as Error;
  expect(() => followedMap(groups, { ...limits, device: 239 }, 'cpu')).toThrow(code('ACC_MEMORY_TOO_SMALL'));
  expect(() => followedMap(groups, { ...limits, host: 159 }, 'cuda:0')).toThrow(code('ACC_MEMORY_TOO_SMALL'));
  expect(() => followedMap(groups, { ...limits, map: { layer0: 'cpu', other: 'cpu' } }, 'cpu')).toThrow(
    'it lacks layer1, layer2; the model has no layer with weights named other',
  );
});
