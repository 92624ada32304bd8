import { arrow, box, drawing, label } from './draw.mjs';

const MAIN = { x: 0, width: 220 };
const SIDE = { x: 260, width: 220 };

/** One step, from the batch to the new weights. */
export function step() {
  const main = (y, text, kind = 'plain', height = 44) => box({ ...MAIN, y, height, text, kind });
  const side = (y, text, kind, height = 44) => box({ ...SIDE, y, height, text, kind });
  const down = (from, to, x = 110) =>
    arrow([
      [x, from],
      [x, to],
    ]);
  const svg = drawing(480, 520, 'One step through the gradient driver, the strategy and the optimizer', [
    main(0, 'for await (batch of data)\nrows of this rank'),
    down(44, 68),
    main(70, 'forward: tfjs records\nthe operators on its tape'),
    arrow([
      [220, 92],
      [258, 92],
    ]),
    side(70, 'kernels → libtorch', 'plain'),
    down(114, 138),
    main(140, 'the gradient driver walks\nthe tape backwards', 'a'),
    down(184, 248),
    arrow([
      [220, 162],
      [258, 162],
    ]),
    side(140, 'a gradient is complete:\ninto its bucket', 'b'),
    down(184, 206, 370),
    side(208, 'bucket full: all-reduce\nstarts on a thread', 'b'),
    arrow([
      [258, 240],
      [222, 262],
    ]),
    main(250, 'end of the tape: wait for\nthe last buckets', 'a'),
    down(294, 318),
    main(320, 'settle: are all gradients finite\non every rank?'),
    arrow([
      [220, 342],
      [258, 342],
    ]),
    side(320, 'no: every rank\nskips the step', 'plain'),
    down(364, 388),
    main(390, 'clip, then plugins: transform'),
    down(434, 458),
    main(460, 'optimizer: new weights', 'c'),
    arrow([
      [220, 482],
      [258, 482],
    ]),
    side(460, 'plugins: afterStep\n(schedules, figures)', 'plain'),
    label({ x: 370, y: 272, text: 'continues during backward', anchor: 'middle', kind: 'muted' }),
  ]);
  return { svg, caption: 'One training step. Everything that a loop calls stays synchronous.' };
}
