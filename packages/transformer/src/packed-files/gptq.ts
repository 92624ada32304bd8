import { unsupportedQuantization } from './errors.js';
import { groupIndices, requireEqualGroups } from './groups.js';
import { numberIn, type PackedWeight, type Packing, type Parts } from './parts.js';

/**
 * The layout of AutoGPTQ: words of numbers along the inputs, zeros along the outputs. Zeros of the first
 * version are stored less one, so that 0 becomes the largest number.
 */
export function gptq(config: Readonly<Record<string, unknown>>): Packing {
  const { bits, checkpoint_format: format = 'gptq', desc_act: isReordered } = config;
  if (bits !== 4 && bits !== 8)
    throw unsupportedQuantization(`has ${JSON.stringify(bits)} bits of gptq; expected 4 or 8`);
  if (format !== 'gptq' && format !== 'gptq_v2') {
    throw unsupportedQuantization(`has the checkpoint_format ${JSON.stringify(format)}`);
  }
  return {
    marker: 'qweight',
    ends: ['qweight', 'qzeros', 'scales', 'g_idx'],
    open: (parts) =>
      open(parts, { bits, added: format === 'gptq' ? 1 : 0, isReordered: isReordered === true }),
  };
}

interface Layout {
  readonly bits: number;
  /** Added to zeros. */
  readonly added: number;
  /** Whether columns of a group are apart. */
  readonly isReordered: boolean;
}

function open(parts: Parts, { bits, added, isReordered }: Layout): PackedWeight {
  const each = 32 / bits;
  const [words, rows] = parts.get('qweight', 2).shape as [number, number];
  const columns = words * each;
  const [groups] = parts.get('scales', 2).shape as [number, number];
  parts.require('scales', [groups, rows]);
  parts.require('qzeros', [groups, Math.ceil(rows / each)]);
  if (isReordered || parts.has('g_idx')) parts.require('g_idx', [columns]);
  else requireEqualGroups(`${parts.prefix}scales`, { columns, groups });
  return {
    shape: [rows, columns],
    async fill(values, layer) {
      const numbers = await parts.wholes('qweight', layer);
      const zeros = await parts.wholes('qzeros', layer);
      const scales = await parts.floats('scales', layer);
      const groupOf = await groupIndices(parts, 'g_idx', { columns, groups }, layer);
      const zeroWords = Math.ceil(rows / each);
      for (let column = 0; column < columns; column++) {
        const group = groupOf[column]!;
        const from = Math.floor(column / each) * rows;
        for (let row = 0; row < rows; row++) {
          const number = numberIn(numbers[from + row]!, column % each, bits);
          const stored = numberIn(zeros[group * zeroWords + Math.floor(row / each)]!, row % each, bits);
          const zero = (stored + added) % 2 ** bits;
          values[row * columns + column] = (number - zero) * scales[group * rows + row]!;
        }
      }
    },
  };
}
