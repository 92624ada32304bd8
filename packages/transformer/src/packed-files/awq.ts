import { unsupportedQuantization } from './errors.js';
import { requireEqualGroups } from './groups.js';
import { numberIn, type PackedWeight, type Packing, type Parts } from './parts.js';

const BITS = 4;
const EACH = 8;
/** The place in a word of each of eight columns, in units of four bits: AutoAWQ's interleaved order. */
const PLACES = [0, 4, 1, 5, 2, 6, 3, 7];

/** The layout of AutoAWQ's `gemm`: words of numbers and of zeros along the outputs. */
export function awq(config: Readonly<Record<string, unknown>>): Packing {
  const { bits, version = 'gemm' } = config;
  if (bits !== BITS) throw unsupportedQuantization(`has ${JSON.stringify(bits)} bits of awq; expected 4`);
  if (String(version).toLowerCase() !== 'gemm') {
    throw unsupportedQuantization(`has the version ${JSON.stringify(version)} of awq; expected "gemm"`);
  }
  return { marker: 'qweight', ends: ['qweight', 'qzeros', 'scales'], open };
}

function open(parts: Parts): PackedWeight {
  const [columns, words] = parts.get('qweight', 2).shape as [number, number];
  const rows = words * EACH;
  const [groups] = parts.get('scales', 2).shape as [number, number];
  parts.require('scales', [groups, rows]);
  parts.require('qzeros', [groups, words]);
  requireEqualGroups(`${parts.prefix}scales`, { columns, groups });
  return {
    shape: [rows, columns],
    async fill(values, layer) {
      const numbers = await parts.wholes('qweight', layer);
      const zeros = await parts.wholes('qzeros', layer);
      const scales = await parts.floats('scales', layer);
      for (let column = 0; column < columns; column++) {
        const group = Math.floor((column * groups) / columns);
        for (let row = 0; row < rows; row++) {
          const [word, place] = [row >> 3, PLACES[row & 7]!];
          const number = numberIn(numbers[column * words + word]!, place, BITS);
          const zero = numberIn(zeros[group * words + word]!, place, BITS);
          values[row * columns + column] = (number - zero) * scales[group * rows + row]!;
        }
      }
    },
  };
}
