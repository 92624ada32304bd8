import { AccError, type KernelLayer } from '@acc/contract';
import type { EightBitFormat } from './eight-bits.js';

/** Products of 8-bit integers. `seed` is that of random rounding. */
export function int8(seed: number): EightBitFormat {
  return {
    rounding: { format: 'int8', seed },
    noteOn({ backendName, device, precision }: KernelLayer) {
      const how = precision?.int8Products?.();
      if (how === undefined) {
        throw new AccError(
          'ACC_PRECISION_UNSUPPORTED',
          `mixedPrecision 'int8' trains on CPUs with engine 'acc'. This is the backend '${backendName}' on ${device}.`,
          { help: "Use mixedPrecision 'bf16', or device 'cpu'.", details: { backendName, device } },
        );
      }
      if (how === 'instructions') return undefined;
      return "this CPU or this build lacks AVX-512 VNNI, so products of 8-bit integers are computed in float32. The numbers are the same, but it is slower than mixedPrecision 'no'. Use 'bf16' or 'no' here.";
    },
  };
}
