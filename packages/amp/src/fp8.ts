import { AccError, type KernelLayer } from '@acc/contract';
import type { EightBitFormat } from './eight-bits.js';
import type { ResolvedFloat8Options } from './options.js';

/** Products of 8-bit floats. */
export function fp8({ scaling, amaxHistory, ...recipe }: ResolvedFloat8Options): EightBitFormat {
  return {
    rounding: { format: 'fp8', ...recipe },
    historyLength: scaling === 'delayed' ? amaxHistory : undefined,
    noteOn({ device, precision }: KernelLayer) {
      const problem = precision?.float8Problem();
      if (problem !== undefined) {
        throw new AccError(
          'ACC_PRECISION_UNSUPPORTED',
          `mixedPrecision 'fp8': the device ${device} cannot multiply matrices of 8-bit floats: ${problem}.`,
          { help: "Use mixedPrecision 'bf16'.", details: { device, problem } },
        );
      }
      if (device !== 'cpu') return undefined;
      return "CPUs emulate 8-bit floats: factors are rounded to them and multiplied in float32. The numbers are those of a GPU up to the rounding of sums, but it is slower than mixedPrecision 'no'. Use 'fp8' here to try a recipe, and 'bf16', 'int8' or 'no' to train fast.";
    },
  };
}
