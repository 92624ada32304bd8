import { tensor2d, tidy } from '@tensorflow/tfjs-core';
import { valuesOf, type Collective } from '@acc/contract';

/** The figures of one rank. Ranks exchange them as one row of numbers. A missing figure is NaN. */
export const FIGURES = [
  'rank',
  'lossSum',
  'lossWeight',
  'step',
  'data',
  'forward',
  'backward',
  'communication',
  'optimizer',
  'longest',
  'processCpuPercent',
  'processMemoryMib',
  'gpuPercent',
  'gpuMemoryMib',
] as const;

export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>;

/** Gathers the figures of every rank in one collective. Ranks whose data has ended are left out. */
export function exchange(own: Figures, collective: Pick<Collective, 'allGather' | 'size'>): Figures[] {
  if (collective.size === 1) return [own];
  const values = valuesOf(tidy(() => collective.allGather(tensor2d([FIGURES.map((name) => own[name])]))));
  return Array.from({ length: values.length / FIGURES.length }, (_, i) => {
    const at = i * FIGURES.length;
    return Object.fromEntries(FIGURES.map((name, j) => [name, values[at + j]!])) as Figures;
  });
}
