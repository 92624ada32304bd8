import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Measured } from './ranks/measured.js';

const module = new URL('./ranks/measured.ts', import.meta.url);
const narrow = (count: number) => Array.from({ length: count }, (_, i) => `narrow${i}`);

// Which of both sides of the expensive layer is cheaper depends on the time of calls.
const BESIDE: Record<string, string[][][]> = {
  'expensive at the end': [
    [
      [...narrow(8), 'up'],
      ['wide', 'down'],
    ],
    [[...narrow(8), 'up', 'wide'], ['down']],
  ],
  'expensive at the beginning': [
    [['up', 'wide'], narrow(9)],
    [['up'], ['wide', ...narrow(9)]],
  ],
};
BESIDE.masks = [
  [
    ['wide1', 'wide2'],
    ['narrow', 'down'],
  ],
];
BESIDE['limited open dims'] = BESIDE['expensive at the end']!;

it('cuts a model beside its expensive layer, and keeps nothing of what it measured', async () => {
  const found = await onRanks<Measured>({ module, ranks: 2, env: { OMP_NUM_THREADS: '1' } });
  for (const [name, beside] of Object.entries(BESIDE)) {
    const cuts = found.map((rank) => rank.cuts[name]!);
    expect(beside).toContainEqual(cuts.map(({ measured }) => measured.held));
    for (const { measured, named } of cuts) {
      expect(measured.held).toEqual(named.held);
      const [[tensors, bytes], [tensorsOfNamed, bytesOfNamed]] = [measured.kept, named.kept];
      expect(tensors).toBe(tensorsOfNamed);
      // A measured batch takes megabytes.
      expect(Math.abs(bytes - bytesOfNamed)).toBeLessThan(2 ** 16);
    }
  }
  for (const { refusal } of found) {
    expect(refusal).toMatch(/^ACC_PIPELINE_STAGES: .* could not be measured .*: more than 1 positions/);
  }
});
