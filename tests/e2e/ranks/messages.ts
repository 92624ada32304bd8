// Rank 0 sends to rank 1, which first receives nothing. Reports which messages are then on their way to the end.
import type { Collective, Plugin } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';

const KIB = 256;
/** Floats of each message: 6 MiB together, then 30 MiB. Sizes of no block, less than one, and several. */
const PHASES = [
  [KIB, 0, 700 * KIB, 3, 128 * KIB, 64 * KIB + 1, 500 * KIB, 128 * KIB],
  Array.from({ length: 24 }, (_, i) => (i % 3 === 0 ? 5 : 480 * KIB + i)),
];

let collective!: Collective;
const asks: Plugin = { name: 'asks', attach: (context) => void ({ collective } = context) };
const accelerator = await Accelerator.create({ engine: 'acc', plugins: [asks] });
const { rank } = collective;
const valueOf = (phase: number, place: number) =>
  tf.add(tf.range(0, PHASES[phase]![place]!), 1000 * phase + place);
const report: { done: boolean[]; equal: boolean[] }[] = [];
for (const [phase, sizes] of PHASES.entries()) {
  const sent =
    rank === 0
      ? sizes.map((_, i) => collective.sendAsync(valueOf(phase, i), 1, { slot: `${phase} ${i}` }))
      : [];
  const done = sent.map(({ isDone }) => isDone);
  accelerator.waitForEveryone();
  const equal =
    rank === 1
      ? sizes.map((size, i) => {
          const got = collective.recv(0, { slot: `${phase} ${i}` });
          return got.size === size && tf.notEqual(got, valueOf(phase, i)).sum().dataSync()[0] === 0;
        })
      : [];
  for (const each of sent) each.wait();
  report.push({ done, equal });
}
reportResult(report);
await accelerator.endTraining();
