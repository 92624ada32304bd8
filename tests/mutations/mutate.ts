/** Draws numbers in [0, 1). */
export type Random = () => number;

const below = (random: Random, count: number): number => Math.floor(random() * count);
const oneOf = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!;

/** Values that fields with lengths, counts and offsets do not expect. */
const NUMBERS = [0, 1, -1, -512, 2 ** 31 - 1, -(2 ** 31), 2 ** 30, 0x7fff, 255];

type Mutation = (bytes: Buffer, random: Random) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  flipBits,
  flipBits,
  setField,
  setField,
  setField,
  truncate,
  (bytes, random) => without(bytes, ...slice(bytes, random)),
  (bytes, random) => {
    const [from, to] = slice(bytes, random);
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to)]);
  },
  (bytes, random) => {
    const [from, to] = slice(bytes, random);
    const copy = Buffer.from(bytes);
    copy.fill(oneOf(random, [0, 255, 0x39]), from, to);
    return copy;
  },
];

/** Damages bytes in one to three ways. */
export function mutated(bytes: Uint8Array, random: Random): Buffer {
  let result: Buffer = Buffer.from(bytes);
  for (let ways = 1 + below(random, 3); ways > 0 && result.length > 0; ways--) {
    result = oneOf(random, MUTATIONS)(result, random);
  }
  return result;
}

function flipBits(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let flips = 1 + below(random, 4); flips > 0; flips--) {
    copy[below(random, copy.length)]! ^= 1 << below(random, 8);
  }
  return copy;
}

/** Numbers of 1, 2, 4 and 8 bytes in both orders, and in decimal digits. */
function setField(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  const value = oneOf(random, NUMBERS);
  const width = oneOf(random, [1, 2, 4, 8]);
  const field = Buffer.alloc(8);
  if (random() < 0.2) field.write(String(value).padStart(width, '0').slice(0, 8), 'latin1');
  else if (random() < 0.8) field.writeBigInt64LE(BigInt(value));
  else field.writeBigInt64BE(BigInt.asIntN(64, BigInt(value) << BigInt(64 - 8 * width)));
  field.copy(copy, below(random, copy.length), 0, width);
  return copy;
}

function truncate(bytes: Buffer, random: Random): Buffer {
  return bytes.subarray(0, below(random, bytes.length));
}

function slice(bytes: Buffer, random: Random): [from: number, to: number] {
  const from = below(random, bytes.length);
  const length = 1 + below(random, oneOf(random, [4, 64, bytes.length]));
  return [from, Math.min(from + length, bytes.length)];
}

function without(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
}

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};

/** Values that readers of JSON do not expect. */
const VALUES: readonly (() => unknown)[] = [
  () => null,
  () => [],
  () => ({}),
  () => '',
  () => 'x',
  () => '../x',
  () => true,
  () => -1,
  () => 0,
  () => 1.5,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 1e308,
  () => 1_000_000,
  () => nested(3),
  () => nested(5000),
  () => ({ $acc: null }),
  () => ({ $acc: { kind: 'tensor', name: 'x' } }),
];

/** Replaces, removes and repeats parts of a value that JSON can hold. */
export function mutatedJson(given: unknown, random: Random): unknown {
  const root = { value: structuredClone(given) };
  for (let ways = 1 + below(random, 2); ways > 0; ways--) {
    const places = placesIn(root.value, root, 'value');
    const { parent, key } = oneOf(random, places);
    const way = random();
    if (way < 0.2) {
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
    } else if (way < 0.3 && Array.isArray(parent)) parent.push(parent[Number(key)]);
    else if (way < 0.4 && typeof parent[key] === 'number') parent[key] = -parent[key] - 1;
    else parent[key] = oneOf(random, VALUES)();
  }
  return root.value;
}

type Parent = Record<string, unknown>;

function placesIn(value: unknown, parent: object, key: string): { parent: Parent; key: string }[] {
  const own = { parent: parent as Parent, key };
  if (typeof value !== 'object' || value === null) return [own];
  const list = Object.entries(value);
  // What lies deep was put there by a mutation before this one.
  return [
    own,
    ...list.slice(0, 200).flatMap(([name, item]) => (isShallow(item) ? placesIn(item, value, name) : [])),
  ];
}

const isShallow = (value: unknown): boolean =>
  !(Array.isArray(value) && value.length === 1 && Array.isArray(value[0]) && Array.isArray(value[0][0]));
