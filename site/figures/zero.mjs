import { box, drawing, label, range } from './draw.mjs';

const RANKS = 4;
const HELD = [
  { name: 'parameters', bytes: 4, kind: 'a' },
  { name: 'gradients', bytes: 4, kind: 'b' },
  { name: 'optimizer', bytes: 8, kind: 'c' },
];
/** The tensors that each stage divides over the ranks, by the name of what is held. */
const STAGES = [
  { name: 'ddp', divided: [] },
  { name: 'stage 1', divided: ['gradients', 'optimizer'], note: '*' },
  { name: 'stage 2', divided: ['gradients', 'optimizer'] },
  { name: 'stage 3', divided: ['parameters', 'gradients', 'optimizer'] },
];

/** Bytes of each parameter on one rank. */
export function bytesPerParameter({ divided }, ranks) {
  return HELD.reduce((sum, { name, bytes }) => sum + (divided.includes(name) ? bytes / ranks : bytes), 0);
}

/** One row for each stage: what each of four ranks holds of parameters, gradients and state. */
export function zero() {
  const left = 70;
  const column = 84;
  const stages = STAGES.map((stage, s) => {
    const y = 62 + s * 82;
    return [
      label({ x: 0, y: y + 22, text: `${stage.name}${stage.note ?? ''}`, kind: 'strong' }),
      label({ x: 0, y: y + 42, text: `${bytesPerParameter(stage, RANKS)} B`, kind: 'muted' }),
      range(RANKS).map((rank) =>
        HELD.map((held, h) => bar(stage, held, rank, left + rank * column, y + h * 22)),
      ),
    ];
  });
  const svg = drawing(480, 396, 'What each of four ranks holds in ddp and in the stages 1 to 3 of fsdp', [
    range(RANKS).map((rank) =>
      label({ x: left + rank * column + 37, y: 46, text: `rank ${rank}`, anchor: 'middle' }),
    ),
    HELD.map(({ name, bytes, kind }, i) => [
      box({ x: i * 160, y: 10, width: 14, height: 14, kind }),
      label({ x: i * 160 + 20, y: 17, text: `${name}: ${bytes} B` }),
    ]),
    stages,
  ]);
  return {
    svg,
    caption:
      'Bytes of each parameter on one of four ranks, with Adam in float32, when the update begins. A filled part is held, an empty one lies on other ranks. * Within a window of gradient accumulation, stage 1 holds whole gradients.',
  };
}

function bar({ divided }, { name, kind }, rank, x, y) {
  const width = 74;
  const empty = box({ x, y, width, height: 18, kind: 'empty' });
  if (!divided.includes(name)) return [empty, box({ x, y, width, height: 18, kind })];
  return [empty, box({ x: x + (rank * width) / RANKS, y, width: width / RANKS, height: 18, kind })];
}
