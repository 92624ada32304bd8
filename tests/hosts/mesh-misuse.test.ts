import { beforeAll, describe, expect, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { startRanks } from './run-on-hosts.js';

type Sizes = Readonly<Record<string, number>>;

interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly ms?: number;
  readonly sizes?: readonly (readonly [string, number])[];
  readonly sum?: number;
  readonly warnings?: readonly string[];
}

/** Do not fit two ranks on each of two hosts. */
const UNFIT = {
  'too large': { data: 2, tensor: 4 },
  'too small': { data: 2 },
  'that fit one host': { data: 1, tensor: 2 },
  'of which two are -1': { data: -1, tensor: -1 },
  'that leave no whole number for -1': { data: -1, tensor: 3 },
} satisfies Record<string, Sizes>;

const EVEN = { data: 2, tensor: 2 };
/** The sizes on the second host, where those on the first are {@link EVEN}. */
const OTHER = {
  'with another shape': { data: 4, tensor: 1 },
  'with another axis': { data: 2, context: 2 },
  'that does not fit': { data: 2, tensor: 3 },
  'with -1': { data: -1, tensor: 2 },
} satisfies Record<string, Sizes>;

/** The same mesh on each host, which is written differently. */
const SAME = {
  'with a size of -1': [
    { data: -1, tensor: 2 },
    { data: -1, tensor: 2 },
  ],
  'with the axes in another order': [EVEN, { tensor: 2, data: 2 }],
} satisfies Record<string, Sizes[]>;

/** A mesh whose exchanges in each layer go between hosts. */
const ACROSS = { tensor: 4 };

const byHost = [
  [ACROSS, ACROSS],
  ...Object.values(UNFIT).map((sizes) => [sizes, sizes]),
  ...Object.values(OTHER).map((sizes) => [EVEN, sizes]),
  ...Object.values(SAME),
];
let found: Outcome[][];

/** The report of each rank on one of the meshes. */
const outcomesOf = (sizes: unknown): Outcome[] => {
  const index = byHost.findIndex((each) => each === sizes || each[1] === sizes);
  return found.map((each) => each[index]!);
};

beforeAll(async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'meshes.ts', [JSON.stringify(byHost)], { ranksPerHost: 2 });
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  for (const { code, output } of ends) expect(code, output).toBe(0);
  found = ends.map(({ result }) => result as Outcome[]);
});

describe('on two ranks of each of two hosts', () => {
  it.each(Object.entries(UNFIT))('sizes %s are refused on every rank', (_, sizes) => {
    const text = Object.entries(sizes).map(([axis, size]) => `${axis}: ${size}`);
    for (const { code, message, ms } of outcomesOf(sizes)) {
      expect(code).toBe('ACC_INVALID_OPTION');
      expect(message).toContain(`{ ${text.join(', ')} }`);
      expect(message).toContain('4 ranks');
      expect(ms).toBeLessThan(15_000);
    }
  });

  it.each(Object.entries(OTHER))('a host %s is named on every rank', (_, sizes) => {
    for (const { code, message, ms } of outcomesOf(sizes)) {
      expect(code).toBe('ACC_OPTIONS_DIFFER');
      for (const rank of [0, 1]) expect(message).toContain(`rank ${rank}: ${JSON.stringify(EVEN)}`);
      for (const rank of [2, 3]) expect(message).toContain(`rank ${rank}: ${JSON.stringify(sizes)}`);
      expect(ms).toBeLessThan(15_000);
    }
  });

  it.each(Object.entries(SAME))('a mesh %s is laid out', (_, sizes) => {
    for (const outcome of outcomesOf(sizes)) {
      expect(outcome).toEqual({ sizes: Object.entries(EVEN), sum: 4, warnings: [] });
    }
  });

  it('exchanges between hosts cause a warning on the main process', () => {
    const [main, ...others] = outcomesOf(ACROSS).map(({ warnings }) => warnings!);
    expect(main).toHaveLength(1);
    expect(main![0]).toContain('mesh axis tensor');
    expect(main![0]).toContain('ranks 0, 1, 2, 3 on host0, host1.');
    expect(main![0]).toContain('mesh: { data: 2, tensor: 2 }');
    expect(others).toEqual([[], [], []]);
  });
});
