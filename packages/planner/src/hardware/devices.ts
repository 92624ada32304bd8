/** How a device computes products. */
export type ComputePrecision = 'float32' | 'tf32' | 'fp16' | 'bf16' | 'fp8';

/** The data sheet of an accelerator. Rates are dense: halved where the sheet counts sparsity. */
export interface Device {
  readonly name: string;
  /** FLOP/s of products. A precision that is absent is not supported. */
  readonly peakFlops: Readonly<Partial<Record<ComputePrecision, number>>>;
  readonly memoryBytes: number;
  readonly memoryBytesPerSecond: number;
  /** Where the figures are from. */
  readonly source: string;
}

const tera = (value: number): number => value * 1e12;
const gigabytes = (value: number): number => value * 1e9;

function device(
  name: string,
  [bf16, tf32, fp8, float32]: readonly [number, number | undefined, number | undefined, number],
  [gb, tbPerSecond]: readonly [number, number],
  source: string,
): Device {
  return {
    name,
    peakFlops: {
      float32: tera(float32),
      fp16: tera(bf16),
      ...(tf32 !== undefined && { tf32: tera(tf32), bf16: tera(bf16) }),
      ...(fp8 !== undefined && { fp8: tera(fp8) }),
    },
    memoryBytes: gigabytes(gb),
    memoryBytesPerSecond: tera(tbPerSecond),
    source,
  };
}

/** V100 has neither bf16 nor tf32: its first figure is fp16. */
export const DEVICES = {
  v100: device('V100 SXM2 32 GB', [125, undefined, undefined, 15.7], [32, 0.9], 'NVIDIA V100 data sheet'),
  a100: device('A100 SXM4 80 GB', [312, 156, undefined, 19.5], [80, 2.039], 'NVIDIA A100 data sheet'),
  a100Small: device('A100 SXM4 40 GB', [312, 156, undefined, 19.5], [40, 1.555], 'NVIDIA A100 data sheet'),
  h100: device('H100 SXM5 80 GB', [989, 495, 1979, 67], [80, 3.35], 'NVIDIA H100 data sheet'),
  h100Pcie: device('H100 PCIe 80 GB', [756, 378, 1513, 51], [80, 2.0], 'NVIDIA H100 data sheet'),
  h100Nvl: device('H100 NVL 94 GB', [835, 418, 1671, 60], [94, 3.9], 'NVIDIA H100 NVL data sheet'),
  h200: device('H200 SXM 141 GB', [989, 495, 1979, 67], [141, 4.8], 'NVIDIA H200 data sheet'),
  gh200: device('GH200 96 GB', [989, 495, 1979, 67], [96, 4.0], 'NVIDIA GH200 data sheet'),
  b200: device('B200 180 GB', [2250, 1100, 4500, 75], [180, 8.0], 'NVIDIA DGX B200 data sheet'),
  gb200: device('GB200 186 GB', [2500, 1250, 5000, 80], [186, 8.0], 'NVIDIA GB200 NVL72 data sheet'),
} as const satisfies Readonly<Record<string, Device>>;
